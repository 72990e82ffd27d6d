/* memory.c - allocation with overflow checks, counters and fault injection.
 *
 * A block is preceded by a small header that remembers where malloc's block begins and how long
 * ours is. calloc zeroes large blocks lazily, so a generous pool costs only the pages that get
 * used. */
#include "base/memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, FIRST_ROOM = 32 };
typedef struct header {
    void  *origin; /* what calloc returned */
    size_t bytes;  /* what the caller asked for */
} header;

static atomic_llong alive, count, fail_countdown;

/* fault injection: true for the allocation that pk_memory_fail_after() chose */
static int must_fail(void) {
    atomic_fetch_add(&count, 1);
    if (atomic_load(&fail_countdown) == 0) return 0;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

static header *header_of(void *block) { return (header *)block - 1; }

/* calloc's block has room for the header and for moving the start to a multiple of ALIGN. */
pk_status pk_memory_take(size_t n, size_t each, void **out) {
    size_t bytes;
    char  *origin = NULL;
    *out = NULL;
    const int overflow = __builtin_mul_overflow(n, each, &bytes) || bytes > SIZE_MAX / 2;
    if (!overflow && !must_fail()) origin = calloc(1, bytes + ALIGN + sizeof(header));
    if (!origin) PK_FAIL(PK_NO_MEMORY, "out of memory (%zu x %zu bytes)", n, each);
    const uintptr_t after_header = (uintptr_t)origin + sizeof(header);
    char *block = origin + ((after_header + ALIGN - 1) / ALIGN * ALIGN - (uintptr_t)origin);
    *header_of(block) = (header){ origin, bytes };
    atomic_fetch_add(&alive, 1);
    *out = block;
    return PK_OK;
}

pk_status pk_memory_grow(size_t n, size_t each, void **block) {
    void *bigger;
    PK_TRY(pk_memory_take(n, each, &bigger));
    if (*block) {
        const size_t had = header_of(*block)->bytes, has = header_of(bigger)->bytes;
        memcpy(bigger, *block, had < has ? had : has);
        pk_memory_give(*block);
    }
    *block = bigger;
    return PK_OK;
}

pk_status pk_memory_reserve(size_t n, size_t each, void **block, size_t *room) {
    if (n <= *room) return PK_OK;
    size_t larger = *room ? *room : FIRST_ROOM / 2;
    while (larger < n && larger <= SIZE_MAX / 2) larger *= 2;
    if (larger < n) larger = n; /* so many do not exist: pk_memory_take() fails */
    PK_TRY(pk_memory_grow(larger, each, block));
    *room = larger;
    return PK_OK;
}

void pk_memory_give(void *block) {
    if (!block) return;
    assert((uintptr_t)block % ALIGN == 0 && atomic_load(&alive) > 0); /* it came from take() */
    atomic_fetch_sub(&alive, 1);
    free(header_of(block)->origin);
}

void pk_free(void *memory) { pk_memory_give(memory); }

pk_status pk_memory_copy_text(const char *text, size_t n, char **out) {
    PK_TRY(PK_TAKE(out, n + 1));
    if (n) memcpy(*out, text, n);
    return PK_OK;
}

void    pk_memory_fail_after(int64_t n) { atomic_store(&fail_countdown, n); }
int64_t pk_memory_alive(void) { return atomic_load(&alive); }
int64_t pk_memory_count(void) { return atomic_load(&count); }
