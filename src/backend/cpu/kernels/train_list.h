/* train_list.h - the kernels of training of one instruction set, and what their rows share.
 *
 * Rows are walked in blocks of 64 numbers, because that many factors of dropout are found at
 * once. */
#ifndef PK_CPU_TRAIN_LIST_H
#define PK_CPU_TRAIN_LIST_H
#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/train_kernels.h"

extern const pk_train_kernels PK_KERNEL(train_kernels);

void   PK_KERNEL(train_product)(const pk_product_part *part, float *scratch);
void   PK_KERNEL(train_embed)(float *out, const float *row, float scale, const float *position,
                            int32_t cols, pk_drop drop, uint64_t first);
void   PK_KERNEL(train_add_dropped)(float *to, const float *d, float scale, int32_t n, pk_drop drop,
                                  uint64_t first);
void   PK_KERNEL(train_activate)(float *out, const float *x, int32_t n, pk_act act, pk_drop drop,
                               uint64_t first);
void   PK_KERNEL(train_activate_back)(float *d_x, const float *d_out, const float *x, int32_t n,
                                    pk_act act, pk_drop drop, uint64_t first);
void   PK_KERNEL(train_add_norm)(float *sum, const float *x, const float *residual, int32_t cols,
                               pk_drop drop, uint64_t first);
void   PK_KERNEL(norm_keep)(float *out, const float *x, int32_t cols, const float *gain,
                          const float *shift, float epsilon, float *moments);
void   PK_KERNEL(train_add_norm_back)(const pk_add_norm_back_row *row);
void   PK_KERNEL(train_gains)(float *d_gain, float *d_shift, pk_tensor d_out, pk_tensor x,
                            const float *moments, int32_t first, int32_t n);
void   PK_KERNEL(train_attend)(const pk_segments_job *job, int32_t segment, int32_t head,
                             float *scratch);
void   PK_KERNEL(train_attend_back)(const pk_segments_job *job, int32_t segment, int32_t head,
                                  float *scratch);
void   PK_KERNEL(train_loss)(pk_loss_row *row);
double PK_KERNEL(train_squares)(const float *x, size_t n);
void   PK_KERNEL(train_update)(const pk_update *u, size_t first, size_t n, float scale);

enum { BLOCK = 64 }; /* numbers of a row at a time */

INLINE int32_t block_of(int32_t left) { return left < BLOCK ? left : BLOCK; }

INLINE vf load_some(const float *x, int32_t left) {
    return left >= 16 ? vf_load(x) : vf_load_part(x, left);
}
INLINE void store_some(float *x, vf v, int32_t left) {
    if (left >= 16)
        vf_store(x, v);
    else
        vf_store_part(x, v, left);
}

/* what BLOCK elements from `first` on are multiplied with: pk_drop_factor, many at a time */
static inline void drop_factors(float *factor, pk_drop drop, uint64_t first) {
    if (drop.rate <= 0) {
        for (int i = 0; i < BLOCK; i++) factor[i] = 1;
        return;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint32_t threshold = pk_drop_threshold(drop.rate);
    const float    survives = 1.0f / (1.0f - drop.rate);
    uint64_t       bits[BLOCK / 4 + 1];
    uint16_t       parts[BLOCK + 4]; /* the lowest of each four comes first */
    for (uint64_t i = 0; i <= BLOCK / 4; i++) bits[i] = pk_drop_bits(drop.key, (first >> 2) + i);
    memcpy(parts, bits, sizeof parts);
    for (int i = 0; i < BLOCK; i++)
        factor[i] = parts[i + (int)(first & 3)] < threshold ? 0 : survives;
#else
    for (int i = 0; i < BLOCK; i++) factor[i] = pk_drop_factor(drop, first + (uint64_t)i);
#endif
}
#endif
