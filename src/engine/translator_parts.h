/* translator_parts.h - an open translator, as translator.c makes it and call.c uses it. */
#ifndef PK_ENGINE_TRANSLATOR_PARTS_H
#define PK_ENGINE_TRANSLATOR_PARTS_H
#include "engine/document.h"
#include "engine/linker.h"
#include "engine/lookup.h"
#include "engine/sentence_cache.h"
#include "engine/translator.h"
#include "engine/worker.h"

typedef struct pk_worker_thread {
    struct pk_translator *t;
    pk_worker            *w;
    pthread_t             thread;
} pk_worker_thread;

typedef struct pk_text_counts { /* see pk_stats */
    atomic_uint_fast64_t texts, repaired, wrapped, skipped, cached;
    atomic_uint_fast64_t kept, lost; /* by markup/ */
} pk_text_counts;

struct pk_translator {
    const pk_model  *model;                        /* the first, where there are several */
    const pk_model  *member[PK_MOST_NETWORKS + 1]; /* all models, the drafter included */
    size_t           n_members;
    pk_ensemble      all, drafter; /* drafter: of no network where there is none */
    pk_joined        joined;       /* of a drafter that shares the model's encoder */
    pk_lookup        lookup;
    pk_linker        linker; /* of an alignment that was saved, where links are wanted */
    pk_reader        reader;
    pk_plan          plan, scoring, again; /* again: of the plan, where loops are retried */
    void            *options, *scoring_options, *again_options; /* strategies' fresh states */
    int32_t          n_best, n_workers, threads, threads_each;
    pk_added_tokens *added; /* by tasks, to the drafter where there is one */
    int32_t          n_added;
    bool             lends_threads; /* worker 0 may have all threads when it serves alone */
    pk_worker       *worker;        /* [n_workers] */

    pk_queue           queue;
    bool               has_queue;
    pk_sentence_cache *cache; /* NULL: none */
    pk_text_counts     counts;
    pk_errands         errands;   /* of calls with markup */
    pthread_mutex_t    starting;  /* of threads, by the first call */
    pk_worker_thread  *thread;    /* [n_workers] */
    int32_t            n_threads; /* started */
};

/* Weights are used where they are mapped, so the file must not change: PK_IO where it did. Checked
 * before a call, it saves the work. Checked behind it, it refuses what was computed from a file that
 * changed meanwhile. */
pk_status pk_translator_check_files(const pk_translator *t);
/* worker_threads.c: the workers begin to serve the queue, unless they do already. If a thread cannot
 * be started, the others do its work; none at all is an error. */
pk_status pk_translator_start(pk_translator *t);
/* does the work of worker 0, whose place the caller has claimed, until its call has ended or another one
 * comes; then returns it */
void pk_translator_serve(pk_translator *t);
void pk_translator_stop(pk_translator *t); /* waits until they have gone */
#endif
