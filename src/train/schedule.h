/* schedule.h - the learning rate of each update: a straight rise, a fall, and a last cool-down.
 *
 * The end of the training is known by updates or by minutes, whichever comes first; the rate
 * depends on how much of it is done, so both kinds of limit are served by one formula. */
#ifndef PK_TRAIN_SCHEDULE_H
#define PK_TRAIN_SCHEDULE_H
#include "recipe/recipe.h"

typedef struct pk_schedule {
    pk_fall fall;
    double  rate;       /* highest */
    double  final_rate; /* the last rate, as a share of the highest (linear, cosine, cool-down) */
    double  cooldown;   /* last share of the training, in which the rate also falls to that */
    int64_t warmup;     /* updates until the rate is at its highest */
    int64_t updates;    /* of the whole training; 0: no limit */
    double  minutes;    /* the same in time; 0: no limit */
} pk_schedule;

/* a fall to the end needs an end: pk_recipe_check() sees to that */
pk_schedule pk_schedule_of(const pk_recipe *r);
/* how much of the training is done after so many updates and minutes, 0 to 1 */
double pk_schedule_share(const pk_schedule *s, int64_t updates, double minutes);
/* the rate of update number `update`, from 1, that begins after so many minutes */
double pk_schedule_rate(const pk_schedule *s, int64_t update, double minutes);
#endif
