/* network.c - the one list of weights: names and shapes, from the configuration. */
#include "model/network.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"

pk_status pk_network_init(pk_network *net) {
    PK_TRY(PK_TAKE(&net->encoder, (size_t)net->config.encoder_layers));
    return PK_TAKE(&net->decoder, (size_t)net->config.decoder_layers);
}

void pk_network_free(pk_network *net) {
    pk_memory_give(net->encoder);
    pk_memory_give(net->decoder);
    *net = (pk_network){ 0 };
}

typedef struct walker { /* who is visiting, and where in the list it is */
    pk_weight_visit visit;
    void           *user;
    char            prefix[32]; /* "encoder.3." or "" */
} walker;

static pk_status at(const walker *k, const char *name, const char *part, pk_weight *w, int32_t rows,
                    int32_t cols, bool matrix) {
    char      full[96];
    const int size = snprintf(full, sizeof full, "%s%s%s", k->prefix, name, part);
    assert(size < (int)sizeof full);
    (void)size;
    return k->visit(k->user, full, w, rows, cols, matrix);
}

static pk_status dense(const walker *k, const char *name, pk_dense *d, int32_t out, int32_t in) {
    PK_TRY(at(k, name, ".w", &d->w, out, in, true));
    return at(k, name, ".b", &d->b, 1, out, false);
}

static pk_status norm(const walker *k, const char *name, pk_norm *n, int32_t dim) {
    PK_TRY(at(k, name, ".gain", &n->gain, 1, dim, false));
    return at(k, name, ".bias", &n->bias, 1, dim, false);
}

static pk_status tables(const walker *k, pk_network *net) {
    const pk_config *c = &net->config;
    PK_TRY(at(k, "source_embed", "", &net->source_embed, c->source_vocab, c->dim, true));
    if (!c->share_embeddings)
        PK_TRY(at(k, "target_embed", "", &net->target_embed, c->target_vocab, c->dim, true));
    if (!c->tie_output) PK_TRY(at(k, "output", "", &net->output, c->target_vocab, c->dim, true));
    PK_TRY(at(k, "output_bias", "", &net->output_bias, 1, c->target_vocab, false));
    PK_TRY(at(k, "source_positions", "", &net->source_positions, c->max_source, c->dim, false));
    PK_TRY(at(k, "target_positions", "", &net->target_positions, c->max_target, c->dim, false));
    if (c->embed_norm) {
        PK_TRY(norm(k, "source_norm", &net->source_norm, c->dim));
        PK_TRY(norm(k, "target_norm", &net->target_norm, c->dim));
    }
    if (c->final_norm) {
        PK_TRY(norm(k, "encoder_norm", &net->encoder_norm, c->dim));
        PK_TRY(norm(k, "decoder_norm", &net->decoder_norm, c->dim));
    }
    return PK_OK;
}

static pk_status encoder_layer(const walker *k, pk_encoder_layer *l, int32_t dim, int32_t ffn) {
    PK_TRY(dense(k, "qkv", &l->qkv, 3 * dim, dim));
    PK_TRY(dense(k, "out", &l->out, dim, dim));
    PK_TRY(norm(k, "self_norm", &l->self_norm, dim));
    PK_TRY(dense(k, "up", &l->up, ffn, dim));
    PK_TRY(dense(k, "down", &l->down, dim, ffn));
    return norm(k, "ffn_norm", &l->ffn_norm, dim);
}

static pk_status decoder_layer(const walker *k, pk_decoder_layer *l, int32_t dim, int32_t ffn) {
    PK_TRY(dense(k, "qkv", &l->qkv, 3 * dim, dim));
    PK_TRY(dense(k, "out", &l->out, dim, dim));
    PK_TRY(norm(k, "self_norm", &l->self_norm, dim));
    PK_TRY(dense(k, "cross_q", &l->cross_q, dim, dim));
    PK_TRY(dense(k, "cross_kv", &l->cross_kv, 2 * dim, dim));
    PK_TRY(dense(k, "cross_out", &l->cross_out, dim, dim));
    PK_TRY(norm(k, "cross_norm", &l->cross_norm, dim));
    PK_TRY(dense(k, "up", &l->up, ffn, dim));
    PK_TRY(dense(k, "down", &l->down, dim, ffn));
    return norm(k, "ffn_norm", &l->ffn_norm, dim);
}

pk_status pk_network_walk(pk_network *net, pk_weight_visit visit, void *user) {
    const pk_config *c = &net->config;
    walker           k = { .visit = visit, .user = user };
    assert((net->encoder && net->decoder) || !c->encoder_layers); /* pk_network_init came first */
    PK_TRY(tables(&k, net));
    for (int32_t i = 0; i < c->encoder_layers; i++) {
        snprintf(k.prefix, sizeof k.prefix, "encoder.%d.", i);
        PK_TRY(encoder_layer(&k, &net->encoder[i], c->dim, c->encoder_ffn));
    }
    for (int32_t i = 0; i < c->decoder_layers; i++) {
        snprintf(k.prefix, sizeof k.prefix, "decoder.%d.", i);
        PK_TRY(decoder_layer(&k, &net->decoder[i], c->dim, c->decoder_ffn));
    }
    return PK_OK;
}

void pk_network_share(pk_network *net) {
    if (net->config.share_embeddings) net->target_embed = net->source_embed;
    if (net->config.tie_output) net->output = net->target_embed;
}
