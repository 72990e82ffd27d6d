/* pairs_test.c - two tokens a step on random networks, for every backend and type: a sentence alone
 * or among others, step by step or followed on the device, with any number of threads, gives the
 * same tokens, log-probabilities and scores; "the same" is bitwise. A beam of one is greedy. */
#include "session_world.h"

#include "decode/strategy.h"

enum { N_SENTENCES = 3, N_BEST = 3, MOST = 15, ROOM = 16 };

static const pk_session_limits roomy = { .sentences = 4,
                                         .source_tokens = 64,
                                         .source_length = 20,
                                         .encode_tokens = 64,
                                         .hypotheses = 4,
                                         .asks = 64,
                                         .slots = 400,
                                         .path = 64,
                                         .top_k = 12,
                                         .listed = 2000 };

typedef struct setting {
    const char *spec, *tasks;
    int32_t     n_best, follow;
    bool        scores;
} setting;

typedef struct found { /* all bytes are set, so that two can be compared whole */
    int32_t n, length[N_BEST], token[N_BEST][MOST];
    float   logp[N_BEST][MOST], score[N_BEST];
} found;

typedef struct live { /* one sentence being decoded */
    const pk_strategy *by;
    void              *state;
    int32_t            id, tip[4];
    bool               done;
    pk_ask             ask[ROOM];
    pk_answer          answer[ROOM];
    pk_pass            pass;
} live;

typedef struct place { /* a network, a session on it, and what strategies know of it */
    tiny_network   tiny;
    pk_backend     on;
    pk_session    *s;
    pk_conventions model;
} place;

static void open_place(place *p, const kind *k) {
    pk_config c = tiny_config();
    *p = (place){ 0 };
    ASSERT_OK(tiny_network_open(&c, k->type, 11, &p->tiny));
    ASSERT_OK(open_backend(k, &p->on));
    ASSERT_OK(pk_session_open(&p->tiny.net, &p->on, &roomy, &p->s));
    p->model = (pk_conventions){ .vocab = c.target_vocab,
                                 .start = c.start,
                                 .eos = c.eos,
                                 .unk = c.unk,
                                 .max_positions = c.max_target,
                                 .suppressed = c.suppressed,
                                 .n_suppressed = c.n_suppressed,
                                 .length_penalty = 1 };
}

static void close_place(place *p) {
    assert_int_equal(pk_session_free_slots(p->s), roomy.slots); /* nothing leaks */
    pk_session_close(p->s);
    pk_backend_close(&p->on);
    tiny_network_close(&p->tiny);
}

static void begin(place *p, const setting *set, int32_t sentence, live *l) {
    const pk_source src = { .model = &p->model,
                            .n_tokens = sources[sentence].n,
                            .token = sources[sentence].token,
                            .max_length = MOST,
                            .n_best = set->n_best,
                            .want_scores = set->scores };
    memset(l, 0, sizeof *l);
    p->model.tasks = set->tasks;
    ASSERT_OK(pk_session_encode(p->s, &sources[sentence], 1, &l->id));
    ASSERT_OK(pk_strategy_parse(set->spec, &l->by, &l->state));
    ASSERT_OK(l->by->begin(l->by, l->state, &src));
}

static void absorb(place *p, live *l) {
    pk_verdict v = { .room = 4, .tip = l->tip };
    l->by->absorb(l->state, &l->pass, &v);
    pk_session_commit(p->s, l->id, &v);
    l->done = v.done;
}

static void finish(place *p, live *l, found *out) {
    pk_hypothesis h[N_BEST];
    memset(out, 0, sizeof *out);
    out->n = l->by->result(l->state, h, N_BEST);
    for (int32_t i = 0; i < out->n; i++) {
        const size_t n = (size_t)h[i].n;
        assert_true(h[i].n <= MOST);
        out->length[i] = h[i].n;
        out->score[i] = h[i].score;
        memcpy(out->token[i], h[i].token, n * sizeof *h[i].token);
        memcpy(out->logp[i], h[i].logp, n * sizeof *h[i].logp);
    }
    l->by->end(l->state);
    pk_memory_give(l->state);
    pk_session_forget(p->s, l->id);
}

/* sentences first .. first + n - 1 together; returns the passes that were made */
static int32_t decode(place *p, const setting *set, int32_t first, int32_t n, found *out) {
    static live l[N_SENTENCES];
    int32_t     passes = 0;
    for (int32_t i = 0; i < n; i++) begin(p, set, first + i, &l[i]);
    for (;; passes++) {
        pk_request request[N_SENTENCES];
        int32_t    alive = 0;
        for (int32_t i = 0; i < n; i++) {
            if (l[i].done) continue;
            l[i].pass = (pk_pass){
                .room = ROOM - 1, .ask = l[i].ask, .answer = l[i].answer, .follow = set->follow
            };
            l[i].by->propose(l[i].state, &l[i].pass);
            request[alive++] = (pk_request){ l[i].id, &l[i].pass };
        }
        if (alive == 0) break;
        ASSERT_OK(pk_session_decode(p->s, request, alive));
        for (int32_t i = 0; i < n; i++)
            if (!l[i].done) absorb(p, &l[i]);
    }
    for (int32_t i = 0; i < n; i++) finish(p, &l[i], &out[i]);
    return passes;
}

static const setting settings[] = {
    { "pairs", "pairs", 1, 0, true },
    { "pairs", "pairs", 1, 0, false },
    { "pairs:min_length=7", "pairs-lr", 1, 0, true },
    { "pairs:size=3", "pairs", 3, 0, true },
    { "pairs:size=4,length_penalty=0.5", "pairs-rl", 2, 0, true },
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* and steps that the device takes by itself change nothing but the number of passes */
static void alone_among_others_and_followed(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        place p;
        open_place(&p, &kinds[k]);
        for (size_t i = 0; i < N_SETTINGS; i++) {
            found      alone[N_SENTENCES], other[N_SENTENCES];
            setting    set = settings[i];
            const bool greedy = set.n_best == 1;
            int32_t    passes = 0;
            for (int32_t j = 0; j < N_SENTENCES; j++) passes += decode(&p, &set, j, 1, &alone[j]);
            decode(&p, &set, 0, N_SENTENCES, other);
            assert_memory_equal(alone, other, sizeof alone);
            for (set.follow = 2; set.follow < 20; set.follow += 5) {
                const int32_t fewer = decode(&p, &set, 0, N_SENTENCES, other);
                assert_memory_equal(alone, other, sizeof alone);
                if (greedy && p.on.follow && set.follow > 2) assert_true(fewer < passes / 3);
            }
        }
        close_place(&p);
    }
}

static void any_number_of_threads(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++)
        for (size_t i = 0; i < N_SETTINGS; i++) {
            found all[2][N_SENTENCES];
            for (int32_t threads = 1; threads <= 2; threads++) {
                const kind k = { "cpu", type ? PK_I8 : PK_F32, threads, PK_F32 };
                place      p;
                open_place(&p, &k);
                decode(&p, &settings[i], 0, N_SENTENCES, all[threads - 1]);
                close_place(&p);
            }
            assert_memory_equal(all[0], all[1], sizeof all[0]);
        }
}

/* one pair fed at positions n and n + 1; the best token of either side, behind it in the list */
static bool step_by_hand(place *p, int32_t id, int32_t *token, int32_t n) {
    static live   l;
    const int32_t first[2] = { p->model.start, p->model.eos };
    pk_verdict    v = { .room = 4, .tip = l.tip };
    l.pass = (pk_pass){ .room = ROOM - 1, .ask = l.ask, .answer = l.answer };
    for (int32_t side = 0; side < 2; side++)
        pk_ask_add(&l.pass, (pk_ask){ .token = (n ? token + n - 2 : first)[side],
                                      .pos = n + side,
                                      .parent = side,
                                      .block = 1,
                                      .top_k = 1 });
    ASSERT_OK(pk_session_decode(p->s, &(pk_request){ id, &l.pass }, 1));
    pk_keep(&v, 2);
    pk_session_commit(p->s, id, &v);
    for (int32_t side = 0; side < 2; side++) token[n + side] = l.answer[1 + side].top[0].token;
    return token[n] != p->model.eos && token[n + 1] != p->model.eos;
}

/* the loop that greedy search is: both best tokens, fed in turn, until either is the end */
static int32_t by_hand(place *p, int32_t sentence, int32_t *token) {
    int32_t n = 0, id;
    bool    goes_on = true;
    ASSERT_OK(pk_session_encode(p->s, &sources[sentence], 1, &id));
    for (; goes_on && n < MOST; n += 2) goes_on = step_by_hand(p, id, token, n);
    pk_session_forget(p->s, id);
    for (int32_t i = 0; i < n; i++)
        if (token[i] == p->model.eos) n = i + 1; /* what follows is dropped */
    return n < MOST ? n : MOST;
}

static void a_beam_of_one_is_greedy(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        place p;
        open_place(&p, &kinds[k]);
        for (int32_t j = 0; j < N_SENTENCES; j++) {
            const setting set = { "pairs", "pairs-lr", 1, 0, false };
            int32_t       token[MOST + 2];
            found         got;
            decode(&p, &set, j, 1, &got);
            const int32_t n = by_hand(&p, j, token);
            assert_int_equal(got.length[0], n);
            assert_memory_equal(got.token[0], token, (size_t)n * sizeof *token);
        }
        close_place(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_among_others_and_followed),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(a_beam_of_one_is_greedy),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
