/* ranks.c - the ranks of an mpirun (ranks_mpi.c), or one rank alone: a sum over one rank changes
 * nothing. */
#include "ranks/ranks.h"

#include "ranks/ranks_mpi.h"

static void sum_gradients(void *self, float *x, size_t count) { (void)self, (void)x, (void)count; }

static pk_status wait_sums(void *self) {
    (void)self;
    return PK_OK;
}

static pk_status sum(void *self, double *x, size_t count) {
    (void)self, (void)x, (void)count;
    return PK_OK;
}

pk_status pk_ranks_open(pk_ranks *out) {
    *out = (pk_ranks){ .n = 1, .sum_gradients = sum_gradients, .wait = wait_sums, .sum = sum };
    return pk_ranks_mpi_wanted() ? pk_ranks_mpi_open(out) : PK_OK;
}

pk_status pk_ranks_attach(pk_ranks *r, const pk_backend *on) {
    return r->attach ? r->attach(r, on) : PK_OK;
}

void pk_ranks_close(pk_ranks *r, bool well) {
    if (r->close) r->close(r->self, well);
    *r = (pk_ranks){ 0 };
}

pk_status pk_ranks_share(const pk_ranks *r, double *x, size_t count) {
    for (size_t i = 0; r->rank > 0 && i < count; i++) x[i] = 0;
    return r->sum(r->self, x, count);
}
