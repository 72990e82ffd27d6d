/* ref_linear.c - out = act(x w^T + bias) + residual, one output at a time, and what follows.
 *
 * Float weights: a plain sum over the columns in order. I8 weights: the row of x is rounded to
 * integers of its own scale, the integers are multiplied and summed exactly, and one product turns
 * the sum into a float. The cpu backend promises the same bits for I8, so nothing here may be
 * fused. */
#pragma GCC optimize("fp-contract=off")
#include <math.h>

#include "backend/ref/ref_activation.h"
#include "backend/ref/ref_ops.h"
#include "tensor/panel.h"

/* integer steps per unit: 127 / largest magnitude; 0 for a row of (almost) zeros */
static float steps_per_unit(const float *x, int32_t n, float *scale) {
    float most = 0;
    for (int32_t c = 0; c < n; c++) most = fmaxf(most, fabsf(x[c]));
    const float usable = most > 1e-30f ? most : 0;
    *scale = usable / 127.0f;
    return usable > 0 ? 127.0f / usable : 0;
}

/* output `row` from integers: exact sum, then one float product */
static float dot_i8(const float *x, float steps, float scale, const pk_weight *w, int32_t row) {
    const int8_t *weights = w->data;
    int32_t       sum = 0;
    for (int32_t c = 0; c < w->cols; c++)
        sum += (int32_t)nearbyintf(x[c] * steps) * weights[pk_panel_index(w->cols, PK_I8, row, c)];
    return (float)sum * (scale * w->scale[row]);
}

/* one sum in the order of the columns, not fused */
static float dot_float(const float *x, const pk_weight *w, int32_t row) {
    float sum = 0;
    for (int32_t c = 0; c < w->cols; c++) sum += x[c] * pk_weight_get(w, row, c);
    return sum;
}

void pk_ref_product(const float *x, const pk_weight *w, float *out) {
    float       scale;
    const float steps = steps_per_unit(x, w->cols, &scale);
    for (int32_t row = 0; row < w->rows; row++)
        out[row] = w->type == PK_I8 ? dot_i8(x, steps, scale, w, row) : dot_float(x, w, row);
}

/* bias, activation and residual of row i, in this order */
static void finish_row(float *out, const float *y, const pk_after *after, int32_t i, int32_t n) {
    const float *residual = after->residual.data;
    if (residual) residual += (size_t)i * (size_t)after->residual.stride;
    for (int32_t c = 0; c < n; c++) {
        const float bias = after->bias ? pk_weight_get(after->bias, 0, c) : 0;
        out[c] = pk_ref_activate(y[c] + bias, after->act) + (residual ? residual[c] : 0);
    }
}

void pk_ref_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after) {
    float *y = pk_ref_scratch(self, (size_t)w->rows);
    if (!y) return;
    for (int32_t i = 0; i < x.rows; i++) {
        pk_ref_product(x.data + (size_t)i * (size_t)x.stride, w, y);
        finish_row(out.data + (size_t)i * (size_t)out.stride, y, after, i, w->rows);
    }
    if (after->gain) pk_ref_norm(self, out, out, after->gain, after->shift, after->epsilon);
    if (!after->pool.data) return;
    pk_tensor stored = out; /* columns from `from` on: keys and values of a decoder layer */
    stored.data += after->from;
    stored.cols -= after->from;
    pk_ref_scatter(self, after->pool, stored, after->slot);
}
