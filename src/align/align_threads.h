/* align_threads.h - shares numbered tasks out to threads; the calling thread is one of them.
 *
 * Tasks go in order to the next free thread. So no result may depend on which thread does which
 * task. */
#ifndef PK_ALIGN_THREADS_H
#define PK_ALIGN_THREADS_H
#include <stdint.h>

#include "base/status.h"

/* worker: 0 is the calling thread, which alone may call back into the program */
typedef pk_status pk_align_task(void *context, size_t task, int32_t worker);

/* Returns when all tasks are done, or when one has failed and those begun are done: its status, and
 * its text is this thread's last error. Fewer threads where the system gives no more. */
pk_status pk_align_parallel(int32_t threads, size_t n, pk_align_task *task, void *context);
#endif
