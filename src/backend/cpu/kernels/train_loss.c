/* train_loss.c - the loss of one question, and its gradient, which overwrites its logits.
 *
 * The formula is in ref_train_loss.c. Sums go lane by lane over the vocabulary. The token that
 * is no class (`never`) must not change any sum: its logit is set to the target's while the
 * logits are summed (and subtracted again), and to minus infinity after that. */
#include "backend/cpu/kernels/train_list.h"

/* the largest logit, and the sum of all */
static float largest_and_sum(const float *x, int32_t n, float *sum) {
    vf most = vf_all(-INFINITY), all = vf_all(0);
    for (int32_t t = 0; t < n; t += 16) {
        const vf v = load_some(x + t, n - t);
        most = vf_max(n - t < 16 ? vf_first(v, n - t, -INFINITY) : v, most);
        all = vf_add(all, v);
    }
    *sum = vf_sum(all);
    return vf_most(most);
}

/* x becomes exp(x - most); returns the sum */
static float exponentials(float *x, int32_t n, float most) {
    vf sum = vf_all(0);
    for (int32_t t = 0; t < n; t += 16) {
        const vf v = vf_exp(vf_sub(load_some(x + t, n - t), vf_all(most)));
        store_some(x + t, v, n - t);
        sum = vf_add(sum, n - t < 16 ? vf_first(v, n - t, 0) : v);
    }
    return vf_sum(sum);
}

/* log p of the target and of all classes, the best class, and with `learn` the gradient */
void PK_KERNEL(train_loss)(pk_loss_row *row) {
    float        *x = row->logits;
    const bool    without = row->never >= 0 && row->never < row->vocab;
    const int32_t classes = row->vocab - without;
    const float   right = x[row->target];
    float         sum;
    if (without) x[row->never] = right;
    const float most = largest_and_sum(x, row->vocab, &sum);
    if (without) sum -= right, x[row->never] = -INFINITY;
    row->best = 0;
    while (row->best < row->vocab - 1 && !(x[row->best] >= most)) row->best++;
    const float  total = exponentials(x, row->vocab, most);
    const double log_sum = (double)most + log((double)total);
    row->nll = log_sum - (double)right;
    row->all = classes * log_sum - (double)sum;
    if (!row->learn) return;
    /* d_logit = weight (p - smoothing / classes), less weight (1 - smoothing) at the target */
    const float each = row->weight / total;
    const float less = row->weight * row->smoothing / (float)classes;
    for (int32_t t = 0; t < row->vocab; t++) x[t] = x[t] * each - less;
    x[row->target] -= row->weight * (1 - row->smoothing);
    if (without) x[row->never] = 0;
}
