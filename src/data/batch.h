/* batch.h - sentence pairs as token ids: what the data side hands to the tasks. */
#ifndef PK_DATA_BATCH_H
#define PK_DATA_BATCH_H
#include <stdint.h>

/* n pairs, ids end to end, no end symbols and no padding: sentence i is
 * source[source_first[i] .. source_first[i + 1]), and so for target. Valid until the next batch. */
typedef struct pk_batch {
    int32_t        n;
    const int32_t *source, *target;
    const int32_t *source_first, *target_first; /* (n + 1) */
} pk_batch;
#endif
