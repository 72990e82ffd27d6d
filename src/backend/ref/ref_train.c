/* ref_train.c - the table of training: embedding, product, activation, and the optimiser.
 *
 * One number at a time. Forwards, ops have the bits of those that translate, so that what was
 * learned is what is computed later; backwards, sums are in double. A gradient of a weight is added
 * to; a gradient of an activation is set, or added to where `add` is true. */
#include "backend/ref/ref_train.h"

#include <math.h>
#include <string.h>

#include "backend/ref/ref_activation.h"
#include "backend/ref/ref_ops.h"
#include "tensor/panel.h"

static void embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                  float scale, const pk_weight *position, const int32_t *pos, pk_drop drop) {
    (void)self;
    for (int32_t i = 0; i < out.rows; i++) {
        for (int32_t c = 0; c < out.cols; c++) {
            const float piece = token[i] < 0 ? 0 : pk_weight_get(table, token[i], c) * scale;
            const float offset = position ? pk_weight_get(position, pos[i], c) : 0;
            *pk_ref_at(out, i, c) = (piece + offset) * pk_ref_keep(drop, out, i, c);
        }
    }
}

/* each row adds to the table's row of its token and to the row of its position */
static void embed_back(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                       float scale, float *d_position, const int32_t *pos, pk_drop drop) {
    const size_t cols = (size_t)d_out.cols;
    (void)self;
    for (int32_t i = 0; i < d_out.rows; i++) {
        for (int32_t c = 0; c < d_out.cols; c++) {
            const float d = *pk_ref_at(d_out, i, c) * pk_ref_keep(drop, d_out, i, c);
            if (d_table && token[i] >= 0) d_table[(size_t)token[i] * cols + (size_t)c] += d * scale;
            if (d_position) d_position[(size_t)pos[i] * cols + (size_t)c] += d;
        }
    }
}

/* out = x w^T + bias, with the bits of linear() */
static void product(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_weight *bias) {
    float *y = pk_ref_scratch(self, (size_t)w->rows);
    if (!y) return;
    for (int32_t i = 0; i < out.rows; i++) {
        pk_ref_product(pk_ref_at(x, i, 0), w, y);
        for (int32_t o = 0; o < out.cols; o++)
            *pk_ref_at(out, i, o) = y[o] + (bias ? pk_weight_get(bias, 0, o) : 0);
    }
}

/* d_x (+)= d_out w */
static void product_back_input(pk_tensor d_x, bool add, pk_tensor d_out, const pk_weight *w) {
    for (int32_t i = 0; i < d_x.rows; i++) {
        for (int32_t c = 0; c < d_x.cols; c++) {
            double sum = add ? *pk_ref_at(d_x, i, c) : 0;
            for (int32_t o = 0; o < d_out.cols; o++)
                sum += (double)*pk_ref_at(d_out, i, o) * pk_weight_get(w, o, c);
            *pk_ref_at(d_x, i, c) = (float)sum;
        }
    }
}

/* d_w += d_out^T x */
static void product_back_weights(float *d_w, pk_tensor d_out, pk_tensor x) {
    for (int32_t o = 0; o < d_out.cols; o++) {
        for (int32_t c = 0; c < x.cols; c++) {
            double sum = 0;
            for (int32_t i = 0; i < x.rows; i++)
                sum += (double)*pk_ref_at(d_out, i, o) * *pk_ref_at(x, i, c);
            d_w[(size_t)o * (size_t)x.cols + (size_t)c] += (float)sum;
        }
    }
}

static void product_back(void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias,
                         pk_tensor d_out, pk_tensor x, const pk_weight *w) {
    (void)self;
    if (d_x.data) product_back_input(d_x, add, d_out, w);
    if (d_w) product_back_weights(d_w, d_out, x);
    for (int32_t o = 0; d_bias && o < d_out.cols; o++) {
        double sum = 0;
        for (int32_t i = 0; i < d_out.rows; i++) sum += *pk_ref_at(d_out, i, o);
        d_bias[o] += (float)sum;
    }
}

static void activate(void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop) {
    (void)self;
    for (int32_t i = 0; i < x.rows; i++)
        for (int32_t c = 0; c < x.cols; c++)
            *pk_ref_at(out, i, c) =
                pk_ref_activate(*pk_ref_at(x, i, c), act) * pk_ref_keep(drop, x, i, c);
}

/* d_x = d_out f slope(x), f the factor of dropout */
static void activate_back(void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act,
                          pk_drop drop) {
    (void)self;
    for (int32_t i = 0; i < x.rows; i++)
        for (int32_t c = 0; c < x.cols; c++)
            *pk_ref_at(d_x, i, c) = (float)(*pk_ref_at(d_out, i, c) * pk_ref_keep(drop, x, i, c) *
                                            pk_ref_slope(*pk_ref_at(x, i, c), act));
}

/* *sum += sum of x^2, for clipping by the norm of the gradient */
static void squares(void *self, const float *x, size_t n, double *sum) {
    double all = 0;
    (void)self;
    for (size_t i = 0; i < n; i++) all += (double)x[i] * x[i];
    *sum += all;
}

/* Adam (Kingma and Ba 2015) with decoupled decay (Loshchilov and Hutter 2019) */
static void step(const pk_update *u, size_t i, double scale) {
    const double g = u->grad[i] * scale, b1 = (double)u->beta1, b2 = (double)u->beta2;
    const double m = b1 * u->m[i] + (1 - b1) * g, v = b2 * u->v[i] + (1 - b2) * g * g;
    /* corrected for the zeros that m and v began with */
    const double mean = m / (1 - pow(b1, (double)u->step));
    const double square = v / (1 - pow(b2, (double)u->step));
    const double old = u->master[i], less = (double)u->rate * u->decay * old;
    const double w = old - less - u->rate * mean / (sqrt(square) + (double)u->epsilon);
    const double keep = (double)u->average_keep;
    u->m[i] = (float)m, u->v[i] = (float)v, u->master[i] = (float)w;
    if (u->average) u->average[i] = (float)(keep * u->average[i] + (1 - keep) * w);
}

static void round_weights(void *self, void *weights, const float *master, size_t n) {
    (void)self;
    if (weights != (const void *)master) memcpy(weights, master, n * sizeof *master);
}

/* clips, takes the step, and clears the gradient; a gradient that is not finite takes no step */
static void update(void *self, const pk_update *u) {
    const double length = sqrt(*u->squares) / (double)u->total;
    const double clip = (double)u->clip;
    double       scale = 1 / (double)u->total;
    if (clip > 0 && length > clip) scale *= clip / length;
    const bool usable = isfinite(*u->squares);
    for (size_t i = 0; usable && i < u->n; i++) step(u, i, scale);
    *u->skipped += !usable;
    memset(u->grad, 0, u->n * sizeof *u->grad);
    if (usable) round_weights(self, u->weights, u->master, u->n);
}

static void clear(void *self, void *memory, size_t bytes) {
    (void)self;
    memset(memory, 0, bytes);
}

static pk_status reserve(void *self, int32_t rows, int32_t cols, int32_t longest_segment) {
    (void)self, (void)rows, (void)cols, (void)longest_segment;
    return PK_OK;
}

const pk_training pk_ref_training = { .embed = embed,
                                      .embed_back = embed_back,
                                      .product = product,
                                      .product_back = product_back,
                                      .activate = activate,
                                      .activate_back = activate_back,
                                      .add_norm = pk_ref_add_norm,
                                      .add_norm_back = pk_ref_add_norm_back,
                                      .norm = pk_ref_norm_keep,
                                      .norm_back = pk_ref_norm_back,
                                      .attend = pk_ref_attend_segments,
                                      .attend_back = pk_ref_attend_back,
                                      .loss = pk_ref_loss,
                                      .loss_bytes = pk_ref_loss_bytes,
                                      .squares = squares,
                                      .update = update,
                                      .clear = clear,
                                      .round_weights = round_weights,
                                      .reserve = reserve };
