/* pass_cost.h - how long a pass of n asks takes here and now: a straight line through recent
 * passes.
 *
 * Strategies that may ask more at a time weigh what an ask costs against what it may bring. The
 * line is learned while decoding and forgets, so that it follows the load. It decides speed, never
 * output. */
#ifndef PK_ENGINE_PASS_COST_H
#define PK_ENGINE_PASS_COST_H
#include <stdint.h>

typedef struct pk_pass_cost {
    double weight, asks, seconds, asks_squared, asks_seconds; /* sums over recent passes */
    double part;    /* of a pass's fixed seconds that an ask took, when their numbers last varied */
    float  cost[3]; /* of 0, 1 and 2 asks of one sentence; see pass.h */
    double share;   /* seconds of a pass that one sentence with one ask costs; 0: not known */
} pk_pass_cost;

/* a pass of that many asks, of all sentences, took so long */
void pk_pass_cost_learn(pk_pass_cost *c, int32_t asks, double seconds);
/* fills cost[] and share for a pass in which that many sentences take part */
void pk_pass_cost_update(pk_pass_cost *c, int32_t sentences);
#endif
