/* tile_float.h - the body of the F32 and F16 tile kernels; WEIGHT and LOAD_WEIGHTS say which.
 *
 * For each column:  sums[row][panel] += x[row][column] * w[panel][column]
 *                   (16 lanes)          (one number, in  (16 outputs)
 *                                        all lanes)
 * Each sum is one chain of fused products over the columns in order, and a lane is an output. So
 * the sum of an output never depends on the tile, and 16-bit weights give the same bits as 32-bit
 * weights of equal value. h rows x n panels of sums stay in registers: both are constants after
 * inlining. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"

/* Products of column i of a quad. Of weights and inputs, those that are fewer are held in
 * registers, the others are loaded when they are used. So the tallest tiles fit the registers
 * too. */
INLINE void one_column(vf (*sums)[8], const int h, const int n, const WEIGHT **w, const float *x,
                       const int i) {
    vf held[8];
    UNROLL for (int j = 0; j < (n < h ? n : h); j++) held[j] =
        n < h ? LOAD_WEIGHTS(w[j] + i * PK_PANEL) : vf_all(x[4 * j + i]);
    if (n < h) {
        UNROLL for (int r = 0; r < h; r++) {
            const vf input = vf_all(x[4 * r + i]);
            UNROLL for (int p = 0; p < n; p++) sums[r][p] = vf_fma(held[p], input, sums[r][p]);
        }
    } else {
        UNROLL for (int p = 0; p < n; p++) {
            const vf weights = LOAD_WEIGHTS(w[p] + i * PK_PANEL);
            UNROLL for (int r = 0; r < h; r++) sums[r][p] = vf_fma(weights, held[r], sums[r][p]);
        }
    }
}

/* four columns; a cache line (64 bytes) holds one column of 32-bit weights, or two of 16 bits */
INLINE void one_quad(vf (*sums)[8], const int h, const int n, const WEIGHT **w, size_t ahead,
                     const float *x, const bool fetches) {
    const int columns = 4 / (int)sizeof(WEIGHT);
    UNROLL for (int i = 0; i < 4; i++) {
        if (fetches && i % columns == 0)
            UNROLL for (int p = 0; p < n; p++)
                __builtin_prefetch((const char *)(w[p] + i * PK_PANEL) + ahead, 0, 2);
        one_column(sums, h, n, w, x, i);
    }
}

/* all whole quads. fetches is a constant: asked for each column it took a sixth of the time of four
 * rows of 32-bit weights. */
INLINE const float *all_quads(vf (*sums)[8], const int h, const int n, const WEIGHT **w,
                              size_t ahead, const float *x, int32_t cols, const bool fetches) {
    for (int32_t quad = cols / 4; quad > 0; quad--, x += 4 * h) {
        one_quad(sums, h, n, w, ahead, x, fetches);
        UNROLL for (int p = 0; p < n; p++) w[p] += 4 * PK_PANEL;
    }
    return x;
}

/* one tile; the up to three columns behind the last whole quad come last */
INLINE void tile(const WEIGHT *first, size_t stride, size_t ahead, const float *x, int32_t cols,
                 float *out, const int h, const int n) {
    vf            sums[PK_TILE_MAX][8];
    const WEIGHT *w[8];
    UNROLL for (int p = 0; p < n; p++) {
        w[p] = first + (size_t)p * stride;
        OPAQUE(w[p]);
        UNROLL for (int r = 0; r < h; r++) sums[r][p] = vf_all(0);
    }
    x = ahead ? all_quads(sums, h, n, w, ahead, x, cols, true)
              : all_quads(sums, h, n, w, ahead, x, cols, false);
    UNROLL for (int i = 0; i < 3; i++) if (i < cols % 4) one_column(sums, h, n, w, x, i);
    UNROLL for (int r = 0; r < h; r++) UNROLL for (int p = 0; p < n; p++)
        vf_store(out + (r * n + p) * PK_PANEL, sums[r][p]);
}

#define DEFINE_TILE(h, n)                                                                 \
    static void tile_##h##x##n(const void *w, size_t stride, size_t ahead, const void *x, \
                               int32_t cols, void *sums) {                                \
        tile(w, stride / sizeof(WEIGHT), ahead, x, cols, sums, h, n);                     \
    }
TILES(DEFINE_TILE)
