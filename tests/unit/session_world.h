/* session_world.h - one random network and one session on it, for every backend and type: what the
 * tests of a session's laws share. */
#ifndef PK_TESTS_SESSION_WORLD_H
#define PK_TESTS_SESSION_WORLD_H
#include "check.h"

#include <string.h>

#include "backend/list.h"
#include "far.h"
#include "session/session.h"
#include "session/session_parts.h"
#include "tiny_network.h"

typedef struct kind {
    const char *backend;
    pk_dtype    type; /* of the weights */
    int32_t     threads;
    pk_dtype    arithmetic;
} kind;

typedef struct world { /* one network, one session */
    const kind  *kind;
    tiny_network tiny;
    pk_backend   on;
    pk_session  *s;
    pk_ask       ask[16];
    pk_answer    answer[16];
    int32_t      tips[8];
} world;

static const pk_session_limits limits = { .sentences = 4,
                                          .source_tokens = 64,
                                          .source_length = 20,
                                          .encode_tokens = 64,
                                          .hypotheses = 4,
                                          .asks = 32,
                                          .slots = 96,
                                          .path = 48,
                                          .top_k = 4,
                                          .listed = 600 };
static const int32_t           source_a[] = { 5, 9, 11, 3, 27, 8, 0 }, source_b[] = { 33, 2, 0 },
                     source_c[] = { 7, 7, 21, 14, 1, 0 };
static const pk_sentence_tokens sources[] = { { source_a, 7 }, { source_b, 3 }, { source_c, 6 } };

static const kind kinds[] = {
    { "ref", PK_F32, 1, PK_F32 },  { "cpu", PK_F32, 1, PK_F32 },  { "cpu", PK_F32, 2, PK_F32 },
    { "cpu", PK_F16, 1, PK_F32 },  { "ref", PK_I8, 1, PK_F32 },   { "cpu", PK_I8, 1, PK_F32 },
    { "cpu", PK_I8, 2, PK_F32 },   { "far", PK_F32, 1, PK_F32 },  { "far", PK_I8, 1, PK_F32 },
    { "cuda", PK_F32, 1, PK_F32 }, { "cuda", PK_F16, 1, PK_F16 }, { "cuda", PK_F32, 1, PK_BF16 },
    { "cuda", PK_I8, 1, PK_F16 },
};
enum { N_HOST_KINDS = 9, N_ALL_KINDS = sizeof kinds / sizeof *kinds };
static int n_kinds; /* those of the host, and the GPU's where there is one */

static inline int find_kinds(void **state) {
    pk_backend on;
    (void)state;
    n_kinds = pk_backend_open("cuda", 1, PK_F16, &on) == PK_OK ? N_ALL_KINDS : N_HOST_KINDS;
    pk_backend_close(&on);
    return 0;
}

static inline pk_status open_backend(const kind *k, pk_backend *out) {
    return backend_open(k->backend, k->threads, k->arithmetic, out);
}

static inline void open_world(world *w, const kind *k) {
    const pk_config c = tiny_config();
    memset(w, 0, sizeof *w);
    w->kind = k;
    ASSERT_OK(tiny_network_open(&c, k->type, 7, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &limits, &w->s));
}

static inline void close_world(world *w) {
    assert_int_equal(pk_session_free_slots(w->s), limits.slots); /* nothing leaks */
    assert_int_equal(pk_session_free_source(w->s), limits.source_tokens);
    assert_int_equal(pk_session_free_sentences(w->s), limits.sentences);
    pk_session_close(w->s);
    pk_backend_close(&w->on);
    tiny_network_close(&w->tiny);
}

static inline pk_pass new_pass(world *w) {
    return (pk_pass){ .room = 15, .ask = w->ask, .answer = w->answer };
}

static inline void keep_and_commit(world *w, int32_t sentence, int32_t tip) {
    pk_verdict v = { .room = 8, .tip = w->tips };
    pk_keep(&v, tip);
    pk_session_commit(w->s, sentence, &v);
}

/* decodes one chain of tokens behind the tip; copies the best two candidates of every ask */
static inline void run_chain(world *w, int32_t sentence, const int32_t *token, int32_t n,
                             int32_t pos, pk_candidate *out) {
    pk_pass p = new_pass(w);
    for (int32_t i = 0, at = 0; i < n; i++)
        at = pk_ask_add(
            &p,
            (pk_ask){ .token = token[i], .pos = pos + i, .parent = at, .top_k = 2, .logp = true });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ sentence, &p }, 1));
    for (int32_t i = 0; i < n; i++) memcpy(out + 2 * i, w->answer[i + 1].top, 2 * sizeof *out);
}

/* the pass was only a question: the sentence's one hypothesis stays as it was */
static inline void keep_as_it_was(world *w, int32_t sentence) {
    pk_verdict v = { .room = 8, .tip = w->tips };
    pk_keep_hypothesis(&v, 0);
    pk_session_commit(w->s, sentence, &v);
}

static inline void ask_chain(world *w, int32_t sentence, const int32_t *token, int32_t n,
                             pk_candidate *out) {
    run_chain(w, sentence, token, n, 0, out);
    keep_as_it_was(w, sentence);
}

static const int32_t words[] = { PK_NO_TOKEN, 12, 30, 4, 18, 25, 6, 39 };
enum { N_WORDS = 8 };
#endif
