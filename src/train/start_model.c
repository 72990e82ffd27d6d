/* start_model.c - a fresh model's configuration and vocabulary, or a loaded model's.
 *
 * A fresh vocabulary's token list is that of the SentencePiece model, with the task's own tokens
 * behind it (start_tokens.c). The start symbol is a row of zeros, so no token is spent on it. */
#include "train/start_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/drafter.h"
#include "model/model_data.h"
#include "vocab/spm.h"
#include "vocab/token_list.h"

/* ---- vocabulary ---- */

/* the model's own list of tokens: ids are SentencePiece's */
static pk_status list_pieces(pk_model_data *m, pk_blob spm, pk_blob *tokens) {
    pk_spm   *s;
    pk_buffer names = { 0 };
    PK_TRY(pk_spm_open(spm.data, spm.size, &s));
    pk_status status = pk_spm_pieces(s, &names);
    if (status == PK_OK) status = pk_model_data_copy(m, names.data, names.size, tokens);
    pk_buffer_free(&names);
    pk_spm_close(s);
    return status;
}

static pk_status read_spm(pk_model_data *m, const char *path, pk_blob *spm, pk_blob *tokens) {
    PK_TRY(pk_model_data_read_spm(m, path, spm));
    const pk_status status = list_pieces(m, *spm, tokens);
    if (status == PK_FORMAT) pk_fail_context("%s", path);
    return status;
}

static pk_status find_token(pk_blob tokens, const char *name, int32_t *id) {
    pk_token_list list;
    PK_TRY(pk_token_list_open(tokens.data, tokens.size, &list));
    *id = pk_token_list_find(&list, name, strlen(name));
    pk_token_list_close(&list);
    return PK_OK;
}

/* one id must serve both sides: the end symbol closes source and target alike */
static pk_status find_symbol(const pk_model_data *m, const char *name, int32_t *id) {
    int32_t other;
    PK_TRY(find_token(m->source_tokens, name, id));
    if (*id < 0) PK_FAIL(PK_FORMAT, "the vocabulary has no %s: make one with `pronk vocab`", name);
    if (m->target_tokens.size == 0) return PK_OK;
    PK_TRY(find_token(m->target_tokens, name, &other));
    if (other != *id)
        PK_FAIL(
            PK_FORMAT,
            "%s is token %d of vocab and token %d of vocab_target: make both with `pronk vocab`",
            name, *id, other);
    return PK_OK;
}

static pk_status read_vocabulary(const pk_recipe *r, pk_model_data *m) {
    pk_config *c = &m->network.config;
    if (!*r->vocab) PK_FAIL(PK_ARGUMENT, "no vocabulary: give vocab (or init) in the recipe");
    PK_TRY(read_spm(m, r->vocab, &m->source_spm, &m->source_tokens));
    if (*r->target_vocab) PK_TRY(read_spm(m, r->target_vocab, &m->target_spm, &m->target_tokens));
    PK_TRY(find_symbol(m, "</s>", &c->eos));
    PK_TRY(find_symbol(m, "<unk>", &c->unk));
    c->source_vocab = (int32_t)pk_token_count(m->source_tokens);
    c->target_vocab =
        *r->target_vocab ? (int32_t)pk_token_count(m->target_tokens) : c->source_vocab;
    return PK_OK;
}

/* ---- configuration ---- */

static pk_status copy_language(const char *code, char *out, size_t room) {
    if (strlen(code) >= room) PK_FAIL(PK_ARGUMENT, "\"%.40s\" is no language code", code);
    memcpy(out, code, strlen(code) + 1);
    return PK_OK;
}

/* Choices that a recipe does not offer are those of Vaswani et al. 2017: embeddings times sqrt(dim);
 * with norms before the blocks there is one behind the last. */
static pk_status fill_config(const pk_recipe *r, pk_config *c) {
    if (r->tie == PK_TIE_ALL && *r->target_vocab)
        PK_FAIL(PK_ARGUMENT,
                "two vocabularies cannot share a table: set model.tie to decoder or none");
    c->dim = (int32_t)r->dim;
    c->encoder_layers = (int32_t)r->encoder_layers;
    c->decoder_layers = (int32_t)r->decoder_layers;
    c->encoder_heads = c->decoder_heads = (int32_t)r->heads;
    c->encoder_ffn = c->decoder_ffn = (int32_t)r->ffn;
    if (r->decoder_ffn) c->decoder_ffn = (int32_t)r->decoder_ffn;
    c->act = r->act;
    c->pre_norm = c->final_norm = r->norm == PK_NORM_PRE;
    c->share_embeddings = r->tie == PK_TIE_ALL;
    c->tie_output = r->tie != PK_TIE_NONE;
    c->embed_scale = sqrtf((float)r->dim);
    c->max_source = c->max_target = (int32_t)r->max_positions;
    PK_TRY(copy_language(r->source_language, c->source_language, sizeof c->source_language));
    return copy_language(r->target_language, c->target_language, sizeof c->target_language);
}

static pk_status make_fresh(const pk_recipe *r, pk_model_data *m) {
    pk_config_defaults(&m->network.config);
    PK_TRY(read_vocabulary(r, m));
    PK_TRY(fill_config(r, &m->network.config));
    return pk_config_check(&m->network.config);
}

/* ---- the whole ---- */

/* Files that say nothing of tasks are of `at`, so that one is not said. */
static pk_status record_task(const pk_recipe *r, const pk_task *task, const void *options,
                             pk_config *c) {
    const char *also = task->also ? task->also(options) : "";
    c->right_to_left = task->backwards;
    memset(c->tasks, 0, sizeof c->tasks);
    if (strcmp(r->task, "at") == 0) return PK_OK;
    const int n = snprintf(c->tasks, sizeof c->tasks, "%s%s%s", r->task, *also ? " " : "", also);
    if (n < 0 || (size_t)n >= sizeof c->tasks)
        PK_FAIL(PK_ARGUMENT, "task is too long to be recorded in the model: %.100s", r->task);
    return PK_OK;
}

/* a training ends every source with the end symbol */
static pk_status open_trainable(const char *path, pk_model_data *out) {
    PK_TRY(pk_model_data_open(path, -1, out));
    if (out->network.config.bare_source)
        PK_FAIL(PK_UNSUPPORTED,
                "%s: its sources have no end symbol (OpenNMT): it can translate, but not go on "
                "learning",
                path);
    return PK_OK;
}

/* A drafter begins as its model with fewer layers: the last of each equal part of them. */
static pk_status open_verifier(const pk_recipe *r, pk_model_data *m) {
    PK_TRY(open_trainable(r->verifier, m));
    pk_config    *c = &m->network.config;
    const int32_t all = c->decoder_layers, n = (int32_t)r->decoder_layers;
    if (c->shares_encoder) PK_FAIL(PK_UNSUPPORTED, "%s is a drafter itself", r->verifier);
    if (n > all)
        PK_FAIL(PK_ARGUMENT, "model.decoder_layers is %d, but the verifier has %d", n, all);
    pk_fingerprint(m, m->verifier);
    m->n_shared = c->target_vocab;
    for (int32_t i = 0; i < n; i++)
        m->network.decoder[i] = m->network.decoder[(i + 1) * all / n - 1];
    c->decoder_layers = n;
    return PK_OK;
}

/* A vocabulary beside a model to go on from is the model's own, or that with more pieces behind it (`pronk vocab -m`):
 * its tables then grow when they are loaded. */
static pk_status extend_vocabulary(const pk_recipe *r, pk_model_data *m) {
    pk_config *c = &m->network.config;
    pk_blob    spm, tokens;
    PK_TRY(read_spm(m, r->vocab, &spm, &tokens));
    if (spm.size == m->source_spm.size && pk_blob_begins_with(spm, m->source_spm)) return PK_OK;
    if (m->target_tokens.size || *r->target_vocab || !pk_blob_begins_with(tokens, m->source_tokens))
        PK_FAIL(PK_ARGUMENT,
                "%s is not the vocabulary of %s, nor that with more pieces: leave vocab out, or "
                "make one with "
                "`pronk vocab -m %s`",
                r->vocab, r->init, r->init);
    m->source_spm = spm;
    m->source_tokens = tokens;
    c->source_vocab = c->target_vocab = (int32_t)pk_token_count(tokens);
    return PK_OK;
}

static pk_status open_model(const pk_recipe *r, pk_model_data *m) {
    if (*r->verifier) return open_verifier(r, m);
    if (!*r->init) return make_fresh(r, m);
    PK_TRY(open_trainable(r->init, m));
    if (m->network.config.shares_encoder)
        PK_FAIL(PK_UNSUPPORTED, "%s is a drafter without an encoder: give its model as verifier",
                r->init);
    return *r->vocab ? extend_vocabulary(r, m) : PK_OK;
}

pk_status pk_start_model_open(const pk_recipe *r, const pk_task *task, const void *options,
                              pk_model_data *out) {
    *out = (pk_model_data){ 0 };
    pk_status status = open_model(r, out);
    if (status == PK_OK) status = pk_start_languages_add(out, &r->data_to);
    if (status == PK_OK) status = pk_start_tokens_add(out, task, options);
    if (status == PK_OK) status = record_task(r, task, options, &out->network.config);
    if (r->capitals) out->network.config.capitals = 1;
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}

pk_status pk_start_vocab_open(const pk_model_data *m, pk_vocab **out) {
    const pk_config    *c = &m->network.config;
    const pk_vocab_data data = {
        .source_spm = m->source_spm.data,
        .source_spm_size = m->source_spm.size,
        .target_spm = m->target_spm.data,
        .target_spm_size = m->target_spm.size,
        .source_tokens = m->source_tokens.data,
        .source_tokens_size = m->source_tokens.size,
        .target_tokens = m->target_tokens.data,
        .target_tokens_size = m->target_tokens.size,
        .unk = c->unk,
        .eos = c->eos,
        .no_tags = c->family != PK_MARIAN,
    };
    return pk_vocab_open(&data, out);
}

/* "en" names the token "en_XX", as "en_XX" does; "en" alone may be an ordinary piece */
static int32_t find_language(const pk_vocab *v, const char *code) {
    const size_t n = strlen(code);
    if (n > 3) return pk_vocab_find_target(v, code);
    for (int32_t id = pk_vocab_target_size(v) - 1; n && id >= 0; id--) { /* they are the last */
        const char *name = pk_vocab_target_token(v, id);
        if (strncmp(name, code, n) == 0 && name[n] == '_' && strlen(name) == n + 3) return id;
    }
    return -1;
}

pk_status pk_start_tags(const pk_model_data *m, const pk_vocab *v, const pk_recipe *r,
                        int32_t *source, int32_t *target) {
    char tag[32];
    *source = *target = -1;
    if (r->data_to.n) return PK_OK;              /* the corpora have their tags */
    if (m->network.config.family == PK_MARIAN) { /* one of several targets is named in the source */
        snprintf(tag, sizeof tag, ">>%.20s<<", r->target_language);
        *source = pk_vocab_find_source(v, tag);
        return PK_OK;
    }
    *source = find_language(v, r->source_language);
    *target = find_language(v, r->target_language);
    if (*source < 0 || *target < 0)
        PK_FAIL(PK_ARGUMENT, "this model knows several languages: give from and to, as en_XX");
    return PK_OK;
}
