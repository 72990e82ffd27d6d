/* batch_fill.h - planned pairs become token ids: copied from the cache, or segmented at random. */
#ifndef PK_DATA_BATCH_FILL_H
#define PK_DATA_BATCH_FILL_H
#include "data/batches.h"

typedef struct pk_batch_filler {
    const pk_corpus *corpus;
    size_t           n_corpora;
    const pk_vocab  *vocab;
    float            sampling; /* 0: ids are in the cache; else texts are */
    int32_t          max_length, batch_tokens;
    uint64_t         seed;
} pk_batch_filler;

/* one batch; pairs come from the plan */
typedef struct pk_filled {
    uint64_t    number;
    pk_planned *pair;
    size_t      n, room;
    pk_ids      ids[2], first[2]; /* source, target; first: (n + 1) */
} pk_filled;

/* copies the pairs and stores the batch's number */
pk_status pk_filled_assign(pk_filled *b, uint64_t number, const pk_planned *pair, size_t n);
/* Writes the ids. May run on many threads for different batches; the result depends on the number
 * and the pairs alone. */
pk_status pk_filled_make(pk_filled *b, const pk_batch_filler *f);
void      pk_filled_free(pk_filled *b);
/* How much longer sampled segmentations are than the best ones, over some pairs of each corpus, and
 * a little: batches planned with this seldom lack room for what is drawn. */
pk_status pk_batch_stretch(const pk_batch_filler *f, double *stretch);
#endif
