#!/bin/bash
# serve_test.sh - `pronk serve` as its clients see it. PRONK: the program (default build/pronk).
cd "$(dirname "$0")/../.." && PRONK=${PRONK:-build/pronk} exec timeout 480 python3 tests/serve/serve_checks.py
