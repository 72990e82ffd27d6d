/* oracle.h - a model without a network, for tests of strategies: the next token's logits are a
 * fixed function of the tokens so far, of the others of its block, and of its place there. Serves
 * passes as a session does (hypotheses, parents, blocks, a tree of slots, bans, targets) and checks
 * every promise a strategy makes on the way. tools/beam_oracle.py computes the same function in
 * Python. */
#ifndef TESTS_DECODE_ORACLE_H
#define TESTS_DECODE_ORACLE_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "decode/strategy.h"

enum { ORACLE_LONGEST = 128, ORACLE_VOCAB = 256, ORACLE_SLOTS = 1 << 16, ORACLE_ASKS = 512 };

typedef struct oracle oracle;
/* a scripted drafter: what it fills in at mask `ahead` (from 0) behind n known tokens */
typedef int32_t oracle_draft(const oracle *o, const int32_t *known, int32_t n, int32_t ahead);
struct oracle {
    uint32_t        seed;
    int32_t         vocab, eos, pad; /* pad is never among the best, as in a session; -1: none */
    float           eos_bias, eos_slope; /* makes ends likelier, and likelier with length */
    int32_t         room;                /* asks per pass; 0: what the strategy's limits say */
    bool            renormalise;         /* log-probabilities leave pad and the ask's bans out */
    int32_t         order;               /* logits depend on the last so many tokens; 0: on all */
    bool            nothing_after;       /* after the second token every logit is minus infinity */
    oracle_draft   *draft;               /* NULL: there is no drafter */
    oracle_draft   *second;              /* what it says is second best; NULL: anything */
    const void     *script;              /* for it */
    bool            sees_all;            /* its known tokens see those behind them */
    bool            next;                /* its known tokens say what follows them */
    const float    *cost;                /* of a pass, see pass.h; NULL: not known */
    float           draft_cost, draft_more;
    float           sure; /* by so much is each further token of a draft less probable; 0: 0.5 */
    const int32_t  *says; /* by far the best tokens after 0, 1 .. inputs; or NULL */
    int32_t         n_says;
    pk_conventions  conventions; /* as oracle_source() fills them */
    pk_added_tokens added;
    /* counted, for the last sentence */
    int32_t passes, asks, most_asks, most_slots, most_hypotheses, draft_passes;
};

static inline uint32_t oracle_mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

static inline uint32_t oracle_hash(const oracle *o, const int32_t *token, int32_t n) {
    uint32_t h = oracle_mix(o->seed);
    for (int32_t i = 0; i < n; i++) h = oracle_mix(h ^ (uint32_t)(token[i] + 1) * 0x9E3779B1u);
    return h;
}

/* logits after n output tokens */
static inline void oracle_logits(const oracle *o, const int32_t *token, int32_t n, float *logit) {
    const int32_t  left_out = o->order && n > o->order ? n - o->order : 0;
    const uint32_t h = oracle_hash(o, token + left_out, n - left_out);
    for (int32_t t = 0; t < o->vocab; t++) {
        const double u = (double)(oracle_mix(h + (uint32_t)t * 0x85EBCA6Bu) >> 8) / 8388608.0 - 1;
        logit[t] = (float)(6 * u * u * u);
        if (t == o->eos)
            logit[t] = (float)(6 * u * u * u + ((double)o->eos_bias + (double)o->eos_slope * n));
        if (o->nothing_after && n >= 2) logit[t] = -INFINITY;
    }
}

/* attention of the last token to one source token: any fixed function will do */
static inline float oracle_attention(const oracle *o, const int32_t *token, int32_t n,
                                     int32_t source) {
    return (float)(oracle_hash(o, token, n) % 1000) / 1000 + (float)source;
}

typedef struct oracle_slot {
    int32_t token, before, depth;
} oracle_slot; /* before: slot or -1 */
typedef struct oracle_session {
    oracle      *model;
    pk_source    src;
    oracle_slot *slot; /* grows; live ones are those tips lead to */
    int32_t      n_slots, n_hypotheses, tip[ORACLE_ASKS];
    pk_ask       ask[ORACLE_ASKS + 1];
    pk_answer    answer[ORACLE_ASKS + 1];
    int32_t      at[ORACLE_ASKS + 1]; /* slot of each ask */
    pk_candidate top[ORACLE_ASKS + 1][64];
    float        target[ORACLE_ASKS + 1][ORACLE_LONGEST + 4];
    float       *look;
    int32_t      known[ORACLE_LONGEST + 1], n_known; /* the drafter's history */
} oracle_session;

/* output tokens on the way to a slot (its own input token included, the start symbol not) */
static inline int32_t oracle_path(const oracle_session *s, int32_t slot, int32_t *token) {
    const int32_t n = s->slot[slot].depth;
    for (int32_t i = n; i > 0; i--, slot = s->slot[slot].before) token[i - 1] = s->slot[slot].token;
    assert_int_equal(s->slot[slot].token, s->src.model->start);
    assert_int_equal(s->slot[slot].before, -1);
    return n;
}

static inline bool oracle_has(const int32_t *list, int32_t n, int32_t token) {
    for (int32_t i = 0; i < n; i++)
        if (list[i] == token) return true;
    return false;
}

enum { ORACLE_PLACE = 1000 }; /* behind all tokens: the place of an ask in its block */

/* tokens that ask i sees, as a list: of a block all of it, and the ask's place in it */
static inline int32_t oracle_seen(const oracle_session *s, const pk_pass *pass, int32_t i,
                                  int32_t *token) {
    int32_t first = i, last = i;
    while (pk_ask_continues(pass, first)) first--;
    while (last < pass->n && pk_ask_continues(pass, last + 1)) last++;
    const int32_t n = oracle_path(s, s->at[last], token);
    if (!pass->ask[i].block) return n;
    token[n] = ORACLE_PLACE + i - first;
    return n + 1;
}

/* masks of a model that drafts for itself: the known tokens before them are the first of the path */
static inline void oracle_fill_mask(oracle_session *s, int32_t i) {
    const oracle *o = s->model;
    int32_t       token[ORACLE_LONGEST], known = 0;
    const int32_t n = oracle_path(s, s->at[i], token);
    while (known < n && token[known] != o->added.first) known++;
    for (int32_t j = known; j < n; j++) assert_int_equal(token[j], o->added.first);
    assert_true(known < n && s->ask[i].top_k == 1);
    s->top[i][0] = (pk_candidate){ o->draft(o, token, known, n - 1 - known + o->next), 0 };
    s->answer[i] = (pk_answer){ .top = s->top[i] };
}

/* the answer to ask i, as answering.c computes it from a network's logits */
static inline void oracle_answer(oracle_session *s, const pk_pass *pass, int32_t i) {
    const pk_ask *ask = &s->ask[i];
    int32_t       token[ORACLE_LONGEST];
    float         logit[ORACLE_VOCAB];
    const int32_t n = oracle_seen(s, pass, i, token), depth = s->slot[s->at[i]].depth;
    double        sum = 0;
    if (s->model->draft && ask->token == s->model->added.first) {
        oracle_fill_mask(s, i);
        return;
    }
    oracle_logits(s->model, token, n, logit);
    if (s->model->says && depth < s->model->n_says) logit[s->model->says[depth]] += 50;
    bool used[ORACLE_VOCAB] = { false };
    for (int32_t j = 0; j < ask->n_ban; j++) {
        assert_in_range(ask->ban[j], 0, s->model->vocab - 1);
        used[ask->ban[j]] = true;
    }
    if (s->model->pad >= 0) used[s->model->pad] = true;
    for (int32_t t = 0; t < s->model->vocab; t++)
        if (!(s->model->renormalise && used[t])) sum += exp((double)logit[t]);
    sum = log(sum);
    for (int32_t k = 0; k < ask->top_k; k++) {
        int32_t best = PK_NO_TOKEN;
        for (int32_t t = 0; t < s->model->vocab; t++)
            if (!used[t] && (best == PK_NO_TOKEN || logit[t] > logit[best])) best = t;
        s->top[i][k] = (pk_candidate){ best, 0 };
        if (best == PK_NO_TOKEN) continue;
        used[best] = true;
        s->top[i][k].logp = ask->logp ? (float)(logit[best] - sum) : logit[best];
    }
    for (int32_t j = 0; j < ask->n_target; j++) {
        assert_true(ask->logp);
        s->target[i][j] = (float)(logit[ask->target[j]] - sum);
    }
    float *look = s->look + (size_t)i * (size_t)s->src.n_tokens;
    for (int32_t j = 0; j < s->src.n_tokens; j++) look[j] = oracle_attention(s->model, token, n, j);
    s->answer[i] = (pk_answer){ s->top[i], s->target[i], ask->logp ? (float)sum : 0,
                                ask->attention ? look : NULL };
}

/* slots that histories and asks lead to */
static inline int32_t oracle_count_slots(const oracle_session *s, const int32_t *tip, int32_t n) {
    static bool counted[ORACLE_SLOTS];
    int32_t     count = 0;
    memset(counted, 0, sizeof counted);
    for (int32_t i = 0; i < n; i++)
        for (int32_t at = tip[i]; at >= 0 && !counted[at]; at = s->slot[at].before) {
            counted[at] = true;
            count++;
        }
    return count;
}

/* one pass: takes slots, answers, counts */
static inline void oracle_pass(oracle_session *s, pk_pass *pass) {
    int32_t tips[2 * ORACLE_ASKS + 1];
    for (int32_t i = 1; i <= pass->n; i++) {
        const pk_ask *ask = &pass->ask[i];
        assert_true(ask->hypothesis >= 0 && ask->hypothesis < s->n_hypotheses);
        assert_true(ask->parent >= 0 && ask->parent < i);
        const int32_t before = ask->parent ? s->at[ask->parent] : s->tip[ask->hypothesis];
        const int32_t depth = before < 0 ? 0 : s->slot[before].depth + 1;
        const bool    ahead = s->model->draft && s->model->next && /* of the tokens in its view */
                           ask->token == s->model->added.first;
        assert_int_equal(ask->pos, depth + ahead);
        assert_true(s->n_slots < ORACLE_SLOTS);
        s->slot[s->n_slots] = (oracle_slot){ ask->token, before, depth };
        s->at[i] = s->n_slots++;
    }
    for (int32_t i = 1; i <= pass->n; i++) oracle_answer(s, pass, i);
    for (int32_t i = 0; i < s->n_hypotheses; i++) tips[i] = s->tip[i];
    for (int32_t i = 0; i < pass->n; i++) tips[s->n_hypotheses + i] = s->at[i + 1];
    const int32_t held = oracle_count_slots(s, tips, s->n_hypotheses + pass->n);
    if (held > s->model->most_slots) s->model->most_slots = held;
    if (pass->n > s->model->most_asks) s->model->most_asks = pass->n;
    s->model->passes++;
    s->model->asks += pass->n;
}

/* the hypotheses that go on; see pk_verdict for what a tip means */
static inline void oracle_commit(oracle_session *s, const pk_verdict *v) {
    int32_t tip[ORACLE_ASKS];
    for (int32_t i = 0; i < v->n_hypotheses; i++)
        assert_true(v->tip[i] <= 0 || !s->model->draft || /* masks are not kept */
                    s->ask[v->tip[i]].token != s->model->added.first);
    for (int32_t i = 0; i < v->n_hypotheses; i++)
        tip[i] = v->tip[i] > 0 ? s->at[v->tip[i]] : v->tip[i] < 0 ? s->tip[-1 - v->tip[i]] : -1;
    memcpy(s->tip, tip, sizeof tip);
    s->n_hypotheses = v->n_hypotheses;
    if (v->n_hypotheses > s->model->most_hypotheses) s->model->most_hypotheses = v->n_hypotheses;
}

/* What may stand at a place of a draft: as the scripts say, then anything, each token once. */
static inline void oracle_say_draft(oracle_session *s, int32_t i, int32_t n, int32_t place) {
    oracle       *o = s->model;
    const int32_t m = o->vocab + 20; /* some of which do not exist */
    int32_t       token[64];
    for (int32_t k = 0; k < s->ask[i].top_k; k++) {
        int32_t t = (int32_t)(oracle_mix((uint32_t)(i * 64 + k)) % (uint32_t)m);
        if (k == 0) t = o->draft(o, s->known + 1, n, place);
        if (k == 1 && o->second) t = o->second(o, s->known + 1, n, place);
        for (int32_t j = 0; j < m && oracle_has(token, k, t); j++) t = (t + 1) % m;
        if (oracle_has(token, k, t)) t = PK_NO_TOKEN;
        token[k] = t;
        s->top[i][k] = (pk_candidate){ t, -(o->sure > 0 ? o->sure : 0.5f) * (float)k };
    }
}

/* One pass of the drafter: known tokens as a chain behind its history, or behind the first tokens of
 * that, then a block of masks. Where all see each other, one block of everything. Where known tokens
 * say what follows them, the last one is the first of the block; or all are asked, and none is
 * kept: then the drafter reads its own draft. */
static inline void oracle_draft_pass(oracle_session *s, pk_pass *pass) {
    oracle       *o = s->model;
    const int32_t mask = o->added.first;
    int32_t       n = s->n_known + pass->ask[1].parent, masks = 0;
    const int32_t first = n;
    assert_true(!o->sees_all || s->n_known == 0);
    assert_true(pass->ask[1].parent <= 0 && n >= 0);
    for (int32_t i = 1; i <= pass->n; i++) {
        const pk_ask *ask = &pass->ask[i];
        const bool    masked = ask->token == mask, asked = ask->top_k > 0;
        if (i > 1) assert_int_equal(ask->parent, i - 1);
        assert_int_equal(ask->pos, first + i - 1 + (masked && o->next));
        assert_int_equal(ask->block, masked || o->sees_all);
        assert_true(masked || masks == 0);
        assert_int_equal(ask->ahead, masked ? -1 : 0);
        assert_true(ask->pos < ORACLE_LONGEST && (masked ? asked : o->next || !asked));
        if (masked && i > 1 && !masks) assert_int_equal(pass->ask[i - 1].top_k > 0, o->next);
        if (!masked) s->known[n++] = ask->token;
        if (asked) oracle_say_draft(s, i, n - 1, masked ? masks + o->next : 0);
        masks += masked;
        s->answer[i] = (pk_answer){ .top = s->top[i] };
    }
    assert_int_equal(s->known[0], s->src.model->start);
    o->draft_passes++;
}

static inline void oracle_draft_commit(oracle_session *s, const pk_pass *pass,
                                       const pk_verdict *v) {
    assert_int_equal(v->n_hypotheses, 1);
    assert_false(v->done);
    assert_true((v->tip[0] == 0) == s->model->sees_all);
    if (v->tip[0] < 0) assert_true(v->tip[0] == -1 && pass->ask[1].parent == 0);
    for (int32_t i = 1; i <= v->tip[0]; i++)
        assert_true(pass->ask[i].token != s->model->added.first);
    if (v->tip[0] < 0) return;
    s->n_known = s->model->sees_all ? 0 : s->n_known + pass->ask[1].parent + v->tip[0];
}

/* decodes one sentence to its end; the caller ends the state */
static inline void oracle_decode(oracle *o, const pk_strategy *by, void *state,
                                 const pk_source *src) {
    oracle_session *s = calloc(1, sizeof *s);
    int32_t         tip[ORACLE_ASKS];
    o->passes = o->asks = o->most_asks = o->most_slots = o->most_hypotheses = o->draft_passes = 0;
    s->model = o;
    s->src = *src;
    s->slot = calloc(ORACLE_SLOTS, sizeof *s->slot);
    s->look = calloc((size_t)(ORACLE_ASKS + 1) * (size_t)src->n_tokens + 1, sizeof *s->look);
    s->n_hypotheses = 1;
    s->tip[0] = -1;
    const pk_strategy_limits most = by->limits(by, state, src);
    const pk_strategy_limits drafts = by->draft_limits && (src->drafter || !by->drafts_at_will)
                                          ? by->draft_limits(by, state, src)
                                          : (pk_strategy_limits){ 0 };
    const int32_t            room = drafts.asks > most.asks ? drafts.asks : most.asks;
    assert_true(room <= ORACLE_ASKS && most.top_k <= 64);
    const int64_t allocations = pk_memory_count();
    for (bool done = false; !done;) {
        pk_pass    pass = { .room = o->room ? o->room : room,
                            .ask = s->ask,
                            .answer = s->answer,
                            .cost = o->cost,
                            .n_cost = o->cost ? 3 : 0,
                            .more = o->cost ? o->cost[2] - o->cost[1] : 0,
                            .draft_cost = o->draft_cost,
                            .draft_more = o->draft_more };
        pk_verdict verdict = { .room = most.hypotheses, .tip = tip };
        by->propose(state, &pass);
        assert_in_range(pass.n, 1, pass.room);
        if (pass.model) {
            assert_true(pass.model == 1 && pass.n <= drafts.asks);
            oracle_draft_pass(s, &pass);
            assert_true(s->n_known + pass.n <= drafts.slots);
            by->absorb(state, &pass, &verdict);
            oracle_draft_commit(s, &pass, &verdict);
            continue;
        }
        for (int32_t i = 1; i <= pass.n; i++) assert_true(pass.ask[i].top_k <= most.top_k);
        oracle_pass(s, &pass);
        by->absorb(state, &pass, &verdict);
        assert_true(verdict.n_hypotheses <= most.hypotheses);
        assert_true(verdict.done || verdict.n_hypotheses > 0);
        oracle_commit(s, &verdict);
        done = verdict.done;
    }
    assert_int_equal(pk_memory_count(), allocations); /* none while decoding */
    assert_true(o->most_slots <= most.slots && o->most_asks <= most.asks &&
                o->most_hypotheses <= most.hypotheses);
    free(s->slot);
    free(s->look);
    free(s);
}

/* a sentence of the oracle's; fills in the model's conventions too, which a test may change then */
static inline pk_source oracle_source(oracle *o, int32_t max_length) {
    o->conventions = (pk_conventions){ .suppressed = &o->pad,
                                       .n_suppressed = o->pad >= 0,
                                       .renormalise = o->renormalise,
                                       .vocab = o->vocab,
                                       .start = o->pad,
                                       .eos = o->eos,
                                       .unk = 1,
                                       .length_penalty = 1,
                                       .repetition_penalty = 1 };
    if (o->draft) {
        o->added = (pk_added_tokens){ .first = o->vocab + 16, .count = 1 };
        strcpy(o->added.name, o->sees_all ? "<mask:all>" : o->next ? "<mask:next>" : "<mask>");
        o->conventions.added = &o->added;
        o->conventions.n_added = 1;
    }
    return (pk_source){
        .model = &o->conventions, .n_tokens = 3, .max_length = max_length, .n_best = 1
    };
}

typedef struct oracle_result { /* a copy that outlives the state */
    int32_t n;                 /* hypotheses */
    struct {
        int32_t n, token[ORACLE_LONGEST];
        float   logp[ORACLE_LONGEST], score;
    } best[32];
    float attention[ORACLE_LONGEST * 3]; /* of the best */
} oracle_result;

static inline void oracle_copy(const pk_strategy *by, void *state, oracle_result *out) {
    pk_hypothesis h[32];
    out->n = by->result(state, h, 32);
    for (int32_t i = 0; i < out->n; i++) {
        assert_true(h[i].n <= ORACLE_LONGEST);
        out->best[i].n = h[i].n;
        out->best[i].score = h[i].score;
        memcpy(out->best[i].token, h[i].token, (size_t)h[i].n * sizeof(int32_t));
        memcpy(out->best[i].logp, h[i].logp, (size_t)h[i].n * sizeof(float));
        if (i == 0 && h[i].attention)
            memcpy(out->attention, h[i].attention, (size_t)h[i].n * 3 * sizeof(float));
    }
}

/* the whole of it: parse, check, begin, decode, result, end */
static inline void oracle_translate(oracle *o, const char *spec, const pk_source *src,
                                    oracle_result *out) {
    const pk_strategy *by = NULL;
    void              *state = NULL;
    const int64_t      alive = pk_memory_alive();
    if (src->forced) {
        by = &pk_strategy_score;
        assert_int_equal(pk_memory_take(1, by->state_size, &state), PK_OK);
    } else {
        if (pk_strategy_parse(spec, &by, &state)) fail_msg("%s: %s", spec, pk_last_error());
        if (by->check && by->check(by, state, src->n_best))
            fail_msg("%s: %s", spec, pk_last_error());
    }
    if (by->begin(by, state, src)) fail_msg("%s: %s", spec, pk_last_error());
    oracle_decode(o, by, state, src);
    oracle_copy(by, state, out);
    by->end(state);
    by->end(state); /* twice is harmless */
    pk_memory_give(state);
    assert_int_equal(pk_memory_alive(), alive);
}
#endif
