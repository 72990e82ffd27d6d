/* quotas_test.c - requests a minute, bans, and memory that stays bounded; the clock is the test's own. */
#include "check.h"

#include <stdio.h>

#include "../../server/quotas.h"

static void a_minute_moves(void **state) {
    pk_quotas *q = pk_quotas_open(10);
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(pk_quotas_take(q, "a", 3, 100 + 10 * i), 0);
    assert_int_equal(pk_quotas_take(q, "a", 3, 121), 39); /* the first leaves at 160 */
    assert_int_equal(pk_quotas_take(q, "b", 3, 121), 0);
    assert_int_equal(pk_quotas_take(q, "a", 3, 159.9), 1);
    assert_int_equal(pk_quotas_take(q, "a", 3, 160), 0);
    assert_int_equal(pk_quotas_take(q, "a", 3, 161), 9);
    assert_int_equal(pk_quotas_take(q, "a", 3, 10000), 0);
    pk_quotas_close(q);
}

static void what_a_request_cost_counts(void **state) {
    pk_quotas *q = pk_quotas_open(10);
    (void)state;
    assert_int_equal(pk_quotas_take(q, "a", 10, 0), 0);
    pk_quotas_charge(q, "a", 99, 0);
    assert_int_equal(pk_quotas_take(q, "a", 10, 30), 30);
    assert_int_equal(pk_quotas_take(q, "a", 101, 30), 0); /* another limit, the same count */
    assert_int_equal(pk_quotas_take(q, "a", 0, 90), 60);  /* nothing is allowed */
    assert_int_equal(pk_quotas_take(q, "a", -1, 90), 0);
    pk_quotas_charge(q, "a", (int64_t)1 << 40, 90);
    assert_int_equal(pk_quotas_take(q, "a", 10, 91), 59);
    pk_quotas_close(q);
}

static void offences_ban_and_are_forgiven(void **state) {
    pk_quotas *q = pk_quotas_open(10);
    (void)state;
    assert_false(pk_quotas_banned(q, "a", 2, 0));
    pk_quotas_report(q, "a", 0);
    assert_false(pk_quotas_banned(q, "a", 2, 1));
    for (int i = 0; i < 9; i++) pk_quotas_report(q, "a", 2);
    assert_true(pk_quotas_banned(q, "a", 2, 3));
    assert_false(pk_quotas_banned(q, "a", -1, 3));
    assert_false(pk_quotas_banned(q, "b", 2, 3));
    assert_true(pk_quotas_banned(q, "a", 2, 599));
    assert_false(pk_quotas_banned(q, "a", 2, 600)); /* the first ten minutes are over */
    pk_quotas_close(q);
}

static void who_was_seen_longest_ago_is_forgotten(void **state) {
    pk_quotas *q = pk_quotas_open(3);
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pk_quotas_take(q, (char[]){ (char)('a' + i), 0 }, 1, 0), 0);
    assert_int_not_equal(pk_quotas_take(q, "a", 1, 1), 0); /* seen again: b is the oldest now */
    assert_int_equal(pk_quotas_take(q, "d", 1, 1), 0);
    assert_int_equal(pk_quotas_take(q, "b", 1, 1), 0);
    assert_int_not_equal(pk_quotas_take(q, "a", 1, 1), 0);
    for (int i = 0; i < 100000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(pk_quotas_take(q, name, 1, 2), 0);
    }
    pk_quotas_close(q);
}

static void characters_are_counted(void **state) {
    pk_quotas *q = pk_quotas_open(3);
    (void)state;
    assert_int_equal(pk_quotas_characters(q, "a"), 0);
    pk_quotas_add_characters(q, "a", 5, 0);
    pk_quotas_add_characters(q, "a", 6, 100);
    assert_int_equal(pk_quotas_characters(q, "a"), 11);
    assert_int_equal(pk_quotas_characters(q, "b"), 0);
    pk_quotas_close(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minute_moves),
        cmocka_unit_test(what_a_request_cost_counts),
        cmocka_unit_test(offences_ban_and_are_forgiven),
        cmocka_unit_test(who_was_seen_longest_ago_is_forgotten),
        cmocka_unit_test(characters_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
