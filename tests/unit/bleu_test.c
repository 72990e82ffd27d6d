/* bleu_test.c - n-gram counting by hand and against a slow count; BLEU's rules one by one. */
#include "metric/bleu.h"

#include <math.h>

#include "metric_golden.h"

static void set_ids(pk_ids *list, const int32_t *id, size_t n) {
    list->n = 0;
    for (size_t i = 0; i < n; i++) ASSERT_OK(pk_ids_add(list, id[i]));
}

static bool same(const int32_t *a, const int32_t *b, size_t n) {
    return !memcmp(a, b, n * sizeof *a);
}

/* n-grams shared by two sequences, by comparing all with all; each is used once */
static int32_t slow_match(const int32_t *r, size_t n_r, const int32_t *h, size_t n_h,
                          size_t order) {
    bool    used[64] = { false };
    int32_t match = 0;
    for (size_t i = 0; i + order <= n_h; i++) {
        for (size_t k = 0; k + order <= n_r; k++) {
            if (used[k] || !same(h + i, r + k, order)) continue;
            used[k] = true;
            match++;
            break;
        }
    }
    return match;
}

static void counts_equal_a_slow_count(void **state) {
    (void)state;
    pk_ngram_table table = { 0 };
    pk_ids         reference = { 0 }, hypothesis = { 0 };
    uint32_t       random = 1;
    for (int trial = 0; trial < 500; trial++) {
        int32_t      r[64], h[64];
        const size_t n_r = (size_t)(trial * 7 % 50), n_h = (size_t)(trial * 11 % 50);
        for (int i = 0; i < 64; i++) {
            random = random * 1664525u + 1013904223u;
            r[i] = (int32_t)(random >> 30);
            h[i] = (int32_t)(random >> 20 & 3) * (trial % 5 ? 1 : 0x10FFFF);
        }
        set_ids(&reference, r, n_r);
        set_ids(&hypothesis, h, n_h);
        pk_ngram_counts counts[6];
        ASSERT_OK(pk_ngram_count(&table, &reference, &hypothesis, 6, counts));
        for (size_t order = 1; order <= 6; order++) {
            const pk_ngram_counts *c = &counts[order - 1];
            assert_int_equal(c->reference, n_r >= order ? n_r - order + 1 : 0);
            assert_int_equal(c->hypothesis, n_h >= order ? n_h - order + 1 : 0);
            assert_int_equal(c->match, slow_match(r, n_r, h, n_h, order));
        }
    }
    pk_ids_free(&reference);
    pk_ids_free(&hypothesis);
    pk_ngram_free(&table);
}

static void words_are_told_apart(void **state) {
    (void)state;
    pk_ngram_table table = { 0 };
    const int32_t  abc[] = { 'a', 'b', 'c' }, zero[] = { 0, 0 };
    ASSERT_OK(pk_ngram_begin(&table, 10));
    const int32_t first = pk_ngram_word(&table, abc, 3);
    assert_int_equal(pk_ngram_word(&table, abc, 3), first);
    assert_int_not_equal(pk_ngram_word(&table, abc, 2), first);
    assert_int_not_equal(pk_ngram_word(&table, abc + 1, 2), first);
    assert_int_not_equal(pk_ngram_word(&table, zero, 1), pk_ngram_word(&table, zero, 2));
    ASSERT_OK(pk_ngram_begin(&table, 1000)); /* a larger table after a smaller one */
    assert_int_equal(pk_ngram_word(&table, abc + 2, 1), 1);
    table.stamp = UINT32_MAX; /* stamps start again: nothing old may show */
    ASSERT_OK(pk_ngram_begin(&table, 10));
    assert_int_equal(table.stamp, 1);
    assert_int_equal(pk_ngram_word(&table, abc, 1), 1);
    pk_ngram_free(&table);
}

static void count_texts(const char *reference, const char *hypothesis, int32_t *count,
                        int32_t *repeated) {
    pk_points      r = { 0 }, h = { 0 };
    pk_ngram_table table = { 0 };
    pk_word_lists  words = { { 0 }, { 0 } };
    ASSERT_OK(pk_points_read(&r, (pk_text){ reference, strlen(reference) }));
    ASSERT_OK(pk_points_read(&h, (pk_text){ hypothesis, strlen(hypothesis) }));
    ASSERT_OK(pk_bleu_count(&r, &h, &table, &words, count, repeated));
    pk_points_free(&r);
    pk_points_free(&h);
    pk_ngram_free(&table);
    pk_ids_free(&words.reference);
    pk_ids_free(&words.hypothesis);
}

static void a_line_is_counted(void **state) {
    (void)state;
    int32_t count[PK_BLEU_COUNTS], repeated;
    count_texts("the cat sat on the mat",
                " the the the\xC2\xA0"
                "cat  cat sat ",
                count, &repeated);
    const int32_t expected[PK_BLEU_COUNTS] = { 6, 6, 4, 2, 0, 0, 6, 5, 4, 3 };
    assert_memory_equal(count, expected, sizeof expected);
    assert_int_equal(repeated, 3);
    count_texts("", " ", count, &repeated);
    for (int i = 0; i < PK_BLEU_COUNTS; i++) assert_int_equal(count[i], 0);
    assert_int_equal(repeated, 0);
}

static void a_perfect_score_is_100(void **state) {
    (void)state;
    const pk_bleu b = pk_bleu_score((double[]){ 9, 9, 9, 8, 7, 6, 9, 8, 7, 6 }, false);
    assert_true(fabs(b.score - 100) < 1e-12);
    assert_same_double(b.brevity_penalty, 1.0, "brevity penalty");
    assert_same_double(b.ratio, 1.0, "ratio");
}

static void orders_without_a_match_are_smoothed(void **state) {
    (void)state;
    const pk_bleu b = pk_bleu_score((double[]){ 8, 8, 4, 1, 0, 0, 8, 7, 6, 5 }, false);
    assert_same_double(b.precision[0], 50.0, "order 1");
    assert_same_double(b.precision[1], 100.0 / 7, "order 2");
    assert_same_double(b.precision[2], 100.0 / (2 * 6), "order 3");
    assert_same_double(b.precision[3], 100.0 / (4 * 5), "order 4");
    assert_true(b.score > 0);
}

static void short_and_empty_output_is_punished(void **state) {
    (void)state;
    pk_bleu b = pk_bleu_score((double[]){ 5, 10, 5, 4, 3, 2, 5, 4, 3, 2 }, false);
    assert_same_double(b.brevity_penalty, exp(1 - 10.0 / 5), "brevity penalty");
    assert_same_double(b.ratio, 0.5, "ratio");
    b = pk_bleu_score((double[]){ 0, 10, 0, 0, 0, 0, 0, 0, 0, 0 }, false);
    assert_same_double(b.score, 0.0, "empty output");
    assert_same_double(b.brevity_penalty, 0.0, "empty output");
    b = pk_bleu_score((double[]){ 7, 0, 0, 0, 0, 0, 7, 6, 5, 4 }, false);
    assert_same_double(b.score, 0.0, "empty reference");
    assert_same_double(b.ratio, 0.0, "empty reference");
    /* too short for order 3: its logarithm counts as minus infinity, nearly */
    b = pk_bleu_score((double[]){ 2, 2, 2, 1, 0, 0, 2, 1, 0, 0 }, false);
    assert_same_double(b.score, 0.0, "two tokens");
    assert_same_double(b.precision[1], 100.0, "two tokens");
    assert_same_double(b.precision[2], 0.0, "two tokens");
}

static void single_precision_rounds_each_step(void **state) {
    (void)state;
    const double  sum[PK_BLEU_COUNTS] = { 70, 70, 33, 17, 5, 0, 70, 69, 67, 65 };
    const pk_bleu b = pk_bleu_score(sum, true);
    assert_same_double(b.precision[0], (double)(100.0f * 33.0f / 70.0f), "order 1");
    assert_same_double(b.precision[3], (double)(100.0f / 130.0f), "order 4");
    assert_true(fabs(b.score - pk_bleu_score(sum, false).score) < 1e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_a_slow_count),
        cmocka_unit_test(words_are_told_apart),
        cmocka_unit_test(a_line_is_counted),
        cmocka_unit_test(a_perfect_score_is_100),
        cmocka_unit_test(orders_without_a_match_are_smoothed),
        cmocka_unit_test(short_and_empty_output_is_punished),
        cmocka_unit_test(single_precision_rounds_each_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
