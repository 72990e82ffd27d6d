#!/bin/bash
# The checks of the source see what they are for: a type or function that is defined twice, a second
# list of a fact, an include that the architecture does not allow, a page that names what is not there.
. tests/support/program.sh
folder=$dir
mkdir -p "$folder/include" "$folder/cli" "$folder/src/base" "$folder/src/model" "$folder/src/decode"

# put FILE TEXT; expect CHECK PATTERN: the check fails and says so; afterwards the file goes
put() { file=$folder/$1; printf '%s\n' "$2" >"$file"; }
expect() {
    if python3 "tools/$1.py" "$folder" >"$folder/said"; then bad "$1: $2" "it let $file pass"
    elif ! grep -q "$2" "$folder/said"; then bad "$1: $2" "$(cat "$folder/said")"
    else ok "$1: $2"; fi
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
# page ROW...: ARCHITECTURE.md with a table of these hops
page() {
    put ARCHITECTURE.md "$(printf '| hop | file | function | what happens |\n| --: | --- | --- | --- |\n'; printf '%s\n' "$@")"
}
page '| 1 | `base/one.c` | `helper`, `pk_four` | `one.c` has both, and `o*.c` is one of them |'
if python3 tools/check_names.py "$folder" && python3 tools/check_includes.py "$folder"
then ok "good source"; else bad "good source" "it is refused"; fi

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
page '| 1 | `base/one.c` | `helper` | |' '| 2a | `base/one.c` | `helper`, `gone` | |'
expect check_names 'hop 2a: gone is not defined in base/one.c'
page '| 1 | `base/one.c` | `pk_three` | only a type |'
expect check_names 'hop 1: pk_three is not defined'
page '| 1 | `cli/one.c` | `helper` | |'
expect check_names 'hop 1: there is no cli/one.c'
page '| 1 | `base/one.c` | | nothing |'
expect check_names 'hop 1: names no function'
put ARCHITECTURE.md "$(printf '| word | meaning |\n| --- | --- |\n| tag, mark | one |\n| mark (of the server) | another |\n')"
expect check_names 'mark is in the glossary twice'
put ARCHITECTURE.md 'Read `base/two.c` first.'
expect check_names 'there is no base/two.c'
summary
