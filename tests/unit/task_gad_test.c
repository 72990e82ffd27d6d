/* task_gad_test.c - what the tasks of draft and verify make of a sentence: prefixes of every
 * length, blocks, what is asked, what is given in the second pass; and that the strategy asks the
 * drafter for exactly what it was taught. */
#include "check.h"

#include <string.h>

#include "decode/strategy.h"
#include "lesson_asks.h"
#include "task/task_list.h"

enum { EOS = 2, START = 1, MASK = 99, N = 5, KEYS = 200 };

static const int32_t  source[] = { 11, 12 }, target[N] = { 21, 22, 23, 24, 25 };
static const int32_t  source_first[] = { 0, 2 }, target_first[] = { 0, N }, mask[] = { MASK };
static const pk_batch batch = { 1, source, target, source_first, target_first };

typedef struct lessons {
    pk_lesson_maker maker;
    void           *options;
    pk_lesson       l;
} lessons;

static void open_lessons(lessons *s, const char *task) {
    *s = (lessons){ .maker = { .eos = EOS,
                               .start = START,
                               .token = mask,
                               .source_tag = -1,
                               .target_tag = -1,
                               .max_source = 16,
                               .max_target = 16 } };
    ASSERT_OK(pk_task_parse(task, &s->maker.task, &s->options));
    s->maker.options = s->options;
}

static void close_lessons(lessons *s) {
    pk_lesson_free(&s->l);
    pk_memory_give(s->options);
}

static int32_t right_token(int32_t position) {
    return position == 0 ? START : position <= N ? target[position - 1] : EOS;
}

typedef struct shape {
    int32_t block;
    bool    sees_all, next; /* next: the last of the prefix is the first of the block */
} shape;

/* rows from `first` on: a prefix and a block; returns the rows of it, and the prefix's length */
static int32_t check_cut(const pk_lesson *l, int32_t first, shape is, int32_t *p) {
    const int32_t n = (int32_t)l->token.n;
    int32_t       masks = 0;
    for (*p = -1; first + *p + 1 < n && l->token.id[first + *p + 1] != MASK;) ++*p;
    while (first + *p + 1 + masks < n && l->token.id[first + *p + 1 + masks] == MASK) masks++;
    assert_int_equal(masks + is.next, is.block < 15 - *p ? is.block : 15 - *p); /* positions: 16 */
    for (int32_t i = 0; i <= *p + masks; i++) {
        assert_int_equal(l->pos.id[first + i], i + (i > *p && is.next));
        assert_int_equal(l->first.id[first + i], first);
        assert_int_equal(l->count.id[first + i], i > *p || is.sees_all ? *p + 1 + masks : i + 1);
        if (i <= *p) assert_int_equal(l->token.id[first + i], right_token(i));
    }
    return *p + 1 + masks;
}

/* Questions from `at` on: the prefix where it is asked, and the masks of a cut up to the end symbol;
 * returns how many. Rows follow each other, and so do the tokens that they should say. */
static int32_t check_questions(const pk_lesson *l, int32_t at, int32_t first, int32_t p, shape is) {
    const int32_t before = is.next ? p : 0, end = N + 1 - p < is.block ? N + 1 - p : is.block;
    for (int32_t i = 0; i < before + end; i++) {
        assert_int_equal(l->question_row.id[at + i], first + p + !is.next - before + i);
        assert_int_equal(l->target.id[at + i], right_token(p + 1 - before + i));
    }
    return before + end;
}

static void blocks_behind_any_prefix(void **state) {
    static const struct {
        const char *task;
        shape       is;
        int32_t     cuts;
    } cases[] = { { "gad:block=3", { 3 }, 1 },
                  { "gad:block=25", { 25 }, 1 },
                  { "gad:block=4,cuts=3,glancing=no", { 4 }, 3 },
                  { "gad:block=4,prefix=all,cuts=2", { 4, .sees_all = true }, 2 },
                  { "gad:block=4,next=yes,cuts=2", { 4, .next = true }, 2 },
                  { "gad:block=25,next=yes", { 25, .next = true }, 1 },
                  { "gad:block=1,next=yes", { 1, .next = true }, 1 } };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lessons s;
        int     seen[N + 1] = { 0 };
        open_lessons(&s, cases[k].task);
        for (s.maker.key = 0; s.maker.key < KEYS; s.maker.key++) {
            int32_t first = 0, questions = 0, p;
            ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, NULL));
            for (int32_t i = 0; i < cases[k].cuts; i++) {
                const int32_t rows = check_cut(&s.l, first, cases[k].is, &p);
                assert_in_range(p, 0, N);
                seen[p]++;
                questions += check_questions(&s.l, questions, first, p, cases[k].is);
                first += rows;
            }
            assert_int_equal(first, s.l.token.n);
            assert_int_equal(questions, s.l.target.n);
        }
        for (int i = 0; i <= N; i++) assert_true(seen[i] > KEYS / 16); /* the empty one too */
        assert_int_equal(pk_task_looks_twice(s.maker.task, s.options), k != 2);
        close_lessons(&s);
    }
}

/* what is given in the second pass: a share of the wrong ones, in the same cuts */
static void a_second_look_gives_some_of_the_right_tokens(void **state) {
    lessons s;
    int     given_at[N + 1] = { 0 };
    (void)state;
    open_lessons(&s, "gad:block=6");
    for (s.maker.key = 0; s.maker.key < 4 * KEYS; s.maker.key++) {
        int32_t answers[8], before[16], asked, wrong = 0, given = 0;
        s.maker.share = (double)(s.maker.key % 3) / 2;
        ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, NULL));
        asked = (int32_t)s.l.target.n;
        for (int32_t i = 0; i < asked; i++) {
            answers[i] = i % 2 ? s.l.target.id[i] : 50;
            wrong += i % 2 == 0;
        }
        memcpy(before, s.l.token.id, s.l.token.n * sizeof *before);
        const size_t rows = s.l.token.n;
        ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, answers));
        assert_int_equal(s.l.token.n, rows);
        for (size_t i = 0; i < rows; i++) {
            if (s.l.token.id[i] == before[i]) continue;
            assert_int_equal(before[i], MASK);
            assert_int_equal(s.l.token.id[i], right_token((int32_t)i));
            if (asked == N + 1) given_at[i - 1]++;
            given++;
        }
        assert_int_equal(given, (int32_t)(wrong * (0.5 - 0.2 * s.maker.share)));
        assert_int_equal(s.l.target.n, asked - given);
        for (size_t i = 0; i < s.l.target.n; i++)
            assert_int_equal(s.l.token.id[s.l.question_row.id[i]], MASK);
    }
    for (int i = 0; i <= N; i++) assert_true(given_at[i] > 0); /* drawn among all */
    close_lessons(&s);
}

/* of what follows known tokens nothing is given: those are asked in both passes */
static void known_tokens_are_asked_in_both_passes(void **state) {
    lessons s;
    (void)state;
    open_lessons(&s, "gad:block=4,next=yes,cuts=2");
    for (s.maker.key = 0; s.maker.key < KEYS; s.maker.key++) {
        int32_t answers[32] = { 0 }, known[2] = { 0 }; /* all answers are wrong */
        for (int pass = 0; pass < 2; pass++) {
            ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, pass ? answers : NULL));
            assert_true(s.l.target.n <= 32);
            for (size_t i = 0; i < s.l.target.n; i++) {
                const int32_t row = s.l.question_row.id[i], at = s.l.pos.id[row];
                const bool    masked = s.l.token.id[row] == MASK;
                assert_int_equal(s.l.target.id[i], right_token(at + !masked));
                known[pass] += !masked;
            }
        }
        assert_int_equal(known[0], known[1]);
    }
    close_lessons(&s);
}

/* the first place weighs 1, whoever says it, and each one behind it less */
static void weights_fall_with_the_place(void **state) {
    static const char *const tasks[] = { "gad:block=6,fall=0.5,cuts=2",
                                         "gad:block=6,fall=0.5,cuts=2,next=yes",
                                         "gad-self:block=6,fall=0.5,cuts=2" };
    (void)state;
    for (int k = 0; k < 3; k++) {
        lessons s;
        open_lessons(&s, tasks[k]);
        for (s.maker.key = 0; s.maker.key < 20; s.maker.key++) {
            float  next = k != 1;
            double total = 0;
            ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, NULL));
            for (size_t i = 0; i < s.l.target.n; i++, next /= 2) {
                const int32_t row = s.l.question_row.id[i];
                const bool    masked = s.l.token.id[row] == MASK;
                /* a block begins behind the row before its first mask */
                if (!masked || s.l.token.id[row - 1] != MASK) next = masked && k == 1 ? 0.5f : 1;
                assert_float_equal(s.l.weight.value[i], next, 0);
                total += next;
            }
            assert_float_equal(s.l.total, total, 1e-9);
        }
        close_lessons(&s);
    }
}

static void nobody_says_what_it_sees(void **state) {
    const pk_task *task;
    void          *options;
    (void)state;
    assert_int_equal(pk_task_parse("gad:next=yes,prefix=all", &task, &options), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "next=yes"));
}

static void a_model_that_drafts_for_itself_learns_both(void **state) {
    lessons s;
    int32_t p;
    (void)state;
    open_lessons(&s, "gad-self:block=4");
    for (s.maker.key = 0; s.maker.key < KEYS; s.maker.key++) {
        ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, NULL));
        for (int32_t i = 0; i <= N; i++) {
            assert_int_equal(s.l.token.id[i], right_token(i));
            assert_int_equal(s.l.count.id[i], i + 1);
            assert_int_equal(s.l.target.id[i], right_token(i + 1));
        }
        assert_int_equal(N + 1 + check_cut(&s.l, N + 1, (shape){ 4 }, &p), s.l.token.n);
        assert_int_equal(N + 1 + check_questions(&s.l, N + 1, N + 1, p, (shape){ 4 }),
                         s.l.target.n);
        int32_t      answers[16] = { 0 };
        const size_t asked = s.l.target.n;
        ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, answers));
        assert_true(s.l.target.n >= N + 1 && s.l.target.n <= asked);
    }
    assert_string_equal(s.maker.task->also(NULL), "at");
    close_lessons(&s);
}

/* a pass of the drafter behind p known tokens is the lesson with that prefix */
static void check_asked(const pk_lesson *l, const char *mask_name, int32_t p) {
    pk_added_tokens      added = { .first = MASK, .count = 1 };
    const pk_conventions model = { .vocab = 40,
                                   .start = START,
                                   .eos = EOS,
                                   .unk = PK_NO_TOKEN,
                                   .max_positions = 16,
                                   .added = &added,
                                   .n_added = 1 };
    const pk_source      src = { .model = &model,
                                 .n_tokens = 2,
                                 .token = source,
                                 .max_length = 16,
                                 .prefix = target,
                                 .n_prefix = p,
                                 .n_best = 1 };
    pk_ask               ask[2][32];
    pk_pass              pass[2] = { { .room = 31, .ask = ask[0] }, { .room = 31, .ask = ask[1] } };
    const pk_strategy   *by;
    void                *state;
    strcpy(added.name, mask_name);
    ASSERT_OK(pk_strategy_parse("gad:block=4", &by, &state));
    ASSERT_OK(by->begin(by, state, &src));
    by->propose(state, &pass[0]);
    assert_int_equal(pass[0].model, 1);
    lesson_asks(l, 0, &pass[1]);
    assert_int_equal(pass[0].n, pass[1].n);
    for (int32_t i = 1; i <= pass[0].n; i++) {
        assert_int_equal(ask[0][i].token, ask[1][i].token);
        assert_int_equal(ask[0][i].pos, ask[1][i].pos);
        assert_int_equal(ask[0][i].parent, ask[1][i].parent);
        assert_int_equal(pk_ask_continues(&pass[0], i), pk_ask_continues(&pass[1], i));
    }
    by->end(state);
    pk_memory_give(state);
}

static void drafters_are_asked_for_what_they_were_taught(void **state) {
    static const char *const tasks[] = { "gad:block=4", "gad:block=4,prefix=all",
                                         "gad:block=4,next=yes" };
    (void)state;
    for (int k = 0; k < 3; k++) {
        lessons s;
        int32_t p;
        open_lessons(&s, tasks[k]);
        for (s.maker.key = 0; s.maker.key < 20; s.maker.key++) {
            pk_task_token token;
            ASSERT_OK(pk_lesson_make(&s.l, &s.maker, &batch, NULL));
            check_cut(&s.l, 0, (shape){ 4, k == 1, k == 2 }, &p);
            assert_true(s.maker.task->tokens(s.options, 0, &token));
            assert_false(s.maker.task->tokens(s.options, 1, &token));
            check_asked(&s.l, token.name, p);
        }
        close_lessons(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_behind_any_prefix),
        cmocka_unit_test(a_second_look_gives_some_of_the_right_tokens),
        cmocka_unit_test(known_tokens_are_asked_in_both_passes),
        cmocka_unit_test(weights_fall_with_the_place),
        cmocka_unit_test(nobody_says_what_it_sees),
        cmocka_unit_test(a_model_that_drafts_for_itself_learns_both),
        cmocka_unit_test(drafters_are_asked_for_what_they_were_taught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
