/* viterbi.c - forward over all steps, keeping the best sum of each token; then back.
 *
 * A step may lead to the end symbol besides, which is its last token: paths of every length compete
 * by their sums. Of equal sums the first wins, so that the result has one meaning. Where a sum
 * comes from is asked on the one path that is read, and found by adding again: the way forward is
 * then additions and maxima alone, which compilers make vectors of. */
#include "decode/viterbi.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { BLOCK = 32, FEW = 4 }; /* tokens whose sums stay in registers */

/* the best sums of `width` tokens, a constant; what is no number is never larger */
static inline void extend_block(const pk_lattice_step *s, const float *before, int32_t first,
                                int32_t width, float *after) {
    const float *edge = s->score + first;
    float        best[BLOCK];
    for (int32_t j = 0; j < width; j++) best[j] = -INFINITY;
    for (int32_t i = 0; i < s->n_from; i++, edge += s->n_to)
        for (int32_t j = 0; j < width; j++) {
            const float sum = before[i] + edge[j];
            best[j] = sum > best[j] ? sum : best[j];
        }
    for (int32_t j = 0; j < width; j++) after[first + j] = best[j];
}

/* the best sum of each token that the step leads to */
static void extend(const pk_lattice_step *s, const float *before, float *after) {
    int32_t j = 0;
    for (; j + BLOCK <= s->n_to; j += BLOCK) extend_block(s, before, j, BLOCK, after);
    for (; j + FEW <= s->n_to; j += FEW) extend_block(s, before, j, FEW, after);
    for (; j < s->n_to; j++) extend_block(s, before, j, 1, after);
}

/* the first candidate from which token j has its sum */
static int32_t origin_of(const pk_lattice_step *s, const float *before, float sum, int32_t j) {
    const float *edge = s->score + j;
    for (int32_t i = 0; i < s->n_from; i++, edge += s->n_to)
        if (before[i] + *edge == sum) return i;
    assert(false); /* it was the sum of one of them */
    return 0;
}

/* walks back from the end symbol of the last step */
static void read_path(const pk_lattice *l, const pk_viterbi_scratch *scratch, int32_t n,
                      int32_t *choice) {
    const float *after = scratch->sum + (size_t)n * (size_t)scratch->widest;
    int32_t      at = l->step[n - 1].end;
    for (int32_t s = n - 1; s >= 0; s--) {
        const float *before = after - scratch->widest;
        choice[s] = at;
        at = origin_of(&l->step[s], before, after[at], at);
        after = before;
    }
}

int32_t pk_viterbi(const pk_lattice *l, const pk_viterbi_scratch *scratch, int32_t *choice,
                   float *score) {
    float  *before = scratch->sum;
    int32_t n = 0;
    *score = -INFINITY;
    before[0] = 0;
    for (int32_t s = 0; s < l->n; s++) {
        const pk_lattice_step *step = &l->step[s];
        float *const           after = before + scratch->widest;
        assert(step->n_to <= scratch->widest && (step->end < 0 || step->end == step->n_to - 1));
        assert(step->n_from == (s ? l->step[s - 1].n_to - (l->step[s - 1].end >= 0) : 1));
        extend(step, before, after);
        if (step->end >= 0 && after[step->end] > *score) {
            *score = after[step->end];
            n = s + 1;
        }
        before = after;
    }
    if (n) read_path(l, scratch, n, choice);
    return n;
}
