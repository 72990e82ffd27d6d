#!/bin/bash
# compare_test.sh - recipes/compare.sh: every model of docs/results.md is in its list, and each of its trainings begins, ends and
# goes on after a stop. The networks are tiny and learn for two updates.
. tests/support/program.sh

head -n 200 recipes/data/tiny.train.en >"$dir/text.en"
head -n 200 recipes/data/tiny.train.de >"$dir/text.de"
export PRONK="$(realpath "$PRONK")" MODELS="$dir/models" HF="$dir/hf" SHORT="$dir/text"
SMALL="device=cpu train.cooldown=0 train.warmup=1 model.dim=16 model.heads=2 model.ffn=16 data.source=$dir/text.en
       data.target=$dir/text.de valid.source=$dir/text.en valid.target=$dir/text.de valid.bleu=false valid.metric=loss valid.every=0
       data.batch_tokens=64 data.max_length=60"
compare() { recipes/compare.sh "$@" $(printf -- '--set %s ' $SMALL) >"$dir/out" 2>"$dir/err" </dev/null; }

python3 - >"$dir/missing" 2>&1 <<'END'
import subprocess
import sys
sys.path.insert(0, 'bench')
import paper_tables
listed = {line.split()[0] for size in ([], ['--small'])
          for line in subprocess.check_output(['recipes/compare.sh', *size], text=True).splitlines()}
rows = [row for tables in paper_tables.TABLES.values() for table in tables for row in table[3]]
print(*sorted({row[key] for row in rows for key in ('model', 'drafter') if key in row} - listed))
END
check "models of the tables that are not in the list" "hf" "$(cat "$dir/missing")"   # a downloaded one

compare --train --set train.updates=2
check "all but the downloaded model's drafter are trained" "1 gad-hf: needs recipes/corpus/train.hf.de first" "$? $(cat "$dir/err" | grep needs)"
check "the list says so" "gad-hf" "$(recipes/compare.sh | grep -v finished | tr -d ' ')"
compare --train at-6-6 --set train.updates=2
check "what is finished is not trained again" "0 " "$? $(cat "$dir/out")"

"$PRONK" vocab -i "$dir/text.en" "$dir/text.de" --size 500 -o "$dir/text.spm" 2>/dev/null
compare --small --train --set train.updates=2
check "the small ones are trained" "0 0" "$? $(recipes/compare.sh --small | grep -vc finished)"

rm -r "$MODELS/hrt-6-6" "$MODELS/at-6-6"
compare --train hrt-6-6 --set train.updates=2
check "a parent that is missing" "1 hrt-6-6: needs at-6-6 first" "$? $(cat "$dir/err")"
compare --train at-6-6 --minutes 0 --set train.updates=2
check "no time left: nothing is begun" "0 no" "$? $([ -e "$MODELS/at-6-6" ] && echo yes || echo no)"

# stopped in the middle: begun, and finished by the same command
compare --train at-6-6 --minutes 0.1 --set train.updates=1000000 --set save.every=0
check "stopped" "0 at-6-6begun at-6-6: stopped; the same command goes on" "$? $(recipes/compare.sh at-6-6 | tr -d ' ') $(tail -n 1 "$dir/out")"
updates=$(ls "$MODELS/at-6-6" | sed -n 's/checkpoint-\(.*\).safetensors/\1/p' | sort -n | tail -1)
compare --train at-6-6 --set train.updates=$((updates + 2))
check "goes on" "0 at-6-6finished" "$? $(recipes/compare.sh at-6-6 | tr -d ' ')"

compare --train no-such-model
check "a model that is not in the list" "2 1" "$? $(grep -c "no such model: no-such-model" "$dir/err")"

summary
