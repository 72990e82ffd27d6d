/* pool.h - threads that share the work of one op.
 *
 * The calling thread works too: it takes task 0 and then whatever is left. Tasks are handed out in
 * order to any thread that is free, so no result may depend on which thread does which task. */
#ifndef PK_CPU_POOL_H
#define PK_CPU_POOL_H
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_pool pk_pool;
/* task 0 .. n - 1; worker 0 .. threads - 1 names the thread, for scratch memory */
typedef void pk_pool_task(void *context, int32_t task, int32_t worker);

/* what a thread may do while it waits: a little at a time; false: nothing is left for now */
typedef bool pk_pool_idle(void *context, int32_t worker);

enum { PK_POOL_TASKS = 65535 }; /* most tasks of one dispatch */
pk_status pk_pool_open(int32_t threads, pk_pool **out);
void      pk_pool_close(pk_pool *pool);         /* accepts NULL */
int32_t   pk_pool_threads(const pk_pool *pool); /* that take part now */
/* from the next dispatch on, at most so many take part; not to be called during one */
void pk_pool_limit(pk_pool *pool, int32_t threads);
/* before the first dispatch; a thread that waits for work or for others calls this meanwhile */
void pk_pool_set_idle(pk_pool *pool, pk_pool_idle *idle, void *context);
/* returns when every task is done; not to be called by two threads at once */
void pk_pool_dispatch(pk_pool *pool, pk_pool_task *task, void *context, int32_t n);
#endif
