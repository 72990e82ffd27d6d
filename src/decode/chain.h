/* chain.h - tokens that are given beforehand (a language, the user's prefix, a whole translation to
 * score), fed to the decoder as a chain of asks: input i, where input 0 is the start symbol,
 * predicts given token i. Several passes are used when one has no room for the whole chain. */
#ifndef PK_DECODE_CHAIN_H
#define PK_DECODE_CHAIN_H
#include "decode/output.h"

typedef struct pk_chain {
    int32_t        start;           /* input 0 */
    const int32_t *token;           /* (n) the given tokens */
    int32_t        n, n_free;       /* the first n_free are certain: log-probability 0 */
    int32_t        fed, asked;      /* inputs kept so far; inputs in the pass in flight */
    bool           logp, attention; /* what to ask for */
} pk_chain;

/* the prefix of a sentence, or with `forced` its whole forced output */
pk_chain pk_chain_begin(const pk_source *src, bool forced, bool logp);
/* adds the tokens that are left, as many as fit; returns the last ask, which the strategy's own
 * asks follow (0: the history) */
int32_t pk_chain_propose(pk_chain *c, pk_pass *pass);
/* moves the given tokens and their answers to the output; true when the pass has asks after
 * these */
bool pk_chain_absorb(pk_chain *c, const pk_pass *pass, pk_output *out);
#endif
