/* draft_rates.c - fading counts for each position of a block, and the block they suggest.
 *
 * A block of k keeps 1 + r1 + r1 r2 + ... + r1..rk tokens on average. */
#include "decode/draft_rates.h"

#define FADE         0.99f /* a judgement is forgotten after about a hundred others */
#define FIRST_RATE   0.8f  /* expected of a first token before anything is judged */
#define NEIGHBOUR    4.0f  /* judgements that the rate of the position before is worth */
#define MARGIN       1.05f /* a block must promise this much more tokens per cost */
#define ACCOUNT_FADE 0.95f /* of what drafts cost and brought: about twenty passes count */
#define ENOUGH       4.0f  /* spent before the account is believed */
#define PROBE_AFTER  2048  /* passes of a sentence without a draft, then a short one is tried */
#define PROBE        4     /* tokens of it, ... */
#define PROBE_COST   2.0f  /* ... fewer where they would cost more than so many tokens without */

void pk_draft_rates_judge(pk_draft_rates *r, int32_t n, int32_t accepted) {
    for (int32_t i = 0; i < n && i <= accepted; i++) {
        r->judged[i] = r->judged[i] * FADE + 1;
        r->right[i] = r->right[i] * FADE + (i < accepted ? 1.0f : 0.0f);
    }
}

void pk_draft_rates_account(pk_draft_rates *r, float cost, float tokens) {
    r->spent = r->spent * ACCOUNT_FADE + cost;
    r->gained = r->gained * ACCOUNT_FADE + tokens;
}

float pk_draft_more(const pk_pass *pass) {
    return pass->cost && pass->n_cost > 2 ? pass->more : -1;
}

/* after a long time without drafts the machine may be idle again, or the text easier */
static int32_t probe(pk_draft_rates *r, int32_t block, float each, int32_t most) {
    r->quiet = block ? 0 : r->quiet + 1;
    if (r->quiet < PROBE_AFTER) return block;
    r->quiet = 0;
    int32_t tokens = PROBE;
    while (tokens > 1 && each * (float)tokens > PROBE_COST) tokens--;
    return most < tokens ? most : tokens;
}

int32_t pk_draft_rates_block(pk_draft_rates *r, float fixed, float each, int32_t most) {
    float   rate = FIRST_RATE, chance = 1, kept = 1, best_worth = MARGIN;
    int32_t best = 0;
    for (int32_t i = 0; i < most; i++) {
        rate = (r->right[i] + NEIGHBOUR * rate) / (r->judged[i] + NEIGHBOUR);
        chance *= rate;
        kept += chance;
        const float worth = kept / (fixed + each * (float)(i + 1));
        if (worth > best_worth) best_worth = worth, best = i + 1;
    }
    r->worth = best_worth;
    if (r->spent > ENOUGH && r->gained < MARGIN * r->spent) best = 0;
    return probe(r, best, each, most);
}
