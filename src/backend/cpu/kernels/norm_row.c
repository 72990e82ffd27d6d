/* norm_row.c - what is done to one row: layer normalisation, an embedding, rounding to 16 bits.
 *
 * Sums go lane by lane over the columns and are folded at the end: their order is fixed by the
 * number of columns. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/train_list.h"

INLINE vf load_columns(const float *x, int32_t left) {
    return left >= 16 ? vf_load(x) : vf_load_part(x, left);
}

static float mean_of(const float *x, int32_t cols) {
    vf sum = vf_all(0);
    for (int32_t c = 0; c < cols; c += 16) sum = vf_add(sum, load_columns(x + c, cols - c));
    return vf_sum(sum) / (float)cols;
}

/* around the mean, in a second pass over the row: stable where the mean is large */
static float variance_of(const float *x, int32_t cols, float mean) {
    vf sum = vf_all(0);
    for (int32_t c = 0; c < cols; c += 16) {
        vf off = vf_sub(load_columns(x + c, cols - c), vf_all(mean));
        if (cols - c < 16) off = vf_first(off, cols - c, 0);
        sum = vf_fma(off, off, sum);
    }
    return vf_sum(sum) / (float)cols;
}

/* moments: mean, 1 / sqrt(variance + epsilon) */
void PK_KERNEL(norm_keep)(float *out, const float *x, int32_t cols, const float *gain,
                          const float *bias, float epsilon, float *moments) {
    const float mean = moments[0] = mean_of(x, cols);
    const vf    factor = vf_all(moments[1] = 1.0f / sqrtf(variance_of(x, cols, mean) + epsilon));
    for (int32_t c = 0; c < cols; c += 16) {
        const int32_t left = cols - c;
        const vf      y = vf_mul(vf_sub(load_columns(x + c, left), vf_all(mean)), factor);
        const vf      z = vf_fma(y, load_columns(gain + c, left), load_columns(bias + c, left));
        if (left >= 16)
            vf_store(out + c, z);
        else
            vf_store_part(out + c, z, left);
    }
}

void PK_KERNEL(norm)(float *out, const float *x, int32_t cols, const float *gain, const float *bias,
                     float epsilon) {
    float moments[2];
    PK_KERNEL(norm_keep)(out, x, cols, gain, bias, epsilon, moments);
}

/* One row of the panels as floats: its elements are 16 apart, or 4 side by side and 64 apart. */
static void gather(float *out, const pk_weight *table, int32_t row) {
    const size_t    at = pk_panel_index(table->cols, table->type, row, 0);
    const float    *wide = (const float *)table->data + at;
    const uint16_t *half = (const uint16_t *)table->data + at;
    const int8_t   *bytes = (const int8_t *)table->data + at;
    for (int32_t c = 0; c < table->cols; c++) {
        if (table->type == PK_F32)
            out[c] = wide[(size_t)c * PK_PANEL];
        else if (table->type == PK_F16)
            out[c] = pk_f16_to_f32(half[(size_t)c * PK_PANEL]);
        else
            out[c] = (float)bytes[(size_t)(c / 4) * (4 * PK_PANEL) + (size_t)(c % 4)] *
                     table->scale[row];
    }
}

/* out = row `token` of the table * scale (0 for token -1) + position (which may be NULL) */
void PK_KERNEL(embed)(float *out, const pk_weight *table, int32_t token, float scale,
                      const float *position) {
    const int32_t cols = table->cols;
    if (token >= 0)
        gather(out, table, token);
    else
        memset(out, 0, (size_t)cols * sizeof *out);
    for (int32_t c = 0; c < cols; c++) out[c] = out[c] * scale + (position ? position[c] : 0);
}

/* rounds to F16; generic rounds each number by itself, with the same bits */
void PK_KERNEL(narrow)(uint16_t *out, const float *x, int32_t n) {
    int32_t i = 0;
#ifndef PK_ISA_generic
    for (; i + 16 <= n; i += 16) vf_store_f16(out + i, vf_load(x + i));
#endif
    for (; i < n; i++) out[i] = pk_f32_to_f16(x[i]);
}
