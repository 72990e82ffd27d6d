/* translator_test.c - the public interface on tiny models: results in order and independent of
 * batch, threads and workers; texts kept as they were around their sentences; bad options refused;
 * every failed allocation survived. */
#include "tiny_translator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cpu/isa.h"

static pk_result *translate_lines(const pk_model *m, const pk_translator_options *o) {
    pk_translator *t;
    pk_result     *r;
    pk_text        text[N_LINES];
    for (size_t i = 0; i < N_LINES; i++) text[i] = text_of(lines[i]);
    ASSERT_OK(pk_translator_open(m, o, &t));
    ASSERT_OK(pk_translate(t, text, N_LINES, NULL, &r));
    assert_int_equal(pk_result_count(r), N_LINES);
    pk_translator_close(t);
    return r;
}

static void assert_same(const pk_result *a, const pk_result *b) {
    for (size_t i = 0; i < N_LINES; i++) {
        assert_int_equal(pk_result_hypotheses(a, i), pk_result_hypotheses(b, i));
        for (int32_t k = 0; k < pk_result_hypotheses(a, i); k++) {
            pk_hypothesis_view x, y;
            ASSERT_OK(pk_result_hypothesis(a, i, k, &x));
            ASSERT_OK(pk_result_hypothesis(b, i, k, &y));
            assert_string_equal(x.text, y.text);
            assert_int_equal(x.n_tokens, y.n_tokens);
            if (x.n_tokens) {
                assert_memory_equal(x.token, y.token, (size_t)x.n_tokens * sizeof *x.token);
                assert_memory_equal(x.token_log_prob, y.token_log_prob,
                                    (size_t)x.n_tokens * sizeof(float));
            }
            assert_true(x.score == y.score && x.log_prob == y.log_prob);
        }
    }
}

/* the law of exactness, through the whole engine; PRONK_ISA says on which instruction set */
static void change_nothing(void) {
    static const int32_t     shape[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 32, 1, 1 },
                                            { 2, 2, 1 }, { 3, 3, 3 }, { 32, 2, 2 } };
    static const char *const types[] = { "f32", "i8" }, *const specs[] = {
        "greedy", "beam:size=3,max_length=30"
    };
    for (int t = 0; t < 2; t++) {
        pk_model *m = open_model(types[t]);
        for (int s = 0; s < 2; s++) {
            pk_result *first = NULL;
            for (int i = 0; i < 6; i++) {
                pk_result *r = translate_lines(
                    m, PK_OPTIONS(pk_translator_options, .decode = specs[s], .batch = shape[i][0],
                                  .threads = shape[i][1], .workers = shape[i][2], .scores = 1,
                                  .one_sentence = 1, .n_best = s ? 3 : 1));
                if (!first)
                    first = r;
                else
                    assert_same(first, r), pk_result_free(r);
            }
            pk_result_free(first);
        }
        pk_model_close(m);
    }
}

static void batch_threads_and_workers_change_nothing(void **state) {
    (void)state;
    for (int32_t i = 0; pk_isa_available(i); i++) {
        setenv("PRONK_ISA", pk_isa_available(i)->name, 1);
        change_nothing();
    }
    unsetenv("PRONK_ISA");
}

/* every strategy that promises greedy's output, with any draft, at any batch size: greedy's output
 */
static void strategies_that_guess_give_greedys_output(void **state) {
    static const char *const specs[] = { "jacobi",
                                         "jacobi:window=8",
                                         "jacobi:init=copy",
                                         "pj",
                                         "pgj:block=3",
                                         "hgj:block=4,length=12",
                                         "pgj:block=16,no_repeat_ngram=2" };
    (void)state;
    for (int t = 0; t < 2; t++) {
        pk_model *m = open_model(t ? "i8" : "f32");
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            const char *plain = strstr(specs[s], "ngram") ? "greedy:no_repeat_ngram=2" : "greedy";
            pk_result  *greedy =
                translate_lines(m, PK_OPTIONS(pk_translator_options, .decode = plain, .scores = 1));
            for (int32_t batch = 1; batch <= 9; batch *= 3) {
                pk_translator *tr;
                pk_result     *r;
                pk_text        text[N_LINES], draft[N_LINES];
                for (size_t i = 0; i < N_LINES; i++) {
                    text[i] = text_of(lines[i]);
                    draft[i] = text_of(i % 3 == 0   ? pk_result_text(greedy, i)
                                       : i % 3 == 1 ? "nonsense, xyz"
                                                    : "");
                }
                ASSERT_OK(pk_translator_open(m,
                                             PK_OPTIONS(pk_translator_options, .decode = specs[s],
                                                        .scores = 1, .batch = batch),
                                             &tr));
                ASSERT_OK(pk_translate(tr, text, N_LINES,
                                       PK_OPTIONS(pk_call_options, .draft = draft), &r));
                assert_same(greedy, r);
                pk_result_free(r);
                pk_translator_close(tr);
            }
            pk_result_free(greedy);
        }
        pk_model_close(m);
    }
}

/* memory for hardly more than one sentence: others are put back and decoded again, with the same
 * result */
static void little_memory_changes_nothing(void **state) {
    (void)state;
    pk_model  *m = open_model("f32");
    pk_result *roomy = translate_lines(
        m, PK_OPTIONS(pk_translator_options, .decode = "beam:size=4", .scores = 1, .threads = 1));
    pk_result *tight =
        translate_lines(m, PK_OPTIONS(pk_translator_options, .decode = "beam:size=4", .scores = 1,
                                      .threads = 1, .batch = 5, .batch_tokens = 1));
    assert_same(roomy, tight);
    pk_result_free(roomy);
    pk_result_free(tight);
    pk_model_close(m);
}

static void ref_and_cpu_agree(void **state) {
    (void)state;
    pk_model  *m = open_model("f32");
    pk_result *a =
        translate_lines(m, PK_OPTIONS(pk_translator_options, .device = "ref", .scores = 1));
    pk_result *b =
        translate_lines(m, PK_OPTIONS(pk_translator_options, .device = "cpu", .scores = 1));
    for (size_t i = 0; i < N_LINES; i++) {
        assert_string_equal(pk_result_text(a, i), pk_result_text(b, i));
        assert_true(fabsf(pk_result_score(a, i) - pk_result_score(b, i)) < 1e-3f);
    }
    pk_result_free(a);
    pk_result_free(b);
    pk_model_close(m);
}

/* what stands around sentences is copied: blank lines, indentation, line ends, NUL-free spans */
static void space_around_sentences_is_kept(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r, *alone;
    const char    *text = "\n  the cat\r\n\n\tthe sun \n";
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    ASSERT_OK(pk_translate(t, (pk_text[]){ text_of(text) }, 1, NULL, &r));
    ASSERT_OK(
        pk_translate(t, (pk_text[]){ text_of("the cat"), text_of("the sun") }, 2, NULL, &alone));
    char expected[512];
    snprintf(expected, sizeof expected, "\n  %s\r\n\n\t%s \n", pk_result_text(alone, 0),
             pk_result_text(alone, 1));
    assert_string_equal(pk_result_text(r, 0), expected);
    pk_result_free(r);
    pk_result_free(alone);
    ASSERT_OK(pk_translate(t, (pk_text[]){ text_of(" \n\t") }, 1, NULL, &r));
    assert_string_equal(pk_result_text(r, 0), " \n\t");
    assert_true(pk_result_score(r, 0) == 0);
    pk_result_free(r);
    ASSERT_OK(pk_translate(t, NULL, 0, NULL, &r));
    assert_int_equal(pk_result_count(r), 0);
    assert_string_equal(pk_result_text(r, 7), "");
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

static char *translated(pk_translator *t, const char *text) {
    pk_result    *r;
    const pk_text source = text_of(text);
    ASSERT_OK(pk_translate(t, &source, 1, NULL, &r));
    char *out = strdup(pk_result_text(r, 0));
    pk_result_free(r);
    return out;
}

/* kept: all white space that is not inside a sentence; inside, several in sequence are one space */
static void space_between_sentences_is_kept_and_inside_is_the_models(void **state) {
    static const char *const between[] = {
        "  ",   "\t",           " \t \t",   "\xc2\xa0 ", "\xe3\x80\x80 ",
        "\r\n", "\xe2\x80\xa8", "\xc2\x85", "\n\n \n"
    };
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    char *first = translated(t, "The cat sees."), *second = translated(t, "A dog.");
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        char text[64], expected[1024];
        snprintf(text, sizeof text, "%sThe cat sees.%sA dog.%s", between[i], between[i],
                 between[i]);
        snprintf(expected, sizeof expected, "%s%s%s%s%s", between[i], first, between[i], second,
                 between[i]);
        char *found = translated(t, text);
        assert_string_equal(found, expected);
        free(found);
    }
    char *one = translated(t, "The cat sees a dog."),
         *more = translated(t, "The  cat   sees a    dog.");
    assert_string_equal(one, more);
    free(one), free(more), free(first), free(second);
    pk_translator_close(t);
    pk_model_close(m);
}

/* a sentence far beyond the model's limit is cut, counted and translated whole */
static void long_sentences_are_wrapped_not_cut_off(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r;
    pk_stats       stats;
    char          *text = malloc(60000), *at = text;
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "the cat sees %s ", i % 40 == 39 ? "it," : "a");
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .one_sentence = 1, .decode = "greedy:max_length=8"),
        &t));
    ASSERT_OK(pk_translate(t, &(pk_text){ text, (size_t)(at - text) }, 1, NULL, &r));
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.wrapped, 1);
    assert_true(stats.sentences > 100);
    assert_true(stats.source_tokens >= 3000 * 4);
    assert_int_equal(text[0] == ' ', pk_result_text(r, 0)[0] == ' ');
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
    free(text);
}

/* what is counted is what the sentences need: nothing else changes it */
static void operations_do_not_depend_on_batch_or_threads(void **state) {
    static const int32_t batch[] = { 1, 8, 3, 4 }, threads[] = { 1, 1, 2, 2 },
                         workers[] = { 1, 1, 1, 2 };
    (void)state;
    pk_model *m = open_model("f32");
    uint64_t  alone = 0;
    pk_text   text[N_LINES];
    for (size_t i = 0; i < N_LINES; i++) text[i] = text_of(lines[i]);
    for (int i = 0; i < 4; i++) {
        pk_translator *t;
        pk_result     *r;
        pk_stats       stats;
        ASSERT_OK(pk_translator_open(m,
                                     PK_OPTIONS(pk_translator_options, .batch = batch[i],
                                                .threads = threads[i], .workers = workers[i]),
                                     &t));
        for (uint64_t call = 1; call < 3; call++) {
            ASSERT_OK(pk_translate(t, text, N_LINES, NULL, &r));
            pk_translator_stats(t, &stats);
            if (!alone) alone = stats.flops;
            assert_int_equal(stats.flops, call * alone);
            pk_result_free(r);
        }
        assert_true(stats.flops > 0 && stats.draft_flops == 0);
        assert_true(stats.pass_seconds > 0 && stats.draft_seconds == 0);
        pk_translator_close(t);
    }
    pk_model_close(m);
}

static void invalid_utf8_is_repaired_and_counted(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r;
    pk_stats       stats;
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    const pk_text bad[] = { { "the \xff cat", 9 }, { "a\0b", 3 }, { "\xf0\x9f", 2 } };
    ASSERT_OK(pk_translate(t, bad, 3, NULL, &r));
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.repaired, 2);
    assert_int_equal(stats.texts, 3);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

/* scoring what search found gives the score search gave, token by token */
static void scoring_agrees_with_search(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *found, *scored;
    pk_text        source[3], target[3];
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .one_sentence = 1, .scores = 1), &t));
    for (int i = 0; i < 3; i++) source[i] = text_of(lines[i]);
    ASSERT_OK(pk_translate(t, source, 3, NULL, &found));
    for (size_t i = 0; i < 3; i++) target[i] = text_of(pk_result_text(found, i));
    ASSERT_OK(pk_score(t, source, target, 3, NULL, &scored));
    int compared = 0;
    for (size_t i = 0; i < 3; i++) {
        pk_hypothesis_view a, b;
        ASSERT_OK(pk_result_hypothesis(found, i, 0, &a));
        ASSERT_OK(pk_result_hypothesis(scored, i, 0, &b));
        /* a random model may output pieces that its own text is not segmented into */
        if (a.n_tokens != b.n_tokens ||
            memcmp(a.token, b.token, (size_t)a.n_tokens * sizeof *a.token))
            continue;
        assert_memory_equal(a.token_log_prob, b.token_log_prob, (size_t)a.n_tokens * sizeof(float));
        compared++;
    }
    for (size_t i = 0; i < 3; i++) assert_true(pk_result_score(scored, i) < 0);
    assert_true(compared > 0);
    pk_result_free(found);
    pk_result_free(scored);
    pk_translator_close(t);
    pk_model_close(m);
}

static int stop_at_once(void *user, size_t done, size_t all) {
    (void)done;
    *(size_t *)user = all;
    return 1;
}

static void a_call_can_be_cancelled_and_the_next_one_works(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r;
    size_t         all = 0;
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    const pk_text text[] = { text_of("the cat"), text_of("the sun") };
    ASSERT_STATUS(PK_CANCELLED,
                  pk_translate(t, text, 2,
                               PK_OPTIONS(pk_call_options, .progress = stop_at_once, .user = &all),
                               &r));
    assert_null(r);
    assert_int_equal(all, 2);
    ASSERT_OK(pk_translate(t, text, 2, NULL, &r));
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

static int stop_while_reading(void *user, size_t done, size_t all) {
    (void)done;
    ++*(int *)user;
    return all == 0;
}

/* a text that takes long to read is reported, and can be cancelled, before the first sentence */
static void reading_is_reported_and_can_be_cancelled(void **state) {
    (void)state;
    enum { LONG = 2000000 };
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r;
    pk_stats       stats;
    int            calls = 0;
    char          *text = malloc(LONG);
    memset(text, 'x', LONG);
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    ASSERT_STATUS(
        PK_CANCELLED,
        pk_translate(t, &(pk_text){ text, LONG }, 1,
                     PK_OPTIONS(pk_call_options, .progress = stop_while_reading, .user = &calls),
                     &r));
    assert_int_equal(calls, 1);
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.passes, 0);
    pk_translator_close(t);
    pk_model_close(m);
    free(text);
}
#define NI_HAO "\xE4\xBD\xA0\xE5\xA5\xBD" /* one unknown token on both sides */

/* the prefix makes an unknown token come out; the source has nothing else to look at */
static void unknowns_are_replaced_in_the_text_alone(void **state) {
    static const char *const decode[] = { "greedy", "beam:size=3", "jacobi", "pj", "pgj", "hgj" };
    (void)state;
    pk_model     *m = open_model("f32");
    const pk_text text = text_of(NI_HAO), prefix = text_of("das \xE4\xB8\xAD");
    for (size_t i = 0; i < sizeof decode / sizeof *decode; i++) {
        pk_hypothesis_view h[2];
        pk_result         *r[2];
        for (int replace = 0; replace < 2; replace++) {
            pk_translator *t;
            ASSERT_OK(pk_translator_open(m,
                                         PK_OPTIONS(pk_translator_options, .decode = decode[i],
                                                    .scores = 1, .one_sentence = 1,
                                                    .replace_unknowns = replace),
                                         &t));
            ASSERT_OK(pk_translate(t, &text, 1, PK_OPTIONS(pk_call_options, .prefix = &prefix),
                                   &r[replace]));
            ASSERT_OK(pk_result_hypothesis(r[replace], 0, 0, &h[replace]));
            pk_translator_close(t);
        }
        assert_memory_equal(h[0].text, "das  \xE2\x81\x87", 8);
        assert_memory_equal(h[1].text, "das " NI_HAO, 10);
        assert_null(strstr(h[1].text, "\xE2\x81\x87"));
        assert_int_equal(pk_result_unknowns(r[1], 0, 0), pk_result_unknowns(r[0], 0, 0));
        assert_true(pk_result_unknowns(r[1], 0, 0) > 0);
        assert_int_equal(h[0].n_tokens, h[1].n_tokens);
        assert_memory_equal(h[0].token, h[1].token, (size_t)h[0].n_tokens * sizeof(int32_t));
        assert_memory_equal(h[0].token_log_prob, h[1].token_log_prob,
                            (size_t)h[0].n_tokens * sizeof(float));
        assert_true(h[0].score == h[1].score && h[1].alignment == NULL);
        pk_result_free(r[0]);
        pk_result_free(r[1]);
    }
    pk_model_close(m);
}

static void alignments_name_words_that_exist(void **state) {
    (void)state;
    pk_model          *m = open_model("f32");
    pk_translator     *t;
    pk_result         *r;
    pk_hypothesis_view h;
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .one_sentence = 1, .alignment = 1), &t));
    const pk_text text = text_of("the cat sees a house");
    ASSERT_OK(pk_translate(t, &text, 1, NULL, &r));
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &h));
    int words = 1, links = 0, source, target, used;
    for (const char *c = h.text; *c; c++) words += *c == ' ';
    for (const char *c = h.alignment; *c; c += used + (c[used] == ' '), links++) {
        assert_int_equal(sscanf(c, "%d-%d%n", &source, &target, &used), 2);
        assert_in_range(source, 0, 4);
        assert_in_range(target, 0, words - 1);
    }
    assert_true(links >= words);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

static void bad_options_are_refused_with_a_reason(void **state) {
    (void)state;
    pk_model      *m = open_model("f32"), *none;
    pk_translator *t;
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_model_open(TINY_MODEL, PK_OPTIONS(pk_model_options, .type = "f8"), &none));
    ASSERT_STATUS(PK_ARGUMENT, pk_model_open("", NULL, &none));
    ASSERT_STATUS(PK_IO, pk_model_open("no/such/model", NULL, &none));
#define REFUSED(...)           \
    ASSERT_STATUS(PK_ARGUMENT, \
                  pk_translator_open(m, PK_OPTIONS(pk_translator_options, __VA_ARGS__), &t))
    REFUSED(.decode = "wishful");
    REFUSED(.decode = "beam:size=0");
    REFUSED(.decode = "beam:sise=4");
    REFUSED(.decode = "greedy", .n_best = 2);
    REFUSED(.decode = "beam:size=2", .n_best = 3);
    REFUSED(.device = "abacus");
    REFUSED(.threads = -1);
    REFUSED(.batch = PK_MOST_BATCH + 1);
    REFUSED(.batch_tokens = PK_MOST_BATCH_TOKENS + 1);
    REFUSED(.n_best = PK_MOST_N_BEST + 1);
    REFUSED(.max_input = PK_LEAST_MAX_INPUT - 1);
    REFUSED(.to = "xx", .from = "yy");
    assert_true(strlen(pk_last_error()) > 10);
    pk_model_close(m);
}

static pk_status whole_job(void *user) {
    pk_model      *m = NULL;
    pk_translator *t = NULL;
    pk_result     *r = NULL;
    pk_status      status = pk_model_open(user, NULL, &m);
    const pk_text  text[] = { text_of("the cat sees a house. it is good."), text_of("a\xff") };
    const pk_translator_options *o =
        PK_OPTIONS(pk_translator_options, .decode = "beam:size=2,max_length=12", .threads = 2,
                   .workers = 2, .n_best = 2, .alignment = 1, .batch = 2);
    if (status == PK_OK) status = pk_translator_open(m, o, &t);
    if (status == PK_OK) status = pk_translate(t, text, 2, NULL, &r);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
    return status;
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/pronk-%ld.pronk", (long)getpid());
    assert_true(check_every_allocation(whole_job, TINY_MODEL) > 100);
    ASSERT_OK(pk_model_convert(TINY_MODEL, path, NULL));
    assert_true(check_every_allocation(whole_job, path) > 100);
    unlink(path);
}

static void a_model_describes_itself(void **state) {
    (void)state;
    pk_model *m = open_model("i8");
    char     *json;
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"type\": \"i8\""));
    assert_non_null(strstr(json, "\"encoder_layers\""));
    pk_free(json);
    pk_model_close(m);
    ASSERT_OK(pk_strategies_describe(&json));
    assert_non_null(strstr(json, "greedy"));
    assert_non_null(strstr(json, "beam"));
    pk_free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_threads_and_workers_change_nothing),
        cmocka_unit_test(strategies_that_guess_give_greedys_output),
        cmocka_unit_test(little_memory_changes_nothing),
        cmocka_unit_test(ref_and_cpu_agree),
        cmocka_unit_test(space_around_sentences_is_kept),
        cmocka_unit_test(space_between_sentences_is_kept_and_inside_is_the_models),
        cmocka_unit_test(long_sentences_are_wrapped_not_cut_off),
        cmocka_unit_test(operations_do_not_depend_on_batch_or_threads),
        cmocka_unit_test(invalid_utf8_is_repaired_and_counted),
        cmocka_unit_test(scoring_agrees_with_search),
        cmocka_unit_test(a_call_can_be_cancelled_and_the_next_one_works),
        cmocka_unit_test(reading_is_reported_and_can_be_cancelled),
        cmocka_unit_test(unknowns_are_replaced_in_the_text_alone),
        cmocka_unit_test(alignments_name_words_that_exist),
        cmocka_unit_test(bad_options_are_refused_with_a_reason),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(a_model_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
