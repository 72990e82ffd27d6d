/* draft_rates.h - how often the tokens of a drafted block are right, by their position in it, and
 * how long a block pays.
 *
 * One for each worker. Like what pk_ngrams knows it decides speed, never output. */
#ifndef PK_DECODE_DRAFT_RATES_H
#define PK_DECODE_DRAFT_RATES_H
#include <stdint.h>

#include "decode/pass.h"

enum { PK_DRAFT_MOST = 64 }; /* tokens of a block */

typedef struct pk_draft_rates {
    float right[PK_DRAFT_MOST],
        judged[PK_DRAFT_MOST]; /* counts that fade; right when asked about */
    int32_t quiet;             /* passes without a draft */
    float   worth;             /* tokens that the last block was to bring for a cost of 1 */
    float   spent, gained;     /* by drafts that were accounted for, fading */
} pk_draft_rates;

/* of a block of n tokens that were asked about, the first `accepted` were right */
void pk_draft_rates_judge(pk_draft_rates *r, int32_t n, int32_t accepted);
/* A pass with drafts cost so much, one token at a time costing 1, and brought so many tokens. Where
 * this is known, drafts that cost more than they bring are not made, whatever was expected of
 * them. */
void pk_draft_rates_account(pk_draft_rates *r, float cost, float tokens);
/* How many tokens to draft, `most` at most, where drafting and verifying k of them costs fixed + k
 * times each, one token at a time costing 1: as many as bring most tokens for that. 0: none, one at
 * a time is cheaper. */
int32_t pk_draft_rates_block(pk_draft_rates *r, float fixed, float each, int32_t most);
/* what a further ask of the model costs in this pass, one costing 1; negative: not known */
float pk_draft_more(const pk_pass *pass);
#endif
