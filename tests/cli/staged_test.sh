#!/bin/bash
# staged_test.sh - tasks hrt and cmlm as users meet them: the tiny recipes learn a word-by-word task with a reordering, each
# strategy of such a model translates it, alone and in batches alike, and what a model has not learned is refused.
#
# PRONK: the program (default build/pronk).
. tests/support/program.sh

# text NAME LINES SEED: 20 words have a translation each; every two of them change places
text() {
    python3 - "$dir/$1" "$2" "$3" <<'END'
import random, sys
path, lines, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = [a + b for a in 'bdfgk' for b in 'aeio']
draw = random.Random(seed)
with open(path + '.source', 'w') as source, open(path + '.target', 'w') as target:
    for _ in range(lines):
        sentence = [draw.choice(words) for _ in range(draw.randint(2, 7))]
        other = list(sentence)
        for i in range(0, len(other) - 1, 2):
            other[i], other[i + 1] = other[i + 1], other[i]
        print(*sentence, file=source)
        print(*('ru' + word for word in other), file=target)
END
}

# training RECIPE SETTING...
training() {
    local recipe=$1 arguments=()
    shift
    for setting; do arguments+=(--set "$setting"); done
    timeout 900 "$PRONK" train "recipes/$recipe.yml" --set "output=$dir/$recipe" --set "vocab=$dir/v.spm" \
        --set "data.source=$dir/train.source" --set "data.target=$dir/train.target" --set "data.cache=$dir/cache" \
        --set "valid.source=$dir/valid.source" --set "valid.target=$dir/valid.target" --set valid.every=0 \
        --set save.every=0 --set threads=2 "${arguments[@]}" >"$dir/out" 2>"$dir/err" </dev/null &&
        ok "$recipe: a training" || bad "$recipe: a training" "$(tail -1 "$dir/err")"
}

# right MODEL DECODE: at least 9 lines of 10 are
right() {
    "$PRONK" translate -q -m "$dir/$1" -d "$2" -i "$dir/valid.source" -o "$dir/$1.out" 2>"$dir/err"
    local n
    n=$(paste -d '|' "$dir/$1.out" "$dir/valid.target" | awk -F '|' '$1 == $2' | wc -l)
    [ "$n" -ge 90 ] && ok "$1: $2: $n of 100 lines" || bad "$1: $2" "$n of 100 lines: $(head -1 "$dir/err")"
}

# the same whatever shares a pass, and on any number of threads; in int8 too
alike() {
    local want
    want=$("$PRONK" translate -q -m "$1" -d "$2" --batch 1 --threads 1 -i "$dir/valid.source" 2>&1 | cksum)
    for how in "--threads 2" "--batch 7 --threads 1" "--batch 64 --workers 2 --threads 2"; do
        [ "$("$PRONK" translate -q -m "$1" -d "$2" $how -i "$dir/valid.source" 2>&1 | cksum)" = "$want" ] &&
            ok "$2 $how: as alone" || bad "$2 $how: as alone" "${1##*/} differs"
    done
}

# refused NAME TEXT MODEL DECODE
refused() {
    echo ba | "$PRONK" translate -m "$dir/$3" -d "$4" >"$dir/out" 2>"$dir/err"
    [ $? != 0 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -qF -- "$2" "$dir/err" && [ ! -s "$dir/out" ] && ok "$1" ||
        bad "$1" "$(head -1 "$dir/err")"
}

text train 4000 1
text valid 100 2
"$PRONK" vocab -q -i "$dir/train.source" "$dir/train.target" --size 64 --type bpe --no-byte-fallback -o "$dir/v.spm" ||
    bad vocab ""

training tiny-hrt train.updates=700
for decode in hrt:k=2 hrt:k=2,b_at=4,b_nat=4 cmlm greedy beam; do right tiny-hrt $decode; done
training tiny-cmlm train.updates=700
right tiny-cmlm cmlm
right tiny-cmlm cmlm:iterations=10,lengths=3

"$PRONK" info "$dir/tiny-hrt" >"$dir/out" 2>&1
grep -q '^tasks .* hrt:.* at cmlm$' "$dir/out" && ok "info: what it can do" || bad "info: what it can do" "$(cat "$dir/out")"
"$PRONK" convert "$dir/tiny-hrt/model.pronk" "$dir/i8.pronk" --type i8 >"$dir/out" 2>&1 || bad convert "$(cat "$dir/out")"
for model in "$dir/tiny-hrt" "$dir/i8.pronk"; do
    for decode in hrt:k=2 hrt:k=2,b_at=3,b_nat=2 cmlm:iterations=3; do alike "$model" $decode; done
done

# passes of hrt: ceil((n + 1) / k) + 1 for n tokens, as bench says of single lines
wrong=0
for line in 1 2 3 4 5 6; do
    sed -n "${line}p" "$dir/valid.source" >"$dir/line"
    "$PRONK" bench --json -m "$dir/tiny-hrt" -d hrt:k=2 --batch 1 --warm-up 0 -i "$dir/line" 2>"$dir/err" | python3 -c '
import json, sys
b = json.loads(sys.stdin.readline())
sys.exit(b["passes_per_sentence"] != -(-b["target_tokens"] // 2) + 1)' || wrong=$((wrong + 1))
done
[ $wrong = 0 ] && ok "passes, by bench --json" || bad "passes, by bench --json" "$wrong of 6 lines have others"

# weights FILE: its tensors as one number, without what the header says of paths and times
weights() { python3 -c 'import struct, sys, zlib; d = open(sys.argv[1], "rb").read(); print(zlib.crc32(d[8 + struct.unpack("<Q", d[:8])[0]:]))' "$1"; }

# killed in the middle and resumed, each ends with the same bits
stopped() {
    local arguments=(train "recipes/$1.yml" -q --set "vocab=$dir/v.spm" --set "data.source=$dir/train.source"
        --set "data.target=$dir/train.target" --set "data.cache=$dir/cache" --set valid.every=0 --set save.every=20
        --set save.keep=9 --set data.batch_tokens=256 --set threads=1 --set train.updates=80)
    "$PRONK" "${arguments[@]}" --set "output=$dir/$1.whole" >"$dir/out" 2>&1 || bad "$1: a training" "$(tail -1 "$dir/out")"
    "$PRONK" "${arguments[@]}" --set "output=$dir/$1.half" >"$dir/out" 2>&1 &
    local pid=$! tries=0
    while [ ! -e "$dir/$1.half/checkpoint-40.safetensors" ] && [ $((tries += 1)) -lt 3000 ]; do sleep 0.02; done
    kill -9 $pid
    wait $pid 2>/dev/null
    local code=$?
    [ $code = 137 ] && [ ! -e "$dir/$1.half/model.pronk" ] && ok "$1: killed" || bad "$1: killed" "exit code $code: it had ended"
    "$PRONK" "${arguments[@]}" --set "output=$dir/$1.half" --resume >"$dir/out" 2>&1
    [ "$(weights "$dir/$1.whole/model.pronk")" = "$(weights "$dir/$1.half/model.pronk")" ] && ok "$1: resumed with the same bits" ||
        bad "$1: resumed with the same bits" "$(tail -1 "$dir/out")"
}
stopped tiny-hrt
stopped tiny-cmlm

refused "a k that was not learned" "not trained for k=3; it has: 2" tiny-hrt hrt:k=3
refused "another task" "greedy needs a model trained with task at" tiny-cmlm greedy
refused "another task: hrt" "hrt needs a model trained with task hrt" tiny-cmlm hrt
refused "an option that cannot be kept" "hrt has no option 'no_repeat_ngram'" tiny-hrt hrt:no_repeat_ngram=2
summary
