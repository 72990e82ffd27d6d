/* chain.c - given tokens as a chain of asks: ask i + 1 follows ask i, and its target is the next
 * given token. The first tokens may be certain (a language symbol): those are fed, but their
 * log-probability is not asked for. */
#include "decode/chain.h"

pk_chain pk_chain_begin(const pk_source *src, bool forced, bool logp) {
    return (pk_chain){
        .start = src->model->start,
        .token = forced ? src->forced : src->prefix,
        .n = forced ? src->n_forced : src->n_prefix,
        .n_free = src->n_free_prefix,
        .logp = logp,
        .attention = src->want_attention,
    };
}

int32_t pk_chain_propose(pk_chain *c, pk_pass *pass) {
    int32_t       parent = 0;
    const int32_t left = c->n - c->fed;
    c->asked = left < pass->room ? left : pass->room;
    for (int32_t i = c->fed; i < c->fed + c->asked; i++) {
        const bool scored = c->logp && i >= c->n_free;
        parent = pk_ask_add(pass, (pk_ask){ .token = i ? c->token[i - 1] : c->start,
                                            .pos = i,
                                            .parent = parent,
                                            .logp = scored,
                                            .attention = c->attention,
                                            .target = scored ? c->token + i : NULL,
                                            .n_target = scored });
    }
    return parent;
}

bool pk_chain_absorb(pk_chain *c, const pk_pass *pass, pk_output *out) {
    for (int32_t i = 1; i <= c->asked; i++, c->fed++) {
        const pk_answer *a = &pass->answer[i];
        const bool       scored = c->logp && c->fed >= c->n_free;
        pk_output_add(out, c->token[c->fed], scored ? a->target_logp[0] : 0, a->attention);
    }
    return pass->n > c->asked; /* asks behind the chain are the strategy's own */
}
