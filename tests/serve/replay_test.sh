#!/bin/bash
# replay_test.sh - `pronk serve` answers as LibreTranslate 1.9.6 did to the requests of tests/data/serve/libretranslate.json,
# but for the differences that are listed; and the comparison can fail. PRONK: the program (default build/pronk).
PRONK=${PRONK:-build/pronk}
unset PRONK_MODEL
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
count() { tail -n 1 "$log" | grep -o "[0-9]* $1" | cut -d " " -f 1; }
passed=0 failed=0
for command in "tests/serve/replay_check.py" "tests/serve/replay.py $PRONK serve"; do
    timeout 120 python3 $command 2>&1 | tee "$log"
    p=$(count passed) f=$(count failed)
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
