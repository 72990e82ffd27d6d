#!/bin/sh
# Translates a few sentences. usage: demo.sh PRONK [MODEL]     MODEL: the one that comes with Pronk
set -eu
pronk=$1 model=${2:-}
if [ -z "$model" ]; then
    model=$(dirname "$0")/../models/en-de.pronk
    [ -e "$model" ] || { echo "$model is missing; give a model: make demo MODEL=path/to/opus-mt-en-de" >&2; exit 1; }
fi
echo "model: $model"
printf '%s\n' "Good morning! How are you today?" \
    "The committee will vote on the proposal tomorrow." \
    "Fast translation should not change a single word." |
while IFS= read -r line; do
    printf '  %s\n' "$line"
    translation=$(printf '%s\n' "$line" | "$pronk" translate -m "$model" --batch 1)
    printf '  -> %s\n' "$translation"
done
