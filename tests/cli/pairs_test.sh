#!/bin/bash
# pairs_test.sh - two tokens a step as users have it: recipes/tiny-pairs.yml learns a text word by word
# with neighbours exchanged, from both ends and from right to left; the translations, in what number of
# steps, with scores; and what is refused.
#
# PRONK: the program (default build/pronk). DEVICE: who trains and translates (default cpu).
DEVICE=${DEVICE:-cpu}
. tests/support/program.sh

# at_least NAME LEAST FOUND
at_least() { if [ "$3" -ge "$2" ]; then ok "$1"; else bad "$1" "$3 is less than $2"; fi; }
# refused NAME TEXT ARGUMENT...: one line of error with TEXT, no output
refused() {
    local name=$1 text=$2
    shift 2
    if "$PRONK" "$@" >"$dir/out" 2>"$dir/err" </dev/null; then bad "$name" "it was taken"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif [ "$(wc -l <"$dir/err")" != 1 ] || [ -s "$dir/out" ]; then bad "$name" "more than a line"
    else ok "$name"; fi
}

# lines of 3 to 8 words: each has its translation, and neighbours change places
make_text() {
    python3 - "$dir" <<'END'
import random, sys
rng, seen = random.Random(5), set()
words = [a + b for a in 'bcdf' for b in 'aeiou']
for name, n in ('train', 2000), ('valid', 100):
    with open(f'{sys.argv[1]}/{name}.src', 'w') as source, open(f'{sys.argv[1]}/{name}.tgt', 'w') as target:
        while n:
            line = tuple(rng.choice(words) for _ in range(rng.randint(3, 8)))
            if line in seen:
                continue
            out = [w[::-1].upper() for w in line]
            for i in range(0, len(out) - 1, 2):
                out[i:i + 2] = out[i + 1], out[i]
            source.write(' '.join(line) + '\n')
            target.write(' '.join(out) + '\n')
            seen.add(line)
            n -= 1
END
    "$PRONK" vocab -q -i "$dir/train.src" "$dir/train.tgt" --size 330 -o "$dir/v.spm"
}

# train FOLDER SETTING...
train() {
    local arguments=(--set "output=$dir/$1" --set "data.source=$dir/train.src" --set "data.target=$dir/train.tgt"
                     --set "vocab=$dir/v.spm" --set "valid.source=$dir/valid.src" --set "valid.target=$dir/valid.tgt"
                     --set "data.cache=$dir/cache" --set "device=$DEVICE" --set threads=2)
    shift
    for setting; do arguments+=(--set "$setting"); done
    timeout 200 "$PRONK" train recipes/tiny-pairs.yml "${arguments[@]}" 2>"$dir/err" || bad "training" "$(tail -1 "$dir/err")"
}

translate() { "$PRONK" translate --device "$DEVICE" -i "$dir/valid.src" "$@" 2>"$dir/err"; }
# lines of standard input that are right
right() { paste -d '|' - "$dir/valid.tgt" | awk -F '|' '$1 == $2 { n++ } END { print n + 0 }'; }

make_text
train both train.updates=450 valid.every=450
at_least "greedy: 9 lines of 10" 90 "$(translate -m "$dir/both" -d pairs | right)"
at_least "a beam: 9 lines of 10" 90 "$(translate -m "$dir/both" -d pairs:size=4 | right)"
train left task=pairs-rl train.updates=260 valid.every=0 data.batch_tokens=512
at_least "from right to left: half of the lines" 50 "$(translate -m "$dir/left" -d pairs | right)"
"$PRONK" info "$dir/left" | grep -q 'pairs-rl' && ok "the model says its task" || bad "the model says its task" ""

# batch, threads and neighbours change nothing, in either type
for type in f32 i8; do
    for spec in pairs pairs:size=3; do
        translate -m "$dir/both" -d $spec --type $type --scores --threads 1 --batch 1 >"$dir/alone"
        translate -m "$dir/both" -d $spec --type $type --scores --threads 2 --batch 32 >"$dir/together"
        cmp -s "$dir/alone" "$dir/together" && ok "alone as together: $spec, $type" || bad "alone as together: $spec, $type" "they differ"
    done
done
translate -m "$dir/both" -d pairs --scores >"$dir/greedy"
translate -m "$dir/both" -d pairs:size=1,outputs=1 --scores | cmp -s - "$dir/greedy" &&
    ok "a beam of one is greedy" || bad "a beam of one is greedy" "they differ"

# floor(n / 2) + 1 steps for n tokens, which are words here
translate -m "$dir/both" -d pairs >"$dir/text"
steps=$(awk '{ n += int(NF / 2) + 1 } END { printf "%.4f", n / NR }' "$dir/text")
"$PRONK" bench --device "$DEVICE" -m "$dir/both" -d pairs -i "$dir/valid.src" --json 2>/dev/null >"$dir/bench"
check "steps, by bench --json" "$steps" \
      "$(python3 -c 'import json, sys; print("%.4f" % json.loads(sys.stdin.readline())["passes_per_sentence"])' <"$dir/bench")"

# different texts whose scores fall
translate -m "$dir/both" -d pairs:size=5 --n-best 5 --no-split >"$dir/best"
check "n-best: all are different" "$(wc -l <"$dir/best")" "$(awk -F ' \\|\\|\\| ' '{ print $1 "|" $2 }' "$dir/best" | sort -u | wc -l)"
check "n-best: scores fall" "" "$(awk -F ' \\|\\|\\| ' '$1 == line && $NF > score { print; exit } { line = $1; score = $NF + 0 }' "$dir/best")"
at_least "n-best: five of nearly all" 450 "$(wc -l <"$dir/best")"

refused "another strategy" "use -d pairs" translate -m "$dir/both" -i "$dir/valid.src"
refused "another model" "pairs needs a model trained with task pairs" translate -d pairs -i "$dir/valid.src"
refused "a prefix" "beginning of a translation" translate -m "$dir/both" -d pairs -i "$dir/valid.src" --prefix "$dir/valid.tgt"
refused "options that look back" "no option 'no_repeat_ngram'" translate -m "$dir/both" -d pairs:no_repeat_ngram=2
refused "more than the search ends with" "raise size" translate -m "$dir/both" -d pairs:size=2 --n-best 3 -i "$dir/valid.src"
refused "viz" "pairs writes two a step" viz -m "$dir/both" -d pairs "ba ce"
refused "too few positions" "data.max_length is 63" train recipes/tiny-pairs.yml --set "vocab=$dir/v.spm" \
        --set "output=$dir/x" --set model.max_positions=64 --set data.max_length=63

summary
