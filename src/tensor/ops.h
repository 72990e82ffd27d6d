/* ops.h - what model code calls: check shapes, take the output from scratch memory, call the
 * backend.
 *
 * No errors here: model code reads as mathematics, and the caller asks pk_run_status() once at the
 * end. An op whose name ends in _over works in place: the result overwrites its tensor argument, so
 * that a deep stack needs the scratch memory of one layer. With a tape nothing is overwritten. */
#ifndef PK_TENSOR_OPS_H
#define PK_TENSOR_OPS_H
#include <assert.h>

#include "base/arena.h"
#include "tensor/backend.h"

typedef struct pk_run { /* one forward pass */
    const pk_backend *on;
    pk_arena         *scratch;
    struct pk_tape   *tape;   /* records every op, see tape.h; NULL when translating */
    pk_status         status; /* the first failure sticks */
    pk_module         module; /* where time is spent now */
    double            since;  /* when it was entered, in seconds of the clock */
    double            seconds[PK_N_MODULES];
} pk_run;

void      pk_run_begin(pk_run *r, const pk_backend *on, pk_arena *scratch);
pk_status pk_run_status(pk_run *r);
/* from here on time counts for this module */
void pk_run_enter(pk_run *r, pk_module module);

/* a tensor of activations from scratch memory, uninitialised */
pk_tensor pk_scratch(pk_run *r, int32_t rows, int32_t cols);
/* a view: columns [first, first + cols) of a tensor */
pk_tensor pk_columns(pk_tensor t, int32_t first, int32_t cols);
/* a view: its first rows */
pk_tensor pk_first_rows(pk_tensor t, int32_t rows);
/* what the scratch holds now; release gives back all that came after, unless a tape needs it */
static inline size_t pk_run_used(const pk_run *r) { return r->scratch->used; }

static inline void pk_run_release(pk_run *r, size_t used) {
    assert(used <= r->scratch->used); /* blocks end in the order in which they began */
    if (!r->tape) r->scratch->used = used;
}
/* records a failure; the first one sticks. Always returns false */
bool pk_run_refuse(pk_run *r, pk_status why, const char *what);
/* whether an op may be called: its arguments fit, and nothing failed before. Shapes that do not fit
 * are an error of our own code, so this is asserted too. */
bool pk_run_fits(pk_run *r, bool shapes_fit, const char *op);

/* (n, cols of the table): rows of the table for tokens, plus rows of positions */
pk_tensor pk_embed(pk_run *r, const pk_weight *table, const int32_t *token, float scale,
                   const pk_weight *position, const int32_t *pos, int32_t n);
/* x w^T, (rows of x, rows of w), then the steps of `after` */
pk_tensor pk_linear(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after);
/* the same in place: the result overwrites after's residual */
pk_tensor pk_linear_over(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after);
/* layer norm of each row */
pk_tensor pk_norm_rows(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *bias,
                       float epsilon);
pk_tensor pk_norm_over(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *bias,
                       float epsilon);
pk_tensor pk_attend(pk_run *r, pk_tensor q, pk_tensor k, pk_tensor v, const pk_attention *see);
void      pk_answers(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                     const pk_answering *a);
void      pk_edges(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_edging *e);
void      pk_advance(pk_run *r, const pk_following *f);
#endif
