/* network.h - the network's weights, listed once.
 *
 * pk_network_walk() names every weight with its shape; reading, importing, converting and writing
 * models all walk that one list. The forward pass is encoder.c and decoder.c. */
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
    pk_weight         source_positions, target_positions;     /* (max, D), plain */
    pk_norm           source_norm, target_norm;               /* embed_norm */
    pk_norm           encoder_norm, decoder_norm;             /* final_norm */
    pk_encoder_layer *encoder;
    pk_decoder_layer *decoder;
} pk_network;

/* takes the layer arrays for net->config, which must be checked */
pk_status pk_network_init(pk_network *net);
void      pk_network_free(pk_network *net);

/* Calls visit for every weight there is under this configuration, until one fails. rows and cols are
 * what the configuration says. Matrices go in panels in the model's type; the rest is plain F32.
 * Names: "source_embed", "encoder.0.qkv.w", "decoder.3.cross_norm.gain" ... shared ones appear once. */
typedef pk_status (*pk_weight_visit)(void *user, const char *name, pk_weight *w, int32_t rows,
                                     int32_t cols, bool matrix);
pk_status pk_network_walk(pk_network *net, pk_weight_visit visit, void *user);
/* after loading: lets shared tables point at the one that was loaded */
void      pk_network_share(pk_network *net);
#endif
