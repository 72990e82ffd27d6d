/* worker.h - one session at work: takes jobs from a queue, decodes many at a time, refills as they
 * finish. A job's result never depends on its neighbours, which may be of other calls. So a worker
 * may also put a job back when memory is short, and decode it again later, with the same result. */
#ifndef PK_ENGINE_WORKER_H
#define PK_ENGINE_WORKER_H
#include "backend/list.h"
#include "engine/pass_cost.h"
#include "engine/queue.h"
#include "lexicon/shortlist.h"
#include "session/session.h"

/* How to decode the sentences of a call. */
typedef struct pk_plan {
    const pk_strategy    *strategy;
    const void           *options; /* a fresh state to copy */
    int32_t               n_best;
    bool                  scores, alignment, replace_unknowns;
    struct pk_linker     *linker; /* makes the alignment; NULL: the model's attention does */
    const struct pk_plan *again;  /* for a sentence whose output loops; NULL: it stays so */
} pk_plan;

typedef struct pk_worker_options {
    const char            *backend;
    pk_dtype               arithmetic;
    int32_t                threads; /* of this worker when it works alone */
    int32_t                batch, batch_tokens, max_source;
    int32_t                usual_length;  /* target tokens to plan memory for; 0: 128 */
    pk_plan                plan, scoring; /* both must fit the session */
    int32_t                continuation, n_continuation; /* see pk_conventions */
    const pk_added_tokens *added;
    int32_t                n_added;
    const struct pk_lexicon
                       *lexicon; /* the model's candidates, or a file's; NULL: there are none */
    const pk_shortlist *shortlist[PK_MOST_MODELS]; /* of each network; NULL: all tokens may come */

    const pk_ensemble *drafter;        /* for a strategy that uses one, borrowed; else NULL */
    bool               shares_encoder; /* the drafter: the model's */
} pk_worker_options;

typedef struct pk_worker_network { /* what a worker knows of each that passes choose from */
    int32_t      n_suppressed;
    pk_pass_cost cost;
} pk_worker_network;

typedef enum pk_turn { /* whose passes are computed */
                       PK_TURN_ALL,
                       PK_TURN_ONE_STEP, /* of sentences that take one step; those whose asks follow come next */
                       PK_TURN_FOLLOWING, /* of those, while the others wait */
} pk_turn;

typedef struct pk_live pk_live;
typedef struct pk_worker {
    pk_config         config; /* of all networks */
    pk_conventions    model;  /* what strategies know of it */
    pk_backend        on;
    pk_session       *session;
    pk_worker_options opt;
    pk_live          *live; /* [batch] sentences being decoded, oldest first */
    int32_t           n_live;
    pk_turn           turn;
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
    uint8_t          *listed;       /* [tokens] zeros; where there are shortlists */
    int32_t          *shortlist;    /* of one sentence */
    pk_trace_ask     *traced;       /* asks of one pass, as the caller's trace gets them */
    pk_trace_step    *traced_steps; /* the same of a lattice */
    int32_t           step_room;
    pk_stats          stats;   /* its own counts */
    pk_stats          seen;    /* all of its work up to its last finished sentence; queue's lock */
    int32_t           number;  /* among the workers of a queue, from 0 */
    int32_t           threads; /* that it uses now */
} pk_worker;

/* all: one network or several, borrowed */
pk_status pk_worker_open(pk_worker *w, const pk_ensemble *all, const pk_worker_options *opt);
void      pk_worker_close(pk_worker *w);
/* Decodes until there is no more for this worker. A failure ends the calls whose sentences it had,
 * and it goes on with others. threads_shared: how many it may use while other workers are busy too;
 * 0: always all it has. claimed: by a caller, so it also ends when the queue wants the worker back;
 * sentences may be left then. */
void pk_worker_serve(pk_worker *w, pk_queue *q, int32_t threads_shared, bool claimed);
/* gives the pass of a sentence, with what became of it, to the trace of its call, where that has one; kept: the
 * decoding is done, and better than those before */
void pk_worker_trace(pk_worker *w, const pk_live *l, bool kept);
#endif
