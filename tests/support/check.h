/* check.h - what every test file includes: cmocka in the order it wants, and a few shorthands. */
#ifndef PK_TESTS_CHECK_H
#define PK_TESTS_CHECK_H
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "base/memory.h"

/* the call succeeds, or the test fails with the library's own words */
#define ASSERT_OK(call)                                                             \
    do {                                                                            \
        pk_status check_ = (call);                                                  \
        if (check_ != PK_OK)                                                        \
            fail_msg("%s: %s: %s", #call, pk_status_text(check_), pk_last_error()); \
    } while (0)
#define ASSERT_STATUS(code, call) assert_int_equal(code, call)

static inline pk_text text_of(const char *s) { return (pk_text){ s, strlen(s) }; }

/* Runs `attempt` again and again, failing one allocation more each time, until it succeeds. Each
 * failure must be PK_NO_MEMORY and leave no block behind. Returns how many failures there were. */
int check_every_allocation(pk_status (*attempt)(void *user), void *user);
#endif
