#!/bin/bash
# languages_test.sh - a model of two directions (data.to), trained from words that are mapped one to one, and text
# that is changed as it is read (data.change).
#
# PRONK: the program (default build/pronk).
. tests/support/program.sh

# 16 words of each language; sentences of 2 to 5 words
python3 - "$dir" <<'EOF'
import random, sys
random.seed(1)
a = 'one two three four five six seven eight nine ten red blue green white black grey'.split()
b = 'eins zwei drei vier fünf sechs sieben acht neun zehn rot blau grün weiß schwarz grau'.split()
with open(sys.argv[1] + '/en', 'w') as en, open(sys.argv[1] + '/de', 'w') as de:
    for _ in range(1500):
        words = [random.randrange(16) for _ in range(random.randint(2, 5))]
        en.write(' '.join(a[w] for w in words) + '\n')
        de.write(' '.join(b[w] for w in words) + '\n')
open(sys.argv[1] + '/capitals', 'w').write(' '.join(a + b).upper() + '\n')
EOF
en=$dir/en de=$dir/de
"$PRONK" vocab -q -i "$en" "$de" "$dir/capitals" --no-byte-fallback --coverage 1 --size 90 -o "$dir/v.spm" || exit 1
cat >"$dir/r.yml" <<EOF
task: at
output: model
vocab: v.spm
from: en
to: de
threads: 2
data:
  source: [en, de, en]
  target: [de, en, de]
  to: [de, en, de]
  change: [keep, keep, upper]
  drop_duplicates: no
  batch_tokens: 1024
model: { dim: 64, encoder_layers: 1, decoder_layers: 1, heads: 4, ffn: 128, max_positions: 64 }
data.max_length: 50
train: { updates: 260, rate: 4e-3, warmup: 60, dropout: 0, cooldown: 0.3 }
save.every: 0
save.type: f32
EOF
if "$PRONK" train "$dir/r.yml" -q >"$dir/out" 2>"$dir/err"; then ok "a model of two directions is trained"
else bad "a model of two directions is trained" "$(tail -1 "$dir/err")"; fi
model=$dir/model/model.pronk
say() { echo "$1" | "$PRONK" translate -m "$model" "${@:2}" 2>"$dir/err"; }
check "nothing said: into the language of the recipe" "drei rot vier blau" "$(say 'three red four blue')"
check "--to de" "drei rot vier blau" "$(say 'three red four blue' --to de)"
check "--to en" "three red four blue" "$(say 'drei rot vier blau' --to en)"
check "--from de --to en" "nine white ten" "$(say 'neun weiß zehn' --from de --to en)"
check "capitals, which one corpus had" "DREI ROT" "$(say 'THREE RED')"
say 'one' --to fr >/dev/null
check "another language is refused" "pronk translate: this model does not translate into fr; it knows: de, en (see \`pronk translate --help\`)" "$(cat "$dir/err")"
say 'one' --from fr >/dev/null
check "another source, too" "pronk translate: this model translates from 'en', not from 'fr' (see \`pronk translate --help\`)" "$(cat "$dir/err")"
say 'one two' >"$dir/a"
say 'one two' -d beam:size=4 >"$dir/b"
check "a beam reads the tag as well" "$(cat "$dir/a")" "$(cat "$dir/b")"

summary
