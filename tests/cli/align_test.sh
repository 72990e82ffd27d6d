#!/bin/bash
# align_test.sh - `pronk align`: two files, one file and compressed ones, both directions, saved models, tables,
# symmetrising files of links, signals, and what is refused with nothing written.
#
# PRONK: the program (default build/pronk).
. tests/support/program.sh

# same NAME FILE FILE
same() { if cmp -s "$2" "$3"; then ok "$1"; else bad "$1" "$(diff "$2" "$3" | head -3)"; fi; }

# align ARGUMENT...: leaves $dir/out, $dir/err and $code
align() {
    timeout 120 "$PRONK" align "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}

# refused NAME CODE TEXT ARGUMENT...: and neither output nor model was written
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    case " $* " in *" --load "*) align "$@" -o "$dir/never" ;; *) align "$@" -o "$dir/never" --save "$dir/never.model" ;; esac
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(cat "$dir/err")"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif ls "$dir"/never* >/dev/null 2>&1; then bad "$name" "it left $(ls "$dir"/never*)"
    else ok "$name"; fi
    rm -f "$dir"/never*
}

for i in $(seq 1 40); do
    printf 'the house ||| das Haus\nthe small house ||| das kleine Haus\na book ||| ein Buch\n'
    printf 'the book is small ||| das Buch ist klein\na house is here ||| hier ist ein Haus\n'
    printf 'it is here ||| hier ist es\nit ||| es\nhere ||| hier\n'
done >"$dir/pairs"
sed 's/ ||| .*//' "$dir/pairs" >"$dir/en"
sed 's/.* ||| //' "$dir/pairs" >"$dir/de"

align -i "$dir/pairs" -o "$dir/forward"
check "exit code" 0 $code
check "nothing on standard output" "" "$(cat "$dir/out")"
check "a line for each pair" 320 "$(wc -l <"$dir/forward")"
check "a pair in order" "0-0 1-1 2-2" "$(sed -n 2p "$dir/forward")"
check "a pair out of order, by target" "3-0 2-1 0-2 1-3" "$(sed -n 5p "$dir/forward")"
grep -q 'training takes [0-9]* MiB' "$dir/err" && ok "memory is said" || bad "memory is said" "$(cat "$dir/err")"
grep -q 'forward: tension [0-9.]*, cross entropy' "$dir/err" && ok "the tension is said" || bad "the tension is said" "$(cat "$dir/err")"
align -q -i "$dir/pairs" -o "$dir/quiet"
check "quiet says nothing" "" "$(cat "$dir/err")"
same "quiet changes nothing" "$dir/forward" "$dir/quiet"
align -i "$dir/en" "$dir/de"
same "two files, standard output" "$dir/forward" "$dir/out"
align -i - <"$dir/pairs"
same "standard input" "$dir/forward" "$dir/out"
align -i - "$dir/de" < <(cat "$dir/en")
same "standard input beside a file" "$dir/forward" "$dir/out"
for tool in gzip xz zstd; do
    if ! command -v $tool >/dev/null; then skip "$tool"; continue; fi
    $tool -c "$dir/pairs" >"$dir/packed"
    align -i "$dir/packed"
    same "$tool" "$dir/forward" "$dir/out"
done
for threads in 1 2 5; do
    align -i "$dir/pairs" --threads $threads
    same "$threads threads" "$dir/forward" "$dir/out"
done

align -r -i "$dir/pairs" -o "$dir/reverse"
check "reverse is source-target, by source" "0-2 1-3 2-1 3-0" "$(sed -n 5p "$dir/reverse")"
grep -q 'reverse: tension' "$dir/err" && ok "reverse's tension is said" || bad "reverse's tension" "$(cat "$dir/err")"
for method in intersect union grow-diag grow-diag-final grow-diag-final-and; do
    align -i "$dir/pairs" --symmetrise $method -o "$dir/both"
    align --pharaoh -i "$dir/forward" "$dir/reverse" --symmetrise $method
    same "$method at once and of two files" "$dir/both" "$dir/out"
done

align -i "$dir/pairs" --symmetrise intersect --save "$dir/model" --table "$dir/table" -o "$dir/both"
check "model and table: exit code" 0 $code
align --load "$dir/model" -i "$dir/en" "$dir/de"
same "a saved model aligns the same" "$dir/both" "$dir/out"
align --load "$dir/model" -r -i "$dir/pairs"
same "and in one direction" "$dir/reverse" "$dir/out"
check "new text" "0-0 1-1 2-2" "$(echo 'the small book ||| das kleine Buch' | "$PRONK" align -q --load "$dir/model")"
check "the lexical table" "house	Haus" "$(grep '^house	' "$dir/table" | sort -t '	' -k3 -g -r | head -1 | cut -f 1,2)"
head -1 "$dir/table" | grep -q '^<eps>' && ok "null comes first" || bad "null comes first" "$(head -1 "$dir/table")"
align --vocab tests/data/vocab/source.spm -i "$dir/pairs" --save "$dir/pieces" -o "$dir/pieces.links"
check "pieces: exit code" 0 $code
align --load "$dir/pieces" -i "$dir/pairs"
same "a saved model of pieces" "$dir/pieces.links" "$dir/out"

printf 'the house ||| das Haus\n ||| das\nthe |||\n|||\n' >"$dir/empty"
align -i "$dir/empty"
check "empty sides give empty lines" "$(printf '0-0 1-1\n\n\n\n.')" "$(cat "$dir/out"; echo .)"
grep -q '3 pairs with an empty side' "$dir/err" && ok "empty sides are counted" || bad "empty sides are counted" "$(cat "$dir/err")"
align --load "$dir/model" -i /dev/null -o "$dir/none"
check "no pairs and a saved model: exit code" 0 $code
check "and an empty file" 0 "$(wc -c <"$dir/none")"

head -n 319 "$dir/de" >"$dir/short"
refused "other numbers of lines" 1 "en has 320 lines and $dir/short has 319" -i "$dir/en" "$dir/short"
refused "other numbers of lines, saved model" 1 "en has 320 lines and $dir/short has 319" --load "$dir/model" -i "$dir/en" "$dir/short"
refused "other numbers of lines of links" 1 "has 320 lines" --pharaoh -i "$dir/forward" "$dir/short" --symmetrise union
printf 'a ||| b\na b\n' >"$dir/bars"
refused "no |||" 1 "line 2 has no" -i "$dir/bars"
refused "links that are none" 1 "en: line 1: " --pharaoh -i "$dir/en" "$dir/forward" --symmetrise union
refused "a loaded model saved again" 2 "saved already" --load "$dir/model" --save "$dir/never.model" -i "$dir/pairs"
refused "no such file" 1 "nowhere" -i "$dir/nowhere"
refused "no words" 1 "nothing to learn" -i /dev/null
refused "one direction and both" 2 "both" -i "$dir/pairs" -r --symmetrise union
refused "no such method" 2 "grow-diag-final-and" -i "$dir/pairs" --symmetrise grow
refused "links without a method" 2 "--symmetrise" --pharaoh -i "$dir/forward" "$dir/reverse"
refused "links in one file" 2 "two files" --pharaoh -i "$dir/forward" --symmetrise union
refused "no model" 1 "not an alignment model" -i "$dir/pairs" --load "$dir/pairs"
head -c 2000 "$dir/model" >"$dir/cut"
refused "a model cut off" 1 "cut off or damaged" -i "$dir/pairs" --load "$dir/cut"
refused "a vocabulary that is none" 1 "pairs" -i "$dir/pairs" --vocab "$dir/pairs"
align -i "$dir/pairs" --save "$dir/no/model" -o "$dir/never"
check "no folder for the model" 1 $code
align -i "$dir/pairs" -o /dev/full
check "a full disk" 1 $code
grep -q 'cannot write /dev/full' "$dir/err" && ok "a full disk is said" || bad "a full disk is said" "$(cat "$dir/err")"

# a signal in the middle of training: one line, exit code 1, nothing left behind
for i in $(seq 1 60); do cat "$dir/pairs"; done | awk '{ print $0, NR % 997, "x" NR }' >"$dir/many"
timeout 120 "$PRONK" align -i "$dir/many" -o "$dir/gone" --save "$dir/gone.model" --iterations 900 2>"$dir/err" &
child=$!
for i in $(seq 1 200); do grep -q 'training takes' "$dir/err" && break; sleep 0.05; done
kill -TERM $(pgrep -P $child) 2>/dev/null || kill -TERM $child
wait $child
code=$?
check "stopped: exit code" 1 $code
grep -q 'stopped' "$dir/err" && ok "stopping is said" || bad "stopping is said" "$(cat "$dir/err")"
ls "$dir"/gone* >/dev/null 2>&1 && bad "nothing is left behind" "$(ls "$dir"/gone*)" || ok "nothing is left behind"

summary
