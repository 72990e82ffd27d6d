/* worker_threads.c - a thread for each worker, from a translator's first call to its end. A caller that
 * waits may do the work of worker 0 in its own thread, while that worker has nothing to do. */
#include <fenv.h>

#include "engine/translator_parts.h"

/* worker 0 may have the threads of all */
static int32_t threads_shared(const pk_translator *t, const pk_worker *w) {
    return w->number == 0 && t->lends_threads ? t->threads_each : 0;
}

/* in whatever thread: rounding is as it is by default, so that the bits are the same */
static void *serve(void *arg) {
    const pk_worker_thread *self = arg;
    pk_translator          *t = self->t;
    fesetenv(FE_DFL_ENV);
    while (pk_queue_wait(&t->queue, self->w->number))
        pk_worker_serve(self->w, &t->queue, threads_shared(t, self->w), false);
    return NULL;
}

void pk_translator_serve(pk_translator *t) {
    pk_worker *w = &t->worker[0];
    fenv_t     own;
    fegetenv(&own);
    fesetenv(FE_DFL_ENV);
    pk_worker_serve(w, &t->queue, threads_shared(t, w), true);
    fesetenv(&own);
    pk_queue_return(&t->queue, w->n_live + w->n_waiting > 0);
}

static pk_status start(pk_translator *t) {
    PK_TRY(PK_TAKE(&t->thread, (size_t)t->n_workers));
    for (int32_t i = 0; i < t->n_workers; i++) {
        pk_worker_thread *next = &t->thread[t->n_threads];
        *next = (pk_worker_thread){ .t = t, .w = &t->worker[t->n_threads] };
        if (pthread_create(&next->thread, NULL, serve, next) == 0) t->n_threads++;
    }
    if (t->n_threads == 0) {
        pk_memory_give(t->thread);
        t->thread = NULL;
        PK_FAIL(PK_NO_MEMORY, "no thread could be started to translate");
    }
    pthread_mutex_lock(&t->queue.lock);
    t->queue.o.n_workers = t->n_threads;
    pthread_mutex_unlock(&t->queue.lock);
    return PK_OK;
}

pk_status pk_translator_start(pk_translator *t) {
    pthread_mutex_lock(&t->starting);
    const pk_status status = t->thread ? PK_OK : start(t);
    pthread_mutex_unlock(&t->starting);
    return status;
}

void pk_translator_stop(pk_translator *t) {
    if (t->has_queue) pk_queue_shut(&t->queue);
    for (int32_t i = 0; i < t->n_threads; i++) pthread_join(t->thread[i].thread, NULL);
    pk_memory_give(t->thread);
    t->thread = NULL;
    t->n_threads = 0;
}
