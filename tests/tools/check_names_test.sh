#!/bin/bash
# The checks of the source see what they are for: a type or function that is defined twice, a second
# list of a fact, an include that the architecture does not allow.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0
mkdir -p "$folder/include" "$folder/cli" "$folder/src/base" "$folder/src/model" "$folder/src/decode"

# put FILE TEXT; expect CHECK PATTERN: the check fails and says so; afterwards the file goes
put() { file=$folder/$1; printf '%s\n' "$2" >"$file"; }
expect() {
    if python3 "tools/$1.py" "$folder" >"$folder/said"; then failed=$((failed + 1)); echo "FAIL $1 let $file pass"
    elif ! grep -q "$2" "$folder/said"; then failed=$((failed + 1)); echo "FAIL $1: $(cat "$folder/said")"
    else passed=$((passed + 1)); fi
    rm "$file"
}

put src/base/one.c 'typedef struct pk_one {
    int a;
} pk_one;
typedef int pk_two;
typedef pk_status (*pk_three)(int a);
static int helper(void) { return 0; }
int pk_four(int a) { return a; } /* not "relu", "gelu" */
const char *const acts[] = { "relu", "gelu" };'
if python3 tools/check_names.py "$folder" >/dev/null && python3 tools/check_includes.py "$folder" >/dev/null
then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL good source is refused"; fi

put src/model/two.h 'struct pk_one {
    int b;
};'
expect check_names 'type pk_one is defined'
put src/model/two.h 'typedef unsigned pk_two;'
expect check_names 'type pk_two is defined'
put src/model/two.h 'typedef int (*pk_three)(void);'
expect check_names 'type pk_three is defined'
put src/model/two.c 'int pk_four(int b) {
    return b;
}'
expect check_names 'function pk_four is defined'
put src/model/two.c 'static const char *text = "takes relu or swish";'
expect check_names 'activations are listed once too often'
put src/decode/two.c 'static const char *const known[] = { "greedy", "beam" };'
expect check_names 'strategies are listed once too often'
put src/base/two.c '#include "model/network.h"'
expect check_includes 'base may not know model/network.h'
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
