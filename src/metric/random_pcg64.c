/* random_pcg64.c - numpy's default random numbers, reproduced.
 *
 * The constants are those of the published algorithms: PCG's 128-bit multiplier, and the mixing
 * constants of SeedSequence (after O'Neill's seed_seq_fe). Arithmetic wraps, as it must. */
#include "metric/random_pcg64.h"

enum { POOL = 4 };

/* hashes one word; the constant walks on with every word hashed */
static uint32_t hash_word(uint32_t value, uint32_t *constant, uint32_t multiplier) {
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

/* combines two words of the pool; constants of SeedSequence */
static uint32_t mix(uint32_t x, uint32_t y) {
    const uint32_t z = 0xCA01F9DDu * x - 0x4973F715u * y;
    return z ^ z >> 16;
}

/* spreads the seed's 64 bits over a pool of 128 */
static void fill_pool(uint64_t seed, uint32_t pool[POOL]) {
    const uint32_t word[POOL] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    const uint32_t multiplier = 0x931E8875u;
    uint32_t       constant = 0x43B0D7E5u;
    for (int i = 0; i < POOL; i++) pool[i] = hash_word(word[i], &constant, multiplier);
    for (int from = 0; from < POOL; from++) {
        for (int to = 0; to < POOL; to++) {
            if (from == to) continue;
            pool[to] = mix(pool[to], hash_word(pool[from], &constant, multiplier));
        }
    }
}

/* one step of the linear congruential generator: state = state x multiplier + increment */
static void step(pk_random *r) {
    const unsigned __int128 multiplier =
        (unsigned __int128)0x2360ED051FC65DA4u << 64 | 0x4385DF649FCCF645u;
    r->state = r->state * multiplier + r->increment;
}

/* SeedSequence.generate_state(4, uint64), then PCG's own seeding: step, add the start, step. */
void pk_random_seed(pk_random *r, uint64_t seed) {
    uint32_t pool[POOL], constant = 0x8B51F9DDu;
    uint64_t word[4]; /* state high, state low, stream high, stream low */
    fill_pool(seed, pool);
    for (int i = 0; i < 4; i++) {
        const uint32_t low = hash_word(pool[2 * i % POOL], &constant, 0x58F38DEDu);
        const uint32_t high = hash_word(pool[(2 * i + 1) % POOL], &constant, 0x58F38DEDu);
        word[i] = (uint64_t)high << 32 | low;
    }
    const unsigned __int128 start = (unsigned __int128)word[0] << 64 | word[1];
    const unsigned __int128 stream = (unsigned __int128)word[2] << 64 | word[3];
    *r = (pk_random){ .increment = stream << 1 | 1 };
    step(r);
    r->state += start;
    step(r);
}

/* XSL RR: the two halves of the state XORed, rotated right by its top 6 bits. */
uint64_t pk_random_next(pk_random *r) {
    step(r);
    const uint64_t high = (uint64_t)(r->state >> 64), folded = high ^ (uint64_t)r->state;
    const uint32_t turn = (uint32_t)(high >> 58);
    return folded >> turn | folded << (-turn & 63);
}

/* a 64-bit draw serves twice, lower half first */
static uint32_t next_32(pk_random *r) {
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    const uint64_t both = pk_random_next(r);
    r->spare = (uint32_t)(both >> 32);
    r->has_spare = true;
    return (uint32_t)both;
}

/* Lemire (2019): the upper half of draw * bound, redrawn in the few cases that would favour some
 * results. A bound of 1 needs no draw. */
uint32_t pk_random_below(pk_random *r, uint32_t bound) {
    if (bound <= 1) return 0;
    uint64_t product = (uint64_t)next_32(r) * bound;
    if ((uint32_t)product < bound) {
        const uint32_t threshold = -bound % bound;
        while ((uint32_t)product < threshold) product = (uint64_t)next_32(r) * bound;
    }
    return (uint32_t)(product >> 32);
}
