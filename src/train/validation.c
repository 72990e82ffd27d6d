/* validation.c - measures the present model on text that it does not learn from: its loss, and BLEU
 * and chrF of translations by the decoder.
 *
 * Where there is a moving average of the weights, that is what is measured. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text_reader.h"
#include "train/trainer.h"

/* ---- loss ---- */

/* Replaces the weights by their average until restore_weights(). Where weights are rounded copies
 * of the master weights, the master weights are not touched. Where both are the same memory, `kept`
 * holds a copy of them. */
static pk_status use_average(pk_trainer *t, float **kept) {
    pk_parameters *p = &t->p;
    *kept = NULL;
    if (!p->average) return PK_OK;
    if (p->weights != (void *)p->master) {
        t->on.train->round_weights(t->on.self, p->weights, p->average, p->n);
        return PK_OK;
    }
    PK_TRY(PK_TAKE(kept, 2 * p->n));
    PK_TRY(pk_parameters_get(p, p->master, *kept, p->n));
    PK_TRY(pk_parameters_get(p, p->average, *kept + p->n, p->n));
    return pk_parameters_put(p, p->master, *kept + p->n, p->n);
}

/* the weights as they were */
static pk_status restore_weights(pk_trainer *t, float *kept) {
    pk_parameters *p = &t->p;
    if (!p->average) return PK_OK;
    if (p->weights != (void *)p->master) {
        pk_parameters_round(p);
        return PK_OK;
    }
    const pk_status status = kept ? pk_parameters_put(p, p->master, kept, p->n) : PK_OK;
    pk_memory_give(kept);
    return status;
}

/* the whole validation text through the network, without gradients; sums stay on the device */
static pk_status measure_all(pk_trainer *t) {
    const pk_pass_options o = { .smoothing = (float)t->recipe.smoothing,
                                .never = t->never,
                                .measure = true };
    pk_batch              batch;
    pk_status             status;
    /* the same lessons every time, of the final mixture of tasks: losses compare */
    t->maker.key = pk_trainer_key(t, 0, 0, 1);
    t->maker.share = 1;
    PK_TRY(pk_loader_seek(t->valid, 0));
    while ((status = pk_loader_next(t->valid, &batch)) == PK_OK) {
        PK_TRY(pk_lesson_make(&t->lesson, &t->maker, &batch, NULL));
        PK_TRY(pk_train_pass_ready(&t->pass, NULL, NULL));
        PK_TRY(pk_train_pass_compute(&t->pass, &t->lesson, &o));
    }
    return status == PK_CANCELLED ? PK_OK : status; /* that is the end of the text */
}

/* negative log-likelihood per token, without label smoothing */
static pk_status measure_loss(pk_trainer *t) {
    pk_readings here;
    float      *kept;
    t->on.train->clear(t->on.self, t->pass.valid, sizeof *t->pass.valid);
    pk_status status = use_average(t, &kept);
    if (status == PK_OK) status = measure_all(t);
    const pk_status back = restore_weights(t, kept);
    PK_TRY(status);
    PK_TRY(back);
    PK_TRY(pk_device_get(&t->on, &here, t->pass.valid, sizeof here));
    if (here.sums.weight <= 0) PK_FAIL(PK_FORMAT, "nothing is left of the validation text");
    t->state.valid_loss = here.sums.nll / here.sums.weight;
    return PK_OK;
}

/* ---- BLEU and chrF ---- */

/* all lines of a text file, each a copy */
typedef struct lines {
    pk_text *text;
    size_t   n, room;
} lines;

static void free_lines(lines *l) {
    for (size_t i = 0; i < l->n; i++) pk_memory_give((char *)l->text[i].data);
    pk_memory_give(l->text);
}

static pk_status add_line(lines *l, const char *line, size_t size) {
    char *copy;
    PK_TRY(PK_RESERVE(&l->text, l->n + 1, &l->room));
    PK_TRY(pk_memory_copy_text(line, size, &copy));
    l->text[l->n++] = (pk_text){ copy, size };
    return PK_OK;
}

/* the text itself, not the cache: translations are compared as text */
static pk_status read_lines(const char *path, lines *out) {
    pk_text_reader *r;
    const char     *line;
    size_t          size;
    PK_TRY(pk_text_reader_open(path, &r));
    pk_status status = pk_text_reader_next(r, &line, &size);
    while (status == PK_OK && line) {
        status = add_line(out, line, size);
        if (status == PK_OK) status = pk_text_reader_next(r, &line, &size);
    }
    pk_text_reader_close(r);
    return status;
}

/* BLEU and chrF with sacreBLEU's defaults */
static pk_status evaluate(const pk_result *r, const lines *reference, pk_eval_scores *scores) {
    pk_text *system;
    PK_TRY(PK_TAKE(&system, reference->n));
    for (size_t i = 0; i < reference->n; i++) {
        const char *text = pk_result_text(r, i);
        system[i] = (pk_text){ text, strlen(text) };
    }
    const pk_text *const systems[] = { system };
    const pk_status status = pk_evaluate(reference->text, systems, 1, reference->n, NULL, scores);
    pk_memory_give(system);
    return status;
}

static const char *decoding_of(const pk_trainer *t) {
    if (*t->recipe.valid_decode) return t->recipe.valid_decode;
    return t->task->decode ? t->task->decode : "greedy";
}

typedef struct decoder { /* the model as it is now, by the public interface, as any program would */
    pk_model      *model;
    pk_translator *translator;
} decoder;

static void close_decoder(decoder *d) {
    pk_translator_close(d->translator);
    pk_model_close(d->model);
}

static pk_status open_file(const pk_trainer *t, const char *path, decoder *d) {
    const bool tagged = t->maker.source_tag >= 0, both = t->maker.target_tag >= 0;
    PK_TRY(pk_model_open(path, NULL, &d->model));
    return pk_translator_open(d->model,
                              PK_OPTIONS(pk_translator_options, .decode = decoding_of(t),
                                         .from = both ? t->recipe.source_language : NULL,
                                         .to = tagged ? t->recipe.target_language : NULL,
                                         .device = t->device, .threads = t->threads,
                                         .one_sentence = 1),
                              &d->translator);
}

/* Writes the model to a file and opens that: what is measured is what users will get. A model that
 * will be saved in I8 is measured in F16. The file is mapped, and its name needed no more. */
static pk_status open_decoder(pk_trainer *t, decoder *d) {
    const pk_dtype type = pk_trainer_save_type(t);
    char          *path;
    *d = (decoder){ 0 };
    PK_TRY(pk_trainer_path(t, PK_VALID_MODEL, &path));
    pk_status status = pk_trainer_write_model(t, PK_VALID_MODEL, type == PK_I8 ? PK_F16 : type);
    if (status == PK_OK) status = open_file(t, path, d);
    unlink(path);
    pk_memory_give(path);
    if (status != PK_OK) close_decoder(d);
    return status;
}

/* translates the whole validation text and stores the scores */
static pk_status score_translations(pk_trainer *t, const lines *source, const lines *target) {
    decoder        d;
    pk_result     *r = NULL;
    pk_eval_scores scores;
    if (source->n != target->n)
        PK_FAIL(PK_FORMAT, "valid.source has %zu line%s and valid.target has %zu", source->n,
                source->n == 1 ? "" : "s", target->n);
    PK_TRY(open_decoder(t, &d));
    pk_status status = pk_translate(d.translator, source->text, source->n, NULL, &r);
    if (status == PK_OK) status = evaluate(r, target, &scores);
    pk_result_free(r);
    close_decoder(&d);
    PK_TRY(status);
    t->state.valid_bleu = scores.bleu;
    t->state.valid_chrf = scores.chrf2;
    return PK_OK;
}

static pk_status measure_bleu(pk_trainer *t) {
    lines     source = { 0 }, target = { 0 };
    pk_status status = read_lines(t->recipe.valid_source, &source);
    if (status == PK_OK) status = read_lines(t->recipe.valid_target, &target);
    if (status == PK_OK) status = score_translations(t, &source, &target);
    free_lines(&source);
    free_lines(&target);
    return status;
}

/* A strategy that does not fit the model, or memory that is short, shows when it is opened. */
pk_status pk_trainer_check_validation(pk_trainer *t) {
    decoder d;
    if (t->ranks.rank != 0 || !t->valid || !t->recipe.valid_bleu) return PK_OK;
    const pk_status status = open_decoder(t, &d);
    if (status != PK_OK) {
        pk_fail_context("valid.decode");
        return status;
    }
    close_decoder(&d);
    return PK_OK;
}

/* ---- the whole ---- */

/* rank 0 measures, everyone learns the outcome */
static pk_status share_outcome(pk_trainer *t, pk_status status) {
    pk_train_state *s = &t->state;
    double          x[4] = { status != PK_OK, s->valid_loss, s->valid_bleu, s->valid_chrf };
    const pk_status shared = pk_ranks_share(&t->ranks, x, 4);
    PK_TRY(status);
    PK_TRY(shared);
    if (x[0] != 0) PK_FAIL(PK_CANCELLED, "rank 0 could not validate");
    s->valid_loss = x[1], s->valid_bleu = x[2], s->valid_chrf = x[3];
    return PK_OK;
}

/* A better model is saved at once as best.pronk. */
pk_status pk_trainer_validate(pk_trainer *t) {
    pk_train_state *s = &t->state;
    pk_status       status = PK_OK;
    if (t->ranks.rank == 0) {
        status = measure_loss(t);
        if (status == PK_OK && t->recipe.valid_bleu) status = measure_bleu(t);
    }
    PK_TRY(share_outcome(t, status));
    s->validations++;
    const double score = t->recipe.valid_metric == PK_METRIC_BLEU ? -s->valid_bleu : s->valid_loss;
    const bool   better = s->best_update == 0 || score < s->best;
    s->worse = better ? 0 : s->worse + 1;
    if (!better) return PK_OK;
    s->best = score;
    s->best_update = s->update;
    if (t->ranks.rank != 0) return PK_OK;
    return pk_trainer_write_model(t, PK_BEST_MODEL, pk_trainer_save_type(t));
}
