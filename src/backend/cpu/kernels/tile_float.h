/* tile_float.h - the body of the F32 and F16 tile kernels; WEIGHT and LOAD_WEIGHTS say which.
 *
 * Each sum is one chain of fused products over the columns in order, and a lane is an output. So the
 * sum of an output never depends on the tile, and 16-bit weights give the bits of the same 32-bit
 * ones. h rows x n panels of sums stay in registers: both are constants after inlining. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"

INLINE void one_column(vf (*sums)[8], const int h, const int n, const WEIGHT *w, size_t stride,
                       const float *x) {
    UNROLL for (int p = 0; p < n; p++) {
        const vf weights = LOAD_WEIGHTS(w + (size_t)p * stride);
        UNROLL for (int r = 0; r < h; r++)
            sums[r][p] = vf_fma(weights, vf_all(x[4 * r]), sums[r][p]);
    }
}

INLINE void tile(const WEIGHT *w, size_t stride, const float *x, int32_t cols, float *out, const int h,
                 const int n) {
    vf      sums[PK_TILE_MAX][8];
    int32_t c = 0;
    UNROLL for (int r = 0; r < h; r++)
        UNROLL for (int p = 0; p < n; p++) sums[r][p] = vf_all(0);
    for (; c + 4 <= cols; c += 4, w += 4 * PK_PANEL, x += 4 * h)
        UNROLL for (int i = 0; i < 4; i++) one_column(sums, h, n, w + i * PK_PANEL, stride, x + i);
    for (int32_t i = 0; c < cols; c++, i++) one_column(sums, h, n, w + i * PK_PANEL, stride, x + i);
    UNROLL for (int r = 0; r < h; r++)
        UNROLL for (int p = 0; p < n; p++) vf_store(out + (r * n + p) * PK_PANEL, sums[r][p]);
}

#define DEFINE_TILE(h, n)                                                                          \
    static void tile_##h##x##n(const void *w, size_t stride, const void *x, int32_t cols,          \
                               void *sums) {                                                       \
        tile(w, stride / sizeof(WEIGHT), x, cols, sums, h, n);                                     \
    }
TILES(DEFINE_TILE)
