#!/bin/bash
# Runs test programs and scripts, one after the other, and counts. A test program is a cmocka program;
# a script prints "N passed, N failed[, N skipped]" as its last line.
# usage: run_tests.sh PROGRAM...
passed=0 failed=0 skipped=0
for program in "$@"; do
    log=$(mktemp)
    start=$(date +%s.%N)
    case "$program" in *.sh) bash "$program" >"$log" 2>&1 ;; *) "$(realpath "$program")" >"$log" 2>&1 ;; esac
    code=$?
    if [[ $program == *.sh ]]; then
        read -r p f s < <(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\{0,1\}.*/\1 \2 \4/p')
    else
        p=$(grep -c '^\[       OK \]' "$log") f=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s), listed below.*/\1/p' "$log") s=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test(s), listed below.*/\1/p' "$log")
    fi
    p=${p:-0} f=${f:-0} s=${s:-0}
    if [ $code -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-44s %4d passed %3d failed %3d skipped %7.1f s\n' "${program#build/}" "$p" "$f" "$s" \
        "$(echo "$(date +%s.%N) - $start" | bc 2>/dev/null || python3 -c "import time; print(time.time() - $start)")"
    if [ "$f" -ne 0 ]; then echo "---- $program (exit $code)"; grep -a '^FAIL\|^not ok\|^failed\|ERROR' "$log" | head -n 40; tail -n 60 "$log"; echo "----"; fi
    grep -h '^SKIP' "$log"
    rm -f "$log"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
