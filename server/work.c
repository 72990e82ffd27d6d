/* work.c - threads that take exchanges from a queue and do their next action. */
#include "work.h"

#include <stdlib.h>

struct pk_work {
    pthread_mutex_t lock;
    pthread_cond_t  more;
    pk_exchange    *first, **last; /* last: where the next one goes */
    bool            over;
    int             n;
    pthread_t       thread[];
};

static pk_exchange *take(pk_work *w) {
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->over) pthread_cond_wait(&w->more, &w->lock);
    pk_exchange *x = w->first;
    if (x) {
        w->first = x->next;
        if (!w->first) w->last = &w->first;
    }
    pthread_mutex_unlock(&w->lock);
    return x;
}

static void *serve(void *user) {
    for (pk_exchange *x; (x = take(user));) x->action(x);
    return NULL;
}

pk_work *pk_work_open(int threads) {
    pk_work *w = calloc(1, sizeof *w + (size_t)threads * sizeof *w->thread);
    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    w->last = &w->first;
    while (w->n < threads && !pthread_create(&w->thread[w->n], NULL, serve, w)) w->n++;
    if (w->n) return w;
    pk_work_close(w);
    return NULL;
}

void pk_work_push(pk_work *w, pk_exchange *x) {
    pthread_mutex_lock(&w->lock);
    x->next = NULL;
    *w->last = x;
    w->last = &x->next;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

void pk_work_close(pk_work *w) {
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++) pthread_join(w->thread[i], NULL);
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
