/* quotas_test.c - requests a minute, an hour and a day, bans, and memory that stays bounded; the clock is
 * the test's own. */
#include "check.h"

#include <stdio.h>

#include "../../server/quotas.h"
#include "../../server/windows.h"

/* of one window, a minute */
static pk_quotas *open_minutes(size_t most) {
    const int64_t minute = 60;
    return pk_quotas_open(most, &minute, 1);
}

static int take(pk_quotas *q, const char *client, int64_t most, double now) {
    size_t broken;
    return pk_quotas_take(q, client, &most, now, &broken);
}

static void a_minute_moves(void **state) {
    pk_quotas *q = open_minutes(10);
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(take(q, "a", 3, 100 + 10 * i), 0);
    assert_int_equal(take(q, "a", 3, 121), 39); /* the first leaves at 160 */
    assert_int_equal(take(q, "b", 3, 121), 0);
    assert_int_equal(take(q, "a", 3, 159.9), 1);
    assert_int_equal(take(q, "a", 3, 160), 0);
    assert_int_equal(take(q, "a", 3, 161), 9);
    assert_int_equal(take(q, "a", 3, 10000), 0);
    pk_quotas_close(q);
}

static void what_a_request_cost_counts(void **state) {
    pk_quotas *q = open_minutes(10);
    (void)state;
    assert_int_equal(take(q, "a", 10, 0), 0);
    pk_quotas_charge(q, "a", 99, 0);
    assert_int_equal(take(q, "a", 10, 30), 30);
    assert_int_equal(take(q, "a", 101, 30), 0); /* another limit, the same count */
    assert_int_equal(take(q, "a", 0, 90), 60);  /* nothing is allowed */
    assert_int_equal(take(q, "a", -1, 90), 0);
    pk_quotas_charge(q, "a", (int64_t)1 << 40, 90);
    assert_int_equal(take(q, "a", 10, 91), 59);
    pk_quotas_close(q);
}

/* how long to wait, and by which window */
static void expect(pk_quotas *q, const int64_t *most, double now, int seconds, size_t window) {
    size_t broken = window;
    assert_int_equal(pk_quotas_take(q, "a", most, now, &broken), seconds);
    assert_int_equal(broken, window);
}

static void windows_count_together(void **state) {
    const int64_t seconds[] = { 60, 3600, 86400 }, most[] = { 2, 3, -1 };
    const int64_t day[] = { -1, 9, 4 }, hour[] = { -1, 9, -1 };
    pk_quotas    *q = pk_quotas_open(10, seconds, 3);
    (void)state;
    for (int i = 0; i < 3; i++) expect(q, most, 40 * i, 0, 0);
    expect(q, most, 99, 3501, 0); /* two are full: the longer wait, the shorter window */
    expect(q, most, 200, 3400, 1);
    expect(q, day, 200, 0, 0); /* what was refused did not count */
    expect(q, day, 201, 86400 - 201, 2);
    pk_quotas_charge(q, "a", 7, 300);
    expect(q, hour, 301, 3660 - 301, 1); /* the first two leave at 3600, and one more must */
    pk_quotas_close(q);
}

/* LibreTranslate 1.9.6: of N hours N times as many, by 0.75 for each but the first; a key's are 60 and 1440
 * times those of its minute */
static void windows_are_libretranslates(void **state) {
    const pk_settings s = {
        .req_limit = 10, .hourly_limit = 100, .hourly_decay = 2, .daily_limit = 1000
    };
    const pk_settings only = { .req_limit = -1, .hourly_limit = -1, .hourly_decay = 5 };
    pk_windows        r;
    int64_t           most[PK_MOST_WINDOWS];
    (void)state;
    pk_windows_init(&r, &s);
    assert_int_equal(r.n, 5);
    const int64_t seconds[] = { 60, 3600, 7200, 10800, 86400 };
    const int64_t all[] = { 10, 100, 150, 168, 1000 }, key[] = { 2, 120, 180, 202, 2880 };
    assert_memory_equal(r.seconds, seconds, sizeof seconds);
    assert_memory_equal(r.most, all, sizeof all);
    pk_windows_of_key(&r, 2, most);
    assert_memory_equal(most, key, sizeof key);
    pk_windows_of_key(&r, -1, most);
    for (size_t i = 0; i < r.n; i++) assert_int_equal(most[i], -1);
    pk_windows_init(&r, &only);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.most[0], -1);
}

static void offences_ban_and_are_forgiven(void **state) {
    pk_quotas *q = open_minutes(10);
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
    pk_quotas *q = open_minutes(3);
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(take(q, (char[]){ (char)('a' + i), 0 }, 1, 0), 0);
    assert_int_not_equal(take(q, "a", 1, 1), 0); /* seen again: b is the oldest now */
    assert_int_equal(take(q, "d", 1, 1), 0);
    assert_int_equal(take(q, "b", 1, 1), 0);
    assert_int_not_equal(take(q, "a", 1, 1), 0);
    for (int i = 0; i < 100000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(take(q, name, 1, 2), 0);
    }
    pk_quotas_close(q);
}

static void characters_are_counted(void **state) {
    pk_quotas *q = open_minutes(3);
    (void)state;
    assert_int_equal(pk_quotas_characters(q, "a"), 0);
    pk_quotas_add_characters(q, "a", 5);
    pk_quotas_add_characters(q, "a", 6);
    assert_int_equal(pk_quotas_characters(q, "a"), 11);
    assert_int_equal(pk_quotas_characters(q, "b"), 0);
    pk_quotas_close(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minute_moves),
        cmocka_unit_test(what_a_request_cost_counts),
        cmocka_unit_test(windows_count_together),
        cmocka_unit_test(windows_are_libretranslates),
        cmocka_unit_test(offences_ban_and_are_forgiven),
        cmocka_unit_test(who_was_seen_longest_ago_is_forgotten),
        cmocka_unit_test(characters_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
