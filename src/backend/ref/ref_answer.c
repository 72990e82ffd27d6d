/* ref_answer.c - best tokens, log sums and single logits of the output layer, one question at a
 * time.
 *
 * Ties go to the lower id. Banned tokens, and tokens whose logit is minus infinity or not a number,
 * are never among the best; where fewer than top_k are left the list ends with token -1. */
#include <math.h>

#include "backend/ref/ref_ops.h"
#include "tensor/panel.h"

/* is the token one of the n? */
static bool listed(const int32_t *tokens, int32_t n, int32_t token) {
    for (int32_t i = 0; i < n; i++)
        if (tokens[i] == token) return true;
    return false;
}

/* log(sum(exp(logits))) without some tokens; the largest is taken out first, so that exp stays
 * finite */
static float log_sum(const float *logits, int32_t n, const int32_t *without, int32_t n_without) {
    double most = -INFINITY, sum = 0;
    for (int32_t t = 0; t < n; t++)
        if (!listed(without, n_without, t)) most = fmax(most, logits[t]);
    for (int32_t t = 0; t < n; t++)
        if (!listed(without, n_without, t)) sum += exp(logits[t] - most);
    return (float)(most + log(sum));
}

/* the best token that comes after `last` in the order (score falling, id rising) */
static pk_scored next_best(const float *logits, int32_t n, pk_scored last, const int32_t *ban,
                           int32_t n_ban) {
    pk_scored best = { -1, -INFINITY };
    for (int32_t t = 0; t < n; t++) {
        const bool after = logits[t] < last.score || (logits[t] == last.score && t > last.token);
        if (after && logits[t] > best.score && !listed(ban, n_ban, t))
            best = (pk_scored){ t, logits[t] };
    }
    return best;
}

/* question i, from the logits (vocab) of its row */
static void answer_one(const float *logits, int32_t vocab, const pk_answering *a, int32_t i) {
    const pk_question *q = &a->question[i];
    const int32_t     *ban = a->tokens + q->ban;
    pk_scored          last = { -1, INFINITY };
    for (int32_t k = 0; k < q->top_k; k++) {
        if (k == 0 || last.token >= 0) last = next_best(logits, vocab, last, ban, q->n_ban);
        a->top[(size_t)i * (size_t)a->top_stride + (size_t)k] = last;
    }
    if (q->log_sum) a->log_sum[i] = log_sum(logits, vocab, ban, q->renormalise ? q->n_ban : 0);
    for (int32_t j = q->target; j < q->target + q->n_target; j++)
        a->target_score[j] = logits[a->tokens[j]];
}

void pk_ref_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a) {
    float *logits = pk_ref_scratch(self, (size_t)table->rows);
    if (!logits) return;
    for (int32_t i = 0; i < a->n; i++) {
        const int32_t row = a->question[i].row;
        pk_ref_product(hidden.data + (size_t)row * (size_t)hidden.stride, table, logits);
        for (int32_t t = 0; bias && t < table->rows; t++) logits[t] += pk_weight_get(bias, 0, t);
        answer_one(logits, table->rows, a, i);
    }
}
