/* worker.h - one session at work: takes jobs from a queue, decodes many at a time, refills as they
 * finish. A job's result never depends on its neighbours. So a worker may also put a job back when
 * memory is short, and decode it again later, with the same result. */
#ifndef PK_ENGINE_WORKER_H
#define PK_ENGINE_WORKER_H
#include <pthread.h>
#include <stdatomic.h>

#include "backend/list.h"
#include "engine/job.h"
#include "engine/pass_cost.h"
#include "session/session.h"

/* The jobs of one call, longest first, shared by all workers. */
typedef struct pk_queue {
    pk_job      **job;
    size_t        n;
    atomic_size_t next, done;
    atomic_int    stop; /* set by the first failure or by the caller */
    void (*trace)(void *user, const pk_trace_pass *pass);
    pthread_mutex_t tracing; /* one pass is traced at a time */
    int (*progress)(void *user, size_t done, size_t all);
    void *user;
} pk_queue;

/* How to decode them. */
typedef struct pk_plan {
    const pk_strategy *strategy;
    const void        *options; /* a fresh state to copy */
    int32_t            n_best;
    bool               scores, alignment, replace_unknowns;
} pk_plan;

typedef struct pk_worker_options {
    const char              *backend;
    pk_dtype                 arithmetic;
    int32_t                  threads; /* of this worker when it works alone */
    int32_t                  batch, batch_tokens, max_source;
    int32_t                  usual_length;  /* target tokens to plan memory for; 0: 128 */
    pk_plan                  plan, scoring; /* both must fit the session */
    int32_t                  continuation, n_continuation; /* see pk_conventions */
    const pk_added_tokens   *added;
    int32_t                  n_added;
    const struct pk_lexicon *lexicon; /* the model's candidates; NULL: it has none */

    const pk_ensemble *drafter;        /* for a strategy that uses one, borrowed; else NULL */
    bool               shares_encoder; /* the drafter: the model's */
} pk_worker_options;

typedef struct pk_worker_network { /* what a worker knows of each that passes choose from */
    int32_t      n_suppressed;
    pk_pass_cost cost;
} pk_worker_network;

typedef struct pk_live pk_live;
typedef struct pk_worker {
    pk_config         config; /* of all networks */
    pk_conventions    model;  /* what strategies know of it */
    pk_backend        on;
    pk_session       *session;
    pk_worker_options opt;
    const pk_plan    *plan; /* of the call being served */
    pk_live          *live; /* [batch] sentences being decoded, oldest first */
    int32_t           n_live;
    pk_job          **waiting; /* put back; they come first */
    int32_t           n_waiting;
    pk_request       *request;
    pk_hypothesis    *found;
    struct pk_ngrams *ngrams; /* what this worker has output */
    pk_worker_network network[PK_MOST_MODELS];
    int32_t           n_networks;
    char             *states;
    pk_ask           *asks;
    pk_answer        *answers;
    int32_t          *tips;
    pk_trace_ask     *traced; /* asks of one pass, as the caller's trace gets them */
    pk_stats          stats;
    bool              reports; /* calls progress */
    pk_status         status;
    char              error[512];
} pk_worker;

/* all: one network or several, borrowed */
pk_status pk_worker_open(pk_worker *w, const pk_ensemble *all, const pk_worker_options *opt);
void      pk_worker_close(pk_worker *w);
/* decodes until the queue is empty or stopped; the outcome is in w->status and w->error */
void pk_worker_serve(pk_worker *w, pk_queue *q, const pk_plan *plan);
#endif
