#!/bin/bash
# ranks_test.sh - training over MPI: two ranks learn what one rank learns with twice the batches in
# an update, and a rank that fails ends all of them, soon and with a word why.
#
# PRONK: the program (default build/pronk), with pronk-mpi.so beside it. Skipped where there is no
# mpirun or no plugin.
. tests/support/program.sh

end() { summary; exit; }

command -v mpirun >/dev/null || { skip "ranks: there is no mpirun"; end; }
[ -e "$(dirname "$PRONK")/pronk-mpi.so" ] || { skip "ranks: there is no pronk-mpi.so"; end; }

# sentences of a little language: words are translated one by one, and their order is reversed
awk -v src="$dir/train.src" -v tgt="$dir/train.tgt" 'BEGIN {
    split("ba do fi gu ke la mo nu pa ri sa te", word)
    split("alfa beta gama delta zeta eta teta jota kapa lambda mi ni", translated)
    for (line = 0; line < 400; line++) {
        source = target = ""
        random = (random * 1103 + 12345) % 65536
        for (n = int(random / 256) % 8 + 2; n > 0; n--) {
            random = (random * 1103 + 12345) % 65536
            at = int(random / 256) % 12 + 1
            source = source word[at] " "
            target = translated[at] " " target
        }
        print source > src
        print target > tgt
    }
}'
"$PRONK" vocab -i "$dir/train.src" -i "$dir/train.tgt" --size 50 --no-byte-fallback -o "$dir/joint.spm" >"$dir/log" 2>&1 ||
    { bad "a vocabulary" "$(tail -n 3 "$dir/log")"; end; }

cat >"$dir/recipe.yml" <<RECIPE
output: $dir/out
threads: 1
vocab: $dir/joint.spm
data:
  source: $dir/train.src
  target: $dir/train.tgt
  cache: $dir/cache
  batch_tokens: 128
  max_length: 60
  drop_duplicates: false
model: { dim: 32, encoder_layers: 1, decoder_layers: 1, heads: 4, ffn: 64, max_positions: 64 }
train: { updates: 30, rate: 2e-3, warmup: 10, dropout: 0.1, label_smoothing: 0.1, clip: 1 }
log: { every: 1 }
save: { every: 15 }
RECIPE

# ranks N ARGUMENT...: leaves $dir/log and $code
ranks() {
    local n=$1
    shift
    timeout 60 mpirun -np "$n" --oversubscribe --allow-run-as-root --bind-to none \
        "$PRONK" train "$dir/recipe.yml" "$@" >"$dir/log" 2>&1
    code=$?
}
alone() {
    timeout 60 "$PRONK" train "$dir/recipe.yml" "$@" >"$dir/log" 2>&1
    code=$?
}

# done_well NAME FOLDER [UPDATES]: exit code 0, a model and so many updates in the log
done_well() {
    local updates
    updates=$(grep -c '"loss"' "$2/log.jsonl" 2>/dev/null)
    if [ $code != 0 ]; then bad "$1" "exit code $code: $(tail -n 5 "$dir/log")"
    elif [ ! -s "$2/model.pronk" ]; then bad "$1" "no model"
    elif [ "$updates" != "${3:-30}" ]; then bad "$1" "$updates updates in the log"
    else ok "$1"; fi
}

# same_losses NAME A B [UPDATES]: so many, and none further apart than 1e-6, and as much for being written to
# six digits
same_losses() {
    local apart
    apart=$(paste <(grep -o '"loss": *[^,}]*' "$2/log.jsonl") <(grep -o '"loss": *[^,}]*' "$3/log.jsonl") |
        awk -F '\t' '{ split($1, a, ":"); split($2, b, ":"); d = a[2] - b[2]; if (d < 0) d = -d
                       if (d > most) most = d; n++ } END { printf "%d %s %.2e", n, most < 2.1e-6, most }')
    case $apart in
        "${4:-30} 1 "*) ok "$1 (at most ${apart##* } apart)" ;;
        *) bad "$1" "lines, close enough, largest difference: $apart" ;;
    esac
}

alone --set "output=$dir/one" --set train.accumulate=2
done_well "one rank, two batches an update" "$dir/one"
ranks 2 --set "output=$dir/two"
done_well "two ranks" "$dir/two"
same_losses "the same losses" "$dir/one" "$dir/two"
[ "$(grep -c '^done' "$dir/log")" = 1 ] && ok "one rank speaks for all" ||
    bad "one rank speaks for all" "$(cat "$dir/log")"

alone --set "output=$dir/four" --set train.accumulate=4
ranks 2 --set "output=$dir/pairs" --set train.accumulate=2
done_well "two ranks, two batches each" "$dir/pairs"
same_losses "the same losses as four batches" "$dir/four" "$dir/pairs"

ranks 2 --set "output=$dir/again"
done_well "two ranks again" "$dir/again"
cmp -s <(grep -o '"loss": *[^,}]*' "$dir/two/log.jsonl") <(grep -o '"loss": *[^,}]*' "$dir/again/log.jsonl") &&
    ok "two trainings, the same losses to the last digit" || bad "two trainings" "losses differ"

# a gradient of several messages, on their way while the rest is computed
large="--set model.dim=192 --set model.ffn=768 --set model.encoder_layers=2 --set train.updates=4"
alone --set "output=$dir/large" $large --set train.accumulate=2
ranks 2 --set "output=$dir/large-two" $large
done_well "a larger model" "$dir/large-two" 4
same_losses "the same losses of a larger model" "$dir/large" "$dir/large-two" 4

# what was stopped goes on: with as many ranks, or as one with as many batches
ranks 2 --set "output=$dir/half" --set train.updates=15
ranks 2 --set "output=$dir/half" --set train.updates=30 --resume
[ $code = 0 ] && ok "two ranks go on" || bad "two ranks go on" "exit code $code: $(tail -n 5 "$dir/log")"

# rank 1 fails, at once or later: all end, soon, and its own words are there
start=$(date +%s)
timeout 60 mpirun --oversubscribe --allow-run-as-root --bind-to none \
    -np 1 "$PRONK" train "$dir/recipe.yml" --set "output=$dir/bad" : \
    -np 1 "$PRONK" train "$dir/recipe.yml" --set "output=$dir/bad" --set device=nowhere >"$dir/log" 2>&1
code=$?
took=$(($(date +%s) - start))
if [ $code = 0 ] || [ $code = 124 ]; then bad "rank 1 fails at the start" "exit code $code after $took s"
elif ! grep -q 'pronk train: .*nowhere' "$dir/log"; then bad "rank 1 fails at the start" "$(cat "$dir/log")"
else ok "rank 1 fails at the start: all end"; fi

# killed when the log has some updates, however slow the machine
cat >"$dir/killed.sh" <<'KILLED'
log=$1
shift
[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"
"$@" & pid=$!
until [ "$(grep -c '"loss"' "$log" 2>/dev/null)" -ge 20 ] 2>/dev/null; do sleep 0.1; done
kill -9 $pid
wait $pid
exit 9
KILLED
timeout 60 mpirun -np 2 --oversubscribe --allow-run-as-root --bind-to none bash "$dir/killed.sh" "$dir/killed/log.jsonl" \
    "$PRONK" train "$dir/recipe.yml" --set "output=$dir/killed" --set train.updates=100000000 >"$dir/log" 2>&1
code=$?
[ $code != 0 ] && [ $code != 124 ] && grep -q '^update 10 ' "$dir/log" && ok "rank 1 is killed: all end" ||
    bad "rank 1 is killed" "exit code $code: $(tail -n 3 "$dir/log")"

# without the plugin there is a word why; a single rank needs none
mkdir "$dir/bin"
cp "$PRONK" "$dir/bin/pronk"
timeout 60 mpirun -np 2 --oversubscribe --allow-run-as-root "$dir/bin/pronk" train "$dir/recipe.yml" \
    --set "output=$dir/none" >"$dir/log" 2>&1
code=$?
[ $code != 0 ] && [ $code != 124 ] && grep -q 'pronk-mpi.so' "$dir/log" && ok "no plugin: refused" ||
    bad "no plugin" "exit code $code: $(tail -n 5 "$dir/log")"
timeout 60 mpirun -np 1 --allow-run-as-root "$dir/bin/pronk" train "$dir/recipe.yml" \
    --set "output=$dir/single" >"$dir/log" 2>&1
code=$?
done_well "mpirun with one rank needs no plugin" "$dir/single"
end
