/* check.c - shared helpers of the tests. */
#include "check.h"

#include <stdlib.h>

/* PRONK_TEST=pattern runs only the tests of that name, * and ? as in a shell */
__attribute__((constructor)) static void pick_tests(void) {
    if (getenv("PRONK_TEST")) cmocka_set_test_filter(getenv("PRONK_TEST"));
}

int check_every_allocation(pk_status (*attempt)(void *user), void *user) {
    for (int n = 1; n < 100000; n++) {
        const int64_t alive = pk_memory_alive();
        pk_memory_fail_after(n);
        const pk_status status = attempt(user);
        pk_memory_fail_after(0);
        if (status == PK_OK) return n - 1;
        assert_int_equal(status, PK_NO_MEMORY);
        assert_int_equal(pk_memory_alive(), alive);
    }
    fail_msg("an attempt that never succeeds");
    return -1;
}
