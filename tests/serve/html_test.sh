#!/bin/bash
# html_test.sh - HTML and glossaries through `pronk serve`. PRONK: the program (default build/pronk).
cd "$(dirname "$0")/../.." && PRONK=${PRONK:-build/pronk} exec timeout 240 python3 tests/serve/markup_checks.py
