/* ngrams.c - a hash table without chains: one entry per bucket. Another successor, or other tokens
 * that hash to the same bucket, take votes away from the entry and replace it when one is left. So
 * what is frequent stays, and the memory is bounded. */
#include "decode/ngrams.h"

#include <string.h>

#include "base/memory.h"
#include "decode/pass.h"

enum { MOST_VOTES = 255 };

pk_status pk_ngrams_open(int32_t bits, pk_ngrams **out) {
    *out = NULL;
    if (bits < 4 || bits > 24)
        PK_FAIL(PK_ARGUMENT, "a table of n-grams takes 4 to 24 bits, not %d", (int)bits);
    pk_ngrams *g;
    PK_TRY(PK_TAKE(&g, 1));
    g->bits = bits;
    const pk_status status = PK_TAKE(&g->entry, (size_t)1 << bits);
    if (status != PK_OK) {
        pk_memory_give(g);
        return status;
    }
    pk_rates_begin(&g->rates);
    *out = g;
    return PK_OK;
}

void pk_ngrams_close(pk_ngrams *g) {
    if (g) pk_memory_give(g->entry);
    pk_memory_give(g);
}

void pk_ngrams_clear(pk_ngrams *g) {
    memset(g->entry, 0, sizeof *g->entry << g->bits);
    pk_rates_begin(&g->rates);
}

/* multiply and shift, as MurmurHash's last steps; the order is part of it, so 2- and 3-grams
 * differ */
static uint32_t hash(const int32_t *token, int32_t order) {
    uint32_t h = (uint32_t)order * 0x9E3779B1u;
    for (int32_t i = 0; i < order; i++) {
        h = (h ^ (uint32_t)token[i]) * 0x85EBCA6Bu;
        h ^= h >> 15;
    }
    h *= 0xC2B2AE35u;
    return h ^ h >> 13;
}

/* the upper bits choose the bucket; the whole hash is stored to check which n-gram it holds */
static pk_ngram *bucket(const pk_ngrams *g, uint32_t h) { return &g->entry[h >> (32 - g->bits)]; }

/* token[0 .. order - 1] was followed by token[order] */
static void vote(pk_ngrams *g, const int32_t *token, int32_t order) {
    const uint32_t h = hash(token, order);
    const int32_t  next = token[order];
    pk_ngram      *e = bucket(g, h);
    if (e->count && e->check == h && e->next == next)
        e->count += e->count < MOST_VOTES;
    else if (e->count > 1)
        e->count--;
    else
        *e = (pk_ngram){ h, next, 1 };
}

void pk_ngrams_learn(pk_ngrams *g, const int32_t *token, int32_t n) {
    for (int32_t order = PK_NGRAMS_LOWEST; order <= PK_NGRAMS_HIGHEST; order++)
        for (int32_t i = 0; i + order < n; i++) vote(g, token + i, order);
}

int32_t pk_ngrams_next(const pk_ngrams *g, int32_t order, const int32_t *token, int32_t n,
                       int32_t *votes) {
    *votes = 0;
    if (n < order) return PK_NO_TOKEN;
    const uint32_t  h = hash(token + n - order, order);
    const pk_ngram *e = bucket(g, h);
    if (!e->count || e->check != h) return PK_NO_TOKEN;
    *votes = e->count;
    return e->next;
}
