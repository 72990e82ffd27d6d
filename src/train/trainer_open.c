/* trainer_open.c - opens everything a training needs before its first update: data, device,
 * weights, memory, and the checkpoint to resume from. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/list.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/option_struct.h"
#include "base/path.h"
#include "recipe/recipe_parts.h"
#include "task/task_list.h"
#include "tensor/panel.h"
#include "train/candidates.h"
#include "train/folder_lock.h"
#include "train/trainer.h"

/* ---- the device ---- */

/* several ranks on one machine have a GPU each */
static void name_device(pk_trainer *t) {
    const char *name = t->recipe.device;
    if (strcmp(name, "cuda") == 0 && t->ranks.n > 1)
        snprintf(t->device, sizeof t->device, "cuda:%d", t->ranks.local);
    else
        snprintf(t->device, sizeof t->device, "%s", name);
}

/* auto: BF16 on a GPU, F32 elsewhere; threads: all cores unless the recipe says otherwise */
static pk_status open_device(pk_trainer *t) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    name_device(t);
    const bool     gpu = strncmp(t->device, "cuda", 4) == 0;
    const bool     half = t->recipe.type == PK_BF16 || (t->recipe.type == PK_CHOICE_AUTO && gpu);
    const pk_dtype type = half ? PK_BF16 : PK_F32;
    t->threads = t->recipe.threads              ? (int32_t)t->recipe.threads
                 : n > 0 && n < PK_MOST_THREADS ? (int32_t)n
                                                : 1;
    PK_TRY(pk_backend_open(t->device, t->threads, type, &t->on));
    if (!t->on.train) PK_FAIL(PK_UNSUPPORTED, "the device \"%s\" cannot train", t->device);
    return pk_ranks_attach(&t->ranks, &t->on);
}

/* ---- data ---- */

static int report_progress(void *user, const char *file, size_t lines) {
    pk_trainer *t = user;
    char        what[256];
    snprintf(what, sizeof what, "reading %.200s: %zu lines", file, lines);
    return t->opt.progress(t->opt.user, what, -1);
}

/* what training and validation text have in common */
static pk_loader_options loader_options(pk_trainer *t, const char *cache) {
    const pk_recipe *r = &t->recipe;
    return (pk_loader_options){ .cache = cache,
                                .source_language = r->source_language,
                                .target_language = r->target_language,
                                .max_length = (int32_t)r->max_length,
                                .max_ratio = r->max_ratio,
                                .drop_duplicates = r->drop_duplicates,
                                .check_language = r->check_language,
                                .sampling = (float)r->sampling,
                                .batch_tokens = (int32_t)r->batch_tokens,
                                .seed = (uint64_t)r->seed,
                                .first = (uint64_t)t->ranks.rank,
                                .step = (uint64_t)t->ranks.n,
                                .threads = t->threads,
                                .progress = t->opt.progress ? report_progress : NULL,
                                .user = t };
}

/* all corpora of the recipe; o: the rest */
static pk_status open_corpora(const pk_trainer *t, pk_loader_options o, pk_loader **out) {
    const pk_recipe *r = &t->recipe;
    pk_corpus_files *files;
    PK_TRY(PK_TAKE(&files, r->source.n));
    pk_status status = PK_OK;
    for (size_t i = 0; i < r->source.n && status == PK_OK; i++) {
        files[i] = (pk_corpus_files){ .source = r->source.item[i],
                                      .target = r->target.item[i],
                                      .weight = 1,
                                      .to = r->data_to.n ? r->data_to.item[i] : NULL };
        if (r->weight.n)
            pk_number_parse(r->weight.item[i], strlen(r->weight.item[i]), &files[i].weight);
        if (r->change.n) status = pk_text_change_find(r->change.item[i], &files[i].change);
    }
    o.corpus = files, o.n_corpora = r->source.n;
    if (status == PK_OK) status = pk_loader_open(&o, t->vocab, out);
    pk_memory_give(files);
    return status;
}

/* rank r of n takes batches r, r + n, r + 2n ... */
static pk_status open_training_text(pk_trainer *t, const char *cache) {
    return open_corpora(t, loader_options(t, cache), &t->loader);
}

/* Candidates are counted over every pair once, in its best segmentation. Rank 0 writes models, so
 * it alone needs them. */
static pk_status count_candidates(pk_trainer *t, const char *cache) {
    pk_loader_options o = loader_options(t, cache);
    pk_loader        *text;
    if (!t->task->lexicon || t->ranks.rank > 0) return PK_OK;
    if (t->opt.resume && pk_path_has(t->recipe.output, PK_CANDIDATES))
        return pk_candidates_read(&t->start, t->recipe.output);
    o.in_order = true;
    o.sampling = 0;
    o.first = 0, o.step = 1;
    PK_TRY(open_corpora(t, o, &text));
    const pk_status status = pk_trainer_count_candidates(t, text);
    pk_loader_close(text);
    PK_TRY(status);
    return pk_candidates_write(&t->start, t->recipe.output);
}

/* Validation text is not filtered, but for its length, and only rank 0 reads it. */
static pk_status open_validation_text(pk_trainer *t, const char *cache) {
    const pk_recipe      *r = &t->recipe;
    const pk_corpus_files files = { .source = r->valid_source,
                                    .target = r->valid_target,
                                    .weight = 1,
                                    .to = r->data_to.n ? r->target_language : NULL };
    pk_loader_options     o = loader_options(t, cache);
    if (!*r->valid_source || t->ranks.rank > 0) return PK_OK;
    o.corpus = &files, o.n_corpora = 1;
    o.in_order = true;
    o.drop_duplicates = o.check_language = false;
    o.max_ratio = 1000;
    o.sampling = 0;
    o.first = 0, o.step = 1;
    return pk_loader_open(&o, t->vocab, &t->valid);
}

/* data.cache, or OUTPUT/cache */
static pk_status open_text(pk_trainer *t) {
    char *cache = NULL;
    if (*t->recipe.cache)
        PK_TRY(pk_memory_copy_text(t->recipe.cache, strlen(t->recipe.cache), &cache));
    else
        PK_TRY(pk_trainer_path(t, "cache", &cache));
    pk_status status = open_training_text(t, cache);
    if (status == PK_OK) status = count_candidates(t, cache);
    if (status == PK_OK) status = open_validation_text(t, cache);
    pk_memory_give(cache);
    return status;
}

/* rank 0 makes the cache file, the others wait and then map it */
static pk_status open_text_in_turn(pk_trainer *t) {
    pk_status status = t->ranks.rank == 0 ? open_text(t) : PK_OK;
    double    failed = status != PK_OK;
    PK_TRY(pk_ranks_share(&t->ranks, &failed, 1));
    if (t->ranks.rank == 0) return status;
    if (failed != 0) PK_FAIL(PK_CANCELLED, "rank 0 could not read the data");
    return open_text(t);
}

/* ---- model ---- */

/* The token that is no class of the loss: a padding that is never output, or a token that the
 * model's conventions leave out of the softmax; -1: none. */
static int32_t never_of(const pk_config *c) {
    for (int32_t i = 0; i < c->n_suppressed; i++)
        if (c->pad >= 0 && c->suppressed[i] == c->pad) return c->pad;
    return c->renormalise && c->n_suppressed == 1 ? c->suppressed[0] : -1;
}

/* Models whose start symbol is their padding have an embedding of zeros for it; training keeps
 * it. */
static bool begins_with_zeros(const pk_network *net, int32_t never) {
    const pk_config *c = &net->config;
    bool             zero = c->start >= 0 && c->start == c->pad && c->pad == never;
    for (int32_t i = 0; zero && net->target_embed.data && i < c->dim; i++)
        zero = pk_weight_get(&net->target_embed, c->start, i) == 0;
    return zero;
}

static pk_status open_start(pk_trainer *t) {
    const pk_config *c = &t->start.network.config;
    PK_TRY(pk_start_model_open(&t->recipe, t->task, t->task_options, &t->start));
    PK_TRY(pk_start_tokens_find(&t->start, t->task, t->task_options, &t->own));
    PK_TRY(pk_start_vocab_open(&t->start, &t->vocab));
    t->maker = (pk_lesson_maker){ .task = t->task,
                                  .options = t->task_options,
                                  .eos = c->eos,
                                  .start = c->start,
                                  .token = t->own.id.id,
                                  .group = t->own.group,
                                  .classes = { pk_config_text(c) },
                                  .max_source = c->max_source,
                                  .max_target = c->max_target };
    for (int32_t i = 0; i < c->n_groups; i++) t->maker.classes[1 + i] = c->group[i].count;
    t->never = never_of(c);
    if (begins_with_zeros(&t->start.network, t->never)) t->maker.start = -1;
    PK_TRY(
        pk_start_tags(&t->start, t->vocab, &t->recipe, &t->maker.source_tag, &t->maker.target_tag));
    /* end symbol, language, and what the task needs behind the target */
    const int32_t besides = 1 + (t->maker.source_tag >= 0) + t->task->beyond;
    const int32_t most = c->max_source < c->max_target ? c->max_source : c->max_target;
    if (t->recipe.max_length + besides > most)
        PK_FAIL(PK_ARGUMENT, "data.max_length is %lld, but the model has positions for %d tokens",
                (long long)t->recipe.max_length, most - besides);
    return PK_OK;
}

/* fresh weights, or those of the model that the recipe names under init */
static pk_status open_parameters(pk_trainer *t) {
    const pk_recipe            *r = &t->recipe;
    const pk_parameters_options o = { .freeze = (const char *const *)r->freeze.item,
                                      .n_freeze = r->freeze.n,
                                      .learn_positions = r->positions == PK_POSITIONS_LEARNED,
                                      .learn_output_bias = r->output_bias,
                                      .drafter = *r->verifier != 0,
                                      .average = r->average > 0,
                                      .seed = (uint64_t)r->seed };
    PK_TRY(pk_parameters_open(&t->on, &t->start.network.config, &o, &t->p));
    if (*r->init || *r->verifier) PK_TRY(pk_parameters_load(&t->p, &t->start));
    t->dropout = (pk_dropout){ .embedding = (float)r->dropout,
                               .residual = (float)r->dropout,
                               .attention = (float)r->attention_dropout,
                               .activation = (float)r->activation_dropout };
    return PK_OK;
}

/* the largest batch of training and validation text */
static void find_most(const pk_trainer *t, pk_pass_limits *most) {
    pk_pass_limits valid = { 0 };
    pk_loader_most(t->loader, &most->source_rows, &most->target_rows, &most->sentences);
    if (t->valid)
        pk_loader_most(t->valid, &valid.source_rows, &valid.target_rows, &valid.sentences);
    if (valid.source_rows > most->source_rows) most->source_rows = valid.source_rows;
    if (valid.target_rows > most->target_rows) most->target_rows = valid.target_rows;
    if (valid.sentences > most->sentences) most->sentences = valid.sentences;
}

/* Memory for the largest lesson. A task may make more rows than there are tokens: `most` says how
 * many rows it makes of a token and of a sentence. */
static pk_status open_pass(pk_trainer *t) {
    pk_pass_limits most;
    int32_t        per_token = 1, per_sentence = 0;
    const int32_t  tag = t->maker.source_tag >= 0;
    find_most(t, &most);
    if (t->task->most) t->task->most(t->task_options, &per_token, &per_sentence);
    most.longest_segment = ((int32_t)t->recipe.max_length + 1 + tag) * per_token + per_sentence;
    most.source_rows += tag * most.sentences;
    most.target_rows =
        (most.target_rows + tag * most.sentences) * per_token + per_sentence * most.sentences;
    return pk_train_pass_open(&t->on, &t->p, &most, pk_task_looks_twice(t->task, t->task_options),
                              &t->pass);
}

/* ---- resuming ---- */

/* Restores the device's counters and the position in the data. Rank 0 gets the sums of all
 * ranks. */
static pk_status restore(pk_trainer *t) {
    const pk_train_state *s = &t->state;
    const bool            first = t->ranks.rank == 0;
    const pk_readings     here = { .sums = { s->loss, s->nll, s->weight, s->correct },
                                   .skipped = s->skipped };
    const pk_readings     other = { .skipped = s->skipped };
    const int64_t         ranks = t->ranks.n;
    if (s->batches % ranks)
        PK_FAIL(PK_ARGUMENT, "%lld batches cannot be shared by %lld ranks: go on with fewer",
                (long long)s->batches, (long long)ranks);
    PK_TRY(pk_device_put(&t->on, t->pass.train, first ? &here : &other, sizeof here));
    return pk_loader_seek(t->loader, (uint64_t)(s->batches / ranks));
}

/* Without --resume a folder with checkpoints is refused: new ones would replace them. */
static pk_status resume(pk_trainer *t) {
    const char *output = t->recipe.output;
    size_t      n;
    bool        found = false;
    PK_TRY(pk_checkpoint_count(output, &n));
    if (n && !t->opt.resume)
        PK_FAIL(PK_ARGUMENT,
                "%s holds checkpoints of an earlier training: go on with --resume, or give another "
                "output folder",
                output);
    if (t->opt.resume)
        PK_TRY(pk_checkpoint_resume(output, &t->p, &t->state, &t->recipe, &found, &t->text));
    if (t->opt.resume && !found)
        pk_buffer_print(&t->text, "no checkpoint in %s yet: from the beginning\n", output);
    return found ? restore(t) : PK_OK;
}

/* bytes taken on the device; on the host: weights, gradient, moments, and what passes need */
static double bytes_taken(const pk_trainer *t) {
    const pk_parameters *p = &t->p;
    if (t->on.held) return (double)t->on.held(t->on.self);
    const size_t floats = p->n_all + (p->average ? 4 : 3) * p->n;
    return (double)(t->pass.bytes + floats * sizeof(float));
}

/* what users see before the first update */
static void describe(pk_trainer *t) {
    const pk_parameters *p = &t->p;
    double               learning = 0;
    for (size_t i = 0; i < p->n_ranges; i++) learning += (double)p->range[i].n;
    pk_buffer_add_text(&t->text, pk_loader_report(t->loader));
    if (t->valid) pk_buffer_add_text(&t->text, pk_loader_report(t->valid));
    pk_buffer_print(&t->text, "%.2f million weights, %.2f million of them learn; %s, %.0f MiB\n",
                    (double)p->n_all / 1e6, learning / 1e6, t->device, bytes_taken(t) / (1 << 20));
}

/* In this order: what is cheap to check comes first, what takes minutes comes last. */
static pk_status open_parts(pk_trainer *t, const char *recipe) {
    PK_TRY(pk_recipe_check(&t->recipe));
    /* what a drafter drafts is checked: the BLEU of its model is not its own */
    if (*t->recipe.verifier) t->recipe.valid_bleu = false;
    t->schedule = pk_schedule_of(&t->recipe);
    PK_TRY(pk_task_parse(t->recipe.task, &t->task, &t->task_options));
    if (*t->recipe.alignment && !t->task->lexicon)
        PK_FAIL(PK_ARGUMENT,
                "data.alignment is for tasks whose models have candidates, and %s is none",
                t->task->name);
    PK_TRY(open_start(t));
    PK_TRY(pk_trainer_check_outputs(t, recipe));
    PK_TRY(pk_ranks_open(&t->ranks));
    PK_TRY(pk_path_make_folder(t->recipe.output));
    if (t->ranks.rank == 0) PK_TRY(pk_folder_lock(t->recipe.output, &t->lock));
    PK_TRY(open_device(t));
    PK_TRY(open_text_in_turn(t));
    PK_TRY(open_parameters(t));
    PK_TRY(open_pass(t));
    PK_TRY(resume(t));
    PK_TRY(pk_trainer_check_validation(t));
    if (t->ranks.rank == 0) PK_TRY(pk_train_log_open(t->recipe.output, t->state.update, &t->log));
    describe(t);
    t->tokens_since = t->state.seconds;
    t->over = pk_schedule_share(&t->schedule, t->state.update, t->state.seconds / 60) >= 1;
    t->last.loss = t->last.nll = t->last.accuracy = t->last.gradient = NAN;
    return pk_buffer_status(&t->text);
}

pk_status pk_trainer_open(const char *recipe, const pk_trainer_options *opt, pk_trainer **out) {
    pk_trainer        *t;
    pk_trainer_options o;
    PK_NEED(out);
    *out = NULL;
    PK_READ_OPTIONS(pk_trainer_options, opt, &o);
    if (o.n_set) PK_NEED(o.set);
    for (size_t i = 0; i < o.n_set; i++) PK_NEED(o.set[i]);
    PK_TRY(PK_TAKE(&t, 1));
    t->lock = -1;
    t->opt = o;
    pk_status status = pk_recipe_read(recipe, t->opt.set, t->opt.n_set, &t->recipe);
    if (status == PK_OK) status = open_parts(t, recipe);
    t->failed = status != PK_OK;
    if (t->failed)
        pk_trainer_close(t);
    else
        *out = t;
    return status;
}

/* users before what they use: log and pass first, then weights, device, data */
void pk_trainer_close(pk_trainer *t) {
    if (!t) return;
    pk_train_log_close(t->log);
    pk_train_pass_close(&t->pass);
    pk_parameters_close(&t->p);
    pk_ranks_close(&t->ranks, !t->failed);
    pk_backend_close(&t->on);
    pk_loader_close(t->loader);
    pk_loader_close(t->valid);
    pk_lesson_free(&t->lesson);
    pk_vocab_close(t->vocab);
    pk_ids_free(&t->own.id);
    pk_model_data_close(&t->start);
    pk_folder_unlock(t->lock);
    pk_memory_give(t->task_options);
    pk_recipe_free(&t->recipe);
    pk_buffer_free(&t->text);
    pk_memory_give(t);
}
