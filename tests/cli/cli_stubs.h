/* cli_stubs.h - what files of cli/ need from the program, for tests that include them one by one.
 * The last message is kept instead of printed. */
#ifndef PK_TEST_CLI_STUBS_H
#define PK_TEST_CLI_STUBS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../cli/cli.h"

static char message[1024];

#define STUB(name, code)                                       \
    int name(const pk_cli *c, const char *format, ...) {       \
        va_list arguments;                                     \
        (void)c;                                               \
        va_start(arguments, format);                           \
        vsnprintf(message, sizeof message, format, arguments); \
        va_end(arguments);                                     \
        return code;                                           \
    }
STUB(pk_cli_fail, PK_EXIT_FAILED)
STUB(pk_cli_usage, PK_EXIT_USAGE)

void *pk_cli_grow(void *block, size_t n, size_t each) {
    void *grown = realloc(block, n * each + 1);
    assert_non_null(grown);
    return grown;
}
#endif
