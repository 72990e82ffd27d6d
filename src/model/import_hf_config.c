/* import_hf_config.c - config.json and generation_config.json as a pk_config.
 *
 * What counts is what transformers (5.x) does with a key, not what its name promises: MarianMT
 * models are post-norm without extra norms whatever normalize_before, normalize_embedding and
 * add_final_layer_norm say; mBART models are always pre-norm with a norm on the embeddings and one
 * at the top. Generation settings come from generation_config.json alone when it is there, else
 * from config.json. Keys that are absent have the defaults of the configuration classes. */
#include <math.h>
#include <string.h>

#include "model/import_hf.h"

/* A key that is absent or null has its default; one of another kind is an error that names it. */
static pk_status get_int(const json_t *object, const char *key, int32_t normal, int32_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_integer(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be an integer", key);
    const json_int_t n = json_integer_value(value);
    if (n < INT32_MIN || n > INT32_MAX) PK_FAIL(PK_FORMAT, "\"%s\" is out of range", key);
    *out = (int32_t)n;
    return PK_OK;
}

static pk_status get_bool(const json_t *object, const char *key, bool normal, int32_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_boolean(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be true or false", key);
    *out = json_is_true(value);
    return PK_OK;
}

static pk_status get_float(const json_t *object, const char *key, float normal, float *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_number(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be a number", key);
    *out = (float)json_number_value(value);
    return PK_OK;
}

/* a token id, alone or as a list of one; -1: none */
static pk_status get_token(const json_t *object, const char *key, int32_t normal, int32_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (json_is_array(value) && json_array_size(value) == 1) value = json_array_get(value, 0);
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_integer(value))
        PK_FAIL(PK_UNSUPPORTED, "\"%s\": only one token can be handled", key);
    const json_int_t n = json_integer_value(value);
    if (n < 0 || n > INT32_MAX) PK_FAIL(PK_FORMAT, "\"%s\" is out of range", key);
    *out = (int32_t)n;
    return PK_OK;
}

/* ---- The network ---- */

static pk_status read_family(const json_t *config, int32_t *family) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    if (!type) PK_FAIL(PK_FORMAT, "\"model_type\" is missing");
    *family = strcmp(type, "mbart") == 0 ? PK_MBART : PK_MARIAN;
    if (*family == PK_MARIAN && strcmp(type, "marian") != 0)
        PK_FAIL(PK_UNSUPPORTED, "model_type \"%s\" is not supported: marian and mbart are", type);
    return PK_OK;
}

static pk_status read_activation(const json_t *config, int32_t *act) {
    static const struct {
        const char *name;
        pk_act      act;
    } known[] = {
        { "relu", PK_RELU }, { "gelu", PK_GELU }, { "swish", PK_SWISH }, { "silu", PK_SWISH }
    };
    const char *name = json_string_value(json_object_get(config, "activation_function"));
    if (!name) name = "gelu";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *act = (int32_t)known[i].act;
        if (strcmp(name, known[i].name) == 0) return PK_OK;
    }
    PK_FAIL(PK_UNSUPPORTED, "activation_function \"%s\" is not supported: relu, gelu, swish are",
            name);
}

/* MarianMT may have a vocabulary per side; then the embeddings are not shared */
static pk_status read_vocab_sizes(const json_t *config, pk_config *c) {
    int32_t share = 1, decoder;
    PK_TRY(get_int(config, "vocab_size", c->family == PK_MBART ? 50265 : 58101, &c->source_vocab));
    c->target_vocab = c->source_vocab;
    if (c->family == PK_MBART) return PK_OK;
    PK_TRY(get_bool(config, "share_encoder_decoder_embeddings", true, &share));
    PK_TRY(get_int(config, "decoder_vocab_size", 0, &decoder));
    if (!share && decoder) c->target_vocab = decoder;
    return PK_OK;
}

static pk_status read_network(const json_t *config, pk_config *c) {
    int32_t scaled;
    PK_TRY(read_family(config, &c->family));
    PK_TRY(read_vocab_sizes(config, c));
    PK_TRY(read_activation(config, &c->act));
    PK_TRY(get_int(config, "d_model", 1024, &c->dim));
    PK_TRY(get_int(config, "encoder_layers", 12, &c->encoder_layers));
    PK_TRY(get_int(config, "decoder_layers", 12, &c->decoder_layers));
    PK_TRY(get_int(config, "encoder_attention_heads", 16, &c->encoder_heads));
    PK_TRY(get_int(config, "decoder_attention_heads", 16, &c->decoder_heads));
    PK_TRY(get_int(config, "encoder_ffn_dim", 4096, &c->encoder_ffn));
    PK_TRY(get_int(config, "decoder_ffn_dim", 4096, &c->decoder_ffn));
    PK_TRY(get_int(config, "max_position_embeddings", 1024, &c->max_source));
    PK_TRY(get_bool(config, "scale_embedding", false, &scaled));
    c->max_target = c->max_source;
    c->embed_scale = scaled ? (float)sqrt((double)c->dim) : 1;
    c->epsilon = 1e-5f; /* torch.nn.LayerNorm's own */
    c->pre_norm = c->embed_norm = c->final_norm = c->family == PK_MBART;
    return PK_OK;
}

/* ---- Generation ---- */

/* one token, once */
static pk_status suppress(pk_config *c, const json_t *token, const char *key) {
    if (!json_is_integer(token) || json_integer_value(token) < 0 ||
        json_integer_value(token) >= c->target_vocab)
        PK_FAIL(PK_FORMAT, "\"%s\" names a token outside the vocabulary", key);
    const int32_t id = (int32_t)json_integer_value(token);
    for (int32_t i = 0; i < c->n_suppressed; i++)
        if (c->suppressed[i] == id) return PK_OK;
    if (c->n_suppressed == PK_MAX_SUPPRESSED)
        PK_FAIL(PK_UNSUPPORTED, "\"%s\": at most %d tokens can be suppressed", key,
                PK_MAX_SUPPRESSED);
    c->suppressed[c->n_suppressed++] = id;
    return PK_OK;
}

static pk_status read_suppressed(const json_t *g, pk_config *c) {
    size_t  i;
    json_t *entry;
    json_array_foreach(json_object_get(g, "bad_words_ids"), i, entry) {
        if (json_array_size(entry) != 1)
            PK_FAIL(PK_UNSUPPORTED, "\"bad_words_ids\": only single tokens can be suppressed");
        /* the end symbol cannot be a bad word: transformers leaves it out as well */
        const json_t *token = json_array_get(entry, 0);
        if (json_is_integer(token) && json_integer_value(token) == c->eos) continue;
        PK_TRY(suppress(c, token, "bad_words_ids"));
    }
    json_array_foreach(json_object_get(g, "suppress_tokens"), i, entry)
        PK_TRY(suppress(c, entry, "suppress_tokens"));
    return PK_OK;
}

/* settings that would change the output in ways that Pronk has no means for */
static pk_status refuse_unknown(const json_t *g) {
    static const struct {
        const char *key;
        double      neutral;
    } unknown[] = { { "min_length", 0 },
                    { "min_new_tokens", 0 },
                    { "encoder_no_repeat_ngram_size", 0 },
                    { "encoder_repetition_penalty", 1 },
                    { "begin_suppress_tokens", NAN },
                    { "sequence_bias", NAN },
                    { "exponential_decay_length_penalty", NAN } };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const json_t *value = json_object_get(g, unknown[i].key);
        if (!value || json_is_null(value)) continue;
        if (json_is_number(value) && json_number_value(value) == unknown[i].neutral) continue;
        PK_FAIL(PK_UNSUPPORTED, "\"%s\" is not supported: remove it to go on without it",
                unknown[i].key);
    }
    return PK_OK;
}

static pk_status read_search(const json_t *g, pk_config *c) {
    const json_t *stop = json_object_get(g, "early_stopping");
    int32_t       max_length, max_new;
    c->early_stopping = json_is_string(stop) ? 2 : json_is_true(stop) ? 1 : 0;
    PK_TRY(get_bool(g, "renormalize_logits", false, &c->renormalise));
    PK_TRY(get_int(g, "num_beams", 1, &c->beams));
    PK_TRY(get_float(g, "length_penalty", 1, &c->length_penalty));
    PK_TRY(get_int(g, "no_repeat_ngram_size", 0, &c->no_repeat_ngram));
    PK_TRY(get_float(g, "repetition_penalty", 1, &c->repetition_penalty));
    PK_TRY(get_int(g, "max_length", 0, &max_length));
    PK_TRY(get_int(g, "max_new_tokens", 0, &max_new));
    /* max_length counts the start symbol as well */
    c->max_output = max_new > 0 ? max_new : max_length > 1 ? max_length - 1 : 0;
    return PK_OK;
}

/* g: where generation settings come from, config.json for what it does not say of the tokens */
static pk_status read_generation(const json_t *config, const json_t *g, pk_config *c) {
    int32_t bos;
    PK_TRY(get_token(config, "eos_token_id", c->family == PK_MBART ? 2 : 0, &c->eos));
    PK_TRY(get_token(g, "eos_token_id", c->eos, &c->eos));
    PK_TRY(get_token(config, "pad_token_id", c->family == PK_MBART ? 1 : 58100, &c->pad));
    PK_TRY(get_token(g, "pad_token_id", c->pad, &c->pad));
    if (c->pad >= c->target_vocab) c->pad = -1;
    PK_TRY(get_token(config, "decoder_start_token_id", -1, &c->start));
    PK_TRY(get_token(g, "bos_token_id", c->start, &bos));
    PK_TRY(get_token(g, "decoder_start_token_id", bos, &c->start));
    if (c->start < 0) PK_FAIL(PK_FORMAT, "\"decoder_start_token_id\" is missing");
    PK_TRY(get_token(g, "forced_bos_token_id", -1, &c->forced_bos));
    PK_TRY(get_token(g, "forced_eos_token_id", -1, &c->forced_eos));
    PK_TRY(read_suppressed(g, c));
    PK_TRY(read_search(g, c));
    return refuse_unknown(g);
}

/* languages are a help, not a need: what does not fit is left out */
static void read_language(const json_t *tokenizer, const char *key, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(tokenizer, key));
    if (text && strlen(text) < room) memcpy(out, text, strlen(text) + 1);
}

pk_status pk_hf_read_config(const pk_hf_folder *f, pk_config *c) {
    pk_config_defaults(c);
    pk_status status = read_network(f->config, c);
    if (status != PK_OK) {
        pk_fail_context("%s/config.json", f->path);
        return status;
    }
    status = read_generation(f->config, f->generation ? f->generation : f->config, c);
    if (status != PK_OK) {
        pk_fail_context("%s/%s", f->path, f->generation ? "generation_config.json" : "config.json");
        return status;
    }
    const bool mbart = c->family == PK_MBART;
    read_language(f->tokenizer, mbart ? "src_lang" : "source_lang", c->source_language,
                  sizeof c->source_language);
    read_language(f->tokenizer, mbart ? "tgt_lang" : "target_lang", c->target_language,
                  sizeof c->target_language);
    return PK_OK;
}
