/* viterbi.c - forward over all steps, keeping where each best sum came from; then back.
 *
 * A step may lead to the end symbol besides, which is its last token: paths of every length compete
 * by their sums. Of equal sums the first wins, so that the result has one meaning. */
#include "decode/viterbi.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* the best sum of each token that the step leads to, and the candidate that it comes from */
static void extend(const pk_lattice_step *s, const float *before, float *after, int32_t *back) {
    for (int32_t j = 0; j < s->n_to; j++) after[j] = -INFINITY, back[j] = 0;
    for (int32_t i = 0; i < s->n_from; i++) {
        const float *edge = s->score + (size_t)i * (size_t)s->n_to;
        for (int32_t j = 0; j < s->n_to; j++) {
            const float sum = before[i] + edge[j];
            const bool  better = sum > after[j]; /* false for NaN */
            after[j] = better ? sum : after[j];
            back[j] = better ? i : back[j];
        }
    }
}

/* walks back from the end symbol of the last step */
static void read_path(const pk_lattice *l, const pk_viterbi_scratch *scratch, int32_t n,
                      int32_t *choice) {
    int32_t at = l->step[n - 1].end;
    for (int32_t s = n - 1; s >= 0; s--) {
        choice[s] = at;
        at = scratch->back[(size_t)s * (size_t)scratch->widest + (size_t)at];
    }
}

int32_t pk_viterbi(const pk_lattice *l, const pk_viterbi_scratch *scratch, int32_t *choice,
                   float *score) {
    float  *before = scratch->sum, *after = scratch->sum + scratch->widest;
    int32_t n = 0;
    *score = -INFINITY;
    before[0] = 0;
    for (int32_t s = 0; s < l->n; s++) {
        const pk_lattice_step *step = &l->step[s];
        assert(step->n_to <= scratch->widest && (step->end < 0 || step->end == step->n_to - 1));
        assert(step->n_from == (s ? l->step[s - 1].n_to - (l->step[s - 1].end >= 0) : 1));
        extend(step, before, after, scratch->back + (size_t)s * (size_t)scratch->widest);
        if (step->end >= 0 && after[step->end] > *score) {
            *score = after[step->end];
            n = s + 1;
        }
        float *const swap = before;
        before = after;
        after = swap;
    }
    if (n) read_path(l, scratch, n, choice);
    return n;
}
