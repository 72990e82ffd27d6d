/* import_ct2_vocab.c - the token lists of a CTranslate2 model, and which tokens have a meaning.
 *
 * A list is a JSON list of texts, or before version 3.7 of that program a text of one token a line.
 * Whether a source ends with the end symbol is not always written down: models that start from a
 * zero embedding (Marian's) or from the end symbol itself (transformers', fairseq's) were trained
 * with it, those that start from a symbol of their own (OpenNMT's) only where the model says so. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/import_ct2.h"

enum { MOST_VOCAB_BYTES = 64 << 20 };

/* ---- Lists ---- */

static pk_status add_json(const char *text, size_t size, const char *what, pk_buffer *list) {
    json_t *array, *token;
    size_t  i;
    PK_TRY(pk_json_parse_list(text, size, what, &array));
    pk_status status = PK_OK;
    json_array_foreach(array, i, token) {
        const char *name = json_string_value(token);
        if (!name) {
            status = pk_fail_with(PK_FORMAT, "%s: token %zu is not a text", what, i);
            break;
        }
        pk_buffer_add(list, name, strlen(name) + 1);
    }
    json_decref(array);
    return status;
}

/* the last line may lack its newline */
static void add_lines(const char *text, size_t size, pk_buffer *list) {
    for (size_t at = 0; at < size;) {
        const char  *newline = memchr(text + at, '\n', size - at);
        const size_t n = newline ? (size_t)(newline - text) - at : size - at;
        pk_buffer_add(list, text + at, n);
        pk_buffer_add(list, "", 1);
        at += n + 1;
    }
}

static pk_status read_list(pk_ct2_model *m, const char *name, bool json, pk_model_data *out,
                           pk_blob *tokens) {
    pk_package_file file;
    pk_buffer       list = { 0 };
    pk_status       status = PK_OK;
    PK_TRY(pk_package_read(m->package, name, MOST_VOCAB_BYTES, &file));
    if (json)
        status = add_json((const char *)file.data, file.size, name, &list);
    else
        add_lines((const char *)file.data, file.size, &list);
    pk_package_file_close(&file);
    if (status == PK_OK) status = pk_buffer_status(&list);
    if (status == PK_OK && list.size == 0) status = pk_fail_with(PK_FORMAT, "%s: empty", name);
    if (status == PK_OK) status = pk_model_data_copy(out, list.data, list.size, tokens);
    if (status == PK_FORMAT) pk_fail_context("%s", m->package->path);
    pk_buffer_free(&list);
    return status;
}

/* "shared_vocabulary.json" or ".txt"; *found: whether either is there */
static pk_status find_list(pk_ct2_model *m, const char *side, pk_model_data *out, bool *found,
                           pk_blob *tokens) {
    static const char *const endings[] = { "json", "txt" };
    char                     name[PK_CT2_NAME];
    *found = true;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s_vocabulary.%s", m->folder, side, endings[i]);
        if (pk_package_has(m->package, name)) return read_list(m, name, i == 0, out, tokens);
    }
    *found = false;
    return PK_OK;
}

static pk_status read_lists(pk_ct2_model *m, pk_model_data *out) {
    bool shared, source, target;
    PK_TRY(find_list(m, "shared", out, &shared, &out->source_tokens));
    if (shared) return PK_OK;
    PK_TRY(find_list(m, "source", out, &source, &out->source_tokens));
    PK_TRY(find_list(m, "target", out, &target, &out->target_tokens));
    if (!source || !target)
        PK_FAIL(PK_FORMAT,
                "%s: no vocabulary; it is shared_vocabulary.json, or source_vocabulary.json and "
                "target_vocabulary.json, or the same as .txt",
                m->package->path);
    return PK_OK;
}

int32_t pk_ct2_find_token(pk_blob tokens, const char *wanted) {
    const char *at = tokens.data, *end = at + tokens.size;
    for (int32_t id = 0; at < end; id++, at += strlen(at) + 1)
        if (strcmp(at, wanted) == 0) return id;
    return -1;
}

/* ---- Tokens with a meaning ---- */

typedef struct words {
    char unk[PK_CT2_WORD], bos[PK_CT2_WORD], eos[PK_CT2_WORD], start[PK_CT2_WORD];
    bool add_bos, add_eos; /* to the source */
} words;

/* before version 6 a flag chose between the two symbols there were */
static pk_status read_old_start(pk_ct2_model *m, words *w) {
    bool by_user, with_bos;
    PK_TRY(pk_ct2_get_flag(m, "user_decoder_start_tokens", "user_decoder_start_tokens", false,
                           &by_user));
    PK_TRY(pk_ct2_get_flag(m, "with_target_bos", "with_target_bos", true, &with_bos));
    snprintf(w->start, sizeof w->start, "%s", by_user ? "" : with_bos ? w->bos : w->eos);
    return PK_OK;
}

/* words that a folder leaves out are these, as in CTranslate2 */
static pk_status read_words(pk_ct2_model *m, words *w) {
    PK_TRY(pk_ct2_get_word(m, "unk_token", "<unk>", w->unk));
    PK_TRY(pk_ct2_get_word(m, "bos_token", "<s>", w->bos));
    PK_TRY(pk_ct2_get_word(m, "eos_token", "</s>", w->eos));
    PK_TRY(pk_ct2_get_flag(m, "add_source_bos", "with_source_bos", false, &w->add_bos));
    PK_TRY(pk_ct2_get_flag(m, "add_source_eos", "with_source_eos", false, &w->add_eos));
    if (m->header.version < 6) return read_old_start(m, w);
    return pk_ct2_get_word(m, "decoder_start_token", w->bos, w->start);
}

/* the same id on both sides, as the engine has one; -1: in neither list */
static pk_status find_both(const pk_model_data *d, const char *word, bool needed, int32_t *out) {
    *out = pk_ct2_find_token(d->source_tokens, word);
    if (!d->target_tokens.size) return PK_OK;
    const int32_t target = pk_ct2_find_token(d->target_tokens, word);
    if (needed && target != *out)
        PK_FAIL(PK_UNSUPPORTED,
                "token \"%s\" is %d in the source vocabulary and %d in the target's", word, *out,
                target);
    *out = target;
    return PK_OK;
}

/* Marian's decoder starts from a row of zeros, OpenNMT's from a token. With OpenNMT the source has
 * no end symbol either, unless the folder says so or both symbols are the same (fairseq). */
static pk_status read_start(pk_ct2_model *m, const words *w, pk_model_data *d) {
    const pk_stored_tensor *zero = pk_ct2_find(m, "decoder/start_from_zero_embedding");
    pk_config              *c = &d->network.config;
    const bool              from_zero = zero && zero->bytes && pk_stored_get(zero, 0) != 0;
    c->start = -1;
    c->bare_source = !from_zero && !w->add_eos && strcmp(w->start, w->eos) != 0;
    if (from_zero) return PK_OK;
    if (!*w->start)
        PK_FAIL(PK_UNSUPPORTED,
                "it leaves the token to start from to its user: models of many languages are "
                "supported as Hugging Face folders of mBART-50 only");
    c->start =
        pk_ct2_find_token(d->target_tokens.size ? d->target_tokens : d->source_tokens, w->start);
    if (c->start < 0)
        PK_FAIL(PK_FORMAT, "the token to start from, \"%s\", is not in the vocabulary", w->start);
    return PK_OK;
}

/* padding is never fed here; its id is kept since files of other models have it */
static pk_status read_tokens(pk_ct2_model *m, pk_model_data *d) {
    pk_config *c = &d->network.config;
    words      w;
    int32_t    blank;
    PK_TRY(read_words(m, &w));
    if (w.add_bos) PK_FAIL(PK_UNSUPPORTED, "\"add_source_bos\" is not supported");
    PK_TRY(read_start(m, &w, d));
    PK_TRY(find_both(d, w.eos, !c->bare_source, &c->eos));
    PK_TRY(find_both(d, w.unk, true, &c->unk));
    PK_TRY(find_both(d, "<blank>", false, &blank));
    PK_TRY(find_both(d, "<pad>", false, &c->pad));
    if (blank >= 0) c->pad = blank;
    if (c->eos < 0) PK_FAIL(PK_FORMAT, "the end symbol, \"%s\", is not in the vocabulary", w.eos);
    return PK_OK;
}

pk_status pk_ct2_read_vocab(pk_ct2_model *m, pk_model_data *out) {
    PK_TRY(read_lists(m, out));
    PK_TRY(pk_model_data_check_vocab(out));
    return read_tokens(m, out);
}
