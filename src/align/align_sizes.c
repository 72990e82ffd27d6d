/* align_sizes.c - sorts the pairs' lengths; numbers depend on a size alone.
 *
 * The prior on positions knows of a pair only its two lengths. A corpus of millions of pairs has
 * some thousand sizes, so what the prior needs is computed once for each size. */
#include "align/align_sizes.h"

#include <stdlib.h>

#include "align/align_threads.h"
#include "base/memory.h"

static int compare_keys(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* the two lengths as one number: generated in the upper half, given in the lower */
static uint64_t key_of(const pk_align_size *s) { return (uint64_t)s->m << 32 | s->n; }

static uint64_t pair_key(const pk_align_corpus *c, size_t pair, int given) {
    return (uint64_t)pk_align_corpus_length(c, pair, !given) << 32 |
           pk_align_corpus_length(c, pair, given);
}

/* key: of all pairs, sorted */
static pk_status list_sizes(pk_align_sizes *s, const uint64_t *key, size_t n_pairs) {
    size_t n = 0, start = 0;
    for (size_t i = 0; i < n_pairs; i++) n += i == 0 || key[i] != key[i - 1];
    PK_TRY(PK_TAKE(&s->size, n));
    PK_TRY(PK_TAKE(&s->start, n + 1));
    for (size_t i = 0; i < n_pairs; i++) {
        if (i == 0 || key[i] != key[i - 1]) {
            s->start[s->n] = start;
            s->size[s->n] = (pk_align_size){ (uint32_t)(key[i] >> 32), (uint32_t)key[i], 0 };
            start += s->size[s->n++].m;
        }
        s->size[s->n - 1].pairs++;
    }
    s->start[s->n] = start;
    return PK_TAKE(&s->scale, start);
}

/* binary search; every key is in the list */
static uint32_t find_size(const pk_align_sizes *s, uint64_t key) {
    size_t at = 0;
    for (size_t n = s->n; n > 1;) {
        const bool up = key_of(&s->size[at + n / 2]) <= key;
        at += up ? n / 2 : 0;
        n = up ? n - n / 2 : n / 2;
    }
    return (uint32_t)at;
}

/* sorts all pairs' keys, lists each size once, and finds each pair's size */
static pk_status find_sizes(const pk_align_corpus *c, int given, pk_align_sizes *s) {
    uint64_t *key;
    PK_TRY(PK_TAKE(&key, c->n));
    for (size_t i = 0; i < c->n; i++) key[i] = pair_key(c, i, given);
    qsort(key, c->n, sizeof *key, compare_keys);
    const pk_status status = list_sizes(s, key, c->n);
    pk_memory_give(key);
    PK_TRY(status);
    PK_TRY(PK_TAKE(&s->of_pair, c->n));
    for (size_t i = 0; i < c->n; i++) s->of_pair[i] = find_size(s, pair_key(c, i, given));
    return PK_OK;
}

/* which lengths occur on either side: curves are needed for those only */
static pk_status find_lengths(pk_align_sizes *s) {
    uint32_t longest = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->size[i].m > longest) longest = s->size[i].m;
        if (s->size[i].n > longest) longest = s->size[i].n;
    }
    PK_TRY(PK_TAKE(&s->occurs, (size_t)longest + 1));
    for (size_t i = 0; i < s->n; i++) s->occurs[s->size[i].m] = s->occurs[s->size[i].n] = 1;
    return pk_align_curves_open(s->occurs, longest, &s->curves);
}

pk_status pk_align_sizes_open(const pk_align_corpus *c, int given, pk_align_sizes *out) {
    *out = (pk_align_sizes){ 0 };
    pk_status status = find_sizes(c, given, out);
    if (status == PK_OK) status = find_lengths(out);
    if (status != PK_OK) pk_align_sizes_close(out);
    return status;
}

void pk_align_sizes_close(pk_align_sizes *s) {
    pk_align_curves_close(&s->curves);
    pk_memory_give(s->occurs);
    pk_memory_give(s->scale);
    pk_memory_give(s->of_pair);
    pk_memory_give(s->start);
    pk_memory_give(s->size);
    *s = (pk_align_sizes){ 0 };
}

/* one size: the factor of each generated position */
static pk_status set_scale(void *context, size_t task, int32_t worker) {
    pk_align_sizes      *s = context;
    const pk_align_size *size = &s->size[task];
    float               *scale = s->scale + s->start[task];
    (void)worker;
    for (uint32_t j = 1; j <= size->m; j++)
        scale[j - 1] =
            (float)((1 - PK_ALIGN_NULL) / pk_align_normaliser(j, size->m, size->n, s->tension));
    return PK_OK;
}

pk_status pk_align_sizes_set(pk_align_sizes *s, double tension, int32_t threads) {
    s->tension = tension;
    pk_align_curves_set(&s->curves, s->occurs, tension);
    return pk_align_parallel(threads, s->n, set_scale, s);
}
