#!/bin/bash
# lattice_test.sh - recipes/tiny-lattice.yml as users run it: `pronk train` aligns, counts and learns, and
# `-d lattice` translates, alone and in batches, in every type of numbers; what cannot be done is refused.
#
# PRONK: the program (default build/pronk). DEVICE: who trains and translates (default cpu).
DEVICE=${DEVICE:-cpu}
DATA=recipes/data
. tests/support/program.sh

# translate TASK SPEC ARGUMENT...: leaves the translation of $DATA/lattice.TASK.source in $dir/out
translate() {
    local task=$1 spec=$2
    shift 2
    run translate --no-split --device "$DEVICE" --threads 2 -m "$dir/model/model.pronk" -d "$spec" \
        -i "$DATA/lattice.$task.source" "$@"
}

# right TASK: how many lines of $dir/out are right, of 100
right() { paste "$dir/out" "$DATA/lattice.$1.target" | awk -F'\t' '$1 == $2 { n++ } END { print n + 0 }'; }

# at_least NAME N TASK SPEC: so many lines are right
at_least() {
    translate "$3" "$4"
    local n=$(right "$3")
    if [ $code = 0 ] && [ "$n" -ge "$2" ]; then ok "$1"; else bad "$1" "$n of 100 lines are right: $(head -1 "$dir/err")"; fi
}

# same NAME FILE: the last output is that file

it_learns() {
    run vocab -q -i "$DATA/lattice.train.source" "$DATA/lattice.train.target" --size 100 --no-byte-fallback -o "$dir/v.spm"
    worked "vocabulary of words"
    run train recipes/tiny-lattice.yml --set "output=$dir/model" --set "vocab=$dir/v.spm" --set "device=$DEVICE" --set threads=2
    worked "training: aligns, counts, learns"
    grep -q '^candidates: .* 2[0-9]* pairs' "$dir/out" "$dir/err" && ok "candidates are reported" || bad "candidates are reported" "$(grep -i cand "$dir/out" "$dir/err")"
    at_least "words change places" 90 swap lattice
    cp "$dir/out" "$dir/swap"
    at_least "translations depend on the output before them" 90 chain lattice
    cp "$dir/out" "$dir/chain"
    at_least "the same over candidates alone" 90 chain lattice:normalise=candidates
    at_least "few candidates" 90 chain lattice:k=6,delta=1
    at_least "candidates by distances" 90 chain lattice:by=distances
    translate chain lattice:k=1,delta=0
    local n=$(right chain)
    [ $code = 0 ] && [ "$(wc -l <"$dir/out")" = 100 ] && [ "$n" -lt 50 ] && ok "the look-up alone cannot know" \
        || bad "the look-up alone cannot know" "$n of 100 lines are right"
}

# the text of a sentence does not depend on what is decoded beside it
no_batch_matters() {
    for task in swap chain; do
        translate $task lattice --batch 1 --threads 1
        same "$task: one by one, one thread" "$dir/$task"
        translate $task lattice --workers 2
        same "$task: two workers" "$dir/$task"
    done
    translate chain lattice --scores
    cp "$dir/out" "$dir/scores"
    translate chain lattice --scores --batch 1 --threads 1
    same "scores, one by one" "$dir/scores"
}

other_models() {
    run convert "$dir/model/model.pronk" "$dir/i8.pronk" --type i8
    worked "int8"
    run translate --no-split --device "$DEVICE" -m "$dir/i8.pronk" -d lattice -i "$DATA/lattice.chain.source"
    local n=$(right chain)
    [ $code = 0 ] && [ "$n" -ge 90 ] && ok "int8 keeps the candidates" || bad "int8 keeps the candidates" "$n lines, $(head -1 "$dir/err")"
    run average "$dir"/model/checkpoint-*.safetensors -o "$dir/mean.pronk"
    worked "a mean of checkpoints"
    run translate --no-split --device "$DEVICE" -m "$dir/mean.pronk" -d lattice -i "$DATA/lattice.chain.source"
    n=$(right chain)
    [ $code = 0 ] && [ "$n" -ge 50 ] && ok "it has the candidates too" || bad "it has the candidates too" "$n lines, $(head -1 "$dir/err")"
    run train recipes/tiny-lattice.yml --set "output=$dir/model" --set "vocab=$dir/v.spm" --set "device=$DEVICE" --resume
    worked "a training that goes on takes its candidates from its folder"
    run info "$dir/model/model.pronk"
    grep -q '^candidates.entries' "$dir/out" && ok "info names them" || bad "info names them" ""
}

# an alignment that was saved gives the candidates of one that is learned while training
saved_alignments() {
    run align -q --vocab "$dir/v.spm" -i "$DATA/lattice.train.source" "$DATA/lattice.train.target" --save "$dir/pieces.align" -o /dev/null
    worked "alignment of pieces"
    for from in learned saved; do
        run train recipes/tiny-lattice.yml --set "output=$dir/$from" --set "vocab=$dir/v.spm" --set train.updates=1 --set valid.bleu=false \
            --set "data.cache=$dir/cache" --set data.drop_duplicates=no $([ $from = saved ] && echo "--set data.alignment=$dir/pieces.align")
        [ $code = 0 ] || bad "training with an alignment that is $from" "$(head -1 "$dir/err")"
        "$PRONK" translate --no-split -m "$dir/$from/model.pronk" -d lattice:k=1,delta=0 -i "$DATA/lattice.swap.source" >"$dir/$from.out"
    done
    [ -s "$dir/saved.out" ] && cmp -s "$dir/learned.out" "$dir/saved.out" && ok "the same candidates" || bad "the same candidates" ""
    run align -q -i "$DATA/lattice.train.source" "$DATA/lattice.train.target" --save "$dir/words.align" -o /dev/null
    refused "an alignment of words" 2 "is not of the pieces" train recipes/tiny-lattice.yml --set "output=$dir/x" --set "vocab=$dir/v.spm" \
        --set "data.alignment=$dir/words.align"
}

# the same network without the token before: positions alone say how words change places
nat() {
    run train recipes/tiny-lattice.yml --set task=nat --set valid.decode=nat --set "output=$dir/nat" --set "vocab=$dir/v.spm" --set "device=$DEVICE" --set threads=2
    worked "training of nat"
    run translate --no-split --device "$DEVICE" -m "$dir/nat" -d nat -i "$DATA/lattice.swap.source"
    local n=$(right swap)
    [ $code = 0 ] && [ "$n" -ge 90 ] && ok "nat: words change places" || bad "nat: words change places" "$n of 100 lines are right: $(head -1 "$dir/err")"
    cp "$dir/out" "$dir/swap"
    run translate --no-split --device "$DEVICE" -m "$dir/nat" -d nat -i "$DATA/lattice.swap.source" --batch 1 --threads 1
    same "nat: one by one, one thread" "$dir/swap"
    refused "nat: a lattice" 1 "use -d nat" translate -m "$dir/nat" -d lattice -i "$DATA/lattice.swap.source"
    refused "nat: a shortlist" 2 "looks up the model's own candidates" translate -m "$dir/nat" -d nat --shortlist -i "$DATA/lattice.swap.source"
    refused "nat: n-best" 2 "one hypothesis" translate -m "$dir/nat" -d nat --n-best 2 -i "$DATA/lattice.swap.source"
}

what_is_refused() {
    local model="$dir/model/model.pronk" text="$DATA/lattice.swap.source"
    refused "greedy" 1 "use -d lattice" translate -m "$model" -i "$text"
    refused "n-best" 2 "one hypothesis" translate -m "$model" -d lattice --n-best 2 -i "$text"
    refused "a shortlist" 2 "looks up the model's own candidates" translate -m "$model" -d lattice --shortlist -i "$text"
    refused "an ensemble" 1 "one model" translate -m "$model" -m "$model" -d lattice -i "$text"
    refused "another way to look up" 2 "neighbours|distances" translate -m "$model" -d lattice:by=sound -i "$text"
    refused "no candidates at all" 2 "k takes 1..512" translate -m "$model" -d lattice:k=0 -i "$text"
    refused "a model of another task" 1 "task markov" translate -m tests/data/models/marian-gelu-legacy -d lattice -i "$text"
    refused "bigrams longer than trigrams" 2 "least" train recipes/tiny-lattice.yml --set task=markov:least=4 --set "output=$dir/y" --set "vocab=$dir/v.spm"
}

# the picture's path is the translation, and a page has it
pictures() {
    local text=$(head -1 "$DATA/lattice.chain.source") model="$dir/model/model.pronk"
    "$PRONK" translate -q --no-split -m "$model" -d lattice -i <(echo "$text") >"$dir/said"
    run viz -m "$model" -d lattice --format json "$text"
    python3 - "$dir/out" "$dir/said" 2>"$dir/why" <<'END'
import json, sys
viz = json.load(open(sys.argv[1]))
chosen = [[c['piece'] for c in step if c['chosen']] for step in viz['lattice']]
assert [c[0] for c in chosen] == [t['piece'] for t in viz['tokens']], chosen
assert viz['translation'] == open(sys.argv[2], encoding='utf-8').read().rstrip('\n')
assert all(0 <= c['probability'] <= 1 for step in viz['lattice'] for c in step)
END
    [ $? = 0 ] && [ $code = 0 ] && ok "viz: the path is the translation" || bad "viz: the path is the translation" "$(tail -1 "$dir/why")"
    for format in html svg dot; do
        run viz -m "$model" -d lattice --format $format "$text"
        [ $code = 0 ] && { [ $format = dot ] || grep -q 'class="path"' "$dir/out"; } && ok "viz as $format" || bad "viz as $format" "$(head -1 "$dir/err")"
    done
}

it_learns
no_batch_matters
pictures
other_models
saved_alignments
nat
what_is_refused
summary
