/* schedule_test.c - learning rates, by number: the rise, every kind of fall, the cool-down, and
 * trainings that end by time. */
#include "check.h"

#include <math.h>

#include "train/schedule.h"

static void assert_near(double a, double b) {
    if (!(fabs(a - b) <= 1e-12 + 1e-9 * fabs(b))) fail_msg("%.12g is not %.12g", a, b);
}

static void a_straight_rise(void **state) {
    (void)state;
    for (int fall = PK_INVERSE_SQRT; fall <= PK_CONSTANT; fall++) {
        const pk_schedule s = {
            .fall = (pk_fall)fall, .rate = 2, .warmup = 100, .updates = 1000, .final_rate = 0.1
        };
        assert_near(pk_schedule_rate(&s, 1, 0), 0.02);
        assert_near(pk_schedule_rate(&s, 50, 0), 1);
        assert_near(pk_schedule_rate(&s, 100, 0), 2);
        assert_true(pk_schedule_rate(&s, 101, 0) > 1.98);
    }
}

static void inverse_square_root(void **state) {
    (void)state;
    const pk_schedule s = { .fall = PK_INVERSE_SQRT, .rate = 7e-4, .warmup = 4000 };
    assert_near(pk_schedule_rate(&s, 16000, 0), 3.5e-4);
    assert_near(pk_schedule_rate(&s, 64000, 1e9), 1.75e-4);
    const pk_schedule none = { .fall = PK_INVERSE_SQRT, .rate = 1 };
    assert_near(pk_schedule_rate(&none, 4, 0), 0.5);
}

static void falls_that_end(void **state) {
    (void)state;
    pk_schedule s = {
        .fall = PK_LINEAR_FALL, .rate = 1, .warmup = 100, .updates = 1100, .final_rate = 0.2
    };
    assert_near(pk_schedule_rate(&s, 600, 0), 0.6);
    assert_near(pk_schedule_rate(&s, 1100, 0), 0.2);
    assert_near(pk_schedule_rate(&s, 2000, 0), 0.2); /* beyond the end nothing falls */
    s.fall = PK_COSINE;
    assert_near(pk_schedule_rate(&s, 600, 0), 0.6);
    assert_near(pk_schedule_rate(&s, 350, 0), 0.2 + 0.8 * (0.5 + 0.5 * sqrt(0.5)));
    assert_near(pk_schedule_rate(&s, 1100, 0), 0.2);
    s.fall = PK_CONSTANT;
    assert_near(pk_schedule_rate(&s, 1100, 0), 1);
}

static void the_nearer_limit_counts(void **state) {
    (void)state;
    const pk_schedule s = {
        .fall = PK_LINEAR_FALL, .rate = 1, .updates = 1000, .minutes = 10, .final_rate = 0
    };
    assert_near(pk_schedule_share(&s, 500, 1), 0.5);
    assert_near(pk_schedule_share(&s, 500, 9), 0.9);
    assert_near(pk_schedule_share(&s, 500, 20), 1);
    assert_near(pk_schedule_rate(&s, 500, 9), 0.1);
    const pk_schedule endless = { .fall = PK_CONSTANT, .rate = 1 };
    assert_near(pk_schedule_share(&endless, 1000000, 1e6), 0);
}

/* by time alone, the end of the warm-up is judged by the present pace */
static void warm_up_in_a_training_by_time(void **state) {
    (void)state;
    const pk_schedule s = {
        .fall = PK_LINEAR_FALL, .rate = 1, .warmup = 100, .minutes = 10, .final_rate = 0
    };
    assert_near(pk_schedule_rate(&s, 100, 1), 1);
    assert_near(pk_schedule_rate(&s, 550, 5.5), 0.5);
    assert_near(pk_schedule_rate(&s, 1000, 10), 0);
}

static void the_cool_down(void **state) {
    (void)state;
    const pk_schedule s = {
        .fall = PK_CONSTANT, .rate = 2, .updates = 1000, .cooldown = 0.2, .final_rate = 0.1
    };
    assert_near(pk_schedule_rate(&s, 800, 0), 2);
    assert_near(pk_schedule_rate(&s, 900, 0), 1.1);
    assert_near(pk_schedule_rate(&s, 1000, 0), 0.2);
    /* one that has already fallen lower does not rise again */
    pk_schedule low = s;
    low.fall = PK_INVERSE_SQRT, low.warmup = 1;
    assert_near(pk_schedule_rate(&low, 1000, 0), 2 / sqrt(1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_rise),
        cmocka_unit_test(inverse_square_root),
        cmocka_unit_test(falls_that_end),
        cmocka_unit_test(the_nearer_limit_counts),
        cmocka_unit_test(warm_up_in_a_training_by_time),
        cmocka_unit_test(the_cool_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
