/* ngram_count.c - numbering pairs of ids in an open-addressed table; counting n-grams with it.
 *
 * Slots carry the stamp of the generation that filled them, so a new generation clears nothing.
 * At most half of the slots in use are ever taken: a probe always ends. */
#include "metric/ngram_count.h"

#include "base/hash.h"

#include <string.h>

pk_status pk_ngram_begin(pk_ngram_table *t, size_t most) {
    uint32_t bits = 6;
    while (((size_t)1 << bits) < 2 * most) bits++; /* at most half full */
    const size_t needed = (size_t)1 << bits;
    if (needed > t->room) {
        pk_ngram_free(t);
        PK_TRY(PK_TAKE(&t->slot, needed));
        t->room = needed;
    }
    if (++t->stamp == 0) { /* the 32-bit stamp wrapped: old stamps must not look new */
        memset(t->slot, 0, t->room * sizeof *t->slot);
        t->stamp = 1;
    }
    t->shift = 64 - bits;
    t->used = 0;
    return PK_OK;
}

static uint64_t key_of(int32_t a, int32_t b) { return (uint64_t)(uint32_t)a << 32 | (uint32_t)b; }

/* the slot of a key, which is taken if it is new */
static pk_ngram_slot *find(pk_ngram_table *t, uint64_t key) {
    const size_t mask = SIZE_MAX >> t->shift;
    for (size_t i = pk_mix(key) >> t->shift;; i = (i + 1) & mask) {
        pk_ngram_slot *slot = &t->slot[i];
        if (slot->stamp != t->stamp) {
            *slot = (pk_ngram_slot){ .key = key, .stamp = t->stamp, .id = ++t->used };
            return slot;
        }
        if (slot->key == key) return slot;
    }
}

/* A word is numbered letter by letter: id of (id of the word so far, next letter). */
int32_t pk_ngram_word(pk_ngram_table *t, const int32_t *point, size_t n) {
    int32_t id = 0;
    for (size_t i = 0; i < n; i++) id = find(t, key_of(id, point[i]))->id;
    return id;
}

/* One order n, from the ids of order n - 1: the n-gram at i is the pair of (n-1)-grams at i and i +
 * 1. Each pair is replaced by its id, so from order 2 on the list gets one shorter. Matches are
 * clipped: each occurrence in the reference can be matched once. `single` is true for order 1. */
static void count_order(pk_ngram_table *t, pk_ids *reference, pk_ids *hypothesis, bool single,
                        pk_ngram_counts *counts) {
    const size_t less = single ? 0 : 1;
    reference->n -= reference->n < less ? 0 : less;
    hypothesis->n -= hypothesis->n < less ? 0 : less;
    for (size_t i = 0; i < reference->n; i++) {
        int32_t       *id = reference->id + i;
        pk_ngram_slot *slot = find(t, single ? key_of(0, id[0]) : key_of(id[0], id[1]));
        slot->left++;
        *id = slot->id;
    }
    int32_t match = 0;
    for (size_t i = 0; i < hypothesis->n; i++) {
        int32_t       *id = hypothesis->id + i;
        pk_ngram_slot *slot = find(t, single ? key_of(0, id[0]) : key_of(id[0], id[1]));
        if (slot->left > 0) slot->left--, match++;
        *id = slot->id;
    }
    *counts = (pk_ngram_counts){ (int32_t)hypothesis->n, (int32_t)reference->n, match };
}

pk_status pk_ngram_count(pk_ngram_table *t, pk_ids *reference, pk_ids *hypothesis, int32_t n_orders,
                         pk_ngram_counts *counts) {
    for (int32_t order = 1; order <= n_orders; order++) {
        PK_TRY(pk_ngram_begin(t, reference->n + hypothesis->n));
        count_order(t, reference, hypothesis, order == 1, &counts[order - 1]);
    }
    return PK_OK;
}

void pk_ngram_free(pk_ngram_table *t) {
    pk_memory_give(t->slot);
    const uint32_t stamp = t->stamp;
    *t = (pk_ngram_table){ .stamp = stamp };
}
