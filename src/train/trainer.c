/* trainer.c - the loop, one update a call: learn, and when it is time log, validate, save, end.
 *
 * Time counts while the model learns; validating and saving take none of it. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_map.h"
#include "base/file_writer.h"
#include "base/memory.h"

/* ---- what is due ---- */

static bool is_due(int64_t update, int64_t every) { return every > 0 && update % every == 0; }

/* of the training that is done, 0 to 1 */
static double share_of(const pk_trainer *t) {
    return pk_schedule_share(&t->schedule, t->state.update, t->state.seconds / 60);
}

/* limits of updates and minutes, or too many validations without a better one */
static bool is_over(const pk_trainer *t) {
    const int64_t patience = t->recipe.patience;
    return t->over || (patience > 0 && t->state.worse >= patience);
}

/* ---- checkpoints ---- */

pk_status pk_trainer_save(pk_trainer *t) {
    PK_NEED(t);
    PK_TRY(pk_trainer_read(t, false));
    t->since = 0; /* saving is not training time */
    if (t->ranks.rank > 0) return PK_OK;
    return pk_checkpoint_save(t->recipe.output, &t->p, &t->state, &t->recipe);
}

/* ---- the end ---- */

/* the best model becomes the finished one, byte for byte */
static pk_status copy_best(const pk_trainer *t) {
    char          *from = NULL, *to = NULL;
    pk_file_map    map = { 0 };
    pk_file_writer w;
    pk_status      status = pk_trainer_path(t, PK_BEST_MODEL, &from);
    if (status == PK_OK) status = pk_trainer_path(t, PK_TRAINED_MODEL, &to);
    if (status == PK_OK) status = pk_file_map_open(from, &map);
    if (status == PK_OK) status = pk_file_writer_open(to, &w);
    if (status == PK_OK) {
        pk_file_writer_add(&w, map.data, map.size);
        status = pk_file_writer_finish(&w);
    }
    pk_file_map_close(&map);
    pk_memory_give(from);
    pk_memory_give(to);
    return status;
}

/* writes model.pronk: the best by validation, or the last where nothing was validated */
static pk_status finish(pk_trainer *t) {
    t->done = true;
    if (t->ranks.rank > 0) return PK_OK;
    if (t->state.best_update > 0) return copy_best(t);
    return pk_trainer_write_model(t, PK_TRAINED_MODEL, pk_trainer_save_type(t));
}

/* ---- reports ---- */

/* seconds_left assumes that the rest takes as long as the share that is done */
static void fill_report(pk_trainer *t, pk_train_report *out) {
    const pk_train_state *s = &t->state;
    const bool            bleu = s->validations && t->recipe.valid_bleu;
    *out = t->last;
    out->update = s->update;
    out->updates = t->recipe.updates;
    out->share = share_of(t);
    out->seconds = s->seconds;
    out->seconds_left = out->share > 0 ? s->seconds * (1 - out->share) / out->share : 0;
    out->skipped = s->skipped;
    out->epoch = pk_loader_epoch(t->loader);
    out->valid_loss = s->validations ? s->valid_loss : NAN;
    out->valid_bleu = bleu ? s->valid_bleu : NAN;
    out->valid_chrf = bleu ? s->valid_chrf : NAN;
    out->done = t->done;
}

/* logs what was not logged yet of this step */
static pk_status write_log(pk_trainer *t, const pk_train_report *r) {
    pk_train_report rest = *r;
    if (!t->log) return PK_OK;
    if (t->logged) rest.logged = rest.validated = 0;
    t->logged = true;
    return pk_train_log_add(t->log, &rest);
}

/* only now and then: drawing the whole plot after each line would take time */
static pk_status plot(pk_trainer *t, const pk_train_report *r) {
    const bool due = r->validated || r->saved || r->done;
    return t->log && due ? pk_train_log_plot(t->log) : PK_OK;
}

/* The log is written before the checkpoint. So a training that resumes from this checkpoint finds a
 * complete log, even if it was killed in between. */
static pk_status log_and_save(pk_trainer *t) {
    pk_train_report r;
    PK_TRY(pk_trainer_read(t, false));
    fill_report(t, &r);
    PK_TRY(write_log(t, &r));
    PK_TRY(pk_trainer_save(t));
    t->last.saved = 1;
    return PK_OK;
}

const char *pk_trainer_report_text(const pk_trainer *t) {
    return t && t->text.data ? t->text.data : "";
}

const char *pk_trainer_output(const pk_trainer *t) { return t ? t->recipe.output : ""; }

/* ---- one step ---- */

/* one update, and its figures where a line of the log is due */
static pk_status learn(pk_trainer *t) {
    const pk_train_state *s = &t->state;
    t->since = pk_clock_now();
    t->logged = false;
    t->last.logged = t->last.validated = t->last.saved = 0;
    PK_TRY(pk_trainer_update(t));
    t->last.logged = is_due(s->update, t->recipe.log_every) || is_over(t);
    return t->last.logged ? pk_trainer_read(t, true) : PK_OK;
}

/* after an update: validate, save, finish, each where it is due */
static pk_status look_after(pk_trainer *t) {
    const pk_recipe      *r = &t->recipe;
    const pk_train_state *s = &t->state;
    const bool            over = is_over(t);
    if (*r->valid_source && (over || is_due(s->update, r->valid_every))) {
        PK_TRY(pk_trainer_read(t, false)); /* what is under way is learning time */
        t->since = 0;
        PK_TRY(pk_trainer_validate(t));
        t->last.validated = 1;
    }
    if (over || is_over(t) || is_due(s->update, r->save_every)) PK_TRY(log_and_save(t));
    return over || is_over(t) ? finish(t) : PK_OK;
}

static pk_status go_on(pk_trainer *t) {
    if (t->done) return PK_OK;
    if (is_over(t)) return finish(t); /* an earlier call had trained to the end already */
    PK_TRY(learn(t));
    return look_after(t);
}

pk_status pk_trainer_step(pk_trainer *t, pk_train_report *out) {
    PK_NEED(t);
    PK_NEED(out);
    const bool was_done = t->done;
    memset(out, 0, sizeof *out);
    pk_status status = go_on(t);
    fill_report(t, out);
    if (status == PK_OK && !was_done) status = write_log(t, out);
    if (status == PK_OK && !was_done) status = plot(t, out);
    if (status != PK_OK) t->failed = true;
    return status;
}

int32_t pk_trainer_rank(const pk_trainer *t) { return t ? t->ranks.rank : 0; }
