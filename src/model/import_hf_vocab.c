/* import_hf_vocab.c - the vocabulary of a Hugging Face folder: SentencePiece models as they are,
 * and the list of tokens by id, each followed by a NUL.
 *
 * MarianMT names its ids in vocab.json. mBART-50 derives them from the pieces: <s> <pad> </s>
 * <unk>, the pieces after SentencePiece's own three specials, 52 languages, <mask>. */
#include <string.h>

#include "base/memory.h"
#include "model/import_hf.h"

/* fairseq's order; ids follow from it */
static const char *const languages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
    "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
    "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
    "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI",
};
enum { N_LANGUAGES = sizeof languages / sizeof *languages, N_LANGUAGES_25 = 25 };

static pk_status read_spm(const pk_hf_folder *f, const char *name, pk_model_data *m, pk_blob *out) {
    char path[PK_HF_PATH];
    PK_TRY(pk_hf_path(f, name, path));
    return pk_model_data_read_spm(m, path, out);
}

/* ---- vocab.json ---- */

/* token -> id inverted: name[id]; ids must be 0 .. n-1, each once */
static pk_status invert(const json_t *object, const char **name, size_t n) {
    const char *token;
    json_t     *id;
    json_object_foreach((json_t *)object, token, id) {
        const json_int_t at = json_integer_value(id);
        if (!json_is_integer(id) || at < 0 || (uint64_t)at >= n)
            PK_FAIL(PK_FORMAT, "token \"%.60s\" has no id between 0 and %zu: there are holes",
                    token, n - 1);
        if (name[at]) PK_FAIL(PK_FORMAT, "two tokens have the id %lld", (long long)at);
        name[at] = token;
    }
    return PK_OK;
}

/* names in the order of their ids, each with its NUL */
static pk_status list_tokens(const json_t *object, pk_model_data *m, pk_blob *out) {
    const size_t n = json_object_size(object);
    const char **name;
    pk_buffer    list = { 0 };
    PK_TRY(PK_TAKE(&name, n));
    pk_status status = invert(object, name, n);
    for (size_t i = 0; status == PK_OK && i < n; i++)
        pk_buffer_add(&list, name[i], strlen(name[i]) + 1);
    if (status == PK_OK) status = pk_buffer_status(&list);
    if (status == PK_OK) status = pk_model_data_copy(m, list.data, list.size, out);
    pk_buffer_free(&list);
    pk_memory_give(name);
    return status;
}

static pk_status read_tokens(const pk_hf_folder *f, const char *file, pk_model_data *m,
                             pk_blob *out) {
    char    path[PK_HF_PATH];
    json_t *object;
    PK_TRY(pk_hf_file(f, file, path));
    PK_TRY(pk_json_open(path, &object));
    const pk_status status = list_tokens(object, m, out);
    json_decref(object);
    if (status != PK_OK) pk_fail_context("%s", path);
    return status;
}

/* the id of a token, or -1 */
static int32_t find_token(pk_blob tokens, const char *wanted) {
    const char *at = tokens.data, *end = at + tokens.size;
    for (int32_t id = 0; at < end; id++, at += strlen(at) + 1)
        if (strcmp(at, wanted) == 0) return id;
    return -1;
}

/* target.spm is mostly the same file: then it is kept once */
static pk_status read_marian(const pk_hf_folder *f, pk_model_data *m) {
    PK_TRY(read_spm(f, "source.spm", m, &m->source_spm));
    PK_TRY(read_spm(f, "target.spm", m, &m->target_spm));
    if (m->source_spm.size == m->target_spm.size &&
        memcmp(m->source_spm.data, m->target_spm.data, m->source_spm.size) == 0)
        m->target_spm = (pk_blob){ 0 };
    PK_TRY(read_tokens(f, "vocab.json", m, &m->source_tokens));
    if (f->separate_vocabs) PK_TRY(read_tokens(f, "target_vocab.json", m, &m->target_tokens));
    m->network.config.unk = find_token(m->source_tokens, "<unk>");
    return PK_OK;
}

/* ---- sentencepiece.bpe.model: as much protobuf as it takes to see the pieces ---- */

typedef struct wire {
    const unsigned char *at, *end;
} wire;

/* seven bits a byte, lowest first */
static bool take_varint(wire *w, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        const unsigned char byte = *w->at++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

/* the next field; for kind 2 (bytes) *inside is its content; false at the end or when broken */
static bool take_field(wire *w, uint64_t *field, wire *inside) {
    uint64_t tag, n = 0;
    if (!take_varint(w, &tag)) return false;
    *field = tag >> 3;
    *inside = (wire){ NULL, NULL };
    switch (tag & 7) {
    case 0: return take_varint(w, &n);
    case 1: n = 8; break;
    case 2:
        if (!take_varint(w, &n)) return false;
        if (n <= (uint64_t)(w->end - w->at)) *inside = (wire){ w->at, w->at + n };
        break;
    case 5: n = 4; break;
    default: return false;
    }
    if (n > (uint64_t)(w->end - w->at)) return false;
    w->at += n;
    return true;
}

/* ModelProto.pieces (field 1), each with its text (field 1) */
static pk_status add_pieces(pk_blob spm, pk_buffer *list, int64_t *n_pieces) {
    static const char *const specials[] = { "<unk>", "<s>", "</s>" };
    wire                     model = { spm.data, (const unsigned char *)spm.data + spm.size };
    wire                     piece, text;
    uint64_t                 field, inner;
    *n_pieces = 0;
    while (model.at < model.end) {
        if (!take_field(&model, &field, &piece)) PK_FAIL(PK_FORMAT, "a broken SentencePiece model");
        if (field != 1) continue;
        while (take_field(&piece, &inner, &text) && inner != 1) {}
        const size_t size = inner == 1 && text.at ? (size_t)(text.end - text.at) : 0;
        if (size == 0 || memchr(text.at, 0, size)) PK_FAIL(PK_FORMAT, "a piece without a text");
        if (*n_pieces < 3) {
            const char *special = specials[*n_pieces];
            if (size != strlen(special) || memcmp(text.at, special, size) != 0)
                PK_FAIL(PK_UNSUPPORTED, "piece %d must be %s", (int)*n_pieces, special);
        } else {
            pk_buffer_add(list, text.at, size);
            pk_buffer_add(list, "", 1);
        }
        ++*n_pieces;
    }
    return PK_OK;
}

/* The order of fairseq. pieces: n, of which 3 specials are replaced by 4; then languages and
 * mask. */
static pk_status add_mbart_tokens(pk_blob spm, int32_t vocab, pk_buffer *list) {
    static const char specials[] = "<s>\0<pad>\0</s>\0<unk>";
    int64_t           n;
    pk_buffer_add(list, specials, sizeof specials);
    PK_TRY(add_pieces(spm, list, &n));
    if (n + 1 + N_LANGUAGES_25 + 1 == vocab)
        PK_FAIL(PK_UNSUPPORTED, "an mBART model of 25 languages; mBART-50 is supported");
    if (n + 1 + N_LANGUAGES + 1 != vocab)
        PK_FAIL(PK_FORMAT, "%lld pieces and %d languages do not make a vocabulary of %d tokens",
                (long long)n, N_LANGUAGES, vocab);
    for (size_t i = 0; i < N_LANGUAGES; i++)
        pk_buffer_add(list, languages[i], strlen(languages[i]) + 1);
    pk_buffer_add(list, "<mask>", sizeof "<mask>");
    return pk_buffer_status(list);
}

/* one SentencePiece model for all languages; <unk> has id 3 */
static pk_status read_mbart(const pk_hf_folder *f, pk_model_data *m) {
    pk_buffer list = { 0 };
    PK_TRY(read_spm(f, "sentencepiece.bpe.model", m, &m->source_spm));
    pk_status status = add_mbart_tokens(m->source_spm, m->network.config.source_vocab, &list);
    if (status != PK_OK) pk_fail_context("%s/sentencepiece.bpe.model", f->path);
    if (status == PK_OK) status = pk_model_data_copy(m, list.data, list.size, &m->source_tokens);
    pk_buffer_free(&list);
    m->network.config.unk = 3;
    return status;
}

pk_status pk_hf_read_vocab(const pk_hf_folder *f, pk_model_data *out) {
    if (out->network.config.family == PK_MBART)
        PK_TRY(read_mbart(f, out));
    else
        PK_TRY(read_marian(f, out));
    const pk_status status = pk_model_data_check_vocab(out);
    if (status != PK_OK) pk_fail_context("%s", f->path);
    return status;
}
