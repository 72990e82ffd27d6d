/* pairs_task_test.c - what the tasks that write two tokens a step make of targets of 0 to 6 tokens,
 * every array by hand; the paper's example; languages; and that a session can be asked for it. */
#include "check.h"

#include <string.h>

#include "lesson_asks.h"
#include "task/lesson.h"
#include "task/task_list.h"

enum { E = 2, S = 1, MOST = 6 };

static const int32_t target[MOST] = { 21, 22, 23, 24, 25, 26 }, source[] = { 11, 12 };

static pk_lesson_maker maker_of(const char *task) {
    return (pk_lesson_maker){ .task = pk_task_find(task),
                              .eos = E,
                              .start = S,
                              .source_tag = -1,
                              .target_tag = -1,
                              .max_source = 16,
                              .max_target = 16 };
}

/* the lesson of one pair, whose target has n tokens */
static void make(pk_lesson *l, const pk_lesson_maker *m, const int32_t *tokens, int32_t n) {
    const int32_t  source_first[] = { 0, 2 }, target_first[] = { 0, n };
    const pk_batch batch = { 1, source, tokens, source_first, target_first };
    ASSERT_OK(pk_lesson_make(l, m, &batch, NULL));
}

static void assert_list(const pk_ids *list, const int32_t *want, int32_t n) {
    assert_int_equal(list->n, n);
    assert_memory_equal(list->id, want, (size_t)n * sizeof *want);
}

/* pairs that are asked for, for n = 0 to 6; what is fed is (S, E) and all of them but the last */
typedef struct folding {
    const char *task;
    int32_t     pairs[MOST + 1][8];
} folding;

static const folding foldings[] = {
    { "pairs",
      { { E, E },
        { 21, E },
        { 21, 22, E, E },
        { 21, 23, 22, E },
        { 21, 24, 22, 23, E, E },
        { 21, 25, 22, 24, 23, E },
        { 21, 26, 22, 25, 23, 24, E, E } } },
    { "pairs-lr",
      { { E, E },
        { 21, E },
        { 21, 22, E, E },
        { 21, 22, 23, E },
        { 21, 22, 23, 24, E, E },
        { 21, 22, 23, 24, 25, E },
        { 21, 22, 23, 24, 25, 26, E, E } } },
    { "pairs-rl",
      { { E, E },
        { 21, E },
        { 22, 21, E, E },
        { 23, 22, 21, E },
        { 24, 23, 22, 21, E, E },
        { 25, 24, 23, 22, 21, E },
        { 26, 25, 24, 23, 22, 21, E, E } } },
};

static void lengths_0_to_6(void **state) {
    static const int32_t rows[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, first[8] = { 0 };
    static const int32_t seen[] = { 2, 2, 4, 4, 6, 6, 8, 8 }, inputs[] = { 2, 2, 4, 4, 6, 6, 8 };
    (void)state;
    for (size_t k = 0; k < sizeof foldings / sizeof *foldings; k++) {
        const pk_lesson_maker m = maker_of(foldings[k].task);
        pk_lesson             l = { 0 };
        for (int32_t n = 0; n <= MOST; n++) {
            const int32_t *pairs = foldings[k].pairs[n], fed = inputs[n];
            int32_t        input[10] = { S, E };
            memcpy(input + 2, pairs, sizeof foldings[k].pairs[n]);
            make(&l, &m, target, n);
            assert_list(&l.source_token, (const int32_t[]){ 11, 12, E }, 3);
            assert_list(&l.token, input, fed);
            assert_list(&l.pos, rows, fed);
            assert_list(&l.first, first, fed);
            assert_list(&l.count, seen, fed); /* attention by pair: Figure 1 (b) of the paper */
            assert_list(&l.question_row, rows, fed);
            assert_list(&l.target, pairs, fed);
            assert_true(l.total == fed && l.weight.value[fed - 1] == 1);
            assert_int_equal(fed, 2 * (n / 2 + 1)); /* steps: floor(n / 2) + 1 */
        }
        pk_lesson_free(&l);
    }
}

/* Figure 2 of the paper: "We will go to Tokyo ." */
static void the_papers_example(void **state) {
    enum { WE = 31, WILL, GO, TO, TOKYO, STOP };
    static const int32_t  text[] = { WE, WILL, GO, TO, TOKYO, STOP };
    const pk_lesson_maker m = maker_of("pairs");
    pk_lesson             l = { 0 };
    (void)state;
    make(&l, &m, text, 6);
    assert_list(&l.token, (const int32_t[]){ S, E, WE, STOP, WILL, TOKYO, GO, TO }, 8);
    assert_list(&l.target, (const int32_t[]){ WE, STOP, WILL, TOKYO, GO, TO, E, E }, 8);
    pk_lesson_free(&l);
}

/* the language is fed alone, and then in place of the start symbol; it is not asked */
static void languages_come_first(void **state) {
    static const char *const names[] = { "pairs", "pairs-lr", "pairs-rl" };
    static const int32_t asked[][4] = { { 21, 23, 22, E }, { 21, 22, 23, E }, { 23, 22, 21, E } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        pk_lesson_maker m = maker_of(names[i]);
        pk_lesson       l = { 0 };
        m.source_tag = 8, m.target_tag = 9;
        make(&l, &m, target, 3);
        assert_list(&l.source_token, (const int32_t[]){ 8, 11, 12, E }, 4);
        assert_list(&l.token, (const int32_t[]){ S, 9, E, asked[i][0], asked[i][1] }, 5);
        assert_list(&l.pos, (const int32_t[]){ 0, 1, 2, 3, 4 }, 5);
        assert_list(&l.count, (const int32_t[]){ 1, 3, 3, 5, 5 }, 5);
        assert_list(&l.question_row, (const int32_t[]){ 1, 2, 3, 4 }, 4);
        assert_list(&l.target, asked[i], 4);
        pk_lesson_free(&l);
    }
}

/* what is taught can be asked: pairs are blocks of two, each behind the one before it */
static void a_pass_asks_for_the_same(void **state) {
    const pk_lesson_maker m = maker_of("pairs");
    pk_lesson             l = { 0 };
    pk_ask                ask[9];
    pk_pass               p = { .room = 8, .ask = ask };
    (void)state;
    make(&l, &m, target, 5);
    lesson_asks(&l, 0, &p);
    assert_int_equal(p.n, 6);
    for (int32_t i = 1; i <= p.n; i++) {
        assert_int_equal(ask[i].parent, i - 1);
        assert_int_equal(ask[i].pos, i - 1);
        assert_int_equal(pk_ask_continues(&p, i), i % 2 == 0);
    }
    pk_lesson_free(&l);
}

/* an even target takes two end symbols: a position more than it has tokens with one */
static void positions_are_counted(void **state) {
    static const int32_t source_first[] = { 0, 2 }, target_first[] = { 0, 4 };
    const pk_batch       batch = { 1, source, target, source_first, target_first };
    pk_lesson_maker      m = maker_of("pairs");
    pk_lesson            l = { 0 };
    (void)state;
    assert_int_equal(m.task->beyond, 1);
    m.max_target = 5; /* enough for `at` */
    ASSERT_STATUS(PK_ARGUMENT, pk_lesson_make(&l, &m, &batch, NULL));
    m.max_target = 6;
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    pk_lesson_free(&l);
}

static pk_status make_all(void *user) {
    pk_status status = PK_OK;
    (void)user;
    for (size_t k = 0; k < 3 && status == PK_OK; k++) {
        const int32_t         source_first[] = { 0, 2 }, target_first[] = { 0, MOST };
        const pk_batch        batch = { 1, source, target, source_first, target_first };
        const pk_lesson_maker m = maker_of(foldings[k].task);
        pk_lesson             l = { 0 };
        status = pk_lesson_make(&l, &m, &batch, NULL);
        pk_lesson_free(&l);
    }
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(check_every_allocation(make_all, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_0_to_6),        cmocka_unit_test(the_papers_example),
        cmocka_unit_test(languages_come_first),  cmocka_unit_test(a_pass_asks_for_the_same),
        cmocka_unit_test(positions_are_counted), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
