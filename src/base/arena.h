/* arena.h - one block, handed out piece by piece and taken back all at once, or down to what was
 * used before. Pieces are aligned to 64 bytes. Running out gives NULL and sticks in `short_of`. */
#ifndef PK_BASE_ARENA_H
#define PK_BASE_ARENA_H
#include <assert.h>

#include "base/memory.h"

typedef struct pk_arena {
    char  *base;
    size_t size, used;
    size_t short_of; /* bytes that the first refused piece lacked */
} pk_arena;

static inline pk_status pk_arena_open(pk_arena *a, size_t bytes) {
    *a = (pk_arena){ .size = bytes };
    return PK_TAKE(&a->base, bytes);
}

static inline size_t pk_arena_aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static inline void *pk_arena_take(pk_arena *a, size_t bytes) {
    const size_t need = pk_arena_aligned(bytes);
    assert(a->used <= a->size);
    if (need < bytes || need > a->size - a->used) {
        if (!a->short_of) a->short_of = need - (a->size - a->used);
        return NULL;
    }
    a->used += need;
    return a->base + (a->used - need);
}

static inline void pk_arena_close(pk_arena *a) {
    pk_memory_give(a->base);
    *a = (pk_arena){ 0 };
}
#endif
