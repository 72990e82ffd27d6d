/* translator.c - text in, text out. Read this first:
 *
 *   read   each text becomes a document: sentences to decode, and what is between them
 *   sort   the longest sentences first, so that sentences of one pass have similar lengths
 *   decode workers take sentences from one queue (worker.c)
 *   render each document becomes a text again, in the order of the call */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/option_struct.h"
#include "engine/devices.h"
#include "engine/document.h"
#include "engine/result.h"
#include "engine/worker.h"

struct pk_translator {
    const pk_model  *model;                        /* the first, where there are several */
    const pk_model  *member[PK_MOST_NETWORKS + 1]; /* all models, the drafter included */
    size_t           n_members;
    pk_ensemble      all, drafter; /* drafter: of no network where there is none */
    pk_joined        joined;       /* of a drafter that shares the model's encoder */
    pk_reader        reader;
    pk_plan          plan, scoring;
    void            *options, *scoring_options; /* strategies' fresh states */
    int32_t          n_best, n_workers, threads, threads_each;
    pk_added_tokens *added; /* by tasks, to the drafter where there is one */
    int32_t          n_added;
    bool             lends_threads; /* worker 0 may have all threads when it serves alone */
    pk_worker       *worker;        /* [n_workers] */
    uint64_t         texts, repaired, wrapped, skipped;
};

/* ---- opening ---- */

static int32_t cores(void) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < PK_MOST_THREADS ? (int32_t)n : 1;
}

static int32_t or_default(int32_t value, int32_t normal) { return value > 0 ? value : normal; }

/* 0 is the default */
static pk_status check_number(const char *name, int32_t value, int32_t least, int32_t most) {
    if (value && (value < least || value > most))
        PK_FAIL(PK_ARGUMENT, "%s must be %d to %d, not %d", name, least, most, value);
    return PK_OK;
}

static pk_status check_options(const pk_translator_options *o) {
    PK_TRY(check_number("threads", o->threads, 1, PK_MOST_THREADS));
    PK_TRY(check_number("workers", o->workers, 1, PK_MOST_THREADS));
    PK_TRY(check_number("batch", o->batch, 1, PK_MOST_BATCH));
    PK_TRY(check_number("batch_tokens", o->batch_tokens, 1, PK_MOST_BATCH_TOKENS));
    PK_TRY(check_number("n_best", o->n_best, 1, PK_MOST_N_BEST));
    return check_number("max_input", o->max_input, PK_LEAST_MAX_INPUT, INT32_MAX);
}

/* the strategy of translating and the one of scoring, with their options as fresh states */
static pk_status open_strategy(pk_translator *t, const pk_translator_options *o) {
    const char *spec = o->decode && *o->decode ? o->decode : "greedy";
    PK_TRY(pk_strategy_parse(spec, &t->plan.strategy, &t->options));
    t->scoring.strategy = &pk_strategy_score;
    PK_TRY(pk_memory_take(1, pk_strategy_score.state_size, &t->scoring_options));
    const pk_strategy *by = t->plan.strategy;
    PK_TRY(pk_model_check_task(t->model, by));
    for (size_t i = 0; i < o->n_ensemble; i++) PK_TRY(pk_model_check_task(o->ensemble[i], by));
    if (by->looks_up && !t->model->data.lexicon.source_vocab)
        PK_FAIL(PK_UNSUPPORTED, "%s: %s needs a model with candidates: train one with task %s",
                t->model->path, by->name, by->needs);
    if (by->check) PK_TRY(by->check(by, t->options, t->n_best));
    t->plan.options = t->options;
    t->plan.n_best = t->n_best;
    t->plan.scores = o->scores || t->n_best > 1;
    t->plan.alignment = o->alignment;
    t->plan.replace_unknowns = o->replace_unknowns;
    t->scoring.options = t->scoring_options;
    t->scoring.n_best = 1;
    t->scoring.scores = true;
    return PK_OK;
}

static pk_status open_drafter(pk_translator *t, const pk_model *drafter) {
    PK_TRY(pk_strategy_check_drafter(t->plan.strategy, drafter != NULL));
    if (!drafter) return PK_OK;
    PK_TRY(pk_model_check_drafter_task(drafter, t->plan.strategy));
    return pk_models_drafter(t->model, drafter, &t->joined, &t->drafter);
}

enum { MOST_WORKERS = 8, JOBS_EACH = 4 };

/* A worker per thread wastes least when there are many sentences. All threads on one sentence give
 * the lowest latency. Unless the user sets the number of workers, both are possible, and each call
 * chooses (share_threads). */
static void choose_workers(pk_translator *t, int32_t asked, int32_t threads, int32_t batch) {
    t->lends_threads = asked == 0;
    t->n_workers = asked ? asked : batch == 1 ? 1 : threads < MOST_WORKERS ? threads : MOST_WORKERS;
    if (t->n_workers > threads) t->n_workers = threads;
    t->threads_each = threads / t->n_workers;
    t->threads = threads;
}

/* Between two passes the host needs time for the strategy. With two workers per GPU, the GPU
 * computes a pass of one while the host works for the other. */
static void choose_gpu_workers(pk_translator *t, int32_t asked, int32_t n_gpus, int32_t batch) {
    t->lends_threads = false;
    t->n_workers = (asked ? asked : batch > 1 ? 2 : 1) * n_gpus;
    t->threads_each = 1;
    t->threads = t->n_workers;
}

/* how many of the workers serve this call, each with its share of the threads */
static int32_t share_threads(pk_translator *t, size_t n_jobs) {
    const bool    many = n_jobs >= (size_t)t->n_workers * JOBS_EACH || !t->lends_threads;
    const int32_t n = many ? t->n_workers : 1;
    t->worker[0].on.limit(t->worker[0].on.self, many ? t->threads_each : t->threads);
    return n;
}

/* what all models can be computed with: in F32 if one of them would be */
static pk_dtype arithmetic_of(const pk_translator *t, const pk_translator_options *o,
                              const pk_devices *devices) {
    const pk_model *m = t->model;
    const pk_dtype  first = pk_devices_arithmetic(devices, m->asked_type, m->data.type);
    for (size_t i = 0; i < o->n_ensemble; i++) {
        m = o->ensemble[i];
        if (pk_devices_arithmetic(devices, m->asked_type, m->data.type) == PK_F32) return PK_F32;
    }
    return first;
}

/* worker i works on device i modulo their number */
static pk_status open_workers(pk_translator *t, const pk_translator_options *o) {
    const pk_config *c = &t->all.config;
    const int32_t    threads = or_default(o->threads, cores());
    pk_devices       devices;
    PK_TRY(pk_devices_parse(o->device, &devices));
    const int32_t     batch = devices.gpu ? PK_DEFAULT_BATCH_GPU : PK_DEFAULT_BATCH;
    const int32_t     tokens = devices.gpu ? PK_DEFAULT_BATCH_TOKENS_GPU : PK_DEFAULT_BATCH_TOKENS;
    pk_worker_options w = { .batch = or_default(o->batch, batch),
                            .batch_tokens = or_default(o->batch_tokens, tokens),
                            .plan = t->plan,
                            .scoring = t->scoring,
                            .drafter = t->drafter.n ? &t->drafter : NULL,
                            .shares_encoder = t->joined.table != NULL };
    w.arithmetic = arithmetic_of(t, o, &devices);
    w.n_continuation = pk_vocab_continuation(t->model->vocab, &w.continuation);
    PK_TRY(pk_model_added(o->drafter ? o->drafter : t->model, &t->added, &t->n_added));
    w.added = t->added, w.n_added = t->n_added;
    if (t->model->data.lexicon.source_vocab) w.lexicon = &t->model->data.lexicon;
    w.max_source = o->max_input && o->max_input < c->max_source ? o->max_input : c->max_source;
    t->reader.max_source = w.max_source;
    if (devices.gpu)
        choose_gpu_workers(t, o->workers, devices.n, w.batch);
    else
        choose_workers(t, o->workers, threads, w.batch);
    PK_TRY(PK_TAKE(&t->worker, (size_t)t->n_workers));
    for (int32_t i = 0; i < t->n_workers; i++) {
        w.backend = devices.name[i % devices.n];
        w.threads = i == 0 && t->lends_threads ? threads : t->threads_each;
        PK_TRY(pk_worker_open(&t->worker[i], &t->all, &w));
        t->worker[i].reports = i == 0;
    }
    return PK_OK;
}

/* Weights are used where they are mapped, so the file must not change. Checked before a call, it
 * saves the work. Checked behind it, it refuses what was computed from a file that changed
 * meanwhile. */
static pk_status check_files(const pk_translator *t) {
    for (size_t i = 0; i < t->n_members; i++) PK_TRY(pk_model_check_file(t->member[i]));
    return PK_OK;
}

static pk_status open_parts(pk_translator *t, const pk_translator_options *o) {
    PK_TRY(check_options(o));
    PK_TRY(pk_model_check_whole(t->model));
    for (size_t i = 0; o->ensemble && i < o->n_ensemble; i++)
        if (o->ensemble[i]) PK_TRY(pk_model_check_whole(o->ensemble[i]));
    t->n_best = or_default(o->n_best, 1);
    t->reader.model = t->model;
    t->reader.one_sentence = o->one_sentence;
    t->reader.skip_long = o->skip_long;
    PK_TRY(pk_models_ensemble(t->model, o->ensemble, o->n_ensemble, &t->all));
    PK_TRY(pk_language_choose(t->model, o->from, o->to, &t->reader.language));
    PK_TRY(pk_splitter_open(t->reader.language.source_code, &t->reader.splitter));
    PK_TRY(pk_splitter_open(t->reader.language.target_code, &t->reader.target_splitter));
    PK_TRY(open_strategy(t, o));
    PK_TRY(open_drafter(t, o->drafter));
    PK_TRY(open_workers(t, o));
    t->member[t->n_members++] = t->model;
    for (size_t i = 0; i < o->n_ensemble; i++) t->member[t->n_members++] = o->ensemble[i];
    if (o->drafter) t->member[t->n_members++] = o->drafter;
    return check_files(t);
}

pk_status pk_translator_open(const pk_model *m, const pk_translator_options *opt,
                             pk_translator **out) {
    pk_translator        *t;
    pk_translator_options o;
    PK_NEED(out);
    *out = NULL;
    PK_NEED(m);
    PK_READ_OPTIONS(pk_translator_options, opt, &o);
    PK_TRY(PK_TAKE(&t, 1));
    t->model = m;
    const pk_status status = open_parts(t, &o);
    if (status != PK_OK)
        pk_translator_close(t);
    else
        *out = t;
    return status;
}

void pk_translator_close(pk_translator *t) {
    if (!t) return;
    for (int32_t i = 0; t->worker && i < t->n_workers; i++) pk_worker_close(&t->worker[i]);
    pk_memory_give(t->worker);
    pk_memory_give(t->options);
    pk_memory_give(t->scoring_options);
    pk_memory_give(t->added);
    pk_splitter_close(t->reader.splitter);
    pk_splitter_close(t->reader.target_splitter);
    pk_ensemble_close(&t->all);
    pk_joined_close(&t->joined);
    pk_memory_give(t);
}

/* ---- one call ---- */

typedef struct call {
    pk_translator  *t;
    pk_document    *document;
    size_t          n, n_jobs;
    pk_job        **queue; /* all jobs, longest first */
    pk_call_options o;
    double          reported; /* when reading was last reported, by the clock */
} call;

/* calls progress while texts are read, ten times a second at most */
static pk_status report_reading(void *user) {
    call        *k = user;
    const double now = pk_clock_now(), every = 0.1;
    if (!k->o.progress || now - k->reported < every) return PK_OK;
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

/* one text of the call, with its prefix, draft or target, becomes a document */
static pk_status read_one(call *k, size_t i, const pk_text *text, const pk_text *target) {
    const pk_call_options *o = &k->o;
    pk_translator         *t = k->t;
    pk_document           *d = &k->document[i];
    pk_reader              r = t->reader;
    r.alive = report_reading;
    r.user = k;
    if (target) r.one_sentence = true;
    PK_TRY(check_text(text, i, "text"));
    PK_TRY(check_text(o->prefix, i, "prefix"));
    PK_TRY(check_text(o->draft, i, "draft"));
    PK_TRY(check_text(target, i, "target"));
    PK_TRY(report_reading(k));
    PK_TRY(pk_document_read(d, &r, text[i]));
    if (o->prefix) PK_TRY(pk_document_set_prefix(d, &r, o->prefix[i]));
    if (o->draft) PK_TRY(pk_document_set_draft(d, &r, o->draft[i]));
    if (target) PK_TRY(pk_document_set_forced(d, &r, target[i]));
    for (size_t n = 0; n < d->n_jobs; n++) d->job[n].text = i, d->job[n].sentence = n;
    k->n_jobs += d->n_jobs;
    t->texts++;
    t->repaired += d->repaired.size > 0;
    t->wrapped += d->skipped ? 0 : d->n_wrapped;
    t->skipped += d->skipped;
    return PK_OK;
}

static pk_status read_all(call *k, const pk_text *text, const pk_text *target) {
    const size_t number = k->o.number;
    PK_TRY(PK_TAKE(&k->document, k->n));
    k->reported = pk_clock_now();
    for (size_t i = 0; i < k->n; i++) {
        const pk_status status = read_one(k, i, text, target);
        if (status != PK_OK && status != PK_CANCELLED && (number || k->n > 1))
            pk_fail_context("text %zu", (number ? number : 1) + i);
        PK_TRY(status);
    }
    return PK_OK;
}

/* longest first; equal lengths in the order of the call, so that the order is always the same */
static int by_length(const void *a, const void *b) {
    const pk_job *x = *(pk_job *const *)a, *y = *(pk_job *const *)b;
    const size_t  nx = x->source.n + x->forced.n, ny = y->source.n + y->forced.n;
    if (nx != ny) return nx < ny ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* all sentences of all texts in one queue */
static pk_status sort_jobs(call *k) {
    size_t n = 0;
    PK_TRY(PK_TAKE(&k->queue, k->n_jobs));
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; j < k->document[i].n_jobs; j++) k->queue[n++] = &k->document[i].job[j];
    qsort(k->queue, n, sizeof *k->queue, by_length);
    return PK_OK;
}

typedef struct helper {
    pk_worker     *w;
    pk_queue      *q;
    const pk_plan *plan;
    pthread_t      thread;
    bool           started;
} helper;

static void *help(void *arg) {
    helper *h = arg;
    pk_worker_serve(h->w, h->q, h->plan);
    return NULL;
}

/* The calling thread is worker 0; the others have threads of their own. If one cannot be
 * started, the rest do its work. */
static pk_status decode_all(call *k, const pk_plan *plan) {
    const pk_call_options *o = &k->o;
    pk_translator         *t = k->t;
    pk_queue               q = { .job = k->queue,
                                 .n = k->n_jobs,
                                 .progress = o->progress,
                                 .trace = o->trace,
                                 .tracing = PTHREAD_MUTEX_INITIALIZER,
                                 .user = o->user };
    helper                *h = NULL;
    const int32_t          n_workers = share_threads(t, k->n_jobs);
    PK_TRY(PK_TAKE(&h, (size_t)t->n_workers));
    for (int32_t i = 1; i < n_workers && (size_t)i < k->n_jobs; i++) {
        h[i] = (helper){ .w = &t->worker[i], .q = &q, .plan = plan };
        h[i].started = pthread_create(&h[i].thread, NULL, help, &h[i]) == 0;
    }
    pk_worker_serve(&t->worker[0], &q, plan);
    pk_status status = t->worker[0].status;
    if (status != PK_OK) pk_fail_with(status, "%s", t->worker[0].error);
    for (int32_t i = 1; i < t->n_workers; i++) {
        if (!h[i].started) continue;
        pthread_join(h[i].thread, NULL);
        if (status == PK_OK && t->worker[i].status != PK_OK)
            status = pk_fail_with(t->worker[i].status, "%s", t->worker[i].error);
    }
    pk_memory_give(h);
    return status;
}

static pk_status render_all(call *k, const pk_plan *plan, pk_result **out) {
    PK_TRY(pk_result_open(k->n, out));
    for (size_t i = 0; i < k->n; i++)
        PK_TRY(pk_result_set(*out, i, &k->document[i], k->t->model, plan));
    return PK_OK;
}

/* one call, from texts to result; target: score these instead of translating */
static pk_status serve(pk_translator *t, const pk_text *text, const pk_text *target, size_t n,
                       const pk_call_options *opt, pk_result **out) {
    call           k = { .t = t, .n = n };
    const pk_plan *plan = target ? &t->scoring : &t->plan;
    pk_status      status;
    PK_READ_OPTIONS(pk_call_options, opt, &k.o);
    PK_GOTO(check_files(t));
    PK_GOTO(read_all(&k, text, target));
    PK_GOTO(sort_jobs(&k));
    PK_GOTO(decode_all(&k, plan));
    PK_GOTO(render_all(&k, plan, out));
    PK_GOTO(check_files(t));
done:
    for (size_t i = 0; k.document && i < n; i++) pk_document_free(&k.document[i]);
    pk_memory_give(k.document);
    pk_memory_give(k.queue);
    if (status != PK_OK) {
        pk_result_free(*out);
        *out = NULL;
    }
    return status;
}

pk_status pk_translate(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                       pk_result **out) {
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(text);
    return serve(t, text, NULL, n, opt, out);
}

pk_status pk_score(pk_translator *t, const pk_text *source, const pk_text *target, size_t n,
                   const pk_call_options *opt, pk_result **out) {
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(source);
    if (n) PK_NEED(target);
    for (int32_t i = 0; i < t->all.n; i++)
        PK_TRY(pk_model_check_task(t->member[i], &pk_strategy_score));
    return serve(t, source, n ? target : &(pk_text){ "", 0 }, n, opt, out);
}

/* what a worker and all its networks took */
static void add_work(const pk_worker *w, pk_stats *out) {
    for (int m = 0; m < PK_N_MODULES; m++) out->seconds[m] += w->stats.seconds[m];
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_session *s = pk_session_model_part(w->session, i);
        const double     *more = pk_session_seconds(s);
        for (int m = 0; m < PK_N_MODULES; m++) out->seconds[m] += more[m];
        out->flops += pk_session_flops(s);
        if (i > 0) out->draft_flops += pk_session_flops(s);
    }
    out->pass_seconds += w->stats.pass_seconds;
    out->draft_seconds += w->stats.draft_seconds;
}

void pk_translator_stats(const pk_translator *t, pk_stats *out) {
    if (!out) return;
    *out = (pk_stats){ 0 };
    if (!t) return;
    *out = (pk_stats){ .texts = t->texts,
                       .repaired = t->repaired,
                       .wrapped = t->wrapped,
                       .skipped = t->skipped,
                       .decoder_weight_bytes = pk_ensemble_decoder_bytes(&t->all),
                       .draft_weight_bytes = pk_ensemble_decoder_bytes(&t->drafter) };
    for (int32_t i = 0; i < t->n_workers; i++) {
        const pk_worker *w = &t->worker[i];
        out->sentences += w->stats.sentences;
        out->source_tokens += w->stats.source_tokens;
        out->target_tokens += w->stats.target_tokens;
        out->passes += w->stats.passes;
        if (w->on.held) out->device_bytes += w->on.held(w->on.self);
        out->asks += w->stats.asks;
        out->sentence_passes += w->stats.sentence_passes;
        out->probe_passes += w->stats.probe_passes;
        out->draft_passes += w->stats.draft_passes;
        add_work(w, out);
    }
}
