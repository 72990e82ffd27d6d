/* cpu_train.h - what the ops of training of the cpu backend share: cutting work into parts. */
#ifndef PK_CPU_TRAIN_H
#define PK_CPU_TRAIN_H
#include "backend/cpu/cpu_state.h"
#include "backend/cpu/train_kernels.h"

extern const pk_training pk_cpu_training;

/* items first .. end - 1 of a job; worker names the thread, for scratch memory */
typedef void pk_share(void *job, int32_t first, int32_t end, int32_t worker);
/* Shares n items out over the threads; work: numbers touched by all of them. Parts are whole items
 * and an item is done by one thread, so how many parts there are changes no number. */
void pk_cpu_share(pk_cpu *cpu, pk_share *part, void *job, int32_t n, int64_t work);
/* the same for columns: parts begin at whole vectors */
void pk_cpu_share_columns(pk_cpu *cpu, pk_share *part, void *job, int32_t cols, int64_t work);
/* a thread's scratch memory */
float *pk_cpu_train_scratch(const pk_cpu *cpu, int32_t worker);
/* false, and a status that sticks, where reserve was not called or something failed before */
bool pk_cpu_train_ready(pk_cpu *cpu, int32_t longest_segment);

/* a whole product, shared out */
void pk_cpu_multiply(pk_cpu *cpu, const pk_product_part *whole);
/* to (cols) += sums of the columns */
void pk_cpu_sum_columns(pk_cpu *cpu, float *to, pk_tensor rows);

void pk_cpu_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                     pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                     float *moments);
void pk_cpu_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                          float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                          const float *moments, pk_drop drop);
void pk_cpu_norm_keep(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                      const pk_weight *shift, float epsilon, float *moments);
void pk_cpu_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                      pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments);
void pk_cpu_embed_keep(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                       float scale, const pk_weight *position, const int32_t *pos, pk_drop drop);
void pk_cpu_embed_back(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                       float scale, float *d_position, const int32_t *pos, pk_drop drop);
void pk_cpu_activate(void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop);
void pk_cpu_activate_back(void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act,
                          pk_drop drop);
void pk_cpu_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                 const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                 pk_tensor d_hidden, float *d_table, float *d_bias, void *work);
size_t pk_cpu_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows);
#endif
