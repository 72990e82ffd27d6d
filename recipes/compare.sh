#!/bin/bash
# compare.sh - trains the systems that docs/results.md compares: one list, in the order in which they are needed.
#
#   recipes/compare.sh                        what there is: a line for each model, finished, begun or not
#   recipes/compare.sh --train [NAME ...]     trains those that are not finished, all or those that are named
#   recipes/compare.sh --train --minutes 25   stops after so long; the same command goes on where it stopped
#   recipes/compare.sh --commands             prints the commands
#   recipes/compare.sh --small ...            small networks and short sentences instead: minutes on a CPU core each
#
# Models are recipes/NAME (small ones recipes/small/NAME), text is recipes/corpus (recipes/README.md). --set KEY=VALUE is given to every training, for example
# device=cpu. PRONK is the program (build/pronk), HF a Hugging Face folder for the rows "hf", whose own translations
# are its drafter's text, SHORT the text of the small ones without .en or .de. A model whose parent is not finished is left for later, and said.
cd "$(dirname "$0")/.." || exit 1
PRONK=${PRONK:-build/pronk} HF=${HF:-recipes/hf} SHORT=${SHORT:-recipes/corpus/short}
DISTILLED="data.target=recipes/corpus/train.distilled.de.xz" RAW="data.target=recipes/corpus/train.de.xz"
do=list size=full deadline= failed=0
more=() wanted=()

usage() { sed -n '2,/^cd /p' "$0" | grep '^#' | cut -c3- >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --train | --commands) do=${1#--} ;;
    --small) size=small ;;
    --minutes) [[ $2 =~ ^[0-9]+(\.[0-9]+)?$ ]] || usage; deadline=$(awk "BEGIN { print int($(date +%s) + 60 * $2) }"); shift ;;
    --set) [ -n "$2" ] || usage; more+=(--set "$2"); shift ;;
    -*) usage ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
[ $size = full ] && MODELS=${MODELS:-recipes} || MODELS=${MODELS:-recipes/small}

# every name that was given, once it is in the list, is taken from `unknown`
unknown=("${wanted[@]}")
is_known() {
    local i
    for i in "${!unknown[@]}"; do [ "${unknown[i]}" = "$1" ] && unset "unknown[$i]"; done
}
is_wanted() {
    [ ${#wanted[@]} = 0 ] && return 0
    local name
    for name in "${wanted[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}

# state NAME: finished, begun or nothing
state() {
    if [ -e "$MODELS/$1/model.pronk" ]; then echo finished
    elif ls "$MODELS/$1"/checkpoint-*.safetensors >/dev/null 2>&1; then echo begun
    fi
}

# train NAME COMMAND...: until the deadline, when a checkpoint is saved
train() {
    local name=$1 left
    shift
    [ "$(state "$name")" = begun ] && set -- "$@" --resume
    if [ -n "$deadline" ]; then
        left=$((deadline - $(date +%s)))
        [ $left -gt 0 ] || return 0
        set -- timeout --signal=TERM $left "$@"
    fi
    echo "== $name"
    "$@"
    case $? in
    0 | 124) [ "$(state "$name")" = finished ] || echo "$name: stopped; the same command goes on" ;;
    *) echo "$name: not finished" >&2; failed=1 ;;
    esac
}

# model NAME PARENT RECIPE [KEY=VALUE ...]: PARENT is a model that must be finished before, a file or folder, or -
model() {
    local name=$1 parent=$2 recipe=$3 setting
    shift 3
    is_known "$name"
    is_wanted "$name" || return 0
    local command=("$PRONK" train "recipes/$recipe" --set "output=$MODELS/$name")
    for setting in "$@"; do command+=(--set "$setting"); done
    command+=("${more[@]}")
    case $do in
    list) printf '%-22s %s\n' "$name" "$(state "$name")" ;;
    commands) echo "${command[*]}" ;;
    train)
        if [ "$(state "$name")" = finished ]; then return 0; fi
        if [ "$parent" != - ] && [ ! -e "$parent" ] && [ "$(state "$parent")" != finished ]; then
            echo "$name: needs $parent first" >&2
            failed=1
        else train "$name" "${command[@]}"; fi ;;
    esac
}

# AT rows get the updates of the fine-tuning too; HRT is one file for k = 2, 3 and 4
SIZES=hrt:k=2,k_max=4,all_sizes=true
at_and_hrt() { # DEPTH
    local shape="model.encoder_layers=${1%-*} model.decoder_layers=${1#*-}"
    model "at-$1" - compare-at.yml "$DISTILLED" $shape
    model "hrt-$1" "at-$1" compare-hrt.yml task=$SIZES "init=$MODELS/at-$1/model.pronk"
    model "at-$1-more" "at-$1" compare-hrt.yml task=at "init=$MODELS/at-$1/model.pronk"
}
ablation() { # NAME TASK
    model "hrt-12-1-$1" at-12-1 compare-hrt.yml "task=$2" "init=$MODELS/at-12-1/model.pronk"
}
drafter() { # NAME VERIFIER [KEY=VALUE ...]
    local name=$1 verifier=$2
    shift 2
    model "$name" "$verifier" compare-gad.yml "verifier=$MODELS/$verifier" "$@"
}
from_model() { # NAME PARENT [KEY=VALUE ...]: a network of its own, which begins as the parent
    local name=$1 parent=$2
    shift 2
    model "$name" "$parent" compare-gad.yml verifier= "init=$MODELS/$parent/model.pronk" train.dropout=0.1 "$@"
}

full_list() {
    # hybrid-regressive translation and Mask-Predict
    at_and_hrt 12-1
    model hrt-12-1-k2 at-12-1 compare-hrt.yml "init=$MODELS/at-12-1/model.pronk"
    model cmlm-6-6 - compare-cmlm.yml
    at_and_hrt 6-6

    # draft and verify
    drafter gad-6-6-1 at-6-6
    drafter gad-6-6-2 at-6-6 model.decoder_layers=2
    drafter gad-6-6-3 at-6-6 model.decoder_layers=3
    model gad-hf recipes/corpus/train.hf.de compare-gad.yml "verifier=$HF" data.target=recipes/corpus/train.hf.de model.decoder_layers=2
    from_model gad-self at-6-6 task=gad-self:block=10 train.updates=15000 train.rate=2e-4 valid.metric=bleu
    from_model gad-paper at-6-6 task=gad:block=30,prefix=all train.updates=15000
    drafter gad-6-6-1-plain at-6-6 task=gad:block=10,cuts=2,glancing=no
    drafter gad-12-1-1 at-12-1

    # two tokens a step
    model pairs-6-6-raw - compare-pairs.yml
    model at-6-6-raw - compare-at.yml
    model pairs-lr-6-6-raw - compare-pairs.yml task=pairs-lr
    model pairs-rl-6-6-raw - compare-pairs.yml task=pairs-rl
    model at-rl-raw - compare-at.yml task=at-rl
    model pairs-6-6 - compare-pairs.yml "$DISTILLED"
    model pairs-12-1 - compare-pairs.yml "$DISTILLED" model.encoder_layers=12 model.decoder_layers=1

    # lattices
    model lattice-6-1 - compare-lattice.yml
    model lattice-6-1-raw - compare-lattice.yml "$RAW"
    model nat-6-6 - compare-lattice.yml task=nat valid.decode=nat model.decoder_layers=6
    for layers in 2 3 4 5 6; do model "lattice-6-$layers" - compare-lattice.yml "model.decoder_layers=$layers"; done
    model lattice-6-1-de-en - compare-lattice.yml data.source=recipes/corpus/train.de.xz data.target=recipes/corpus/train.en.xz \
          from=de to=en valid.source=recipes/corpus/newstest2013.de valid.target=recipes/corpus/newstest2013.en

    # the rest of the first ones
    model cmlm-6-6-raw - compare-cmlm.yml "$RAW"
    at_and_hrt 20-1
    at_and_hrt 6-1
    ablation alone $SIZES,auxiliary=false
    ablation lambda0.5 $SIZES,lambda=0.5
    ablation lambda2 $SIZES,lambda=2
    ablation most0.5 $SIZES,most=0.5
    model hrt-12-1-scratch - compare-at.yml "$DISTILLED" task=$SIZES model.encoder_layers=12 model.decoder_layers=1 train.updates=30000 valid.decode=hrt
}

# Sentences of at most ten words, 4,000 pieces, d = 128. What they share comes behind what a recipe says, and --set behind that.
small_list() {
    local shape="vocab=$SHORT.spm model.dim=128 model.ffn=512 model.heads=4 model.encoder_layers=3 train.updates=10000 train.rate=2e-3"
    local tuned="train.updates=8000 train.rate=1e-3"
    more=(--set device=cpu --set threads=1 --set "data.source=$SHORT.en" --set "data.target=$SHORT.de" --set data.batch_tokens=1024
          --set train.warmup=500 --set train.dropout=0.05 --set "valid.source=$SHORT.dev.en" --set "valid.target=$SHORT.dev.de"
          --set valid.every=2500 --set save.every=2500 "${more[@]}")
    model at-3-3 - compare-at.yml $shape model.decoder_layers=3
    model pairs-3-3 - compare-pairs.yml $shape model.decoder_layers=3
    model cmlm-3-3 - compare-cmlm.yml $shape model.decoder_layers=3
    model lattice-3-1 - compare-lattice.yml $shape model.decoder_layers=1
    model hrt-3-3 at-3-3 compare-hrt.yml task=hrt:k=2,k_max=4 "init=$MODELS/at-3-3/model.pronk" $tuned
    model hrt-3-3-k2 hrt-3-3 compare-hrt.yml task=hrt:k=2,auxiliary=false "init=$MODELS/hrt-3-3/model.pronk" train.updates=3000 train.rate=1e-3
    model hrt-3-3-alone at-3-3 compare-hrt.yml task=hrt:k=2,auxiliary=false "init=$MODELS/at-3-3/model.pronk" train.updates=8000 train.rate=3e-3
    model at-3-3-more at-3-3 compare-hrt.yml task=at "init=$MODELS/at-3-3/model.pronk" $tuned
    local block="task=gad:block=10,cuts=2,next=yes,fall=0.8,glancing=no" # its sentences are short
    drafter gad-3-3-1 at-3-3 $block train.updates=5000 train.rate=2e-3
    drafter gad-3-3-2 at-3-3 $block train.updates=5000 train.rate=2e-3 model.decoder_layers=2
    from_model gad-self at-3-3 task=gad-self:block=10 train.updates=4000 train.rate=5e-4 valid.metric=bleu
}

${size}_list
for name in "${unknown[@]}"; do echo "no such model: $name; recipes/compare.sh lists them" >&2 && failed=2; done
exit $failed
