#!/bin/bash
# shortlist.sh - speed and BLEU of greedy search with and without a shortlist: one CPU thread, a sentence at a
# time.
#
#   bench/shortlist.sh MODEL LEXICON TEST.source TEST.reference [LINES]
#
# MODEL: of any type, measured in int8. LEXICON: what `pronk align -m MODEL --save` wrote. LINES: how many lines
# are timed (default 300), line by line in turn, so that the ratio holds on a busy machine; BLEU is of all.
set -e
PRONK=${PRONK:-build/pronk}
model=$1 lexicon=$2 source=$3 reference=$4 lines=${5:-300}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$PRONK" bench -m "$model" --type i8 -i "$source" --limit "$lines" --batch 1 --threads 1 --interleave \
    -d greedy --lexicon "$lexicon" --shortlist -d greedy
"$PRONK" translate -q -m "$model" --type i8 --no-split -i "$source" -o "$dir/whole"
"$PRONK" translate -q -m "$model" --type i8 --no-split -i "$source" --lexicon "$lexicon" --shortlist -o "$dir/short"
"$PRONK" eval -r "$reference" --json "$dir/whole" "$dir/short" |
    sed -E 's|.*/(whole\|short)", "bleu": ([0-9.]*).*|BLEU, \1: \2|'
