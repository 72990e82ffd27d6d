/* guess_rates.h - how often each kind of guess has been right lately.
 *
 * A kind is where a guess comes from, and how much speaks for it. All kinds that have something to
 * say are judged whenever a token becomes certain, asked or not, so rates follow the document for
 * free; only `shift` has to be asked for before there is anything to judge. */
#ifndef PK_DECODE_GUESS_RATES_H
#define PK_DECODE_GUESS_RATES_H
#include <stdbool.h>
#include <stdint.h>

/* where guesses come from; the order settles ties */
enum pk_guess_source {
    PK_GUESS_DRAFT,
    PK_GUESS_NGRAM,
    PK_GUESS_SHIFT,
    PK_GUESS_COPY,
    PK_GUESS_PAD,
    PK_GUESS_SOURCES
};
/* strength: how many of the last tokens match (3: or more); n-grams: 0, 1 two tokens, 2, 3 three, the
 * odd ones seen more than once; pad: 0 */
enum { PK_GUESS_STRENGTHS = 4, PK_GUESS_KINDS = PK_GUESS_SOURCES * PK_GUESS_STRENGTHS };

typedef struct pk_rates {
    float right[PK_GUESS_KINDS], judged[PK_GUESS_KINDS]; /* counts that fade */
    int32_t quiet;                                       /* passes since anything was guessed */
} pk_rates;

void pk_rates_begin(pk_rates *r); /* what to expect before anything is known */
void pk_rates_judge(pk_rates *r, int32_t kind, bool right);
float pk_rates_of(const pk_rates *r, int32_t kind); /* between 0 and 1, both excluded */

/* How many of n guesses to ask about, given the rate of each: those that make most of the expected
 * tokens kept for what the pass costs. cost[w]: of w asks, w < n_cost; NULL: assumed. */
int32_t pk_rates_width(const float *rate, int32_t n, const float *cost, int32_t n_cost);
#endif
