/* guess_rates.c - fading counts, and the width they suggest.
 *
 * Guesses are kept up to the first wrong one, so w asks keep 1 + r1 + r1 r2 + ... + r1..r(w-1)
 * tokens on average. One ask keeps 1 at a cost of 1: a width is chosen only if it promises more
 * than that, with a margin, since what it costs is certain and what it keeps is not. */
#include "decode/guess_rates.h"

#include <stddef.h>

#define FADE         0.99f  /* a judgement is forgotten after about a hundred others */
#define PRIOR_WEIGHT 4.0f   /* judgements that what was expected is worth */
#define ASSUMED_COST 0.1f   /* of one more ask, when nothing was measured: rather too much */
#define MARGIN       1.005f /* a wider pass must promise this much more tokens per cost */

// clang-format off
/* rates expected before anything is judged: a row per source, a column per strength */
static const float prior[PK_GUESS_SOURCES][PK_GUESS_STRENGTHS] = {
    [PK_GUESS_DRAFT] = { 0.10f, 0.30f, 0.50f, 0.65f, 0.80f, 0.60f },
    [PK_GUESS_NGRAM] = { 0.15f, 0.50f, 0.25f, 0.70f },
    [PK_GUESS_SHIFT] = { 0.09f, 0.10f, 0.20f, 0.30f, 0.40f, 0.10f },
    [PK_GUESS_COPY]  = { 0.01f, 0.15f, 0.25f, 0.60f, 0.60f, 0.05f },
    [PK_GUESS_LEXICON] = { 0.05f, 0.10f, 0.20f, 0.35f, 0.50f, 0.70f },
    [PK_GUESS_PAD]   = { 0 },
};
// clang-format on

void pk_rates_begin(pk_rates *r) {
    r->quiet = 0;
    for (int32_t k = 0; k < PK_GUESS_KINDS; k++) {
        r->judged[k] = PRIOR_WEIGHT;
        r->right[k] = PRIOR_WEIGHT * prior[k / PK_GUESS_STRENGTHS][k % PK_GUESS_STRENGTHS];
    }
}

void pk_rates_judge(pk_rates *r, int32_t kind, bool right) {
    r->judged[kind] = r->judged[kind] * FADE + 1;
    r->right[kind] = r->right[kind] * FADE + (right ? 1.0f : 0.0f);
}

/* the small constants keep the rate off 0 and 1 */
float pk_rates_of(const pk_rates *r, int32_t kind) {
    return (r->right[kind] + 0.01f) / (r->judged[kind] + 0.1f);
}

/* of a pass of `width` asks, in units of a pass of one */
static float cost_of(int32_t width, const float *cost, int32_t n_cost) {
    if (!cost || n_cost < 2) return 1 + ASSUMED_COST * (float)(width - 1);
    if (width < n_cost) return cost[width];
    /* beyond what was measured: as steep as that, and never flatter than assumed */
    float slope = n_cost > 2 ? (cost[n_cost - 1] - cost[1]) / (float)(n_cost - 2) : ASSUMED_COST;
    if (!(slope > ASSUMED_COST)) slope = ASSUMED_COST;
    return cost[n_cost - 1] + slope * (float)(width - n_cost + 1);
}

/* worth: tokens kept on average, per cost; the narrowest of equally good widths is taken */
int32_t pk_rates_width(const float *rate, int32_t n, const float *cost, int32_t n_cost) {
    float   kept = 1, chance = 1, most = MARGIN / cost_of(1, cost, n_cost);
    int32_t best = 0;
    for (int32_t i = 0; i < n; i++) {
        chance *= rate[i];
        kept += chance;
        const float worth = kept / cost_of(i + 2, cost, n_cost);
        if (worth > most) {
            most = worth;
            best = i + 1;
        }
    }
    return best;
}
