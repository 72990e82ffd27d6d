/* panel.c - packs matrices into panels, reads single weights, converts 16-bit floats.
 *
 * Row-major floats become the layout of panel.h. Nothing here needs to be fast except packing,
 * which happens once per model. Rows are packed independently, so a matrix may arrive in pieces.
 * The padding is not written, so the block must be zeroed when it is taken (pk_memory_take
 * does). */
#include "tensor/panel.h"

#include <assert.h>
#include <math.h>
#include <string.h>

size_t pk_panel_stride(int32_t cols, pk_dtype type) {
    const size_t quads = ((size_t)cols + PK_QUAD - 1) / PK_QUAD;
    const size_t width = type == PK_I8 ? quads * PK_QUAD : (size_t)cols;
    return width * PK_PANEL * pk_dtype_bytes(type);
}

size_t pk_panel_bytes(int32_t rows, int32_t cols, pk_dtype type) {
    return pk_panel_count(rows) * pk_panel_stride(cols, type);
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float pk_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

float pk_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, body = h & 0x7fffu;
    /* infinity and NaN */
    if (body >= 0x7c00u) return float_of(sign | 0x7f800000u | (body & 0x3ffu) << 13);
    /* Moving the bits scales by 2^-112 (the exponents are biased by 15 and 127). One product undoes
     * that exactly, and makes subnormal numbers normal. */
    return float_of(sign | bits_of(float_of(body << 13) * 0x1p112f));
}

uint16_t pk_f32_to_f16(float f) {
    const uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000u, body = bits & 0x7fffffffu;
    if (body > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (body >> 13 & 0x3ffu));
    if (body >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds to 65536 or is larger */
    if (body < 0x38800000u) {
        /* subnormal: adding 0.5 leaves the count of 2^-24 steps in the low bits, rounded to even */
        return (uint16_t)(sign | (bits_of(float_of(body) + 0.5f) - 0x3f000000u));
    }
    const uint32_t odd = body >> 13 & 1; /* ties go to the even neighbour */
    return (uint16_t)(sign | (body - 0x38000000u + 0xfffu + odd) >> 13);
}

float pk_weight_get(const pk_weight *w, int32_t row, int32_t col) {
    if (w->plain) return ((const float *)w->data)[(size_t)row * (size_t)w->cols + (size_t)col];
    const size_t at = pk_panel_index(w->cols, w->type, row, col);
    if (w->type == PK_F32) return ((const float *)w->data)[at];
    if (w->type == PK_F16) return pk_f16_to_f32(((const uint16_t *)w->data)[at]);
    return (float)((const int8_t *)w->data)[at] * w->scale[row];
}

/* the largest magnitude */
static float largest(const float *x, int32_t n) {
    float most = 0;
    for (int32_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* one row with a scale of its own: its largest magnitude becomes 127 */
static void pack_row_i8(int8_t *out, float *scale, int32_t cols, int32_t row, const float *x) {
    scale[row] = largest(x, cols) / 127.0f;
    for (int32_t col = 0; col < cols; col++) {
        /* a row of zeros, or one too small to divide by, becomes zeros */
        const float steps = scale[row] > 0 ? nearbyintf(x[col] / scale[row]) : 0;
        const float q = fminf(fmaxf(steps, -127), 127);
        out[pk_panel_index(cols, PK_I8, row, col)] = (int8_t)q;
    }
}

/* F32 and F16: neighbouring columns of a row lie 16 elements apart */
static void pack_row(void *out, int32_t cols, pk_dtype type, int32_t row, const float *x) {
    size_t at = pk_panel_index(cols, type, row, 0);
    for (int32_t col = 0; col < cols; col++, at += PK_PANEL) {
        if (type == PK_F32)
            ((float *)out)[at] = x[col];
        else
            ((uint16_t *)out)[at] = pk_f32_to_f16(x[col]);
    }
}

pk_weight pk_weight_rows(const pk_weight *w, int32_t first, int32_t n) {
    pk_weight    part = *w;
    const size_t row = (size_t)w->cols * pk_dtype_bytes(w->type);
    assert(first >= 0 && n >= 0 && first + n <= w->rows && (w->plain || first % PK_PANEL == 0));
    if (!w->data) return part;
    const size_t bytes = w->plain ? (size_t)first * row
                                  : (size_t)(first / PK_PANEL) * pk_panel_stride(w->cols, w->type);
    part.data = (const char *)w->data + bytes;
    if (w->scale) part.scale = w->scale + first;
    part.rows = n;
    return part;
}

pk_weight pk_weight_part(const pk_weight *vector, int32_t first, int32_t n) {
    pk_weight part = *vector;
    if (!vector->data) return part;
    assert(vector->plain && vector->rows == 1 && first >= 0 && first + n <= vector->cols);
    part.data = (const char *)vector->data + (size_t)first * pk_dtype_bytes(vector->type);
    part.cols = n;
    return part;
}

void pk_panel_pack(void *out, float *scale, int32_t cols, pk_dtype type, int32_t first_row,
                   int32_t n, const float *rows) {
    for (int32_t i = 0; i < n; i++) {
        const float *x = rows + (size_t)i * (size_t)cols;
        if (type == PK_I8)
            pack_row_i8(out, scale, cols, first_row + i, x);
        else
            pack_row(out, cols, type, first_row + i, x);
    }
}

/* One panel from 16 rows of others: `units` times 16 values. An absent row is zero. */
#define GATHER(name, unit)                                                           \
    static void name(unit *to, const unit *const *from, size_t units) {              \
        for (size_t u = 0; u < units; u++)                                           \
            for (size_t lane = 0; lane < PK_PANEL; lane++)                           \
                to[u * PK_PANEL + lane] = from[lane] ? from[lane][u * PK_PANEL] : 0; \
    }
GATHER(gather_32, uint32_t) /* a float, or four integers */
GATHER(gather_16, uint16_t)

/* where a row of the matrix begins in its panel */
static const char *row_at(const pk_weight *w, int32_t row) {
    const size_t each = w->type == PK_F16 ? sizeof(uint16_t) : sizeof(uint32_t);
    return (const char *)w->data + (size_t)(row / PK_PANEL) * pk_panel_stride(w->cols, w->type) +
           (size_t)(row % PK_PANEL) * each;
}

void pk_panel_gather(void *out, const pk_weight *from, const int32_t *row, int32_t n) {
    const void  *begin[PK_PANEL] = { NULL };
    const size_t cols = (size_t)from->cols;
    assert(!from->plain && n <= PK_PANEL);
    for (int32_t lane = 0; lane < n; lane++) begin[lane] = row_at(from, row[lane]);
    if (from->type == PK_F16)
        gather_16(out, (const uint16_t *const *)(const void *)begin, cols);
    else
        gather_32(out, (const uint32_t *const *)(const void *)begin,
                  from->type == PK_I8 ? (cols + PK_QUAD - 1) / PK_QUAD : cols);
}
