/* lesson_test.c - what tasks make of sentence pairs: every array by hand, two-pass tasks that see
 * their own answers, and what a task may not say. */
#include "check.h"

#include <string.h>

#include "task/lesson.h"
#include "task/task_list.h"

enum { EOS = 2 };

static const int32_t  source[] = { 11, 12, 13, 14 }, target[] = { 21, 22, 23 };
static const int32_t  source_first[] = { 0, 3, 4 }, target_first[] = { 0, 2, 3 };
static const pk_batch batch = { 2, source, target, source_first, target_first };

static pk_lesson_maker maker_of(const pk_task *task) {
    return (pk_lesson_maker){ .task = task,
                              .eos = EOS,
                              .start = -1,
                              .source_tag = -1,
                              .target_tag = -1,
                              .max_source = 16,
                              .max_target = 16,
                              .key = 7 };
}

#define ASSERT_IDS(list, ...)                                     \
    do {                                                          \
        const int32_t want_[] = { __VA_ARGS__ };                  \
        assert_int_equal((list).n, sizeof want_ / sizeof *want_); \
        assert_memory_equal((list).id, want_, sizeof want_);      \
    } while (0)

static void left_to_right(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker_of(pk_task_find("at"));
    (void)state;
    for (int twice = 0; twice < 2; twice++) { /* memory is reused */
        ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
        ASSERT_IDS(l.source_token, 11, 12, 13, EOS, 14, EOS);
        ASSERT_IDS(l.source_pos, 0, 1, 2, 3, 0, 1);
        ASSERT_IDS(l.source_segment, 0, 4, 6);
        ASSERT_IDS(l.token, -1, 21, 22, -1, 23);
        ASSERT_IDS(l.pos, 0, 1, 2, 0, 1);
        ASSERT_IDS(l.first, 0, 0, 0, 3, 3);
        ASSERT_IDS(l.count, 1, 2, 3, 1, 2);
        ASSERT_IDS(l.segment, 0, 3, 5);
        ASSERT_IDS(l.question_row, 0, 1, 2, 3, 4);
        ASSERT_IDS(l.target, 21, 22, EOS, 23, EOS);
        assert_int_equal(l.weight.n, 5);
        assert_true(l.total == 5 && l.weight.value[4] == 1);
        assert_int_equal(l.longest_source, 4);
        assert_int_equal(l.longest_target, 3);
    }
    pk_lesson_free(&l);
}

static void right_to_left(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker_of(pk_task_find("at-rl"));
    (void)state;
    assert_true(m.task->backwards);
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    ASSERT_IDS(l.source_token, 11, 12, 13, EOS, 14, EOS);
    ASSERT_IDS(l.token, -1, 22, 21, -1, 23);
    ASSERT_IDS(l.target, 22, 21, EOS, 23, EOS);
    pk_lesson_free(&l);
}

/* models of several languages get their language tokens */
static void tags_come_first(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker_of(pk_task_find("at"));
    (void)state;
    m.source_tag = 8, m.target_tag = 9, m.start = EOS;
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    ASSERT_IDS(l.source_token, 8, 11, 12, 13, EOS, 8, 14, EOS);
    ASSERT_IDS(l.token, EOS, 9, 21, 22, EOS, 9, 23);
    ASSERT_IDS(l.question_row, 1, 2, 3, 5, 6); /* the language is given, not asked */
    ASSERT_IDS(l.target, 21, 22, EOS, 23, EOS);
    m.task = pk_task_find("at-rl");
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    ASSERT_IDS(l.token, EOS, 9, 22, 21, EOS, 9, 23);
    pk_lesson_free(&l);
}

/* ---- n-gram blocks ---- */

static void make_markov(const char *text, uint64_t key, pk_lesson *l) {
    const pk_task *task;
    void          *options;
    ASSERT_OK(pk_task_parse(text, &task, &options));
    pk_lesson_maker m = maker_of(task);
    m.options = options;
    m.key = key;
    ASSERT_OK(pk_lesson_make(l, &m, &batch, NULL));
    ASSERT_IDS(l->source_token, 11, 12, 13, EOS, 14, EOS);
    ASSERT_IDS(l->pos, 0, 1, 2, 0, 1);
    ASSERT_IDS(l->question_row, 0, 1, 2, 3, 4);
    ASSERT_IDS(l->target, 21, 22, EOS, 23, EOS);
    pk_memory_give(options);
}

/* bigrams: every input sees itself alone */
static void bigrams(void **state) {
    pk_lesson l = { 0 };
    (void)state;
    for (uint64_t key = 0; key < 5; key++) {
        make_markov("markov:least=2,most=2", key, &l);
        ASSERT_IDS(l.token, -1, 21, 22, -1, 23);
        ASSERT_IDS(l.first, 0, 1, 2, 3, 4);
        ASSERT_IDS(l.count, 1, 1, 1, 1, 1);
    }
    pk_lesson_free(&l);
}

/* nat: tokens from their position alone */
static void positions_alone(void **state) {
    pk_lesson l = { 0 };
    (void)state;
    make_markov("nat", 0, &l);
    ASSERT_IDS(l.token, -1, -1, -1, -1, -1);
    ASSERT_IDS(l.first, 0, 1, 2, 3, 4);
    ASSERT_IDS(l.count, 1, 1, 1, 1, 1);
    pk_lesson_free(&l);
}

/* trigrams: blocks of two inputs, the first of them ending after one or after two; with bigrams and
 * trigrams all three layouts come up */
static void blocks_of_trigrams(void **state) {
    pk_lesson     l = { 0 };
    const int32_t whole[] = { 1, 2, 1 }, cut[] = { 1, 1, 2 }, alone[] = { 1, 1, 1 };
    (void)state;
    for (int both = 0; both < 2; both++) {
        int seen[3] = { 0 };
        for (uint64_t key = 0; key < 60; key++) {
            make_markov(both ? "markov" : "markov:least=3,most=3", key, &l);
            ASSERT_IDS(l.token, -1, 21, 22, -1, 23);
            const bool a = !memcmp(l.count.id, whole, sizeof whole);
            const bool b = !memcmp(l.count.id, cut, sizeof cut);
            const bool c = !memcmp(l.count.id, alone, sizeof alone);
            assert_true(a || b || c);
            seen[0] += a, seen[1] += b, seen[2] += c;
            for (size_t i = 0; i < 3; i++) /* an input sees up to itself */
                assert_int_equal(l.first.id[i] + l.count.id[i], i + 1);
        }
        assert_true(seen[0] > 5 && seen[1] > 5);
        assert_true(both ? seen[2] > 15 : seen[2] == 0);
    }
    pk_lesson_free(&l);
}

static void longest_before_shortest(void **state) {
    const pk_task *task;
    void          *options;
    (void)state;
    ASSERT_STATUS(PK_ARGUMENT, pk_task_parse("markov:least=4,most=2", &task, &options));
    assert_null(options);
}

/* ---- packing ---- */

static void packed_for_the_device(void **state) {
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker_of(pk_task_find("at"));
    pk_lesson_there t;
    char           *block;
    (void)state;
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    const size_t bytes = pk_lesson_bytes(&l);
    assert_int_equal(bytes, pk_lesson_bytes_most(6, 5, 2));
    ASSERT_OK(PK_TAKE(&block, bytes + 64));
    memset(block, 0x55, bytes + 64);
    pk_lesson_pack(&l, 2, 4, block, block, &t);
    for (int i = 0; i < 64; i++) assert_int_equal(block[bytes + (size_t)i], 0x55);
    assert_int_equal(t.n_source, 6);
    assert_int_equal(t.n_target, 5);
    assert_int_equal(t.asked[0].n, 5);
    assert_memory_equal(t.source_token, l.source_token.id, 24);
    assert_memory_equal(t.pos, l.pos.id, 20);
    assert_memory_equal(t.source_self.first, ((int32_t[]){ 0, 0, 0, 0, 4, 4 }), 24);
    assert_memory_equal(t.source_self.count, ((int32_t[]){ 4, 4, 4, 4, 2, 2 }), 24);
    assert_memory_equal(t.self.count, l.count.id, 20);
    assert_memory_equal(t.cross.first, ((int32_t[]){ 0, 0, 0, 4, 4 }), 20);
    assert_memory_equal(t.cross.count, ((int32_t[]){ 4, 4, 4, 2, 2 }), 20);
    assert_memory_equal(t.cross.query_segment, ((int32_t[]){ 0, 3, 5 }), 12);
    assert_memory_equal(t.cross.key_segment, ((int32_t[]){ 0, 4, 6 }), 12);
    assert_int_equal(t.source_self.heads, 2);
    assert_int_equal(t.cross.heads, 4);
    assert_int_equal(t.cross.longest_segment, 4);
    assert_null(t.asked[0].row); /* one to each row */
    assert_memory_equal(t.asked[0].weight, l.weight.value, 20);
    char *elsewhere = block + 4096; /* pointers are the device's, bytes are written here */
    pk_lesson_pack(&l, 2, 4, block, elsewhere, &t);
    assert_ptr_equal((const char *)t.source_self.query_segment, elsewhere);
    pk_memory_give(block);
    pk_lesson_free(&l);
}

/* ---- two passes ---- */

/* asks for the first target token; in the second pass, for what was predicted and a random number */
static pk_status two_pass(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    for (int32_t i = 0; i < p->n_target; i++)
        PK_TRY(pk_lesson_input(l, p->target[i], i, 0, p->n_target, NULL));
    if (p->predicted && p->n_target == 1) return pk_lesson_ask(l, 0, p->predicted[0], 1);
    for (int32_t i = 0; i < p->n_target; i++)
        PK_TRY(pk_lesson_ask(l, i, p->predicted ? p->predicted[i] : pk_pair_random(p, 1000), 1));
    return PK_OK;
}

static void the_second_look_knows_the_answers(void **state) {
    const pk_task   task = { .name = "two-pass", .two_pass = true, .teach = two_pass };
    pk_lesson       l = { 0 };
    pk_lesson_maker m = maker_of(&task);
    int32_t         drawn[3], answers[3] = { 31, 32, 33 };
    (void)state;
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    ASSERT_IDS(l.question_segment, 0, 2, 3);
    ASSERT_IDS(l.count, 2, 2, 1); /* everyone sees all */
    memcpy(drawn, l.target.id, sizeof drawn);
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, answers));
    ASSERT_IDS(l.target, 31, 32, 33);
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL)); /* the same key draws the same numbers */
    assert_memory_equal(l.target.id, drawn, sizeof drawn);
    m.key++;
    ASSERT_OK(pk_lesson_make(&l, &m, &batch, NULL));
    assert_memory_not_equal(l.target.id, drawn, sizeof drawn);
    pk_lesson_free(&l);
}

static void random_numbers_are_even(void **state) {
    pk_pair p = { .random = 5 };
    int     n[10] = { 0 };
    (void)state;
    for (int i = 0; i < 10000; i++) n[pk_pair_random(&p, 10)]++;
    for (int i = 0; i < 10; i++) assert_in_range(n[i], 850, 1150);
}

/* ---- what a task may not say ---- */

static pk_status blind(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_input(l, 1, 0, 0, 1, NULL));
    return pk_lesson_input(l, 1, 1, 0, 1, NULL); /* does not see itself */
}

static pk_status beyond(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    return pk_lesson_input(l, 1, 0, 0, 2, NULL); /* sees one that never comes */
}

static pk_status falling(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_input(l, 1, 0, 0, 1, NULL));
    PK_TRY(pk_lesson_input(l, 1, 1, 0, 2, NULL));
    PK_TRY(pk_lesson_ask(l, 1, 5, 1));
    return pk_lesson_ask(l, 0, 5, 1);
}

static pk_status far_away(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    return pk_lesson_input(l, 1, 16, 0, 1, NULL); /* positions end at 15 */
}

static pk_status sourceless(pk_lesson *l, pk_pair *p) {
    (void)p;
    return pk_lesson_input(l, 1, 0, 0, 1, NULL);
}

static void mistakes_are_refused(void **state) {
    pk_status (*const teach[])(pk_lesson *, pk_pair *) = { blind, beyond, falling, far_away,
                                                           sourceless };
    pk_lesson l = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof teach / sizeof *teach; i++) {
        const pk_task         task = { .name = "wrong", .teach = teach[i] };
        const pk_lesson_maker m = maker_of(&task);
        ASSERT_STATUS(PK_ARGUMENT, pk_lesson_make(&l, &m, &batch, NULL));
    }
    pk_lesson_maker m = maker_of(pk_task_find("at"));
    m.max_source = 3;
    ASSERT_STATUS(PK_ARGUMENT, pk_lesson_make(&l, &m, &batch, NULL));
    assert_non_null(strstr(pk_last_error(), "data.max_length"));
    pk_lesson_free(&l);
}

/* ---- who may see whom ---- */

typedef struct layout { /* input i sees view[i][0] .. view[i][1] - 1 */
    const char *name;
    int32_t     n, view[6][2];
} layout;

static pk_status teach_layout(pk_lesson *l, pk_pair *p) {
    const layout *o = p->options;
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    for (int32_t i = 0; i < o->n; i++)
        PK_TRY(pk_lesson_input(l, 1, i, o->view[i][0], o->view[i][1] - o->view[i][0], NULL));
    return pk_lesson_ask(l, 0, 5, 1);
}

static pk_status make_layout(pk_lesson *l, const layout *o) {
    const pk_task   task = { .name = "layout", .teach = teach_layout };
    pk_lesson_maker m = maker_of(&task);
    m.options = o;
    return pk_lesson_make(l, &m, &batch, NULL);
}

/* the table of docs/training.md, row by row */
static void layouts_that_can_be_asked(void **state) {
    static const layout allowed[] = {
        { "at", 3, { { 0, 1 }, { 0, 2 }, { 0, 3 } } },
        { "masked filling, length", 4, { { 0, 3 }, { 0, 3 }, { 0, 3 }, { 3, 4 } } },
        { "hybrid", 6, { { 0, 1 }, { 0, 2 }, { 2, 6 }, { 2, 6 }, { 2, 6 }, { 2, 6 } } },
        { "pairs", 6, { { 0, 2 }, { 0, 2 }, { 0, 4 }, { 0, 4 }, { 0, 6 }, { 0, 6 } } },
        { "prefix and block, all", 4, { { 0, 4 }, { 0, 4 }, { 0, 4 }, { 0, 4 } } },
        { "causal prefix and block", 5, { { 0, 1 }, { 0, 2 }, { 0, 5 }, { 0, 5 }, { 0, 5 } } },
        { "n-grams", 5, { { 0, 1 }, { 0, 2 }, { 2, 3 }, { 2, 4 }, { 4, 5 } } },
        { "lattice", 3, { { 0, 1 }, { 1, 2 }, { 2, 3 } } },
        { "block, then a chain", 4, { { 0, 2 }, { 0, 2 }, { 0, 3 }, { 0, 4 } } },
    };
    pk_lesson l = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (make_layout(&l, &allowed[i]) != PK_OK)
            fail_msg("%s: %s", allowed[i].name, pk_last_error());
    pk_lesson_free(&l);
}

static void layouts_that_cannot_be_asked_are_refused(void **state) {
    static const layout refused[] = {
        { "a window", 3, { { 0, 1 }, { 0, 2 }, { 1, 3 } } },
        { "one looks ahead alone", 2, { { 0, 2 }, { 1, 2 } } },
        { "a block whose last does not see it", 3, { { 0, 3 }, { 0, 3 }, { 2, 3 } } },
        { "a block whose last sees more", 3, { { 0, 2 }, { 0, 3 }, { 0, 3 } } },
        { "two beginnings seen as one", 3, { { 0, 1 }, { 1, 2 }, { 0, 3 } } },
        { "a block behind half a chain", 4, { { 0, 1 }, { 0, 2 }, { 1, 4 }, { 1, 4 } } },
        { "a chain behind a part of a block", 3, { { 0, 2 }, { 0, 2 }, { 1, 3 } } },
    };
    pk_lesson l = { 0 };
    int       taken = 0;
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (make_layout(&l, &refused[i]) == PK_OK)
            taken++, print_error("not refused: %s\n", refused[i].name);
        else
            assert_non_null(strstr(pk_last_error(), "no decoder can be asked"));
    }
    assert_int_equal(taken, 0);
    pk_lesson_free(&l);
}

static void tasks_by_name(void **state) {
    const pk_task *task;
    void          *options;
    (void)state;
    ASSERT_OK(pk_task_parse("at", &task, &options));
    assert_ptr_equal(task, pk_task_at(0));
    pk_memory_give(options);
    ASSERT_STATUS(PK_ARGUMENT, pk_task_parse("at:k=2", &task, &options));
    ASSERT_STATUS(PK_ARGUMENT, pk_task_parse("skip", &task, &options));
    assert_non_null(strstr(pk_last_error(), "at, at-rl"));
}

static pk_status make_one(void *user) {
    pk_lesson             l = { 0 };
    const pk_lesson_maker m = maker_of(pk_task_find("at"));
    const pk_status       status = pk_lesson_make(&l, &m, user, NULL);
    pk_lesson_free(&l);
    return status;
}

static void failed_allocations(void **state) {
    (void)state;
    assert_true(check_every_allocation(make_one, (void *)&batch) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_to_right),
        cmocka_unit_test(bigrams),
        cmocka_unit_test(positions_alone),
        cmocka_unit_test(blocks_of_trigrams),
        cmocka_unit_test(longest_before_shortest),
        cmocka_unit_test(right_to_left),
        cmocka_unit_test(tags_come_first),
        cmocka_unit_test(packed_for_the_device),
        cmocka_unit_test(the_second_look_knows_the_answers),
        cmocka_unit_test(random_numbers_are_even),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(layouts_that_can_be_asked),
        cmocka_unit_test(layouts_that_cannot_be_asked_are_refused),
        cmocka_unit_test(tasks_by_name),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
