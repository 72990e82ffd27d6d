/* forward.h - the network's forward pass, defined once. Decoding runs it with a memory, training
 * with a tape and the states of the encoder. */
#ifndef PK_MODEL_FORWARD_H
#define PK_MODEL_FORWARD_H
#include "model/network.h"
#include "tensor/ops.h"

/* What the decoder remembers, one pool of rows per layer: keys and values side by side. */
typedef struct pk_memory {
    pk_tensor *self;   /* [layer] (slots, 2D): of target tokens */
    pk_tensor *source; /* [layer] (source rows, 2D): of source tokens */
} pk_memory;

typedef struct pk_target { /* n tokens to push through the decoder */
    int32_t             n;
    int32_t             asked; /* the states of so many, the first ones, are asked for */
    const int32_t      *token, *pos;
    const int32_t      *slot;  /* where each is remembered */
    bool                alone; /* each sees itself alone, and is not remembered: no slot, no self */
    const pk_attention *self, *cross;   /* which rows each token sees */
    const pk_attention *cross_weighted; /* the same with weights, for the layer of the alignment */
    const pk_memory    *memory;         /* NULL while training; then: */
    pk_tensor           source;         /* (source rows, D) output of the encoder */
} pk_target;

/* (n, D) states of n source tokens */
pk_tensor pk_encode(pk_run *r, const pk_network *net, const int32_t *token, const int32_t *pos,
                    int32_t n, const pk_attention *self);
/* projects source states to every decoder layer's keys and values, and stores them in row[i] */
void pk_remember_source(pk_run *r, const pk_network *net, pk_tensor states, const pk_memory *memory,
                        const int32_t *row);
/* (asked, D) states of target tokens, ready for the output layer. The others leave the last layer
 * once their keys and values are remembered. */
pk_tensor pk_decode(pk_run *r, const pk_network *net, const pk_target *t);
/* the decoder layer whose attention is reported as alignment: the last but one (Garg et al. 2019)
 */
int32_t pk_alignment_layer(const pk_network *net);
/* floats of scratch memory that one row needs in the encoder or decoder, whichever is more */
size_t pk_forward_scratch(const pk_network *net);
/* bytes of weights that one decoder pass reads, output layer included */
uint64_t pk_decoder_bytes(const pk_network *net);
#endif
