/* drafter.c - a drafter cut off the network that it was trained in, and joined to its model again.
 *
 * Its tokens are the model's and a few of its own behind them. The output layer is the model's,
 * where it lies; target embeddings are a copy with the drafter's rows behind, since rows of a table
 * lie in one piece. */
#include "model/drafter.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "model/model_data.h"
#include "tensor/panel.h"

/* ---- fingerprint ---- */

/* matrices depend on the number type; positions are mostly sinusoids */
static pk_status add_vector(void *user, const pk_weight_spec *spec, pk_weight *w) {
    uint64_t *sum = user;
    if (!spec->matrix && spec->role != PK_ROLE_POSITIONS)
        *sum = pk_checksum_add(*sum, w->data, (size_t)w->rows * (size_t)w->cols * sizeof(float));
    return PK_OK;
}

void pk_fingerprint(const pk_model_data *m, char out[PK_FINGERPRINT]) {
    pk_network net = m->network; /* walking wants to write; this does not */
    uint64_t   sum = pk_hash(m->source_tokens.data, m->source_tokens.size);
    sum = pk_checksum_add(sum, m->target_tokens.data, m->target_tokens.size);
    pk_network_walk(&net, add_vector, &sum);
    snprintf(out, PK_FINGERPRINT, "%016llx", (unsigned long long)pk_mix(sum));
}

/* ---- cutting ---- */

/* rows of `from` from first on become `count` rows of packed data from `to` on */
static pk_status copy_rows(const pk_weight *from, int32_t first, int32_t count, pk_dtype type,
                           void *data, float *scale, int32_t to) {
    float *row;
    PK_TRY(PK_TAKE(&row, (size_t)from->cols));
    for (int32_t i = 0; i < count; i++) {
        for (int32_t col = 0; col < from->cols; col++)
            row[col] = pk_weight_get(from, first + i, col);
        pk_panel_pack(data, scale, from->cols, type, to + i, 1, row);
    }
    pk_memory_give(row);
    return PK_OK;
}

/* the names of tokens from number `first` on */
static pk_blob names_from(pk_blob tokens, int32_t first) {
    const char *at = tokens.data, *end = at + tokens.size;
    for (int32_t i = 0; i < first; i++) at += strlen(at) + 1;
    return (pk_blob){ at, (size_t)(end - at) };
}

pk_status pk_drafter_cut(pk_model_data *m, int32_t n_tokens, const char *verifier) {
    pk_network    *net = &m->network;
    pk_config     *c = &net->config;
    const int32_t  own = c->target_vocab - n_tokens;
    const pk_dtype type = net->target_embed.type;
    void          *data;
    float         *scale;
    if (own) {
        PK_TRY(pk_model_data_take_matrix(m, own, c->dim, type, &net->own_embed, &data, &scale));
        PK_TRY(copy_rows(&net->target_embed, n_tokens, own, type, data, scale, 0));
    }
    const pk_blob tokens = m->target_tokens.size ? m->target_tokens : m->source_tokens;
    m->target_tokens = names_from(tokens, n_tokens);
    m->source_spm = m->target_spm = m->source_tokens = (pk_blob){ 0 };
    c->shares_encoder = 1;
    c->first_own = n_tokens;
    snprintf(c->verifier, sizeof c->verifier, "%s", verifier);
    return pk_config_check(c);
}

/* ---- joining ---- */

/* What the file says of its model must be so: kernels trust it. */
static pk_status check_fit(const pk_model_data *model, const pk_model_data *drafter) {
    const pk_config *v = &model->network.config, *d = &drafter->network.config;
    char             fingerprint[PK_FINGERPRINT];
    pk_fingerprint(model, fingerprint);
    if (strcmp(fingerprint, d->verifier) != 0)
        PK_FAIL(PK_UNSUPPORTED, "this drafter shares the encoder of another model than this one: "
                                "use the model that it was trained for");
    if (d->dim != v->dim || d->first_own != v->target_vocab || d->embed_norm != v->embed_norm ||
        pk_config_text(d) != pk_config_text(v))
        PK_FAIL(PK_FORMAT, "the drafter's configuration does not fit its model: train it anew");
    if (!drafter->lexicon.source_vocab) return PK_OK;
    const pk_text_tokens text = pk_model_data_text(model);
    return pk_lexicon_check(&drafter->lexicon, text.source, text.target, text.fingerprint);
}

/* The configuration of a whole network: sources and conventions are the model's, the decoder is the
 * drafter's. */
static pk_config joined_config(const pk_config *v, const pk_config *d) {
    pk_config c = *d;
    c.source_vocab = v->source_vocab;
    c.encoder_layers = v->encoder_layers;
    c.max_source = v->max_source, c.max_target = v->max_target;
    c.start = v->start, c.eos = v->eos, c.right_to_left = v->right_to_left;
    c.embed_scale = v->embed_scale;
    c.n_suppressed = v->n_suppressed;
    memcpy(c.suppressed, v->suppressed, sizeof c.suppressed);
    c.share_embeddings = c.tie_output = c.shares_encoder = c.first_own = 0;
    memset(c.verifier, 0, sizeof c.verifier);
    return c;
}

/* Whole panels are copied; a last one that is not full is packed again with what follows. */
static pk_status join_tables(const pk_weight *model, const pk_weight *own, pk_joined *j) {
    const int32_t whole = model->rows / PK_PANEL * PK_PANEL, rows = model->rows + own->rows;
    PK_TRY(pk_memory_take(pk_panel_bytes(rows, model->cols, model->type), 1, &j->table));
    if (model->type == PK_I8) PK_TRY(PK_TAKE(&j->scale, (size_t)rows));
    memcpy(j->table, model->data, pk_panel_bytes(whole, model->cols, model->type));
    if (j->scale) memcpy(j->scale, model->scale, (size_t)whole * sizeof *j->scale);
    PK_TRY(copy_rows(model, whole, model->rows - whole, model->type, j->table, j->scale, whole));
    if (own->rows)
        PK_TRY(copy_rows(own, 0, own->rows, model->type, j->table, j->scale, model->rows));
    j->net.target_embed = (pk_weight){
        .data = j->table, .scale = j->scale, .rows = rows, .cols = model->cols, .type = model->type
    };
    return PK_OK;
}

/* The encoder, the source side and the output layer are the model's, the decoder's layers are the
 * drafter's. Weights are pointed at, not copied; only the target table is made anew. */
static pk_status join(const pk_model_data *model, const pk_model_data *drafter, pk_joined *j) {
    const pk_network *v = &model->network, *d = &drafter->network;
    PK_TRY(check_fit(model, drafter));
    j->net.config = joined_config(&v->config, &d->config);
    PK_TRY(pk_config_check(&j->net.config));
    PK_TRY(pk_network_init(&j->net));
    memcpy(j->net.encoder, v->encoder, (size_t)v->config.encoder_layers * sizeof *v->encoder);
    memcpy(j->net.decoder, d->decoder, (size_t)d->config.decoder_layers * sizeof *d->decoder);
    j->net.source_embed = v->source_embed;
    j->net.output = v->output;
    j->net.output_bias = v->output_bias;
    j->net.source_positions = v->source_positions, j->net.target_positions = v->target_positions;
    j->net.source_norm = v->source_norm, j->net.target_norm = d->target_norm;
    j->net.encoder_norm = v->encoder_norm, j->net.decoder_norm = d->decoder_norm;
    return join_tables(&v->target_embed, &d->own_embed, j);
}

pk_status pk_drafter_join(const pk_model_data *model, const pk_model_data *drafter,
                          pk_joined *out) {
    *out = (pk_joined){ 0 };
    const pk_status status = join(model, drafter, out);
    if (status != PK_OK) pk_joined_close(out);
    return status;
}

void pk_joined_close(pk_joined *j) {
    pk_network_free(&j->net);
    pk_memory_give(j->table);
    pk_memory_give(j->scale);
    *j = (pk_joined){ 0 };
}
