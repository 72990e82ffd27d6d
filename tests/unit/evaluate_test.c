/* evaluate_test.c - pk_evaluate and pk_eval_signature: every bit of sacreBLEU's figures, odd input,
 * refusals, long lines, memory that runs out. */
#include <math.h>
#include <stdbool.h>

#include "metric_golden.h"

typedef struct corpus {
    golden_table table;
    pk_text     *text[3];
} corpus;

static corpus open_corpus(void) {
    corpus c = { .table = golden_open("corpus") };
    for (size_t i = 0; i < 3; i++) c.text[i] = golden_column(&c.table, i);
    return c;
}

static void close_corpus(corpus *c) {
    for (size_t i = 0; i < 3; i++) free(c->text[i]);
    golden_close(&c->table);
}

/* fields: "scores", first, last, tokenizer, lowercase, system, score, 4 precisions, penalty, ratio,
 * hypothesis length, reference length, chrF2, chrF2++, repetition, three signatures */
static void check_row(const golden_row *row, const pk_eval_scores *s) {
    const double found[12] = { s->bleu,
                               s->precision[0],
                               s->precision[1],
                               s->precision[2],
                               s->precision[3],
                               s->brevity_penalty,
                               s->ratio,
                               (double)s->hypothesis_length,
                               (double)s->reference_length,
                               s->chrf2,
                               s->chrf2pp,
                               s->repetition };
    for (size_t i = 0; i < 12; i++) {
        char what[64];
        snprintf(what, sizeof what, "%s..%s %s system %s figure %zu", row->field[1].data,
                 row->field[2].data, row->field[3].data, row->field[5].data, i);
        assert_same_double(found[i], golden_number(row, 6 + i), what);
    }
}

static void figures_equal_sacrebleu(void **state) {
    (void)state;
    corpus       c = open_corpus();
    golden_table table = golden_open("scores");
    for (size_t i = 0; i < table.n; i++) {
        const golden_row      *row = &table.row[i];
        const size_t           first = golden_index(row, 1), last = golden_index(row, 2);
        const pk_text         *systems[2] = { c.text[1] + first, c.text[2] + first };
        pk_eval_scores         scores[2];
        const pk_eval_options *opt = PK_OPTIONS(pk_eval_options, .tokenize = row->field[3].data,
                                                .lowercase = (int32_t)golden_index(row, 4));
        ASSERT_OK(pk_evaluate(c.text[0] + first, systems, 2, last - first, opt, scores));
        check_row(row, &scores[golden_index(row, 5)]);
        const char *metric[3] = { "bleu", "chrf2", "chrf2++" };
        for (size_t k = 0; k < 3; k++) {
            char *text;
            ASSERT_OK(pk_eval_signature(opt, metric[k], &text));
            assert_string_equal(text, row->field[18 + k].data);
            pk_free(text);
        }
    }
    golden_close(&table);
    close_corpus(&c);
}

static void defaults_are_13a_in_mixed_case(void **state) {
    (void)state;
    corpus         c = open_corpus();
    const pk_text *system = c.text[1];
    pk_eval_scores plain, named;
    ASSERT_OK(pk_evaluate(c.text[0], &system, 1, c.table.n, NULL, &plain));
    ASSERT_OK(pk_evaluate(c.text[0], &system, 1, c.table.n,
                          PK_OPTIONS(pk_eval_options, .tokenize = "13a", .seed = 9), &named));
    assert_memory_equal(&plain, &named, sizeof plain);
    assert_same_double(plain.bleu_mean, 0.0, "no bootstrap");
    /* an older caller's shorter struct: what it does not have is default */
    const pk_eval_options older = { .size = offsetof(pk_eval_options, lowercase),
                                    .tokenize = "13a",
                                    .lowercase = 1,
                                    .bootstrap = 5 };
    ASSERT_OK(pk_evaluate(c.text[0], &system, 1, c.table.n, &older, &named));
    assert_memory_equal(&plain, &named, sizeof plain);
    close_corpus(&c);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    const pk_text  line = { "a", 1 }, *system = &line;
    pk_eval_scores s;
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(&line, &system, 1, 0, NULL, &s));
    assert_non_null(strstr(pk_last_error(), "no lines"));
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(&line, &system, 0, 1, NULL, &s));
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(&line, &system, 1, 1,
                                           PK_OPTIONS(pk_eval_options, .tokenize = "x"), &s));
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(&line, &system, 1, 1,
                                           PK_OPTIONS(pk_eval_options, .bootstrap = -1), &s));
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(&line, &system, 1, 1, &(pk_eval_options){ 0 }, &s));
    char *text;
    ASSERT_STATUS(PK_ARGUMENT, pk_eval_signature(NULL, "ter", &text));
    assert_null(text);
    ASSERT_STATUS(PK_ARGUMENT, pk_eval_signature(NULL, NULL, &text));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_eval_signature(PK_OPTIONS(pk_eval_options, .tokenize = "ja"), "bleu", &text));
}

static void repeated_tokens_are_counted(void **state) {
    (void)state;
    /* across lines nothing repeats; marks are tokens; case matters unless lowered */
    const pk_text  reference[2] = { { "x", 1 }, { "y", 1 } };
    const pk_text  lines[2] = { { "a a b!!", 7 }, { "b B", 3 } };
    const pk_text *system = lines;
    pk_eval_scores s;
    ASSERT_OK(pk_evaluate(reference, &system, 1, 2, NULL, &s));
    assert_same_double(s.repetition, 100.0 * 2 / 7, "repetition");
    ASSERT_OK(
        pk_evaluate(reference, &system, 1, 2, PK_OPTIONS(pk_eval_options, .lowercase = 1), &s));
    assert_same_double(s.repetition, 100.0 * 3 / 7, "lower case");
    const pk_text empty[2] = { { NULL, 0 }, { " ", 1 } };
    system = empty;
    ASSERT_OK(pk_evaluate(reference, &system, 1, 2, NULL, &s));
    assert_same_double(s.repetition, 0.0, "empty");
    assert_same_double(s.bleu, 0.0, "empty");
    assert_same_double(s.chrf2pp, 0.0, "empty");
}

/* a million characters, then a short line that must not suffer from the long one before it */
static void long_lines_are_fine(void **state) {
    (void)state;
    enum { SIZE = 1000000 };
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = i % 7 == 6 ? ' ' : (char)('a' + i * i / 7 % 26);
    const pk_text  lines[2] = { { bytes, SIZE }, { "short line here now", 19 } };
    const pk_text *system = lines;
    pk_eval_scores s;
    ASSERT_OK(pk_evaluate(lines, &system, 1, 2, PK_OPTIONS(pk_eval_options, .bootstrap = 10), &s));
    assert_true(fabs(s.bleu - 100) < 1e-9);
    assert_true(fabs(s.chrf2 - 100) < 1e-9);
    free(bytes);
}

/* the lines of a file of the shared data, as texts into *bytes; NULL when it is not there */
static pk_text *shared_lines(const char *name, char **bytes, size_t *n) {
    char        path[512];
    const char *shared = getenv("PRONK_SHARED");
    snprintf(path, sizeof path, "%s/%s", shared ? shared : "../shared", name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fclose(file);
    *bytes = golden_read(path);
    pk_text *text = NULL;
    *n = 0;
    for (char *line = *bytes; *line;) {
        char *end = strchr(line, '\n');
        text = realloc(text, (*n + 1) * sizeof *text);
        text[(*n)++] = (pk_text){ line, (size_t)(end - line) };
        line = end + 1;
    }
    return text;
}

/* all of newstest2014; the figures are those of sacreBLEU 2.6.0 with --confidence */
static void a_whole_test_set_equals_sacrebleu(void **state) {
    (void)state;
    char    *bytes[2] = { NULL };
    size_t   n[2];
    pk_text *reference = shared_lines("testsets/en-de/newstest2014.de", &bytes[0], &n[0]);
    pk_text *system =
        shared_lines("models/en-de-base-hf/newstest2014.greedy.txt", &bytes[1], &n[1]);
    if (reference && system) {
        const pk_text *systems[1] = { system };
        pk_eval_scores s;
        assert_int_equal(n[0], n[1]);
        ASSERT_OK(pk_evaluate(reference, systems, 1, n[0],
                              PK_OPTIONS(pk_eval_options, .bootstrap = 1000), &s));
        assert_same_double(s.bleu, 0x1.35b36ff47b4e0p+4, "BLEU");
        assert_same_double(s.bleu_mean, 0x1.35c911828452cp+4, "BLEU mean");
        assert_same_double(s.bleu_interval, 0x1.23f27164f7f40p-1, "BLEU interval");
        assert_same_double(s.chrf2, 0x1.976b3b845cebdp+5, "chrF2");
        assert_same_double(s.chrf2_mean, 0x1.9767fc0000000p+5, "chrF2 mean");
        assert_same_double(s.chrf2_interval, 0x1.c637800000000p-2, "chrF2 interval");
        assert_same_double(s.chrf2pp, 0x1.7e6ed72224edbp+5, "chrF2++");
        assert_same_double(s.chrf2pp_mean, 0x1.7e6dd20000000p+5, "chrF2++ mean");
        assert_same_double(s.chrf2pp_interval, 0x1.d70e000000000p-2, "chrF2++ interval");
    }
    const bool missing = !reference || !system;
    free(reference);
    free(system);
    free(bytes[0]);
    free(bytes[1]);
    if (missing) skip();
}

static pk_status evaluate_some(void *user) {
    const corpus  *c = user;
    const pk_text *systems[2] = { c->text[1] + 60, c->text[2] + 60 };
    pk_eval_scores scores[2];
    return pk_evaluate(c->text[0] + 60, systems, 2, c->table.n - 60,
                       PK_OPTIONS(pk_eval_options, .lowercase = 1, .bootstrap = 3), scores);
}

static pk_status sign(void *user) {
    char *text;
    (void)user;
    const pk_status status =
        pk_eval_signature(PK_OPTIONS(pk_eval_options, .bootstrap = 1000), "chrf2++", &text);
    if (status == PK_OK) pk_free(text);
    return status;
}

static void out_of_memory_is_survived(void **state) {
    (void)state;
    corpus c = open_corpus();
    assert_true(check_every_allocation(evaluate_some, &c) > 20);
    assert_true(check_every_allocation(sign, NULL) > 0);
    close_corpus(&c);
}

/* Two lines, tokens are words. Head 3 of "a b c d e f" is a b c, of which the reference "a b x d e f"
 * has a and b: 2 of 3; 2-grams a b, b c: 1 of 2; 3-grams: 0 of 1. Tail 4 is c d e f: 3 of 4; d e, e f
 * of three; d e f of two; none of one. The second line is shorter than either and counts whole:
 * "a a" against "a": 1 of 2 (an occurrence counts once), 2-grams 0 of 1. */
static void ends_of_lines(void **state) {
    static const pk_text reference[] = { { "a b x d e f", 11 }, { "a", 1 } };
    static const pk_text system[] = { { "a b c d e f", 11 }, { "a a", 3 } };
    const pk_text *const systems[] = { system, reference };
    pk_eval_scores       s[2], plain[2];
    (void)state;
    ASSERT_OK(pk_evaluate(reference, systems, 2, 2,
                          PK_OPTIONS(pk_eval_options, .head = 3, .tail = 4), s));
    const double head[4] = { 300.0 / 5, 100.0 / 3, 0, 0 };
    const double tail[4] = { 400.0 / 6, 200.0 / 4, 100.0 / 2, 0 };
    for (int n = 0; n < 4; n++) {
        assert_same_double(s[0].head_precision[n], head[n], "head");
        assert_same_double(s[0].tail_precision[n], tail[n], "tail");
        assert_same_double(s[1].head_precision[n], n < 3 ? 100 : 0, "whole head");
        assert_same_double(s[1].tail_precision[n], 100, "whole tail");
    }
    /* nothing else changes; and what is not asked for is 0 */
    ASSERT_OK(pk_evaluate(reference, systems, 2, 2, NULL, plain));
    for (int i = 0; i < 2; i++) {
        memset(s[i].head_precision, 0, sizeof s[i].head_precision);
        memset(s[i].tail_precision, 0, sizeof s[i].tail_precision);
    }
    assert_memory_equal(s, plain, sizeof s);
    ASSERT_STATUS(PK_ARGUMENT, pk_evaluate(reference, systems, 2, 2,
                                           PK_OPTIONS(pk_eval_options, .head = -1), s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_equal_sacrebleu),
        cmocka_unit_test(defaults_are_13a_in_mixed_case),
        cmocka_unit_test(ends_of_lines),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(repeated_tokens_are_counted),
        cmocka_unit_test(long_lines_are_fine),
        cmocka_unit_test(out_of_memory_is_survived),
        cmocka_unit_test(a_whole_test_set_equals_sacrebleu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
