/* ahead.h - what is known of the weights to come: idle threads prefetch those of the next op.
 *
 * A decoder pass for one sentence waits for weights from memory. While one thread does what
 * cannot be shared, the others are idle. In a pass one matrix is always followed by the same
 * next one. So an idle thread prefetches the beginning of its share of the next matrix into its
 * own cache. Nothing is computed and no thread waits, so a wrong guess costs no more than the
 * fetch. */
#ifndef PK_CPU_AHEAD_H
#define PK_CPU_AHEAD_H
#include "backend/cpu/pool.h"
#include "tensor/backend.h"

typedef struct pk_ahead pk_ahead;

/* threads of the pool fetch when they are idle, from now on; to be closed after the pool */
pk_status pk_ahead_open(pk_pool *pool, int32_t threads, pk_ahead **out);
void      pk_ahead_close(pk_ahead *a); /* accepts NULL */
/* an op begins that reads this matrix, a part for each thread */
void pk_ahead_record(pk_ahead *a, const pk_weight *w);
/* the matrix that is thought to come next; NULL: not known */
const void *pk_ahead_next(pk_ahead *a);
/* bytes of all matrices that were recorded; one that comes after several others counts for each */
size_t pk_ahead_known(const pk_ahead *a);
/* whether the last one that was recorded came so lately before that a cache still has it */
bool pk_ahead_near(const pk_ahead *a);
#endif
