/* draft_rates.h - how often the tokens of a drafted block are right, by their place in it, and how
 * long a block pays.
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
} pk_draft_rates;

/* of a block of n tokens that were asked about, the first `accepted` were right */
void pk_draft_rates_judge(pk_draft_rates *r, int32_t n, int32_t accepted);
/* How many tokens to draft, `most` at most: as many as bring most tokens for what drafting and
 * verifying them costs. 0: none, one token at a time is cheaper. fed: tokens that the drafter has
 * to read first. Where costs are not known, as many as there may be. */
int32_t pk_draft_rates_block(pk_draft_rates *r, const pk_pass *pass, int32_t fed, int32_t most);
#endif
