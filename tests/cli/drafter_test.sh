#!/bin/bash
# drafter_test.sh - draft and verify as users run it: a model and a drafter of recipes/tiny*.yml are
# trained for seconds, and `translate --drafter` writes what greedy search writes, in fewer passes.
#
# PRONK: the program (default build/pronk)
DATA=recipes/data
. tests/support/program.sh

# refused NAME TEXT ARGUMENT...: one line on stderr with TEXT, no output
refused() {
    local name=$1 text=$2
    shift 2
    run "$@"
    if [ $code = 0 ]; then bad "$name" "it works"
    elif [ "$(wc -l <"$dir/err")" != 1 ]; then bad "$name" "$(wc -l <"$dir/err") lines of errors"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    else ok "$name"; fi
}

# trained RECIPE FOLDER SETTING...: a training of seconds
trained() {
    local recipe=$1 folder=$2 arguments=()
    shift 2
    for setting; do arguments+=(--set "$setting"); done
    run train "$recipe" -q --set "output=$dir/$folder" --set threads=2 --set data.cache="$dir/cache" \
        --set data.batch_tokens=512 --set valid.every=0 "${arguments[@]}"
    worked "$recipe"
}

# same NAME ARGUMENT...: translates the validation text as greedy search does
same() {
    local name=$1
    shift
    run translate -i "$DATA/tiny.valid.en" "$@"
    [ $code = 0 ] && cmp -s "$dir/out" "$dir/greedy" && ok "$name" || bad "$name" "$code: $(cat "$dir/err")"
}

run vocab -q -i "$DATA/tiny.train.en" "$DATA/tiny.train.de" --size 500 -o "$dir/v.spm"
trained recipes/tiny.yml model "vocab=$dir/v.spm" train.updates=300
trained recipes/tiny-gad.yml drafter "verifier=$dir/model" train.updates=250

for kind in f32 i8; do
    "$PRONK" convert "$dir/model" "$dir/model.$kind" --type $kind -q
    "$PRONK" convert "$dir/drafter" "$dir/drafter.$kind" --type $kind -q
    "$PRONK" translate -m "$dir/model.$kind" -i "$DATA/tiny.valid.en" --scores >"$dir/greedy"
    for batch in 1 32; do
        same "$kind, batch $batch" -m "$dir/model.$kind" --drafter "$dir/drafter.$kind" -d gad --scores --batch $batch
        same "$kind, batch $batch, blocks of 6" -m "$dir/model.$kind" --drafter "$dir/drafter" -d gad:block=6 --scores \
            --batch $batch --threads 2
    done
done
same "beta 5, tau 0" -m "$dir/model.i8" --drafter "$dir/drafter.i8" -d gad:beta=5,tau=0 --scores

# what bench says: tokens a pass of the model, the same at any batch; seconds of each network, memory
for batch in 1 32; do
    run bench -m "$dir/model" --drafter "$dir/drafter" -d gad:block=6 --batch $batch -i "$DATA/tiny.valid.en" --json
    python3 - "$dir/out" <<'END' >"$dir/said" 2>&1 && ok "bench, batch $batch: $(cat "$dir/said")" || bad "bench, batch $batch" "$(tail -1 "$dir/said")"
import json, sys
b = json.loads(open(sys.argv[1]).readline())
model, drafter = b['networks']
assert b['tokens_per_model_pass'] > 1.5 and b['tokens_per_model_pass'] > 1.9 * b['tokens_kept_per_pass'], b
assert model['pass_seconds'] > 0 and drafter['pass_seconds'] > 0 and b['peak_memory_bytes'] > 0, b
if b['batch'] == 1:
    assert abs(b['target_tokens'] / model['passes'] - b['tokens_per_model_pass']) < 1e-6, b
print('%.2f tokens a pass of the model' % b['tokens_per_model_pass'])
END
done

# beam's output in as many passes at most, without a drafter and with one
"$PRONK" translate -m "$dir/model.i8" -d beam:size=4 -i "$DATA/tiny.valid.en" --n-best 3 --no-split >"$dir/greedy"
same "gad-beam" -m "$dir/model.i8" -d gad-beam:size=4 --n-best 3 --no-split
same "gad-beam, drafted" -m "$dir/model.i8" --drafter "$dir/drafter.i8" -d gad-beam:size=4,levels=4 --n-best 3 --no-split --batch 1
run bench -m "$dir/model.i8" --drafter "" -d beam:size=4 --drafter "$dir/drafter.i8" -d gad-beam:size=4,levels=4 --batch 1 \
    -i "$DATA/tiny.valid.en" --json
python3 -c '
import json, sys
beam, drafted = map(json.loads, sys.stdin)
assert drafted["lines_as_first"] == drafted["lines"] and drafted["tokens_per_model_pass"] > 1.1 * beam["tokens_per_model_pass"], drafted' \
    <"$dir/out" 2>"$dir/err" && ok "gad-beam: fewer passes" || bad "gad-beam: fewer passes" "$(tail -1 "$dir/err")"

# from text to drafter in one command; a second one goes on where the first ended
head -400 "$DATA/tiny.train.en" >"$dir/it's.en"
make=(drafter -m "$dir/model" -i "$dir/it's.en" -o "$dir/made" --threads 2 --set train.updates=20 --set train.minutes=0)
run "${make[@]}" --test "$DATA/tiny.valid.en"
worked "drafter"
grep -q "^[1-9][0-9.]* tokens in a pass of the model, .* 150 sentences$" "$dir/out" && ok "drafter: tokens a pass" ||
    bad "drafter: tokens a pass" "$(cat "$dir/out")"
"$PRONK" translate -m "$dir/model" -i "$DATA/tiny.valid.en" --scores >"$dir/greedy"
same "drafter: greedy's output" -m "$dir/model" --drafter "$dir/made" -d gad:block=4 --scores
for batch in 1 32; do
    same "drafter: with its lexicon, batch $batch" -m "$dir/model" --drafter "$dir/made" -d gad:block=6,nodes=20 --scores --batch $batch
    same "drafter: with the whole lexicon, batch $batch" -m "$dir/model" --drafter "$dir/made" --lexicon "$dir/made/lexicon.align" \
        -d gad:block=6,nodes=20 --scores --batch $batch
done
same "drafter: its draft read again" -m "$dir/model" --drafter "$dir/made" -d gad:block=6,refine=2 --scores --batch 1
same "drafter: by cost" -m "$dir/model" --drafter "$dir/made" -d gad:refine=1 --scores
refused "a drafter that cannot read its draft" "next=yes" \
    translate -m "$dir/model" --drafter "$dir/drafter" -d gad:refine=1 -i "$DATA/tiny.valid.en"
"$PRONK" info "$dir/made" | grep -q "^candidates" && [ ! -e "$dir/made/new.pronk" ] && ok "drafter: brings its lexicon" ||
    bad "drafter: brings its lexicon" "$(ls "$dir/made")"
refused "a lexicon without its model" "go together" convert "$dir/drafter" "$dir/with" --lexicon "$dir/made/lexicon.align"
refused "a lexicon for a model" "drafter" convert "$dir/model" "$dir/with" -m "$dir/model" --lexicon "$dir/made/lexicon.align"
cp "$dir/made/lexicon.align" "$dir/kept.align" && cp "$dir/model/model.pronk" "$dir/kept.pronk"
refused "over its lexicon" "input" convert "$dir/made" "$dir/kept.align" -m "$dir/kept.pronk" --lexicon "$dir/kept.align"
refused "over its model" "input" convert "$dir/made" "$dir/kept.pronk" -m "$dir/kept.pronk" --lexicon "$dir/kept.align"
cmp -s "$dir/kept.align" "$dir/made/lexicon.align" && cmp -s "$dir/kept.pronk" "$dir/model/model.pronk" && ok "both are as they were" ||
    bad "both are as they were" "one changed"
refused "a lexicon of another model" "not of the pieces" convert "$dir/drafter" "$dir/with" -m tests/data/models/marian-relu \
    --lexicon "$dir/made/lexicon.align"
refused "drafter: twice" "is there already" "${make[@]}"
run "${make[@]}" --resume -q --set train.updates=30
worked "drafter --resume"
[ -e "$dir/made/checkpoint-30.safetensors" ] && ok "drafter: went on" || bad "drafter: went on" "$(ls "$dir/made")"

size() { wc -c <"$dir/$1"; }
[ "$(size drafter.f32)" -lt "$(($(size model.f32) / 2))" ] && ok "a drafter's file is small" ||
    bad "a drafter's file is small" "$(size drafter.f32) bytes"
run info "$dir/drafter.i8"
grep -q "<mask>" "$dir/out" && ok "info names its tokens" || bad "info names its tokens" "$(cat "$dir/out")"

text=(-i "$DATA/tiny.valid.en")
refused "a drafter as a model" "--drafter" translate -m "$dir/drafter" "${text[@]}"
refused "no drafter" "needs a drafter" translate -m "$dir/model" -d gad "${text[@]}"
refused "a model as a drafter" "trained with task gad" translate -m "$dir/model" --drafter "$dir/model" -d gad "${text[@]}"
refused "a drafter of another model" "another model" \
    translate -m tests/data/models/marian-relu --drafter "$dir/drafter" -d gad "${text[@]}"

# cut short anywhere: refused. Weights that are no numbers: refused, or greedy's output, never another one.
"$PRONK" translate -m "$dir/model" "${text[@]}" >"$dir/greedy"
whole=$(size drafter.f32) cut=0
for part in 0 1 7 8 100 5000 $((whole / 3)) $((whole / 2)) $((whole * 9 / 10)) $((whole - 65)) $((whole - 1)); do
    head -c $part "$dir/drafter.f32" >"$dir/short"
    run translate -m "$dir/model" --drafter "$dir/short" -d gad "${text[@]}"
    [ $code != 0 ] && [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -s "$dir/out" ] && cut=$((cut + 1)) || echo "$part bytes: $code"
done
[ $cut = 11 ] && ok "a drafter cut short" || bad "a drafter cut short" "refused at $cut of 11 places"
useless=0 other=0
for part in 30 45 60 75 90 97; do
    python3 - "$dir/drafter.f32" "$dir/nan" $((whole * part / 100 / 4 * 4)) <<'END'
import sys
data, at = bytearray(open(sys.argv[1], 'rb').read()), int(sys.argv[3])
data[at:at + 256] = b'\x00\x00\xc0\x7f' * 64
open(sys.argv[2], 'wb').write(data)
END
    for decode in gad:block=6 gad-beam:size=1,levels=4; do
        run translate -m "$dir/model" --drafter "$dir/nan" -d $decode "${text[@]}"
        if [ $code = 0 ]; then cmp -s "$dir/out" "$dir/greedy" && useless=$((useless + 1)) || other=$((other + 1))
        else [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -s "$dir/out" ] || other=$((other + 1)); fi
    done
done
[ $other = 0 ] && ok "a drafter of no numbers: $useless of 12 harmless, the others refused" ||
    bad "a drafter of no numbers" "$other of 12 with other output"
for decode in gad:beta=5,tau=0 gad:block=3,beta=5,tau=0; do
    same "f32: $decode" -m "$dir/model" --drafter "$dir/drafter" -d $decode
    same "f32: $decode, batch 1" -m "$dir/model" --drafter "$dir/drafter" -d $decode --batch 1
done

summary
