/* ref_train_norm.c - residual sums and layer normalisation, forwards and backwards.
 *
 * With y = (x - mean) f, f = 1 / sqrt(variance + epsilon), out = y gain + shift and e = d_out gain:
 * d_x = f (e - average of e - y * average of e y). Averages are over the columns of a row. */
#include <math.h>

#include "backend/ref/ref_train.h"
#include "tensor/panel.h"

/* moments (rows, 2) keeps mean and f, which the way back needs */
void pk_ref_norm_keep(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                      const pk_weight *shift, float epsilon, float *moments) {
    (void)self;
    for (int32_t i = 0; i < x.rows; i++) {
        double mean = 0, variance = 0;
        for (int32_t c = 0; c < x.cols; c++) mean += *pk_ref_at(x, i, c);
        mean /= x.cols;
        for (int32_t c = 0; c < x.cols; c++) {
            const double off = *pk_ref_at(x, i, c) - mean;
            variance += off * off;
        }
        variance /= x.cols;
        const double factor = 1 / sqrt(variance + (double)epsilon);
        for (int32_t c = 0; c < x.cols; c++) {
            const double y = (*pk_ref_at(x, i, c) - mean) * factor;
            *pk_ref_at(out, i, c) =
                (float)(y * pk_weight_get(gain, 0, c) + pk_weight_get(shift, 0, c));
        }
        moments[2 * i] = (float)mean, moments[2 * i + 1] = (float)factor;
    }
}

/* What a row of a norm needs on its way back. */
typedef struct norm_row {
    pk_tensor        d_out, x;
    const pk_weight *gain;
    int32_t          row;
    double           mean, factor;
    double           along, across; /* averages of e and of e y */
} norm_row;

/* y at column c */
static double normal(const norm_row *r, int32_t c) {
    return (*pk_ref_at(r->x, r->row, c) - r->mean) * r->factor;
}

/* e at column c */
static double weighed(const norm_row *r, int32_t c) {
    return (double)*pk_ref_at(r->d_out, r->row, c) * pk_weight_get(r->gain, 0, c);
}

/* the row with its averages */
static norm_row norm_row_of(pk_tensor d_out, pk_tensor x, const pk_weight *gain,
                            const float *moments, int32_t row) {
    norm_row r = { d_out, x, gain, row, moments[2 * row], moments[2 * row + 1], 0, 0 };
    for (int32_t c = 0; c < x.cols; c++) {
        r.along += weighed(&r, c) / x.cols;
        r.across += weighed(&r, c) * normal(&r, c) / x.cols;
    }
    return r;
}

/* the gradient of one number that was normalised */
static double through_norm(const norm_row *r, int32_t c) {
    return r->factor * (weighed(r, c) - r->along - normal(r, c) * r->across);
}

/* d_gain += sum over rows of d_out y, d_shift += sum over rows of d_out */
static void back_to_gains(float *d_gain, float *d_shift, pk_tensor d_out, pk_tensor x,
                          const float *moments) {
    for (int32_t c = 0; c < x.cols; c++) {
        double gain = 0, shift = 0;
        for (int32_t i = 0; i < x.rows; i++) {
            const double d = *pk_ref_at(d_out, i, c);
            gain += d * (*pk_ref_at(x, i, c) - moments[2 * i]) * moments[2 * i + 1];
            shift += d;
        }
        if (d_gain) d_gain[c] += (float)gain;
        if (d_shift) d_shift[c] += (float)shift;
    }
}

void pk_ref_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                      pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments) {
    (void)self;
    back_to_gains(d_gain, d_shift, d_out, x, moments); /* first: d_x may be d_out */
    for (int32_t i = 0; d_x.data && i < x.rows; i++) {
        const norm_row r = norm_row_of(d_out, x, gain, moments, i);
        for (int32_t c = 0; c < x.cols; c++) {
            const double before = add ? *pk_ref_at(d_x, i, c) : 0;
            *pk_ref_at(d_x, i, c) = (float)(before + through_norm(&r, c));
        }
    }
}

void pk_ref_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                     pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                     float *moments) {
    for (int32_t i = 0; i < x.rows; i++)
        for (int32_t c = 0; c < x.cols; c++)
            *pk_ref_at(sum, i, c) =
                *pk_ref_at(residual, i, c) + *pk_ref_at(x, i, c) * pk_ref_keep(drop, x, i, c);
    if (gain) pk_ref_norm_keep(self, out, sum, gain, shift, epsilon, moments);
}

void pk_ref_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                          float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                          const float *moments, pk_drop drop) {
    (void)self;
    if (gain) back_to_gains(d_gain, d_shift, d_out, sum, moments);
    for (int32_t i = 0; i < d_out.rows; i++) {
        const norm_row r =
            gain ? norm_row_of(d_out, sum, gain, moments, i) : (norm_row){ .row = i };
        for (int32_t c = 0; c < d_out.cols; c++) {
            const double d = gain ? through_norm(&r, c) : *pk_ref_at(d_out, i, c);
            if (d_residual.data) {
                const double before = add ? *pk_ref_at(d_residual, i, c) : 0;
                *pk_ref_at(d_residual, i, c) = (float)(before + d);
            }
            if (d_x.data) *pk_ref_at(d_x, i, c) = (float)(d * pk_ref_keep(drop, d_out, i, c));
        }
    }
}
