/* draft_block.h - a block of masks behind a hypothesis, for a drafter (network 1) to fill in.
 *
 * The drafter's own history follows the hypothesis that is asked about: what both have in common
 * stays, the rest is left behind and read anew. Where it was trained with all tokens seeing each
 * other, it is fed everything each time. */
#ifndef PK_DECODE_DRAFT_BLOCK_H
#define PK_DECODE_DRAFT_BLOCK_H
#include "decode/strategy.h"

typedef struct pk_draft_block {
    pk_block_mask mask;
    int32_t       most, room;    /* places of a block; asks of a pass */
    int32_t      *read, n_read;  /* (longest + 1) the drafter's history, start symbol first */
    int32_t first, chain, masks; /* of the pass in flight: tokens kept, then read, then masks */
    bool    leads;               /* the last that is read says what follows it */
} pk_draft_block;

/* longest: most output tokens; most: places at a time. Refuses a drafter without masks. */
pk_status pk_draft_begin(pk_draft_block *d, const pk_source *src, int32_t longest, int32_t most);
void      pk_draft_end(pk_draft_block *d); /* may be called at any time, and again */
/* top_k: tokens wanted for each place */
pk_strategy_limits pk_draft_limits(const pk_source *src, int32_t longest, int32_t most,
                                   int32_t top_k);
/* Asks about so many places behind hypothesis[0 .. n], start symbol first, or, where those do not
 * fit into the pass, lets the drafter read more of them. */
void pk_draft_propose(pk_draft_block *d, pk_pass *pass, const int32_t *hypothesis, int32_t n,
                      int32_t places, int32_t top_k);
/* keeps what was read; returns how many places were asked about, by as many last asks */
int32_t pk_draft_absorb(pk_draft_block *d, const pk_pass *pass, pk_verdict *verdict);
#endif
