/* session_contracts_test.c - what a session and its callers promise each other: an assertion stops
 * a caller that breaks it; each key of a recorded graph belongs to one shape. */
#include "session_world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* every part of a key counts, and no part overflows into the next */
static void keys_of_recordings_differ(void **state) {
    enum { TOP_K = (1 << PK_KEY_TOP_K_BITS) - 1, ROWS = (1 << PK_KEY_ROW_BITS) - 1 };
    const uint64_t keys[] = {
        pk_session_key(PK_KEY_ENCODE, 0, 0, 8),
        pk_session_key(PK_KEY_ENCODE, 0, 0, ROWS),
        pk_session_key(PK_KEY_DECODE, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_ATTENTION, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_SUMS, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_STEPS, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_MODEL * 1, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_MODEL * 2, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_MODEL * (PK_MOST_MODELS - 1), 0, 0, 8),
        pk_session_key(PK_KEY_DECODE, 1, 0, 8),
        pk_session_key(PK_KEY_DECODE, TOP_K, 0, 8),
        pk_session_key(PK_KEY_DECODE, 0, 1, 8),
        pk_session_key(PK_KEY_DECODE, 0, ROWS, 8),
        pk_session_key(PK_KEY_DECODE, 0, 0, ROWS),
        pk_session_key(PK_KEY_DECODE, 0, 0, 9),
    };
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t j = 0; j < i; j++) assert_true(keys[i] != keys[j]);
}

static void limits_without_a_key_are_refused(void **state) {
    world w;
    (void)state;
    open_world(&w, &kinds[0]);
    pk_session_limits large[] = { limits, limits, limits };
    large[0].asks = 1 << PK_KEY_ROW_BITS;
    large[1].encode_tokens = 1 << PK_KEY_ROW_BITS;
    large[2].top_k = 1 << PK_KEY_TOP_K_BITS;
    for (int i = 0; i < 3; i++) {
        pk_session *s;
        ASSERT_STATUS(PK_ARGUMENT, pk_session_open(&w.tiny.net, &w.on, &large[i], &s));
        assert_null(s);
    }
    close_world(&w);
}

/* ---- contracts: an assertion stops a caller that breaks one ---- */

static void run_again_without_a_verdict(world *w, int32_t id) {
    pk_candidate out[2];
    run_chain(w, id, words, 1, 0, out);
    run_chain(w, id, words, 1, 0, out);
}

static void commit_twice(world *w, int32_t id) {
    pk_candidate out[2];
    run_chain(w, id, words, 1, 0, out);
    keep_and_commit(w, id, 1);
    keep_and_commit(w, id, 0);
}

static void keep_an_ask_there_is_not(world *w, int32_t id) {
    pk_candidate out[2];
    run_chain(w, id, words, 1, 0, out);
    keep_and_commit(w, id, 2);
}

static void keep_a_hypothesis_there_is_not(world *w, int32_t id) {
    pk_candidate out[2];
    run_chain(w, id, words, 1, 0, out);
    keep_and_commit(w, id, -2);
}

static void ask_twice_for_a_sentence(world *w, int32_t id) {
    pk_pass p = new_pass(w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1 });
    const pk_request twice[] = { { id, &p }, { id, &p } };
    ASSERT_OK(pk_session_decode(w->s, twice, 2));
}

static void add_too_many_asks(world *w, int32_t id) {
    pk_pass p = new_pass(w);
    (void)id;
    for (int i = 0; i <= p.room; i++) pk_ask_add(&p, (pk_ask){ .token = 4 });
}

static void broken_contracts_are_caught(void **state) {
    static void (*const breaks[])(world * w, int32_t id) = {
        run_again_without_a_verdict, commit_twice,
        keep_an_ask_there_is_not,    keep_a_hypothesis_there_is_not,
        ask_twice_for_a_sentence,    add_too_many_asks,
    };
    world   w;
    int32_t id;
    (void)state;
#ifdef NDEBUG
    skip();
#endif
    open_world(&w, &kinds[0]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        int status = 0;
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            if (!freopen("/dev/null", "w", stderr)) _exit(1); /* what assert() prints */
            breaks[i](&w, id);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    pk_session_forget(w.s, id);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_recordings_differ),
        cmocka_unit_test(limits_without_a_key_are_refused),
        cmocka_unit_test(broken_contracts_are_caught),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
