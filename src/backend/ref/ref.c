/* ref.c - the naive backend: the table, its small ops, and its state.
 *
 * The truth for tests and the documentation of each op: one thread, plain loops in the most
 * obvious order, weights read one at a time. It takes scratch memory when it needs it: speed is
 * no aim here. */
#include <math.h>
#include <string.h>

#include "backend/list.h"
#include "backend/ref/ref_ops.h"
#include "backend/ref/ref_train.h"
#include "base/memory.h"
#include "tensor/host_ops.h"
#include "tensor/panel.h"

typedef struct ref {
    float    *scratch;
    size_t    room;
    pk_status status; /* first failure since it was last asked for */
} ref;

static float *row_of(pk_tensor t, int32_t row) { return t.data + (size_t)row * (size_t)t.stride; }

/* grows, never shrinks; all ops share the block, one after the other */
float *pk_ref_scratch(void *self, size_t n) {
    ref *r = self;
    if (n <= r->room) return r->scratch;
    const pk_status status = PK_GROW(&r->scratch, n);
    if (status == PK_OK)
        r->room = n;
    else if (r->status == PK_OK)
        r->status = status;
    return status == PK_OK ? r->scratch : NULL;
}

/* a table row times scale, plus the row of its position; see embed in backend.h */
static void embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                  float scale, const pk_weight *position, const int32_t *pos) {
    (void)self;
    for (int32_t i = 0; i < out.rows; i++) {
        for (int32_t c = 0; c < out.cols; c++) {
            const float value = token[i] < 0 ? 0 : pk_weight_get(table, token[i], c) * scale;
            row_of(out, i)[c] = value + (position ? pk_weight_get(position, pos[i], c) : 0);
        }
    }
}

/* layer normalisation (Ba et al. 2016); the variance is that of all columns, not divided by n -
 * 1 */
void pk_ref_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                 const pk_weight *shift, float epsilon) {
    (void)self;
    for (int32_t i = 0; i < x.rows; i++) {
        const float *in = row_of(x, i);
        double       mean = 0, variance = 0;
        for (int32_t c = 0; c < x.cols; c++) mean += in[c];
        mean /= x.cols;
        for (int32_t c = 0; c < x.cols; c++) variance += (in[c] - mean) * (in[c] - mean);
        variance /= x.cols;
        const double factor = 1 / sqrt(variance + (double)epsilon);
        for (int32_t c = 0; c < x.cols; c++) {
            const double y = (in[c] - mean) * factor;
            row_of(out, i)[c] = (float)(y * pk_weight_get(gain, 0, c) + pk_weight_get(shift, 0, c));
        }
    }
}

void pk_ref_scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot) {
    (void)self;
    for (int32_t i = 0; i < rows.rows; i++) {
        const float *from = row_of(rows, i);
        uint16_t    *half = (uint16_t *)(void *)pool.data + (size_t)slot[i] * (size_t)pool.stride;
        if (pool.type == PK_F32)
            memcpy(row_of(pool, slot[i]), from, (size_t)rows.cols * sizeof(float));
        else
            for (int32_t c = 0; c < rows.cols; c++) half[c] = pk_f32_to_f16(from[c]);
    }
}

/* returns the first failure and clears it */
static pk_status take_status(void *self) {
    ref            *r = self;
    const pk_status status = r->status;
    r->status = PK_OK;
    return status;
}

/* nothing: scratch grows when an op needs it */
static pk_status reserve(void *self, const pk_limits *max) {
    (void)self, (void)max;
    return PK_OK;
}

static void close(void *self) {
    ref *r = self;
    pk_memory_give(r->scratch);
    pk_memory_give(r);
}

static void limit(void *self, int32_t threads) { (void)self, (void)threads; }

pk_status pk_ref_open(int32_t threads, pk_backend *out) {
    ref *r;
    (void)threads; /* one, whatever was asked for */
    PK_TRY(PK_TAKE(&r, 1));
    *out = (pk_backend){ .name = "ref",
                         .self = r,
                         .close = close,
                         .status = take_status,
                         .reserve = reserve,
                         .limit = limit,
                         .encode = PK_HOST_ENCODE,
                         .padded_rows = pk_host_padded_rows,
                         .take = pk_host_take,
                         .mirror = pk_host_mirror,
                         .give = pk_host_give,
                         .put = pk_host_copy,
                         .get = pk_host_copy,
                         .adopt = pk_host_adopt,
                         .repeat = pk_host_repeat,
                         .embed = embed,
                         .linear = pk_ref_linear,
                         .norm = pk_ref_norm,
                         .attend = pk_ref_attend,
                         .scatter = pk_ref_scatter,
                         .answer = pk_ref_answer,
                         .edges = pk_ref_edges,
                         .advance = pk_host_advance,
                         .train = &pk_ref_training };
    return PK_OK;
}
