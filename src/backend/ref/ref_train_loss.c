/* ref_train_loss.c - the loss of known answers and its gradient, one question at a time.
 *
 * With p = softmax(logits) over the classes (all tokens but `never`) and s the smoothing:
 * d_logit = weight (p - (1 - s) [is the target] - s / classes). Rows of the table past the
 * vocabulary are no tokens. */
#include <math.h>

#include "backend/ref/ref_ops.h"
#include "backend/ref/ref_train.h"
#include "tensor/panel.h"

typedef struct asked { /* one question */
    const pk_lesson_questions *q;
    double                    *logit; /* (vocab) */
    int32_t                    row, target, classes;
    double                     weight;
} asked;

static bool is_class(const asked *a, int32_t token) { return token != a->q->never; }

/* the class with the largest logit; the lowest of equal ones */
static int32_t best_of(const asked *a) {
    int32_t best = -1;
    for (int32_t t = 0; t < a->q->vocab; t++)
        if (is_class(a, t) && (best < 0 || a->logit[t] > a->logit[best])) best = t;
    return best;
}

static double log_sum_of(const asked *a, double most) {
    double sum = 0;
    for (int32_t t = 0; t < a->q->vocab; t++)
        if (is_class(a, t)) sum += exp(a->logit[t] - most);
    return most + log(sum);
}

/* counts one question, and turns its logits into their gradients */
static int32_t learn(const asked *a, pk_loss_sums *sums) {
    const int32_t best = best_of(a);
    const double  log_sum = log_sum_of(a, a->logit[best]), s = (double)a->q->smoothing;
    const float   nll = (float)log_sum - (float)a->logit[a->target]; /* as answers are given */
    double        all = 0;                                           /* -log p of every class */
    for (int32_t t = 0; t < a->q->vocab; t++) {
        if (is_class(a, t)) all += log_sum - a->logit[t];
        const double p = exp(a->logit[t] - log_sum), right = t == a->target ? 1 - s : 0;
        a->logit[t] = is_class(a, t) ? a->weight * (p - right - s / a->classes) : 0;
    }
    sums->loss += a->weight * ((1 - s) * nll + s / a->classes * all);
    sums->nll += a->weight * nll;
    sums->weight += a->weight;
    sums->correct += best == a->target ? a->weight : 0;
    return best;
}

/* logit (vocab) = hidden row times the table, plus bias; product has room for the table's rows */
static void find_logits(const asked *a, pk_tensor hidden, const pk_weight *table,
                        const pk_weight *bias, float *product) {
    pk_ref_product(pk_ref_at(hidden, a->row, 0), table, product);
    for (int32_t t = 0; t < a->q->vocab; t++)
        a->logit[t] = bias ? product[t] + pk_weight_get(bias, 0, t) : product[t];
}

/* logit holds d_logit now: d_hidden += d_logit table, d_table += d_logit^T hidden, d_bias +=
 * d_logit */
static void add_gradients(const asked *a, pk_tensor hidden, const pk_weight *table,
                          pk_tensor d_hidden, float *d_table, float *d_bias) {
    for (int32_t c = 0; d_hidden.data && c < hidden.cols; c++) {
        double sum = *pk_ref_at(d_hidden, a->row, c);
        for (int32_t t = 0; t < a->q->vocab; t++) sum += a->logit[t] * pk_weight_get(table, t, c);
        *pk_ref_at(d_hidden, a->row, c) = (float)sum;
    }
    for (int32_t t = 0; t < a->q->vocab; t++) {
        for (int32_t c = 0; d_table && c < hidden.cols; c++)
            d_table[(size_t)t * (size_t)hidden.cols + (size_t)c] +=
                (float)(a->logit[t] * *pk_ref_at(hidden, a->row, c));
        if (d_bias) d_bias[t] += (float)a->logit[t];
    }
}

void pk_ref_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                 const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                 pk_tensor d_hidden, float *d_table, float *d_bias, void *work) {
    asked  a = { .q = q, .logit = work };
    float *product = pk_ref_scratch(self, (size_t)table->rows);
    if (!product) return;
    a.classes = q->vocab - (q->never >= 0 && q->never < q->vocab);
    for (int32_t i = 0; d_hidden.data && i < d_hidden.rows; i++)
        for (int32_t c = 0; c < d_hidden.cols; c++) *pk_ref_at(d_hidden, i, c) = 0;
    for (int32_t i = 0; i < q->n; i++) {
        a.row = q->row ? q->row[i] : i;
        a.target = q->target[i];
        a.weight = q->weight ? q->weight[i] : 1;
        find_logits(&a, hidden, table, bias, product);
        const int32_t found = learn(&a, sums);
        if (best) best[i] = found;
        add_gradients(&a, hidden, table, d_hidden, d_table, d_bias);
    }
}

size_t pk_ref_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows) {
    (void)self, (void)questions, (void)dim;
    return (size_t)table_rows * sizeof(double);
}
