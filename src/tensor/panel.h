/* panel.h - how weight matrices lie in memory and in model files.
 *
 * 16 output rows at a time form a panel. Inside it the column is the slowest index, so that one
 * vector load reads the same column(s) of 16 outputs, and one sequential sweep reads the matrix:
 *
 *   F32, F16:  (ceil(rows / 16), cols, 16)
 *   I8:        (ceil(rows / 16), ceil(cols / 4), 16, 4)   four columns side by side: dot products
 *
 * Rows and columns beyond the end are zero. The same layout serves every instruction set. */
#ifndef PK_TENSOR_PANEL_H
#define PK_TENSOR_PANEL_H
#include "tensor/backend.h"

enum { PK_PANEL = 16, PK_QUAD = 4 };

static inline size_t pk_panel_count(int32_t rows) {
    return ((size_t)rows + PK_PANEL - 1) / PK_PANEL;
}
/* bytes of one panel */
size_t pk_panel_stride(int32_t cols, pk_dtype type);
/* bytes of a whole matrix */
size_t pk_panel_bytes(int32_t rows, int32_t cols, pk_dtype type);
/* element index of (row, col), in elements of the type */
static inline size_t pk_panel_index(int32_t cols, pk_dtype type, int32_t row, int32_t col) {
    const size_t panel = (size_t)row / PK_PANEL, lane = (size_t)row % PK_PANEL;
    if (type != PK_I8) return (panel * (size_t)cols + (size_t)col) * PK_PANEL + lane;
    const size_t quads = ((size_t)cols + PK_QUAD - 1) / PK_QUAD;
    return ((panel * quads + (size_t)col / PK_QUAD) * PK_PANEL + lane) * PK_QUAD +
           (size_t)col % PK_QUAD;
}
/* one weight as a float, whatever its type; slow: for `ref`, for tests, for conversions */
float pk_weight_get(const pk_weight *w, int32_t row, int32_t col);

/* rows [first, first + n) of a matrix, or columns of a plain vector (1, cols), where they lie; of
 * panels `first` must be the beginning of one. Nothing where there is no data. */
pk_weight pk_weight_rows(const pk_weight *w, int32_t first, int32_t n);
pk_weight pk_weight_part(const pk_weight *vector, int32_t first, int32_t n);

/* Packs rows [first_row, first_row + n) of a matrix from row-major floats. For I8 also writes
 * scale[first_row ..]: 1/127 of the row's largest magnitude, integers rounded half to even. */
void pk_panel_pack(void *out, float *scale, int32_t cols, pk_dtype type, int32_t first_row,
                   int32_t n, const float *rows);

/* one panel: n rows of another matrix (not a plain one), 16 at most; zeros in place of the others.
 * What multiplies it gets the bits that the rows give where they are. */
void pk_panel_gather(void *out, const pk_weight *from, const int32_t *row, int32_t n);

float    pk_bf16_to_f32(uint16_t h);
float    pk_f16_to_f32(uint16_t h);
uint16_t pk_f32_to_f16(float f); /* nearest, ties to even; too large becomes infinity */
#endif
