/* tile_i8.c - tile kernels over 8-bit weights: exact integer sums, four columns at a time.
 *
 * A quad of a weight panel is 16 outputs x 4 columns; a quad of a tile is 4 columns of one row,
 * which is copied to all 16 lanes. Lane i: sum[i] += w[i][0] x[0] + w[i][1] x[1] + w[i][2] x[2]
 * + w[i][3] x[3]. Sums are exact, so their order does not matter. avx512 multiplies unsigned by
 * signed bytes, so its weights are shifted by 128, and 128 * sum(x) is subtracted at the end
 * (see linear_part.c). */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"

#if !defined   PK_ISA_generic
INLINE int32_t four_bytes(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return four;
}
#endif

#if defined  PK_ISA_avx512
typedef vi   quads, inputs;
INLINE quads load_quads(const int8_t *w) { /* the sign bit flipped: w + 128 as unsigned */
    return _mm512_xor_si512(_mm512_loadu_si512(w), _mm512_set1_epi8(-128));
}
INLINE inputs load_inputs(const int8_t *x) { return vi_all(four_bytes(x)); }
INLINE vi     add_products(vi sum, quads w, inputs x) { return _mm512_dpbusd_epi32(sum, w, x); }
#elif defined PK_ISA_avx2
typedef vi      quads;
typedef __m256i inputs;
INLINE quads    load_quads(const int8_t *w) { return vi_load((const int32_t *)(const void *)w); }

/* |w| times x with the sign of w, since the instruction wants one unsigned factor */
INLINE __m256i dot_quads(__m256i w, __m256i x) {
    /* |w| <= 128 and |x| <= 127: a pair of products fits 16 bits */
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
INLINE inputs load_inputs(const int8_t *x) { return _mm256_set1_epi32(four_bytes(x)); }

INLINE vi add_products(vi sum, quads w, inputs x) {
    return (vi){ _mm256_add_epi32(sum.lo, dot_quads(w.lo, x)),
                 _mm256_add_epi32(sum.hi, dot_quads(w.hi, x)) };
}
#else
typedef const int8_t *quads, *inputs;
INLINE quads          load_quads(const int8_t *w) { return w; }
INLINE inputs         load_inputs(const int8_t *x) { return x; }

INLINE vi add_products(vi sum, quads w, inputs x) {
    int32_t lanes[16];
    vi_store(lanes, sum);
    for (int lane = 0; lane < 16; lane++, w += 4)
        lanes[lane] += w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
    return vi_load(lanes);
}
#endif

/* Products of one quad of columns. As in tile_float.h, of weights and inputs those that are
 * fewer are held in registers. */
INLINE void one_quad(vi (*sums)[8], const int h, const int n, const int8_t **w, const int8_t *x) {
    if (n < h) {
        quads held[8];
        UNROLL for (int p = 0; p < n; p++) held[p] = load_quads(w[p]);
        UNROLL for (int r = 0; r < h; r++) {
            const inputs input = load_inputs(x + 4 * r);
            UNROLL for (int p = 0; p < n; p++) sums[r][p] =
                add_products(sums[r][p], held[p], input);
        }
    } else {
        inputs held[8];
        UNROLL for (int r = 0; r < h; r++) held[r] = load_inputs(x + 4 * r);
        UNROLL for (int p = 0; p < n; p++) {
            const quads weights = load_quads(w[p]);
            UNROLL for (int r = 0; r < h; r++) sums[r][p] =
                add_products(sums[r][p], weights, held[r]);
        }
    }
}

/* all quads; fetches is a constant, see tile_float.h */
INLINE void all_quads(vi (*sums)[8], const int h, const int n, const int8_t **w, size_t ahead,
                      const int8_t *x, int32_t cols, const bool fetches) {
    for (int32_t quad = (cols + 3) / 4; quad > 0; quad--, x += 4 * h) {
        if (fetches) UNROLL for (int p = 0; p < n; p++) __builtin_prefetch(w[p] + ahead, 0, 2);
        one_quad(sums, h, n, w, x);
        UNROLL for (int p = 0; p < n; p++) w[p] += 4 * PK_PANEL;
    }
}

/* one tile; columns that fill up the last quad are zeros in both, so they need no care */
INLINE void tile(const int8_t *first, size_t stride, size_t ahead, const int8_t *x, int32_t cols,
                 int32_t *out, const int h, const int n) {
    vi            sums[PK_TILE_MAX][8];
    const int8_t *w[8];
    UNROLL for (int p = 0; p < n; p++) {
        w[p] = first + (size_t)p * stride;
        OPAQUE(w[p]);
        UNROLL for (int r = 0; r < h; r++) sums[r][p] = vi_all(0);
    }
    if (ahead)
        all_quads(sums, h, n, w, ahead, x, cols, true);
    else
        all_quads(sums, h, n, w, ahead, x, cols, false);
    UNROLL for (int r = 0; r < h; r++) UNROLL for (int p = 0; p < n; p++)
        vi_store(out + (r * n + p) * PK_PANEL, sums[r][p]);
}

#define DEFINE_TILE(h, n)                                                                 \
    static void tile_##h##x##n(const void *w, size_t stride, size_t ahead, const void *x, \
                               int32_t cols, void *sums) {                                \
        tile(w, stride, ahead, x, cols, sums, h, n);                                      \
    }
TILES(DEFINE_TILE)
TILE_LOOKUP(tile_i8)
