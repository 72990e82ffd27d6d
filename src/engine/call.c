/* call.c - one plain call: texts in, result out. Read this first:
 *
 *   read   each text becomes a document: sentences to decode, and what is between them
 *   sort   the longest sentences first, so that sentences of one pass have similar lengths
 *   queue  the workers decode them, together with those of other calls (queue.c, worker.c)
 *   render each document becomes a text again, in the order of the call
 *
 * Reading and rendering happen in the threads of those who begin and end it, not in workers. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/option_struct.h"
#include "engine/result.h"
#include "engine/translator_parts.h"

struct pk_plain_call {
    pk_translator  *t;
    pk_document    *document; /* [n] */
    size_t          n, n_jobs;
    pk_queued       queued; /* its jobs, longest first; those found in the cache are left out */
    pk_call_options o;
    bool            part, again;     /* see pk_plain_request */
    double          reported;        /* when reading was last reported, by the clock */
    bool            over, cancelled; /* the queue has nothing of it any more; by progress */
    bool            claimed;         /* its caller does the work of worker 0 */
};

static const double report_every = 0.1; /* seconds */

/* ---- read ---- */

/* calls progress while texts are read, ten times a second at most */
static pk_status report_reading(void *user) {
    pk_plain_call *k = user;
    const double   now = pk_clock_now();
    if (!k->o.progress || now - k->reported < report_every) return PK_OK;
    k->reported = now;
    if (k->o.progress(k->o.user, 0, 0)) PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    return PK_OK;
}

/* texts: those of the call, or NULL where there are none */
static pk_status check_text(const pk_text *texts, size_t i, const char *what) {
    if (texts && !texts[i].data && texts[i].size)
        PK_FAIL(PK_ARGUMENT, "the %s has %zu bytes, but its data is NULL", what, texts[i].size);
    return PK_OK;
}

static void count_text(pk_plain_call *k, const pk_document *d) {
    pk_translator *t = k->t;
    if (k->again) return;
    atomic_fetch_add(&t->counts.texts, !k->part);
    atomic_fetch_add(&t->counts.repaired, d->repaired.size > 0);
    atomic_fetch_add(&t->counts.wrapped, d->skipped ? 0 : d->n_wrapped);
    atomic_fetch_add(&t->counts.skipped, d->skipped);
}

/* one text of the call, with its prefix, draft or target, becomes a document */
static pk_status read_one(pk_plain_call *k, size_t i, const pk_reader *r, const pk_text *text,
                          const pk_text *target) {
    const pk_call_options *o = &k->o;
    pk_document           *d = &k->document[i];
    PK_TRY(check_text(text, i, "text"));
    PK_TRY(check_text(o->prefix, i, "prefix"));
    PK_TRY(check_text(o->draft, i, "draft"));
    PK_TRY(check_text(target, i, "target"));
    PK_TRY(report_reading(k));
    PK_TRY(pk_document_read(d, r, text[i]));
    if (o->prefix) PK_TRY(pk_document_set_prefix(d, r, o->prefix[i]));
    if (o->draft) PK_TRY(pk_document_set_draft(d, r, o->draft[i]));
    if (target) PK_TRY(pk_document_set_forced(d, r, target[i]));
    for (size_t n = 0; n < d->n_jobs; n++) d->job[n].text = i, d->job[n].sentence = n;
    k->n_jobs += d->n_jobs;
    count_text(k, d);
    return PK_OK;
}

static pk_status read_texts(pk_plain_call *k, const pk_reader *r, const pk_text *text,
                            const pk_text *target) {
    const size_t number = k->o.number;
    for (size_t i = 0; i < k->n; i++) {
        const pk_status status = read_one(k, i, r, text, target);
        if (status != PK_OK && status != PK_CANCELLED && (number || k->n > 1))
            pk_fail_context("text %zu", (number ? number : 1) + i);
        PK_TRY(status);
    }
    return PK_OK;
}

/* splitters hold a position in a text, so every call has its own */
static pk_status read_all(pk_plain_call *k, const pk_text *text, const pk_text *target) {
    pk_reader r = k->t->reader;
    pk_status status;
    r.splitter = r.target_splitter = NULL;
    r.alive = report_reading;
    r.user = k;
    r.tokens = k->o.tokens;
    if (target) r.one_sentence = true;
    r.capitals = !target && k->t->model->data.network.config.capitals;
    k->reported = pk_clock_now();
    PK_GOTO(PK_TAKE(&k->document, k->n));
    PK_GOTO(pk_splitter_copy(k->t->reader.splitter, &r.splitter));
    if (k->o.prefix || k->o.draft)
        PK_GOTO(pk_splitter_copy(k->t->reader.target_splitter, &r.target_splitter));
    status = read_texts(k, &r, text, target);
done:
    pk_splitter_close(r.splitter);
    pk_splitter_close(r.target_splitter);
    return status;
}

/* ---- sort ---- */

/* longest first; equal lengths in the order of the call, so that the order is always the same */
static int by_length(const void *a, const void *b) {
    const pk_job *x = *(pk_job *const *)a, *y = *(pk_job *const *)b;
    const size_t  nx = x->source.n + x->forced.n, ny = y->source.n + y->forced.n;
    if (nx != ny) return nx < ny ? 1 : -1;
    if (x->text != y->text) return x->text < y->text ? -1 : 1;
    return x->sentence < y->sentence ? -1 : x->sentence > y->sentence;
}

/* a sentence that was translated before need not be again; a caller that traces wants to see it */
static pk_status find_cached(pk_plain_call *k, pk_job *job, bool *found) {
    pk_translator *t = k->t;
    *found = false;
    if (!t->cache || job->forced.n || k->o.trace) return PK_OK;
    PK_TRY(pk_sentence_cache_find(t->cache, job, found));
    atomic_fetch_add(&t->counts.cached, *found);
    return PK_OK;
}

/* all sentences of all texts that must be decoded */
static pk_status sort_jobs(pk_plain_call *k) {
    pk_queued *q = &k->queued;
    PK_TRY(PK_TAKE(&q->job, k->n_jobs));
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; j < k->document[i].n_jobs; j++) {
            pk_job *job = &k->document[i].job[j];
            bool    found;
            PK_TRY(find_cached(k, job, &found));
            if (!found) q->job[q->n++] = job;
        }
    qsort(q->job, q->n, sizeof *q->job, by_length);
    return PK_OK;
}

/* ---- begin and end ---- */

static void free_call(pk_plain_call *k) {
    for (size_t i = 0; k->document && i < k->n; i++) pk_document_free(&k->document[i]);
    pk_memory_give(k->document);
    pk_memory_give(k->queued.job);
    pk_memory_give(k);
}

static pk_status check_options(const pk_call_options *o) {
    if (!(o->deadline >= 0)) PK_FAIL(PK_ARGUMENT, "the deadline must be 0 or more seconds");
    return PK_OK;
}

/* everything up to the queue */
static pk_status prepare(pk_plain_call *k, const pk_text *text, const pk_text *target) {
    pk_translator *t = k->t;
    pk_queued     *q = &k->queued;
    const double   now = pk_clock_now();
    PK_TRY(check_options(&k->o));
    PK_TRY(pk_translator_check_files(t));
    if (!k->again) PK_TRY(pk_queue_check_room(&t->queue, 1));
    PK_TRY(read_all(k, text, target));
    PK_TRY(sort_jobs(k));
    q->plan = target ? &t->scoring : &t->plan;
    q->taken = k->again;
    q->client = k->o.client;
    q->deadline = k->o.deadline > 0 ? now + k->o.deadline : 0;
    q->watched = k->o.progress != NULL;
    q->trace = k->o.trace;
    q->done = k->o.done;
    q->user = k->o.user;
    return pk_translator_start(t);
}

pk_status pk_plain_call_begin(pk_translator *t, const pk_plain_request *r, pk_plain_call **out) {
    pk_plain_call *k;
    *out = NULL;
    PK_TRY(PK_TAKE(&k, 1));
    k->t = t;
    k->n = r->n;
    k->o = r->o;
    k->part = r->part;
    k->again = r->again;
    pk_status status = prepare(k, r->text, r->target);
    *out = k; /* before the workers see it */
    /* who reports progress must not be kept from it by work */
    k->claimed =
        status == PK_OK && r->waits && !k->o.progress && pk_queue_claim(&t->queue, &k->queued);
    if (status == PK_OK) status = pk_queue_add(&t->queue, &k->queued);
    if (status != PK_OK) {
        if (k->claimed) pk_queue_return(&t->queue, false);
        *out = NULL;
        free_call(k);
    }
    return status;
}

void pk_plain_call_cancel(pk_plain_call *c) {
    pk_queue_stop(&c->t->queue, &c->queued, PK_CANCELLED, "cancelled by the caller");
}

void pk_plain_call_count(pk_plain_call *c, size_t *done, size_t *all) {
    *all = c->queued.n;
    *done = pk_queue_finished(&c->t->queue, &c->queued);
}

/* Progress may cancel the call; then it is cancelled, also where its last sentence was finished at
 * the same time. */
void pk_plain_call_wait(pk_plain_call *k) {
    size_t finished = 0;
    if (k->claimed) pk_translator_serve(k->t);
    k->claimed = false;
    do {
        if (k->cancelled || !k->o.progress) continue;
        k->cancelled = k->o.progress(k->o.user, finished, k->queued.n) != 0;
        if (k->cancelled) pk_plain_call_cancel(k);
    } while (!(k->over = pk_queue_await(&k->t->queue, &k->queued, report_every, &finished)));
    if (k->o.progress && !k->cancelled && k->queued.status == PK_OK)
        k->o.progress(k->o.user, k->queued.n, k->queued.n);
}

static pk_status render(pk_plain_call *k, pk_result **out) {
    PK_TRY(pk_result_open(k->n, out));
    for (size_t i = 0; i < k->n; i++)
        PK_TRY(pk_result_set(*out, i, &k->document[i], k->t->model, k->queued.plan));
    return PK_OK;
}

static void keep_in_cache(pk_plain_call *k) {
    for (size_t i = 0; k->t->cache && i < k->queued.n; i++)
        if (!k->queued.job[i]->forced.n) pk_sentence_cache_add(k->t->cache, k->queued.job[i]);
}

static pk_status end_call(pk_plain_call *k, pk_result **out) {
    const pk_queued *q = &k->queued;
    size_t           finished;
    while (!k->over) k->over = pk_queue_await(&k->t->queue, &k->queued, report_every, &finished);
    if (k->cancelled) PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    if (q->status != PK_OK) PK_FAIL(q->status, "%s", q->error);
    PK_TRY(render(k, out));
    PK_TRY(pk_translator_check_files(k->t));
    keep_in_cache(k);
    return PK_OK;
}

pk_status pk_plain_call_end(pk_plain_call *c, pk_result **out) {
    pk_result *result = NULL;
    pk_status  status = end_call(c, &result);
    free_call(c);
    if (status == PK_OK && out) {
        *out = result;
        return PK_OK;
    }
    pk_result_free(result);
    return status;
}

/* ---- for the room above ---- */

pk_status pk_translator_check_room(pk_translator *t) { return pk_queue_check_room(&t->queue, 1); }

const pk_reader *pk_translator_reader(const pk_translator *t) { return &t->reader; }
bool             pk_translator_aligns(const pk_translator *t) { return t->plan.alignment; }

pk_status pk_translator_errands(pk_translator *t, pk_errands **out) {
    *out = &t->errands;
    return pk_errands_start(&t->errands);
}

void pk_translator_count(pk_translator *t, const pk_markup_counts *more) {
    atomic_fetch_add(&t->counts.texts, more->texts);
    atomic_fetch_add(&t->counts.repaired, more->repaired);
    atomic_fetch_add(&t->counts.kept, more->kept);
    atomic_fetch_add(&t->counts.lost, more->lost);
}

/* ---- scoring, which knows no markup ---- */

pk_status pk_score(pk_translator *t, const pk_text *source, const pk_text *target, size_t n,
                   const pk_call_options *opt, pk_result **out) {
    pk_plain_request r = { source, n ? target : &(pk_text){ "", 0 }, n, .waits = true };
    pk_plain_call   *k;
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(source);
    if (n) PK_NEED(target);
    for (int32_t i = 0; i < t->all.n; i++)
        PK_TRY(pk_model_check_task(t->member[i], &pk_strategy_score));
    PK_READ_OPTIONS(pk_call_options, opt, &r.o);
    PK_TRY(pk_plain_call_begin(t, &r, &k));
    pk_plain_call_wait(k);
    return pk_plain_call_end(k, out);
}
