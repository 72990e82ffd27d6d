/* trainer_update.c - one update: parts of a batch forwards and back, gradients summed over ranks,
 * one step of Adam.
 *
 * On a GPU nothing here waits for the device. What it counts is read when a block of lessons is
 * used again, or when a report is due. */
#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "train/trainer.h"

enum { MOST_IN_A_ROW = 20 }; /* updates without a finite gradient before we give up */

uint64_t pk_trainer_key(const pk_trainer *t, int64_t update, int64_t part, int what) {
    const uint64_t seed = pk_mix((uint64_t)t->recipe.seed * 4 + (uint64_t)what + 1);
    return pk_mix(pk_mix(seed + (uint64_t)update) + (uint64_t)part);
}

/* ---- gradients that are not finite ---- */

/* The device leaves out an update whose gradient is not finite and counts it. One does no
 * harm; many in a row mean that the training has diverged. */
static pk_status see_readings(void *user, const pk_readings *read, int64_t update) {
    pk_train_state *s = &((pk_trainer *)user)->state;
    s->in_a_row = read->skipped > s->skipped ? s->in_a_row + 1 : 0;
    s->skipped = read->skipped;
    if (s->in_a_row >= MOST_IN_A_ROW)
        PK_FAIL(PK_ARGUMENT,
                "no update up to %lld has had a finite gradient for %d updates: lower train.rate, "
                "raise train.warmup, or look at the data",
                (long long)update, MOST_IN_A_ROW);
    return PK_OK;
}

/* ---- parts ---- */

typedef struct summing { /* gradients that go out to other ranks while the rest is computed */
    pk_trainer *t;
    size_t      sent; /* those from here on are on their way */
} summing;

/* called by the tape from the last weights to the first, as soon as their gradients are final */
static void sum_from(void *user, size_t first) {
    summing *s = user;
    assert(first < s->sent); /* each gradient is summed once */
    s->t->ranks.sum_gradients(s->t->ranks.self, s->t->p.grad + first, s->sent - first);
    s->sent = first;
}

/* A two-pass task: a first pass without gradients, then the lesson is made from its answers. */
static pk_status first_pass(pk_trainer *t, const pk_batch *batch, uint64_t key) {
    const pk_pass_options o = { .dropout = &t->dropout,
                                .key = key,
                                .smoothing = (float)t->recipe.smoothing,
                                .never = t->never,
                                .measure = true,
                                .answers = true };
    PK_TRY(pk_train_pass_compute(&t->pass, &t->lesson, &o));
    PK_TRY(pk_train_pass_ready(&t->pass, see_readings, t));
    return pk_lesson_make(&t->lesson, &t->maker, batch, t->pass.best_here);
}

/* One batch: lesson, forward, backward; gradients add up. sum: this is the last part, gradients go
 * to the other ranks. *total: weight of the questions, by which gradients are divided in the
 * end. */
static pk_status train_part(pk_trainer *t, int64_t part, summing *sum, double *total) {
    const int64_t   update = t->state.update + 1;
    const uint64_t  key = pk_trainer_key(t, update, part, 0);
    pk_batch        batch;
    pk_pass_options o = { .dropout = &t->dropout,
                          .key = key,
                          .smoothing = (float)t->recipe.smoothing,
                          .never = t->never };
    PK_TRY(pk_loader_next(t->loader, &batch));
    t->maker.key = pk_trainer_key(t, update, part, 1);
    t->maker.share = pk_schedule_share(&t->schedule, t->state.update, t->state.seconds / 60);
    PK_TRY(pk_lesson_make(&t->lesson, &t->maker, &batch, NULL));
    PK_TRY(pk_train_pass_ready(&t->pass, see_readings, t));
    if (pk_task_looks_twice(t->task, t->task_options)) PK_TRY(first_pass(t, &batch, key));
    if (sum) o.done = sum_from, o.user = sum;
    PK_TRY(pk_train_pass_compute(&t->pass, &t->lesson, &o));
    *total += t->lesson.total;
    t->tokens += (int64_t)(t->lesson.source_token.n + t->lesson.token.n);
    return PK_OK;
}

/* ---- the step ---- */

/* The decay of the moving average. It is lower in the first steps, (1 + n) / (10 + n), because
 * early weights are far from the final ones. */
static float average_keep(const pk_recipe *r, int64_t step) {
    return (float)fmin(r->average, (1 + (double)step) / (10 + (double)step));
}

/* what is frozen in between has no gradient: it counts for none of the sums */
static void clear_frozen(pk_trainer *t) {
    const pk_parameters *p = &t->p;
    for (size_t i = 0, from = 0; i < p->n_ranges; from = p->range[i].first + p->range[i].n, i++)
        if (p->range[i].first > from)
            t->on.train->clear(t->on.self, p->grad + from,
                               (p->range[i].first - from) * sizeof *p->grad);
}

/* an update that is skipped counts once, with the first of the ranges */
static void step_range(pk_trainer *t, size_t which, double total, double rate) {
    const pk_recipe *r = &t->recipe;
    pk_parameters   *p = &t->p;
    const size_t     at = p->range[which].first;
    const int64_t    number = t->state.update + 1;
    char *const      weights = p->weights;
    t->on.train->update(
        t->on.self,
        &(pk_update){ .n = p->range[which].n,
                      .master = p->master + at,
                      .grad = p->grad + at,
                      .m = p->m + at,
                      .v = p->v + at,
                      .average = p->average ? p->average + at : NULL,
                      .weights = weights + at * pk_dtype_bytes(p->learned.type),
                      .squares = &t->pass.train->squares,
                      .skipped = which ? &t->pass.train->skipped_again : &t->pass.train->skipped,
                      .total = (float)total,
                      .rate = (float)rate,
                      .beta1 = (float)r->beta1,
                      .beta2 = (float)r->beta2,
                      .epsilon = (float)r->epsilon,
                      .decay = (float)r->weight_decay,
                      .clip = (float)r->clip,
                      .average_keep = average_keep(r, number),
                      .step = number });
}

/* Adam (Kingma and Ba 2015) with decoupled weight decay, on the device. The squared length of the
 * gradient is needed first, for clipping and to see whether it is finite. */
static void step(pk_trainer *t, double total, double rate) {
    const pk_training *train = t->on.train;
    pk_parameters     *p = &t->p;
    clear_frozen(t);
    train->clear(t->on.self, &t->pass.train->squares, sizeof t->pass.train->squares);
    train->squares(t->on.self, p->grad, p->n, &t->pass.train->squares);
    for (size_t i = 0; i < p->n_ranges; i++) step_range(t, i, total, rate);
}

/* adds the time since the last call, unless the clock is stopped */
void pk_trainer_count_time(pk_trainer *t) {
    const double now = pk_clock_now();
    if (t->since > 0) t->state.seconds += now - t->since;
    if (t->since > 0) t->since = now;
}

/* `accumulate` parts, each with a key of its own on every rank. Time is the same on all ranks, so
 * that all stop at the same update. */
pk_status pk_trainer_update(pk_trainer *t) {
    const int64_t accumulate = t->recipe.accumulate;
    summing       sum = { t, t->p.n };
    double        total = 0;
    for (int64_t i = 0; i < accumulate; i++) {
        const bool last = i + 1 == accumulate && t->ranks.n > 1;
        PK_TRY(train_part(t, i * t->ranks.n + t->ranks.rank, last ? &sum : NULL, &total));
    }
    pk_trainer_count_time(t);
    PK_TRY(t->ranks.sum(t->ranks.self, &total, 1));
    PK_TRY(pk_ranks_share(&t->ranks, &t->state.seconds, 1));
    t->over = pk_schedule_share(&t->schedule, t->state.update + 1, t->state.seconds / 60) >= 1;
    PK_TRY(t->ranks.wait(t->ranks.self));
    t->last.rate = pk_schedule_rate(&t->schedule, t->state.update + 1, t->state.seconds / 60);
    step(t, total, t->last.rate);
    t->state.update++;
    t->state.batches += accumulate * t->ranks.n;
    pk_train_pass_record(&t->pass, t->state.update);
    t->total = total;
    if (t->on.remote) return PK_OK;
    PK_TRY(t->on.status(t->on.self));
    pk_trainer_count_time(t);
    return see_readings(t, t->pass.train, t->state.update);
}

/* ---- reading ---- */

/* the sums as figures per token */
static void report(pk_trainer *t, double squares, double tokens) {
    const pk_train_state *s = &t->state;
    const double          weight = s->weight > 0 ? s->weight : NAN;
    t->last.loss = s->loss / weight;
    t->last.nll = s->nll / weight;
    t->last.accuracy = s->correct / weight;
    t->last.gradient = sqrt(squares) / t->total;
    if (s->seconds > t->tokens_since)
        t->last.tokens_per_second = tokens / (s->seconds - t->tokens_since);
}

pk_status pk_trainer_read(pk_trainer *t, bool begin) {
    pk_readings     here;
    pk_train_state *s = &t->state;
    PK_TRY(pk_device_get(&t->on, &here, t->pass.train, sizeof here));
    PK_TRY(pk_train_pass_drain(&t->pass, see_readings, t));
    double x[5] = { here.sums.loss, here.sums.nll, here.sums.weight, here.sums.correct,
                    (double)t->tokens };
    PK_TRY(t->ranks.sum(t->ranks.self, x, 5));
    s->loss = x[0], s->nll = x[1], s->weight = x[2], s->correct = x[3];
    pk_trainer_count_time(t);
    if (!begin) return PK_OK;
    report(t, here.squares, x[4]);
    s->loss = s->nll = s->weight = s->correct = 0;
    t->tokens = 0;
    t->tokens_since = s->seconds;
    t->on.train->clear(t->on.self, &t->pass.train->sums, sizeof t->pass.train->sums);
    return PK_OK;
}
