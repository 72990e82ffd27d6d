/* forecast.h - what may come next, from what was said before: the best tokens of earlier answers,
 * by the last tokens of the histories that they were given for.
 *
 * For one sentence, in bounded memory: the oldest answer makes room for the newest. It decides
 * which guesses are asked about, never what is output. */
#ifndef PK_DECODE_FORECAST_H
#define PK_DECODE_FORECAST_H
#include "base/status.h"
#include "decode/pass.h"

enum { PK_CONTEXT = 4 }; /* tokens of a history that are compared */

typedef struct pk_context {      /* the end of a history */
    int32_t pos;                 /* output tokens of all of it */
    int32_t n, last[PK_CONTEXT]; /* last[0] is the last of them; n 0: any history */
} pk_context;

typedef struct pk_forecast {
    pk_context   *context; /* (room) */
    pk_candidate *top;     /* (room, top_k) best first; PK_NO_TOKEN past the end */
    int32_t       room, top_k, n, next;
} pk_forecast;

pk_status pk_forecast_begin(pk_forecast *f, int32_t room, int32_t top_k);
void      pk_forecast_end(pk_forecast *f); /* may be called at any time, and again */
/* the best n tokens, with log-probabilities, after such a history */
void pk_forecast_learn(pk_forecast *f, const pk_context *after, const pk_candidate *top, int32_t n);
/* top_k tokens that may come after such a history, best first; NULL: nothing is known */
const pk_candidate *pk_forecast_look(const pk_forecast *f, const pk_context *after);
/* was there an answer for this very history, as far as contexts go? */
bool pk_forecast_knows(const pk_forecast *f, const pk_context *after);
#endif
