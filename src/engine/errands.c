/* errands.c - one thread and its list. */
#include "engine/errands.h"

void pk_errands_init(pk_errands *e) {
    *e = (pk_errands){ .started = false };
    e->last = &e->first;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->more, NULL);
}

static pk_errand *take(pk_errands *e) {
    pthread_mutex_lock(&e->lock);
    while (!e->first && !e->closed) pthread_cond_wait(&e->more, &e->lock);
    pk_errand *next = e->first;
    if (next) {
        e->first = next->next;
        if (!e->first) e->last = &e->first;
    }
    pthread_mutex_unlock(&e->lock);
    return next;
}

static void *serve(void *arg) {
    for (pk_errand *next; (next = take(arg));) next->run(next->user);
    return NULL;
}

pk_status pk_errands_start(pk_errands *e) {
    pthread_mutex_lock(&e->lock);
    if (!e->started) e->started = pthread_create(&e->thread, NULL, serve, e) == 0;
    const bool started = e->started;
    pthread_mutex_unlock(&e->lock);
    if (!started) PK_FAIL(PK_NO_MEMORY, "no thread could be started for texts with markup");
    return PK_OK;
}

void pk_errands_add(pk_errands *e, pk_errand *errand) {
    pthread_mutex_lock(&e->lock);
    errand->next = NULL;
    *e->last = errand;
    e->last = &errand->next;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
}

void pk_errands_free(pk_errands *e) {
    pthread_mutex_lock(&e->lock);
    e->closed = true;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
    if (e->started) pthread_join(e->thread, NULL);
    pthread_cond_destroy(&e->more);
    pthread_mutex_destroy(&e->lock);
}
