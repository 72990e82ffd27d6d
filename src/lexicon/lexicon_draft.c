/* lexicon_draft.c - the guesses of lexicon_draft.h. The numbers below were chosen by passes saved
 * on newstest2014 (bench/guesses.c); nothing but speed depends on them. */
#include "lexicon/lexicon_draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { EACH = 12 /* translations of a source token */ };
#define SAME       0.7f  /* weights of source tokens: the one just translated goes on, ... */
#define FURTHER    0.55f /* ... the next one has 1, each further one this much less, ... */
#define BACK       0.2f  /* ... and those before it only this, and less the further */
#define FARTHEST   1e-3f
#define USED       0.3f  /* of what was translated before */
#define NULL_SHARE 0.1f  /* of tokens that translate nothing */
#define COPIED     0.06f /* a source token as its own translation, ... */
#define UNKNOWN    0.3f  /* ... and where no other is known */
#define ANY        0.4f  /* of P(z) in P(z | y): what was not seen behind y */

/* ---- a sentence's candidates ---- */

static int by_id(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* where a token is in the list; -1: it is not */
static int32_t find(const pk_lexicon_draft *d, int32_t token) {
    const int32_t *at = bsearch(&token, d->token, (size_t)d->n_tokens, sizeof *d->token, by_id);
    return at ? (int32_t)(at - d->token) : -1;
}

/* adds up to EACH entries of a row, and the source token itself; returns how many */
static int32_t add_row(const pk_lexicon *l, int32_t from, int32_t vocab,
                       pk_lexicon_candidate *out) {
    const pk_lexicon_candidate *entry = NULL;
    const int32_t               all = pk_lexicon_row(l, from, &entry);
    int32_t                     n = 0;
    bool                        itself = from >= vocab || from == l->source_vocab;
    for (int32_t i = 0; i < all && n < EACH; i++) {
        const int32_t token = entry[i].token;
        if (token < 0 || token >= vocab || token >= l->target_vocab || !(entry[i].prob > 0))
            continue;
        itself |= token == from;
        out[n++] = entry[i];
    }
    if (!itself && from >= 0) out[n] = (pk_lexicon_candidate){ from, n ? COPIED : UNKNOWN }, n++;
    return n;
}

/* candidates of all source tokens and null, by id; then all ids once, and places for ids */
static void gather(pk_lexicon_draft *d, const int32_t *source, int32_t vocab) {
    const pk_lexicon *l = d->lexicon;
    int32_t           n = 0;
    for (int32_t a = 0; a <= d->n_source; a++) {
        d->first[a] = n;
        n += add_row(l, a < d->n_source ? source[a] : l->source_vocab, vocab, d->candidate + n);
    }
    d->first[d->n_source + 1] = n;
    for (int32_t i = 0; i < n; i++) d->token[i] = d->candidate[i].token;
    d->token[n] = d->eos;
    qsort(d->token, (size_t)n + 1, sizeof *d->token, by_id);
    for (int32_t i = 0; i <= n; i++)
        if (!i || d->token[i] != d->token[i - 1]) d->token[d->n_tokens++] = d->token[i];
    for (int32_t i = 0; i < n; i++) d->candidate[i].token = find(d, d->candidate[i].token);
}

static pk_status take(pk_lexicon_draft *d) {
    const size_t n = (size_t)d->n_source, room = (n + 1) * (EACH + 1) + 1;
    PK_TRY(PK_TAKE(&d->first, n + 2));
    PK_TRY(PK_TAKE(&d->candidate, room));
    PK_TRY(PK_TAKE(&d->token, room));
    PK_TRY(PK_TAKE(&d->sum, room));
    PK_TRY(PK_TAKE(&d->follows, room));
    PK_TRY(PK_TAKE(&d->certain.used, n));
    return PK_TAKE(&d->guessed.used, n);
}

pk_status pk_lexicon_draft_open(const pk_lexicon *l, const int32_t *source, int32_t n,
                                int32_t vocab, int32_t eos, pk_lexicon_draft *out) {
    *out = (pk_lexicon_draft){ .lexicon = l, .n_source = n, .eos = eos };
    out->certain.at = -1;
    const pk_status status = take(out);
    if (status != PK_OK)
        pk_lexicon_draft_close(out);
    else
        gather(out, source, vocab);
    return status;
}

void pk_lexicon_draft_close(pk_lexicon_draft *d) {
    void *const blocks[] = { d->first,   d->candidate,    d->token,       d->sum,
                             d->follows, d->certain.used, d->guessed.used };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    *d = (pk_lexicon_draft){ 0 };
}

/* ---- where the output is in the source ---- */

/* what source token a has to say when the last token translated is `at` */
static float weight(const pk_draft_place *p, int32_t a) {
    const int32_t distance = a - p->at, steps = distance > 0 ? distance - 1 : -distance - 1;
    float         w = distance > 0 ? 1 : distance < 0 ? BACK : SAME;
    for (int32_t i = 0; i < steps && w >= FARTHEST; i++) w *= FURTHER;
    return p->used[a] ? w * USED : w;
}

/* one more output token: the source token that it most probably translates is used then */
static void move(const pk_lexicon_draft *d, pk_draft_place *p, int32_t token) {
    const int32_t place = find(d, token);
    float         most = 0;
    int32_t       at = -1;
    for (int32_t a = 0; a < d->n_source && place >= 0; a++)
        for (int32_t i = d->first[a]; i < d->first[a + 1]; i++) {
            if (d->candidate[i].token != place) continue;
            const float score = d->candidate[i].prob * weight(p, a);
            if (score > most) most = score, at = a;
        }
    if (at >= 0) p->at = at, p->used[at] = 1;
    p->n++;
}

static void move_to(const pk_lexicon_draft *d, pk_draft_place *p, const int32_t *output,
                    int32_t n) {
    while (p->n < n) move(d, p, output[p->n]);
}

/* ---- one guess ---- */

static void add_source(pk_lexicon_draft *d, const pk_draft_place *p) {
    for (int32_t a = 0; a <= d->n_source; a++) {
        const float w = a < d->n_source ? weight(p, a) : NULL_SHARE;
        if (w < FARTHEST) continue;
        for (int32_t i = d->first[a]; i < d->first[a + 1]; i++)
            d->sum[d->candidate[i].token] += w * d->candidate[i].prob;
    }
    const int32_t left = d->n_source - 1 - p->at;
    d->sum[find(d, d->eos)] += left <= 0 ? 1 : 0.02f / (float)left;
}

/* P(z | y) / P(z) of all candidates z; y -1: the beginning */
static void find_followers(pk_lexicon_draft *d, int32_t y) {
    const pk_lexicon *l = d->lexicon;
    for (int32_t i = 0; i < d->n_tokens; i++) d->follows[i] = ANY;
    if (!l->next_first || y >= l->target_vocab) return;
    const int32_t row = y < 0 ? l->target_vocab : y;
    for (uint32_t k = l->next_first[row]; k < l->next_first[row + 1]; k++) {
        const int32_t place = find(d, l->next[k].token);
        const float   share = place >= 0 ? l->share[d->token[place]] : 0;
        if (share > 0) d->follows[place] += (1 - ANY) * l->next[k].prob / share;
    }
}

int32_t pk_lexicon_draft_next(pk_lexicon_draft *d, const int32_t *output, int32_t n, int32_t ahead,
                              float *share) {
    float   most = 0, all = 0;
    int32_t best = -1;
    move_to(d, &d->certain, output, n - ahead);
    if (ahead == 0) { /* what was guessed before may have been wrong */
        d->guessed.n = d->certain.n, d->guessed.at = d->certain.at;
        memcpy(d->guessed.used, d->certain.used, (size_t)d->n_source);
    }
    move_to(d, &d->guessed, output, n);
    add_source(d, &d->guessed);
    find_followers(d, n ? output[n - 1] : -1);
    for (int32_t i = 0; i < d->n_tokens; i++) {
        const float score = d->sum[i] * d->follows[i];
        if (score > most) most = score, best = i;
        all += score;
        d->sum[i] = 0;
    }
    const float part = most / all; /* no number, of a damaged file, is no share */
    *share = part >= 0 && part <= 1 ? part : 0;
    return best < 0 ? -1 : d->token[best];
}
