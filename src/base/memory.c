/* memory.c - allocation with overflow checks, counters and fault injection. */
#include "base/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };
static atomic_llong alive, count, fail_countdown;

static int must_fail(void) {
    atomic_fetch_add(&count, 1);
    if (atomic_load(&fail_countdown) == 0) return 0;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

/* bytes to ask for, rounded up to the alignment; 0 when n * each overflows */
static size_t rounded(size_t n, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes) || bytes > SIZE_MAX / 2) return 0;
    return bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
}

static pk_status no_memory(size_t n, size_t each) {
    PK_FAIL(PK_NO_MEMORY, "out of memory (%zu x %zu bytes)", n, each);
}

pk_status pk_memory_take(size_t n, size_t each, void **out) {
    const size_t bytes = rounded(n, each);
    *out = NULL;
    if (bytes == 0 || must_fail()) return no_memory(n, each);
    void *block = aligned_alloc(ALIGN, bytes);
    if (!block) return no_memory(n, each);
    memset(block, 0, bytes);
    atomic_fetch_add(&alive, 1);
    *out = block;
    return PK_OK;
}

pk_status pk_memory_grow(size_t n, size_t each, void **block) {
    const size_t bytes = rounded(n, each);
    if (bytes == 0 || must_fail()) return no_memory(n, each);
    void *bigger = aligned_alloc(ALIGN, bytes);
    if (!bigger) return no_memory(n, each);
    if (*block) {
        const size_t had = malloc_usable_size(*block);
        memcpy(bigger, *block, had < bytes ? had : bytes);
        free(*block);
    } else {
        atomic_fetch_add(&alive, 1);
    }
    *block = bigger;
    return PK_OK;
}

void pk_memory_give(void *block) {
    if (!block) return;
    atomic_fetch_sub(&alive, 1);
    free(block);
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
