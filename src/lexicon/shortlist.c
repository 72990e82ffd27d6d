/* shortlist.c - lists for sentences: marks on tokens, read off from the lowest id to the
 * highest. */
#include "lexicon/shortlist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- what is always listed ---- */

typedef struct common {
    float   sum;
    int32_t token;
} common;

static int by_sum(const void *a, const void *b) {
    const common *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* how common each token is: its share of text, or else what all source tokens give to it */
static void weigh(const pk_lexicon *l, common *all, int32_t n) {
    for (int32_t y = 0; y < n; y++)
        all[y] = (common){ l->share && y < l->target_vocab ? l->share[y] : 0, y };
    for (int32_t x = 0; !l->share && x <= l->source_vocab; x++) {
        const pk_lexicon_candidate *entry;
        const int32_t               count = pk_lexicon_row(l, x, &entry);
        for (int32_t i = 0; i < count; i++)
            if (entry[i].token >= 0 && entry[i].token < n && entry[i].prob > 0)
                all[entry[i].token].sum += entry[i].prob;
    }
}

static pk_status add_common(pk_shortlist *s) {
    common *all;
    PK_TRY(PK_TAKE(&all, (size_t)s->n_tokens));
    weigh(s->lexicon, all, s->n_tokens);
    qsort(all, (size_t)s->n_tokens, sizeof *all, by_sum);
    for (int32_t i = 0; i < s->n_tokens && i < s->size.common && all[i].sum > 0; i++)
        s->always[all[i].token] = 1;
    pk_memory_give(all);
    return PK_OK;
}

pk_status pk_shortlist_open(const pk_lexicon *l, const pk_shortlist_needs *needs,
                            pk_shortlist *out) {
    const int32_t n = needs->n_tokens;
    *out =
        (pk_shortlist){ .lexicon = l, .size = needs->size, .n_tokens = n, .copies = needs->copies };
    PK_TRY(PK_TAKE(&out->always, (size_t)n));
    if (needs->always) memcpy(out->always, needs->always, (size_t)n);
    out->always[needs->eos] = 1;
    const pk_status status = add_common(out);
    if (status != PK_OK) {
        pk_shortlist_close(out);
        return status;
    }
    for (int32_t y = 0; y < n; y++) out->n_always += out->always[y];
    out->longest = out->n_always + needs->most_given;
    if (out->longest < needs->size.longest) out->longest = needs->size.longest;
    if (out->longest > n) out->longest = n;
    return PK_OK;
}

void pk_shortlist_close(pk_shortlist *s) {
    pk_memory_give(s->always);
    *s = (pk_shortlist){ 0 };
}

/* ---- one sentence ---- */

static int32_t add(const pk_shortlist *s, int32_t token, uint8_t *listed) {
    if (token < 0 || token >= s->n_tokens || listed[token]) return 0;
    listed[token] = 1;
    return 1;
}

/* `each` translations of every source token; returns how many tokens are listed */
static int32_t list_all(const pk_shortlist *s, const pk_shortlist_request *q, int32_t each,
                        uint8_t *listed) {
    int32_t n = s->n_always;
    memcpy(listed, s->always, (size_t)s->n_tokens);
    for (int32_t i = 0; i < q->n_prefix; i++) n += add(s, q->prefix[i], listed);
    for (int32_t i = 0; i < q->n_source; i++) {
        const pk_lexicon_candidate *entry;
        const int32_t               count = pk_lexicon_row(s->lexicon, q->source[i], &entry);
        if (s->copies) n += add(s, q->source[i], listed);
        for (int32_t k = 0; k < count && k < each; k++) n += add(s, entry[k].token, listed);
    }
    return n;
}

int32_t pk_shortlist_find(const pk_shortlist *s, const pk_shortlist_request *q, uint8_t *listed,
                          int32_t *out) {
    int32_t each = s->size.each, n = 0;
    while (list_all(s, q, each, listed) > s->longest && each > 0) each /= 2;
    for (int32_t y = 0; y < s->n_tokens; y++)
        if (listed[y]) out[n++] = y;
    assert(n <= s->longest); /* without translations there is room for all */
    memset(listed, 0, (size_t)s->n_tokens);
    return n;
}
