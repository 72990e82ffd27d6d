/* calls.h - calls that do not wait, plain or with markup: many threads at once, a call that takes as long as is
 * wanted, and what becomes of it. For tests of pk_submit. */
#ifndef PK_TESTS_CALLS_H
#define PK_TESTS_CALLS_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "tiny_translator.h"

/* ---- many at once ---- */

typedef struct caller {
    pk_translator *t;
    const void    *test;   /* what else the test has for it */
    int            number; /* from 0 */
    atomic_int     done;   /* calls that said so */
    atomic_int     wrong;
} caller;

static inline void count_done(void *user) { atomic_fetch_add(&((caller *)user)->done, 1); }

/* asserts of cmocka belong to the main thread: others count what is wrong */
static inline void expect(caller *c, bool right) { atomic_fetch_add(&c->wrong, !right); }

/* each thread is given a caller; nothing may be wrong, and in the end nothing waits */
static inline pk_stats check_callers(int n, pk_translator *t, const void *test,
                                     void *(*call)(void *caller)) {
    enum { MOST_CALLERS = 8 };
    caller    c[MOST_CALLERS];
    pthread_t thread[MOST_CALLERS];
    pk_stats  stats;
    assert_in_range(n, 1, MOST_CALLERS);
    for (int i = 0; i < n; i++) {
        c[i] = (caller){ .t = t, .test = test, .number = i };
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].wrong, 0);
    }
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.waiting, 0);
    return stats;
}

/* ---- ends before the end ---- */

enum { LONG = 200 }; /* texts of a call that takes long */

static inline void repeat_text(const char *sentence, pk_text *text) {
    for (int i = 0; i < LONG; i++) text[i] = text_of(sentence);
}

/* a call that was just submitted is cancelled, and ended */
static inline void check_cancelled_soon(pk_call *call) {
    pk_result *r = (pk_result *)call;
    usleep(20000); /* some are being decoded */
    const double since = pk_clock_now();
    pk_call_cancel(call);
    assert_int_equal(pk_call_end(call, &r), PK_CANCELLED);
    assert_null(r);
    assert_true(pk_clock_now() - since < 5);
}

/* a client with one sentence does not wait for the whole of another's LONG texts; format: of all */
static inline void check_overtaken(pk_translator *t, const pk_text *text, const char *format) {
    pk_call   *large, *small;
    pk_result *r;
    pk_stats   stats;
    ASSERT_OK(pk_submit(t, text, LONG, PK_OPTIONS(pk_call_options, .format = format, .client = 1),
                        &large));
    ASSERT_OK(
        pk_submit(t, text, 1, PK_OPTIONS(pk_call_options, .format = format, .client = 2), &small));
    ASSERT_OK(pk_call_end(small, &r));
    pk_translator_stats(t, &stats);
    assert_true(stats.waiting > LONG / 2);
    pk_result_free(r);
    pk_call_cancel(large);
    assert_int_equal(pk_call_end(large, &r), PK_CANCELLED);
}
#endif
