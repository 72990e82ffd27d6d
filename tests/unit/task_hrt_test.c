/* task_hrt_test.c - lessons of hybrid-regressive translation, worked out by hand: both stages for
 * several k and lengths, the auxiliary tasks, the share of each over a training, and what a model
 * of the task can do. */
#include "check.h"

#include <string.h>

#include "task/lesson.h"
#include "task/task_list.h"

enum { E = 2, M = 40, B2, B3, B4, FIRST = 48, GROUP = 1, LENGTHS = 5, BATCH = 500 };

static const int32_t source[] = { 11, 12 }, y[] = { 21, 22, 23, 24, 25, 26 };

typedef struct lesson { /* of a task with these options */
    const pk_task  *task;
    void           *options;
    pk_lesson_maker m;
    pk_lesson       l;
} lesson;

static void open_lesson(lesson *h, const char *spec) {
    static const int32_t all[] = { M, B2, B3, B4, FIRST }, group[] = { GROUP };
    *h = (lesson){ 0 };
    ASSERT_OK(pk_task_parse(spec, &h->task, &h->options));
    h->m = (pk_lesson_maker){ .task = h->task,
                              .options = h->options,
                              .eos = E,
                              .start = -1,
                              .token = all,
                              .group = group,
                              .classes = { 40, LENGTHS },
                              .source_tag = -1,
                              .target_tag = -1,
                              .max_source = 16,
                              .max_target = 16,
                              .share = 1 };
}

static void close_lesson(lesson *h) {
    pk_lesson_free(&h->l);
    pk_memory_give(h->options);
}

/* one pair, whose target has n tokens */
static pk_status make(lesson *h, int32_t n) {
    const int32_t  source_first[] = { 0, 2 }, target_first[] = { 0, n };
    const pk_batch batch = { 1, source, y, source_first, target_first };
    return pk_lesson_make(&h->l, &h->m, &batch, NULL);
}

#define ASSERT_IDS(list, ...)                                     \
    do {                                                          \
        const int32_t want_[] = { __VA_ARGS__ };                  \
        assert_int_equal((list).n, sizeof want_ / sizeof *want_); \
        assert_memory_equal((list).id, want_, sizeof want_);      \
    } while (0)

/* Skip-AT: [BOS2] y2 y4 at 0 2 4, asked for y2 y4 E. Skip-CMLM: M y2 M y4 M E at 1 to 6, asked for
 * y1 - y3 - E - */
static void two_stages_by_hand(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=2");
    ASSERT_OK(make(&h, 4));
    ASSERT_IDS(h.l.source_token, 11, 12, E);
    ASSERT_IDS(h.l.token, B2, 22, 24, M, 22, M, 24, M, E);
    ASSERT_IDS(h.l.pos, 0, 2, 4, 1, 2, 3, 4, 5, 6);
    ASSERT_IDS(h.l.first, 0, 0, 0, 3, 3, 3, 3, 3, 3);
    ASSERT_IDS(h.l.count, 1, 2, 3, 6, 6, 6, 6, 6, 6);
    ASSERT_IDS(h.l.question_row, 0, 1, 2, 3, 5, 7);
    ASSERT_IDS(h.l.target, 22, 24, E, 21, 23, E);
    assert_true(h.l.total == 6);
    ASSERT_OK(make(&h, 3)); /* the end symbol is a token of stage one itself */
    ASSERT_IDS(h.l.token, B2, 22, M, 22, M, E);
    ASSERT_IDS(h.l.target, 22, E, 21, 23);
    ASSERT_IDS(h.l.question_row, 0, 1, 2, 4);
    ASSERT_OK(make(&h, 1)); /* k - 1: the first thing found is the end */
    ASSERT_IDS(h.l.token, B2, M, E);
    ASSERT_IDS(h.l.pos, 0, 1, 2);
    ASSERT_IDS(h.l.target, E, 21);
    ASSERT_OK(make(&h, 0));
    ASSERT_IDS(h.l.token, B2, M, E);
    ASSERT_IDS(h.l.target, E, E);
    close_lesson(&h);
}

/* behind the end nothing is asked */
static void three_at_a_time(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=3");
    ASSERT_OK(make(&h, 6));
    ASSERT_IDS(h.l.token, B2, 23, 26, M, M, 23, M, M, 26, M, M, E);
    ASSERT_IDS(h.l.pos, 0, 3, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    ASSERT_IDS(h.l.target, 23, 26, E, 21, 22, 24, 25, E);
    ASSERT_IDS(h.l.question_row, 0, 1, 2, 3, 4, 6, 7, 9); /* not 10: it is behind the end */
    ASSERT_OK(make(&h, 4));
    ASSERT_IDS(h.l.target, 23, E, 21, 22, 24, E);
    close_lesson(&h);
}

/* the stages of k = 2 and of k = 3 for the same pair: each begins anew */
static void all_sizes_of_a_pair(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=2,k_max=3,all_sizes=true");
    ASSERT_OK(make(&h, 3));
    ASSERT_IDS(h.l.source_token, 11, 12, E);
    ASSERT_IDS(h.l.token, B2, 22, M, 22, M, E, B3, 23, M, M, 23, M, M, E);
    ASSERT_IDS(h.l.pos, 0, 2, 1, 2, 3, 4, 0, 3, 1, 2, 3, 4, 5, 6);
    ASSERT_IDS(h.l.first, 0, 0, 2, 2, 2, 2, 6, 6, 8, 8, 8, 8, 8, 8);
    ASSERT_IDS(h.l.count, 1, 2, 4, 4, 4, 4, 1, 2, 6, 6, 6, 6, 6, 6);
    ASSERT_IDS(h.l.question_row, 0, 1, 2, 4, 6, 7, 8, 9, 11);
    ASSERT_IDS(h.l.target, 22, E, 21, 23, 23, E, 21, 22, E);
    ASSERT_OK(make(&h, 0));
    ASSERT_IDS(h.l.token, B2, M, E, B3, M, M, E);
    close_lesson(&h);
}

static void a_language_is_given(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=2");
    h.m.target_tag = 9;
    ASSERT_OK(make(&h, 2)); /* 9 21 22 */
    ASSERT_IDS(h.l.token, B2, 21, 9, 21, M, E);
    ASSERT_IDS(h.l.target, 21, E, 22);
    close_lesson(&h);
}

/* at the beginning only the auxiliary tasks; they do not see each other */
static void auxiliary_tasks(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=2,most=0.5,lengths=5,length_weight=0.25");
    h.m.share = 0;
    for (h.m.key = 0; h.m.key < 20; h.m.key++) {
        ASSERT_OK(make(&h, 3));
        assert_int_equal(h.l.token.n, 4 + 1 + 4);
        assert_memory_equal(h.l.token.id, ((int32_t[]){ -1, 21, 22, 23, M }), 20);
        assert_memory_equal(h.l.pos.id, ((int32_t[]){ 0, 1, 2, 3, 0, 1, 2, 3, 4 }), 36);
        assert_memory_equal(h.l.first.id, ((int32_t[]){ 0, 0, 0, 0, 4, 5, 5, 5, 5 }), 36);
        assert_memory_equal(h.l.count.id, ((int32_t[]){ 1, 2, 3, 4, 1, 4, 4, 4, 4 }), 36);
        assert_memory_equal(h.l.target.id, ((int32_t[]){ 21, 22, 23, E, 3 - 1 }), 20);
        assert_true(h.l.slice.id[4] == GROUP && h.l.weight.value[4] == 0.25f);
        assert_int_equal(h.l.token.id[8], E);
        assert_in_range(h.l.question_row.n, 5 + 1, 5 + 3);
    }
    close_lesson(&h);
    open_lesson(&h, "hrt:k=2"); /* most = 1: no lengths */
    h.m.share = 0;
    ASSERT_OK(make(&h, 3));
    assert_int_equal(h.l.token.n, 4 + 4);
    close_lesson(&h);
}

/* which pairs of a large batch give the stages, and with which k: pairs of each start symbol */
static void count_kinds(lesson *h, int *at, int *k) {
    static int32_t sources[2 * BATCH], targets[4 * BATCH], first[2][BATCH + 1];
    for (int i = 0; i < 2 * BATCH; i++) sources[i] = 11;
    for (int i = 0; i < 4 * BATCH; i++) targets[i] = 21;
    for (int i = 0; i <= BATCH; i++) first[0][i] = 2 * i, first[1][i] = 4 * i;
    const pk_batch batch = { BATCH, sources, targets, first[0], first[1] };
    *at = k[2] = k[3] = k[4] = 0;
    ASSERT_OK(pk_lesson_make(&h->l, &h->m, &batch, NULL));
    for (int i = 0; i < BATCH; i++) {
        const int32_t start = h->l.token.id[h->l.segment.id[i]];
        if (start == -1)
            ++*at;
        else
            k[start - B2 + 2]++;
    }
    assert_int_equal(*at + k[2] + k[3] + k[4], BATCH);
}

static void shares_grow(void **state) {
    static const struct {
        const char *spec;
        double      done;
        int         least, most; /* of 500 pairs, for the stages */
    } some[] = {
        { "hrt:k=2,k_max=4", 0, 0, 0 },
        { "hrt:k=2,k_max=4", 0.5, 210, 290 },
        { "hrt:k=2,k_max=4", 1, 500, 500 },
        { "hrt:k=2,k_max=4,lambda=2", 0.5, 90, 160 },
        { "hrt:k=2,k_max=4,most=0.5", 1, 210, 290 },
        { "hrt:k=2,k_max=4,most=0.5", 0.5, 90, 160 },
        { "hrt:k=2,k_max=4,auxiliary=false", 0, 500, 500 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        lesson h;
        int    at, k[5];
        open_lesson(&h, some[i].spec);
        h.m.share = some[i].done, h.m.key = 5;
        count_kinds(&h, &at, k);
        assert_in_range(BATCH - at, some[i].least, some[i].most);
        for (int j = 2; j <= 4; j++) /* all sizes alike */
            assert_in_range(k[j] + 35, (BATCH - at) / 3, (BATCH - at) / 3 + 70);
        close_lesson(&h);
    }
}

static void what_its_models_can_do(void **state) {
    static const char *const specs[][3] = {
        { "hrt", "", "<bos:2>" },
        { "hrt:most=0.5", "at cmlm", "<length:256>" },
        { "hrt:most=0.5,lengths=0", "at", "<bos:2>" },
        { "hrt:most=0.5,auxiliary=false", "", "<bos:2>" },
        { "hrt:k=3,k_max=5", "", "<bos:5>" },
        { "hrt:k=2,k_max=4,most=0.9,lengths=7", "at cmlm", "<length:7>" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        lesson        h;
        pk_task_token token, last = { 0 };
        open_lesson(&h, specs[i][0]);
        assert_string_equal(h.task->also(h.options), specs[i][1]);
        for (int32_t j = 0; h.task->tokens(h.options, j, &token); j++) last = token;
        assert_string_equal(last.name, specs[i][2]);
        close_lesson(&h);
    }
}

/* no lesson has more inputs than were planned for */
static void there_is_room(void **state) {
    static const char *const specs[] = { "hrt:k=2", "hrt:k=4", "hrt:k=2,most=0.5,lengths=5" };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        lesson  h;
        int32_t per_token, per_sentence;
        open_lesson(&h, specs[i]);
        h.task->most(h.options, &per_token, &per_sentence);
        for (h.m.key = 0; h.m.key < 40; h.m.key++)
            for (int32_t n = 0; n <= 6; n++) {
                h.m.share = (double)(h.m.key % 2);
                ASSERT_OK(make(&h, n));
                assert_true((int32_t)h.l.token.n <= per_token * (n + 1) + per_sentence);
            }
        close_lesson(&h);
    }
}

static pk_status make_one(void *user) {
    pk_lesson *l = &((lesson *)user)->l;
    pk_lesson_free(l);
    const pk_status status = make(user, 4);
    pk_lesson_free(l);
    return status;
}

static void failed_allocations(void **state) {
    lesson h;
    (void)state;
    open_lesson(&h, "hrt:k=2");
    assert_true(check_every_allocation(make_one, &h) > 5);
    close_lesson(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_stages_by_hand),     cmocka_unit_test(three_at_a_time),
        cmocka_unit_test(all_sizes_of_a_pair),    cmocka_unit_test(a_language_is_given),
        cmocka_unit_test(auxiliary_tasks),        cmocka_unit_test(shares_grow),
        cmocka_unit_test(what_its_models_can_do), cmocka_unit_test(there_is_room),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
