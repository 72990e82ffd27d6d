/* markup_submit_test.c - text with markup through pk_submit: many threads at once get what they
 * would have got alone, nobody waits in a callback, and cancelled, late and refused calls end as
 * plain ones do, also between two attempts. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* It has all placeholders; and outputs that are cut off lose them, so that each is tried in turn. The
 * vocabularies of the small models have none. */
#define MODEL "models/en-de.pronk"
enum { SCHEMES = 4 };

static const char *const texts[] = {
    "<p>the <b>cat</b> sees a house</p>",
    "a small <i>dog</i> %s and <a href='x'>https://a.org/</a>. the sun &amp; the {name}.",
    "",
    "<br>",
    "<p>we go to the river</p><p>and we see the old boat {{x}}</p>",
    "good <span translate=no>morning</span>",
};
enum { N_TEXTS = sizeof texts / sizeof *texts, SENTENCES = 6, N_THREADS = 4, ROUNDS = 3 };

typedef struct world {
    opened       on;
    pk_glossary *g;
    const char  *expected[N_TEXTS];
} world;

static world open_world(const pk_translator_options *o) {
    world w = { .on = open_both(MODEL, o) };
    ASSERT_OK(pk_glossary_open(text_of("house\tHaus\n"), &w.g));
    return w;
}

static void close_world(world *w) {
    pk_glossary_close(w->g);
    close_both(&w->on);
}

static const pk_translator_options usual = {
    .size = sizeof usual, .decode = "beam:size=2,max_length=6", .alignment = 1, .threads = 2
};

/* ---- many at once ---- */

/* texts are gone when the call is under way */
static void submit_one(caller *c, size_t i, pk_call **call) {
    const world  *w = c->test;
    char         *copy = strdup(texts[i]);
    const pk_text text = { copy, strlen(copy) };
    expect(c,
           !pk_submit(c->t, &text, 1,
                      PK_OPTIONS(pk_call_options, .format = "html", .glossary = w->g,
                                 .client = (uint64_t)c->number + 1, .done = count_done, .user = c),
                      call));
    memset(copy, '?', strlen(copy));
    free(copy);
}

static void *call_often(void *arg) {
    caller      *c = arg;
    const world *w = c->test;
    for (int round = 0; round < ROUNDS; round++) {
        pk_call *call[N_TEXTS] = { NULL };
        for (size_t i = 0; i < N_TEXTS; i++) submit_one(c, i, &call[i]);
        for (size_t i = 0; i < N_TEXTS; i++) {
            pk_result *r;
            expect(c, !pk_call_end(call[i], &r));
            expect(c, r && !strcmp(pk_result_text(r, 0), w->expected[i]));
            pk_result_free(r);
        }
        expect(c, atomic_load(&c->done) == (round + 1) * N_TEXTS);
    }
    return NULL;
}

static void many_threads_get_what_they_would_alone(void **state) {
    world      w = open_world(&usual);
    pk_result *r[N_TEXTS];
    (void)state;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const pk_text text = text_of(texts[i]);
        ASSERT_OK(pk_translate(w.on.t, &text, 1,
                               PK_OPTIONS(pk_call_options, .format = "html", .glossary = w.g),
                               &r[i]));
        w.expected[i] = pk_result_text(r[i], 0);
    }
    const pk_stats stats = check_callers(N_THREADS, w.on.t, &w, call_often);
    assert_int_equal(stats.texts, N_TEXTS * (1 + N_THREADS * ROUNDS));
    assert_true(stats.sentences > SENTENCES * (1 + N_THREADS * ROUNDS)); /* tried again */
    for (size_t i = 0; i < N_TEXTS; i++) pk_result_free(r[i]);
    close_world(&w);
}

/* plain text too is the call's own once it is submitted */
static void texts_are_not_needed_any_more(void **state) {
    world      w = open_world(&usual);
    char      *copy = strdup("the cat.\n\n  A small dog.  ");
    pk_text    text = { copy, strlen(copy) };
    pk_call   *call;
    pk_result *alone, *r;
    (void)state;
    ASSERT_OK(pk_translate(w.on.t, &text, 1, NULL, &alone));
    ASSERT_OK(pk_submit(w.on.t, &text, 1, NULL, &call));
    memset(copy, '?', strlen(copy));
    free(copy);
    ASSERT_OK(pk_call_end(call, &r));
    assert_string_equal(pk_result_text(alone, 0), pk_result_text(r, 0));
    pk_result_free(alone);
    pk_result_free(r);
    close_world(&w);
}

/* ---- ends before the end ---- */

static const pk_translator_options slow = { .size = sizeof slow,
                                            .decode = "beam:size=4,min_length=12,max_length=12",
                                            .threads = 2,
                                            .batch = 4,
                                            .alignment = 1,
                                            .max_waiting = 10 };

static const char long_sentence[] = "<p>we go to the <b>river</b> and {x} we see the old boat and "
                                    "the old man and the sea and the sun and %s the dog</p>";

static pk_call *submit_long(const world *w, size_t n, double deadline) {
    pk_text  text[LONG];
    pk_call *call;
    repeat_text(long_sentence, text);
    ASSERT_OK(pk_submit(w->on.t, text, n,
                        PK_OPTIONS(pk_call_options, .format = "html", .deadline = deadline),
                        &call));
    return call;
}

static void a_cancelled_call_ends_soon(void **state) {
    world w = open_world(&slow);
    (void)state;
    check_cancelled_soon(submit_long(&w, LONG, 0));
    close_world(&w);
}

/* whatever it is doing, between attempts too: cancelled, or done */
static void a_call_can_be_cancelled_at_any_time(void **state) {
    world w = open_world(&usual);
    int   cancelled = 0;
    (void)state;
    for (useconds_t wait = 0; wait < 20000; wait += 800) {
        pk_result *r;
        pk_call   *call = submit_long(&w, 2, 0);
        usleep(wait);
        pk_call_cancel(call);
        const pk_status status = pk_call_end(call, &r);
        assert_true(status == PK_OK ? r != NULL : status == PK_CANCELLED && !r);
        cancelled += status == PK_CANCELLED;
        pk_result_free(r);
    }
    assert_true(cancelled > 0);
    close_world(&w);
}

static void a_late_call_says_so(void **state) {
    world      w = open_world(&slow);
    pk_result *r;
    (void)state;
    assert_int_equal(pk_call_end(submit_long(&w, LONG, 0.05), &r), PK_LATE);
    assert_non_null(strstr(pk_last_error(), "deadline"));
    const pk_text text = text_of("<b>x</b>");
    pk_call      *call;
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_submit(w.on.t, &text, 1,
                            PK_OPTIONS(pk_call_options, .format = "html", .deadline = -1), &call));
    close_world(&w);
}

/* A call that was taken is not refused half-way: its second attempt comes when another call, which is
 * let in as soon as none waits, has filled the queue. */
static void too_much_is_refused_at_once(void **state) {
    enum { FEW = 12, MORE = 12 };
    world      w = open_world(&slow);
    pk_text    text[LONG];
    pk_call   *other = (pk_call *)&w, *call = submit_long(&w, FEW, 0);
    pk_result *r;
    pk_stats   stats;
    (void)state;
    for (int i = 0; i < MORE; i++) text[i] = text_of("the sun");
    assert_int_equal(
        pk_submit(w.on.t, text, MORE, PK_OPTIONS(pk_call_options, .format = "html"), &other),
        PK_BUSY);
    assert_null(other);
    while (pk_submit(w.on.t, text, MORE, NULL, &other) == PK_BUSY) usleep(50);
    ASSERT_OK(pk_call_end(call, &r));
    pk_result_free(r);
    pk_translator_stats(w.on.t, &stats);
    assert_true(stats.sentences >= FEW * SCHEMES);
    pk_call_cancel(other);
    pk_call_end(other, &r); /* cancelled, or done */
    pk_result_free(r);
    close_world(&w);
}

static void a_short_call_overtakes_a_long_one(void **state) {
    pk_translator_options o = slow;
    pk_text               text[LONG];
    (void)state;
    o.max_waiting = 0;
    world w = open_world(&o);
    repeat_text(long_sentence, text);
    check_overtaken(w.on.t, text, "html");
    close_world(&w);
}

static void wrong_options_are_refused(void **state) {
    world         w = open_world(NULL);
    const pk_text text = text_of("the cat");
    pk_call      *call = (pk_call *)&w;
    (void)state;
    ASSERT_STATUS(PK_ARGUMENT, pk_submit(w.on.t, &text, 1,
                                         PK_OPTIONS(pk_call_options, .format = "html"), &call));
    assert_non_null(strstr(pk_last_error(), "alignment = 1"));
    assert_null(call);
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_submit(w.on.t, &text, 1, PK_OPTIONS(pk_call_options, .format = "pdf"), &call));
    ASSERT_STATUS(PK_ARGUMENT, pk_submit(w.on.t, &(pk_text){ NULL, 3 }, 1, NULL, &call));
    close_world(&w);
}

/* ---- no memory ---- */

static pk_status submit_once(void *user) {
    const world  *w = user;
    const pk_text text = text_of(texts[1]);
    pk_call      *call;
    pk_result    *r = NULL;
    pk_status     status = pk_submit(
            w->on.t, &text, 1, PK_OPTIONS(pk_call_options, .format = "html", .glossary = w->g), &call);
    if (status == PK_OK) status = pk_call_end(call, &r);
    pk_result_free(r);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    world w = open_world(&usual);
    (void)state;
    ASSERT_OK(submit_once(&w)); /* what is loaded late is loaded */
    assert_true(check_every_allocation(submit_once, &w) > 50);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_get_what_they_would_alone),
        cmocka_unit_test(texts_are_not_needed_any_more),
        cmocka_unit_test(a_cancelled_call_ends_soon),
        cmocka_unit_test(a_call_can_be_cancelled_at_any_time),
        cmocka_unit_test(a_late_call_says_so),
        cmocka_unit_test(too_much_is_refused_at_once),
        cmocka_unit_test(a_short_call_overtakes_a_long_one),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
