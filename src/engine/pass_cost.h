/* pass_cost.h - how long a pass of n asks takes here and now: a straight line through recent
 * passes, and for the few asks of one sentence how far each number of them is from it, since kernels
 * have steps.
 *
 * Strategies that may ask more at a time weigh what an ask costs against what it may bring. The
 * line is learned while decoding and forgets, so that it follows the load. It decides speed, never
 * output. */
#ifndef PK_ENGINE_PASS_COST_H
#define PK_ENGINE_PASS_COST_H
#include <stdint.h>

enum { PK_COST_MOST = 16 }; /* asks whose own cost is known */

typedef struct pk_pass_cost {
    double weight, asks, seconds, asks_squared, asks_seconds; /* sums over recent passes */
    double part; /* of a pass's fixed seconds that an ask took, when their numbers last varied */
    double off[PK_COST_MOST + 1], seen[PK_COST_MOST + 1]; /* seconds by those of the line; passes */
    float  cost[PK_COST_MOST + 1]; /* of 0, 1, 2 .. asks of one sentence; see pass.h */
    int32_t n_cost;                /* how many of them are known; 2: none but the first */
    float   more;                  /* of one ask more, on the line */
    double  share; /* seconds of a pass that one sentence with one ask costs; 0: not known */
} pk_pass_cost;

/* a pass of that many asks, of all sentences, took so long */
void pk_pass_cost_learn(pk_pass_cost *c, int32_t asks, double seconds);
/* fills cost[] and share for a pass in which that many sentences take part */
void pk_pass_cost_update(pk_pass_cost *c, int32_t sentences);
#endif
