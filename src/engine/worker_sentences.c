/* worker_sentences.c - sentences come to a worker and leave it.
 *
 * A job is encoded, becomes a live sentence, and leaves when it is finished, when its call was
 * stopped, or when slots run short: then it is put back and comes again before those of the queue. */
#include "engine/worker_sentences.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/loops.h"

enum { ENCODE_SENTENCES = 256 }; /* at once */

/* ---- sentences come ---- */

pk_source pk_worker_source(const pk_worker *w, const pk_job *job) {
    const pk_config *c = &w->config;
    const pk_plan   *plan = pk_job_plan(job);
    const int32_t    n = (int32_t)job->source.n;
    int32_t          most = 3 * n + 32; /* longer is a loop, not a translation */
    if (c->max_output && most > c->max_output) most = c->max_output;
    if (most > c->max_target) most = c->max_target;
    return (pk_source){ .model = &w->model,
                        .n_tokens = n,
                        .token = job->source.id,
                        .max_length = most,
                        .prefix = job->prefix.id,
                        .n_prefix = (int32_t)job->prefix.n,
                        .n_free_prefix = job->n_free_prefix,
                        .forced = job->forced.n ? job->forced.id : NULL,
                        .n_forced = (int32_t)job->forced.n,
                        .draft = job->draft.id,
                        .n_draft = (int32_t)job->draft.n,
                        .lexicon = w->opt.lexicon,
                        .ngrams = w->ngrams,
                        .drafter = w->n_networks > 1,
                        .n_best = plan->n_best,
                        .want_scores = plan->scores,
                        .want_attention =
                            (plan->alignment && !plan->linker) || plan->replace_unknowns };
}

pk_job *pk_worker_next_job(pk_worker *w, pk_queue *q, int32_t has) {
    while (w->n_waiting) {
        pk_job *job = w->waiting[--w->n_waiting];
        if (!atomic_load(&job->call->stopped)) return job;
        pk_queue_finish(q, job);
    }
    return pk_queue_take(q, w->number, has);
}

/* it comes again before what is in the queue */
static void put_back(pk_worker *w, pk_job *job) {
    assert(w->n_waiting < w->opt.batch);
    w->waiting[w->n_waiting++] = job;
}

/* is less than half of some network's slots free? */
static bool is_short_of_slots(const pk_worker *w) {
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_session *s = pk_session_model_part(w->session, i);
        if (pk_session_free_slots(s) < pk_session_max(s)->slots / 2) return true;
    }
    return false;
}

/* is it worth encoding now, or better to wait until a few more sentences have finished? */
static bool has_room(const pk_worker *w) {
    const int32_t room = w->opt.batch - w->n_live;
    if (w->n_live == 0) return true;
    if (w->n_waiting && is_short_of_slots(w))
        return false; /* it was put back for want of slots: let others finish */
    return room * 4 >= w->opt.batch;
}

/* Scores are of any translation. A drafter that is never asked needs no list. */
void pk_worker_shorten(pk_worker *w, pk_live *l, int32_t network) {
    const pk_shortlist *by = w->opt.shortlist[network];
    if (!by || l->listed[network]) return;
    const pk_source src = pk_worker_source(w, l->job);
    l->listed[network] = true;
    if (src.forced) return;
    const pk_shortlist_request q = { .source = src.token,
                                     .n_source = src.n_tokens,
                                     .prefix = src.prefix,
                                     .n_prefix = src.n_prefix };
    const int32_t              n = pk_shortlist_find(by, &q, w->listed, w->shortlist);
    pk_session_shorten(w->session, network, l->sentence, w->shortlist, n);
}

/* a sentence that was encoded becomes alive */
static pk_status begin(pk_worker *w, pk_job *job, int32_t sentence) {
    pk_live       *l = &w->live[w->n_live];
    const pk_plan *p = pk_job_plan(job);
    assert(w->n_live < w->opt.batch);
    const pk_source src = pk_worker_source(w, job);
    memcpy(l->state, p->options, p->strategy->state_size);
    const pk_status status = p->strategy->begin(p->strategy, l->state, &src);
    if (status != PK_OK) {
        p->strategy->end(l->state);
        return status;
    }
    job->n_begun++;
    l->job = job;
    l->sentence = sentence;
    l->ready = false;
    memset(l->listed, 0, sizeof l->listed);
    w->n_live++;
    return PK_OK;
}

void pk_worker_fail_job(pk_queue *q, pk_job *job, pk_status status) {
    pk_queue_stop(q, job->call, status, pk_last_error());
    pk_queue_finish(q, job);
}

typedef struct arrivals { /* sentences to be encoded together */
    pk_job            *job[ENCODE_SENTENCES];
    pk_sentence_tokens source[ENCODE_SENTENCES];
    int32_t            n, tokens;
} arrivals;

/* as many as there are and as fit */
static void collect(pk_worker *w, pk_queue *q, arrivals *a) {
    pk_job *next = NULL;
    a->n = a->tokens = 0;
    while (a->n < ENCODE_SENTENCES && w->n_live + a->n < w->opt.batch &&
           (next = pk_worker_next_job(w, q, w->n_live + a->n))) {
        const int32_t more = (int32_t)next->source.n;
        if (a->tokens + more > pk_session_free_source(w->session) ||
            a->tokens + more > pk_session_max(w->session)->encode_tokens) {
            put_back(w, next);
            break;
        }
        a->tokens += more;
        a->job[a->n] = next;
        a->source[a->n++] = (pk_sentence_tokens){ next->source.id, more };
    }
}

static void begin_all(pk_worker *w, pk_queue *q, const arrivals *a, const int32_t *name) {
    const double since = pk_clock_now();
    for (int32_t i = 0; i < a->n; i++) {
        w->stats.source_tokens += (uint64_t)a->source[i].n;
        const pk_status status = begin(w, a->job[i], name[i]);
        if (status == PK_OK) continue;
        pk_session_forget(w->session, name[i]);
        pk_worker_fail_job(q, a->job[i], status);
    }
    w->stats.seconds[PK_MODULE_STRATEGY] += pk_clock_now() - since;
}

pk_status pk_worker_refill(pk_worker *w, pk_queue *q) {
    arrivals a;
    int32_t  name[ENCODE_SENTENCES];
    while (has_room(w) && w->n_live < w->opt.batch) {
        collect(w, q, &a);
        if (a.n == 0) return PK_OK;
        const pk_status status = pk_session_encode_begin(w->session, a.source, a.n, name);
        for (int32_t i = 0; status != PK_OK && i < a.n; i++) put_back(w, a.job[i]);
        PK_TRY(status);
        begin_all(w, q, &a, name); /* while a GPU encodes */
    }
    return PK_OK;
}

/* ---- sentences go ---- */

static void remove_live(pk_worker *w, int32_t i) {
    pk_live gone = w->live[i];
    pk_job_plan(gone.job)->strategy->end(gone.state);
    pk_session_forget(w->session, gone.sentence);
    w->n_live--;
    memmove(&w->live[i], &w->live[i + 1], (size_t)(w->n_live - i) * sizeof gone);
    w->live[w->n_live] = gone; /* its memory serves the next one */
}

/* what is left of a stopped call is not wanted: nobody waits for it */
static void drop(pk_worker *w, pk_queue *q, int32_t i) {
    pk_job *job = w->live[i].job;
    remove_live(w, i);
    pk_queue_finish(q, job);
}

void pk_worker_publish(pk_worker *w, pk_queue *q) {
    pk_stats all = w->stats;
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_session *s = pk_session_model_part(w->session, i);
        const double     *more = pk_session_seconds(s);
        for (int m = 0; m < PK_N_MODULES; m++) all.seconds[m] += more[m];
        all.flops += pk_session_flops(s);
        if (i > 0) all.draft_flops += pk_session_flops(s);
    }
    all.device_bytes = w->on.held ? w->on.held(w->on.self) : 0;
    pthread_mutex_lock(&q->lock);
    w->seen = all;
    pthread_mutex_unlock(&q->lock);
}

static pk_output_end end_of(const pk_worker *w, const pk_job *job) {
    return (pk_output_end){ w->config.eos, pk_worker_source(w, job).max_length,
                            w->model.forced_eos };
}

pk_status pk_worker_finish(pk_worker *w, pk_queue *q, int32_t i) {
    pk_live       *l = &w->live[i];
    pk_job        *job = l->job;
    const pk_plan *plan = pk_job_plan(job);
    const int32_t  n = plan->strategy->result(l->state, w->found, pk_plan_n_best(plan));
    assert(n <= pk_plan_n_best(plan));
    PK_TRY(pk_job_finish(job, w->found, n, &w->config));
    if (n) w->stats.target_tokens += (uint64_t)job->hypothesis[0].n;
    const pk_job_hypothesis *const own = job->hypothesis;
    const bool                     again = pk_loops_retry(job, plan, end_of(w, job), &w->stats);
    pk_worker_trace(w, l, again || job->hypothesis == own);
    remove_live(w, i);
    if (again) {
        job->again = true;
        put_back(w, job);
        return PK_OK;
    }
    w->stats.sentences++;
    pk_worker_publish(w, q);
    pk_queue_finish(q, job);
    return PK_OK;
}

void pk_worker_drop_stopped(pk_worker *w, pk_queue *q, double now) {
    for (int32_t i = w->n_live - 1; i >= 0; i--) {
        pk_queued *c = w->live[i].job->call;
        if (c->deadline > 0 && c->deadline < now)
            pk_queue_stop(q, c, PK_LATE, "the deadline passed while the call was served");
        if (atomic_load(&c->stopped)) drop(w, q, i);
    }
}

void pk_worker_fail_all(pk_worker *w, pk_queue *q, pk_status status) {
    char error[PK_ERROR_SIZE];
    snprintf(error, sizeof error, "%s", pk_last_error());
    while (w->n_waiting) {
        pk_job *job = w->waiting[--w->n_waiting];
        pk_queue_stop(q, job->call, status, error);
        pk_queue_finish(q, job);
    }
    while (w->n_live) {
        pk_queue_stop(q, w->live[w->n_live - 1].job->call, status, error);
        drop(w, q, w->n_live - 1);
    }
}

void pk_worker_put_back_youngest(pk_worker *w) {
    put_back(w, w->live[w->n_live - 1].job);
    remove_live(w, w->n_live - 1);
}
