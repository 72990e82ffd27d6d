/* bootstrap_test.c - random numbers equal numpy's; intervals and p-values equal sacreBLEU's. */
#include "metric/bootstrap.h"

#include "metric/random_pcg64.h"
#include "metric_golden.h"

static void draws_equal_numpy(void **state) {
    (void)state;
    golden_table table = golden_open("random");
    for (size_t i = 0; i < table.n; i++) {
        const golden_row *row = &table.row[i];
        pk_random         random;
        pk_random_seed(&random, strtoull(row->field[0].data, NULL, 10));
        for (size_t k = 2; k < row->n; k++) {
            assert_int_equal(pk_random_below(&random, (uint32_t)golden_index(row, 1)),
                             golden_index(row, k));
        }
    }
    golden_close(&table);
}

static void draws_are_even(void **state) {
    (void)state;
    int       seen[7] = { 0 };
    pk_random random;
    pk_random_seed(&random, 42);
    for (int i = 0; i < 70000; i++) seen[pk_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 9600, 10400);
}

/* fields: kind, first, last, tokenizer, resamples, seed, system, then mean, interval and p for
 * BLEU, chrF2 and chrF2++, then the three signatures */
static void check_row(const golden_row *row, const pk_eval_scores *s) {
    const double found[9] = { s->bleu_mean,    s->bleu_interval,    s->p_bleu,
                              s->chrf2_mean,   s->chrf2_interval,   s->p_chrf2,
                              s->chrf2pp_mean, s->chrf2pp_interval, s->p_chrf2pp };
    for (size_t i = 0; i < 9; i++) {
        char what[64];
        snprintf(what, sizeof what, "%s %s..%s figure %zu", row->field[0].data, row->field[1].data,
                 row->field[2].data, i);
        assert_same_double(found[i], golden_number(row, 7 + i), what);
    }
}

static void check_signatures(const golden_row *row, const pk_eval_options *opt) {
    const char *metric[3] = { "BLEU", "chrF2", "chrF2++" };
    for (size_t i = 0; i < 3; i++) {
        char *text;
        ASSERT_OK(pk_eval_signature(opt, metric[i], &text));
        assert_string_equal(text, row->field[16 + i].data);
        pk_free(text);
    }
}

static void figures_equal_sacrebleu(void **state) {
    (void)state;
    golden_table corpus = golden_open("corpus"), table = golden_open("bootstrap");
    pk_text     *text[3];
    for (size_t i = 0; i < 3; i++) text[i] = golden_column(&corpus, i);
    for (size_t i = 0; i < table.n; i++) {
        const golden_row      *row = &table.row[i];
        const size_t           first = golden_index(row, 1), last = golden_index(row, 2);
        const pk_text         *systems[2] = { text[1] + first, text[2] + first };
        const pk_eval_options *opt =
            PK_OPTIONS(pk_eval_options, .tokenize = row->field[3].data,
                       .bootstrap = (int32_t)golden_index(row, 4), .seed = golden_index(row, 5));
        pk_eval_scores scores[2];
        const size_t   n_systems = strcmp(row->field[0].data, "alone") ? 2 : 1;
        ASSERT_OK(pk_evaluate(text[0] + first, systems, n_systems, last - first, opt, scores));
        check_row(row, &scores[golden_index(row, 6)]);
        check_signatures(row, opt);
    }
    for (size_t i = 0; i < 3; i++) free(text[i]);
    golden_close(&corpus);
    golden_close(&table);
}

/* rows of one system where every line is the same: every resample is the same */
static void equal_lines_have_no_spread(void **state) {
    (void)state;
    pk_count_row row[8] = { { { 0 } } };
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < PK_ROW_COUNTS; k++) row[i].count[k] = i < 4 ? 8 : 16;
    }
    pk_bootstrap b = { row, 2, 4, 100, 1, NULL };
    ASSERT_OK(pk_bootstrap_resample(&b));
    double p, mean, half;
    ASSERT_OK(pk_bootstrap_p_value(&b, 1, PK_METRIC_CHRF2, 0.0, &p));
    assert_same_double(p, 1.0 / 101, "nothing exceeds the mean difference");
    ASSERT_OK(pk_bootstrap_p_value(&b, 1, PK_METRIC_BLEU, -1.0, &p));
    assert_same_double(p, 1.0, "everything exceeds a negative one");
    pk_bootstrap_interval(&b, 1, PK_METRIC_CHRF2, &mean, &half);
    assert_same_double(half, 0.0, "half width");
    assert_same_double(mean, 100.0, "mean");
    pk_bootstrap_free(&b);
    pk_bootstrap_free(&b); /* twice is harmless */
}

static pk_status run_small(void *user) {
    pk_bootstrap b = { user, 2, 2, 10, 1, NULL };
    double       p;
    pk_status    status;
    PK_GOTO(pk_bootstrap_resample(&b));
    PK_GOTO(pk_bootstrap_p_value(&b, 1, PK_METRIC_BLEU, 0.0, &p));
done:
    pk_bootstrap_free(&b);
    return status;
}

static void out_of_memory_is_survived(void **state) {
    (void)state;
    pk_count_row row[4] = { { { 0 } } };
    assert_int_equal(check_every_allocation(run_small, row), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_equal_numpy),         cmocka_unit_test(draws_are_even),
        cmocka_unit_test(figures_equal_sacrebleu),   cmocka_unit_test(equal_lines_have_no_spread),
        cmocka_unit_test(out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
