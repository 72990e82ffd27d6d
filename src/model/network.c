/* network.c - the one list of weights: names, shapes and roles, from the configuration.
 *
 * Files, importers, the trainer and conversions all walk this list with a visitor of theirs. A
 * weight that a configuration does not have is not visited; shared tables are visited once. */
#include "model/network.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "tensor/panel.h"

pk_status pk_network_init(pk_network *net) {
    PK_TRY(PK_TAKE(&net->encoder, (size_t)net->config.encoder_layers));
    return PK_TAKE(&net->decoder, (size_t)net->config.decoder_layers);
}

void pk_network_free(pk_network *net) {
    pk_memory_give(net->encoder);
    pk_memory_give(net->decoder);
    *net = (pk_network){ 0 };
}

typedef struct walker { /* the visitor, and the present position in the list */
    pk_weight_visit visit;
    void           *user;
    pk_stack        stack;
    int32_t         layer; /* -1: outside of layers */
} walker;

/* Visits one weight. Its full name is "encoder.3.qkv.w" in a layer, else "source_embed" and so
 * on. */
static pk_status at(const walker *k, const char *name, const char *part, pk_weight *w, int32_t rows,
                    int32_t cols, pk_role role) {
    char           full[96];
    pk_weight_spec spec = { .name = full,
                            .rows = rows,
                            .cols = cols,
                            .role = role,
                            .stack = k->stack,
                            .layer = k->layer,
                            .matrix = role <= PK_ROLE_DENSE };
    const char    *stack = k->stack == PK_DECODER ? "decoder" : "encoder";
    const int      size = k->layer < 0
                              ? snprintf(full, sizeof full, "%s%s", name, part)
                              : snprintf(full, sizeof full, "%s.%d.%s%s", stack, k->layer, name, part);
    assert(size < (int)sizeof full);
    (void)size;
    return k->visit(k->user, &spec, w);
}

/* y = x W^T + b: W is (out, in) */
static pk_status dense(const walker *k, const char *name, pk_dense *d, int32_t out, int32_t in,
                       pk_role role) {
    PK_TRY(at(k, name, ".w", &d->w, out, in, role));
    return at(k, name, ".b", &d->b, 1, out, PK_ROLE_BIAS);
}

/* y = gain (x - mean) / deviation + bias */
static pk_status norm(const walker *k, const char *name, pk_norm *n, int32_t dim) {
    PK_TRY(at(k, name, ".gain", &n->gain, 1, dim, PK_ROLE_GAIN));
    return at(k, name, ".bias", &n->bias, 1, dim, PK_ROLE_SHIFT);
}

/* of a drafter that shares its model's encoder and tables: what it has besides layers */
static pk_status own_tables(const walker *d, pk_network *net) {
    const pk_config *c = &net->config;
    const int32_t    own = c->target_vocab - c->first_own;
    if (own) PK_TRY(at(d, "own_embed", "", &net->own_embed, own, c->dim, PK_ROLE_EMBEDDING));
    if (c->embed_norm) PK_TRY(norm(d, "target_norm", &net->target_norm, c->dim));
    return c->final_norm ? norm(d, "decoder_norm", &net->decoder_norm, c->dim) : PK_OK;
}

/* all weights outside of layers; tied tables are listed once, pk_network_share() copies pointers */
static pk_status tables(const walker *e, const walker *d, pk_network *net) {
    const pk_config *c = &net->config;
    const int32_t    source = c->source_vocab, target = c->target_vocab, dim = c->dim;
    PK_TRY(at(e, "source_embed", "", &net->source_embed, source, dim, PK_ROLE_EMBEDDING));
    if (!c->share_embeddings)
        PK_TRY(at(d, "target_embed", "", &net->target_embed, target, dim, PK_ROLE_EMBEDDING));
    if (!c->tie_output) PK_TRY(at(d, "output", "", &net->output, target, dim, PK_ROLE_OUTPUT));
    PK_TRY(at(d, "output_bias", "", &net->output_bias, 1, target, PK_ROLE_OUTPUT_BIAS));
    PK_TRY(at(e, "source_positions", "", &net->source_positions, c->max_source, dim,
              PK_ROLE_POSITIONS));
    PK_TRY(at(d, "target_positions", "", &net->target_positions, c->max_target, dim,
              PK_ROLE_POSITIONS));
    if (c->embed_norm) {
        PK_TRY(norm(e, "source_norm", &net->source_norm, dim));
        PK_TRY(norm(d, "target_norm", &net->target_norm, dim));
    }
    if (c->final_norm) {
        PK_TRY(norm(e, "encoder_norm", &net->encoder_norm, dim));
        PK_TRY(norm(d, "decoder_norm", &net->decoder_norm, dim));
    }
    return PK_OK;
}

/* queries, keys and values are one matrix: (3D, D) */
static pk_status encoder_layer(const walker *k, pk_encoder_layer *l, int32_t dim, int32_t ffn) {
    PK_TRY(dense(k, "qkv", &l->qkv, 3 * dim, dim, PK_ROLE_PROJECTION));
    PK_TRY(dense(k, "out", &l->out, dim, dim, PK_ROLE_DENSE));
    PK_TRY(norm(k, "self_norm", &l->self_norm, dim));
    PK_TRY(dense(k, "up", &l->up, ffn, dim, PK_ROLE_DENSE));
    PK_TRY(dense(k, "down", &l->down, dim, ffn, PK_ROLE_DENSE));
    return norm(k, "ffn_norm", &l->ffn_norm, dim);
}

/* the same with attention to the source, whose keys and values are one matrix: (2D, D) */
static pk_status decoder_layer(const walker *k, pk_decoder_layer *l, int32_t dim, int32_t ffn) {
    PK_TRY(dense(k, "qkv", &l->qkv, 3 * dim, dim, PK_ROLE_PROJECTION));
    PK_TRY(dense(k, "out", &l->out, dim, dim, PK_ROLE_DENSE));
    PK_TRY(norm(k, "self_norm", &l->self_norm, dim));
    PK_TRY(dense(k, "cross_q", &l->cross_q, dim, dim, PK_ROLE_PROJECTION));
    PK_TRY(dense(k, "cross_kv", &l->cross_kv, 2 * dim, dim, PK_ROLE_PROJECTION));
    PK_TRY(dense(k, "cross_out", &l->cross_out, dim, dim, PK_ROLE_DENSE));
    PK_TRY(norm(k, "cross_norm", &l->cross_norm, dim));
    PK_TRY(dense(k, "up", &l->up, ffn, dim, PK_ROLE_DENSE));
    PK_TRY(dense(k, "down", &l->down, dim, ffn, PK_ROLE_DENSE));
    return norm(k, "ffn_norm", &l->ffn_norm, dim);
}

pk_status pk_network_walk(pk_network *net, pk_weight_visit visit, void *user) {
    const pk_config *c = &net->config;
    walker           e = { visit, user, PK_ENCODER, -1 }, d = { visit, user, PK_DECODER, -1 };
    assert((net->encoder && net->decoder) || !c->encoder_layers); /* pk_network_init came first */
    PK_TRY(c->shares_encoder ? own_tables(&d, net) : tables(&e, &d, net));
    for (e.layer = 0; e.layer < c->encoder_layers && !c->shares_encoder; e.layer++)
        PK_TRY(encoder_layer(&e, &net->encoder[e.layer], c->dim, c->encoder_ffn));
    for (d.layer = 0; d.layer < c->decoder_layers; d.layer++)
        PK_TRY(decoder_layer(&d, &net->decoder[d.layer], c->dim, c->decoder_ffn));
    return PK_OK;
}

void pk_network_share(pk_network *net) {
    if (net->config.share_embeddings) net->target_embed = net->source_embed;
    if (net->config.tie_output) net->output = net->target_embed;
}

void pk_network_slice(const pk_network *net, int32_t slice, pk_weight *table, pk_weight *bias) {
    const pk_config *c = &net->config;
    assert(slice >= 0 && slice <= c->n_groups);
    const int32_t first = slice ? c->group[slice - 1].first : 0;
    const int32_t n = slice ? c->group[slice - 1].count : pk_config_text(c);
    *table = pk_weight_rows(&net->output, first, n);
    *bias = pk_weight_part(&net->output_bias, first, n);
}
