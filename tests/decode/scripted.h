/* scripted.h - a model without a network, for strategies that ask in blocks, with strides or about
 * groups: a test says which tokens it prefers where. Serves passes as a session does, checks what a
 * strategy promises, and writes down what was fed. */
#ifndef TESTS_DECODE_SCRIPTED_H
#define TESTS_DECODE_SCRIPTED_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "decode/strategy.h"

/* text is 0 .. TEXT - 1: an end symbol, an unknown word, and the tokens of tests from 10 on */
enum { END, UNKNOWN, TEXT = 30, MASK = 32, BOS2, BOS3, BOS4, FIRST_LENGTH = 48, LENGTHS = 12 };
enum { MOST = 1024, MOST_TOP = 32, LONGEST = 64 };

typedef struct seen { /* what an ask sees, in its order */
    int32_t       n, token[2 * LONGEST], pos[2 * LONGEST];
    const pk_ask *ask;
} seen;

typedef struct scripted scripted;
struct scripted {
    /* raises the logits of what it prefers; they are all 0 before */
    void (*prefer)(const scripted *s, const seen *x, float *logit);
    const int32_t *text; /* for that: a translation without its end */
    int32_t        n_text, k;
    pk_conventions model;
    int32_t        follow; /* steps an ask may follow */
    int32_t        passes, asks;
    char           log[8192]; /* a line for each pass: M?1 is a mask at 1 that is asked about */
};

static const pk_added_tokens scripted_added[] = {
    { "<mask>", MASK, 1, 0 },
    { "<bos:2>", BOS2, 1, 0 },
    { "<bos:3>", BOS3, 1, 0 },
    { "<bos:4>", BOS4, 1, 0 },
    { "length", FIRST_LENGTH, LENGTHS, 1 },
};

static inline scripted scripted_model(const int32_t *text, int32_t n) {
    return (scripted){ .text = text,
                       .n_text = n,
                       .model = { .vocab = TEXT,
                                  .start = PK_NO_TOKEN,
                                  .eos = END,
                                  .unk = UNKNOWN,
                                  .max_positions = LONGEST,
                                  .added = scripted_added,
                                  .n_added = 5,
                                  .length_penalty = 1,
                                  .repetition_penalty = 1 } };
}

/* token at a position of the translation, from 1; the end symbol behind it */
static inline int32_t scripted_text(const scripted *s, int32_t position) {
    return position <= s->n_text ? s->text[position - 1] : END;
}

typedef struct slot {
    int32_t token, pos, before;
} slot;

typedef struct serving {
    scripted    *s;
    slot         slot[1 << 14];
    int32_t      n_slots, n_hypotheses, tip[MOST], at[MOST + 1];
    pk_ask       ask[MOST + 1];
    pk_answer    answer[MOST + 1];
    pk_candidate top[MOST + 1][MOST_TOP];
    pk_candidate found[LONGEST];
    float        target[MOST + 1][MOST_TOP], look[MOST + 1];
} serving;

static inline void write_ask(scripted *s, const pk_ask *a) {
    char         *to = s->log + strlen(s->log);
    const size_t  room = sizeof s->log - strlen(s->log);
    const char   *asked = a->top_k ? "?" : "@";
    const int32_t t = a->token;
    if (t == MASK)
        snprintf(to, room, "M%s%d ", asked, a->pos);
    else if (t >= BOS2 && t <= BOS4)
        snprintf(to, room, "B%d%s%d ", t - BOS2 + 2, asked, a->pos);
    else if (t == END)
        snprintf(to, room, "E%s%d ", asked, a->pos);
    else
        snprintf(to, room, "%d%s%d ", t, asked, a->pos);
}

/* from the first token to `tip` */
static inline void look_back(const serving *v, int32_t tip, seen *x) {
    int32_t n = 0;
    for (int32_t at = tip; at >= 0; at = v->slot[at].before) n++;
    x->n = n;
    for (int32_t at = tip; at >= 0; at = v->slot[at].before) {
        x->token[--n] = v->slot[at].token;
        x->pos[n] = v->slot[at].pos;
    }
}

static inline bool is_banned(const pk_ask *a, int32_t token) {
    for (int32_t i = 0; i < a->n_ban; i++)
        if (a->ban[i] == token) return true;
    return false;
}

/* suppressed tokens are of the text alone */
static inline bool is_suppressed(const scripted *s, const pk_ask *a, int32_t token) {
    for (int32_t i = 0; !a->group && i < s->model.n_suppressed; i++)
        if (s->model.suppressed[i] == token) return true;
    return false;
}

static inline void answer(serving *v, int32_t i, const seen *x, pk_candidate *top) {
    const pk_ask *a = x->ask;
    const int32_t classes = a->group ? LENGTHS : TEXT;
    float         logit[TEXT] = { 0 };
    bool          used[TEXT] = { false };
    double        sum = 0;
    v->s->prefer(v->s, x, logit);
    for (int32_t t = 0; t < classes; t++) sum += exp((double)logit[t]);
    for (int32_t k = 0; k < a->top_k; k++) {
        int32_t best = PK_NO_TOKEN;
        for (int32_t t = 0; t < classes; t++)
            if (!used[t] && !is_banned(a, t) && !is_suppressed(v->s, a, t) &&
                (best < 0 || logit[t] > logit[best]))
                best = t;
        top[k] = (pk_candidate){ best, 0 };
        if (best < 0) continue;
        used[best] = true;
        top[k].logp = a->logp ? (float)((double)logit[best] - log(sum)) : logit[best];
    }
    for (int32_t k = 0; k < a->n_target; k++)
        v->target[i][k] = (float)((double)logit[a->target[k]] - log(sum));
    v->look[i] = (float)a->pos;
    v->answer[i] = (pk_answer){ .top = top,
                                .target_logp = v->target[i],
                                .log_sum = a->logp ? (float)log(sum) : 0,
                                .attention = a->attention ? &v->look[i] : NULL };
}

/* the last ask goes on by itself, as on a device that can follow */
static inline void follow(serving *v, pk_pass *p) {
    pk_ask  a = p->ask[p->n];
    int32_t n = 0;
    for (;;) {
        seen x;
        look_back(v, v->at[p->n], &x);
        x.ask = &a;
        answer(v, p->n, &x, v->top[p->n]);
        v->found[n++] = v->top[p->n][0];
        const int32_t token = v->found[n - 1].token;
        if (n == a.follow || token == END || token == PK_NO_TOKEN) break;
        a.token = token;
        a.pos += a.stride ? a.stride : 1;
        v->slot[v->n_slots] = (slot){ a.token, a.pos, v->at[p->n] };
        v->at[p->n] = v->n_slots++;
        v->s->passes++;
        write_ask(v->s, &a);
    }
    v->answer[p->n] = (pk_answer){ .found = v->found, .n_found = n };
}

static inline void serve(serving *v, pk_pass *p) {
    scripted *s = v->s;
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        assert_true(a->hypothesis >= 0 && a->hypothesis < v->n_hypotheses);
        assert_true(a->parent >= 0 && a->parent < i);
        assert_true(a->pos >= 0 && a->pos < s->model.max_positions);
        if (pk_ask_continues(p, i)) assert_int_equal(a->parent, i - 1);
        const int32_t before = a->parent ? v->at[a->parent] : v->tip[a->hypothesis];
        v->slot[v->n_slots] = (slot){ a->token, a->pos, before };
        v->at[i] = v->n_slots++;
        write_ask(s, a);
    }
    for (int32_t i = 1; i <= p->n; i++) {
        int32_t last = i;
        seen    x;
        while (last < p->n && pk_ask_continues(p, last + 1)) last++;
        look_back(v, v->at[p->ask[i].block ? last : i], &x);
        x.ask = &p->ask[i];
        if (p->ask[i].follow > 1)
            follow(v, p);
        else if (p->ask[i].top_k || p->ask[i].n_target)
            answer(v, i, &x, v->top[i]);
    }
    strcat(s->log, "\n");
    s->passes++;
    s->asks += p->n;
}

static inline void commit(serving *v, const pk_verdict *verdict) {
    int32_t tip[MOST];
    for (int32_t i = 0; i < verdict->n_hypotheses; i++) {
        const int32_t t = verdict->tip[i];
        tip[i] = t > 0 ? v->at[t] : t < 0 ? v->tip[-1 - t] : -1;
    }
    memcpy(v->tip, tip, sizeof tip);
    v->n_hypotheses = verdict->n_hypotheses;
}

static inline void scripted_decode(scripted *s, const pk_strategy *by, void *state,
                                   const pk_source *src) {
    serving                 *v = calloc(1, sizeof *v);
    const pk_strategy_limits most = by->limits(by, state, src);
    const int64_t            allocations = pk_memory_count();
    int32_t                  tip[MOST];
    assert_true(most.asks <= MOST && most.top_k <= MOST_TOP);
    v->s = s;
    v->n_hypotheses = 1;
    v->tip[0] = -1;
    s->passes = s->asks = 0;
    s->log[0] = '\0';
    for (bool done = false; !done;) {
        pk_pass    p = { .room = most.asks, .ask = v->ask, .answer = v->answer };
        pk_verdict verdict = { .room = most.hypotheses, .tip = tip };
        p.follow = s->follow;
        by->propose(state, &p);
        assert_in_range(p.n, 1, p.room);
        for (int32_t i = 1; i <= p.n; i++) assert_true(p.ask[i].top_k <= most.top_k);
        serve(v, &p);
        by->absorb(state, &p, &verdict);
        assert_true(verdict.n_hypotheses <= most.hypotheses);
        assert_true(verdict.done || verdict.n_hypotheses > 0);
        commit(v, &verdict);
        done = verdict.done;
    }
    assert_int_equal(pk_memory_count(), allocations); /* none while decoding */
    free(v);
}

typedef struct output { /* a copy that outlives the state */
    int32_t n, token[LONGEST + 8];
    float   logp[LONGEST + 8], attention[LONGEST + 8], score;
} output;

/* all of it; returns how many hypotheses there are. The source has one token. */
static inline int32_t scripted_translate(scripted *s, const char *spec, pk_source *src,
                                         output *out) {
    const pk_strategy *by;
    void              *state;
    pk_hypothesis      h[MOST_TOP];
    const int64_t      alive = pk_memory_alive();
    src->model = &s->model;
    src->n_tokens = 1;
    if (!src->max_length) src->max_length = LONGEST;
    if (!src->n_best) src->n_best = 1;
    if (pk_strategy_parse(spec, &by, &state)) fail_msg("%s: %s", spec, pk_last_error());
    if (by->check(by, state, src->n_best) || by->fits(by, state, &s->model) ||
        by->begin(by, state, src))
        fail_msg("%s: %s", spec, pk_last_error());
    scripted_decode(s, by, state, src);
    const int32_t n = by->result(state, h, MOST_TOP);
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(h[i].n, 0, LONGEST + 8);
        out[i].n = h[i].n;
        out[i].score = h[i].score;
        memcpy(out[i].token, h[i].token, (size_t)h[i].n * sizeof *h[i].token);
        memcpy(out[i].logp, h[i].logp, (size_t)h[i].n * sizeof *h[i].logp);
        if (h[i].attention)
            memcpy(out[i].attention, h[i].attention, (size_t)h[i].n * sizeof(float));
    }
    by->end(state);
    by->end(state); /* twice is harmless */
    pk_memory_give(state);
    assert_int_equal(pk_memory_alive(), alive);
    return n;
}

#define ASSERT_TOKENS(out, ...)                                   \
    do {                                                          \
        const int32_t want_[] = { __VA_ARGS__ };                  \
        assert_int_equal((out)->n, sizeof want_ / sizeof *want_); \
        assert_memory_equal((out)->token, want_, sizeof want_);   \
    } while (0)

/* the strategy says that it cannot serve this, and why */
static inline void refuse(const char *spec, const pk_source *src, const pk_conventions *m,
                          const char *why) {
    const pk_strategy *by;
    void              *made = NULL;
    pk_source          one = *src;
    const int64_t      alive = pk_memory_alive();
    one.model = m;
    pk_status status = pk_strategy_parse(spec, &by, &made);
    if (status == PK_OK) status = by->check(by, made, src->n_best);
    if (status == PK_OK) status = by->fits(by, made, m);
    if (status == PK_OK) status = by->begin(by, made, &one);
    assert_int_not_equal(status, PK_OK);
    if (!strstr(pk_last_error(), why)) fail_msg("%s: %s", spec, pk_last_error());
    pk_memory_give(made);
    assert_int_equal(pk_memory_alive(), alive);
}
#endif
