/* import_ct2_model.c - model.bin and what lies beside it, as model data.
 *
 * Every tensor must have been of use, or be known to change nothing: what is not understood is
 * refused by name, and never left out in silence. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "model/import_ct2.h"

/* far beyond any model for translation; JSON files are short */
#define MOST_BINARY_BYTES ((size_t)8 << 30)
enum { MOST_CONFIG_BYTES = 1 << 20 };

const pk_stored_tensor *pk_ct2_find(pk_ct2_model *m, const char *name) {
    const pk_stored_tensor *t = pk_stored_find(&m->stored, name);
    if (t) m->used[t - m->stored.tensor] = true;
    return t;
}

/* ---- Settings ---- */

/* a text is a vector of bytes there */
static pk_status get_old_word(pk_ct2_model *m, const char *key, char out[PK_CT2_WORD]) {
    const pk_stored_tensor *t = pk_ct2_find(m, key);
    if (!t) return PK_OK;
    if (t->type != PK_STORED_I8 || t->bytes >= PK_CT2_WORD || memchr(t->data, 0, t->bytes))
        PK_FAIL(PK_FORMAT, "\"%s\" must be a short text", key);
    memcpy(out, t->data, t->bytes);
    out[t->bytes] = '\0';
    return PK_OK;
}

/* null is no word at all: only the start may be left to the user */
pk_status pk_ct2_get_word(pk_ct2_model *m, const char *key, const char *normal,
                          char out[PK_CT2_WORD]) {
    snprintf(out, PK_CT2_WORD, "%s", normal);
    if (m->header.version < 6) return get_old_word(m, key, out);
    const json_t *value = json_object_get(m->config, key);
    const char   *text = json_string_value(value);
    if (!value) return PK_OK;
    if (!text && !json_is_null(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be a text", key);
    if (text && strlen(text) >= PK_CT2_WORD) PK_FAIL(PK_FORMAT, "\"%s\" is too long", key);
    snprintf(out, PK_CT2_WORD, "%s", text ? text : "");
    return PK_OK;
}

pk_status pk_ct2_get_flag(pk_ct2_model *m, const char *key, const char *older, bool normal,
                          bool *out) {
    *out = normal;
    if (m->header.version < 6) {
        const pk_stored_tensor *t = pk_ct2_find(m, older);
        if (t && t->bytes) *out = pk_stored_get(t, 0) != 0;
        return PK_OK;
    }
    const json_t *value = json_object_get(m->config, key);
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_boolean(value)) PK_FAIL(PK_FORMAT, "\"%s\" must be true or false", key);
    *out = json_is_true(value);
    return PK_OK;
}

/* ---- Opening ---- */

static pk_status open_binary(pk_ct2_model *m, const char *name) {
    PK_TRY(pk_package_read(m->package, name, MOST_BINARY_BYTES, &m->binary));
    pk_status status = pk_ct2_read(m->binary.data, m->binary.size, &m->header, &m->stored);
    if (status == PK_OK && m->header.revision == 1) status = pk_ct2_rename(m);
    if (status == PK_OK) status = PK_TAKE(&m->used, m->stored.n);
    if (status != PK_OK) pk_package_blame(m->package, name);
    return status;
}

/* absent before version 6; later versions can do without as well */
static pk_status open_config(pk_ct2_model *m, const char *name) {
    pk_package_file file;
    if (m->header.version < 6 || !pk_package_has(m->package, name)) return PK_OK;
    PK_TRY(pk_package_read(m->package, name, MOST_CONFIG_BYTES, &file));
    const pk_status status = pk_json_parse((const char *)file.data, file.size, name, &m->config);
    if (status != PK_OK) pk_fail_context("%s", m->package->path);
    pk_package_file_close(&file);
    return status;
}

static void close_model(pk_ct2_model *m) {
    json_decref(m->config);
    pk_stored_close(&m->stored);
    pk_package_file_close(&m->binary);
    pk_memory_give(m->used);
}

pk_status pk_ct2_read_spm(const pk_package *package, const char *name, pk_model_data *m,
                          pk_blob *out) {
    pk_package_file file;
    PK_TRY(pk_package_read(package, name, PK_MOST_SPM_BYTES, &file));
    pk_status status = file.size ? pk_model_data_copy(m, file.data, file.size, out)
                                 : pk_fail_with(PK_FORMAT, "empty");
    if (status != PK_OK) pk_package_blame(package, name);
    pk_package_file_close(&file);
    return status;
}

/* ---- The type, the rest ---- */

/* as stored where we have the type, else F32; F16 in place of F32 where nothing is lost */
static pk_dtype choose_type(const pk_ct2_model *m, int wanted) {
    bool all_half = true, all_bytes = true;
    for (size_t i = 0; i < m->stored.n; i++) {
        const pk_stored_tensor *t = &m->stored.tensor[i];
        const char             *name = strrchr(t->name, '/');
        if (t->n_dims != 2 || !name || strcmp(name, "/weight") != 0) continue;
        all_half &= t->type == PK_STORED_F16;
        all_bytes &= t->type == PK_STORED_I8;
    }
    if (wanted == PK_F16 || wanted == PK_I8) return (pk_dtype)wanted;
    if (wanted < 0 && all_bytes) return PK_I8;
    return all_half ? PK_F16 : PK_F32;
}

/* Variables of one number that change nothing here, by the last part of their name; NAN: whatever
 * the number, it is about something that is not used. */
static const struct neutral {
    const char *name;
    float       value;
} neutral[] = {
    { "alignment_layer", NAN },     { "alignment_heads", NAN },
    { "embeddings_merge", NAN },    { "alibi_use_positive_positions", NAN },
    { "scale_alibi", NAN },         { "alibi", 0 },
    { "multi_query_attention", 0 }, { "with_relative_position", 0 },
    { "layernorm_embedding", NAN },
};

static bool is_neutral(const pk_stored_tensor *t) {
    const char *slash = strrchr(t->name, '/'), *name = slash ? slash + 1 : t->name;
    if (t->bytes != pk_stored_type_bytes(t->type)) return false;
    for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++)
        if (strcmp(neutral[i].name, name) == 0)
            return isnan(neutral[i].value) || pk_stored_get(t, 0) == neutral[i].value;
    return false;
}

static pk_status check_rest(const pk_ct2_model *m) {
    for (size_t i = 0; i < m->stored.n; i++)
        if (!m->used[i] && !is_neutral(&m->stored.tensor[i]))
            PK_FAIL(PK_UNSUPPORTED, "unexpected tensor \"%s\": not a plain Transformer",
                    m->stored.tensor[i].name);
    return PK_OK;
}

/* ---- The whole ---- */

/* The date is that of the file, since the format has none; in a package it is the package's. */
static pk_status set_provenance(const pk_ct2_model *m, pk_model_data *out) {
    const pk_file_map *map = m->package->map.data ? &m->package->map : &m->binary.map;
    char               date[16] = "";
    struct tm          day;
    if (gmtime_r(&map->changed.tv_sec, &day)) strftime(date, sizeof date, "%Y-%m-%d", &day);
    const pk_provenance from = { .path = m->package->path,
                                 .format = "ctranslate2",
                                 .weights = "model.bin",
                                 .date = date,
                                 .files = 1,
                                 .bytes = m->binary.size };
    return pk_model_data_set_provenance(out, &from);
}

/* sizes come first, so that all is checked before anything large is taken */
static pk_status read_model(pk_ct2_model *m, int type, pk_model_data *out) {
    pk_config *c = &out->network.config;
    PK_TRY(pk_ct2_read_config(m, c));
    PK_TRY(pk_ct2_read_vocab(m, out));
    PK_TRY(pk_config_check(c));
    PK_TRY(pk_network_init(&out->network));
    out->type = choose_type(m, type);
    PK_TRY(pk_ct2_read_weights(m, out));
    PK_TRY(check_rest(m));
    return set_provenance(m, out);
}

pk_status pk_ct2_import(const pk_package *package, const char *folder, int type,
                        pk_model_data *out) {
    pk_ct2_model m = { .package = package, .folder = folder };
    char         binary[PK_CT2_NAME], config[PK_CT2_NAME];
    snprintf(binary, sizeof binary, "%smodel.bin", folder);
    snprintf(config, sizeof config, "%sconfig.json", folder);
    pk_config_defaults(&out->network.config);
    pk_status status = open_binary(&m, binary);
    if (status == PK_OK) status = open_config(&m, config);
    if (status == PK_OK) status = read_model(&m, type, out);
    if (status != PK_OK) pk_fail_context("%s", package->path);
    close_model(&m);
    return status;
}
