/* ref_attend.c - softmax(q k^T / sqrt(head width)) v, one query and one head at a time.
 *
 * A query that sees no keys gets zeros. The optional weights are the probabilities averaged over
 * the heads; entries past the query's count are zero. */
#include <math.h>
#include <string.h>

#include "backend/ref/ref_ops.h"
#include "tensor/panel.h"

/* column c of the row of a key (or value) that a query sees */
static float key_column(pk_tensor t, const pk_attention *see, int32_t query, int32_t key,
                        int32_t c) {
    const int32_t at = see->first[query] + key;
    const size_t  i = (size_t)(see->index ? see->index[at] : at) * (size_t)t.stride + (size_t)c;
    return t.type == PK_F16 ? pk_f16_to_f32(((const uint16_t *)(const void *)t.data)[i])
                            : t.data[i];
}

/* p (count): the attention probabilities of one head */
static void probabilities(float *p, const float *q, pk_tensor k, const pk_attention *see,
                          int32_t query, int32_t offset, int32_t width) {
    const int32_t count = see->count[query];
    double        most = -INFINITY, total = 0;
    for (int32_t j = 0; j < count; j++) {
        double dot = 0;
        for (int32_t c = 0; c < width; c++)
            dot += (double)q[c] * key_column(k, see, query, j, offset + c);
        p[j] = (float)(dot / sqrt(width));
        most = fmax(most, p[j]);
    }
    for (int32_t j = 0; j < count; j++) total += exp(p[j] - most);
    for (int32_t j = 0; j < count; j++) p[j] = (float)(exp(p[j] - most) / total);
}

/* out (columns of one head) = values weighted by the probabilities p */
static void attend_head(float *out, float *p, const float *q, pk_tensor k, pk_tensor v,
                        const pk_attention *see, int32_t query, int32_t head) {
    const int32_t width = k.cols / see->heads, offset = head * width;
    probabilities(p, q + offset, k, see, query, offset, width);
    for (int32_t c = 0; c < width; c++) {
        double sum = 0;
        for (int32_t j = 0; j < see->count[query]; j++)
            sum += (double)p[j] * key_column(v, see, query, j, offset + c);
        out[offset + c] = (float)sum;
    }
}

/* one head's share of the attention weights: their mean over the heads */
static void add_weights(float *weights, const float *p, int32_t count, int32_t heads) {
    for (int32_t j = 0; j < count; j++) weights[j] += p[j] / (float)heads;
}

void pk_ref_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see) {
    for (int32_t i = 0; i < q.rows; i++) {
        float *p = pk_ref_scratch(self, (size_t)see->count[i]);
        if (!p) return;
        float *weights =
            see->weights ? see->weights + (size_t)i * (size_t)see->weights_stride : NULL;
        if (weights) memset(weights, 0, (size_t)see->weights_stride * sizeof *weights);
        for (int32_t head = 0; head < see->heads; head++) {
            attend_head(out.data + (size_t)i * (size_t)out.stride, p,
                        q.data + (size_t)i * (size_t)q.stride, k, v, see, i, head);
            if (weights) add_weights(weights, p, see->count[i], see->heads);
        }
    }
}
