/* network.h - the network's weights, listed once.
 *
 * pk_network_walk() names every weight with its shape and what it is for; reading, importing,
 * converting, training and writing models all walk that one list. No code derives it from a name.
 * The forward pass is forward.c. */
#ifndef PK_MODEL_NETWORK_H
#define PK_MODEL_NETWORK_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "model/config.h"

typedef struct pk_dense { pk_weight w, b; } pk_dense;                 /* (out, in), (1, out) */
typedef struct pk_norm { pk_weight gain, bias; } pk_norm;             /* (1, dim) each */

typedef struct pk_encoder_layer {
    pk_dense qkv, out;                          /* (3D, D): queries, keys, values; (D, D) */
    pk_norm  self_norm;
    pk_dense up, down;                          /* (F, D), (D, F) */
    pk_norm  ffn_norm;
} pk_encoder_layer;

typedef struct pk_decoder_layer {
    pk_dense qkv, out;
    pk_norm  self_norm;
    pk_dense cross_q, cross_kv, cross_out;      /* (D, D), (2D, D): keys, values; (D, D) */
    pk_norm  cross_norm;
    pk_dense up, down;
    pk_norm  ffn_norm;
} pk_decoder_layer;

typedef struct pk_network {
    pk_config         config;
    pk_weight         source_embed, target_embed, output;     /* (V, D); may be the same weight */
    pk_weight         output_bias;                            /* (1, V) */
    pk_weight         own_embed;                              /* (own tokens, D): config.first_own */
    pk_weight         source_positions, target_positions;     /* (max, D), plain */
    pk_norm           source_norm, target_norm;               /* embed_norm */
    pk_norm           encoder_norm, decoder_norm;             /* final_norm */
    pk_encoder_layer *encoder;
    pk_decoder_layer *decoder;
} pk_network;

/* takes the layer arrays for net->config, which must be checked */
pk_status pk_network_init(pk_network *net);
void      pk_network_free(pk_network *net);

typedef enum pk_role {
    PK_ROLE_EMBEDDING,                          /* (V, D): a row for each token */
    PK_ROLE_OUTPUT,                             /* (V, D): the output layer */
    PK_ROLE_PROJECTION,                         /* queries, keys, values: (D, D) each, end to end */
    PK_ROLE_DENSE,                              /* any other matrix of a layer */
    PK_ROLE_BIAS,                               /* (1, outputs) of one of those */
    PK_ROLE_OUTPUT_BIAS,                        /* (1, V) */
    PK_ROLE_GAIN, PK_ROLE_SHIFT,                /* (1, D) of a norm */
    PK_ROLE_POSITIONS,                          /* (max, D): a row for each position */
} pk_role;
typedef enum pk_stack { PK_ENCODER, PK_DECODER } pk_stack;

typedef struct pk_weight_spec {                 /* what the list says of a weight */
    const char *name;                           /* "encoder.0.qkv.w" ...; valid during the visit */
    int32_t     rows, cols;                     /* as the configuration says */
    pk_role     role;
    pk_stack    stack;                          /* whose it is */
    int32_t     layer;                          /* of that stack; -1: of none */
    bool        matrix;                         /* in panels, in the model's type; else plain F32 */
} pk_weight_spec;

/* the (V, D) matrices */
static inline bool pk_role_is_table(pk_role role) {
    return role == PK_ROLE_EMBEDDING || role == PK_ROLE_OUTPUT;
}

/* Calls visit for every weight there is under this configuration, until one fails. Shared ones
 * appear once. */
typedef pk_status (*pk_weight_visit)(void *user, const pk_weight_spec *spec, pk_weight *w);
pk_status pk_network_walk(pk_network *net, pk_weight_visit visit, void *user);
/* the output layer of a slice, where it lies: 0 the text, then the groups */
void      pk_network_slice(const pk_network *net, int32_t slice, pk_weight *table, pk_weight *bias);
/* after loading: lets shared tables point at the one that was loaded */
void      pk_network_share(pk_network *net);
#endif
