/* staged_laws_test.c - hrt, cmlm and nat on random networks: a sentence alone, among others in any order,
 * on any number of threads, and with steps left to the device comes out the same, bit for bit; and
 * hrt's task asks for what hrt writes with the same log-probabilities. For every backend and
 * type. */
#include "session_world.h"

#include "decode/strategy.h"
#include "lesson_asks.h"
#include "lexicon/lexicon.h"
#include "task/task_list.h"

enum { WORDS = 37, MASK = 48, FIRST = 64, LENGTHS = 12, ALL = 76, N = 3, ROOM = 48 };

static const pk_added_tokens added[] = {
    { "<mask>", MASK, 1, 0 },
    { "<bos:2>", MASK + 1, 1, 0 },
    { "<bos:3>", MASK + 2, 1, 0 },
    { "length", FIRST, LENGTHS, 1 },
};
static const pk_conventions model = { .vocab = WORDS,
                                      .start = PK_NO_TOKEN,
                                      .eos = 0,
                                      .unk = 1,
                                      .max_positions = ROOM,
                                      .added = added,
                                      .n_added = 4,
                                      .length_penalty = 1,
                                      .repetition_penalty = 1 };
static const pk_lexicon     lengths = { .slope = 1.2, .intercept = 1 }; /* all that nat looks up */
static const pk_session_limits room = { .sentences = 4,
                                        .source_tokens = 64,
                                        .source_length = 20,
                                        .encode_tokens = 64,
                                        .hypotheses = 4,
                                        .asks = 400,
                                        .slots = 600,
                                        .path = 100,
                                        .top_k = 8,
                                        .listed = 4000 };
static const char *const       specs[] = {
          "hrt:k=2",
          "hrt:k=3,min_length=7",
          "hrt:k=2,b_at=3,b_nat=2,min_length=9",
          "cmlm:iterations=3,lengths=3",
          "cmlm:iterations=4,lengths=2,stop=unchanged",
          "nat:delta=2",
};
enum { N_SPECS = sizeof specs / sizeof *specs };

typedef struct place { /* a network, a session on it, and which tokens mean what */
    pk_conventions model;
    tiny_network   tiny;
    pk_backend     on;
    pk_session    *s;
} place;

static void open_place(place *w, const kind *k, uint64_t seed) {
    pk_config c = tiny_config();
    c.source_vocab = c.target_vocab = ALL;
    c.n_text = WORDS;
    c.n_groups = 1;
    c.group[0] = (pk_token_group){ "length", FIRST, LENGTHS };
    w->model = model;
    ASSERT_OK(tiny_network_open(&c, k->type, seed, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    w->on.follow = 8;
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &room, &w->s));
}

static void close_place(place *w) {
    assert_int_equal(pk_session_free_slots(w->s), room.slots);
    pk_session_close(w->s);
    pk_backend_close(&w->on);
    tiny_network_close(&w->tiny);
}

typedef struct live {
    int32_t    id, tips[4];
    void      *state;
    pk_ask    *ask;
    pk_answer *answer;
    pk_pass    pass;
    bool       done;
} live;

typedef struct text { /* what came out */
    int32_t n, token[ROOM], passes;
    float   logp[ROOM], score;
} text;

static void begin(place *w, const char *spec, int which, live *l) {
    const pk_strategy *by;
    const pk_source    src = { .model = &w->model,
                               .n_tokens = sources[which].n,
                               .token = sources[which].token,
                               .max_length = 20,
                               .n_best = 1,
                               .want_scores = true,
                               .lexicon = &lengths };
    ASSERT_OK(pk_strategy_parse(spec, &by, &l->state));
    if (by->fits) ASSERT_OK(by->fits(by, l->state, &w->model));
    ASSERT_OK(by->begin(by, l->state, &src));
    ASSERT_OK(pk_session_encode(w->s, &sources[which], 1, &l->id));
    const int32_t most = by->limits(by, l->state, &src).asks;
    ASSERT_OK(PK_TAKE(&l->ask, (size_t)most + 1));
    ASSERT_OK(PK_TAKE(&l->answer, (size_t)most + 1));
    l->pass = (pk_pass){ .room = most, .ask = l->ask, .answer = l->answer };
}

static void finish(place *w, const pk_strategy *by, live *l, text *out) {
    pk_hypothesis h;
    assert_int_equal(by->result(l->state, &h, 1), 1);
    out->n = h.n;
    out->score = h.score;
    memcpy(out->token, h.token, (size_t)h.n * sizeof *h.token);
    memcpy(out->logp, h.logp, (size_t)h.n * sizeof *h.logp);
    pk_session_forget(w->s, l->id);
    by->end(l->state);
    pk_memory_give(l->state);
    pk_memory_give(l->ask);
    pk_memory_give(l->answer);
}

/* one pass for all that are not done; returns how many those are */
static int32_t step(place *w, const pk_strategy *by, live *all, int32_t n, int32_t follow,
                    text *out) {
    pk_request request[N];
    live      *asked[N];
    int32_t    m = 0;
    for (int32_t i = 0; i < n; i++) {
        if (all[i].done) continue;
        all[i].pass.n = 0;
        all[i].pass.follow = follow;
        by->propose(all[i].state, &all[i].pass);
        asked[m] = &all[i];
        request[m++] = (pk_request){ all[i].id, &all[i].pass };
    }
    if (m) ASSERT_OK(pk_session_decode(w->s, request, m));
    for (int32_t i = 0; i < m; i++) {
        live         *l = asked[i];
        pk_verdict    v = { .room = 4, .tip = l->tips };
        const int32_t found = l->answer[l->pass.n].n_found;
        out[l - all].passes += found ? found : 1;
        by->absorb(l->state, &l->pass, &v);
        pk_session_commit(w->s, l->id, &v);
        l->done = v.done;
    }
    return m;
}

/* decodes these sentences together */
static void decode(place *w, const char *spec, const int *which, int32_t n, int32_t follow,
                   text *out) {
    const pk_strategy *by;
    void              *parsed;
    live               all[N] = { { 0 } };
    ASSERT_OK(pk_strategy_parse(spec, &by, &parsed));
    pk_memory_give(parsed);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int32_t i = 0; i < n; i++) begin(w, spec, which[i], &all[i]);
    while (step(w, by, all, n, follow, out)) continue;
    for (int32_t i = 0; i < n; i++) finish(w, by, &all[i], &out[i]);
}

static void a_sentence_comes_out_as_alone(void **state) {
    static const int orders[][N] = { { 0, 1, 2 }, { 2, 0, 1 } };
    text             first[N_SPECS][N], alone, together[N];
    int              ends = 0;
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        place w;
        open_place(&w, &kinds[k], 11);
        for (int s = 0; s < N_SPECS; s++)
            for (int order = 0; order < 2; order++)
                for (int32_t follow = 0; follow <= 5; follow += 5) {
                    decode(&w, specs[s], orders[order], N, follow, together);
                    for (int i = 0; i < N; i++) {
                        const int which = orders[order][i];
                        decode(&w, specs[s], &which, 1, 5 - follow, &alone);
                        assert_memory_equal(&alone, &together[i], sizeof alone);
                        ends += alone.token[alone.n - 1] == 0;
                        /* one thread and two */
                        const bool same = k > 0 && kinds[k].threads > 1;
                        if (same) assert_memory_equal(&alone, &first[s][which], sizeof alone);
                        if (!same) first[s][which] = alone;
                    }
                }
        close_place(&w);
    }
    assert_true(ends > 0);
}

/* ---- what is written is what is taught ---- */

/* the lesson of a sentence whose target is this output */
static void teach(const place *w, const char *spec, int32_t k, int which, const text *out,
                  pk_lesson *l) {
    const int32_t   token[] = { MASK, MASK + k - 1 };
    pk_lesson_maker m = { .eos = w->model.eos,
                          .start = PK_NO_TOKEN,
                          .token = token,
                          .source_tag = -1,
                          .target_tag = -1,
                          .max_source = ROOM,
                          .max_target = ROOM,
                          .share = 1 };
    const int32_t   source_first[] = { 0, sources[which].n }, target_first[] = { 0, out->n - 1 };
    const pk_batch  batch = { 1, sources[which].token, out->token, source_first, target_first };
    void           *parsed;
    ASSERT_OK(pk_task_parse(spec, &m.task, &parsed));
    m.options = parsed;
    *l = (pk_lesson){ 0 };
    ASSERT_OK(pk_lesson_make(l, &m, &batch, NULL));
    pk_memory_give(parsed);
}

/* A question of stage one is about the token k further on, one of stage two about its own place.
 * Where stage one found its end behind the first one, the output does not have that. */
static void compare(place *w, const pk_lesson *l, int32_t k, int which, const text *out) {
    pk_ask        ask[4 * ROOM];
    pk_answer     answer[4 * ROOM];
    pk_pass       pass = { .room = 4 * ROOM - 1, .ask = ask, .answer = answer };
    pk_request    request = { .pass = &pass };
    const int32_t chain = (out->n - 1) / k + 1;
    int32_t       same = 0;
    ASSERT_OK(pk_session_encode(w->s, &sources[which], 1, &request.sentence));
    lesson_asks(l, 0, &pass);
    ASSERT_OK(pk_session_decode(w->s, &request, 1));
    for (size_t q = 0; q < l->target.n; q++) {
        const int32_t row = l->question_row.id[q], at = l->pos.id[row] + (row < chain ? k : 0) - 1;
        if (at >= out->n) continue;
        assert_int_equal(l->target.id[q], out->token[at]);
        assert_memory_equal(answer[row + 1].target_logp, &out->logp[at], sizeof *out->logp);
        same++;
    }
    assert_int_equal(same, out->n);
    pk_session_forget(w->s, request.sentence);
}

/* Random networks rarely say one certain token at the right place: each is the end symbol once.
 * Where the stages differ about the chunk that the end is in, the output is cut and not compared.
 * The spec is that of the task, too. */
static int compare_all(place *w, const char *spec, int32_t k) {
    int compared = 0;
    for (w->model.eos = 2; w->model.eos < WORDS; w->model.eos++)
        for (int which = 0; which < N; which++) {
            pk_lesson l;
            text      out;
            decode(w, spec, &which, 1, 0, &out);
            const bool ended = out.token[out.n - 1] == w->model.eos;
            if (!ended || out.n < 2 || out.passes != (out.n - 1) / k + 2) continue;
            teach(w, spec, k, which, &out, &l);
            compare(w, &l, k, which, &out);
            compared++;
            pk_lesson_free(&l);
        }
    return compared;
}

static void what_is_written_is_what_is_taught(void **state) {
    (void)state;
    for (int i = 0; i < n_kinds; i++) {
        int two = 0, three = 0;
        for (uint64_t seed = 13; seed <= 15; seed += 2) {
            place w;
            open_place(&w, &kinds[i], seed);
            two += compare_all(&w, "hrt:k=2", 2);
            three += compare_all(&w, "hrt:k=3", 3);
            close_place(&w);
        }
        assert_true(two > 0 && three > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_comes_out_as_alone),
        cmocka_unit_test(what_is_written_is_what_is_taught),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
