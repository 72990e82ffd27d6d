/* ranks.h - the processes that train one model together (data-parallel training).
 *
 * Rank r of n takes batches r, r + n, r + 2n ... of the stream, so that the parts of one update are
 * those that a single rank would take with n-fold accumulation; part i of rank r has number
 * i * n + r wherever randomness is drawn. Gradients are summed over ranks as they become final. */
#ifndef PK_RANKS_RANKS_H
#define PK_RANKS_RANKS_H
#include "tensor/backend.h"

typedef struct pk_ranks {
    int32_t     rank, n;
    int32_t     local; /* number among the ranks of this machine: which of its GPUs is ours */
    void       *self;
    const char *how; /* they sum, for people; NULL: one rank alone */
    pk_status (*attach)(struct pk_ranks *r, const pk_backend *on); /* NULL: nothing to do */
    /* Begins to sum count floats on the device over all ranks, in place; may return before it is
     * done. The op that comes after wait() sees the sums. Failures stick until then. */
    void (*sum_gradients)(void *self, float *x, size_t count);
    pk_status (*wait)(void *self);
    /* sums doubles on the host; every rank gets the same bits */
    pk_status (*sum)(void *self, double *x, size_t count);
    void (*close)(void *self, bool well);
} pk_ranks;

/* the ranks that this process was started with */
pk_status pk_ranks_open(pk_ranks *out);
/* whose gradients will be summed; before the first sum_gradients(). `on` must outlive the ranks */
pk_status pk_ranks_attach(pk_ranks *r, const pk_backend *on);
/* well: all ranks end here alike; otherwise the others are ended when this process exits. Accepts a
 * zeroed one */
void pk_ranks_close(pk_ranks *r, bool well);
/* everyone gets what rank 0 has */
pk_status pk_ranks_share(const pk_ranks *r, double *x, size_t count);
#endif
