/* align_train.h - expectation maximisation: a corpus becomes the table of one direction.
 *
 * The result is bitwise the same whatever the number of threads: every sum has one order. */
#ifndef PK_ALIGN_TRAIN_H
#define PK_ALIGN_TRAIN_H
#include "align/align_corpus.h"
#include "align/align_table.h"

typedef struct pk_align_training {
    const pk_align_corpus *corpus;
    int                    given; /* side that is given; the other one is generated */
    int32_t                iterations, threads;
    /* share: of this direction's training, 0 to 1; bytes: memory it takes; called from the calling
     * thread; a value other than PK_OK stops */
    pk_status (*progress)(void *user, double share, size_t bytes);
    void *user;
} pk_align_training;

/* As fast_align counts them, the last iteration only aligns: there are iterations - 1 updates. */
pk_status pk_align_train(const pk_align_training *t, pk_align_table *out);
#endif
