/* draft_block.c - known tokens as a chain, then masks as a block; where tokens see all, one block
 * of both. Of a pass the chain is kept, the masks are not. */
#include "decode/draft_block.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

pk_status pk_draft_begin(pk_draft_block *d, const pk_source *src, int32_t longest, int32_t most) {
    d->mask = pk_block_mask_of(src->model);
    if (d->mask.token < 0)
        PK_FAIL(PK_UNSUPPORTED, "the drafter has no token <mask>: train it with task gad");
    d->most = most;
    d->n_read = 0;
    d->room = pk_draft_limits(src, longest, most, 1).asks;
    return PK_TAKE(&d->read, (size_t)longest + 1);
}

void pk_draft_end(pk_draft_block *d) {
    pk_memory_give(d->read);
    d->read = NULL;
}

/* A hypothesis may differ from the last one from its first token on: then all of it is read, in
 * several passes where it is long. */
pk_strategy_limits pk_draft_limits(const pk_source *src, int32_t longest, int32_t most,
                                   int32_t top_k) {
    const int32_t known = src->n_prefix > most ? src->n_prefix : most;
    const bool    sees_all = pk_block_mask_of(src->model).sees_all;
    return (pk_strategy_limits){ .asks = sees_all ? longest + 1 : known + 1 + most,
                                 .hypotheses = 1,
                                 .slots = 2 * longest + 2, /* a history left behind, and the new */
                                 .top_k = top_k };
}

/* Tokens that the drafter's history and the hypothesis have in common. One that is to say what
 * follows it is read again. */
static int32_t in_common(const pk_draft_block *d, const int32_t *hypothesis, int32_t n) {
    const int32_t most = n + !d->mask.next;
    int32_t       i = 0;
    while (!d->mask.sees_all && i < d->n_read && i < most && d->read[i] == hypothesis[i]) i++;
    return i;
}

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }

void pk_draft_propose(pk_draft_block *d, pk_pass *pass, const int32_t *hypothesis, int32_t n,
                      int32_t places, int32_t top_k) {
    const int32_t room = at_most(pass->room, d->room);
    d->first = in_common(d, hypothesis, n);
    d->chain = at_most(n + 1 - d->first, room);
    if (d->first + d->chain <= n) places = 0;
    d->leads = d->mask.next && places > 0;
    d->masks = at_most(at_most(places, d->most) - d->leads, room - d->chain);
    assert(d->chain > 0 || d->first == d->n_read); /* it never becomes shorter */
    pass->model = 1;
    memcpy(d->read + d->first, hypothesis + d->first, (size_t)d->chain * sizeof *hypothesis);
    for (int32_t i = 0; i < d->chain + d->masks; i++) {
        const bool masked = i >= d->chain, asked = masked || (d->leads && i == d->chain - 1);
        pk_ask_add(pass, (pk_ask){ .token = masked ? d->mask.token : hypothesis[d->first + i],
                                   .pos = d->first + i + (masked && d->leads),
                                   .parent = i ? pass->n : d->first - d->n_read,
                                   .block = masked || d->mask.sees_all,
                                   .top_k = asked ? top_k : 0,
                                   .logp = asked,
                                   .ahead = masked ? -1 : 0 });
    }
}

int32_t pk_draft_absorb(pk_draft_block *d, const pk_pass *pass, pk_verdict *verdict) {
    assert(pass->n == d->chain + d->masks);
    (void)pass;
    if (d->mask.sees_all)
        pk_keep_empty(verdict);
    else if (d->chain)
        pk_keep(verdict, d->chain);
    else
        pk_keep_hypothesis(verdict, 0);
    d->n_read = d->mask.sees_all ? 0 : d->first + d->chain;
    return d->masks + d->leads;
}
