/* trainer_update.c - one update: parts of a batch forwards and back, gradients summed over ranks,
 * one step of Adam.
 *
 * On a GPU nothing here waits for the device: what it counts is read when a block comes round
 * again, or when somebody wants to know. */
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

static pk_status see_readings(void *user, const pk_readings *read, int64_t update) {
    pk_standing *s = &((pk_trainer *)user)->standing;
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

static void sum_from(void *user, size_t first) {
    summing *s = user;
    assert(first < s->sent); /* each gradient is summed once */
    s->t->ranks.sum_gradients(s->t->ranks.self, s->t->p.grad + first, s->sent - first);
    s->sent = first;
}

/* a glancing task looks first, and then makes its lesson of what it saw */
static pk_status look_first(pk_trainer *t, const pk_batch *batch, uint64_t key) {
    const pk_pass_options look = { .dropout = &t->dropout,
                                   .key = key,
                                   .smoothing = (float)t->recipe.smoothing,
                                   .never = t->never,
                                   .measure = true,
                                   .answers = true };
    PK_TRY(pk_train_pass_run(&t->pass, &t->lesson, &look));
    PK_TRY(pk_train_pass_ready(&t->pass, see_readings, t));
    return pk_lesson_make(&t->lesson, &t->maker, batch, t->pass.best_here);
}

static pk_status train_part(pk_trainer *t, int64_t part, summing *sum, double *total) {
    const int64_t   update = t->standing.update + 1;
    const uint64_t  key = pk_trainer_key(t, update, part, 0);
    pk_batch        batch;
    pk_pass_options o = { .dropout = &t->dropout,
                          .key = key,
                          .smoothing = (float)t->recipe.smoothing,
                          .never = t->never };
    PK_TRY(pk_loader_next(t->loader, &batch));
    t->maker.key = pk_trainer_key(t, update, part, 1);
    t->maker.share = pk_schedule_share(&t->schedule, t->standing.update, t->standing.seconds / 60);
    PK_TRY(pk_lesson_make(&t->lesson, &t->maker, &batch, NULL));
    PK_TRY(pk_train_pass_ready(&t->pass, see_readings, t));
    if (t->task->two_pass) PK_TRY(look_first(t, &batch, key));
    if (sum) o.done = sum_from, o.user = sum;
    PK_TRY(pk_train_pass_run(&t->pass, &t->lesson, &o));
    *total += t->lesson.total;
    t->tokens += (int64_t)(t->lesson.source_token.n + t->lesson.token.n);
    return PK_OK;
}

/* ---- the step ---- */

/* the average forgets its first steps soon: they are far from where it is going */
static float average_keep(const pk_recipe *r, int64_t step) {
    return (float)fmin(r->average, (1 + (double)step) / (10 + (double)step));
}

static void step(pk_trainer *t, double total, double rate) {
    const pk_recipe   *r = &t->recipe;
    const pk_training *train = t->on.train;
    pk_parameters     *p = &t->p;
    const int64_t      number = t->standing.update + 1;
    train->clear(t->on.self, &t->pass.train->squares, sizeof t->pass.train->squares);
    train->squares(t->on.self, p->grad, p->n, &t->pass.train->squares);
    train->update(t->on.self, &(pk_update){ .n = p->n,
                                            .master = p->master,
                                            .grad = p->grad,
                                            .m = p->m,
                                            .v = p->v,
                                            .average = p->average,
                                            .weights = p->weights,
                                            .squares = &t->pass.train->squares,
                                            .skipped = &t->pass.train->skipped,
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

void pk_trainer_count_time(pk_trainer *t) {
    const double now = pk_clock_now();
    if (t->since > 0) t->standing.seconds += now - t->since;
    if (t->since > 0) t->since = now;
}

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
    PK_TRY(pk_ranks_share(&t->ranks, &t->standing.seconds, 1));
    t->over =
        pk_schedule_share(&t->schedule, t->standing.update + 1, t->standing.seconds / 60) >= 1;
    PK_TRY(t->ranks.wait(t->ranks.self));
    t->last.rate = pk_schedule_rate(&t->schedule, t->standing.update + 1, t->standing.seconds / 60);
    step(t, total, t->last.rate);
    t->standing.update++;
    t->standing.batches += accumulate * t->ranks.n;
    pk_train_pass_record(&t->pass, t->standing.update);
    t->total = total;
    if (t->on.remote) return PK_OK;
    PK_TRY(t->on.status(t->on.self));
    pk_trainer_count_time(t);
    return see_readings(t, t->pass.train, t->standing.update);
}

/* ---- reading ---- */

/* what the sums say, per token */
static void report(pk_trainer *t, double squares, double tokens) {
    const pk_standing *s = &t->standing;
    const double       weight = s->weight > 0 ? s->weight : NAN;
    t->last.loss = s->loss / weight;
    t->last.nll = s->nll / weight;
    t->last.accuracy = s->correct / weight;
    t->last.gradient = sqrt(squares) / t->total;
    if (s->seconds > t->tokens_since)
        t->last.tokens_per_second = tokens / (s->seconds - t->tokens_since);
}

pk_status pk_trainer_read(pk_trainer *t, bool begin) {
    pk_readings  here;
    pk_standing *s = &t->standing;
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
