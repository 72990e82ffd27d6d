#!/bin/bash
# lexicon_test.sh - lexicons as users make and give them: `pronk align -m MODEL --save`, then --lexicon and --shortlist of
# translate, bench and viz; and what is refused. The model of the tests has random weights: checks ask for form.
#
# PRONK: the program (default build/pronk).
MODEL=tests/data/models/marian-relu
. tests/support/program.sh

for i in $(seq 1 20); do
    printf 'the house ||| das Haus\nthe small house ||| das kleine Haus\na book ||| ein Buch\n'
    printf 'the book is small ||| das Buch ist klein\na house is here ||| hier ist ein Haus\n'
done >"$dir/pairs"
sed 's/ ||| .*//' "$dir/pairs" | head -5 >"$dir/en"

run align -q -m "$MODEL" -i "$dir/pairs" --save "$dir/lexicon" -o "$dir/links"
worked "a lexicon of a model's pieces"
refused "the model is not written over" 1 "is also an input" align -q -m "$MODEL" -i "$dir/pairs" -o "$MODEL/config.json"
refused "pieces of a model and of a file" 2 "leave out vocab" align -q -m "$MODEL" --vocab tests/data/vocab/source.spm -i "$dir/pairs"
run align -q -i "$dir/pairs" --save "$dir/words" -o /dev/null
worked "an alignment of words"

run translate -q -m "$MODEL" --no-split -i "$dir/en"
worked "greedy"
cp "$dir/out" "$dir/greedy"
for spec in jacobi:init=lexicon,window=16 gad:init=lexicon jacobi; do
    run translate -q -m "$MODEL" --no-split -i "$dir/en" --lexicon "$dir/lexicon" -d $spec
    same "$spec is greedy" "$dir/greedy"
done
run translate -q -m "$MODEL" --no-split -i "$dir/en" --lexicon "$dir/lexicon" --shortlist --word-scores
worked "a shortlist"
cp "$dir/out" "$dir/short"
run translate -q -m "$MODEL" --no-split -i "$dir/en" --lexicon "$dir/lexicon" --shortlist --word-scores --batch 1 --threads 1
same "a shortlist, one by one" "$dir/short"
run translate -q -m "$MODEL" --no-split -i "$dir/en" --lexicon "$dir/lexicon" --alignment
grep -qE '\|\|\|( [0-9]+-[0-9]+)*$' "$dir/out" && worked "links by the lexicon" || bad "links by the lexicon" "$(head -1 "$dir/out" "$dir/err")"
run bench -m "$MODEL" -i "$dir/en" --interleave --batch 1 --threads 1 -d greedy --lexicon "$dir/lexicon" --shortlist -d greedy
grep -qE '^shortlist +no +yes' "$dir/out" && worked "bench, with and without" || bad "bench, with and without" "$(head -1 "$dir/err")"
run viz -m "$MODEL" --lexicon "$dir/lexicon" -d jacobi:init=lexicon --format json "the house"
worked "viz"

refused "a shortlist without a lexicon" 2 "needs a lexicon" translate -m "$MODEL" --shortlist -i "$dir/en"
refused "drafts without a lexicon" 2 "needs a lexicon" translate -m "$MODEL" -d jacobi:init=lexicon -i "$dir/en"
refused "a drafter and a lexicon" 2 "leave the drafter out" translate -m "$MODEL" --drafter "$MODEL" -d gad:init=lexicon --lexicon "$dir/lexicon" -i "$dir/en"
refused "an alignment of words as a lexicon" 2 "is not of the pieces of" translate -m "$MODEL" --lexicon "$dir/words" -i "$dir/en"
refused "no alignment at all" 1 "not an alignment model" translate -m "$MODEL" --lexicon "$dir/pairs" -i "$dir/en"
refused "no such file" 1 "nowhere" translate -m "$MODEL" --lexicon "$dir/nowhere" -i "$dir/en"
refused "an ensemble with a shortlist" 1 "leave it out" translate -m "$MODEL" -m "$MODEL" --lexicon "$dir/lexicon" --shortlist -i "$dir/en"
refused "bench: nothing follows" 2 "no --decode follows --shortlist" bench -m "$MODEL" -i "$dir/en" -d greedy --shortlist
head -c 3000 "$dir/lexicon" >"$dir/cut"
refused "a lexicon that is cut off" 1 "cut off or damaged" translate -m "$MODEL" --lexicon "$dir/cut" -i "$dir/en"
summary
