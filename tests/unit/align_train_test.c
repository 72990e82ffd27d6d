/* align_train_test.c - EM: by hand on two pairs, against a plain EM in double precision on made-up
 * pairs, the same bits with any number of threads, and every allocation failing. */
#include <math.h>

#include "align/align_diagonal.h"
#include "align/align_train.h"
#include "align_help.h"

/* ---- the diagonal prior ---- */

static double plain_normaliser(uint32_t j, uint32_t m, uint32_t n, double tension) {
    double sum = 0;
    for (uint32_t i = 1; i <= n; i++) sum += exp(-tension * fabs((double)i / n - (double)j / m));
    return sum;
}

static void test_normaliser(void **state) {
    static const double tension[] = { 0.1, 4, 14 };
    (void)state;
    for (int t = 0; t < 3; t++)
        for (uint32_t m = 1; m < 14; m++)
            for (uint32_t n = 1; n < 14; n++)
                for (uint32_t j = 1; j <= m; j++) {
                    const double expected = plain_normaliser(j, m, n, tension[t]);
                    const double found = pk_align_normaliser(j, m, n, tension[t]);
                    assert_true(fabs(found / expected - 1) < 1e-9);
                }
}

/* One size, one word a side: the expected distance is 0 whatever the tension, so links on the
 * diagonal leave it alone, and links off it pull it down by 20 times their distance, 8 times, to no
 * less than 0.1. */
static void test_tension_steps(void **state) {
    const pk_align_size one = { 1, 1, 5 };
    double              partial, tension = 4;
    (void)state;
    ASSERT_OK(pk_align_tension_update(&one, 1, 5, 0, 1, &partial, &tension));
    assert_true(fabs(tension - 4) < 1e-9);
    ASSERT_OK(pk_align_tension_update(&one, 1, 5, 0.01, 1, &partial, &tension));
    assert_true(fabs(tension - (4 - 8 * 0.2)) < 1e-9);
    ASSERT_OK(pk_align_tension_update(&one, 1, 5, 1, 1, &partial, &tension));
    assert_true(fabs(tension - 0.1) < 1e-9);
    ASSERT_OK(pk_align_tension_update(&one, 1, 5, -10, 1, &partial, &tension));
    assert_true(fabs(tension - 14) < 1e-9);
}

/* ---- a plain EM ---- */

enum { WORDS = 32, PAIRS = 200, LENGTH = 32 };

typedef struct plain {
    size_t   n;
    uint32_t length[PAIRS][2], word[PAIRS][2][LENGTH];     /* given, generated */
    double   t[WORDS + 1][WORDS], count[WORDS + 1][WORDS]; /* row WORDS: null */
    bool     seen[WORDS + 1][WORDS];
    double   tension;
} plain;

/* digamma by its definition as a limit of sums would take forever: a long recurrence instead */
static double digamma(double x) {
    double sum = 0;
    for (; x < 1000; x++) sum -= 1 / x;
    return sum + log(x) - 1 / (2 * x) - 1 / (12 * x * x);
}

static double plain_prior(const plain *p, size_t s, uint32_t i, uint32_t j) {
    const uint32_t n = p->length[s][0], m = p->length[s][1];
    return 0.92 * exp(-p->tension * fabs((double)i / n - (double)j / m)) /
           plain_normaliser(j, m, n, p->tension);
}

/* the mean distance of links; counts are left in p->count */
static double plain_counts(plain *p, bool first) {
    double distance = 0, words = 0;
    memset(p->count, 0, sizeof p->count);
    for (size_t s = 0; s < p->n; s++)
        for (uint32_t j = 1; j <= p->length[s][1]; j++, words++) {
            const uint32_t f = p->word[s][1][j - 1];
            double         prob[LENGTH + 1], sum = prob[0] = 0.08 * (first ? 1 : p->t[WORDS][f]);
            for (uint32_t i = 1; i <= p->length[s][0]; i++)
                sum += prob[i] =
                    plain_prior(p, s, i, j) * (first ? 1 : p->t[p->word[s][0][i - 1]][f]);
            p->count[WORDS][f] += prob[0] / sum;
            p->seen[WORDS][f] = true;
            for (uint32_t i = 1; i <= p->length[s][0]; i++) {
                const uint32_t e = p->word[s][0][i - 1];
                p->count[e][f] += prob[i] / sum;
                p->seen[e][f] = true;
                distance +=
                    prob[i] / sum * fabs((double)i / p->length[s][0] - (j - 1.0) / p->length[s][1]);
            }
        }
    return distance / words;
}

static void plain_update(plain *p) {
    for (int e = 0; e <= WORDS; e++) {
        double total = 0;
        for (int f = 0; f < WORDS; f++) total += p->seen[e][f] ? p->count[e][f] + 0.01 : 0;
        for (int f = 0; f < WORDS; f++)
            if (p->seen[e][f]) p->t[e][f] = exp(digamma(p->count[e][f] + 0.01) - digamma(total));
    }
}

static void plain_tension(plain *p, double distance) {
    pk_align_size *size = calloc(p->n, sizeof *size);
    double         words = 0, *partial = calloc(p->n, sizeof *partial);
    for (size_t s = 0; s < p->n; s++) {
        size[s] = (pk_align_size){ p->length[s][1], p->length[s][0], 1 };
        words += p->length[s][1];
    }
    ASSERT_OK(pk_align_tension_update(size, p->n, words, distance, 1, partial, &p->tension));
    free(size);
    free(partial);
}

static void plain_train(plain *p, int iterations) {
    p->tension = 4;
    for (int i = 0; i + 1 < iterations; i++) {
        const double distance = plain_counts(p, i == 0);
        if (i > 0) plain_tension(p, distance);
        plain_update(p);
    }
}

static void plain_take(plain *p, const pk_align_corpus *c, int given) {
    p->n = c->n;
    for (size_t s = 0; s < c->n; s++)
        for (int side = 0; side < 2; side++) {
            const int from = side == 0 ? given : !given;
            p->length[s][side] = pk_align_corpus_length(c, s, from);
            memcpy(p->word[s][side], c->token[from] + c->first[from][s],
                   p->length[s][side] * sizeof(uint32_t));
        }
}

static float find(const pk_align_table *t, uint32_t e, uint32_t f) {
    for (uint64_t i = t->row[e]; i < t->row[e + 1]; i++)
        if (t->word[i] == f) return t->prob[i];
    return PK_ALIGN_FLOOR;
}

static void assert_close(double found, double expected) {
    if (expected < 2e-9) /* rare: by then rounding is not what differs */
        assert_true(found < 4e-9);
    else if (fabs(found / expected - 1) > 1e-3)
        fail_msg("%g, not %g", found, expected);
}

static void assert_same_table(const pk_align_table *t, const plain *p) {
    assert_true(fabs(t->tension - p->tension) < 1e-4);
    for (uint32_t f = 0; f < t->n_generated; f++) {
        assert_close((double)t->null[f], p->t[WORDS][f]);
        for (uint32_t e = 0; e < t->n_given; e++) assert_close((double)find(t, e, f), p->t[e][f]);
    }
    for (uint32_t e = 0; e < t->n_given; e++)
        for (uint64_t i = t->row[e] + 1; i < t->row[e + 1]; i++)
            assert_true(t->word[i - 1] < t->word[i]);
}

static void read_pairs(const char *text, pk_align_corpus *c) {
    const pk_align_corpus_request q = { .source = write_text("pairs", text), .threads = 1 };
    ASSERT_OK(pk_align_corpus_read(&q, c));
}

static void test_as_plain_em(void **state) {
    pk_buffer       text = { 0 };
    pk_align_corpus c;
    (void)state;
    add_pairs(&text, PAIRS, 7);
    read_pairs(text.data, &c);
    for (int given = 0; given < 2; given++)
        for (int iterations = 2; iterations <= 6; iterations += 2) {
            plain         *p = calloc(1, sizeof *p);
            pk_align_table table;
            plain_take(p, &c, given);
            plain_train(p, iterations);
            const pk_align_training t = { &c, given, iterations, 2, NULL, NULL };
            ASSERT_OK(pk_align_train(&t, &table));
            assert_same_table(&table, p);
            pk_align_table_free(&table);
            free(p);
        }
    pk_align_corpus_free(&c);
    pk_buffer_free(&text);
}

/* ---- by hand ---- */

/* "a" and "x" come together twice, "b" and "y" once: after one update t(x | a) is
 * exp(digamma(c + 0.01) - digamma(sum)), where the counts follow from the prior alone. For the
 * pair of one word each the prior is 0.92 on the diagonal and 0.08 on null; for "a b ||| x y" the
 * normaliser is 1 + exp(-tension / 2) = 1.135335 at j = 1 and j = 2. */
static void test_by_hand(void **state) {
    const double    near = 0.92 / (1 + exp(-2)), far = 0.92 - near;
    const double    ax = 0.92 + near, ay = far;
    pk_align_corpus c;
    pk_align_table  table;
    (void)state;
    read_pairs("a ||| x\na b ||| x y\n", &c);
    const pk_align_training t = { &c, 0, 2, 1, NULL, NULL };
    ASSERT_OK(pk_align_train(&t, &table));
    assert_close((double)find(&table, 0, 0), exp(digamma(ax + 0.01) - digamma(ax + ay + 0.02)));
    assert_close((double)find(&table, 0, 1), exp(digamma(ay + 0.01) - digamma(ax + ay + 0.02)));
    assert_close((double)find(&table, 1, 1), exp(digamma(near + 0.01) - digamma(0.92 + 0.02)));
    assert_close((double)table.null[0], exp(digamma(0.16 + 0.01) - digamma(0.24 + 0.02)));
    assert_true(table.tension == 4); /* first moves in the second update */
    pk_align_table_free(&table);
    pk_align_corpus_free(&c);
}

/* ---- threads ---- */

static void test_threads_change_nothing(void **state) {
    static const int32_t threads[] = { 2, 3, 7 };
    pk_buffer            text = { 0 }, one = { 0 }, many = { 0 };
    pk_align_report      r1, rn;
    pk_file_map          f1, fn;
    (void)state;
    add_pairs(&text, 3000, 3);
    const char      *pairs = write_text("pairs", text.data), *save = in_scratch("one");
    const char      *save_many = in_scratch("many");
    pk_align_options o = {
        .source = pairs, .symmetrise = "grow-diag-final-and", .save = save, .threads = 1
    };
    ASSERT_OK(align_to(o, &r1, &one));
    ASSERT_OK(pk_file_map_open(save, &f1));
    for (int i = 0; i < 3; i++) {
        o.threads = threads[i];
        o.save = save_many;
        ASSERT_OK(align_to(o, &rn, &many));
        ASSERT_OK(pk_file_map_open(o.save, &fn));
        assert_string_equal(one.data, many.data);
        assert_int_equal(f1.size, fn.size);
        assert_memory_equal(f1.data, fn.data, fn.size);
        assert_memory_equal(r1.tension, rn.tension, sizeof r1.tension);
        assert_memory_equal(r1.cross_entropy, rn.cross_entropy, sizeof r1.cross_entropy);
        pk_file_map_close(&fn);
    }
    pk_file_map_close(&f1);
    pk_buffer_free(&text);
    pk_buffer_free(&one);
    pk_buffer_free(&many);
}

/* ---- limits ---- */

static pk_status keep_bytes(void *user, double share, size_t bytes) {
    (void)share;
    *(size_t *)user = bytes;
    return PK_OK;
}

/* a table of 3,000 times 3,000 numbers would take 36 MB */
static void test_long_lines(void **state) {
    pk_buffer       text = { 0 };
    size_t          bytes = 0;
    pk_align_corpus c;
    pk_align_table  table;
    (void)state;
    for (int i = 0; i < 3000; i++) pk_buffer_print(&text, "a%d ", i % 50);
    pk_buffer_add_text(&text, "|||");
    for (int i = 0; i < 3000; i++) pk_buffer_print(&text, " b%d", i % 50);
    read_pairs(text.data, &c);
    const pk_align_training t = { &c, 0, 3, 2, keep_bytes, &bytes };
    ASSERT_OK(pk_align_train(&t, &table));
    assert_true(bytes > 0 && bytes < 1 << 20);
    pk_align_table_free(&table);
    pk_align_corpus_free(&c);
    pk_buffer_free(&text);
}

static pk_status attempt(void *user) {
    const char *const *path = user;
    return pk_align(PK_OPTIONS(pk_align_options, .source = path[0], .symmetrise = "union",
                               .threads = 2, .save = path[1], .table = path[2]),
                    NULL);
}

static void test_no_memory(void **state) {
    (void)state;
    const char *path[] = { write_text("few", "a b ||| x y\na ||| x\n ||| z\n"), in_scratch("model"),
                           in_scratch("table") };
    assert_true(check_every_allocation(attempt, path) > 60);
}

static int cancel(void *user, const char *what, double share, const pk_align_report *r) {
    int *left = user;
    (void)what, (void)share, (void)r;
    return (*left)-- == 0;
}

/* wherever it is stopped, until it is not: cancelled, and no file of the model */
static void test_cancelled(void **state) {
    pk_buffer text = { 0 };
    (void)state;
    add_pairs(&text, 50, 5);
    const char *pairs = write_text("pairs", text.data), *model = in_scratch("not yet");
    pk_status   status = PK_CANCELLED;
    int         calls = 0;
    for (; status == PK_CANCELLED; calls++) {
        int left = calls;
        status = pk_align(PK_OPTIONS(pk_align_options, .source = pairs, .threads = 1, .save = model,
                                     .progress = cancel, .user = &left),
                          NULL);
        if (calls < 10) assert_int_not_equal(access(model, F_OK), 0);
    }
    ASSERT_OK(status);
    assert_true(calls > 10);
    pk_buffer_free(&text);
}

static int no_links(void *user, const char *lines, size_t size) {
    (void)user, (void)lines, (void)size;
    return 1;
}

static void test_writer_cancels(void **state) {
    (void)state;
    ASSERT_STATUS(PK_CANCELLED,
                  pk_align(PK_OPTIONS(pk_align_options, .source = write_text("p", "a ||| b\n"),
                                      .write = no_links),
                           NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normaliser),
        cmocka_unit_test(test_tension_steps),
        cmocka_unit_test(test_as_plain_em),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_writer_cancels),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
