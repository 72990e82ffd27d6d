#!/bin/bash
# detect_test.sh - `pronk detect`: a line for each line, lists of languages, all candidates, and what is refused.
#
# PRONK: the program (default build/pronk).
. tests/support/program.sh

# detect ARGUMENT...: leaves $dir/out, $dir/err and $code
detect() {
    timeout 60 "$PRONK" detect "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}
codes() { cut -f1 "$dir/out" | tr '\n' ' '; }

# refused NAME CODE TEXT ARGUMENT...
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    detect "$@"
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(cat "$dir/err")"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif [ -s "$dir/out" ]; then bad "$name" "it wrote $(head -1 "$dir/out")"
    else ok "$name"; fi
}

printf 'The house is small and old.\r\nDas Haus ist klein und alt.\n\n12\n\377\376\nПогода была плохой' >"$dir/mixed"
detect -i "$dir/mixed"
check "exit code" 0 $code
check "a line each" 6 "$(wc -l <"$dir/out")"
check "languages" "en de en en en ru " "$(codes)"
check "form" 6 "$(grep -cP '^[a-z]{2,3}\t[0-9]{1,3}\.[0-9]$' "$dir/out")"
check "nothing to go by: 0" "en	0.0" "$(sed -n 3p "$dir/out")"
cp "$dir/out" "$dir/expected"

detect <"$dir/mixed"
check "standard input" "" "$(diff "$dir/expected" "$dir/out")"
detect -i "$dir/mixed" -o "$dir/file"
check "-o" "" "$(diff "$dir/expected" "$dir/file")"

detect -i "$dir/mixed" --languages "de, en"
check "--languages: order and only those" "en de de de de de " "$(codes)"
check "--languages: another script" "de	0.0" "$(tail -1 "$dir/out")"
printf 'O tempo estava muito ruim\n' >"$dir/pt"
detect -i "$dir/pt" --languages pt-BR,es
check "--languages: codes as they were given" "pt-BR " "$(codes)"

detect -i "$dir/pt" --languages en,pt,es --all
check "--all: every candidate and a blank line" 4 "$(wc -l <"$dir/out")"
check "--all: best first" "pt" "$(head -1 "$dir/out" | cut -f1)"
check "--all: sorted" "" "$(head -3 "$dir/out" | sort -t'	' -k2,2 -nr -s | diff - <(head -3 "$dir/out"))"
detect -i "$dir/pt" --all
check "--all: each language once" "" "$(sed '$d' "$dir/out" | cut -f1 | sort | uniq -d)"
[ "$(wc -l <"$dir/out")" -gt 40 ] && ok "--all: more than 40 languages" || bad "--all" "$(wc -l <"$dir/out") lines"

detect </dev/null
check "no input, no output" "0 0" "$code $(wc -c <"$dir/out")"
# an answer comes before the next line is there
coproc "$PRONK" detect
echo "Das Haus ist klein." >&"${COPROC[1]}"
line="" && read -r -t 30 line <&"${COPROC[0]}"
check "line by line" de "${line%%	*}"
exec {COPROC[1]}>&-
wait

refused "no such file" 1 "$dir/none" -i "$dir/none"
refused "no codes" 2 "--languages" --languages ", "
refused "too many codes" 2 "at most 256" -i "$dir/pt" --languages "$(seq -s, 1 300)"
refused "an operand" 2 "unexpected argument" text

summary
