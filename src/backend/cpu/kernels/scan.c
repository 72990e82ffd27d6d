/* scan.c - reads logits: the best few, and the sum of their exponentials.
 *
 * Almost no logit beats the list, so sixteen at a time are compared with its last entry, and
 * only those that are not below it are looked at. The order (score falling, id rising) is total,
 * so the list does not depend on the order in which parts of the vocabulary arrive. */
#include "backend/cpu/kernels/kernel_list.h"

static bool before(pk_scored a, pk_scored b) {
    return a.score > b.score || (a.score == b.score && a.token < b.token);
}

/* keeps the list sorted; when it is full, the last entry is dropped */
static void insert(pk_best *best, pk_scored scored) {
    if (best->n == best->room) {
        if (!before(scored, best->list[best->n - 1])) return;
        best->n--;
    }
    int32_t at = best->n++;
    for (; at > 0 && before(scored, best->list[at - 1]); at--) best->list[at] = best->list[at - 1];
    best->list[at] = scored;
}

/* inserts the logits whose bit is set; never minus infinity (banned) or NaN */
static void offer(pk_best *best, const float *logits, uint32_t lanes, int32_t first_token) {
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        if (logits[lane] > -INFINITY) insert(best, (pk_scored){ first_token + lane, logits[lane] });
    }
}

/* what a logit must not be below to be looked at */
static float threshold_of(const pk_best *best) {
    return best->n == best->room ? best->list[best->n - 1].score : -INFINITY;
}

/* lanes past the end are masked out of the comparison */
void PK_KERNEL(best)(pk_best *best, const float *logits, int32_t n, int32_t first_token) {
    if (best->room == 0) return;
    float threshold = threshold_of(best);
    for (int32_t i = 0; i < n; i += 16) {
        const vf       v = n - i >= 16 ? vf_load(logits + i) : vf_load_part(logits + i, n - i);
        const uint32_t in = n - i >= 16 ? 0xffff : (1u << (n - i)) - 1;
        const uint32_t lanes = vf_at_least(v, vf_all(threshold)) & in;
        if (!lanes) continue;
        offer(best, logits + i, lanes, first_token + i);
        threshold = threshold_of(best);
    }
}

/* sixteen logits; past the end, what changes neither the largest nor the sum */
INLINE vf load_logits(const float *logits, int32_t left) {
    return left >= 16 ? vf_load(logits) : vf_first(vf_load_part(logits, left), left, -INFINITY);
}

/* two sweeps: first the largest, then the sum relative to it */
void PK_KERNEL(exp_sum)(const float *logits, int32_t n, float *most, float *sum) {
    vf top = vf_all(-INFINITY), total = vf_all(0);
    for (int32_t i = 0; i < n; i += 16) top = vf_max(top, load_logits(logits + i, n - i));
    *most = vf_most(top);
    *sum = 0;
    if (*most == -INFINITY) return;
    for (int32_t i = 0; i < n; i += 16)
        total = vf_add(total, vf_exp(vf_sub(load_logits(logits + i, n - i), vf_all(*most))));
    *sum = vf_sum(total);
}
