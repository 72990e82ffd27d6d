/* import_hf_config.c - config.json as a pk_config, and the values of JSON files, checked.
 *
 * What counts is what transformers (5.x) does with a key, not what its name promises: MarianMT
 * models are post-norm without extra norms whatever normalize_before, normalize_embedding and
 * add_final_layer_norm say; mBART models are always pre-norm with a norm on the embeddings and one
 * at the top. Keys that are absent have the defaults of the configuration classes. */
#include <math.h>
#include <string.h>

#include "model/import_hf.h"

/* ---- Values ---- */

pk_status pk_hf_get_int(const json_t *object, const char *key, int32_t normal, int32_t lowest,
                        int32_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_integer(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be an integer", key);
    const json_int_t n = json_integer_value(value);
    if (n < lowest || n > INT32_MAX)
        PK_FAIL(PK_FORMAT, "\"%s\" is %lld, which is out of range: the %s is %d", key, (long long)n,
                n < lowest ? "least" : "most", n < lowest ? lowest : INT32_MAX);
    *out = (int32_t)n;
    return PK_OK;
}

pk_status pk_hf_get_bool(const json_t *object, const char *key, bool normal, int32_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = normal;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_boolean(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be true or false", key);
    *out = json_is_true(value);
    return PK_OK;
}

/* ---- The network ---- */

/* a size of the network: unlike settings of generation it cannot be null */
static pk_status get_size(const json_t *config, const char *key, int32_t normal, int32_t *out) {
    if (json_is_null(json_object_get(config, key)))
        PK_FAIL(PK_FORMAT, "\"%s\" must be an integer", key);
    return pk_hf_get_int(config, key, normal, 1, out);
}

static pk_status read_family(const json_t *config, int32_t *family) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    if (!type) PK_FAIL(PK_FORMAT, "\"model_type\" is missing");
    *family = pk_word_find(PK_WORDS(PK_FAMILY_MAP), type);
    if (*family < 0)
        PK_FAIL(PK_UNSUPPORTED, "model_type \"%s\" is not supported; those are: %s", type,
                PK_WORDS(PK_FAMILY_MAP));
    return PK_OK;
}

/* Hugging Face leaves it out where it is the default; null is no activation and is refused */
static pk_status read_activation(const json_t *config, int32_t *act) {
    const json_t *value = json_object_get(config, "activation_function");
    const char   *name = value ? json_string_value(value) : pk_act_name(PK_GELU);
    if (!name) PK_FAIL(PK_FORMAT, "\"activation_function\" must be a text");
    *act = pk_act_find(name);
    if (*act < 0)
        PK_FAIL(PK_UNSUPPORTED, "activation_function \"%s\" is not supported; those are: %s", name,
                PK_WORDS(PK_ACT_MAP));
    return PK_OK;
}

/* MarianMT may have a vocabulary per side; then the embeddings are not shared */
static pk_status read_vocab_sizes(pk_hf_folder *f, pk_config *c) {
    const json_t *config = f->config;
    int32_t       decoder;
    PK_TRY(get_size(config, "vocab_size", c->family == PK_MBART ? 50265 : 58101, &c->source_vocab));
    PK_TRY(pk_hf_get_bool(config, "share_encoder_decoder_embeddings", true, &f->share));
    PK_TRY(pk_hf_get_bool(config, "tie_word_embeddings", true, &f->tie));
    PK_TRY(pk_hf_get_int(config, "decoder_vocab_size", 0, 0, &decoder));
    if (c->family == PK_MBART) f->share = true;
    c->target_vocab = !f->share && decoder ? decoder : c->source_vocab;
    return PK_OK;
}

/* defaults are those of transformers' MarianConfig and MBartConfig */
static pk_status read_network(pk_hf_folder *f, pk_config *c) {
    const json_t *config = f->config;
    int32_t       scaled;
    PK_TRY(read_family(config, &c->family));
    PK_TRY(read_vocab_sizes(f, c));
    PK_TRY(read_activation(config, &c->act));
    PK_TRY(get_size(config, "d_model", 1024, &c->dim));
    PK_TRY(get_size(config, "encoder_layers", 12, &c->encoder_layers));
    PK_TRY(get_size(config, "decoder_layers", 12, &c->decoder_layers));
    PK_TRY(get_size(config, "encoder_attention_heads", 16, &c->encoder_heads));
    PK_TRY(get_size(config, "decoder_attention_heads", 16, &c->decoder_heads));
    PK_TRY(get_size(config, "encoder_ffn_dim", 4096, &c->encoder_ffn));
    PK_TRY(get_size(config, "decoder_ffn_dim", 4096, &c->decoder_ffn));
    PK_TRY(get_size(config, "max_position_embeddings", 1024, &c->max_source));
    PK_TRY(pk_hf_get_bool(config, "scale_embedding", false, &scaled));
    c->max_target = c->max_source;
    c->embed_scale = scaled ? (float)sqrt((double)c->dim) : 1;
    c->epsilon = 1e-5f; /* torch.nn.LayerNorm's own */
    c->pre_norm = c->embed_norm = c->final_norm = c->family == PK_MBART;
    return PK_OK;
}

/* ---- The tokenizer ---- */

/* languages are a help, not a need: what does not fit is left out */
static void read_language(const json_t *tokenizer, const char *key, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(tokenizer, key));
    if (text && strlen(text) < room) memcpy(out, text, strlen(text) + 1);
}

static pk_status read_tokenizer(pk_hf_folder *f, pk_config *c) {
    const bool mbart = c->family == PK_MBART;
    read_language(f->tokenizer, mbart ? "src_lang" : "source_lang", c->source_language,
                  sizeof c->source_language);
    read_language(f->tokenizer, mbart ? "tgt_lang" : "target_lang", c->target_language,
                  sizeof c->target_language);
    return pk_hf_get_bool(f->tokenizer, "separate_vocabs", false, &f->separate_vocabs);
}

/* names the file in what went wrong */
static pk_status in_file(const pk_hf_folder *f, const char *file, pk_status status) {
    if (status != PK_OK) pk_fail_context("%s/%s", f->path, file);
    return status;
}

pk_status pk_hf_read_config(pk_hf_folder *f, pk_config *c) {
    pk_config_defaults(c);
    PK_TRY(in_file(f, "config.json", read_network(f, c)));
    PK_TRY(in_file(f, f->generation ? "generation_config.json" : "config.json",
                   pk_hf_read_generation(f, c)));
    return in_file(f, "tokenizer_config.json", read_tokenizer(f, c));
}
