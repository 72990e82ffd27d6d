/* viterbi.h - the best path through a lattice of candidates (Forney 1973). A pure function.
 *
 * Step s has edges from the candidates of the position before to those of position s + 1; step 0
 * begins with the start symbol alone. One of the tokens that a step leads to may be the end symbol:
 * paths that take it are complete. (After it only padding could follow, which costs nothing and
 * makes all paths equally long: so paths of all lengths are compared by their sums.) */
#ifndef PK_DECODE_VITERBI_H
#define PK_DECODE_VITERBI_H
#include <stdbool.h>
#include <stdint.h>

typedef struct pk_lattice_step {
    int32_t n_from, n_to;
    int32_t end; /* which of the n_to is the end symbol: the last one; -1: none */
    const float
        *score; /* (n_from, n_to) log-probabilities; -infinity: no edge. NaN counts so too */
} pk_lattice_step;

typedef struct pk_lattice {
    int32_t                n; /* steps; n_from of step 0 is 1, of the next the n_to before it,
                                 the end symbol not counted */
    const pk_lattice_step *step;
} pk_lattice;

/* scratch memory */
typedef struct pk_viterbi_scratch {
    float  *sum;    /* (n + 1, widest) the best sum of each token of each position */
    int32_t widest; /* no step has a larger n_to */
} pk_viterbi_scratch;

/* The complete path with the highest sum, added from the first step on: choice[s] is the token that
 * step s takes, the last one the end symbol. Returns how many steps it has; 0: no path ends. Of
 * equal sums the shorter path wins; of those that meet, the one from the earlier candidate. */
int32_t pk_viterbi(const pk_lattice *l, const pk_viterbi_scratch *scratch, int32_t *choice,
                   float *score);
#endif
