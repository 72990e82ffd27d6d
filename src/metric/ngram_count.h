/* ngram_count.h - counts of n-grams in two sequences of ids, and how many they share.
 *
 * An n-gram is known by a number: that of the pair (its first n-1 ids, its last n-1 ids). Pairs are
 * numbered by an exact hash table, so no two different n-grams are ever taken for one another, and
 * nothing is allocated per n-gram. Words are numbered the same way, one letter after the other. */
#ifndef PK_METRIC_NGRAM_COUNT_H
#define PK_METRIC_NGRAM_COUNT_H
#include <stdbool.h>

#include "base/ids.h"

typedef struct pk_ngram_slot {
    uint64_t key;
    uint32_t stamp; /* the slot is empty unless this is the table's */
    int32_t  id;    /* 1, 2, 3 ... in order of appearance */
    int32_t  left;  /* reference occurrences not yet matched */
} pk_ngram_slot;

typedef struct pk_ngram_table { /* zeroed: an empty table */
    pk_ngram_slot *slot;
    size_t         room;
    uint32_t       shift; /* 64 - log2 of the slots in use */
    uint32_t       stamp;
    int32_t        used;
} pk_ngram_table;

typedef struct pk_ngram_counts {
    int32_t hypothesis, reference, match;
} pk_ngram_counts;

/* forgets all ids and makes room for `most` different keys */
pk_status pk_ngram_begin(pk_ngram_table *t, size_t most);
/* the id of the word of n > 0 points; equal words have equal ids until the next begin. A word costs
 * at most n keys. */
int32_t pk_ngram_word(pk_ngram_table *t, const int32_t *point, size_t n);
/* counts orders 1..n_orders into counts[0..]; match is the sum over n-grams of the smaller count.
 * Uses up the contents of both lists. */
pk_status pk_ngram_count(pk_ngram_table *t, pk_ids *reference, pk_ids *hypothesis, int32_t n_orders,
                         pk_ngram_counts *counts);
void      pk_ngram_free(pk_ngram_table *t);
#endif
