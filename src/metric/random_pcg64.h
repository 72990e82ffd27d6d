/* random_pcg64.h - the random numbers of numpy's default_rng(seed).
 *
 * Generator PCG XSL RR 128/64 (O'Neill 2014) behind numpy's SeedSequence; draws below a bound as
 * Generator.choice and Generator.integers make them for bounds within 32 bits. */
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
