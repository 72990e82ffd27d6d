/* hash.h - numbers that look random and depend on every bit that went in.
 *
 * Their values are written into files (caches, checkpoints) and decide what is drawn in training:
 * they may never change. They are no protection against collisions made on purpose. */
#ifndef PK_BASE_HASH_H
#define PK_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PK_ANYWHERE static __host__ __device__ __forceinline__
#else
#define PK_ANYWHERE static inline
#endif

/* 2^64 over the golden ratio: steps of a counter that is mixed afterwards */
#define PK_GOLDEN 0x9e3779b97f4a7c15u

/* splitmix64's last steps: every bit of x moves every bit of the result */
PK_ANYWHERE uint64_t pk_mix(uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* of short texts above all: for tables and fingerprints */
uint64_t pk_hash(const void *bytes, size_t size);
/* the sum so far and what came next: for what does not lie in one piece */
uint64_t pk_checksum_add(uint64_t sum, const void *bytes, size_t size);
#endif
