/* text_fuzz.c - any bytes through the text path: repair, split, cut, encode, decode.
 *
 * The first byte chooses the language, the vocabulary and the way of splitting; the rest is the
 * text. Laws: repaired text is valid; pieces cover it exactly; copies are white space; a cut is
 * never empty nor beyond the end; ids are in range; what is decoded is valid. A broken law stops
 * the program. */
#include "base/file_map.h"
#include "fuzz_help.h"
#include "text/split.h"
#include "text/utf8.h"
#include "vocab/vocab.h"

static const char *const language[] = { "en", "de", "fr", "zh" };
enum { N_LANGUAGES = 4, N_VOCABS = 2 };
static pk_splitter *splitter[N_LANGUAGES];
static pk_vocab    *vocab[N_VOCABS]; /* unigram with tags; BPE with bytes */

static pk_vocab *open_vocab(const char *spm_path, const char *tokens_path, int32_t unk,
                            int32_t eos) {
    pk_file_map spm, tokens; /* live as long as the program */
    pk_vocab   *v = NULL;
    LAW(pk_file_map_open(spm_path, &spm) == PK_OK &&
        pk_file_map_open(tokens_path, &tokens) == PK_OK);
    const pk_vocab_data d = { .source_spm = spm.data,
                              .source_spm_size = spm.size,
                              .source_tokens = (const char *)tokens.data,
                              .source_tokens_size = tokens.size,
                              .unk = unk,
                              .eos = eos,
                              .no_tags = eos != 0 };
    LAW(pk_vocab_open(&d, &v) == PK_OK);
    return v;
}

static void prepare(void) {
    if (vocab[0]) return;
    for (int i = 0; i < N_LANGUAGES; i++) LAW(pk_splitter_open(language[i], &splitter[i]) == PK_OK);
    vocab[1] = open_vocab("tests/data/vocab/bytes.spm", "tests/data/vocab/bytes.tokens", 3, 2);
    vocab[0] = open_vocab("tests/data/vocab/source.spm", "tests/data/vocab/shared.tokens", 1, 0);
}

static void check_vocab(const pk_vocab *v, const char *text, size_t size) {
    pk_ids    ids = { 0 }, begin = { 0 };
    pk_buffer out = { 0 };
    LAW(pk_vocab_encode_source(v, text, size, &ids, &begin) == PK_OK);
    LAW(ids.n == begin.n);
    for (size_t i = 0; i < ids.n; i++) {
        LAW(ids.id[i] >= 0 && ids.id[i] < pk_vocab_source_size(v));
        LAW(begin.id[i] >= (i ? begin.id[i - 1] : 0) && (size_t)begin.id[i] <= size);
    }
    LAW(pk_vocab_decode(v, ids.id, ids.n, &out) == PK_OK);
    LAW(pk_utf8_valid(out.data ? out.data : "", out.size));
    pk_ids_free(&ids);
    pk_ids_free(&begin);
    pk_buffer_free(&out);
}

static void check_cuts(const char *text, size_t size, size_t most) {
    for (size_t at = 0; at < size;) {
        const size_t n = pk_split_point(text + at, size - at, most);
        LAW(n > 0 && n <= size - at && (n <= most || n <= 4));
        LAW(pk_utf8_valid(text + at, n));
        at += n;
    }
}

static void check_piece(const char *text, const pk_piece *p) {
    int32_t first;
    pk_utf8_next(text + p->begin, p->size, &first);
    LAW(p->sentence != pk_utf8_is_space(first));
    LAW(pk_utf8_valid(text + p->begin, p->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    prepare();
    const unsigned choice = data[0];
    pk_buffer      text = { 0 };
    pk_pieces      pieces = { 0 };
    pk_utf8_repair((const char *)data + 1, size - 1, &text);
    pk_buffer_add(&text, "", 0);
    LAW(pk_utf8_valid(text.data, text.size));
    LAW(pk_split(splitter[choice % N_LANGUAGES], text.data, text.size, choice & 4, &pieces) ==
        PK_OK);
    size_t at = 0;
    for (size_t i = 0; i < pieces.n; i++) {
        const pk_piece *p = &pieces.piece[i];
        LAW(p->begin == at && p->size > 0);
        at += p->size;
        check_piece(text.data, p);
        if (!p->sentence) continue;
        check_cuts(text.data + p->begin, p->size, choice >> 4);
        check_vocab(vocab[choice >> 3 & 1], text.data + p->begin, p->size);
    }
    LAW(at == text.size);
    pk_pieces_free(&pieces);
    pk_buffer_free(&text);
    return 0;
}
