/* align_successors.c - counts what follows each word: all successors of a word side by side, then
 * its most frequent ones. The result depends on the text alone. */
#include "align/align_successors.h"

#include <stdlib.h>

#include "base/memory.h"

typedef struct counted {
    uint32_t count, word;
} counted;

typedef struct counting {
    const pk_align_corpus *c;
    int                    side;
    uint32_t               n;     /* words: number of the beginning and of the end */
    size_t                *begin; /* [n + 2] of each word's successors in `follows` */
    uint32_t              *follows;
    uint32_t              *count;   /* [n + 1] of one word's successors, zeros between */
    counted               *touched; /* [n + 1] */
    uint32_t              *first, *word;
    float                 *prob, *share;
    size_t                 room[2], n_entries;
} counting;

static void free_counting(counting *k) {
    void *const blocks[] = { k->begin, k->follows, k->count, k->touched };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
}

/* calls `see` for each two neighbours, sentence by sentence */
static void walk(counting *k, void (*see)(counting *k, uint32_t before, uint32_t after)) {
    const pk_align_corpus *c = k->c;
    for (size_t pair = 0; pair < c->n; pair++) {
        const uint32_t *token = c->token[k->side] + c->first[k->side][pair];
        const uint32_t  n = pk_align_corpus_length(c, pair, k->side);
        for (uint32_t i = 0; n && i <= n; i++)
            see(k, i ? token[i - 1] : k->n, i < n ? token[i] : k->n);
    }
}

static void count_one(counting *k, uint32_t before, uint32_t after) {
    (void)after;
    k->begin[before + 1]++;
}

/* begin[before] moves on to the end of the word's successors */
static void place_one(counting *k, uint32_t before, uint32_t after) {
    k->follows[k->begin[before]++] = after;
}

/* the most frequent first, then the lower number */
static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* the row of one word: successors follows[from .. to) */
static pk_status add_row(counting *k, size_t from, size_t to) {
    uint32_t n = 0;
    for (size_t i = from; i < to; i++)
        if (k->count[k->follows[i]]++ == 0) k->touched[n++].word = k->follows[i];
    for (uint32_t i = 0; i < n; i++) {
        k->touched[i].count = k->count[k->touched[i].word];
        k->count[k->touched[i].word] = 0;
    }
    qsort(k->touched, n, sizeof *k->touched, by_count);
    if (n > PK_ALIGN_SUCCESSORS) n = PK_ALIGN_SUCCESSORS;
    PK_TRY(PK_RESERVE(&k->word, k->n_entries + n, &k->room[0]));
    PK_TRY(PK_RESERVE(&k->prob, k->n_entries + n, &k->room[1]));
    for (uint32_t i = 0; i < n; i++, k->n_entries++) {
        k->word[k->n_entries] = k->touched[i].word;
        k->prob[k->n_entries] = (float)((double)k->touched[i].count / (double)(to - from));
    }
    return PK_OK;
}

static pk_status take(counting *k) {
    const size_t n = k->n;
    PK_TRY(PK_TAKE(&k->begin, n + 2));
    PK_TRY(PK_TAKE(&k->follows, k->c->n_tokens[k->side] + k->c->n));
    PK_TRY(PK_TAKE(&k->count, n + 1));
    PK_TRY(PK_TAKE(&k->touched, n + 1));
    PK_TRY(PK_TAKE(&k->first, n + 2));
    PK_TRY(PK_RESERVE(&k->word, 1, &k->room[0]));
    PK_TRY(PK_RESERVE(&k->prob, 1, &k->room[1]));
    return PK_TAKE(&k->share, n + 1);
}

static pk_status count_all(counting *k) {
    size_t all = 0;
    PK_TRY(take(k));
    walk(k, count_one);
    for (uint32_t x = 0; x <= k->n; x++) k->begin[x + 1] += k->begin[x];
    all = k->begin[k->n + 1];
    walk(k, place_one);
    for (size_t i = 0; i < all; i++) k->share[k->follows[i]] += 1.0f;
    for (uint32_t x = 0; x <= k->n; x++) {
        PK_TRY(add_row(k, x ? k->begin[x - 1] : 0, k->begin[x]));
        k->first[x + 1] = (uint32_t)k->n_entries;
        k->share[x] /= (float)(all ? all : 1);
    }
    return PK_OK;
}

pk_status pk_align_successors_count(const pk_align_corpus *c, int side, pk_align_successors *out) {
    counting        k = { .c = c, .side = side, .n = (uint32_t)c->words[side].n };
    const pk_status status = count_all(&k);
    free_counting(&k);
    *out = (pk_align_successors){ k.n, k.first, k.word, k.prob, k.share };
    if (status != PK_OK) pk_align_successors_free(out);
    return status;
}

void pk_align_successors_free(pk_align_successors *s) {
    pk_memory_give((void *)(uintptr_t)s->first);
    pk_memory_give((void *)(uintptr_t)s->word);
    pk_memory_give((void *)(uintptr_t)s->prob);
    pk_memory_give((void *)(uintptr_t)s->share);
    *s = (pk_align_successors){ 0 };
}
