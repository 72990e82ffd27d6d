/* ngrams.h - what a document has output so far, in bounded memory: from the last two or three
 * tokens to the one that came next, and how often each kind of guess has been right.
 *
 * One for each worker; it is not locked. It can make decoding faster or slower, but never changes
 * the output: whatever it suggests is only a guess that the model checks. */
#ifndef PK_DECODE_NGRAMS_H
#define PK_DECODE_NGRAMS_H
#include <stdint.h>

#include "base/status.h"
#include "decode/draft_rates.h"
#include "decode/guess_rates.h"

typedef struct pk_ngram {
    uint32_t check; /* hash of the tokens before: distinguishes n-grams of one bucket */
    int32_t  next;  /* the token that came after them */
    int32_t  count; /* votes for `next`; 0: empty */
} pk_ngram;

typedef struct pk_ngrams {
    pk_ngram      *entry; /* (1 << bits) */
    int32_t        bits;
    pk_rates       rates;
    pk_draft_rates drafts;
} pk_ngrams;

enum { PK_NGRAMS_LOWEST = 2, PK_NGRAMS_HIGHEST = 3, PK_NGRAMS_BITS = 15 };

/* bits: 4 to 24; the usual PK_NGRAMS_BITS takes 384 KiB */
pk_status pk_ngrams_open(int32_t bits, pk_ngrams **out);
void      pk_ngrams_close(pk_ngrams *g); /* accepts NULL */
void      pk_ngrams_clear(pk_ngrams *g); /* another document */

/* n tokens of an output that is finished; token[0] may be a start symbol */
void pk_ngrams_learn(pk_ngrams *g, const int32_t *token, int32_t n);
/* what came after the last `order` of n tokens, or PK_NO_TOKEN; votes: how sure that is */
int32_t pk_ngrams_next(const pk_ngrams *g, int32_t order, const int32_t *token, int32_t n,
                       int32_t *votes);
#endif
