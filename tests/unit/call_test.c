/* call_test.c - calls that do not wait: many threads at once get what they would have got alone;
 * cancelled, late and refused calls; the cache; tokens instead of text; failed allocations. */
#include "calls.h"

#include <stdio.h>
#include <string.h>

#include "engine/model.h"

enum { N_THREADS = 6, ROUNDS = 4 };

/* ---- many at once ---- */

typedef struct expected {
    char  text[N_LINES][512];
    float score[N_LINES], sum[N_LINES]; /* translated; forced to be its own output */
} expected;

static void learn(opened *w, expected *e) {
    for (size_t i = 0; i < N_LINES; i++) {
        const pk_text text = text_of(lines[i]);
        pk_result    *r, *forced;
        ASSERT_OK(pk_translate(w->t, &text, 1, NULL, &r));
        snprintf(e->text[i], sizeof e->text[i], "%s", pk_result_text(r, 0));
        e->score[i] = pk_result_score(r, 0);
        const pk_text target = text_of(e->text[i]);
        ASSERT_OK(pk_score(w->t, &text, &target, 1, NULL, &forced));
        e->sum[i] = pk_result_score(forced, 0);
        pk_result_free(r);
        pk_result_free(forced);
    }
}

static void submit_all(caller *c, pk_call **call) {
    for (size_t i = 0; i < N_LINES; i++) {
        const pk_text text = text_of(lines[i]);
        expect(c, !pk_submit(c->t, &text, 1,
                             PK_OPTIONS(pk_call_options, .client = (uint64_t)c->number + 1,
                                        .done = count_done, .user = c),
                             &call[i]));
    }
}

static void check_all(caller *c, pk_call **call) {
    const expected *e = c->test;
    for (size_t i = 0; i < N_LINES; i++) {
        pk_result *r;
        expect(c, !pk_call_end(call[i], &r));
        expect(c, r && strcmp(pk_result_text(r, 0), e->text[i]) == 0 &&
                      pk_result_score(r, 0) == e->score[i]);
        pk_result_free(r);
    }
}

static void check_scores(caller *c) {
    const expected *e = c->test;
    pk_text         source[N_LINES], target[N_LINES];
    pk_result      *r;
    for (size_t i = 0; i < N_LINES; i++)
        source[i] = text_of(lines[i]), target[i] = text_of(e->text[i]);
    expect(c, !pk_score(c->t, source, target, N_LINES, NULL, &r));
    for (size_t i = 0; r && i < N_LINES; i++) expect(c, pk_result_score(r, i) == e->sum[i]);
    pk_result_free(r);
}

/* one by one, each waited for */
static void check_translations(caller *c) {
    const expected *e = c->test;
    for (size_t i = 0; i < N_LINES; i++) {
        const pk_text text = text_of(lines[i]);
        pk_result    *r;
        expect(c, !pk_translate(c->t, &text, 1, NULL, &r));
        expect(c, r && strcmp(pk_result_text(r, 0), e->text[i]) == 0 &&
                      pk_result_score(r, 0) == e->score[i]);
        pk_result_free(r);
    }
}

static void *call_often(void *arg) {
    caller *c = arg;
    for (int round = 0; round < ROUNDS; round++) {
        pk_call *call[N_LINES] = { NULL };
        submit_all(c, call);
        if (round % 2) check_scores(c);
        if (round % 2 == 0) check_translations(c);
        check_all(c, call);
        expect(c, atomic_load(&c->done) == (round + 1) * N_LINES);
    }
    return NULL;
}

/* ---- in the caller's own thread ---- */

typedef struct traced {
    pthread_t caller;
    int       own, others; /* passes in the caller's thread; in that of a worker */
} traced;

static void see_thread(void *user, const pk_trace_pass *pass) {
    traced *t = user;
    (void)pass;
    if (pthread_equal(pthread_self(), t->caller))
        t->own++;
    else
        t->others++;
}

/* The worker must wait before its caller can do its work: the first call may come too early. */
static void a_caller_that_waits_does_the_work(void **state) {
    opened        w = open_both(TINY_MODEL, NULL);
    const pk_text text = text_of(lines[0]);
    pk_result    *r, *again;
    (void)state;
    ASSERT_OK(pk_translate(w.t, &text, 1, NULL, &r));
    for (int i = 0; i < 3; i++) {
        traced t = { .caller = pthread_self() };
        usleep(20000);
        ASSERT_OK(pk_translate(
            w.t, &text, 1, PK_OPTIONS(pk_call_options, .trace = see_thread, .user = &t), &again));
        assert_true(t.own > 0 && t.others == 0);
        assert_string_equal(pk_result_text(again, 0), pk_result_text(r, 0));
        pk_result_free(again);
    }
    pk_result_free(r);
    close_both(&w);
}

static void check_many(const pk_translator_options *o) {
    static expected e;
    opened          w = open_both(TINY_MODEL, o);
    learn(&w, &e);
    const pk_stats stats = check_callers(N_THREADS, w.t, &e, call_often);
    assert_int_equal(stats.texts, N_LINES * 2 + N_THREADS * ROUNDS * N_LINES * 2);
    close_both(&w);
}

static void many_threads_get_what_they_would_alone(void **state) {
    (void)state;
    check_many(PK_OPTIONS(pk_translator_options, .threads = 2, .scores = 1, .one_sentence = 1));
    check_many(PK_OPTIONS(pk_translator_options, .decode = "beam:size=3,max_length=30",
                          .threads = 3, .workers = 3, .batch = 4, .one_sentence = 1));
    check_many(PK_OPTIONS(pk_translator_options, .threads = 2, .scores = 1, .one_sentence = 1,
                          .cache_bytes = 1 << 20));
}

/* ---- ends before the end ---- */

static const char long_sentence[] =
    "we go to the river and we see the old boat and the old man and "
    "the sea and the sun and the house and the dog";

static const pk_translator_options slow = { .size = sizeof slow,
                                            .decode = "beam:size=4,min_length=60,max_length=60",
                                            .threads = 2,
                                            .batch = 4,
                                            .one_sentence = 1 };

static void a_cancelled_call_ends_soon(void **state) {
    opened     w = open_both(TINY_MODEL, &slow);
    pk_text    text[LONG];
    pk_call   *call;
    pk_result *r;
    pk_stats   stats;
    (void)state;
    repeat_text(long_sentence, text);
    ASSERT_OK(pk_submit(w.t, text, LONG, NULL, &call));
    check_cancelled_soon(call);
    pk_translator_stats(w.t, &stats);
    assert_true(stats.sentences < LONG);
    ASSERT_OK(pk_submit(w.t, text, 1, NULL, &call)); /* others go on */
    ASSERT_OK(pk_call_end(call, &r));
    pk_call_cancel(NULL);
    pk_result_free(r);
    close_both(&w);
}

static void a_late_call_says_so(void **state) {
    opened     w = open_both(TINY_MODEL, &slow);
    pk_text    text[LONG];
    pk_call   *call, *behind;
    pk_result *r;
    (void)state;
    repeat_text(long_sentence, text);
    ASSERT_OK(pk_submit(w.t, text, LONG, PK_OPTIONS(pk_call_options, .deadline = 0.05), &call));
    ASSERT_OK(pk_submit(w.t, text, 1, PK_OPTIONS(pk_call_options, .deadline = 1000), &behind));
    assert_int_equal(pk_call_end(call, &r), PK_LATE);
    assert_non_null(strstr(pk_last_error(), "deadline"));
    ASSERT_OK(pk_call_end(behind, &r));
    pk_result_free(r);
    close_both(&w);
}

static void too_much_is_refused(void **state) {
    pk_translator_options o = slow;
    pk_text               text[LONG];
    pk_call              *call, *other = (pk_call *)&o;
    pk_result            *r;
    (void)state;
    o.max_waiting = 10;
    opened w = open_both(TINY_MODEL, &o);
    repeat_text(long_sentence, text);
    ASSERT_OK(pk_submit(w.t, text, LONG, NULL, &call));
    assert_int_equal(pk_submit(w.t, text, 1, NULL, &other), PK_BUSY);
    assert_null(other);
    pk_call_cancel(call);
    assert_int_equal(pk_call_end(call, &r), PK_CANCELLED);
    ASSERT_OK(pk_submit(w.t, text, 1, NULL, &other));
    ASSERT_OK(pk_call_end(other, &r));
    pk_result_free(r);
    close_both(&w);
    o.max_waiting = -1;
    ASSERT_OK(pk_model_open(TINY_MODEL, NULL, &w.m));
    assert_int_equal(pk_translator_open(w.m, &o, &w.t), PK_ARGUMENT);
    pk_model_close(w.m);
}

static void a_short_call_overtakes_a_long_one(void **state) {
    opened  w = open_both(TINY_MODEL, &slow);
    pk_text text[LONG];
    (void)state;
    repeat_text(long_sentence, text);
    check_overtaken(w.t, text, NULL);
    close_both(&w);
}

/* ---- the cache ---- */

static void sentences_are_found_again(void **state) {
    opened     w = open_both(TINY_MODEL,
                             PK_OPTIONS(pk_translator_options, .decode = "beam:size=3,max_length=30",
                                        .n_best = 2, .alignment = 1, .cache_bytes = 1 << 20));
    pk_stats   first, second;
    pk_text    text[N_LINES];
    pk_result *a, *b;
    (void)state;
    for (size_t i = 0; i < N_LINES; i++) text[i] = text_of(lines[i]);
    ASSERT_OK(pk_translate(w.t, text, N_LINES, NULL, &a));
    pk_translator_stats(w.t, &first);
    ASSERT_OK(pk_translate(w.t, text, N_LINES, NULL, &b));
    pk_translator_stats(w.t, &second);
    assert_int_equal(second.passes, first.passes);
    assert_int_equal(second.cached, first.sentences);
    for (size_t i = 0; i < N_LINES; i++)
        for (int32_t k = 0; k < pk_result_hypotheses(a, i); k++) {
            pk_hypothesis_view x, y;
            ASSERT_OK(pk_result_hypothesis(a, i, k, &x));
            ASSERT_OK(pk_result_hypothesis(b, i, k, &y));
            assert_string_equal(x.text, y.text);
            assert_true(x.score == y.score && x.log_prob == y.log_prob);
            assert_int_equal(x.alignment == NULL, y.alignment == NULL);
            if (x.alignment) assert_string_equal(x.alignment, y.alignment);
        }
    pk_result_free(a);
    pk_result_free(b);
    /* a prefix is another question */
    const pk_text prefix = text_of("x");
    ASSERT_OK(pk_translate(w.t, text, 1, PK_OPTIONS(pk_call_options, .prefix = &prefix), &a));
    pk_translator_stats(w.t, &first);
    assert_true(first.passes > second.passes);
    pk_result_free(a);
    close_both(&w);
}

static void a_small_cache_forgets(void **state) {
    opened   w = open_both(TINY_MODEL, PK_OPTIONS(pk_translator_options, .cache_bytes = 4096));
    pk_stats stats;
    (void)state;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 40; i++) {
            static const char *const word[] = {
                "cat", "dog", "sun", "house", "river", "sea", "man"
            };
            char       line[64];
            pk_result *r;
            snprintf(line, sizeof line, "the %s sees a %s", word[i % 7], word[i / 7]);
            const pk_text text = text_of(line);
            ASSERT_OK(pk_translate(w.t, &text, 1, NULL, &r));
            pk_result_free(r);
        }
    pk_translator_stats(w.t, &stats);
    assert_int_equal(stats.cached + stats.sentences, 120);
    assert_true(stats.sentences > 60);
    close_both(&w);
}

/* ---- tokens ---- */

/* the text's tokens by name, as a tokenizer of the caller's own would give them */
static void name_source(const pk_model *m, const char *text, char *out, size_t size) {
    pk_ids id = { 0 };
    ASSERT_OK(pk_vocab_encode_source(m->vocab, text, strlen(text), &id, NULL));
    for (size_t i = 0; i < id.n; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? " " : "",
                 pk_model_source_token(m, id.id[i]));
    pk_ids_free(&id);
}

static void tokens_go_in_and_out(void **state) {
    opened             w = open_both(TINY_MODEL, NULL);
    char               names[512] = "";
    pk_text            text = text_of(lines[0]);
    pk_result         *plain, *again;
    pk_hypothesis_view x, y;
    (void)state;
    ASSERT_OK(pk_translate(w.t, &text, 1, NULL, &plain));
    ASSERT_OK(pk_result_hypothesis(plain, 0, 0, &x));
    for (int32_t i = 0; i + 1 < x.n_tokens; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "",
                 pk_model_target_token(w.m, x.token[i]));
    char source_names[512] = "";
    name_source(w.m, lines[0], source_names, sizeof source_names);
    const pk_text source = text_of(source_names);
    ASSERT_OK(pk_translate(w.t, &source, 1, PK_OPTIONS(pk_call_options, .tokens = 1), &again));
    ASSERT_OK(pk_result_hypothesis(again, 0, 0, &y));
    assert_int_equal(x.n_tokens, y.n_tokens);
    assert_memory_equal(x.token, y.token, (size_t)x.n_tokens * sizeof *x.token);
    assert_string_equal(y.text, names);
    pk_result_free(plain);
    pk_result_free(again);
    /* no tokens; names that are not in the list; far too many */
    const pk_text odd[] = { text_of(""), text_of("   "), text_of("no-such-token  another ") };
    ASSERT_OK(pk_translate(w.t, odd, 3, PK_OPTIONS(pk_call_options, .tokens = 1), &again));
    assert_string_equal(pk_result_text(again, 0), "");
    assert_string_equal(pk_result_text(again, 1), "");
    pk_result_free(again);
    static char many[20000];
    memset(many, ' ', sizeof many);
    for (size_t i = 0; i < sizeof many; i += 2) many[i] = 'x';
    text = (pk_text){ many, sizeof many };
    assert_int_equal(pk_translate(w.t, &text, 1, PK_OPTIONS(pk_call_options, .tokens = 1), &again),
                     PK_ARGUMENT);
    close_both(&w);
}

/* ---- no memory ---- */

static pk_status translate_twice(void *user) {
    opened        *w = user;
    pk_translator *t;
    pk_text        text[3] = { text_of(lines[0]), text_of(lines[3]), text_of(lines[0]) };
    pk_status      status = pk_translator_open(
             w->m, PK_OPTIONS(pk_translator_options, .threads = 2, .workers = 2, .cache_bytes = 1 << 16),
             &t);
    for (int i = 0; status == PK_OK && i < 2; i++) {
        pk_call   *call;
        pk_result *r;
        status = pk_submit(t, text, 3, NULL, &call);
        if (status == PK_OK) status = pk_call_end(call, &r);
        if (status == PK_OK) pk_result_free(r);
    }
    pk_translator_close(t);
    return status;
}

static void no_memory_is_reported(void **state) {
    opened w;
    (void)state;
    ASSERT_OK(pk_model_open(TINY_MODEL, NULL, &w.m));
    check_every_allocation(translate_twice, &w);
    pk_model_close(w.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_get_what_they_would_alone),
        cmocka_unit_test(a_caller_that_waits_does_the_work),
        cmocka_unit_test(a_cancelled_call_ends_soon),
        cmocka_unit_test(a_late_call_says_so),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(a_short_call_overtakes_a_long_one),
        cmocka_unit_test(sentences_are_found_again),
        cmocka_unit_test(a_small_cache_forgets),
        cmocka_unit_test(tokens_go_in_and_out),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
