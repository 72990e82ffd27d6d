/* random_pcg64.h - the random numbers of numpy's default_rng(seed).
 *
 * The generator is PCG XSL RR 128/64 (O'Neill 2014), seeded through numpy's SeedSequence. Draws
 * below a bound are those of Generator.choice and Generator.integers for bounds within 32 bits.
 * sacreBLEU resamples with it, so equal confidence intervals need the same numbers. */
#ifndef PK_METRIC_RANDOM_PCG64_H
#define PK_METRIC_RANDOM_PCG64_H
#include <stdbool.h>
#include <stdint.h>

typedef struct pk_random {
    unsigned __int128 state, increment;
    uint32_t          spare; /* the upper half of a draw, not yet given */
    bool              has_spare;
} pk_random;

void     pk_random_seed(pk_random *r, uint64_t seed);
uint64_t pk_random_next(pk_random *r);
/* uniform in 0 .. bound-1; bound > 0 */
uint32_t pk_random_below(pk_random *r, uint32_t bound);
#endif
