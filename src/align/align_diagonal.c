/* align_diagonal.c - the diagonal prior's normaliser, its gradient, and the search for the tension.
 *
 * Gradient and step are fast_align's, with its two peculiarities, so that tensions are the same:
 * the normaliser of the gradient has m and n exchanged, and the caller's distances of links count
 * generated words from 0. */
#include "align/align_diagonal.h"

#include "align/align_threads.h"
#include "base/memory.h"

/* gradient ascent on the tension: eight steps of this rate, kept within these bounds */
enum { STEPS = 8 };
static const double rate = 20, least = 0.1, most = 14;

/* not normalised */
static double prior(uint32_t j, uint32_t i, uint32_t m, uint32_t n, double tension) {
    return exp(-pk_align_distance(j, i, m, n) * tension);
}

/* Two geometric series leave the diagonal, downwards and upwards. With m and n exchanged `split`
 * may be beyond n: the number of words above it then wraps around, which makes the series an
 * infinite one. */
double pk_align_normaliser(uint32_t j, uint32_t m, uint32_t n, double tension) {
    const double   split = (double)j * n / m;
    const uint32_t below = (uint32_t)split, above = n - below;
    const double   ratio = exp(-tension / n);
    double         sum = 0;
    if (below) sum += prior(j, below, m, n, tension) * (1 - pow(ratio, below)) / (1 - ratio);
    if (above) sum += prior(j, below + 1, m, n, tension) * (1 - pow(ratio, above)) / (1 - ratio);
    return sum;
}

/* sum of (a + k d) g r^k over k = 0 .. n - 1 */
static double arithmetico_geometric(double a, double g, double r, double d, uint32_t n) {
    const double behind = g * pow(r, n), last = a + d * (n - 1.0);
    return (last * behind - a * g) / (r - 1) + d * (g * r - behind) / ((r - 1) * (r - 1));
}

/* d log(normaliser) / d tension: minus the expected distance under the prior */
static double gradient(uint32_t j, uint32_t m, uint32_t n, double tension) {
    const double   split = (double)j * n / m;
    const uint32_t below = (uint32_t)split, above = n - below;
    const double   ratio = exp(-tension / n), step = -1.0 / n;
    double         sum = 0;
    if (above)
        sum += arithmetico_geometric(-pk_align_distance(j, below + 1, m, n),
                                     prior(j, below + 1, m, n, tension), ratio, step, above);
    if (below)
        sum += arithmetico_geometric(-pk_align_distance(j, below, m, n),
                                     prior(j, below, m, n, tension), ratio, step, below);
    return sum / pk_align_normaliser(j, n, m, tension);
}

typedef struct search {
    const pk_align_size *size;
    double               tension, *partial;
} search;

/* all pairs of one size at once: they have the same gradient */
static pk_status add_gradients(void *context, size_t task, int32_t worker) {
    const search        *s = context;
    const pk_align_size *size = &s->size[task];
    double               sum = 0;
    (void)worker;
    for (uint32_t j = 1; j <= size->m; j++)
        sum += (double)size->pairs * gradient(j, size->m, size->n, s->tension);
    s->partial[task] = sum;
    return PK_OK;
}

pk_status pk_align_tension_update(const pk_align_size *size, size_t n, double words,
                                  double distance, int32_t threads, double *partial,
                                  double *tension) {
    search s = { .size = size, .tension = *tension, .partial = partial };
    for (int step = 0; step < STEPS; step++) {
        double sum = 0;
        PK_TRY(pk_align_parallel(threads, n, add_gradients, &s));
        for (size_t i = 0; i < n; i++) sum += partial[i];
        s.tension += rate * (-distance - sum / words); /* observed minus expected distance */
        s.tension = fmin(fmax(s.tension, least), most);
    }
    *tension = s.tension;
    return PK_OK;
}

/* ---- tables ---- */

/* Tables of all lengths that occur, one behind the other, length + 1 numbers each. */
pk_status pk_align_curves_open(const uint8_t *occurs, uint32_t longest, pk_align_curves *out) {
    *out = (pk_align_curves){ .longest = longest };
    pk_status status = PK_TAKE(&out->start, (size_t)longest + 1);
    for (uint32_t length = 0; length <= longest && status == PK_OK; length++) {
        out->start[length] = out->n;
        if (occurs[length]) out->n += (size_t)length + 1;
    }
    if (status == PK_OK) status = PK_TAKE(&out->rising, out->n);
    if (status == PK_OK) status = PK_TAKE(&out->falling, out->n);
    if (status != PK_OK) pk_align_curves_close(out);
    return status;
}

void pk_align_curves_set(pk_align_curves *c, const uint8_t *occurs, double tension) {
    for (uint32_t length = 1; length <= c->longest; length++)
        for (uint32_t k = 0; occurs[length] && k <= length; k++) {
            const double x = tension * k / length;
            c->rising[c->start[length] + k] = (float)exp(x);
            c->falling[c->start[length] + k] = (float)exp(-x);
        }
}

void pk_align_curves_close(pk_align_curves *c) {
    pk_memory_give(c->start);
    pk_memory_give(c->rising);
    pk_memory_give(c->falling);
    *c = (pk_align_curves){ 0 };
}
