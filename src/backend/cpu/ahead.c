/* ahead.c - which matrix followed which in the last pass, and the prefetching.
 *
 * The matrix to fetch is two words, address and size, that one thread writes and the others read
 * without a lock. A thread may read the address of one matrix with the size of another: then it
 * fetches bytes that are not needed. An address may be of memory that was given back: a prefetch
 * never faults. So neither does harm. */
#include "backend/cpu/ahead.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "base/memory.h"
#include "tensor/panel.h"

enum {
    FOLLOWERS = 1024,       /* power of two; a model has a few hundred matrices */
    LINE = 64,              /* bytes of a cache line */
    AT_ONCE = 16,           /* lines that are fetched before the thread looks for work again */
    MOST_BYTES = 256 << 10, /* of a thread's share: a part of its second-level cache */
    NEAR_BYTES = 16 << 20,  /* that may be read in between, and a matrix is still in a cache */
};

typedef struct follower { /* after the matrix at `after` comes this one */
    const void *after, *data;
    size_t      bytes;
    uint64_t    at; /* where it came last, in bytes of all that were read */
} follower;

typedef struct fetched { /* bytes done by one thread; no other reads it */
    _Alignas(64) uintptr_t data;
    size_t done;
} fetched;

struct pk_ahead {
    _Alignas(64) atomic_uintptr_t data; /* of the next matrix; 0: not known */
    atomic_size_t bytes;
    _Alignas(64) const void *last;
    size_t   known; /* bytes of all matrices in `follower` */
    uint64_t read;  /* bytes of all matrices that came, as often as they did */
    bool     near;
    pk_pool *pool;
    follower follower[FOLLOWERS];
    fetched  fetched[];
};

/* a hash table without chains: a clash only loses a prediction. 54 = 64 - log2(FOLLOWERS) */
static follower *follower_of(pk_ahead *a, const void *data) {
    return &a->follower[((uintptr_t)data >> 6) * PK_GOLDEN >> 54];
}

/* a few lines; false: there is nothing left to fetch */
static bool fetch_some(void *context, int32_t worker) {
    pk_ahead       *a = context;
    fetched        *f = &a->fetched[worker];
    const uintptr_t data = atomic_load_explicit(&a->data, memory_order_relaxed);
    if (!data) return false;
    if (data != f->data) f->data = data, f->done = 0;
    const size_t bytes = atomic_load_explicit(&a->bytes, memory_order_relaxed);
    const size_t threads = (size_t)pk_pool_threads(a->pool), n = (size_t)worker;
    const size_t first = bytes / threads * n, share = bytes / threads;
    const size_t end = share < MOST_BYTES ? share : MOST_BYTES;
    if (f->done >= end) return false;
    const char *from = (const char *)data + first + f->done;
    for (int i = 0; i < AT_ONCE; i++) __builtin_prefetch(from + i * LINE, 0, 2);
    f->done += AT_ONCE * LINE;
    return true;
}

/* this matrix came after the last one; says whether it did so lately */
static void remember(pk_ahead *a, const pk_weight *w) {
    follower    *f = follower_of(a, a->last);
    const size_t bytes = pk_panel_bytes(w->rows, w->cols, w->type);
    const bool   again = f->after == a->last && f->data == w->data;
    a->near = again && a->read - f->at <= NEAR_BYTES;
    a->known += bytes - f->bytes;
    *f = (follower){ a->last, w->data, bytes, a->read };
    a->read += bytes;
}

/* remembers the matrix, and announces the one expected next */
void pk_ahead_record(pk_ahead *a, const pk_weight *w) {
    if (a->last && a->last != w->data) remember(a, w);
    a->last = w->data;
    const follower *next = follower_of(a, w->data);
    const bool      known = next->after == w->data;
    atomic_store_explicit(&a->bytes, known ? next->bytes : 0, memory_order_relaxed);
    atomic_store_explicit(&a->data, known ? (uintptr_t)next->data : 0, memory_order_relaxed);
}

const void *pk_ahead_next(pk_ahead *a) {
    return (const void *)atomic_load_explicit(&a->data, memory_order_relaxed);
}

size_t pk_ahead_known(const pk_ahead *a) { return a->known; }

bool pk_ahead_near(const pk_ahead *a) { return a->near; }

pk_status pk_ahead_open(pk_pool *pool, int32_t threads, pk_ahead **out) {
    void *memory;
    *out = NULL;
    PK_TRY(pk_memory_take(1, sizeof(pk_ahead) + (size_t)threads * sizeof(fetched), &memory));
    *out = memory;
    (*out)->pool = pool;
    pk_pool_set_idle(pool, fetch_some, *out);
    return PK_OK;
}

void pk_ahead_close(pk_ahead *a) { pk_memory_give(a); }
