#!/bin/bash
# align_speed.sh - how long `pronk align` takes to train, and how much memory, on real text.
#
# usage: bench/align_speed.sh [PAIRS ...]      default: 20000 100000
# PAIRS: so many pairs of parliament+tatoeba.train in $PRONK_SHARED (default ../shared), forward; `all`: the whole
# million. PRONK: the program. THREADS: default 2. On a busy machine look at the seconds of CPU: wall time is that
# divided by the threads when no other program needs the cores.
PRONK=${PRONK:-build/pronk} THREADS=${THREADS:-2}
text=${PRONK_SHARED:-../shared}/corpora/en-de/parliament+tatoeba.train
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
[ -r "$text.en.xz" ] || { echo "align_speed.sh: no $text.en.xz; set PRONK_SHARED" >&2; exit 1; }
[ $# -gt 0 ] || set -- 20000 100000
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) cores"
for pairs in "$@"; do
    for side in en de; do
        if [ "$pairs" = all ]; then xz -dc "$text.$side.xz"; else xz -dc "$text.$side.xz" | head -n "$pairs"; fi >"$dir/$side"
    done
    /usr/bin/time -f '%e %U %M' -o "$dir/time" "$PRONK" align -q --threads "$THREADS" -i "$dir/en" "$dir/de" -o "$dir/links" || exit 1
    read -r wall cpu kib <"$dir/time"
    echo "$(wc -l <"$dir/links") pairs forward, $THREADS threads: $wall s, $cpu s of CPU, $((kib / 1024)) MiB at most"
done
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg)"
