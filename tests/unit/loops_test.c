/* loops_test.c - outputs that repeat themselves: noticed, counted, and where asked for decoded
 * again, with alignments, beside others, through the cache; a trace is of one decoding. */
#include "check.h"

#include <string.h>

#include "engine/loops.h"

#define MODEL "tests/data/models/marian-relu"

static pk_text text_of(const char *s) { return (pk_text){ s, strlen(s) }; }

static void loops_are_noticed(void **state) {
    (void)state;
    const int32_t loop[] = { 5, 6, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8, 2 };
    const int32_t same[] = { 5, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2 };
    const int32_t fine[] = { 5, 6, 7, 6, 7, 8, 6, 7, 2 };
    int32_t       words[] = { 11, 12, 13, 2 }, laughter[] = { 11, 11, 11, 11, 2 };
    const pk_ids  source = { .id = words, .n = 4 }, repeats = { .id = laughter, .n = 5 };
    assert_true(pk_loops(loop, 13, 2, &source));
    assert_true(pk_loops(same, 11, 2, &source));
    assert_false(pk_loops(fine, 9, 2, &source));
    assert_true(pk_loops(fine, 8, 2, &source)); /* does not end */
    assert_false(pk_loops(loop, 13, 2, &repeats));
    assert_false(pk_loops(fine, 0, 2, &source));
}

/* the model of nonsense says H H H H ... for the first, and ends the second */
static const char *const lines[] = { "cats", "the cat sees a house", "cats" };
enum { N_LINES = 3 };

static pk_translator *open_translator(const pk_model *m, int32_t retry, int64_t cache) {
    pk_translator *t;
    ASSERT_OK(pk_translator_open(m,
                                 PK_OPTIONS(pk_translator_options, .alignment = 1, .threads = 1,
                                            .batch = 2, .retry_loops = retry, .cache_bytes = cache),
                                 &t));
    return t;
}

static pk_result *translate(pk_translator *t, const pk_call_options *o) {
    pk_result *r;
    pk_text    text[N_LINES];
    for (int i = 0; i < N_LINES; i++) text[i] = text_of(lines[i]);
    ASSERT_OK(pk_translate(t, text, N_LINES, o, &r));
    return r;
}

static void loops_are_decoded_again(void **state) {
    (void)state;
    pk_model          *m;
    pk_stats           stats;
    pk_hypothesis_view h;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    pk_translator *plain = open_translator(m, 0, 0), *retry = open_translator(m, 1, 1 << 16);
    pk_result     *a = translate(plain, NULL), *b = translate(retry, NULL);
    pk_translator_stats(plain, &stats);
    assert_int_equal(stats.looped, 2);
    assert_int_equal(stats.mended, 0);
    assert_int_equal(stats.sentences, N_LINES);
    assert_non_null(strstr(pk_result_text(a, 0), "H H H H H H"));
    pk_translator_stats(retry, &stats);
    assert_int_equal(stats.looped, 2);
    assert_int_equal(stats.mended, 2);
    assert_int_equal(stats.sentences, N_LINES);
    assert_null(strstr(pk_result_text(b, 0), "H H H H H H"));
    assert_string_equal(pk_result_text(b, 0), pk_result_text(b, 2));
    assert_string_equal(pk_result_text(a, 1), pk_result_text(b, 1)); /* nothing else changes */
    ASSERT_OK(pk_result_hypothesis(b, 0, 0, &h));
    assert_true(h.n_links > 0 && h.alignment);
    pk_result *c = translate(retry, NULL); /* the cache has what was kept */
    assert_string_equal(pk_result_text(b, 0), pk_result_text(c, 0));
    pk_result_free(a);
    pk_result_free(b);
    pk_result_free(c);
    pk_translator_close(plain);
    pk_translator_close(retry);
    pk_model_close(m);
}

static void count_last(void *user, const pk_trace_pass *pass) { *(int *)user += pass->done; }

static void a_trace_is_of_one_decoding(void **state) {
    (void)state;
    pk_model *m;
    int       ends = 0;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    pk_translator *t = open_translator(m, 1, 0);
    pk_result *r = translate(t, PK_OPTIONS(pk_call_options, .trace = count_last, .user = &ends));
    assert_int_equal(ends, N_LINES);
    assert_non_null(strstr(pk_result_text(r, 0), "H H H H H H"));
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

static pk_status translate_once(void *user) {
    pk_translator *t;
    pk_result     *r = NULL;
    pk_text        text = text_of(lines[0]);
    pk_status      status = pk_translator_open(
             user, PK_OPTIONS(pk_translator_options, .threads = 1, .retry_loops = 1), &t);
    if (status == PK_OK) status = pk_translate(t, &text, 1, NULL, &r);
    pk_result_free(r);
    pk_translator_close(t);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    pk_model *m;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    assert_true(check_every_allocation(translate_once, m) > 50);
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_noticed),
        cmocka_unit_test(loops_are_decoded_again),
        cmocka_unit_test(a_trace_is_of_one_decoding),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
