#!/bin/bash
# Runs each fuzz target for some seconds from its seeds, tests/data/fuzz/NAME, and what earlier runs
# found, build/corpus/NAME. An input that breaks a law is left as build/corpus/NAME-*.
# FUZZ_RUNS=N, from a clean build/corpus, tries the same N inputs each time: what continuous integration wants.
# usage: [FUZZ_RUNS=N] run_fuzzers.sh SECONDS PROGRAM...
seconds=$1
shift
same=${FUZZ_RUNS:+-runs=$FUZZ_RUNS -seed=1}
export TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
passed=0 failed=0
for program in "$@"; do
    name=$(basename "$program")
    corpus=build/corpus/$name seeds=tests/data/fuzz/$name log=$TMPDIR/log
    mkdir -p "$corpus"
    if [ -n "$(ls "$seeds" 2>/dev/null)" ] &&
        "$program" -max_total_time="$seconds" $same -rss_limit_mb=2048 -timeout=10 -verbosity=0 -print_final_stats=1 \
            -artifact_prefix="$corpus-" "$corpus" "$seeds" >"$log" 2>&1
    then
        passed=$((passed + 1))
        printf '%-24s %10s inputs, %s seeds\n' "$name" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(ls "$seeds" | wc -l)"
    else
        failed=$((failed + 1))
        echo "---- $name"
        [ -n "$(ls "$seeds" 2>/dev/null)" ] && tail -n 60 "$log" || echo "no seeds in $seeds: make fuzz-seeds"
    fi
done
echo "fuzz targets: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
