/* schedule.c - learning rates: warm-up, then inverse square root (Vaswani et al. 2017), a line, a
 * half cosine or nothing, and a cool-down at the end. */
#include "train/schedule.h"

#include <math.h>

pk_schedule pk_schedule_of(const pk_recipe *r) {
    return (pk_schedule){ .fall = (pk_fall)r->schedule,
                          .rate = r->rate,
                          .final_rate = r->final_rate,
                          .cooldown = r->cooldown,
                          .warmup = r->warmup,
                          .updates = r->updates,
                          .minutes = r->minutes };
}

double pk_schedule_share(const pk_schedule *s, int64_t updates, double minutes) {
    const double by_updates = s->updates > 0 ? (double)updates / (double)s->updates : 0;
    const double by_minutes = s->minutes > 0 ? minutes / s->minutes : 0;
    return fmin(1, fmax(by_updates, by_minutes));
}

/* The factor after the warm-up: 1 at its end, falling. done: share of the training, 0 to 1.
 * inverse_sqrt: sqrt(warmup / update); linear and cosine fall to final_rate at the end. */
static double fall_at(const pk_schedule *s, double update, double done) {
    const double warmup = (double)(s->warmup > 0 ? s->warmup : 1);
    if (s->fall == PK_INVERSE_SQRT) return sqrt(warmup / update);
    if (s->fall == PK_CONSTANT) return 1;
    /* the share at which the warm-up ended: exact by updates, by minutes at the present pace */
    const double begun = fmin(done * (double)s->warmup / update, 1);
    const double way = begun < 1 ? (done - begun) / (1 - begun) : 1;
    const double high = s->fall == PK_COSINE ? 0.5 * (1 + cos(acos(-1.0) * way)) : 1 - way;
    return s->final_rate + (1 - s->final_rate) * high;
}

/* Warm-up: update / warmup. Cool-down: from its beginning to the end a straight line to
 * final_rate. */
double pk_schedule_rate(const pk_schedule *s, int64_t update, double minutes) {
    const double done = pk_schedule_share(s, update, minutes);
    double       rate =
        update <= s->warmup ? (double)update / (double)s->warmup : fall_at(s, (double)update, done);
    const double from = 1 - s->cooldown;
    if (s->cooldown > 0 && done > from) {
        const double way = (done - from) / s->cooldown;
        rate = (1 - way) * rate + way * fmin(rate, s->final_rate);
    }
    return s->rate * rate;
}
