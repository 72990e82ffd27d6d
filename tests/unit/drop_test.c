/* drop_test.c - dropout as a function: the share, the scale, the same answer twice, no pattern. */
#include "tensor/drop.h"

#include <math.h>

#include "check.h"

enum { N = 1 << 16 };

static int dropped(pk_drop d, uint64_t first, uint64_t step) {
    int n = 0;
    for (uint64_t i = 0; i < N; i++) n += pk_drop_factor(d, first + i * step) == 0;
    return n;
}

/* the share of n draws is within five standard deviations of the rate */
static void check_share(int n, double rate) {
    assert_true(fabs(n / (double)N - rate) < 5 * sqrt(rate * (1 - rate) / N));
}

static void test_share(void **state) {
    const float rates[] = { 0.01f, 0.1f, 0.3f, 0.5f, 0.9f };
    (void)state;
    for (int i = 0; i < 5; i++) {
        for (uint64_t key = 0; key < 8; key++) {
            const pk_drop d = { rates[i], key };
            check_share(dropped(d, 0, 1), (double)rates[i]);
            check_share(dropped(d, 3, 512), (double)rates[i]);               /* one column */
            check_share(dropped(d, 1, (uint64_t)1 << 20), (double)rates[i]); /* one key */
        }
    }
}

static void test_factor(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        const float f = pk_drop_factor((pk_drop){ 0.25f, 7 }, i);
        assert_true(f == 0 || f == 1 / 0.75f);
        assert_true(pk_drop_factor((pk_drop){ 0, 7 }, i) == 1);
        assert_true(f == pk_drop_factor((pk_drop){ 0.25f, 7 }, i)); /* asked again */
    }
}

/* An element and another (a neighbour, one of the next quad, of the next row, of the next key) are
 * dropped together as often as chance has it: rate squared. */
static void test_independent(void **state) {
    const uint64_t away[] = { 1, 2, 3, 4, 5, 64, 512 };
    const pk_drop  d = { 0.3f, 0x1234567 }, next = { 0.3f, 0x1234568 };
    (void)state;
    for (int a = 0; a <= 7; a++) {
        int both = 0;
        for (uint64_t i = 0; i < N; i++) {
            const float other =
                a < 7 ? pk_drop_factor(d, 4 * i + away[a]) : pk_drop_factor(next, 4 * i);
            both += pk_drop_factor(d, 4 * i) == 0 && other == 0;
        }
        check_share(both, 0.09);
    }
}

/* a higher rate drops what a lower one drops, and more; attention counts elements apart */
static void test_nested(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 4000; i++)
        if (pk_drop_factor((pk_drop){ 0.1f, 9 }, i) == 0)
            assert_true(pk_drop_factor((pk_drop){ 0.2f, 9 }, i) == 0);
    assert_true(pk_drop_attention(0, 8, 0, 5) == 5);
    assert_true(pk_drop_attention(0, 8, 1, 0) == (uint64_t)1 << 20);
    assert_true(pk_drop_attention(3, 8, 2, 7) == ((uint64_t)26 << 20) + 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_factor),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
