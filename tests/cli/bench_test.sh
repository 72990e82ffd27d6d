#!/bin/bash
# bench_test.sh - `pronk bench` with several cases: interleaved or not, with drafts, and what it
# refuses before it measures anything.
#
# PRONK: the program (default build/pronk). MODEL: a model to translate with; the one of the tests
# has random weights, so checks ask for form and for equality, never for particular figures.
MODEL=${MODEL:-tests/data/models/marian-relu}
. tests/support/program.sh

# run ARGUMENT...: leaves $dir/out, $dir/err and $code
run() {
    timeout 120 "$PRONK" bench -m "$MODEL" -i "$dir/in" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
}

# values KEY: what the JSON lines say of it, on one line
values() { echo $(sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$dir/out"); }

for i in $(seq 1 23); do echo "line $i has the number $i and $((i * i))"; done >"$dir/in"
CASES="--decode greedy --decode pj --decode pgj:block=3 --decode hgj:block=3 --decode jacobi"

# all cases give greedy's lines, whatever the order, and the counts do not depend on it
for batch in 1 2 32; do
    run $CASES --batch $batch --json
    check "batch $batch: exit code, cases" "0 5" "$code $(wc -l <"$dir/out")"
    check "batch $batch: lines as in the first" "23 23 23 23 23" "$(values lines_as_first)"
    tokens=$(values target_tokens)
    run $CASES --batch $batch --json --interleave
    check "batch $batch, interleaved: exit code, cases" "0 5" "$code $(wc -l <"$dir/out")"
    check "batch $batch, interleaved: lines as in the first" "23 23 23 23 23" "$(values lines_as_first)"
    check "batch $batch, interleaved: tokens" "$tokens" "$(values target_tokens)"
    check "batch $batch, interleaved: says so" "true true true true true" "$(values interleave)"
done
run $CASES --batch 1 --interleave --repeat 3
check "table: exit code" 0 $code
for row in "speed against the first" "lines as in the first" "passes per sentence" "  times fewer than in the first" \
           "  probe" "asks per pass" "tokens kept per pass"; do
    check "table: $row" 5 "$(grep -E "^$row  " "$dir/out" | sed "s/^$row//; s/ %//g" | wc -w)"
done
for interleave in "" --interleave; do
    run -d greedy -d jacobi --batch 1 --json --each-line --repeat 2 --warm-up 1 $interleave
    check "each line $interleave: seconds of all lines, none above the slowest call" "0 23 23" "$code $(
        python3 -c 'import json, sys
for line in map(json.loads, sys.stdin): print(sum(0 < s <= line["latency_seconds"]["max"] for s in line["line_seconds"]))' <"$dir/out" | tr '\n' ' ' | sed 's/ $//')"
done
run --batch 2 --json --each-line
check "each line at batch 2" "2 1" "$code $(grep -c -e '--each-line needs --json and --batch 1' "$dir/err")"
run --batch 1 --each-line
check "each line without JSON" "2 1" "$code $(grep -c -e '--each-line needs --json and --batch 1' "$dir/err")"
run $CASES --batch 1 --interleave
probe=$(sed -n 's/^  probe//p' "$dir/out")
check "only pj has probe passes" "0.00 0.00 0.00 0.00" "$(echo $probe | cut -d' ' -f1,3-)"

# several models: each --decode has the last -m before it; what two models say is not compared
OTHER=${OTHER:-tests/data/models/marian-swish-f16}
for interleave in "" --interleave; do
    timeout 120 "$PRONK" bench -i "$dir/in" -m "$MODEL" -d greedy -d jacobi -m "$OTHER" -d greedy -m "$MODEL" \
        -d beam:size=2 -d greedy --batch 1 --json $interleave >"$dir/out" 2>"$dir/err"
    check "models $interleave: exit code, cases" "0 5" "$? $(wc -l <"$dir/out")"
    check "models $interleave: each has its own" "\"$MODEL\" \"$MODEL\" \"$OTHER\" \"$MODEL\" \"$MODEL\"" \
        "$(values model)"
    set -- $(values lines_as_first)
    check "models $interleave: lines as in the first" "23 23 null 23" "$1 $2 $3 $5"
    set -- $(values flops_per_sentence | tr -d '[]')
    check "models $interleave: the same work takes the same operations" "$1" "$5"
    awk "BEGIN { exit !($1 > 0 && $4 > 1.5 * $1 && $3 != $1) }" && ok "models $interleave: operations" ||
        bad "models $interleave: operations" "$*"
done
"$PRONK" bench -i "$dir/in" -m "$OTHER" --decode greedy --batch 1 --json >"$dir/out"
check "operations do not depend on other cases" "$3" "$(values flops_per_sentence)"
"$PRONK" bench -i "$dir/in" -m "$OTHER" --decode greedy --batch 7 --threads 1 --repeat 3 --json >"$dir/out"
check "operations do not depend on batch and repetitions" "$3" "$(values flops_per_sentence)"
"$PRONK" bench -i "$dir/in" -d greedy -d jacobi -m "$MODEL" -d pj --json >"$dir/out"
check "one -m serves those before it too" "23 23 23" "$(values lines_as_first)"
"$PRONK" bench -i "$dir/in" -m "$MODEL" -d greedy -m "$OTHER" -d greedy >"$dir/out"
for row in model "lines as in the first" "floating-point operations per sentence" "  times those of the first" \
           "seconds in passes of the model"; do
    check "table of two models: $row" 2 \
        "$(grep -E "^$row  " "$dir/out" | sed "s/^$row//; s/ %//g; s/ s\b//g" | wc -w)"
done
refused "a model behind all cases" 2 "no --decode follows --model x" -d greedy -m x
refused "a drafter behind all cases" 2 "no --decode follows --drafter x" -d greedy --drafter x
refused "a drafter for a strategy that uses none" 2 "greedy uses no drafter" --drafter "$MODEL" -d greedy
refused "no such model for the last case" 1 "no/such/model" -d greedy -m no/such/model -d greedy
refused "no such drafter" 1 "no/such/model" --drafter no/such/model -d greedy
run -d greedy --drafter "" --lexicon "" -d jacobi
check "\"\" is no drafter, and no lexicon" 0 $code

# a case's peak and load time are its own: those of the same case do not depend on what came before it
within() { awk "BEGIN { exit !($2 < $3 * $1 && $3 < $2 * $1) }"; } # FACTOR A B
if [ -e models/en-de.pronk ]; then
    "$PRONK" bench -m models/en-de.pronk -i "$dir/in" --decode beam:size=16 --decode greedy --decode greedy \
        --threads 2 --json >"$dir/out"
    set -- $(values peak_memory_bytes)
    "$PRONK" bench -m models/en-de.pronk -i "$dir/in" --decode greedy --threads 2 --json >"$dir/out"
    alone=$(values peak_memory_bytes)
    within 1.1 "$2" "$alone" && ok "peak memory: as alone" || bad "peak memory" "alone $alone, second $2"
    within 1.1 "$3" "$alone" && ok "peak memory: the third too" || bad "peak memory" "alone $alone, third $3"
    awk "BEGIN { exit !($1 > $2 * 1.05) }" && ok "peak memory: a wide beam's is larger" || bad "peak memory" "$*"
    "$PRONK" bench -m models/en-de.pronk -i "$dir/in" --decode greedy --decode greedy --interleave --json >"$dir/out"
    set -- $(values peak_memory_bytes)
    check "peak memory: interleaved cases share one" "$1" "$2"
else
    skipped=$((skipped + 1)); echo "SKIPPED peak memory: models/en-de.pronk is not there"
fi

# drafts: greedy's own output saves passes, an empty line says nothing, "" is none. The window is said, since under load
# passes may cost so much that guesses do not pay.
"$PRONK" translate -m "$MODEL" --no-split -q -i "$dir/in" -o "$dir/own"
sed 's/.*//' "$dir/in" >"$dir/empty"
run --decode greedy --draft "" --decode jacobi:init=draft,window=16 --draft "$dir/own" --decode jacobi:init=draft,window=16 \
    --draft "$dir/empty" --batch 1 --json --interleave
check "drafts: exit code" 0 $code
check "drafts: lines as in the first" "23 23 23" "$(values lines_as_first)"
set -- $(values passes_fewer_than_first)
check "an empty draft line is no guess" 1 "$(printf %.0f "$3")"
awk "BEGIN { exit !($2 > 1.5) }" && ok "a perfect draft saves passes" || bad "a perfect draft" "$2"
check "drafts are named" "null \"$dir/own\" \"$dir/empty\"" "$(values draft)"

# refusals, the last case's too, before anything is measured
head -22 "$dir/in" >"$dir/short"
(cat "$dir/in"; echo more) >"$dir/long"
refused "draft with fewer lines" 1 "as many lines" --decode jacobi --draft "$dir/short"
refused "draft with more lines" 1 "as many lines" --decode jacobi --draft "$dir/long"
run --decode jacobi --draft "$dir/in" --limit 5
check "draft of an input cut by --limit" 0 $code
refused "drafts for some cases" 2 "once for each" --decode greedy --decode pj --decode jacobi --draft x --draft y
refused "no such draft" 1 "/no/such" --decode jacobi --draft /no/such
refused "unknown option" 2 "jacobi has no option" --decode greedy --decode jacobi:windows=3
refused "block 0" 2 "block takes 1..64" --decode greedy --decode pgj:block=0
refused "block over the limit" 2 "block takes 1..64" --decode greedy --decode hgj:block=65
refused "window 0" 2 "window takes 1..64" --decode greedy --decode jacobi:window=0
refused "window over the limit" 2 "window takes 1..64" --decode jacobi:window=65
refused "unknown guess" 2 "init takes auto|pad|copy|shift|ngram|draft" --decode jacobi:init=oracle
refused "length over the limit" 2 "length takes 1..4096" --decode greedy --decode pj:length=4097

summary
