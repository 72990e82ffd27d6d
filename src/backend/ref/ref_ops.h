/* ref_ops.h - the ops of the backend `ref` that have files of their own. */
#ifndef PK_BACKEND_REF_OPS_H
#define PK_BACKEND_REF_OPS_H
#include "tensor/backend.h"

/* out (w->rows) = row of x (w->cols) times w^T, no bias: the one product that all ops share */
void pk_ref_product(const float *x, const pk_weight *w, float *out);
void pk_ref_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after);
void pk_ref_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                 const pk_weight *shift, float epsilon);
void pk_ref_scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot);
void pk_ref_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see);
void pk_ref_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a);
void pk_ref_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_edging *e);
/* a block of n floats for the rest of this op; NULL, and a status that sticks, when there is
 * none */
float *pk_ref_scratch(void *self, size_t n);
#endif
