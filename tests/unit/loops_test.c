/* loops_test.c - outputs that repeat themselves: noticed, counted, and where asked for decoded
 * again, with alignments, beside others, through the cache; a trace says which decoding was kept. */
#include "check.h"

#include <string.h>

#include "base/hash.h"
#include "engine/loops.h"

#define MODEL "tests/data/models/marian-relu"

static void loops_are_noticed(void **state) {
    (void)state;
    const int32_t       loop[] = { 5, 6, 7, 8, 7, 8, 7, 8, 7, 8, 7, 8, 2 };
    const int32_t       same[] = { 5, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2 };
    const int32_t       fine[] = { 5, 6, 7, 6, 7, 8, 6, 7, 2 };
    int32_t             words[] = { 11, 12, 13, 2 }, laughter[] = { 11, 11, 11, 11, 2 };
    const pk_ids        source = { .id = words, .n = 4 }, repeats = { .id = laughter, .n = 5 };
    const pk_output_end far = { .eos = 2, .most = 50 }, near = { .eos = 2, .most = 8 };
    assert_true(pk_loops(loop, 13, far, &source));
    assert_true(pk_loops(same, 11, far, &source));
    assert_false(pk_loops(fine, 9, far, &source));
    assert_true(pk_loops(fine, 8, near, &source)); /* does not end */
    assert_false(pk_loops(fine, 8, far, &source)); /* was cut off at the caller's wish */
    assert_false(pk_loops(fine, 9, near, &source));
    assert_true(pk_loops(fine, 9, (pk_output_end){ 2, 9, true }, &source));
    assert_false(pk_loops(loop, 13, far, &repeats));
    assert_false(pk_loops(fine, 0, far, &source));
}

/* the definition, token by token */
static bool has_run(const int32_t *token, int32_t n, int32_t times, int32_t least) {
    for (int32_t p = 1; p <= 16 && p < n; p++)
        for (int32_t i = p, run = 0; i < n; i++) {
            run = token[i] == token[i - p] ? run + 1 : 0;
            if (run >= times * p && run >= least) return true;
        }
    return false;
}

static void loops_are_those_of_the_definition(void **state) {
    uint64_t seed = 5;
    int32_t  found = 0, word = 7;
    (void)state;
    const pk_ids        source = { .id = &word, .n = 1 };
    const pk_output_end far = { .eos = 2, .most = 1000 };
    for (int turn = 0; turn < 20000; turn++) {
        int32_t       token[80];
        const int32_t n = 1 + (int32_t)(pk_mix(seed++) % 79),
                      period = 1 + (int32_t)(pk_mix(seed++) % 17);
        const int32_t from = (int32_t)(pk_mix(seed++) % 80),
                      end = from + (int32_t)(pk_mix(seed++) % 60);
        for (int32_t i = 0; i < n; i++)
            token[i] = i >= period && i >= from && i < end ? token[i - period]
                                                           : 3 + (int32_t)(pk_mix(seed++) % 3);
        token[n] = 2;
        const bool want = has_run(token, n, 3, 8);
        assert_int_equal(pk_loops(token, n + 1, far, &source), want);
        found += want;
    }
    assert_in_range(found, 2000, 18000);
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

static pk_job_hypothesis copy_of(const int32_t *token, int32_t n) {
    pk_job_hypothesis h = { .n = n };
    ASSERT_OK(PK_TAKE(&h.token, (size_t)n));
    memcpy(h.token, token, (size_t)n * sizeof *token);
    return h;
}

/* nothing is worse than a loop */
static void what_is_no_better_is_not_kept(void **state) {
    (void)state;
    static const int32_t loop[] = { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2 }, nothing[] = { 2 };
    static const int32_t fine[] = { 5, 6, 2 };
    const struct {
        const int32_t *token;
        int32_t        n, kept;
    } cases[] = { { nothing, 1, 9 }, { loop, 11, 9 }, { fine, 3, 5 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pk_job   job = { .again = true, .n_hypotheses = 1, .n_first = 1 };
        pk_stats stats = { 0 };
        ASSERT_OK(PK_TAKE(&job.hypothesis, 1));
        ASSERT_OK(PK_TAKE(&job.first, 1));
        job.hypothesis[0] = copy_of(cases[i].token, cases[i].n);
        job.first[0] = copy_of(loop, 11);
        assert_false(pk_loops_retry(&job, NULL, (pk_output_end){ 2, 50, false }, &stats));
        assert_int_equal(job.hypothesis[0].token[0], cases[i].kept);
        assert_int_equal(stats.mended, cases[i].kept == 5);
        pk_job_free(&job);
    }
}

/* ---- traces ---- */

/* the last loops also when it is decoded again */
static const char *const traced_lines[] = { "cats", "the cat sees a house",
                                            "Does the friend sell the teacher today?" };
enum { MOST_TOKENS = 128 };

typedef struct story { /* of one text */
    int32_t ends, kept;
    int32_t passes[2], widest[2]; /* of each decoding; asks of a pass */
    int32_t best[2][MOST_TOKENS]; /* at each position */
} story;

static void record(void *user, const pk_trace_pass *pass) {
    story        *s = &((story *)user)[pass->text];
    const int32_t d = pass->decoding & 1;
    s->passes[d]++;
    s->ends += pass->done;
    if (pass->kept) s->kept = pass->decoding;
    if (pass->n > s->widest[d]) s->widest[d] = pass->n;
    for (int32_t i = 0; i < pass->n; i++)
        if (pass->ask[i].position < MOST_TOKENS)
            s->best[d][pass->ask[i].position] = pass->ask[i].best;
}

static void check_story(const story *s, bool looped, const pk_hypothesis_view *h) {
    assert_int_equal(s->ends, 1 + looped);
    assert_int_equal(s->passes[1] > 0, looped);
    assert_int_equal(s->widest[0], 1); /* greedy, then a beam */
    if (looped) assert_true(s->widest[1] > 1);
    assert_in_range(h->n_tokens, 1, MOST_TOKENS);
    if (s->kept == 0) /* all but the end, which comes unasked where the output is cut off */
        assert_memory_equal(s->best[0], h->token, (size_t)(h->n_tokens - 1) * sizeof *h->token);
}

static void a_trace_tells_decodings_apart(void **state) {
    (void)state;
    pk_model          *m;
    pk_stats           stats;
    pk_text            text[N_LINES];
    story              s[N_LINES] = { { 0 } };
    pk_result         *plain, *traced;
    pk_hypothesis_view h;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    pk_translator *t = open_translator(m, 1, 0);
    for (int i = 0; i < N_LINES; i++) text[i] = text_of(traced_lines[i]);
    ASSERT_OK(pk_translate(t, text, N_LINES, NULL, &plain));
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.looped, 2);
    assert_int_equal(stats.mended, 1);
    ASSERT_OK(pk_translate(t, text, N_LINES,
                           PK_OPTIONS(pk_call_options, .trace = record, .user = s), &traced));
    for (int i = 0; i < N_LINES; i++) {
        ASSERT_OK(pk_result_hypothesis(traced, (size_t)i, 0, &h));
        assert_string_equal(pk_result_text(plain, (size_t)i), h.text);
        assert_int_equal(s[i].kept, i == 0);
        check_story(&s[i], i != 1, &h);
    }
    pk_result_free(plain);
    pk_result_free(traced);
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
        cmocka_unit_test(loops_are_those_of_the_definition),
        cmocka_unit_test(loops_are_decoded_again),
        cmocka_unit_test(what_is_no_better_is_not_kept),
        cmocka_unit_test(a_trace_tells_decodings_apart),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
