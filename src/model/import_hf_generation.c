/* import_hf_generation.c - settings of decoding from a Hugging Face folder.
 *
 * Settings come from generation_config.json alone when it is there, else from config.json; a key
 * that is null counts as absent. Settings that Pronk does not have and that would
 * change the output are refused by name: the output would not be the one that the makers meant. */
#include <math.h>
#include <string.h>

#include "model/import_hf.h"

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

/* a list, which may be absent; NULL then */
static pk_status get_list(const json_t *object, const char *key, const json_t **out) {
    *out = json_object_get(object, key);
    if (json_is_null(*out)) *out = NULL;
    if (*out && !json_is_array(*out)) PK_FAIL(PK_FORMAT, "\"%s\" must be a list", key);
    return PK_OK;
}

/* ---- Tokens that are never output ---- */

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
    size_t        i;
    json_t       *entry;
    const json_t *words, *tokens;
    PK_TRY(get_list(g, "bad_words_ids", &words));
    PK_TRY(get_list(g, "suppress_tokens", &tokens));
    json_array_foreach((json_t *)words, i, entry) {
        if (json_array_size(entry) != 1)
            PK_FAIL(PK_UNSUPPORTED, "\"bad_words_ids\": only single tokens can be suppressed");
        /* the end symbol cannot be a bad word: transformers leaves it out as well */
        const json_t *token = json_array_get(entry, 0);
        if (json_is_integer(token) && json_integer_value(token) == c->eos) continue;
        PK_TRY(suppress(c, token, "bad_words_ids"));
    }
    json_array_foreach((json_t *)tokens, i, entry) PK_TRY(suppress(c, entry, "suppress_tokens"));
    return PK_OK;
}

/* ---- The search ---- */

/* Settings that would change the output in ways that Pronk has no means for, each with the number
 * that changes nothing (NAN: no number does). Those of sampling (temperature, top_k ...) are not
 * here: they have no effect unless do_sample is true. */
static const struct setting {
    const char *key;
    double      neutral;
} refused[] = { { "do_sample", 0 },
                { "num_beam_groups", 1 },
                { "diversity_penalty", 0 },
                { "penalty_alpha", 0 },
                { "dola_layers", NAN },
                { "constraints", NAN },
                { "force_words_ids", NAN },
                { "forced_decoder_ids", NAN },
                { "min_length", 0 },
                { "min_new_tokens", 0 },
                { "max_time", NAN },
                { "stop_strings", NAN },
                { "encoder_no_repeat_ngram_size", 0 },
                { "encoder_repetition_penalty", 1 },
                { "begin_suppress_tokens", NAN },
                { "sequence_bias", NAN },
                { "exponential_decay_length_penalty", NAN },
                { "guidance_scale", 1 },
                { "watermarking_config", NAN } };

/* absent, null, an empty list, or the value that changes nothing; NaN: no number is neutral */
static bool is_neutral(const json_t *value, double neutral) {
    if (!value || json_is_null(value)) return true;
    if (json_is_array(value)) return json_array_size(value) == 0;
    if (json_is_false(value)) return neutral == 0;
    return json_is_number(value) && json_number_value(value) == neutral;
}

/* better no translation than another one than the makers meant */
static pk_status refuse_unknown(const json_t *g) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!is_neutral(json_object_get(g, refused[i].key), refused[i].neutral))
            PK_FAIL(PK_UNSUPPORTED, "\"%s\" is not supported: remove it to go on without it",
                    refused[i].key);
    return PK_OK;
}

/* false, true or "never" */
static pk_status read_early_stopping(const json_t *g, int32_t *out) {
    const json_t *stop = json_object_get(g, "early_stopping");
    const char   *text = json_string_value(stop);
    if (stop && !json_is_null(stop) && !json_is_boolean(stop) &&
        (!text || strcmp(text, "never") != 0))
        PK_FAIL(PK_FORMAT, "\"early_stopping\" must be true, false or \"never\"");
    *out = text ? 2 : json_is_true(stop) ? 1 : 0;
    return PK_OK;
}

static pk_status read_search(const json_t *g, pk_config *c) {
    int32_t max_length, max_new;
    PK_TRY(read_early_stopping(g, &c->early_stopping));
    PK_TRY(pk_hf_get_bool(g, "renormalize_logits", false, &c->renormalise));
    PK_TRY(pk_hf_get_int(g, "num_beams", 1, 1, &c->beams));
    PK_TRY(get_float(g, "length_penalty", 1, &c->length_penalty));
    PK_TRY(pk_hf_get_int(g, "no_repeat_ngram_size", 0, 0, &c->no_repeat_ngram));
    PK_TRY(get_float(g, "repetition_penalty", 1, &c->repetition_penalty));
    PK_TRY(pk_hf_get_int(g, "max_length", 0, 2, &max_length));
    PK_TRY(pk_hf_get_int(g, "max_new_tokens", 0, 1, &max_new));
    /* max_length counts the start symbol as well */
    c->max_output = max_new ? max_new : max_length ? max_length - 1 : 0;
    return PK_OK;
}

/* ---- The whole ---- */

/* config.json also has a say on tokens that generation_config.json does not name */
pk_status pk_hf_read_generation(const pk_hf_folder *f, pk_config *c) {
    const json_t *config = f->config, *g = f->generation ? f->generation : config;
    int32_t       bos;
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
