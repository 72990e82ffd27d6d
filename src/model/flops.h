/* flops.h - floating-point operations of the forward pass, counted from shapes.
 *
 * A product of (m, k) and (k, n) is 2 m n k operations: a multiplication and an addition each.
 * Products are counted, those of attention included; looking up embeddings, norms, activations and
 * softmaxes are not. What is computed in integers counts as if it were not. */
#ifndef PK_MODEL_FLOPS_H
#define PK_MODEL_FLOPS_H
#include "model/network.h"

typedef struct pk_flops {               /* of one network; a pair: a token and one that it sees */
    uint64_t source_token, source_pair; /* all layers of the encoder */
    uint64_t remembered;                /* keys and values of a source token, for the decoder */
    uint64_t target_token, target_pair; /* all layers of the decoder; pairs of both attentions */
    uint64_t silent_token, silent_pair; /* less, where a target token's state is not asked for */
} pk_flops;

pk_flops pk_flops_of(const pk_network *net);
/* of one output of a product over so many inputs, such as a logit */
static inline uint64_t pk_flops_output(int32_t inputs) { return 2 * (uint64_t)inputs; }
#endif
