/* translator.c - opening and closing: models, strategy, workers and their queue. What a call does is
 * in call.c. */
#include "engine/translator_parts.h"

#include <stdio.h>
#include <unistd.h>

#include "base/option_struct.h"
#include "engine/devices.h"

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
    if (o->max_waiting < 0) PK_FAIL(PK_ARGUMENT, "max_waiting must be 0 or more");
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

/* beam search that repeats no four tokens; models that cannot be decoded so are left as they are */
static pk_status open_again(pk_translator *t, const pk_translator_options *o) {
    enum { BEAM = 4 };
    char               spec[64];
    const pk_strategy *by = t->plan.strategy;
    if (!o->retry_loops || (by->alone && by->alone(t->options))) return PK_OK;
    const int32_t size = t->n_best > BEAM ? t->n_best : BEAM;
    snprintf(spec, sizeof spec, "beam:size=%d,no_repeat_ngram=4", size);
    t->again = t->plan;
    PK_TRY(pk_strategy_parse(spec, &t->again.strategy, &t->again_options));
    t->again.options = t->again_options;
    by = t->again.strategy;
    bool able = pk_model_check_task(t->model, by) == PK_OK;
    for (size_t i = 0; i < o->n_ensemble; i++)
        able = able && pk_model_check_task(o->ensemble[i], by) == PK_OK;
    if (able) t->plan.again = &t->again;
    return PK_OK;
}

static pk_status open_drafter(pk_translator *t, const pk_model *drafter) {
    PK_TRY(pk_strategy_check_drafter(t->plan.strategy, t->options, drafter != NULL));
    if (!drafter) return PK_OK;
    PK_TRY(pk_model_check_drafter_task(drafter, t->plan.strategy));
    return pk_models_drafter(t->model, drafter, &t->joined, &t->drafter);
}

enum { MOST_WORKERS = 8 };

/* A worker per thread wastes least when there are many sentences. All threads on one sentence give
 * the lowest latency. Unless the user sets the number of workers, both are possible, and what is in
 * the queue decides. */
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

/* what is looked up beside the model: candidates, shortlists, and links where they are wanted */
static pk_status open_lookup(pk_translator *t, const pk_translator_options *o, int32_t max_source,
                             bool gpu) {
    const pk_lookup_request look = { .model = t->model,
                                     .path = o->lexicon,
                                     .by = t->plan.strategy,
                                     .shortlist = o->shortlist != 0,
                                     .drafts = t->drafter.n && !gpu,
                                     .of_drafter = o->drafter ? &o->drafter->data.lexicon : NULL,
                                     .most_given = max_source + t->all.config.max_target };
    PK_TRY(pk_lookup_open(&look, &t->lookup));
    if (!o->alignment || !o->lexicon) return PK_OK;
    PK_TRY(pk_linker_open(&t->lookup.saved, &t->linker));
    t->plan.linker = t->again.linker = &t->linker;
    return PK_OK;
}

/* as many as were chosen; worker i works on device i modulo their number */
static pk_status open_each_worker(pk_translator *t, const pk_devices *devices,
                                  pk_worker_options *w) {
    PK_TRY(PK_TAKE(&t->worker, (size_t)t->n_workers));
    for (int32_t i = 0; i < t->n_workers; i++) {
        w->backend = devices->name[i % devices->n];
        w->threads = i == 0 && t->lends_threads ? t->threads : t->threads_each;
        PK_TRY(pk_worker_open(&t->worker[i], &t->all, w));
        t->worker[i].number = i;
    }
    return PK_OK;
}

static pk_status open_workers(pk_translator *t, const pk_translator_options *o) {
    const pk_config *c = &t->all.config;
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
    w.max_source = o->max_input && o->max_input < c->max_source ? o->max_input : c->max_source;
    t->reader.max_source = w.max_source;
    PK_TRY(open_lookup(t, o, w.max_source, devices.gpu));
    w.lexicon = t->lookup.lexicon;
    if (t->lookup.shortlist.always) w.shortlist[0] = &t->lookup.shortlist;
    if (t->lookup.drafts.always) w.shortlist[1] = &t->lookup.drafts;
    if (devices.gpu)
        choose_gpu_workers(t, o->workers, devices.n, w.batch);
    else
        choose_workers(t, o->workers, or_default(o->threads, cores()), w.batch);
    return open_each_worker(t, &devices, &w);
}

static pk_status open_queue(pk_translator *t, const pk_translator_options *o) {
    const pk_queue_options options = { .max_waiting = o->max_waiting,
                                       .n_workers = t->n_workers,
                                       .first_alone = t->lends_threads };
    PK_TRY(pk_queue_open(&t->queue, &options));
    t->has_queue = true;
    return o->cache_bytes ? pk_sentence_cache_open(o->cache_bytes, &t->cache) : PK_OK;
}

pk_status pk_translator_check_files(const pk_translator *t) {
    for (size_t i = 0; i < t->n_members; i++) PK_TRY(pk_model_check_file(t->member[i]));
    return t->lookup.saved.align.map.data ? pk_align_model_check_file(&t->lookup.saved.align)
                                          : PK_OK;
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
    PK_TRY(open_again(t, o));
    PK_TRY(open_drafter(t, o->drafter));
    PK_TRY(open_workers(t, o));
    PK_TRY(open_queue(t, o));
    t->member[t->n_members++] = t->model;
    for (size_t i = 0; i < o->n_ensemble; i++) t->member[t->n_members++] = o->ensemble[i];
    if (o->drafter) t->member[t->n_members++] = o->drafter;
    return pk_translator_check_files(t);
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
    if (pthread_mutex_init(&t->starting, NULL)) {
        pk_memory_give(t);
        PK_FAIL(PK_NO_MEMORY, "no memory for a lock");
    }
    pk_errands_init(&t->errands);
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
    pk_translator_stop(t);
    pk_errands_free(&t->errands);
    if (t->has_queue) pk_queue_close(&t->queue);
    pk_sentence_cache_close(t->cache);
    pthread_mutex_destroy(&t->starting);
    for (int32_t i = 0; t->worker && i < t->n_workers; i++) pk_worker_close(&t->worker[i]);
    pk_memory_give(t->worker);
    pk_memory_give(t->options);
    pk_memory_give(t->scoring_options);
    pk_memory_give(t->again_options);
    pk_memory_give(t->added);
    pk_splitter_close(t->reader.splitter);
    pk_splitter_close(t->reader.target_splitter);
    pk_ensemble_close(&t->all);
    pk_joined_close(&t->joined);
    pk_linker_close(&t->linker);
    pk_lookup_close(&t->lookup);
    pk_memory_give(t);
}

/* ---- what was done ---- */

/* a worker's part of it */
static void add_work(pk_stats *out, const pk_stats *seen) {
    for (int m = 0; m < PK_N_MODULES; m++) out->seconds[m] += seen->seconds[m];
    out->sentences += seen->sentences;
    out->source_tokens += seen->source_tokens;
    out->target_tokens += seen->target_tokens;
    out->passes += seen->passes;
    out->asks += seen->asks;
    out->sentence_passes += seen->sentence_passes;
    out->probe_passes += seen->probe_passes;
    out->draft_passes += seen->draft_passes;
    out->sentence_drafts += seen->sentence_drafts;
    out->looped += seen->looped;
    out->mended += seen->mended;
    out->device_bytes += seen->device_bytes;
    out->flops += seen->flops;
    out->draft_flops += seen->draft_flops;
    out->pass_seconds += seen->pass_seconds;
    out->draft_seconds += seen->draft_seconds;
}

void pk_translator_stats(const pk_translator *given, pk_stats *out) {
    if (!out) return;
    *out = (pk_stats){ 0 };
    if (!given) return;
    pk_translator *t = (pk_translator *)given; /* its lock is taken */
    *out = (pk_stats){ .texts = t->counts.texts,
                       .repaired = t->counts.repaired,
                       .spans = t->counts.kept,
                       .spans_lost = t->counts.lost,
                       .wrapped = t->counts.wrapped,
                       .skipped = t->counts.skipped,
                       .cached = t->counts.cached,
                       .decoder_weight_bytes = pk_ensemble_decoder_bytes(&t->all),
                       .draft_weight_bytes = pk_ensemble_decoder_bytes(&t->drafter) };
    pthread_mutex_lock(&t->queue.lock);
    out->waiting = t->queue.n_waiting;
    for (int32_t i = 0; i < t->n_workers; i++) add_work(out, &t->worker[i].seen);
    pthread_mutex_unlock(&t->queue.lock);
}
