#!/bin/sh
# Translates a few sentences. usage: demo.sh PRONK [MODEL]
set -eu
pronk=$1 model=${2:-}
if [ -z "$model" ]; then
    for place in models/en-de.pronk ../shared/models/en-de-base-hf; do
        [ -e "$place" ] && { model=$place; break; }
    done
fi
if [ -z "$model" ]; then
    echo "Pronk is built: $pronk"
    echo "It has no model of its own yet. Give it one (a Hugging Face MarianMT or mBART-50 folder, or a .pronk file):"
    echo "    make demo MODEL=path/to/opus-mt-en-de"
    exit 0
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
