/* import_argos.c - packages of Argos Translate and LibreTranslate: `.argosmodel` files (zip
 * archives), and the folders that those programs unpack them to.
 *
 * metadata.json names the languages, sentencepiece.model cuts the text, model/ is a CTranslate2
 * folder. What they use to find sentences (stanza/ and others) is not needed here. */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "model/import_ct2.h"
#include "model/importer.h"

enum { MOST_METADATA_BYTES = 1 << 20 };

/* what those programs call with */
static const float length_penalty = 0.2f;
enum { BEAMS = 4 };

/* ---- metadata.json ---- */

/* absent, null and "" are the same; NULL then */
static pk_status get_text(const json_t *metadata, const char *key, const char **out) {
    const json_t *value = json_object_get(metadata, key);
    *out = json_string_value(value);
    if (value && !*out && !json_is_null(value))
        PK_FAIL(PK_FORMAT, "metadata.json: \"%s\" must be a text", key);
    if (*out && !**out) *out = NULL;
    return PK_OK;
}

static pk_status set_language(const json_t *metadata, const char *key, char out[16]) {
    const char *code;
    PK_TRY(get_text(metadata, key, &code));
    if (code && strlen(code) >= 16)
        PK_FAIL(PK_FORMAT, "metadata.json: \"%s\" is no language's code", key);
    if (code) memcpy(out, code, strlen(code) + 1);
    return PK_OK;
}

/* the first token of every translation, which is not part of its text */
static pk_status set_prefix(const json_t *metadata, pk_model_data *m) {
    const char *prefix;
    PK_TRY(get_text(metadata, "target_prefix", &prefix));
    if (!prefix) return PK_OK;
    const pk_blob tokens = m->target_tokens.size ? m->target_tokens : m->source_tokens;
    m->network.config.forced_bos = pk_ct2_find_token(tokens, prefix);
    if (m->network.config.forced_bos < 0)
        PK_FAIL(PK_FORMAT, "metadata.json: target_prefix \"%.40s\" is no token of the model",
                prefix);
    return PK_OK;
}

static pk_status check_kind(const json_t *metadata) {
    const char *type;
    PK_TRY(get_text(metadata, "type", &type));
    if (type && strcmp(type, "translate") != 0)
        PK_FAIL(PK_UNSUPPORTED, "a package of type \"%.40s\": only \"translate\" is a model", type);
    return PK_OK;
}

/* ---- The package ---- */

/* older packages were made with Moses and subword-nmt, which Pronk does not have */
static pk_status read_spm(const pk_package *p, pk_model_data *m) {
    if (pk_package_has(p, "sentencepiece.model"))
        return pk_ct2_read_spm(p, "sentencepiece.model", m, &m->source_spm);
    if (pk_package_has(p, "bpe.model"))
        PK_FAIL(
            PK_UNSUPPORTED,
            "a package with bpe.model (Moses' words and subword-nmt's pieces) is not supported: "
            "take one with sentencepiece.model");
    PK_FAIL(PK_FORMAT, "a package without sentencepiece.model");
}

/* What the weights do not say comes last: languages, and the search that Argos Translate itself
 * uses. */
static pk_status import(const pk_package *p, const json_t *metadata, int type, pk_model_data *out) {
    pk_config *c = &out->network.config;
    PK_TRY(check_kind(metadata));
    PK_TRY(read_spm(p, out));
    PK_TRY(pk_ct2_import(p, "model/", type, out));
    PK_TRY(set_language(metadata, "from_code", c->source_language));
    PK_TRY(set_language(metadata, "to_code", c->target_language));
    c->beams = BEAMS;
    c->length_penalty = length_penalty;
    return set_prefix(metadata, out);
}

static pk_status import_package(const pk_package *p, int type, pk_model_data *out) {
    pk_package_file file;
    json_t         *metadata = NULL;
    PK_TRY(pk_package_read(p, "metadata.json", MOST_METADATA_BYTES, &file));
    pk_status status =
        pk_json_parse((const char *)file.data, file.size, "metadata.json", &metadata);
    pk_package_file_close(&file);
    if (status == PK_OK) status = import(p, metadata, type, out);
    json_decref(metadata);
    if (status != PK_OK) pk_fail_context("%s", p->path);
    return status;
}

/* ---- The importer ---- */

static bool is_archive(const char *path) {
    static const char ending[] = ".argosmodel";
    struct stat       info;
    const size_t      n = strlen(path), end = sizeof ending - 1;
    return n > end && strcmp(path + n - end, ending) == 0 && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

static bool recognises(const char *path) {
    return is_archive(path) ||
           (pk_path_has(path, "metadata.json") && pk_path_has(path, "model/model.bin"));
}

static pk_status open_model(const char *path, int type, pk_model_data *out) {
    pk_package package;
    *out = (pk_model_data){ 0 };
    pk_status status = PK_OK;
    if (is_archive(path))
        status = pk_package_of_zip(path, "metadata.json", &out->files, &package);
    else
        pk_package_of_folder(path, &out->files, &package);
    if (status == PK_OK) {
        status = import_package(&package, type, out);
        pk_package_close(&package);
    }
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}

const pk_importer pk_importer_argos = {
    .what = "an .argosmodel package",
    .recognises = recognises,
    .open = open_model,
};
