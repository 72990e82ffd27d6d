/* task_cmlm_test.c - lessons of masked filling: what is masked and asked, what sees what, which
 * draws are equally likely, and what happens at the edges. */
#include "check.h"

#include <string.h>

#include "task/lesson.h"
#include "task/task_list.h"

enum { EOS = 2, MASK = 40, FIRST = 48, GROUP = 1, LENGTHS = 5 };

static const pk_task *task;
static void          *options;

static int parse(void **state) {
    (void)state;
    return pk_task_parse("cmlm:lengths=5,length_weight=0.5", &task, &options);
}

static int forget(void **state) {
    (void)state;
    pk_memory_give(options);
    return 0;
}

static pk_lesson_maker maker(void) {
    static const int32_t token[] = { MASK, FIRST }, group[] = { GROUP };
    return (pk_lesson_maker){ .task = task,
                              .options = options,
                              .eos = EOS,
                              .start = -1,
                              .token = token,
                              .group = group,
                              .classes = { 40, LENGTHS },
                              .source_tag = -1,
                              .target_tag = -1,
                              .max_source = 16,
                              .max_target = 16,
                              .key = 7 };
}

static const int32_t source[] = { 11, 12 }, target[] = { 21, 22, 23, 24, 25, 26 };

static pk_status make(pk_lesson *l, const pk_lesson_maker *m, int32_t n) {
    const int32_t  source_first[] = { 0, 2 }, target_first[] = { 0, n };
    const pk_batch batch = { 1, source, target, source_first, target_first };
    return pk_lesson_make(l, m, &batch, NULL);
}

/* the length at 0, then a block of the target and its end symbol; questions where there are masks */
static void masks_are_asked_and_nothing_else(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker();
    int             masked[6] = { 0 }, count[7] = { 0 };
    (void)state;
    for (m.key = 0; m.key < 6000; m.key++) {
        const int32_t n = 5;
        size_t        q = 1;
        ASSERT_OK(make(&l, &m, n));
        assert_int_equal(l.token.n, 1 + n + 1);
        assert_true(l.token.id[0] == MASK && l.pos.id[0] == 0 && l.count.id[0] == 1);
        assert_true(l.question_row.id[0] == 0 && l.slice.id[0] == GROUP);
        assert_true(l.target.id[0] == n - 1 && l.weight.value[0] == 0.5f);
        for (int32_t i = 0; i <= n; i++) {
            const int32_t row = 1 + i, token = l.token.id[row];
            assert_int_equal(l.pos.id[row], i + 1);
            assert_true(l.first.id[row] == 1 && l.count.id[row] == n + 1);
            assert_true(token == (i < n ? target[i] : EOS) || (token == MASK && i < n));
            if (token != MASK) continue;
            masked[i]++;
            assert_int_equal(l.question_row.id[q], row);
            assert_int_equal(l.target.id[q], target[i]);
            assert_true(l.slice.id[q] == 0 && l.weight.value[q] == 1);
            q++;
        }
        assert_int_equal(l.question_row.n, q);
        count[q - 1]++;
    }
    assert_int_equal(count[0], 0);
    for (int i = 1; i <= 5; i++) assert_in_range(count[i], 1080, 1320); /* 1200 of 6000 */
    for (int i = 0; i < 5; i++) assert_in_range(masked[i], 3420, 3780); /* 3 of 5, on average */
    pk_lesson_free(&l);
}

static void edges(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker();
    int32_t         per_token, per_sentence;
    (void)state;
    ASSERT_OK(make(&l, &m, 6)); /* longer than the longest length: only the block */
    assert_int_equal(l.token.n, 7);
    assert_int_equal(l.slice.id[0], 0);
    ASSERT_OK(make(&l, &m, 1)); /* one token is always a mask */
    assert_int_equal(l.token.n, 3);
    assert_int_equal(l.token.id[1], MASK);
    ASSERT_OK(make(&l, &m, 0)); /* nothing to ask */
    assert_int_equal(l.token.n, 1);
    assert_int_equal(l.question_row.n, 0);
    m.target_tag = 9; /* a language is given: not masked, not asked, and counted */
    for (m.key = 0; m.key < 50; m.key++) {
        ASSERT_OK(make(&l, &m, 2));
        assert_int_equal(l.token.n, 5);
        assert_int_equal(l.target.id[0], 3 - 1);
        assert_int_equal(l.token.id[1], 9);
        assert_true(l.question_row.n == 1 + 1 || l.question_row.n == 1 + 2);
    }
    task->most(options, &per_token, &per_sentence);
    assert_true(per_token == 1 && per_sentence == 1);
    pk_lesson_free(&l);
}

static void tokens_have_names(void **state) {
    pk_task_token token;
    (void)state;
    assert_true(task->tokens(options, 0, &token));
    assert_string_equal(token.name, "<mask>");
    assert_null(token.group);
    assert_true(task->tokens(options, LENGTHS, &token));
    assert_string_equal(token.name, "<length:5>");
    assert_string_equal(token.group, "length");
    assert_false(task->tokens(options, LENGTHS + 1, &token));
}

static pk_status make_one(void *user) {
    pk_lesson             l = { 0 };
    const pk_lesson_maker m = maker();
    (void)user;
    const pk_status status = make(&l, &m, 5);
    pk_lesson_free(&l);
    return status;
}

static void failed_allocations(void **state) {
    (void)state;
    assert_true(check_every_allocation(make_one, NULL) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_asked_and_nothing_else),
        cmocka_unit_test(edges),
        cmocka_unit_test(tokens_have_names),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, parse, forget);
}
