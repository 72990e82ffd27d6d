/* session_test.c - the laws of a session, on random networks, for every backend and type:
 * alone = in a batch, one pass of a block = single steps, a pass is a question, every slot returns.
 * "Equal" is bitwise throughout. */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
                                          .rows = 4,
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

static int find_kinds(void **state) {
    pk_backend on;
    (void)state;
    n_kinds = pk_backend_open("cuda", 1, PK_F16, &on) == PK_OK ? N_ALL_KINDS : N_HOST_KINDS;
    pk_backend_close(&on);
    return 0;
}

static pk_status open_backend(const kind *k, pk_backend *out) {
    return backend_open(k->backend, k->threads, k->arithmetic, out);
}

static void open_world(world *w, const kind *k) {
    const pk_config c = tiny_config();
    memset(w, 0, sizeof *w);
    w->kind = k;
    ASSERT_OK(tiny_network_open(&c, k->type, 7, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &limits, &w->s));
}

static void close_world(world *w) {
    assert_int_equal(pk_session_free_slots(w->s), limits.slots); /* nothing leaks */
    assert_int_equal(pk_session_free_source(w->s), limits.source_tokens);
    assert_int_equal(pk_session_free_sentences(w->s), limits.sentences);
    pk_session_close(w->s);
    pk_backend_close(&w->on);
    tiny_network_close(&w->tiny);
}

static pk_pass new_pass(world *w) {
    return (pk_pass){ .room = 15, .ask = w->ask, .answer = w->answer };
}

static void keep_and_commit(world *w, int32_t sentence, int32_t tip) {
    pk_verdict v = { .room = 8, .tip = w->tips };
    pk_keep(&v, tip);
    pk_session_commit(w->s, sentence, &v);
}

/* runs one chain of tokens from the tip; copies the best two candidates of every ask */
static void run_chain(world *w, int32_t sentence, const int32_t *token, int32_t n, int32_t pos,
                      pk_candidate *out) {
    pk_pass p = new_pass(w);
    for (int32_t i = 0, at = 0; i < n; i++)
        at = pk_ask_add(
            &p,
            (pk_ask){ .token = token[i], .pos = pos + i, .parent = at, .top_k = 2, .logp = true });
    ASSERT_OK(pk_session_run(w->s, &(pk_request){ sentence, &p }, 1));
    for (int32_t i = 0; i < n; i++) memcpy(out + 2 * i, w->answer[i + 1].top, 2 * sizeof *out);
}

/* the pass was only a question: the sentence's one row stays as it was */
static void keep_as_it_was(world *w, int32_t sentence) {
    pk_verdict v = { .room = 8, .tip = w->tips };
    pk_keep_row(&v, 0);
    pk_session_commit(w->s, sentence, &v);
}

static void ask_chain(world *w, int32_t sentence, const int32_t *token, int32_t n,
                      pk_candidate *out) {
    run_chain(w, sentence, token, n, 0, out);
    keep_as_it_was(w, sentence);
}

static const int32_t words[] = { PK_NO_TOKEN, 12, 30, 4, 18, 25, 6, 39 };
enum { N_WORDS = 8 };

static void a_block_equals_steps_and_a_pass_is_a_question(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id;
        pk_candidate block[2 * N_WORDS], again[2 * N_WORDS], step[2 * N_WORDS];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        ask_chain(&w, id, words, N_WORDS, block);
        ask_chain(&w, id, words, N_WORDS, again);
        assert_memory_equal(block, again, sizeof block);
        for (int32_t i = 0; i < N_WORDS; i++) {
            run_chain(&w, id, words + i, 1, i, step + 2 * i);
            keep_and_commit(&w, id, 1);
        }
        assert_memory_equal(block, step, sizeof block);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

static void alone_equals_batched(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id[3];
        pk_candidate alone[3][2 * 4];
        open_world(&w, &kinds[k]);
        for (int i = 0; i < 3; i++) {
            ASSERT_OK(pk_session_encode(w.s, &sources[i], 1, &id[0]));
            run_chain(&w, id[0], words, 2 + i % 3, 0, alone[i]);
            pk_session_forget(w.s, id[0]);
        }
        ASSERT_OK(pk_session_encode(w.s, sources, 3, id));
        pk_ask     ask[3][6];
        pk_answer  answer[3][6];
        pk_pass    pass[3];
        pk_request request[3];
        for (int i = 0; i < 3; i++) {
            pass[i] = (pk_pass){ .room = 5, .ask = ask[i], .answer = answer[i] };
            for (int32_t j = 0, at = 0; j < 2 + i % 3; j++)
                at = pk_ask_add(
                    &pass[i],
                    (pk_ask){
                        .token = words[j], .pos = j, .parent = at, .top_k = 2, .logp = true });
            request[i] = (pk_request){ id[i], &pass[i] };
        }
        ASSERT_OK(pk_session_run(w.s, request, 3));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2 + i % 3; j++)
                assert_memory_equal(answer[i][j + 1].top, &alone[i][2 * j],
                                    2 * sizeof(pk_candidate));
        for (int i = 0; i < 3; i++) pk_session_forget(w.s, id[i]);
        close_world(&w);
    }
}

/* sentences come while others are half done, even while a pass waits for its verdict: neither
 * disturbs the other */
static void encoding_between_passes_changes_nothing(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      first, second;
        pk_candidate block[2 * 4], step[2 * 4], other[2 * 4];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, &sources[0], 1, &first));
        ask_chain(&w, first, words, 4, block);
        for (int32_t i = 0; i < 4; i++) {
            run_chain(&w, first, words + i, 1, i, step + 2 * i);
            if (i < 2) keep_and_commit(&w, first, 1);
            ASSERT_OK(pk_session_encode(w.s, &sources[1 + i % 2], 1, &second));
            if (i >= 2) keep_and_commit(&w, first, 1);
            run_chain(&w, second, words, 4, 0, other);
            if (i % 2) keep_and_commit(&w, second, 4);
            pk_session_forget(w.s, second);
        }
        assert_memory_equal(block, step, sizeof block);
        pk_session_forget(w.s, first);
        close_world(&w);
    }
}

/* beam-like rows: two histories that share a prefix, one dropped, one doubled */
static void rows_share_their_past(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id;
        pk_candidate chain[2 * 3], row[2 * 3];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, &sources[2], 1, &id));
        const int32_t path[] = { PK_NO_TOKEN, 9, 31 };
        ask_chain(&w, id, path, 3, chain);
        run_chain(&w, id, path, 1, 0, row);
        pk_verdict v = { .room = 8, .tip = w.tips };
        pk_keep(&v, 1), pk_keep(&v, 1);
        pk_session_commit(w.s, id, &v);
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .row = 0, .token = 22, .pos = 1, .top_k = 2, .logp = true });
        pk_ask_add(&p, (pk_ask){ .row = 1, .token = 9, .pos = 1, .top_k = 2, .logp = true });
        ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
        assert_memory_equal(w.answer[2].top, &chain[2], 2 * sizeof *chain);
        v.n_rows = 0;
        pk_keep(&v, 2), pk_keep(&v, 1), pk_keep_row(&v, 0), pk_keep_empty(&v);
        pk_session_commit(w.s, id, &v);
        assert_int_equal(pk_session_free_slots(w.s), limits.slots - 3);
        p.n = 0;
        pk_ask_add(&p, (pk_ask){ .row = 0, .token = 31, .pos = 2, .top_k = 2, .logp = true });
        pk_ask_add(
            &p, (pk_ask){ .row = 1, .token = 9, .pos = 1, .parent = -1, .top_k = 2, .logp = true });
        pk_ask_add(&p,
                   (pk_ask){ .row = 3, .token = PK_NO_TOKEN, .pos = 0, .top_k = 2, .logp = true });
        ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
        assert_memory_equal(w.answer[1].top, &chain[4], 2 * sizeof *chain);
        assert_memory_equal(w.answer[2].top, &chain[2], 2 * sizeof *chain); /* one token back */
        assert_memory_equal(w.answer[3].top, &chain[0], 2 * sizeof *chain); /* from the start */
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* a trie of hypotheses in one pass gives each what it gets alone */
static void a_tree_equals_its_branches(void **state) {
    world        w;
    int32_t      id;
    pk_candidate left[2 * 3], right[2 * 3];
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    const int32_t a[] = { PK_NO_TOKEN, 3, 8 }, b[] = { PK_NO_TOKEN, 5, 8 };
    ask_chain(&w, id, a, 3, left);
    ask_chain(&w, id, b, 3, right);
    pk_pass       p = new_pass(&w);
    const int32_t root = pk_ask_add(&p, (pk_ask){ .token = PK_NO_TOKEN, .top_k = 2, .logp = true });
    const int32_t x =
        pk_ask_add(&p, (pk_ask){ .token = 3, .pos = 1, .parent = root, .top_k = 2, .logp = true });
    const int32_t y =
        pk_ask_add(&p, (pk_ask){ .token = 5, .pos = 1, .parent = root, .top_k = 2, .logp = true });
    pk_ask_add(&p, (pk_ask){ .token = 8, .pos = 2, .parent = x, .top_k = 2, .logp = true });
    const int32_t tip =
        pk_ask_add(&p, (pk_ask){ .token = 8, .pos = 2, .parent = y, .top_k = 2, .logp = true });
    ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    assert_memory_equal(w.answer[4].top, &left[4], 2 * sizeof *left);
    assert_memory_equal(w.answer[5].top, &right[4], 2 * sizeof *right);
    keep_and_commit(&w, id, tip);
    assert_int_equal(pk_session_free_slots(w.s), limits.slots - 3); /* root, y, tip */
    pk_session_forget(w.s, id);
    close_world(&w);
}

/* see_all: the order of the tokens' asks decides nothing but positions; causal differs */
static void see_all_looks_ahead(void **state) {
    world        w;
    int32_t      id;
    pk_candidate causal[2 * 3];
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    const int32_t a[] = { 12, 3, 8 };
    ask_chain(&w, id, a, 3, causal);
    pk_pass p = new_pass(&w);
    p.see_all = true;
    for (int32_t i = 0, at = 0; i < 3; i++)
        at = pk_ask_add(
            &p, (pk_ask){ .token = a[i], .pos = i, .parent = at, .top_k = 2, .logp = true });
    ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    assert_true(w.answer[1].top[0].logp != causal[0].logp); /* the first sees the others now */
    for (int i = 0; i < 3; i++) assert_int_equal(w.s->count[i], 3);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void bans_targets_and_log_sums_fit_together(void **state) {
    world   w;
    int32_t id, all[40], ban[2];
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    for (int32_t i = 0; i < 40; i++) all[i] = i;
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 3, .logp = true, .target = all, .n_target = 40 });
    ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    double sum = 0;
    for (int i = 0; i < 40; i++) sum += __builtin_exp((double)w.answer[1].target_logp[i]);
    assert_true(sum > 0.9999 && sum < 1.0001);
    ban[0] = w.answer[1].top[0].token, ban[1] = w.answer[1].top[2].token;
    const pk_candidate second = w.answer[1].top[1];
    assert_true(w.answer[1].target_logp[second.token] == second.logp);
    const float log_sum = w.answer[1].log_sum;
    keep_as_it_was(&w, id);
    p.n = 0;
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1, .logp = true, .ban = ban, .n_ban = 2 });
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1 });
    ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    assert_memory_equal(w.answer[1].top, &second, sizeof second);
    assert_int_equal(w.answer[2].top[0].token, ban[0]);
    assert_true(w.answer[1].log_sum == log_sum && w.answer[2].log_sum == 0);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void attention_is_told_where_it_was_asked(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1, .attention = true });
    pk_ask_add(&p, (pk_ask){ .token = 4, .pos = 1, .parent = 1, .top_k = 1 });
    pk_ask_add(&p, (pk_ask){ .token = 5, .pos = 2, .parent = 2, .attention = true });
    ASSERT_OK(pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    for (int ask = 1; ask <= 3; ask += 2) { /* also where nothing else was asked for */
        float sum = 0;
        for (int i = 0; i < 7; i++) sum += w.answer[ask].attention[i];
        assert_true(sum > 0.9999f && sum < 1.0001f);
    }
    assert_null(w.answer[2].attention);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void asks_out_of_range_are_refused_and_nothing_is_lost(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_world(&w, &kinds[0]);
    const pk_sentence_tokens too_long = { words, 21 }, empty = { words, 0 };
    ASSERT_STATUS(PK_ARGUMENT, pk_session_encode(w.s, &too_long, 1, &id));
    ASSERT_STATUS(PK_ARGUMENT, pk_session_encode(w.s, &empty, 1, &id));
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    const pk_ask bad[] = { { .token = 40 }, { .token = -2 }, { .pos = 48 }, { .pos = -1 },
                           { .row = 1 },    { .parent = 1 }, { .top_k = 5 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, bad[i]);
        ASSERT_STATUS(PK_ARGUMENT, pk_session_run(w.s, &(pk_request){ id, &p }, 1));
    }
    pk_session_forget(w.s, id);
    close_world(&w);
}

/* what a recording is of: every part counts, none runs into the next */
static void keys_of_recordings_differ(void **state) {
    enum { TOP_K = (1 << PK_KEY_TOP_K_BITS) - 1, ROWS = (1 << PK_KEY_ROW_BITS) - 1 };
    const uint64_t keys[] = {
        pk_session_key(PK_KEY_ENCODE, 0, 0, 8),
        pk_session_key(PK_KEY_ENCODE, 0, 0, ROWS),
        pk_session_key(PK_KEY_DECODE, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_TOLD, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_SUMS, 0, 0, 8),
        pk_session_key(PK_KEY_DECODE | PK_KEY_STEPS, 0, 0, 8),
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

/* ---- contracts: who breaks one is stopped, while assertions are on ---- */

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

static void keep_a_row_there_is_not(world *w, int32_t id) {
    pk_candidate out[2];
    run_chain(w, id, words, 1, 0, out);
    keep_and_commit(w, id, -2);
}

static void ask_twice_for_a_sentence(world *w, int32_t id) {
    pk_pass p = new_pass(w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1 });
    const pk_request twice[] = { { id, &p }, { id, &p } };
    ASSERT_OK(pk_session_run(w->s, twice, 2));
}

static void add_too_many_asks(world *w, int32_t id) {
    pk_pass p = new_pass(w);
    (void)id;
    for (int i = 0; i <= p.room; i++) pk_ask_add(&p, (pk_ask){ .token = 4 });
}

static void broken_contracts_are_caught(void **state) {
    static void (*const breaks[])(world * w, int32_t id) = {
        run_again_without_a_verdict, commit_twice,
        keep_an_ask_there_is_not,    keep_a_row_there_is_not,
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

static void a_pass_allocates_nothing(void **state) {
    (void)state;
    /* a GPU's passes are recorded when a shape comes again */
    for (int k = 0; k < N_HOST_KINDS; k++) {
        world        w;
        int32_t      id;
        pk_candidate out[2 * N_WORDS];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        const int64_t count = pk_memory_count();
        run_chain(&w, id, words, N_WORDS, 0, out);
        keep_and_commit(&w, id, 3);
        assert_int_equal(pk_memory_count(), count);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* greedy by hand: one step at a time, or left to the session */
static int32_t greedy_by_hand(world *w, int32_t id, int32_t steps, pk_candidate *out) {
    int32_t token = PK_NO_TOKEN, n = 0;
    while (n < steps && (n == 0 || token != 0)) {
        pk_pass p = new_pass(w);
        pk_ask_add(&p, (pk_ask){ .token = token, .pos = n, .top_k = 1, .logp = true });
        ASSERT_OK(pk_session_run(w->s, &(pk_request){ id, &p }, 1));
        out[n] = w->answer[1].top[0];
        token = out[n++].token;
        keep_and_commit(w, id, 1);
    }
    return n;
}

/* several sentences follow together, each as far as it would go alone; then they go on from there
 */
static void following_equals_steps(void **state) {
    enum { FIRST = 5, ALL = 12 };
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id[3], n[3];
        pk_candidate steps[3][ALL];
        pk_ask       ask[3][2];
        pk_answer    answer[3][2];
        pk_pass      pass[3];
        pk_request   request[3];
        open_world(&w, &kinds[k]);
        w.on.follow = 8;
        for (int i = 0; i < 3; i++) {
            ASSERT_OK(pk_session_encode(w.s, &sources[i], 1, &id[0]));
            n[i] = greedy_by_hand(&w, id[0], ALL, steps[i]);
            pk_session_forget(w.s, id[0]);
        }
        ASSERT_OK(pk_session_encode(w.s, sources, 3, id));
        for (int i = 0; i < 3; i++) {
            pass[i] = (pk_pass){ .room = 1, .ask = ask[i], .answer = answer[i] };
            pk_ask_add(
                &pass[i],
                (pk_ask){ .token = PK_NO_TOKEN, .top_k = 1, .logp = true, .follow = FIRST + i });
            request[i] = (pk_request){ id[i], &pass[i] };
        }
        ASSERT_OK(pk_session_run(w.s, request, 3));
        for (int i = 0; i < 3; i++) {
            const int32_t expected = n[i] < FIRST + i ? n[i] : FIRST + i;
            assert_int_equal(answer[i][1].n_found, expected);
            assert_memory_equal(answer[i][1].found, steps[i], (size_t)expected * sizeof **steps);
            keep_and_commit(&w, id[i], 1);
        }
        for (int i = 0; i < 3; i++) { /* what was fed is remembered: the next step is the same */
            const int32_t at = FIRST + i;
            if (n[i] > at) {
                pk_candidate next[2];
                run_chain(&w, id[i], &steps[i][at - 1].token, 1, at, next);
                assert_memory_equal(next, &steps[i][at], sizeof *next);
            }
            pk_session_forget(w.s, id[i]);
        }
        close_world(&w); /* no slot of an untaken step is lost */
    }
}

static pk_status open_and_close(void *user) {
    world      *w = user;
    pk_session *s = NULL;
    pk_backend  on;
    PK_TRY(open_backend(w->kind, &on));
    const pk_status status = pk_session_open(&w->tiny.net, &on, &limits, &s);
    pk_session_close(s);
    pk_backend_close(&on);
    return status;
}

static void opening_survives_every_failed_allocation(void **state) {
    world w;
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        open_world(&w, &kinds[k]);
        assert_true(check_every_allocation(open_and_close, &w) > 20);
        close_world(&w);
    }
}

/* a device gives its memory in one piece, exactly what is needed, or says so before anything else
 */
static void a_device_is_asked_for_memory_once(void **state) {
    const pk_config c = tiny_config();
    tiny_network    tiny;
    pk_backend      on;
    pk_session     *s;
    (void)state;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &tiny));
    ASSERT_OK(far_open(&on));
    ASSERT_OK(pk_session_open(&tiny.net, &on, &limits, &s));
    const size_t bytes = (size_t)on.held(on.self);
    assert_true(bytes > 10000);
    assert_int_equal(far_left(&on), 0);
    pk_session_close(s);
    pk_backend_close(&on);

    ASSERT_OK(far_open_small(bytes - 1, &on));
    assert_int_equal(pk_session_open(&tiny.net, &on, &limits, &s), PK_NO_MEMORY);
    assert_null(s);
    assert_int_equal(on.held(on.self), 0);
    pk_backend_close(&on);
    tiny_network_close(&tiny);
}

/* what the GPU took when it was told what to expect is all it ever takes */
static pk_status (*expect_on_gpu)(void *self, const pk_backend *stand_in);
static uint64_t held_then;

static pk_status expect_and_note(void *self, const pk_backend *stand_in) {
    const pk_status status = expect_on_gpu(self, stand_in);
    held_then = stand_in->held(stand_in->self);
    return status;
}

static void a_gpu_is_asked_for_memory_once(void **state) {
    const pk_config c = tiny_config();
    (void)state;
    if (n_kinds == N_HOST_KINDS) skip();
    for (int k = N_HOST_KINDS; k < n_kinds; k++) {
        tiny_network tiny;
        pk_backend   on;
        pk_session  *s;
        ASSERT_OK(tiny_network_open(&c, kinds[k].type, 7, &tiny));
        ASSERT_OK(open_backend(&kinds[k], &on));
        expect_on_gpu = on.expect;
        on.expect = expect_and_note;
        ASSERT_OK(pk_session_open(&tiny.net, &on, &limits, &s));
        assert_true(held_then > 10000);
        assert_int_equal(on.held(on.self), held_then);
        pk_session_close(s);
        pk_backend_close(&on);
        tiny_network_close(&tiny);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_equals_steps_and_a_pass_is_a_question),
        cmocka_unit_test(alone_equals_batched),
        cmocka_unit_test(encoding_between_passes_changes_nothing),
        cmocka_unit_test(rows_share_their_past),
        cmocka_unit_test(a_tree_equals_its_branches),
        cmocka_unit_test(see_all_looks_ahead),
        cmocka_unit_test(bans_targets_and_log_sums_fit_together),
        cmocka_unit_test(attention_is_told_where_it_was_asked),
        cmocka_unit_test(asks_out_of_range_are_refused_and_nothing_is_lost),
        cmocka_unit_test(keys_of_recordings_differ),
        cmocka_unit_test(limits_without_a_key_are_refused),
        cmocka_unit_test(broken_contracts_are_caught),
        cmocka_unit_test(a_pass_allocates_nothing),
        cmocka_unit_test(following_equals_steps),
        cmocka_unit_test(opening_survives_every_failed_allocation),
        cmocka_unit_test(a_device_is_asked_for_memory_once),
        cmocka_unit_test(a_gpu_is_asked_for_memory_once),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
