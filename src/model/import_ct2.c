/* import_ct2.c - a CTranslate2 folder as its converters write it: model.bin, config.json, a
 * vocabulary.
 *
 * That program knows no text, only tokens, so its folders need not hold SentencePiece models. They
 * are looked for in the folder, then in the one above. */
#include <string.h>

#include "base/path.h"
#include "model/import_ct2.h"
#include "model/importer.h"

/* as users of that program keep them: one for both sides, or one for each */
static const char *const single[] = { "sentencepiece.model", "sentencepiece.bpe.model",
                                      "../sentencepiece.model", "../sentencepiece.bpe.model" };
static const char *const pair[][2] = { { "source.spm", "target.spm" },
                                       { "../source.spm", "../target.spm" } };

static pk_status read_pair(const pk_package *p, const char *const name[2], pk_model_data *m) {
    PK_TRY(pk_ct2_read_spm(p, name[0], m, &m->source_spm));
    PK_TRY(pk_ct2_read_spm(p, name[1], m, &m->target_spm));
    if (m->source_spm.size == m->target_spm.size &&
        memcmp(m->source_spm.data, m->target_spm.data, m->source_spm.size) == 0)
        m->target_spm = (pk_blob){ 0 };
    return PK_OK;
}

static pk_status read_spm(const pk_package *p, pk_model_data *m) {
    for (size_t i = 0; i < 2; i++) { /* first all of this folder, then all of the one above */
        if (pk_package_has(p, pair[i][0]) && pk_package_has(p, pair[i][1]))
            return read_pair(p, pair[i], m);
        for (size_t k = 2 * i; k < 2 * i + 2; k++)
            if (pk_package_has(p, single[k]))
                return pk_ct2_read_spm(p, single[k], m, &m->source_spm);
    }
    PK_FAIL(PK_IO,
            "%s: no SentencePiece model; put source.spm and target.spm, or sentencepiece.model, "
            "into this folder or the one above it",
            p->path);
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Tokens of models that need a language on each side: "__de__" of M2M-100, "deu_Latn" of NLLB,
 * "de_DE" of mBART. */
static bool names_language(const char *token) {
    const size_t n = strlen(token), letters = strspn(token, "abcdefghijklmnopqrstuvwxyz");
    const bool   code = letters >= 2 && letters <= 3 && token[letters] == '_';
    if (n >= 6 && n <= 9 && strncmp(token, "__", 2) == 0) return strcmp(token + n - 2, "__") == 0;
    return code && is_upper(token[letters + 1]) && (n == letters + 3 || n == letters + 5);
}

/* Such models want a language token on each side, in ways that differ by family and that the folder
 * does not record: translating without them gives text in any language. */
static pk_status refuse_languages(const pk_package *p, const pk_model_data *m) {
    enum { MANY = 20 };
    const char *at = m->source_tokens.data, *end = at + m->source_tokens.size;
    int         n = 0;
    for (; at < end; at += strlen(at) + 1) n += names_language(at);
    if (n >= MANY)
        PK_FAIL(PK_UNSUPPORTED,
                "%s: a model of many languages (mBART, M2M-100, NLLB); of these only mBART-50 is "
                "supported, as its Hugging Face folder",
                p->path);
    return PK_OK;
}

static pk_status import(const pk_package *p, int type, pk_model_data *out) {
    PK_TRY(read_spm(p, out));
    PK_TRY(pk_ct2_import(p, "", type, out));
    out->network.config.beams = 2; /* what that program does by default */
    return refuse_languages(p, out);
}

static bool recognises(const char *path) { return pk_path_has(path, "model.bin"); }

static pk_status open_model(const char *path, int type, pk_model_data *out) {
    pk_package package;
    *out = (pk_model_data){ 0 };
    pk_package_of_folder(path, &out->files, &package);
    const pk_status status = import(&package, type, out);
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}

const pk_importer pk_importer_ct2 = {
    .what = "a CTranslate2 folder (with model.bin)",
    .recognises = recognises,
    .open = open_model,
};
