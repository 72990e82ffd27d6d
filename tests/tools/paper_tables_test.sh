#!/bin/bash
# paper_tables_test.sh - docs/results.md is what results/ make it, and a measured table fills its cells.
. tests/support/program.sh

page() { python3 bench/paper_tables.py page --results "$1" --out "$dir/results.md" --plots "$dir/results" 2>"$dir/err"; }

page results && cmp -s "$dir/results.md" docs/results.md && ok "docs/results.md is up to date" ||
    bad "docs/results.md is up to date" "run python3 bench/paper_tables.py page; $(tail -1 "$dir/err")"

mkdir "$dir/measured"
cp results/at.json "$dir/measured"
cat >"$dir/measured/gad-12-1.json" <<'END'
{"device": "cuda", "type": "f16", "limit": null, "repeat": 5, "complete": false, "rows": [
 {"name": "AT 12-1, greedy", "decode": "greedy", "sets": {"newstest2014": {"bleu": 21.25, "chrf2": 50, "trr": 0.1, "ratio": 1}},
  "batches": {"1": {"speed_to_first": 1.0, "tokens_per_model_pass": 1.0}}}]}
END
page "$dir/measured" && grep -qF '| AT 12-1, greedy | `greedy` | 21.25 | 1.00 | 1.00x |' "$dir/results.md" && ok "measured cells" ||
    bad "measured cells" "$(tail -1 "$dir/err")"
grep -qF '| GAD, 1 layer | `gad` | – | – | – |' "$dir/results.md" && ok "cells that were not measured" || bad "cells that were not measured" ""
grep -q '1.00x</text>' "$dir/results/gad-12-1.svg" && ok "a plot" || bad "a plot" "$(ls "$dir/results" 2>&1)"
python3 bench/paper_tables.py run gad --models "$dir" --sets "$dir" --results "$dir/measured" --table 1 >"$dir/out" 2>&1 &&
    grep -q '0 of 1[0-9] rows; missing: AT, beam 5' "$dir/out" && ok "models that are missing are named" || bad "models that are missing are named" "$(tail -1 "$dir/out")"

echo '{"device": "cuda", "type": "f16", "limit": null, "repeat": 5, "speed": [0.9, 2.1, 2.2, 3.3, 5.5]}' >"$dir/measured/gad-figure-4.json"
page "$dir/measured" && grep -qF '(cuda, f16; 5 lines): median 2.20x, one in ten below 0.90x, one in ten above 5.50x' "$dir/results.md" &&
    grep -qF '<title>2.00 to 2.25: 2 lines</title>' "$dir/results/gad-figure-4.svg" && ok "Figure 4" || bad "Figure 4" "$(tail -1 "$dir/err") $(grep 'Figure 4' "$dir/results.md")"
# speeds with scripted acceptance
"$(dirname "$PRONK")/bench/gad_speed" cpu f32 --vocab 300 --encoder 1 --decoder 1 --lines 1 --block 6 --tokens 3 >"$dir/measured/gad-scripted.jsonl" 2>"$dir/err" &&
    page "$dir/measured" && grep -qE '^\| base \| 1-1 \| cpu, f32 \| 1 \| `gad:block=6` \| (2.80|3.11) \| [0-9.e+]+ \| [0-9.]+x \|$' "$dir/results.md" &&
    ok "scripted acceptance" || bad "scripted acceptance" "$(tail -1 "$dir/err") $(grep -F 'gad:block=6' "$dir/results.md")"
# where no trained model is there: random weights, and outputs as long as the references
cat >"$dir/measured/pairs-cpu-6-6.json" <<'END'
{"device": "cpu", "type": "i8", "limit": 100, "repeat": 3, "complete": true, "random": true, "rows": [
 {"name": "two tokens a step, 6-6", "decode": "pairs", "random": true, "sets": {}, "batches": {
  "1": {"speed_to_first": 1.5, "source_words_per_second": 700.4, "passes_per_sentence": 14.25}}}]}
END
page "$dir/measured" && grep -qF '6-6** (cpu, i8, 100 lines; random weights, outputs as long as the references)' "$dir/results.md" &&
    grep -qF '| two tokens a step, 6-6 | `pairs` | 700 | 1.50x | – | 14.2 |' "$dir/results.md" && ok "random weights are said" ||
    bad "random weights are said" "$(grep -F 'two tokens a step, 6-6' "$dir/results.md")"
head -n 4 recipes/data/tiny.train.en >"$dir/newstest2014.en"
head -n 4 recipes/data/tiny.train.de >"$dir/newstest2014.de"
python3 bench/paper_tables.py run pairs --random --set model.dim=16 --set model.heads=2 --set model.ffn=16 --models "$dir" --sets "$dir" \
    --work "$dir/work" --results "$dir/measured" --repeat 1 --table cpu-6-6 >"$dir/out" 2>&1 &&
    page "$dir/measured" && grep -qE '^\| AT 6-6, greedy \| `greedy` \| [0-9]+ \| 1.00x \| 1.00x \| [12]0.0 \|$' "$dir/results.md" &&
    grep -qE '^\| two tokens a step, 6-6 \| `pairs` \| [0-9]+ \| [0-9.]+x \| [0-9.]+x \| ([56]|1[01]).[0-9] \|$' "$dir/results.md" &&
    ok "random weights are made and measured" || bad "random weights are made and measured" "$(tail -1 "$dir/out") $(grep -F 'a step, 6-6' "$dir/results.md")"
# the other tables of two tokens a step, by the models that were just made
two() { python3 bench/pairs.py "$@" --device cpu --sets "$dir/newstest2014" --repeats 1 --output "$dir/measured/pairs.jsonl" >"$dir/out" 2>&1; }
two quality "single L2R=$dir/work/at-6-6=beam:size=2,max_length=4" "double bidirectional=$dir/work/pairs-6-6=pairs:size=2,max_length=4" &&
    two widths "$dir/work/at-6-6" "$dir/work/pairs-6-6" --widths 1 2 && page "$dir/measured" &&
    grep -qE '^\| double bidirectional \| `pairs:size=2,max_length=4` \| [0-9.]+ \| [0-9.]+ \| [01].[0-9]+ \| [0-9]+ \| [0-9]+ % \|$' "$dir/results.md" &&
    grep -qE '^\| single R2L \| – ' "$dir/results.md" && grep -qE '^\| 2 \| [0-9]+ \| [0-9]+ \| [0-9]+ % \|$' "$dir/results.md" &&
    grep -q '<polyline' "$dir/results/pairs-widths.svg" && ok "tables of two tokens a step" || bad "tables of two tokens a step" "$(tail -1 "$dir/out" "$dir/err")"
# lattices with random weights: their candidates are counted over a text
python3 bench/paper_tables.py run lattice --random --set model.dim=16 --set model.heads=2 --set model.ffn=16 --models "$dir" --sets "$dir" \
    --text recipes/data/tiny.train.en recipes/data/tiny.train.de --work "$dir/work" --results "$dir/measured" --repeat 1 --table cpu >"$dir/out" 2>&1 &&
    page "$dir/measured" && grep -qE '^\| K = 64 \| `lattice:k=64,delta=3` \| [0-9.e+-]+ \| [0-9.]+x \| [0-9.]+x \|$' "$dir/results.md" &&
    grep -qE '^\| NAT, 6 layers \| `nat` \| [0-9.e+-]+ \| [0-9.]+x \| [0-9.]+x \|$' "$dir/results.md" &&
    ok "lattices with random weights" || bad "lattices with random weights" "$(tail -1 "$dir/out") $(grep -F '`lattice:k=64,delta=3` |' "$dir/results.md" | tail -1)"
# figures of lattices, by the models that were just made
figure() { python3 bench/lattice.py "$@" --results "$dir/measured" --source "$dir/newstest2014.en" >"$dir/out" 2>&1; }
figure latency --model "$dir/work/lattice-6-1" --device cpu --repeat 1 --work "$dir" && figure ranks --model "$dir/work/lattice-6-1" --device cpu --limit 2 &&
    page "$dir/measured" && grep -qF '![Figure 2](results/lattice-ranks.svg)' "$dir/results.md" && grep -qF '![Figure 4](results/lattice-latency.svg)' "$dir/results.md" &&
    [ "$(grep -c '<polyline' "$dir/results/lattice-latency.svg")" = 3 ] && ok "figures 2 and 4 of lattices" || bad "figures 2 and 4 of lattices" "$(tail -1 "$dir/out" "$dir/err")"
figure recall --model "$dir/work/lattice-6-1" --nat "$dir/work/nat-6-6" --target "$dir/newstest2014.de" && page "$dir/measured" &&
    python3 - "$dir/measured/lattice-recall.json" 2>"$dir/err" <<'END' && ok "figure 1 of lattices" || bad "figure 1 of lattices" "$(tail -1 "$dir/out" "$dir/err")"
import json, sys
said = json.load(open(sys.argv[1]))
for name in ('by neighbours', 'by distances', 'one list', 'NAT'):
    shares = [share for _, share in said[name]]
    assert [k for k, _ in said[name]] == [1, 8, 16, 32, 64, 128] and shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 100, said
assert said['by distances'][-1][1] > 90  # it was counted over text with these sentences in it
END
cat >"$dir/measured/lattice-3.json" <<'END'
{"device": "cuda", "type": "f16", "limit": null, "repeat": 5, "complete": true, "rows": [
 {"name": "1 layer", "decode": "lattice", "sets": {"newstest2013": {"bleu": 15.5}}, "batches": {"1": {"speed_to_first": 7.9}}},
 {"name": "2 layers", "decode": "lattice", "sets": {"newstest2013": {"bleu": 16.5}}, "batches": {"1": {"speed_to_first": 6.9}}},
 {"name": "NAT, 6 layers", "decode": "nat", "sets": {"newstest2013": {"bleu": 12.5}}, "batches": {"1": {"speed_to_first": 5.9}}}]}
END
page "$dir/measured" && grep -qF '<title>lattice, 2: 16.5</title>' "$dir/results/lattice-layers.svg" && grep -qF '<title>NAT, 6: 12.5</title>' "$dir/results/lattice-layers.svg" &&
    ok "figure 3 of lattices" || bad "figure 3 of lattices" "$(tail -1 "$dir/err")"
python3 - 2>"$dir/err" <<'END' && ok "groups by length" || bad "groups by length" "$(tail -1 "$dir/err")"
import sys
sys.path.insert(0, 'bench')
from random_models import by_length, forced
# 40 pieces for 80 letters: a piece for two letters, and the end symbol
assert by_length(['a', 'b', 'c'], ['x' * 8, 'y' * 10, 'z' * 62], 40, 10) == {10: ['a', 'b'], 30: ['c']}
assert forced('greedy', 7) == 'greedy:min_length=7,max_length=7'
assert forced('hrt:k=2', 7) == 'hrt:k=2,min_length=7,max_length=7'
assert forced('lattice:k=8', 7) == 'lattice:k=8' and forced('nat', 7) == 'nat'
END

summary
