/* guess_rates.h - how often each kind of guess has been right lately.
 *
 * A kind is where a guess comes from, and how strong the evidence for it is. All kinds that
 * suggest a token are judged whenever a token becomes certain, whether the guess was asked about
 * or not. So rates follow the document without extra passes. Only `shift` needs an ask before
 * there is anything to judge. */
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
    PK_GUESS_LEXICON,
    PK_GUESS_PAD,
    PK_GUESS_SOURCES
};
/* Evidence for a guess. In a text: how many of the last output tokens are before it in the text,
 * and whether that is near the expected position. Among n-grams: how long the n-gram is, and
 * whether it was seen more than once. From a lexicon: the guess's share of all that it considered,
 * in steps of STRENGTHS. */
enum pk_guess_strength {
    PK_GUESS_NOTHING = 0,
    PK_GUESS_ONE_FAR,
    PK_GUESS_ONE_NEAR,
    PK_GUESS_TWO,
    PK_GUESS_MORE,
    PK_GUESS_BEGINNING, /* there are no tokens yet */
    PK_GUESS_STRENGTHS,
    PK_GUESS_SEEN_TWO = 0,   /* n-grams: two tokens, seen once; 1: more than once */
    PK_GUESS_SEEN_THREE = 2, /* three; 3: more than once */
};
enum { PK_GUESS_KINDS = (int)PK_GUESS_SOURCES * (int)PK_GUESS_STRENGTHS };

typedef struct pk_rates {
    float   right[PK_GUESS_KINDS], judged[PK_GUESS_KINDS]; /* counts that fade */
    int32_t quiet;                                         /* passes since the last guess */
} pk_rates;

void  pk_rates_begin(pk_rates *r); /* what to expect before anything is known */
void  pk_rates_judge(pk_rates *r, int32_t kind, bool right);
float pk_rates_of(const pk_rates *r, int32_t kind); /* between 0 and 1, both excluded */

/* How many of n guesses to ask about, given the rate of each: the number with the most expected
 * tokens per cost of the pass. cost[w]: of w asks, w < n_cost; NULL: assumed. */
int32_t pk_rates_width(const float *rate, int32_t n, const float *cost, int32_t n_cost);
#endif
