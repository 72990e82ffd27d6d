/* queue.h - the sentences of all calls that wait for a worker, and what becomes of each call.
 *
 * Calls of one client stand in line, and clients take turns, a sentence each: a long text keeps
 * nobody else from being served. A call has ended when each of its sentences is finished or
 * dropped; only then may its memory go. One lock guards all of it. */
#ifndef PK_ENGINE_QUEUE_H
#define PK_ENGINE_QUEUE_H
#include <pthread.h>
#include <stdatomic.h>

#include "engine/job.h"

enum { PK_ERROR_SIZE = 512 };

/* A call as the queue and the workers see it. The caller fills in the first part. */
typedef struct pk_queued {
    pk_job              **job; /* [n] longest first */
    size_t                n;
    const struct pk_plan *plan;     /* how to decode them */
    uint64_t              client;   /* 0: a client of its own */
    double                deadline; /* by the clock; 0: none */
    bool                  watched;  /* pk_queue_await wakes at every finished sentence */
    bool                  taken;    /* part of a call that was: it is never too much */
    void (*trace)(void *user, const pk_trace_pass *pass);
    void (*done)(void *user); /* called once, without the lock, when the last sentence is gone */
    void *user;

    /* the queue's own */
    size_t            next, left; /* jobs taken; jobs that are neither finished nor dropped */
    atomic_bool       stopped;    /* what is left of it need not be decoded */
    bool              ended;
    pk_status         status;
    char              error[PK_ERROR_SIZE];
    pthread_mutex_t   tracing;        /* one pass is traced at a time */
    struct pk_queued *behind;         /* the client's next call */
    struct pk_queued *before, *after; /* first calls of other clients, in a ring */
} pk_queued;

typedef struct pk_queue_options {
    int64_t max_waiting; /* sentences; 0: any number */
    int32_t n_workers;
    bool    first_alone; /* worker 0 serves alone unless there is enough for all */
} pk_queue_options;

typedef struct pk_queue {
    pk_queue_options o;
    pthread_mutex_t  lock;
    pthread_cond_t   work, news;     /* for workers; for those who wait for a call's end */
    pk_queued       *turn;           /* the call whose sentence is taken next; NULL: none waits */
    size_t           n_waiting, out; /* sentences that wait; that workers have */
    double           swept;          /* when deadlines were last looked at */
    bool             closed;

    /* worker 0, whose work a caller may do */
    bool             waits;   /* it waits for sentences */
    const pk_queued *claimed; /* by the caller of this call; NULL: by nobody */
    bool             wanted;  /* another call came meanwhile */
    bool             busy;    /* sentences were left to it */
} pk_queue;

pk_status pk_queue_open(pk_queue *q, const pk_queue_options *o);
void      pk_queue_close(pk_queue *q); /* all calls have ended, all workers are gone */

/* ---- for callers ---- */
/* PK_BUSY: too many wait already, and this call would wait too */
pk_status pk_queue_check_room(pk_queue *q, size_t n);
/* The call, its jobs and plan stay until it has ended. When this fails, nothing was added. */
pk_status pk_queue_add(pk_queue *q, pk_queued *c);
/* A caller that waits for its call anyway may do the work of worker 0, so that no thread has to wake
 * another. True where nothing else is going on; worker 0 then waits until the caller returns it. To be
 * called before the call is added. */
bool pk_queue_claim(pk_queue *q, const pk_queued *c);
/* its call has ended, or another one came: worker 0 must have its work back */
bool pk_queue_wanted(pk_queue *q);
/* busy: sentences are left to worker 0 */
void pk_queue_return(pk_queue *q, bool busy);
/* ends the call soon; the first reason counts, and none does once it has ended */
void pk_queue_stop(pk_queue *q, pk_queued *c, pk_status status, const char *error);
/* Waits until the call has ended, or at most so many seconds, or (watched) until a sentence is
 * finished. Returns whether it has ended; finished: sentences that are done. */
bool   pk_queue_await(pk_queue *q, pk_queued *c, double seconds, size_t *finished);
size_t pk_queue_finished(pk_queue *q, const pk_queued *c);
size_t pk_queue_waiting(pk_queue *q);

/* ---- for workers ---- */
/* waits until there is a sentence for this worker; false: the queue is closed */
bool pk_queue_wait(pk_queue *q, int32_t worker);
void pk_queue_shut(pk_queue *q); /* workers stop waiting */
/* The next sentence for a worker that has so many; NULL: none now. Where there is work for all,
 * each takes its share. */
pk_job *pk_queue_take(pk_queue *q, int32_t worker, int32_t has);
/* a sentence that was taken is finished, or dropped because its call was stopped */
void pk_queue_finish(pk_queue *q, pk_job *job);
/* is nobody else at work? */
bool pk_queue_is_alone(pk_queue *q, int32_t has);
/* stops calls whose deadline has passed; looks ten times a second at most */
void pk_queue_sweep(pk_queue *q, double now);
#endif
