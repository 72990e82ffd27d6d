/* align_threads.c - threads that live as long as one set of tasks.
 *
 * A set takes from milliseconds to seconds, so starting threads anew costs nothing that shows.
 * Error texts belong to a thread, so the first failure's is carried over to the caller's. */
#include "align/align_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { ERROR_TEXT = 512 };

typedef struct shared {
    pk_align_task  *task;
    void           *context;
    size_t          n;
    atomic_size_t   next;
    pthread_mutex_t lock; /* of what follows */
    size_t          failed_task;
    pk_status       status;
    char            error[ERROR_TEXT];
} shared;

typedef struct worker {
    shared   *all;
    int32_t   number;
    pthread_t thread;
} worker;

/* Of several failures the one with the lowest task number is kept, whichever thread came first. */
static void keep_failure(shared *s, size_t task, pk_status status) {
    pthread_mutex_lock(&s->lock);
    if (s->status == PK_OK || task < s->failed_task) {
        s->status = status;
        s->failed_task = task;
        snprintf(s->error, sizeof s->error, "%s", pk_last_error());
    }
    pthread_mutex_unlock(&s->lock);
    atomic_store(&s->next, s->n); /* no thread begins another task */
}

/* a thread: takes the next task until there are no more */
static void *work(void *argument) {
    worker *w = argument;
    shared *s = w->all;
    for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) {
        const pk_status status = s->task(s->context, i, w->number);
        if (status != PK_OK) {
            keep_failure(s, i, status);
            break;
        }
    }
    return NULL;
}

pk_status pk_align_parallel(int32_t threads, size_t n, pk_align_task *task, void *context) {
    shared  s = { .task = task, .context = context, .n = n };
    worker *w = NULL;
    int32_t started = 1;
    if ((size_t)threads > n) threads = n ? (int32_t)n : 1;
    PK_TRY(PK_TAKE(&w, (size_t)threads));
    pthread_mutex_init(&s.lock, NULL);
    for (int32_t i = 0; i < threads; i++) w[i] = (worker){ .all = &s, .number = i };
    while (started < threads && !pthread_create(&w[started].thread, NULL, work, &w[started]))
        started++;
    work(&w[0]);
    for (int32_t i = 1; i < started; i++) pthread_join(w[i].thread, NULL);
    pthread_mutex_destroy(&s.lock);
    pk_memory_give(w);
    if (s.status != PK_OK) PK_FAIL(s.status, "%s", s.error);
    return PK_OK;
}
