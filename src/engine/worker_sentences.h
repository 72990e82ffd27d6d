/* worker_sentences.h - the sentences that a worker has: how they come to it and leave it. */
#ifndef PK_ENGINE_WORKER_SENTENCES_H
#define PK_ENGINE_WORKER_SENTENCES_H
#include "engine/worker.h"

struct pk_live { /* one sentence being decoded */
    pk_job    *job;
    int32_t    sentence; /* its name in the session */
    void      *state;    /* the strategy's */
    pk_pass    pass;
    pk_verdict verdict;
    bool       ready;                  /* its pass is proposed, but not yet decoded */
    bool       follows;                /* asks of that pass go on by themselves */
    bool       listed[PK_MOST_MODELS]; /* what it chooses from on this network is known */
};

static inline const pk_plan *pk_job_plan(const pk_job *job) {
    return job->again ? job->call->plan->again : job->call->plan;
}
/* hypotheses that a strategy is asked for */
static inline int32_t pk_plan_n_best(const pk_plan *plan) {
    return plan->n_best > 1 ? plan->n_best : 1;
}

/* the next job: one that was put back, or one from the queue; NULL: none now. has: sentences that
 * the worker has already */
pk_job *pk_worker_next_job(pk_worker *w, pk_queue *q, int32_t has);
/* a job as its strategy sees it */
pk_source pk_worker_source(const pk_worker *w, const pk_job *job);
/* encodes as many jobs as fit; each becomes alive */
pk_status pk_worker_refill(pk_worker *w, pk_queue *q);

/* Before a sentence's first pass on a network: what it may choose from there, if that is limited. */
void pk_worker_shorten(pk_worker *w, pk_live *l, int32_t network);

/* live sentence i is done: its result is copied into its job */
pk_status pk_worker_finish(pk_worker *w, pk_queue *q, int32_t i);
/* drops sentences of calls that were stopped, or are late */
void pk_worker_drop_stopped(pk_worker *w, pk_queue *q, double now);
/* puts the youngest sentence back: the others go on with its memory */
void pk_worker_put_back_youngest(pk_worker *w);
/* the call cannot go on for want of this sentence; others can */
void pk_worker_fail_job(pk_queue *q, pk_job *job, pk_status status);
/* a pass failed: nobody knows for whom, so all calls that share it fail */
void pk_worker_fail_all(pk_worker *w, pk_queue *q, pk_status status);
/* what all networks and the worker itself did; other threads read it under the queue's lock */
void pk_worker_publish(pk_worker *w, pk_queue *q);
#endif
