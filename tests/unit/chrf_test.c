/* chrf_test.c - which characters and words chrF counts, and its score's rules. */
#include "metric/chrf.h"

#include <math.h>

#include "metric_golden.h"

typedef struct counts {
    int32_t at[PK_CHRF_COUNTS];
} counts;

static counts count_texts(const char *reference, const char *hypothesis) {
    counts         c;
    pk_points      r = { 0 }, h = { 0 };
    pk_ngram_table table = { 0 };
    pk_word_lists  words = { { 0 }, { 0 } };
    ASSERT_OK(pk_points_read(&r, (pk_text){ reference, strlen(reference) }));
    ASSERT_OK(pk_points_read(&h, (pk_text){ hypothesis, strlen(hypothesis) }));
    ASSERT_OK(pk_chrf_count(&r, &h, &table, &words, c.at));
    pk_points_free(&r);
    pk_points_free(&h);
    pk_ngram_free(&table);
    pk_ids_free(&words.reference);
    pk_ids_free(&words.hypothesis);
    return c;
}

static void check_order(const counts *c, int order, int hypothesis, int reference, int match) {
    assert_int_equal(c->at[3 * order], hypothesis);
    assert_int_equal(c->at[3 * order + 1], reference);
    assert_int_equal(c->at[3 * order + 2], match);
}

static void characters_ignore_white_space(void **state) {
    (void)state;
    const counts c = count_texts("ab\xC2\xA0"
                                 "cd",
                                 "a b c\td");
    for (int order = 0; order < 4; order++) check_order(&c, order, 4 - order, 4 - order, 4 - order);
    check_order(&c, 4, 0, 0, 0);
    check_order(&c, 6, 4, 2, 0); /* words: "ab cd" against "a b c d" */
}

static void an_order_the_reference_lacks_is_dropped(void **state) {
    (void)state;
    const counts c = count_texts("ab", "abcd");
    check_order(&c, 1, 3, 1, 1);
    check_order(&c, 2, 0, 0, 0); /* two trigrams, but none to compare with */
    const counts empty = count_texts(" ", "xyz");
    for (int i = 0; i < PK_CHRF_COUNTS; i++) assert_int_equal(empty.at[i], 0);
    const counts none = count_texts("xyz", "");
    check_order(&none, 0, 0, 3, 0);
}

static void words_shed_one_mark(void **state) {
    (void)state;
    counts c = count_texts("(hi) x", "(hi ) x"); /* the last mark goes first */
    check_order(&c, 6, 4, 3, 2);                 /* "(", "hi", ")", "x" here */
    c = count_texts("\"hi", "\" hi");
    check_order(&c, 6, 2, 2, 2);
    check_order(&c, 7, 1, 1, 1);
    c = count_texts("! ? ,", "! ? ,"); /* a lone mark is a word */
    check_order(&c, 6, 3, 3, 3);
    c = count_texts("hi!!", "hi! !");
    check_order(&c, 6, 3, 2, 1);
    c = count_texts("na\xC3\xAFve\xE2\x80\xA6",
                    "na\xC3\xAFve"); /* only ASCII marks are split off */
    check_order(&c, 6, 1, 1, 0);
}

static double score_texts(const char *reference, const char *hypothesis, int n_orders,
                          bool single) {
    const counts c = count_texts(reference, hypothesis);
    double       sum[PK_CHRF_COUNTS];
    for (int i = 0; i < PK_CHRF_COUNTS; i++) sum[i] = c.at[i];
    return pk_chrf_score(sum, n_orders, single);
}

static void scores_run_from_0_to_100(void **state) {
    (void)state;
    const char *text = "The quick brown fox, jumps!";
    for (int n = PK_CHRF_CHARS; n <= PK_CHRF_ORDERS; n += PK_CHRF_WORDS) {
        assert_same_double(score_texts(text, text, n, false), 100.0, "equal");
        assert_same_double(score_texts(text, text, n, true), 100.0, "equal");
        assert_same_double(score_texts(text, "", n, false), 0.0, "empty");
        assert_same_double(score_texts("", text, n, false), 0.0, "no reference");
        assert_same_double(score_texts("abc", "xyz", n, false), 0.0, "nothing shared");
    }
}

static void recall_counts_twice(void **state) {
    (void)state;
    /* one order: precision 1, recall 1/2 */
    const double sum[PK_CHRF_COUNTS] = { 1, 2, 1 };
    assert_same_double(pk_chrf_score(sum, PK_CHRF_CHARS, false),
                       100 * (5 * 1 * 0.5 / (4 * 1 + 0.5)), "F2");
    assert_true(score_texts("abcdef", "abc", PK_CHRF_CHARS, false) <
                score_texts("abc", "abcdef", PK_CHRF_CHARS, false));
}

static void single_precision_gives_floats(void **state) {
    (void)state;
    const char *r = "Ein kleiner Satz, der nicht ganz passt.", *h = "Ein Satz, kleiner, der passt.";
    const double wide = score_texts(r, h, PK_CHRF_ORDERS, false);
    const double narrow = score_texts(r, h, PK_CHRF_ORDERS, true);
    assert_same_double(narrow, (double)(float)narrow, "a float");
    assert_true(wide > 0 && fabs(wide - narrow) < 1e-4);
    assert_true(memcmp(&wide, &narrow, sizeof wide) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_ignore_white_space),
        cmocka_unit_test(an_order_the_reference_lacks_is_dropped),
        cmocka_unit_test(words_shed_one_mark),
        cmocka_unit_test(scores_run_from_0_to_100),
        cmocka_unit_test(recall_counts_twice),
        cmocka_unit_test(single_precision_gives_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
