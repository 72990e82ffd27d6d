/* drop.h - dropout without memory: whether element i of op k survives is a function of (k, i).
 *
 * A pk_drop names the op: its key is mixed from the training's seed, the update, the part of the
 * update and the op's position on the tape. So the backward pass drops the same elements as the
 * forward pass, on any device, with any number of threads, and after a restart. One 64-bit mix
 * decides four neighbouring elements. */
#ifndef PK_TENSOR_DROP_H
#define PK_TENSOR_DROP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

typedef struct pk_drop {
    float    rate; /* share that becomes zero, below 1; 0: nothing happens */
    uint64_t key;
} pk_drop;

/* 16 bits each for elements 4 * quad .. 4 * quad + 3, lowest first */
PK_ANYWHERE uint64_t pk_drop_bits(uint64_t key, uint64_t quad) {
    return pk_mix(key + quad * PK_GOLDEN);
}

/* an element survives when its 16 bits are not below this */
PK_ANYWHERE uint32_t pk_drop_threshold(float rate) { return (uint32_t)(rate * 65536.0f + 0.5f); }

/* what element i is multiplied with: 0, or 1 / (1 - rate) */
PK_ANYWHERE float pk_drop_factor(pk_drop d, uint64_t i) {
    if (d.rate <= 0) return 1;
    const uint32_t bits = (uint32_t)(pk_drop_bits(d.key, i >> 2) >> (16 * (i & 3))) & 0xffffu;
    return bits < pk_drop_threshold(d.rate) ? 0.0f : 1.0f / (1.0f - d.rate);
}

/* Element numbers. A matrix counts row * cols + col (cols: of the tensor itself, not its stride).
 * Attention: query row, head, and which of the keys it sees, counted from its first. */
PK_ANYWHERE uint64_t pk_drop_attention(int32_t query, int32_t heads, int32_t head, int32_t key) {
    return (((uint64_t)query * (uint64_t)heads + (uint64_t)head) << 20) + (uint64_t)key;
}
#endif
