/* pass_cost.c - least squares over passes, old ones counting ever less.
 *
 * A pass costs a fixed part and a part for each ask. Both are learned from the passes that are made
 * anyway, so the numbers fit this machine and its load. They decide speed, never output. */
#include "engine/pass_cost.h"

/* Until widths have varied, an extra ask is taken to cost this part of a pass of one. */
#define PRESUMED   0.1
#define MEMORY     0.98 /* of the last pass's weight: about fifty passes count */
#define VARIED     0.05 /* variance of the widths, by their mean, from which a line is believed */
#define OFF_MEMORY 0.95 /* the same of the passes of so many asks, ... */
#define OFF_WEIGHT 4.0  /* ... and passes that the line is worth beside them */
#define OUTLIER    3.0  /* times the expected: another program had the core; not counted */

/* one pass, into all sums that a least-squares line needs */
static void add(pk_pass_cost *c, double asks, double seconds, double weight) {
    c->weight += weight;
    c->asks += weight * asks;
    c->seconds += weight * seconds;
    c->asks_squared += weight * asks * asks;
    c->asks_seconds += weight * asks * seconds;
}

/* The line: seconds = *fixed + *each * asks; neither is negative. Where all passes are of about as many
 * asks, what one more costs is the part of the fixed one that it last was. */
static void line(const pk_pass_cost *c, double *fixed, double *each) {
    const double spread = c->weight * c->asks_squared - c->asks * c->asks;
    *each = *fixed = 0;
    if (spread > VARIED * c->weight * c->asks) {
        *each = (c->weight * c->asks_seconds - c->asks * c->seconds) / spread;
        if (*each < 0) *each = 0;
        *fixed = (c->seconds - *each * c->asks) / c->weight;
        if (*fixed < 0) *fixed = 0;
    } else if (c->weight > 0) {
        *fixed = c->seconds / (c->weight + c->part * c->asks);
        *each = *fixed * c->part;
    }
}

/* passes of so many asks were so far from the line */
static void learn_off(pk_pass_cost *c, int32_t asks, double by_line, double seconds) {
    if (asks > PK_COST_MOST || !(by_line > 0)) return;
    c->off[asks] = c->off[asks] * OFF_MEMORY + seconds / by_line;
    c->seen[asks] = c->seen[asks] * OFF_MEMORY + 1;
}

/* recent passes weigh more; a pass far slower than expected is left out */
void pk_pass_cost_learn(pk_pass_cost *c, int32_t asks, double seconds) {
    double fixed, each;
    if (c->weight == 0) { /* something to begin with, soon outweighed */
        add(c, asks + 8, seconds * (1 + 8 * PRESUMED), 1);
        add(c, asks, seconds, 1);
        c->part = PRESUMED;
        return;
    }
    line(c, &fixed, &each);
    if (seconds > OUTLIER * (fixed + each * asks)) return;
    learn_off(c, asks, fixed + each * asks, seconds);
    c->weight *= MEMORY, c->asks *= MEMORY, c->seconds *= MEMORY;
    c->asks_squared *= MEMORY, c->asks_seconds *= MEMORY;
    add(c, asks, seconds, 1);
    line(c, &fixed, &each);
    if (fixed > 0) c->part = each / fixed;
}

/* seconds of a pass of so many asks of one sentence alone */
static double alone(const pk_pass_cost *c, double fixed, double each, int32_t asks) {
    return (fixed + each * asks) * (c->off[asks] + OFF_WEIGHT) / (c->seen[asks] + OFF_WEIGHT);
}

/* The fixed part of a pass is shared by all its sentences; among many an ask's cost is the line's. */
void pk_pass_cost_update(pk_pass_cost *c, int32_t sentences) {
    double fixed, each;
    line(c, &fixed, &each);
    c->share = sentences == 1 ? alone(c, fixed, each, 1) : fixed / sentences + each;
    c->more = (float)(c->share > 0 ? each / c->share : PRESUMED);
    c->n_cost = c->share <= 0 ? 2 : sentences == 1 ? PK_COST_MOST + 1 : 3;
    c->cost[0] = 0;
    c->cost[1] = 1;
    c->cost[2] = 1 + c->more;
    for (int32_t w = 2; sentences == 1 && w < c->n_cost; w++)
        c->cost[w] = (float)(alone(c, fixed, each, w) / c->share);
}
