/* fill.c - masks between known tokens become tokens, in one pass. What a prefix gives is known.
 *
 * Positions are counted from 0 here and fed from 1 on, since 0 is the start of stage one. Every
 * k-th token is known, the others are masks, unless the prefix has them. */
#include "decode/fill.h"

#include <string.h>

#include "base/memory.h"
#include "decode/beam_rules.h"

/* log-probabilities are needed where candidates compete */
static bool wants_logp(const pk_fill *f) { return f->src.want_scores || f->room > 1; }

pk_status pk_fill_begin(pk_fill *f, const pk_constraint_options *options, int32_t longest) {
    const pk_constraint_rules rules = { .on_logits = true,
                                        .renormalise = f->src.model->renormalise && wants_logp(f) };
    PK_TRY(pk_constraint_begin(&f->constraint, options, &f->src, rules));
    for (int i = 0; i < 2; i++) PK_TRY(PK_TAKE(&f->bans[i].token, (size_t)f->constraint.room));
    PK_TRY(PK_TAKE(&f->list, (size_t)f->room));
    for (int32_t i = 0; i < f->room; i++)
        PK_TRY(pk_output_begin(&f->list[i].out, &f->src, longest));
    pk_constraint_list(&f->constraint, NULL, f->constraint.min_length, &f->bans[0]);
    pk_constraint_list(&f->constraint, NULL, 0, &f->bans[1]);
    return PK_OK;
}

void pk_fill_end(pk_fill *f) {
    pk_constraint_end(&f->constraint);
    for (int32_t i = 0; f->list && i < f->room; i++) pk_output_end(&f->list[i].out);
    pk_memory_give(f->list);
    pk_memory_give(f->bans[0].token);
    pk_memory_give(f->bans[1].token);
    f->list = NULL;
    f->bans[0].token = f->bans[1].token = NULL;
}

/* is token i, from 0, one that is filled in? */
static bool is_mask(const pk_fill *f, int32_t i) {
    return i >= f->src.n_prefix && (i + 1) % f->k != 0;
}

/* what is banned there: the end symbol, too, before the shortest length */
static const pk_special *bans_at(const pk_fill *f, int32_t i) {
    return &f->bans[i + 1 < f->constraint.min_length];
}

/* the prefix, and what was found at k, 2k and so on */
static void spread(const pk_fill *f, const pk_hypothesis *h, pk_filling *c) {
    const size_t  width = (size_t)f->src.n_tokens;
    const int32_t given = f->src.n_prefix;
    c->n = c->out.n = h->n * f->k > given ? h->n * f->k : given;
    for (int32_t i = 0; i < given; i++) c->out.token[i] = f->src.prefix[i];
    for (int32_t i = 0; i < h->n; i++)
        pk_output_put(&c->out, (i + 1) * f->k - 1, h->token[i], h->logp[i],
                      h->attention ? h->attention + (size_t)i * width : NULL);
}

int32_t pk_fill_take(pk_fill *f, const pk_hypothesis *found, int32_t n) {
    int32_t masks = 0;
    for (f->n = 0; f->n < n && f->n < f->room; f->n++) {
        spread(f, &found[f->n], &f->list[f->n]);
        for (int32_t i = 0; i < f->list[f->n].n; i++) masks += is_mask(f, i);
    }
    return masks;
}

/* a candidate is a block of its own: masks see its tokens and each other, no other candidate */
static void ask_block(const pk_fill *f, pk_pass *pass, int32_t number) {
    pk_filling *c = &f->list[number];
    int32_t     parent = 0;
    c->ask = pass->n + 1;
    for (int32_t i = 0; i < c->n; i++) {
        const bool masked = is_mask(f, i);
        pk_ask     ask = { .token = masked ? f->mask : c->out.token[i],
                           .pos = i + 1,
                           .parent = parent,
                           .block = 1 + number };
        if (masked) {
            ask.top_k = 1;
            ask.ahead = -1;
            ask.logp = wants_logp(f);
            ask.attention = f->src.want_attention;
            pk_constraint_ask(&f->constraint, bans_at(f, i), &ask);
        }
        parent = pk_ask_add(pass, ask);
    }
}

void pk_fill_propose(pk_fill *f, pk_pass *pass) {
    for (int32_t i = 0; i < f->n; i++) ask_block(f, pass, i);
}

static void fill_block(const pk_fill *f, const pk_pass *pass, pk_filling *c) {
    for (int32_t i = 0; i < c->n; i++) {
        if (!is_mask(f, i)) continue;
        const pk_answer   *a = &pass->answer[c->ask + i];
        const pk_candidate best = pk_constraint_best(&f->constraint, bans_at(f, i), a);
        pk_output_put(&c->out, i, best.token, wants_logp(f) ? best.logp : 0, a->attention);
    }
}

void pk_fill_absorb(pk_fill *f, const pk_pass *pass) {
    for (int32_t i = 0; i < f->n; i++) fill_block(f, pass, &f->list[i]);
}

/* tokens up to the first end symbol, to max_length, or to where nothing was allowed */
static int32_t length_of(const pk_fill *f, const pk_filling *c) {
    const int32_t longest = c->n < f->constraint.max_length ? c->n : f->constraint.max_length;
    int32_t       n = f->src.n_prefix;
    for (; n < longest && c->out.token[n] != PK_NO_TOKEN; n++)
        if (c->out.token[n] == f->src.model->eos) return n + 1;
    return n;
}

/* The two-part score of the paper's equation 2: all positions that were not given. */
static void finish(const pk_fill *f, pk_filling *c) {
    float sum = 0;
    for (int32_t i = f->src.n_prefix; i < c->n; i++) sum += c->out.logp[i];
    c->out.score = pk_beam_score(sum, c->n, f->length_penalty);
    c->out.n = length_of(f, c);
    if (!f->src.want_scores) memset(c->out.logp, 0, (size_t)c->n * sizeof *c->out.logp);
}

/* best first; of equal ones the better of stage one */
static void sort(pk_fill *f) {
    for (int32_t i = 1; i < f->n; i++) {
        const pk_filling c = f->list[i];
        int32_t          at = i;
        for (; at > 0 && c.out.score > f->list[at - 1].out.score; at--)
            f->list[at] = f->list[at - 1];
        f->list[at] = c;
    }
}

static bool same(const pk_output *a, const pk_output *b) {
    return a->n == b->n && memcmp(a->token, b->token, (size_t)a->n * sizeof *a->token) == 0;
}

/* Candidates that differ only behind their end are one: the best of them stays. */
static void drop_doubles(pk_fill *f) {
    int32_t kept = 0;
    for (int32_t i = 0; i < f->n; i++) {
        int32_t before = 0;
        while (before < kept && !same(&f->list[before].out, &f->list[i].out)) before++;
        if (before < kept) continue;
        const pk_filling c = f->list[i]; /* they change places: each has memory of its own */
        f->list[i] = f->list[kept];
        f->list[kept++] = c;
    }
    f->n = kept;
}

void pk_fill_finish(pk_fill *f) {
    for (int32_t i = 0; i < f->n; i++) finish(f, &f->list[i]);
    sort(f);
    drop_doubles(f);
}
