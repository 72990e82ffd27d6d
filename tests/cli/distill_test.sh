#!/bin/bash
# distill_test.sh - `pronk distill`: lines stay aligned whatever the source holds, work that was cut
# off goes on to the same result, compressed sources, teachers together, and what is refused.
#
# PRONK: the program (default build/pronk). Uses the tiny models in tests/data.
MODELS=${MODELS:-tests/data/models}
A=$MODELS/marian-relu B=$MODELS/marian-gelu-legacy
. tests/support/program.sh

# distill ARGUMENT...: leaves $dir/err and $code
distill() {
    timeout 300 "$PRONK" distill "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}

# refused NAME CODE TEXT ARGUMENT...
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    distill "$@"
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(cat "$dir/err")"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    else ok "$name"; fi
}

# 300 lines: ordinary ones, blank ones, one far too long, odd bytes, carriage returns, spaces around
make_source() {
    for i in $(seq 1 60); do
        printf 'the cat sees house %d\n  a small dog  \n\ngood\r\n \t \n' "$i"
    done
    for i in $(seq 1 400); do printf 'the river and the old boat '; done
    printf '\nno newline and a bad \377 byte\n'
}
make_source >"$dir/src"
lines=$(wc -l <"$dir/src")

fast="--decode beam:size=2,max_length=24"
distill -m $A -i "$dir/src" -o "$dir/whole" $fast
check "exit code" 0 $code
check "as many lines" "$lines" "$(wc -l <"$dir/whole")"
check "no carriage returns" 0 "$(tr -dc '\r' <"$dir/whole" | wc -c)"
check "no space at line ends" 0 "$(grep -c '^ \| $' "$dir/whole")"
check "blank lines give empty lines" "$(grep -nc '^\s*$' "$dir/src")" \
      "$(paste -d '|' <(tr -d '\r' <"$dir/src" | sed 's/^\s*$//; s/.\+/x/') "$dir/whole" | grep -c '^|$')"
check "the long line is empty" "" "$(sed -n 301p "$dir/whole")"
grep -q '1 line .*too long' "$dir/err" && ok "too long is reported" || bad "too long is reported" "$(cat "$dir/err")"
grep -q '120 lines .*blank' "$dir/err" && ok "blank is reported" || bad "blank is reported" "$(cat "$dir/err")"
grep -q '1 line .*UTF-8' "$dir/err" && ok "repair is reported" || bad "repair is reported" "$(cat "$dir/err")"
"$PRONK" translate -m $A --no-split -i <(sed -n 1p "$dir/src") $fast >"$dir/one" 2>/dev/null
check "the same as translate" "$(cat "$dir/one")" "$(sed -n 1p "$dir/whole")"

# work that was cut off: within a line, at its end, and with a block that was never written to disk
for how in middle end nothing zeros; do
    head -n 100 "$dir/whole" >"$dir/part"
    case $how in
        middle) printf 'half a li' >>"$dir/part" ;;
        nothing) : >"$dir/part" ;;
        zeros) printf 'lost\0\0\0\n\0\0' >>"$dir/part" ;;
    esac
    distill -m $A -i "$dir/src" -o "$dir/part" --resume $fast
    check "resume after $how: exit code" 0 $code
    cmp -s "$dir/whole" "$dir/part" && ok "resume after $how: the same file" ||
        bad "resume after $how" "the file differs"
done
distill -m $A -i "$dir/src" -o "$dir/part" --resume $fast
check "resume of what is done: exit code" 0 $code
cmp -s "$dir/whole" "$dir/part" && ok "resume of what is done changes nothing" ||
    bad "resume of what is done" "the file differs"
distill -m $A -i "$dir/src" -o "$dir/new" --resume $fast
cmp -s "$dir/whole" "$dir/new" && ok "resume of nothing begins" || bad "resume of nothing" "differs"

for tool in gzip xz zstd; do
    if ! command -v $tool >/dev/null; then skip "$tool"; continue; fi
    $tool -c "$dir/src" >"$dir/packed"
    rm -f "$dir/out.$tool"
    distill -m $A -i "$dir/packed" -o "$dir/out.$tool" $fast
    cmp -s "$dir/whole" "$dir/out.$tool" && ok "$tool source" || bad "$tool source" "differs"
done

# teachers together
head -n 40 "$dir/src" >"$dir/short"
distill -m $A -i "$dir/short" -o "$dir/alone" $fast
distill -m $A -m $A -i "$dir/short" -o "$dir/twice" $fast
cmp -s "$dir/alone" "$dir/twice" && ok "a teacher with itself is that teacher" ||
    bad "a teacher with itself" "differs"
distill -m $A -m $B -i "$dir/short" -o "$dir/both" $fast --batch 3
check "two teachers: exit code" 0 $code
check "two teachers: lines" 40 "$(wc -l <"$dir/both")"
"$PRONK" translate -m $A -m $B --no-split -i "$dir/short" $fast 2>/dev/null | tr -d '\r' |
    sed 's/^\s*//; s/\s*$//' | cmp -s - "$dir/both" && ok "translate takes two models as well" ||
    bad "translate with two models" "differs from distill"

# the reference chooses: a reference equal to a hypothesis gets that hypothesis
"$PRONK" translate -m $A --no-split -i "$dir/short" --decode beam:size=4,max_length=24 --n-best 4 \
    2>/dev/null >"$dir/nbest"
awk -F ' \\|\\|\\| ' '{ last[$1] = $2 } END { for (i = 0; i < 40; i++) print last[i] }' "$dir/nbest" |
    sed 's/^\s*//; s/\s*$//' >"$dir/fourth"
distill -m $A -i "$dir/short" -o "$dir/chosen" --decode beam:size=4,max_length=24 -r "$dir/fourth"
check "with a reference: exit code" 0 $code
cmp -s "$dir/fourth" "$dir/chosen" && ok "the hypothesis most like the reference" ||
    bad "the hypothesis most like the reference" "$(diff "$dir/fourth" "$dir/chosen" | head -4)"

# a model that likes its unknown token: it has the id of a frequent piece
cp -r $A "$dir/unk" && chmod -R u+w "$dir/unk"
sed -i -e 's/"<unk>": 1,/"$$": 1,/' -e 's/"[^"]*": 4,/"<unk>": 4,/' "$dir/unk/vocab.json"
strip() { sed 's/^\s*//; s/\s*$//'; }
"$PRONK" translate -m "$dir/unk" --no-split -i "$dir/short" $fast 2>/dev/null | tr -d '\r' | strip >"$dir/with"
"$PRONK" translate -m "$dir/unk" --no-split -i "$dir/short" $fast,unk=ban 2>/dev/null | tr -d '\r' | strip >"$dir/banned"
wanted=$(grep -c '⁇' "$dir/with")
[ "$wanted" -gt 4 ] && [ "$wanted" -lt 40 ] && ok "some lines have unknowns" || bad "some lines have unknowns" "$wanted"
distill -m "$dir/unk" -i "$dir/short" -o "$dir/known" $fast
check "unknowns: exit code" 0 $code
check "unknowns: none is written" 0 "$(grep -c '⁇' "$dir/known")"
grep -q "$wanted lines in which the model chose" "$dir/err" && ok "unknowns: counted" || bad "unknowns: counted" "$(cat "$dir/err")"
paste -d '\t' "$dir/with" "$dir/banned" | awk -F '\t' '{ print $1 ~ /⁇/ ? $2 : $1 }' | cmp -s - "$dir/known" &&
    ok "unknowns: only those lines are decoded again" || bad "unknowns: only those lines are decoded again" "differs"
distill -m "$dir/unk" -i "$dir/short" -o "$dir/closest" --decode beam:size=4,max_length=24 -r "$dir/fourth"
check "unknowns: none with a reference" 0 "$(grep -c '⁇' "$dir/closest")"
distill -m "$dir/unk" -i "$dir/short" -o "$dir/greedy" --decode greedy
check "unknowns: none with greedy" "0 0" "$code $(grep -c '⁇' "$dir/greedy")"
distill -m "$dir/unk" -i "$dir/short" -o "$dir/strict" $fast,unk=ban
cmp -s "$dir/banned" "$dir/strict" && ok "unknowns: a ban of one's own" || bad "unknowns: a ban of one's own" "$(cat "$dir/err")"
refused "unknowns: not to be allowed" 2 "never writes the unknown token" -m $A -i "$dir/short" -o "$dir/x" --decode greedy:unk=allow

refused "output is there already" 2 "is there already" -m $A -i "$dir/src" -o "$dir/whole" $fast
check "and was not touched" "$lines" "$(wc -l <"$dir/whole")"
refused "output is the input" 2 "also an input" -m $A -i "$dir/short" -o "$dir/short" --resume
refused "output of other work" 1 "not the beginning" -m $A -i "$dir/short" -o "$dir/whole" --resume $fast
refused "no such source" 1 "nowhere" -m $A -i "$dir/nowhere" -o "$dir/x"
refused "no folder to write to" 1 "cannot write" -m $A -i "$dir/short" -o "$dir/no/x"
refused "another vocabulary" 1 "vocabulary" -m $A -m $MODELS/marian-multi -i "$dir/short" -o "$dir/x"
refused "reference of another length" 1 "one for each" -m $A -i "$dir/short" -r "$dir/whole" -o "$dir/x"
refused "n-best without a reference" 2 "--reference" -m $A -i "$dir/short" -o "$dir/x" --n-best 4
refused "no input" 2 "-i FILE" -m $A -o "$dir/x"
refused "no output" 2 "-o FILE" -m $A -i "$dir/short"
refused "a full disk" 1 "cannot write" -m $A -i "$dir/short" -o /dev/full $fast
printf 'damaged' | cat <(gzip -c "$dir/short" | head -c 60) - >"$dir/damaged.gz"
refused "a damaged source" 1 "damaged.gz" -m $A -i "$dir/damaged.gz" -o "$dir/y" $fast
[ -e "$dir/x" ] && bad "nothing was left behind" "$(ls -l "$dir/x")" || ok "nothing was left behind"

summary
