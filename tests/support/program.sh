# program.sh - what test scripts of the program have in common. They read it (`. tests/support/program.sh`), say
# ok, bad or skip for each check, and end with `summary`, whose line tools/run_tests.sh counts.
#
# PRONK: the program. $dir: a folder that is removed in the end. $input: what `run` gives as standard input.
# $limit: seconds that a run may take.
PRONK=${PRONK:-build/pronk}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0 input=/dev/null limit=120

ok()   { passed=$((passed + 1)); echo "ok      $1"; }
bad()  { failed=$((failed + 1)); echo "FAILED  $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "SKIPPED $1"; }
summary() { echo "$passed passed, $failed failed, $skipped skipped"; [ $failed = 0 ]; }

# check NAME EXPECTED FOUND
check() { if [ "$2" = "$3" ]; then ok "$1"; else bad "$1" "expected '$2', found '$3'"; fi; }

# run ARGUMENT...: leaves $dir/out, $dir/err and $code
run() {
    timeout "$limit" "$PRONK" "$@" <"$input" >"$dir/out" 2>"$dir/err"
    code=$?
}

# worked NAME: the last run did, or what it said
worked() { if [ $code = 0 ]; then ok "$1"; else bad "$1" "exit code $code: $(head -1 "$dir/err")"; fi; }

# same NAME FILE: the last run worked and wrote what FILE has
same() {
    if [ $code = 0 ] && cmp -s "$dir/out" "$2"; then ok "$1"
    else bad "$1" "$(head -1 "$dir/err") $(diff "$dir/out" "$2" | head -3)"; fi
}

# refused NAME CODE TEXT ARGUMENT...: that exit code, one line on stderr with TEXT, no output
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    run "$@"
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(head -1 "$dir/err")"
    elif [ "$(wc -l <"$dir/err")" != 1 ]; then bad "$name" "$(wc -l <"$dir/err") lines of errors"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif [ -s "$dir/out" ]; then bad "$name" "there is output"
    else ok "$name"; fi
}
