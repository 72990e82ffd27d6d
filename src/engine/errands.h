/* errands.h - what is to be done between two calls of the engine, by a thread of its own.
 *
 * A call that is made of several (markup/) goes on when one of them has ended. Who notices that is
 * a worker, which has passes to compute, and the caller need not be waiting yet: so the thread here
 * does it, an errand at a time, in order. */
#ifndef PK_ENGINE_ERRANDS_H
#define PK_ENGINE_ERRANDS_H
#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_errand {
    void (*run)(void *user);
    void             *user;
    struct pk_errand *next;
} pk_errand;

typedef struct pk_errands {
    pthread_mutex_t lock;
    pthread_cond_t  more;
    pk_errand      *first, **last; /* last: where the next one goes */
    pthread_t       thread;
    bool            started, closed;
} pk_errands;

void      pk_errands_init(pk_errands *e);
pk_status pk_errands_start(pk_errands *e); /* once or several times */
/* never waits; the errand's memory is the caller's, and its own once it runs */
void pk_errands_add(pk_errands *e, pk_errand *errand);
void pk_errands_free(pk_errands *e); /* behind the last errand */
#endif
