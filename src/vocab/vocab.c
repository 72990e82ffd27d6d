/* vocab.c - text <-> ids: SentencePiece segments, the token list numbers.
 *
 * Follows the tokenizers of transformers (MarianTokenizer, MBart50Tokenizer) id for id, and their
 * decode() byte for byte - but where that drops unknowns in silence, they stay visible here.
 * Source and target share one model and one list when they are the same.
 * Invariant: nothing here changes after opening; what SentencePiece loads late, it locks itself. */
#include "vocab/vocab.h"

#include <string.h>

#include "base/hash.h"
#include "text/utf8.h"
#include "vocab/characters.h"
#include "vocab/spm.h"
#include "vocab/token_list.h"

/* One direction of the vocabulary; the target's may point to what the source owns. */
typedef struct side {
    pk_spm        *spm;
    pk_token_list *tokens;
} side;

struct pk_vocab {
    side          source, target;
    pk_vocab_data data;
    pk_spm       *spm[2];    /* owned; the second only when it differs */
    pk_token_list tokens[2]; /* the same */
    int32_t       unk, eos;
    bool          no_tags;
};

/* whether b says the same as a: it is not given at all, or equal byte for byte */
static bool same_bytes(const void *a, size_t n, const void *b, size_t n_b) {
    return n_b == 0 || (n == n_b && (a == b || memcmp(a, b, n) == 0));
}

/* the SentencePiece models: one, or two where source and target differ */
static pk_status open_spms(const pk_vocab_data *d, pk_vocab *v) {
    PK_TRY(pk_spm_open(d->source_spm, d->source_spm_size, &v->spm[0]));
    v->source.spm = v->target.spm = v->spm[0];
    if (same_bytes(d->source_spm, d->source_spm_size, d->target_spm, d->target_spm_size))
        return PK_OK;
    const pk_status status = pk_spm_open(d->target_spm, d->target_spm_size, &v->spm[1]);
    if (status != PK_OK) pk_fail_context("target");
    v->target.spm = v->spm[1];
    return status;
}

/* the token lists, in the same way */
static pk_status open_lists(const pk_vocab_data *d, pk_vocab *v) {
    PK_TRY(pk_token_list_open(d->source_tokens, d->source_tokens_size, &v->tokens[0]));
    v->source.tokens = v->target.tokens = &v->tokens[0];
    if (same_bytes(d->source_tokens, d->source_tokens_size, d->target_tokens,
                   d->target_tokens_size))
        return PK_OK;
    v->target.tokens = &v->tokens[1];
    const pk_status status =
        pk_token_list_open(d->target_tokens, d->target_tokens_size, &v->tokens[1]);
    if (status != PK_OK) pk_fail_context("target");
    return status;
}

/* Ids of the unknown token and of the end symbol must fit both lists: they are used on both sides.
 */
static pk_status open_all(const pk_vocab_data *d, pk_vocab *v) {
    PK_TRY(open_spms(d, v));
    PK_TRY(open_lists(d, v));
    const int32_t n_source = v->source.tokens->n, n_target = v->target.tokens->n;
    const int32_t n = n_source < n_target ? n_source : n_target;
    if (d->unk < -1 || d->unk >= n)
        PK_FAIL(PK_FORMAT, "the unknown token's id %d is not among the %d tokens", d->unk, n);
    if (d->eos < -1 || d->eos >= n)
        PK_FAIL(PK_FORMAT, "the end symbol's id %d is not among the %d tokens", d->eos, n);
    v->unk = d->unk;
    v->eos = d->eos;
    v->no_tags = d->no_tags;
    return PK_OK;
}

pk_status pk_vocab_open(const pk_vocab_data *data, pk_vocab **out) {
    pk_vocab *v;
    *out = NULL;
    PK_TRY(PK_TAKE(&v, 1));
    v->data = *data;
    const pk_status status = open_all(data, v);
    if (status != PK_OK) {
        pk_vocab_close(v);
        return status;
    }
    *out = v;
    return PK_OK;
}

void pk_vocab_close(pk_vocab *v) {
    if (!v) return;
    for (int i = 0; i < 2; i++) {
        pk_spm_close(v->spm[i]);
        pk_token_list_close(&v->tokens[i]);
    }
    pk_memory_give(v);
}

int32_t     pk_vocab_source_size(const pk_vocab *v) { return v->source.tokens->n; }
int32_t     pk_vocab_target_size(const pk_vocab *v) { return v->target.tokens->n; }
const char *pk_vocab_source_token(const pk_vocab *v, int32_t id) {
    return pk_token_list_name(v->source.tokens, id);
}
const char *pk_vocab_target_token(const pk_vocab *v, int32_t id) {
    return pk_token_list_name(v->target.tokens, id);
}
int32_t pk_vocab_find_source(const pk_vocab *v, const char *token) {
    return pk_token_list_find(v->source.tokens, token, strlen(token));
}
int32_t pk_vocab_find_target(const pk_vocab *v, const char *token) {
    return pk_token_list_find(v->target.tokens, token, strlen(token));
}

/* where encoding puts its ids */
typedef struct sink {
    const pk_token_list *tokens;
    pk_ids              *ids, *begin; /* begin may be NULL */
    size_t               offset;      /* of the segmented part in the text */
    int32_t              unk;
    float                alpha; /* 0: the best segmentation; else one drawn with this seed */
    uint64_t             seed;
} sink;

/* One piece from SentencePiece, or a tag: found in the list, or unknown. */
static pk_status take_piece(void *user, const char *piece, size_t size, size_t begin) {
    sink   *s = user;
    int32_t id = pk_token_list_find(s->tokens, piece, size);
    if (id < 0) id = s->unk;
    if (id < 0)
        PK_FAIL(PK_UNSUPPORTED, "the vocabulary has no token for \"%.*s\", and none for unknowns",
                (int)(size < 40 ? size : 40), piece);
    PK_TRY(pk_ids_add(s->ids, id));
    return s->begin ? pk_ids_add(s->begin, (int32_t)(s->offset + begin)) : PK_OK;
}

/* Bytes of a leading ">>xx<<", 0 when there is none. As in transformers it may hold anything, and
 * the space behind it is left to SentencePiece. */
static size_t tag_size(const char *text, size_t n) {
    if (n < 4 || memcmp(text, ">>", 2) != 0) return 0;
    const char *end = memmem(text, n, "<<", 2);
    return end ? (size_t)(end - text) + 2 : 0;
}

/* segments the text from s->offset on */
static pk_status encode(const side *from, const char *text, size_t n, sink *s) {
    s->tokens = from->tokens;
    text += s->offset, n -= s->offset;
    if (s->alpha <= 0) return pk_spm_encode(from->spm, text, n, take_piece, s);
    return pk_spm_sample(from->spm, text, n, s->alpha, s->seed, take_piece, s);
}

/* a leading tag, if there is one, then the text behind it */
static pk_status encode_source(const pk_vocab *v, const char *text, size_t n, sink *s) {
    if (n > INT32_MAX) PK_FAIL(PK_ARGUMENT, "a sentence of %zu bytes is too long", n);
    s->tokens = v->source.tokens;
    s->unk = v->unk;
    size_t tag = v->no_tags ? 0 : tag_size(text, n);
    if (tag && pk_vocab_find_source(v, "<0x00>") >= 0 &&
        pk_token_list_find(s->tokens, text, tag) < 0)
        tag = 0; /* a vocabulary with bytes has no unknowns: the tag is plain text */
    if (tag) PK_TRY(take_piece(s, text, tag, 0));
    s->offset = tag;
    return encode(&v->source, text, n, s);
}

pk_status pk_vocab_encode_source(const pk_vocab *v, const char *text, size_t n, pk_ids *out,
                                 pk_ids *begin) {
    return encode_source(v, text, n, &(sink){ .ids = out, .begin = begin });
}

pk_status pk_vocab_sample_source(const pk_vocab *v, const char *text, size_t n, float alpha,
                                 uint64_t seed, pk_ids *out) {
    return encode_source(v, text, n, &(sink){ .ids = out, .alpha = alpha, .seed = seed });
}

pk_status pk_vocab_encode_target(const pk_vocab *v, const char *text, size_t n, pk_ids *out) {
    return encode(&v->target, text, n, &(sink){ .ids = out, .unk = v->unk });
}

pk_status pk_vocab_sample_target(const pk_vocab *v, const char *text, size_t n, float alpha,
                                 uint64_t seed, pk_ids *out) {
    sink s = { .ids = out, .unk = v->unk, .alpha = alpha, .seed = seed };
    return encode(&v->target, text, n, &s);
}

int32_t pk_vocab_continuation(const pk_vocab *v, int32_t *first) {
    enum { N = 64 }; /* 0x80 to 0xBF */
    *first = pk_vocab_find_target(v, "<0x80>");
    return *first >= 0 && pk_vocab_find_target(v, "<0xBF>") == *first + N - 1 ? N : 0;
}

/* An end symbol is not part of it: encoding never writes one. */
uint64_t pk_vocab_fingerprint(const pk_vocab *v) {
    const pk_vocab_data *d = &v->data;
    const uint64_t       part[] = {
              pk_hash(d->source_spm, d->source_spm_size),
              pk_hash(d->target_spm, d->target_spm_size),
              pk_hash(d->source_tokens, d->source_tokens_size),
              pk_hash(d->target_tokens, d->target_tokens_size),
              (uint64_t)(uint32_t)d->unk << 1 | d->no_tags,
    };
    return pk_hash(part, sizeof part);
}

/* The ids to decode. The end symbol becomes no text; for an unknown token SentencePiece writes
 * " \u2047 ". */
typedef struct source_ids {
    const pk_vocab *vocab;
    const int32_t  *id, *instead;
    const char     *names;
} source_ids;

/* the piece of the i-th id: what replaces it, or its name */
static const char *piece_name(const void *user, size_t i) {
    const source_ids *s = user;
    const int32_t     id = s->id[i];
    if (s->instead && s->instead[i] >= 0) return s->names + s->instead[i];
    if (id == s->vocab->eos) return "";
    return pk_token_list_name(s->vocab->target.tokens, id);
}

/* Cleans up the buffer from `begin` on: each U+2581 becomes a space, white space at both ends goes,
 * control characters go too (a model can write them as bytes). These are the rules of
 * characters.h. The n places in `ends`, which ascend, move with the text. */
static void tidy(pk_buffer *b, size_t begin, size_t *ends, size_t n_ends) {
    static const char symbol[3] = "\xE2\x96\x81"; /* U+2581 */
    size_t            to = begin, end = begin;    /* end: behind the last visible character */
    size_t            moved = 0;
    for (size_t at = begin, n; at < b->size; at += n) {
        int32_t c;
        while (moved < n_ends && ends[moved] <= at) ends[moved++] = to;
        n = pk_utf8_next(b->data + at, b->size - at, &c);
        const bool is_symbol = n == sizeof symbol && memcmp(b->data + at, symbol, n) == 0;
        const bool space = is_symbol || pk_utf8_is_space(c), control = pk_characters_is_control(c);
        if (space ? to == begin : control) continue;
        if (is_symbol || control)
            b->data[to++] = ' ';
        else
            memmove(b->data + to, b->data + at, n), to += n;
        if (!space) end = to;
    }
    while (moved < n_ends) ends[moved++] = to;
    for (size_t i = n_ends; i > 0 && ends[i - 1] > end; i--) ends[i - 1] = end;
    b->size = end;
    if (b->data) b->data[end] = '\0';
}

pk_status pk_vocab_decode(const pk_vocab *v, const int32_t *id, size_t n, pk_buffer *out) {
    return pk_vocab_decode_with(v, id, n, NULL, NULL, out, NULL);
}

pk_status pk_vocab_decode_with(const pk_vocab *v, const int32_t *id, size_t n,
                               const int32_t *instead, const char *names, pk_buffer *out,
                               size_t *ends) {
    const size_t     begin = out->size;
    const source_ids ids = { v, id, instead, names };
    /* all ids are looked at before anything is written: a failure leaves the buffer as it was */
    for (size_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= v->target.tokens->n)
            PK_FAIL(PK_ARGUMENT, "token %d is not among the %d of the vocabulary", id[i],
                    v->target.tokens->n);
    PK_TRY(pk_spm_decode(v->target.spm, piece_name, &ids, n, out, ends));
    tidy(out, begin, ends, ends ? n : 0);
    return PK_OK;
}
