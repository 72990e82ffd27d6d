/* memory.h - every host allocation of the library goes through here.
 *
 * Blocks are zeroed and aligned for the widest vector (64 bytes). Sizes are checked for overflow.
 * Tests may make the n-th allocation fail, and read how many are alive. */
#ifndef PK_BASE_MEMORY_H
#define PK_BASE_MEMORY_H
#include <stdint.h>

#include "base/status.h"

/* n elements of `each` bytes, zeroed; PK_NO_MEMORY when there is no room. n == 0 gives a real
 * block. */
pk_status pk_memory_take(size_t n, size_t each, void **out);
/* grows to n elements, new ones zeroed; *block keeps its old contents also when this fails */
pk_status pk_memory_grow(size_t n, size_t each, void **block);
/* room for n elements in a list that grows; *room: how many it has room for. Doubles, so that
 * adding one by one is linear in the end. When this fails, nothing has changed. */
pk_status pk_memory_reserve(size_t n, size_t each, void **block, size_t *room);
void      pk_memory_give(void *block); /* accepts NULL */

/* typed forms: PK_TAKE(&pointer, n), PK_GROW(&pointer, n), PK_RESERVE(&pointer, n, &room) */
#define PK_TAKE(pointer, n) pk_memory_take((n), sizeof **(pointer), (void **)(pointer))
#define PK_GROW(pointer, n) pk_memory_grow((n), sizeof **(pointer), (void **)(pointer))
#define PK_RESERVE(pointer, n, room) \
    pk_memory_reserve((n), sizeof **(pointer), (void **)(pointer), (room))

/* a copy of n bytes with a NUL behind them */
pk_status pk_memory_copy_text(const char *text, size_t n, char **out);

/* test hooks: fail the n-th allocation from now (1 = the next; 0 = never), and counters */
void    pk_memory_fail_after(int64_t n);
int64_t pk_memory_alive(void); /* blocks taken and not given back */
int64_t pk_memory_count(void); /* allocations made so far */
#endif
