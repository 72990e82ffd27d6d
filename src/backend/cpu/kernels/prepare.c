/* prepare.c - lays activations out for the linear kernels: tiles of rows, four columns at a time.
 *
 * The layout is that of pk_tiles in kernels.h: (quads, height, 4). For I8 weights each row is also
 * rounded to integers of its own scale (largest magnitude = 127, ties to even), so a row's integers
 * never depend on its neighbours. The columns that fill up the last quad are zero. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/simd.h"

/* quads of up to 16 columns of one row, each 4 * height bytes after the one before it */
INLINE void spread_bytes(int8_t *p, int32_t height, int32_t quads, const int8_t *bytes) {
    for (int32_t i = 0; i < quads; i++)
        memcpy(p + (size_t)i * (size_t)height * 4, bytes + 4 * i, 4);
}

INLINE vf load_columns(const float *x, int32_t left) {
    return left >= 16 ? vf_load(x) : vf_load_part(x, left);
}

static float largest(const float *x, int32_t cols) {
    vf most = vf_all(0);
    for (int32_t c = 0; c < cols; c += 16)
        most = vf_max(most, vf_abs(load_columns(x + c, cols - c)));
    return vf_most(most);
}

/* one row into a tile: p is its first quad, `height` quads apart */
static void quantise(int8_t *p, int32_t height, const float *x, int32_t cols, float *scale,
                     int32_t *offset) {
    const float most = largest(x, cols), usable = most > 1e-30f ? most : 0;
    const vf    steps = vf_all(usable > 0 ? 127.0f / usable : 0);
    vi          sum = vi_all(0);
    for (int32_t c = 0; c < cols; c += 16) {
        const vi integers = vf_nearest(vf_mul(load_columns(x + c, cols - c), steps));
        int8_t   bytes[16];
        sum = vi_add(sum, integers);
        vi_narrow(bytes, integers);
        spread_bytes(p + (size_t)c * (size_t)height, height,
                     cols - c >= 16 ? 4 : (cols - c + 3) / 4, bytes);
    }
    *scale = usable / 127.0f;
    *offset = 128 * vi_sum(sum);
}

/* one row of floats into a tile, as quantise does for integers */
static void interleave(float *p, int32_t height, const float *x, int32_t cols) {
    const size_t step = (size_t)height * 4;
    int32_t      c = 0;
    for (; c + 4 <= cols; c += 4, p += step) memcpy(p, x + c, 4 * sizeof *x);
    if (c < cols) {
        memset(p, 0, 4 * sizeof *p);
        memcpy(p, x + c, (size_t)(cols - c) * sizeof *x);
    }
}

/* one tile; pick: which rows of x, in order */
void PK_KERNEL(prepare)(const pk_tiles *t, pk_dtype type, pk_tensor x, const int32_t *pick,
                        int32_t tile) {
    const int32_t first = pk_tile_first(t, tile), height = pk_tile_height(t, tile);
    const size_t  start = (size_t)first * pk_tile_width(t);
    for (int32_t r = 0; r < height; r++) {
        const int32_t from = pick ? pick[first + r] : first + r;
        const float  *row = x.data + (size_t)from * (size_t)x.stride;
        const size_t  at = start + (size_t)r * 4;
        if (type == PK_I8)
            quantise((int8_t *)t->data + at, height, row, t->cols, &t->scale[first + r],
                     &t->offset[first + r]);
        else
            interleave((float *)t->data + at, height, row, t->cols);
    }
}
