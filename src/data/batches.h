/* batches.h - the plan of an epoch: which pairs, in which batches, in which order.
 *
 * Pairs are drawn by the corpora's weights and shuffled; within windows of the shuffled epoch they
 * are sorted by length and cut into batches by token budget; then the batches are shuffled. Every
 * choice is a function of the seed and the epoch. */
#ifndef PK_DATA_BATCHES_H
#define PK_DATA_BATCHES_H
#include "data/corpus_cache.h"

typedef struct pk_batch_plan_options {
    const pk_corpus *corpus;
    const double    *weight; /* one a corpus; not looked at with in_order */
    size_t           n_corpora;
    int32_t          max_length, batch_tokens; /* as in loader.h */
    uint64_t         seed;
    bool             in_order;
    double stretch; /* sampled segmentations are so much longer than the best; at least 1 */
} pk_batch_plan_options;

/* One pair of the epoch. Pairs are numbered through all corpora. */
typedef struct pk_planned {
    uint32_t pair;
    uint16_t length[2]; /* source, target; as planned with */
} pk_planned;

typedef struct pk_batch_plan {
    pk_planned *pair, *spare;
    size_t      n, room, spare_room;
    uint32_t   *start; /* (n_batches + 1) first pair of each batch as they were cut */
    uint32_t   *order; /* (n_batches) the batches in the order they are given out */
    size_t      n_batches, start_room, order_room;
} pk_batch_plan;

pk_status pk_batch_plan_make(pk_batch_plan *p, const pk_batch_plan_options *o,
                             uint64_t epoch); /* memory is reused */
void      pk_batch_plan_free(pk_batch_plan *p);
/* the pairs of the epoch's i-th batch */
const pk_planned *pk_batch_plan_batch(const pk_batch_plan *p, size_t i, size_t *n);
/* a number that no two (seed, what, i) have in common but by chance */
uint64_t pk_batch_plan_key(uint64_t seed, uint64_t what, uint64_t i);
#endif
