/* loader.c - threads that prepare batches ahead, in a ring of slots given out in order.
 *
 * Ids are copied by one thread; sampled segmentations, which cost more, are drawn by as many as the
 * options say, each batch from keys of its own number. A worker claims the next slot and the next
 * batch of the plan together (under `turn`), then fills the slot while others claim theirs.
 * Invariant: slots n_released .. n_claimed - 1 are in use, oldest first; `turn` is taken before
 * `lock`; corpora and settings never change once the loader is open. */
#include "data/loader.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "data/batch_fill.h"

enum { SLOTS = 8, MOST_WEIGHT = 1000, ERROR_TEXT = 512 };

typedef struct slot {
    pk_filled batch;
    double    after;  /* epochs finished behind this batch */
    bool      ready;  /* filled, or failed; the caller may have it */
    pk_status status; /* PK_CANCELLED: there are no more */
    char      error[ERROR_TEXT];
} slot;

struct pk_loader {
    pk_batch_plan_options settings;
    pk_batch_filler       filler;
    uint64_t              first, step;
    pk_corpus            *corpus;
    double               *weight;
    size_t                n_corpora;
    pk_buffer             report;
    /* under `turn` while threads run */
    pthread_mutex_t turn;
    pk_batch_plan   plan;
    uint64_t        epoch, number; /* of the plan; of the next batch to prepare */
    uint64_t       *base;          /* number of each known epoch's first batch */
    size_t          n_base, base_room;
    bool            finished; /* nothing more to claim */
    /* under `lock` */
    pthread_mutex_t lock;
    pthread_cond_t  moved;
    slot            slot[SLOTS];
    uint64_t        n_claimed, n_released;
    bool            stop;
    /* the caller's */
    pthread_t *thread;
    size_t     n_threads, n_running;
    bool       held; /* the oldest slot is with the caller */
    double     position;
};

/* ---- where in the sequence ---- */
/* batch numbers go on from epoch to epoch; an epoch's first number is stored once it is known */
static pk_status add_base(pk_loader *l, uint64_t base) {
    PK_TRY(PK_RESERVE(&l->base, l->n_base + 1, &l->base_room));
    l->base[l->n_base++] = base;
    return PK_OK;
}

/* plans an epoch; its number of batches gives the next epoch's first number */
static pk_status make_plan(pk_loader *l, uint64_t epoch) {
    l->epoch = UINT64_MAX; /* none, should this fail */
    PK_TRY(pk_batch_plan_make(&l->plan, &l->settings, epoch));
    if (epoch + 1 == l->n_base) PK_TRY(add_base(l, l->base[epoch] + l->plan.n_batches));
    l->epoch = epoch;
    return PK_OK;
}

/* Makes the plan of the epoch that batch `number` lies in. Where epochs begin is known only once
 * those before have been planned. PK_CANCELLED: there is no such batch. */
static pk_status locate(pk_loader *l, uint64_t number) {
    uint64_t epoch = 0;
    while (epoch + 1 < l->n_base && l->base[epoch + 1] <= number) epoch++;
    if (l->settings.in_order && epoch > 0) PK_FAIL(PK_CANCELLED, "there are no more batches");
    while (l->epoch != epoch || number >= l->base[epoch + 1]) {
        if (l->epoch != epoch) PK_TRY(make_plan(l, epoch));
        if (number >= l->base[epoch + 1]) epoch++;
        if (l->settings.in_order && epoch > 0) PK_FAIL(PK_CANCELLED, "there are no more batches");
    }
    return PK_OK;
}

/* ---- the threads ---- */
/* the next free slot, once there is one; NULL: stop */
static slot *claim(pk_loader *l) {
    pthread_mutex_lock(&l->lock);
    while (!l->stop && l->n_claimed - l->n_released == SLOTS)
        pthread_cond_wait(&l->moved, &l->lock);
    slot *s = l->stop ? NULL : &l->slot[l->n_claimed++ % SLOTS];
    pthread_mutex_unlock(&l->lock);
    return s;
}

/* the next batch of the plan goes to this slot */
static pk_status assign(pk_loader *l, slot *s) {
    PK_TRY(locate(l, l->number));
    const size_t      i = (size_t)(l->number - l->base[l->epoch]);
    size_t            n;
    const pk_planned *pair = pk_batch_plan_batch(&l->plan, i, &n);
    PK_TRY(pk_filled_assign(&s->batch, l->number, pair, n));
    s->after = (double)l->epoch + (double)(i + 1) / (double)l->plan.n_batches;
    l->number += l->step;
    return PK_OK;
}

/* the slot is ready for the caller, with its batch or its failure */
static void publish(pk_loader *l, slot *s, pk_status status) {
    pthread_mutex_lock(&l->lock);
    s->status = status;
    if (status != PK_OK) { /* the text lives in this thread alone */
        memset(s->error, 0, sizeof s->error);
        strncpy(s->error, pk_last_error(), sizeof s->error - 1);
    }
    s->ready = true;
    pthread_cond_broadcast(&l->moved);
    pthread_mutex_unlock(&l->lock);
}

/* a thread: claim a slot and the next batch in one step, then fill it while others go on */
static void *work(void *user) {
    pk_loader *l = user;
    for (;;) {
        pthread_mutex_lock(&l->turn);
        slot     *s = l->finished ? NULL : claim(l);
        pk_status status = s ? assign(l, s) : PK_OK;
        if (status != PK_OK) l->finished = true;
        pthread_mutex_unlock(&l->turn);
        if (!s) return NULL;
        if (status == PK_OK) status = pk_filled_make(&s->batch, &l->filler);
        publish(l, s, status);
        if (status != PK_OK) return NULL;
    }
}

/* wakes all threads and waits for their end */
static void stop(pk_loader *l) {
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->moved);
    pthread_mutex_unlock(&l->lock);
    while (l->n_running) pthread_join(l->thread[--l->n_running], NULL);
}

/* with the batch of that number next */
static pk_status start(pk_loader *l, uint64_t number) {
    const pk_status status = locate(l, number);
    if (status != PK_OK && status != PK_CANCELLED) return status; /* the end is found in its turn */
    if (status == PK_OK)
        l->position =
            (double)l->epoch + (double)(number - l->base[l->epoch]) / (double)l->plan.n_batches;
    l->number = number;
    l->n_claimed = l->n_released = 0;
    l->stop = l->finished = l->held = false;
    for (int i = 0; i < SLOTS; i++) l->slot[i].ready = false;
    while (l->n_running < l->n_threads &&
           pthread_create(&l->thread[l->n_running], NULL, work, l) == 0)
        l->n_running++;
    if (l->n_running == 0) PK_FAIL(PK_NO_MEMORY, "cannot start a thread for loading");
    return PK_OK;
}

/* ---- opening ---- */
static pk_status check_options(const pk_loader_options *o) {
    if (o->n_corpora == 0) PK_FAIL(PK_ARGUMENT, "no data: give data.source and data.target");
    if (o->max_length < 1 || o->max_length > PK_LONGEST_SENTENCE)
        PK_FAIL(PK_ARGUMENT, "data.max_length is %d: give 1 to %d", o->max_length,
                PK_LONGEST_SENTENCE);
    if (o->batch_tokens < o->max_length + 1)
        PK_FAIL(
            PK_ARGUMENT,
            "data.batch_tokens is %d, but a sentence may have %d tokens and an end: raise it or "
            "lower data.max_length",
            o->batch_tokens, o->max_length);
    for (size_t i = 0; i < o->n_corpora; i++)
        if (!(o->corpus[i].weight >= 0 && o->corpus[i].weight <= MOST_WEIGHT))
            PK_FAIL(PK_ARGUMENT, "data.weight of %s is %g: give 0 to %d", o->corpus[i].source,
                    o->corpus[i].weight, MOST_WEIGHT);
    if (o->check_language && (!o->source_language || !o->source_language[0] ||
                              !o->target_language || !o->target_language[0]))
        PK_FAIL(PK_ARGUMENT, "data.check_language needs to know the languages: give from and to");
    return PK_OK;
}

/* one corpus after the other; each is encoded where its cache does not exist or does not fit */
static pk_status open_corpora(pk_loader *l, const pk_loader_options *o, const pk_vocab *vocab,
                              pk_filter *filter) {
    pk_corpus_request q = { .cache = o->cache,
                            .source_language = o->source_language,
                            .target_language = o->target_language,
                            .vocab = vocab,
                            .keep_text = o->sampling > 0,
                            .threads = o->threads,
                            .progress = o->progress,
                            .user = o->user };
    if (o->check_language) {
        PK_TRY(pk_language_check_open(o->source_language, &filter->source));
        PK_TRY(pk_language_check_open(o->target_language, &filter->target));
    }
    q.filter = *filter;
    PK_TRY(PK_TAKE(&l->corpus, o->n_corpora));
    PK_TRY(PK_TAKE(&l->weight, o->n_corpora));
    for (; l->n_corpora < o->n_corpora; l->n_corpora++) {
        const pk_corpus_files *files = &o->corpus[l->n_corpora];
        q.source = files->source, q.target = files->target;
        q.change = files->change, q.to = files->to;
        PK_TRY(pk_corpus_open(&q, &l->corpus[l->n_corpora]));
        l->weight[l->n_corpora] = files->weight;
    }
    return PK_OK;
}

/* the report of what was read and left out, corpus by corpus */
static pk_status describe(pk_loader *l, const pk_loader_options *o) {
    pk_buffer name = { 0 };
    for (size_t i = 0; i < l->n_corpora; i++) {
        pk_buffer_clear(&name);
        pk_buffer_print(&name, "%s and %s", o->corpus[i].source, o->corpus[i].target);
        if (o->corpus[i].change)
            pk_buffer_print(&name, ", %s", pk_text_change_word(o->corpus[i].change));
        if (o->corpus[i].to) pk_buffer_print(&name, ", to %s", o->corpus[i].to);
        if (!o->in_order && l->weight[i] != 1) pk_buffer_print(&name, ", weight %g", l->weight[i]);
        if (!name.failed) pk_filter_report(&l->corpus[i].counts, name.data, &l->report);
    }
    const pk_status status = pk_buffer_status(&name);
    pk_buffer_free(&name);
    return status == PK_OK ? pk_buffer_status(&l->report) : status;
}

/* all pairs were left out: says what for, mostly */
static pk_status nothing_kept(const pk_loader *l) {
    uint64_t          n[PK_N_FILTER_VERDICTS] = { 0 }, read = 0;
    pk_filter_verdict most = PK_PAIR_KEPT;
    for (size_t i = 0; i < l->n_corpora; i++)
        for (int v = 0; v < PK_N_FILTER_VERDICTS; v++) n[v] += l->corpus[i].counts.n[v];
    for (int v = 0; v < PK_N_FILTER_VERDICTS; v++) {
        read += n[v];
        if (n[v] > n[most]) most = (pk_filter_verdict)v;
    }
    PK_FAIL(PK_FORMAT, "of %llu sentence pairs the filters left none; %llu of them: %s",
            (unsigned long long)read, (unsigned long long)n[most], pk_filter_verdict_text(most));
}

/* there must be pairs, and fewer than 32 bits can number */
static pk_status check_pairs(const pk_loader *l) {
    double each = 0;
    size_t all = 0;
    for (size_t i = 0; i < l->n_corpora; i++) {
        all += l->corpus[i].n;
        each += (l->settings.in_order ? 1 : l->weight[i]) * (double)l->corpus[i].n;
    }
    if (all == 0) return nothing_kept(l);
    if (each < 1) PK_FAIL(PK_ARGUMENT, "an epoch would be empty: raise data.weight");
    if (all > UINT32_MAX || each > UINT32_MAX - (double)l->n_corpora)
        PK_FAIL(PK_UNSUPPORTED, "more than 4 billion pairs in an epoch: lower data.weight");
    return PK_OK;
}

/* corpora first, then the settings that depend on them, then the threads */
static pk_status open_all(pk_loader *l, const pk_loader_options *o, const pk_vocab *vocab) {
    pk_filter filter = { .max_length = o->max_length,
                         .max_ratio = o->max_ratio,
                         .drop_duplicates = o->drop_duplicates };
    pk_status status = open_corpora(l, o, vocab, &filter);
    pk_language_check_close(filter.source);
    pk_language_check_close(filter.target);
    PK_TRY(status);
    PK_TRY(describe(l, o));
    l->settings = (pk_batch_plan_options){ .corpus = l->corpus,
                                           .weight = l->weight,
                                           .n_corpora = l->n_corpora,
                                           .max_length = o->max_length,
                                           .batch_tokens = o->batch_tokens,
                                           .seed = o->seed,
                                           .in_order = o->in_order,
                                           .stretch = 1 };
    PK_TRY(check_pairs(l));
    l->filler = (pk_batch_filler){ .corpus = l->corpus,
                                   .n_corpora = l->n_corpora,
                                   .vocab = vocab,
                                   .sampling = o->sampling,
                                   .max_length = o->max_length,
                                   .batch_tokens = o->batch_tokens,
                                   .seed = o->seed };
    if (o->sampling > 0) PK_TRY(pk_batch_stretch(&l->filler, &l->settings.stretch));
    l->n_threads = o->sampling > 0 && o->threads > 1 ? (size_t)o->threads : 1;
    PK_TRY(PK_TAKE(&l->thread, l->n_threads));
    PK_TRY(add_base(l, 0));
    return start(l, l->first);
}

pk_status pk_loader_open(const pk_loader_options *o, const pk_vocab *vocab, pk_loader **out) {
    pk_loader *l;
    *out = NULL;
    PK_TRY(check_options(o));
    PK_TRY(PK_TAKE(&l, 1));
    pthread_mutex_init(&l->turn, NULL);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->moved, NULL);
    l->first = o->first;
    l->step = o->step ? o->step : 1;
    l->epoch = UINT64_MAX;
    const pk_status status = open_all(l, o, vocab);
    if (status != PK_OK)
        pk_loader_close(l);
    else
        *out = l;
    return status;
}

void pk_loader_close(pk_loader *l) {
    if (!l) return;
    stop(l);
    for (int i = 0; i < SLOTS; i++) pk_filled_free(&l->slot[i].batch);
    for (size_t i = 0; i < l->n_corpora; i++) pk_corpus_close(&l->corpus[i]);
    pk_batch_plan_free(&l->plan);
    pk_buffer_free(&l->report);
    pk_memory_give(l->base);
    pk_memory_give(l->corpus);
    pk_memory_give(l->weight);
    pk_memory_give(l->thread);
    pthread_mutex_destroy(&l->turn);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->moved);
    pk_memory_give(l);
}

/* ---- using ---- */
/* the oldest slot once it is ready; the one the caller had is free again */
static slot *next_slot(pk_loader *l) {
    pthread_mutex_lock(&l->lock);
    if (l->held) {
        l->slot[l->n_released++ % SLOTS].ready = false;
        pthread_cond_broadcast(&l->moved);
    }
    slot *s = &l->slot[l->n_released % SLOTS];
    while (!s->ready) pthread_cond_wait(&l->moved, &l->lock);
    l->held = s->status == PK_OK; /* a failure stays where it is and is found again */
    pthread_mutex_unlock(&l->lock);
    return s;
}

pk_status pk_loader_next(pk_loader *l, pk_batch *out) {
    *out = (pk_batch){ 0 };
    if (l->n_running == 0) PK_FAIL(PK_ARGUMENT, "the loader stopped when a seek failed");
    const slot *s = next_slot(l);
    if (s->status != PK_OK) return pk_fail_with(s->status, "%s", s->error);
    const pk_filled *b = &s->batch;
    *out = (pk_batch){ (int32_t)b->n, b->ids[0].id, b->ids[1].id, b->first[0].id, b->first[1].id };
    l->position = s->after;
    return PK_OK;
}

/* Batches are numbered and each depends on its number alone: nothing needs to be replayed. */
pk_status pk_loader_seek(pk_loader *l, uint64_t count) {
    stop(l);
    return start(l, l->first + count * l->step);
}

double pk_loader_epoch(const pk_loader *l) { return l->position; }

/* Rows of a side, or sentences (side 2), of one batch of everything there is; the budget where that
 * is more, or where segmentations vary. */
static int32_t most_of(const pk_loader *l, int side, int32_t budget) {
    double rows = 0;
    for (size_t c = 0; c < l->n_corpora; c++) {
        const pk_corpus *corpus = &l->corpus[c];
        const double     times = l->settings.in_order ? 1 : ceil(l->weight[c]);
        if (corpus->kind == PK_CORPUS_TEXT) return budget;
        for (size_t i = 0; i < corpus->n && rows < budget; i++)
            rows += times * (side < 2 ? pk_corpus_length(corpus, i, side) + 1 : 1);
    }
    return rows < budget ? (int32_t)rows : budget;
}

/* the shortest sentence has a token and an end */
void pk_loader_most(const pk_loader *l, int32_t *source_rows, int32_t *target_rows,
                    int32_t *sentences) {
    *source_rows = most_of(l, 0, l->settings.batch_tokens);
    *target_rows = most_of(l, 1, l->settings.batch_tokens);
    *sentences = most_of(l, 2, l->settings.batch_tokens / 2);
}

const char *pk_loader_report(const pk_loader *l) { return l->report.data; }
