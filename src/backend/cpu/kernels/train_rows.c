/* train_rows.c - what training does to a row, or to some columns of all rows, and the optimiser.
 *
 * Plain loops over blocks of 64 numbers, for the compiler to turn into vectors. Sums over a row go
 * lane by lane, sums over rows go down the rows 64 at a time: orders fixed by the lengths. */
#include "backend/cpu/kernels/activation.h"
#include "backend/cpu/kernels/train_list.h"

enum { ROWS_AT_ONCE = 64 }; /* rows that are summed before the sum is added to the gradient */

void PK_KERNEL(train_embed)(float *out, const float *row, float scale, const float *position,
                            int32_t cols, pk_drop drop, uint64_t first) {
    float factor[BLOCK];
    for (int32_t c = 0; c < cols; c += BLOCK) {
        const int32_t n = block_of(cols - c);
        drop_factors(factor, drop, first + (uint64_t)c);
        for (int32_t i = 0; i < n; i++) {
            const float piece = row ? row[c + i] * scale : 0;
            out[c + i] = (piece + (position ? position[c + i] : 0)) * factor[i];
        }
    }
}

void PK_KERNEL(train_add_dropped)(float *to, const float *d, float scale, int32_t n, pk_drop drop,
                                  uint64_t first) {
    float factor[BLOCK];
    for (int32_t c = 0; c < n; c += BLOCK) {
        const int32_t some = block_of(n - c);
        drop_factors(factor, drop, first + (uint64_t)c);
        for (int32_t i = 0; i < some; i++) to[c + i] += d[c + i] * factor[i] * scale;
    }
}

void PK_KERNEL(train_activate)(float *out, const float *x, int32_t n, pk_act act, pk_drop drop,
                               uint64_t first) {
    float factor[BLOCK];
    for (int32_t c = 0; c < n; c += BLOCK) {
        const int32_t end = c + block_of(n - c);
        drop_factors(factor, drop, first + (uint64_t)c);
        for (int32_t i = c; i < end; i += 16) {
            const vf y = activate(load_some(x + i, end - i), act);
            store_some(out + i, vf_mul(y, vf_load(factor + i - c)), end - i);
        }
    }
}

void PK_KERNEL(train_activate_back)(float *d_x, const float *d_out, const float *x, int32_t n,
                                    pk_act act, pk_drop drop, uint64_t first) {
    float factor[BLOCK];
    for (int32_t c = 0; c < n; c += BLOCK) {
        const int32_t end = c + block_of(n - c);
        drop_factors(factor, drop, first + (uint64_t)c);
        for (int32_t i = c; i < end; i += 16) {
            const vf d = vf_mul(load_some(d_out + i, end - i), vf_load(factor + i - c));
            store_some(d_x + i, vf_mul(d, slope(load_some(x + i, end - i), act)), end - i);
        }
    }
}

/* sum = residual + drop(x) */
void PK_KERNEL(train_add_norm)(float *sum, const float *x, const float *residual, int32_t cols,
                               pk_drop drop, uint64_t first) {
    float factor[BLOCK];
    for (int32_t c = 0; c < cols; c += BLOCK) {
        const int32_t n = block_of(cols - c);
        drop_factors(factor, drop, first + (uint64_t)c);
        for (int32_t i = 0; i < n; i++) sum[c + i] = residual[c + i] + x[c + i] * factor[i];
    }
}

/* averages over a row of e = d_out gain, and of e times the normalised number */
static void averages(const pk_add_norm_back_row *row, float *along, float *across) {
    const vf mean = vf_all(row->moments[0]), factor = vf_all(row->moments[1]);
    vf       sum = vf_all(0), product = vf_all(0);
    for (int32_t c = 0; c < row->cols; c += 16) { /* lanes past the end are zeros in e */
        const int32_t left = row->cols - c;
        const vf      e = vf_mul(load_some(row->d_out + c, left), load_some(row->gain + c, left));
        const vf      y = vf_mul(vf_sub(load_some(row->sum + c, left), mean), factor);
        sum = vf_add(sum, e);
        product = vf_fma(e, y, product);
    }
    *along = vf_sum(sum) / (float)row->cols;
    *across = vf_sum(product) / (float)row->cols;
}

/* d (n) = the gradient of the sum, columns c .. c + n - 1; the formula is in ref_train_norm.c */
static void through_norm(float *d, const pk_add_norm_back_row *row, int32_t c, int32_t n,
                         float along, float across) {
    const float *d_out = row->d_out + c, *sum = row->sum + c, *gain = row->gain + c;
    const float  mean = row->moments[0], factor = row->moments[1];
    for (int32_t i = 0; i < n; i++) {
        const float y = (sum[i] - mean) * factor;
        d[i] = factor * (d_out[i] * gain[i] - along - y * across);
    }
}

/* the gradient of the sum goes to the residual as it is, and to x through dropout */
void PK_KERNEL(train_add_norm_back)(const pk_add_norm_back_row *row) {
    float d[BLOCK], factor[BLOCK], along = 0, across = 0;
    if (row->gain) averages(row, &along, &across);
    for (int32_t c = 0; c < row->cols; c += BLOCK) {
        const int32_t n = block_of(row->cols - c);
        float        *d_residual = row->d_residual ? row->d_residual + c : NULL;
        if (row->gain)
            through_norm(d, row, c, n, along, across);
        else
            memcpy(d, row->d_out + c, (size_t)n * sizeof *d);
        if (d_residual && row->add)
            for (int32_t i = 0; i < n; i++) d_residual[i] += d[i];
        else if (d_residual)
            memcpy(d_residual, d, (size_t)n * sizeof *d);
        if (!row->d_x) continue;
        drop_factors(factor, row->drop, row->first + (uint64_t)c);
        for (int32_t i = 0; i < n; i++) row->d_x[c + i] = d[i] * factor[i];
    }
}

/* sums over rows first .. end - 1 of some columns of d_out, and of d_out times the normalised x */
static void down_rows(float *gain, float *shift, pk_tensor d_out, pk_tensor x, const float *moments,
                      int32_t first, int32_t end, int32_t column, int32_t n) {
    for (int32_t i = 0; i < n; i++) gain[i] = shift[i] = 0;
    for (int32_t row = first; row < end; row++) {
        const float *d = d_out.data + (size_t)row * (size_t)d_out.stride + column;
        for (int32_t i = 0; i < n; i++) shift[i] += d[i];
        if (!moments) continue;
        const float *from = x.data + (size_t)row * (size_t)x.stride + column;
        const float  mean = moments[2 * row], factor = moments[2 * row + 1];
        for (int32_t i = 0; i < n; i++) gain[i] += d[i] * ((from[i] - mean) * factor);
    }
}

/* sums of 64 rows at a time are added to the gradients: the order depends on the rows alone */
void PK_KERNEL(train_gains)(float *d_gain, float *d_shift, pk_tensor d_out, pk_tensor x,
                            const float *moments, int32_t first, int32_t n) {
    float gain[BLOCK], shift[BLOCK];
    for (int32_t c = first; c < first + n; c += BLOCK) {
        const int32_t some = block_of(first + n - c);
        for (int32_t row = 0; row < d_out.rows; row += ROWS_AT_ONCE) {
            const int32_t end = row + ROWS_AT_ONCE < d_out.rows ? row + ROWS_AT_ONCE : d_out.rows;
            down_rows(gain, shift, d_out, x, d_gain ? moments : NULL, row, end, c, some);
            for (int32_t i = 0; d_gain && i < some; i++) d_gain[c + i] += gain[i];
            for (int32_t i = 0; d_shift && i < some; i++) d_shift[c + i] += shift[i];
        }
    }
}

/* sixteen partial sums, so that the additions do not wait for each other; the order depends on n
 * alone */
double PK_KERNEL(train_squares)(const float *x, size_t n) {
    double lane[16] = { 0 }, sum = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    for (size_t k = 0; k < 16; k++) sum += lane[k];
    for (; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Adam with decoupled decay, as step() in ref_train.c. The corrections of the first steps (early1,
 * early2) are put into the rate and into the factor of v. */
void PK_KERNEL(train_update)(const pk_update *u, size_t first, size_t n, float scale) {
    const double early1 = 1 - pow((double)u->beta1, (double)u->step);
    const double early2 = 1 - pow((double)u->beta2, (double)u->step);
    const float  b1 = u->beta1, c1 = (float)(1 - (double)u->beta1);
    const float  b2 = u->beta2, c2 = (float)(1 - (double)u->beta2);
    const float  rate = (float)((double)u->rate / early1), grow = (float)(1 / early2);
    const float  less = u->rate * u->decay, epsilon = u->epsilon;
    const float  keep = u->average_keep, fresh = (float)(1 - (double)keep);
    float       *w = u->master + first, *m = u->m + first, *v = u->v + first;
    float       *average = u->average ? u->average + first : NULL, *grad = u->grad + first;
    for (size_t i = 0; i < n; i++) {
        const float g = grad[i] * scale;
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        w[i] = w[i] - less * w[i] - rate * m[i] / (sqrtf(v[i] * grow) + epsilon);
        grad[i] = 0;
    }
    for (size_t i = 0; average && i < n; i++) average[i] = keep * average[i] + fresh * w[i];
}
