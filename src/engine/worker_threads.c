/* worker_threads.c - a thread for each worker, from a translator's first call to its end. */
#include "engine/translator_parts.h"

static void *serve(void *arg) {
    const pk_worker_thread *self = arg;
    pk_translator          *t = self->t;
    const bool              lent = self->w->number == 0 && t->lends_threads;
    while (pk_queue_wait(&t->queue, self->w->number))
        pk_worker_serve(self->w, &t->queue, lent ? t->threads_each : 0);
    return NULL;
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
