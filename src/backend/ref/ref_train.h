/* ref_train.h - the ops of training of the backend `ref` that have files of their own. */
#ifndef PK_BACKEND_REF_TRAIN_H
#define PK_BACKEND_REF_TRAIN_H
#include "tensor/training.h"

extern const pk_training pk_ref_training;

void pk_ref_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                     pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                     float *moments);
void pk_ref_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                          float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                          const float *moments, pk_drop drop);
void pk_ref_norm_keep(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                      const pk_weight *shift, float epsilon, float *moments);
void pk_ref_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                      pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments);
void pk_ref_attend_segments(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                            const pk_attention *see, pk_drop drop, float *sums);
void pk_ref_attend_back(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                        pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                        const pk_attention *see, pk_drop drop, const float *sums);
void pk_ref_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                 const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                 pk_tensor d_hidden, float *d_table, float *d_bias, void *work);
size_t pk_ref_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows);

/* one number of a tensor or of a plain weight, and where it lies */
static inline float *pk_ref_at(pk_tensor t, int32_t row, int32_t col) {
    return t.data + (size_t)row * (size_t)t.stride + (size_t)col;
}
/* what number (row, col) of a tensor is multiplied with */
static inline float pk_ref_keep(pk_drop drop, pk_tensor t, int32_t row, int32_t col) {
    return pk_drop_factor(drop, (uint64_t)row * (uint64_t)t.cols + (uint64_t)col);
}
#endif
