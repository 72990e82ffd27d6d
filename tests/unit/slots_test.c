/* slots_test.c - the tree of remembered tokens: paths, holders, reuse; and a random walk against a
 * plain model of it. */
#include "check.h"

#include <string.h>

#include "session/slots.h"

static void a_path_begins_at_the_start(void **state) {
    pk_slots s;
    int32_t  path[8];
    (void)state;
    ASSERT_OK(pk_slots_open(&s, 8));
    const int32_t a = pk_slots_take(&s, PK_NO_SLOT), b = pk_slots_take(&s, a),
                  c = pk_slots_take(&s, b);
    const int32_t d = pk_slots_take(&s, a);
    assert_int_equal(pk_slots_path(&s, c, path), 3);
    assert_true(path[0] == a && path[1] == b && path[2] == c);
    assert_int_equal(pk_slots_path(&s, d, path), 2);
    assert_true(path[0] == a && path[1] == d);
    assert_int_equal(pk_slots_path(&s, PK_NO_SLOT, path), 0);
    assert_int_equal(pk_slots_back(&s, c, 0), c);
    assert_int_equal(pk_slots_back(&s, c, 2), a);
    assert_int_equal(pk_slots_back(&s, c, 9), PK_NO_SLOT);
    pk_slots_close(&s);
}

static void what_nobody_holds_is_free_again(void **state) {
    pk_slots s;
    (void)state;
    ASSERT_OK(pk_slots_open(&s, 4));
    const int32_t a = pk_slots_take(&s, PK_NO_SLOT), b = pk_slots_take(&s, a);
    pk_slots_drop(&s, a); /* b still stands on it */
    assert_int_equal(s.n_free, 2);
    pk_slots_hold(&s, b);
    pk_slots_drop(&s, b);
    assert_int_equal(s.n_free, 2);
    pk_slots_drop(&s, b);
    assert_int_equal(s.n_free, 4);
    pk_slots_close(&s);
}

static void running_out_is_reported(void **state) {
    pk_slots s;
    (void)state;
    ASSERT_OK(pk_slots_open(&s, 2));
    int32_t a = pk_slots_take(&s, PK_NO_SLOT);
    assert_int_not_equal(pk_slots_take(&s, a), PK_NO_SLOT);
    assert_int_equal(pk_slots_take(&s, a), PK_NO_SLOT);
    assert_int_equal(s.holders[a], 2); /* the refused one left no trace */
    pk_slots_close(&s);
}

/* random histories that grow, fork and vanish; at every moment the slots in use are those on some
 * path */
static void a_random_walk_loses_nothing(void **state) {
    enum { N = 200, HISTORIES = 6 };
    pk_slots s;
    int32_t  tip[HISTORIES], path[N];
    uint32_t seed = 1;
    (void)state;
    ASSERT_OK(pk_slots_open(&s, N));
    for (int i = 0; i < HISTORIES; i++) tip[i] = PK_NO_SLOT;
    for (int step = 0; step < 5000; step++) {
        seed = seed * 1664525u + 1013904223u;
        const int one = (int)(seed >> 8) % HISTORIES, what = (int)(seed >> 20) % 8;
        int32_t   next = PK_NO_SLOT;
        if (what < 5 && s.n_free)
            next = pk_slots_take(&s, tip[one]);
        else if (what < 7)
            pk_slots_hold(&s, next = tip[(one + 1) % HISTORIES]);
        pk_slots_drop(&s, tip[one]);
        tip[one] = next;
        char used[N] = { 0 };
        int  in_use = 0;
        for (int h = 0; h < HISTORIES; h++)
            for (int32_t i = pk_slots_path(&s, tip[h], path) - 1; i >= 0; i--) used[path[i]] = 1;
        for (int i = 0; i < N; i++) in_use += used[i];
        assert_int_equal(in_use, N - s.n_free);
    }
    pk_slots_close(&s);
}

static pk_status open_and_close(void *user) {
    pk_slots        s;
    const pk_status status = pk_slots_open(&s, 16);
    (void)user;
    pk_slots_close(&s);
    return status;
}

static void opening_survives_every_failed_allocation(void **state) {
    (void)state;
    assert_int_equal(check_every_allocation(open_and_close, NULL), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_begins_at_the_start),
        cmocka_unit_test(what_nobody_holds_is_free_again),
        cmocka_unit_test(running_out_is_reported),
        cmocka_unit_test(a_random_walk_loses_nothing),
        cmocka_unit_test(opening_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
