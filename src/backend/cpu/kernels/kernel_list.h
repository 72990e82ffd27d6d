/* kernel_list.h - the kernels of one instruction set, as its table collects them. */
#ifndef PK_CPU_KERNEL_LIST_H
#define PK_CPU_KERNEL_LIST_H
#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/simd.h"
#include "tensor/panel.h"

/* A tile kernel: sums (rows of the tile, panels, 16) of x times some neighbouring panels of w.
 * w is the first panel, the next lies `stride` bytes on; weights `ahead` bytes further are fetched
 * into the second-level cache on the way. Sums are floats, or int32_t for I8. */
typedef void tile_kernel(const void *w, size_t stride, size_t ahead, const void *x, int32_t cols,
                         void *sums);
/* the kernel for a tile of that height and 1, 2, 4 or 8 panels; NULL where there is none */
tile_kernel *PK_KERNEL(tile_f32)(int32_t height, int32_t panels);
tile_kernel *PK_KERNEL(tile_f16)(int32_t height, int32_t panels);
tile_kernel *PK_KERNEL(tile_i8)(int32_t height, int32_t panels);

void PK_KERNEL(prepare)(const pk_tiles *t, pk_dtype type, pk_tensor x, const int32_t *pick,
                        int32_t tile);
void PK_KERNEL(linear)(const pk_linear_part *part);
void PK_KERNEL(attend)(const pk_attend_job *job, int32_t first_query, int32_t n_queries,
                       int32_t first_head, int32_t n_heads, float *scratch);
void PK_KERNEL(norm)(float *out, const float *x, int32_t cols, const float *gain, const float *bias,
                     float epsilon);
void PK_KERNEL(embed)(float *out, const pk_weight *table, int32_t token, float scale,
                      const float *position);
void PK_KERNEL(narrow)(uint16_t *out, const float *x, int32_t n);
void PK_KERNEL(best)(pk_best *best, const float *logits, int32_t n, int32_t first_token);
void PK_KERNEL(exp_sum)(const float *logits, int32_t n, float *most, float *sum);
#endif
