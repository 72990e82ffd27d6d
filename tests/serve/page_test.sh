#!/bin/bash
# page_test.sh - the page of `pronk serve` in real Chromium, by chromedriver and selenium (Debian: chromium, chromium-driver,
# python3-selenium); where they are not there it is skipped, counted. CHROMIUM= (empty) asks for no browser.
# PRONK: the program (default build/pronk).
cd "$(dirname "$0")/../.." || exit 1
python=python3 # Debian's own has Debian's packages, and need not be the first one
for one in python3 /usr/bin/python3; do
    "$one" -c 'import selenium' 2>/dev/null && python=$one && break
done
PRONK=${PRONK:-build/pronk} exec timeout 200 "$python" tests/serve/page_checks.py
