/* pass_cost_test.c - the line through recent passes: what it says before it knows, what it learns,
 * that it forgets and is not misled by a pass that was interrupted. */
#include "check.h"

#include <math.h>

#include "engine/pass_cost.h"

static double slope(pk_pass_cost *c, int32_t sentences) {
    pk_pass_cost_update(c, sentences);
    assert_true(c->cost[0] == 0 && c->cost[1] == 1);
    return (double)c->cost[2] - 1;
}

static void nothing_known_is_a_guess(void **state) {
    pk_pass_cost c = { 0 };
    (void)state;
    assert_true(fabs(slope(&c, 1) - 0.1) < 1e-6);
    pk_pass_cost_learn(&c, 1, 2e-3);
    assert_true(fabs(slope(&c, 1) - 0.1) < 0.02);
}

/* passes of one to eight asks that take `fixed` and `each` */
static void feed(pk_pass_cost *c, int n, double fixed, double each) {
    for (int i = 0; i < n; i++) pk_pass_cost_learn(c, 1 + i % 8, fixed + each * (1 + i % 8));
}

static void it_learns_a_line_and_forgets_an_old_one(void **state) {
    pk_pass_cost c = { 0 };
    (void)state;
    feed(&c, 400, 1e-3, 5e-5);
    assert_true(fabs(slope(&c, 1) - 5e-5 / 1.05e-3) < 1e-3);
    feed(&c, 800, 1e-3, 4e-4); /* the machine got busy */
    assert_true(fabs(slope(&c, 1) - 4e-4 / 1.4e-3) < 0.02);
}

/* with many sentences in a pass its fixed part is shared, so an extra ask costs nearly a whole one
 */
static void load_makes_guesses_dear(void **state) {
    pk_pass_cost c = { 0 };
    (void)state;
    feed(&c, 400, 1e-3, 1e-4);
    const double alone = slope(&c, 1), few = slope(&c, 4), many = slope(&c, 64);
    assert_true(alone < 0.1 && alone < few && few < many);
    assert_true(many > 0.8 && many <= 1);
}

static void an_interrupted_pass_is_left_out(void **state) {
    pk_pass_cost c = { 0 };
    (void)state;
    feed(&c, 400, 1e-3, 5e-5);
    const double before = slope(&c, 1);
    pk_pass_cost_learn(&c, 8, 0.5);
    assert_true(slope(&c, 1) == before);
}

/* Where nothing is drafted for a while all passes are of one ask, and what a second one costs cannot
 * be seen: it stays what it was, and is not noise. */
static void passes_of_one_width_keep_what_an_ask_costs(void **state) {
    pk_pass_cost c = { 0 };
    uint32_t     random = 7;
    (void)state;
    feed(&c, 400, 1e-3, 1e-4);
    const double before = slope(&c, 1);
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525u + 1013904223u;
        pk_pass_cost_learn(&c, 1, 1.1e-3 * (0.95 + 0.1 * (random >> 8) / (1 << 24)));
        assert_true(fabs(slope(&c, 1) - before) < 0.03);
    }
    assert_true(fabs(c.share - 1.1e-3) < 5e-5);
    feed(&c, 400, 1e-3, 4e-4); /* and when it can be seen again it is */
    assert_true(fabs(slope(&c, 1) - 4e-4 / 1.4e-3) < 0.02);
}

/* kernels have steps: here the third ask costs as much as three more, and the two behind it nothing */
static void a_step_is_known_where_a_sentence_is_alone(void **state) {
    static const double seconds[] = { 1e-3, 1.1e-3, 1.4e-3, 1.4e-3, 1.4e-3 };
    pk_pass_cost        c = { 0 };
    (void)state;
    for (int i = 0; i < 500; i++) pk_pass_cost_learn(&c, 1 + i % 5, seconds[i % 5]);
    pk_pass_cost_update(&c, 1);
    assert_int_equal(c.n_cost, PK_COST_MOST + 1);
    for (int w = 1; w <= 5; w++) assert_true(fabs(c.cost[w] - seconds[w - 1] / 1e-3) < 0.06);
    assert_true(c.cost[4] - c.cost[3] < 0.03 && c.more > 0.05); /* beside 0.1 on the line */
    pk_pass_cost_update(&c, 8);                                 /* among others the line is known */
    assert_int_equal(c.n_cost, 3);
    assert_true(fabs(c.cost[2] - 1 - c.more) < 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_a_guess),
        cmocka_unit_test(it_learns_a_line_and_forgets_an_old_one),
        cmocka_unit_test(load_makes_guesses_dear),
        cmocka_unit_test(an_interrupted_pass_is_left_out),
        cmocka_unit_test(passes_of_one_width_keep_what_an_ask_costs),
        cmocka_unit_test(a_step_is_known_where_a_sentence_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
