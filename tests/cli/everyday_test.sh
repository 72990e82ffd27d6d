#!/bin/bash
# everyday_test.sh - what a newcomer types first, through the model that comes with Pronk: tests/data/everyday.tsv.
# 190 of 200 must keep what has to appear, and 160 be acceptable as a whole; the model reaches 192 and 166 on all instruction sets.
#
# PRONK: the program (default build/pronk).
PRONK=${PRONK:-build/pronk}
if found=$(python3 tools/check_everyday.py "$PRONK" -m models/en-de.pronk --kept 190 --acceptable 160); then
    echo "ok      $(tail -n 1 <<<"$found")"
    echo "1 passed, 0 failed, 0 skipped"
else
    echo "FAILED  everyday text: $found"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
