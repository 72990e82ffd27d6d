/* ref_edges.c - the edges of lattices, one row and one token at a time; see edges in backend.h. */
#include <math.h>

#include "backend/ref/ref_ops.h"
#include "tensor/panel.h"

static float log_sum(const float *logits, int32_t n) {
    double most = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, logits[i]);
    for (int32_t i = 0; i < n; i++) sum += exp(logits[i] - most);
    return (float)(most + log(sum));
}

/* the scores of one row of a block; logits: of the whole table */
static void score_row(float *out, const float *logits, const pk_weight *bias, const pk_edging *e,
                      const pk_edge_block *b, int32_t row) {
    for (int32_t i = 0; i < b->n_tokens; i++) {
        const int32_t token = e->tokens[b->token + i];
        out[i] = logits[token] + (bias ? pk_weight_get(bias, 0, token) : 0);
    }
    const float sum = e->log_sum ? e->log_sum[row] : log_sum(out, b->n_tokens);
    for (int32_t i = 0; i < b->n_tokens; i++) out[i] -= sum;
}

void pk_ref_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_edging *e) {
    float *logits = pk_ref_scratch(self, (size_t)table->rows);
    if (!logits) return;
    for (int32_t i = 0; i < e->n; i++) {
        const pk_edge_block *b = &e->block[i];
        for (int32_t r = 0; r < b->n_rows; r++) {
            const int32_t row = b->row + r;
            pk_ref_product(hidden.data + (size_t)row * (size_t)hidden.stride, table, logits);
            score_row(e->score + b->score + (size_t)r * (size_t)b->n_tokens, logits, bias, e, b,
                      row);
        }
    }
}
