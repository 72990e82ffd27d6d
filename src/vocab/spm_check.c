/* spm_check.c - walks a SentencePiece model file (a protocol buffer) and checks what it must hold.
 *
 * Given the bytes, gives PK_OK or PK_FORMAT with a reason. The library itself checks less, and
 * later: a file that passes here loads. Fields that Pronk does not know are skipped, as the format
 * wants. Invariant: no byte outside the file is read, whatever the file says. */
#include "vocab/spm_check.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "text/utf8.h"
#include "vocab/protobuf.h"

/* libsentencepiece looks for at most so many user-defined pieces that begin with one another */
enum { LONGEST_USER_DEFINED = 64 };

/* counts over the whole model, and the pieces' hashes as a set: 0 is a free slot */
typedef struct totals {
    size_t    n_pieces, n_unknown;
    uint64_t *seen; /* [mask + 1], at most half of it used */
    size_t    mask;
} totals;

/* Stores a piece's hash; false when it was there already. Two different pieces with the same 64-bit
 * hash are so unlikely that they count as the same. The lowest bit is set since 0 is a free
 * slot. */
static bool is_new(totals *t, const void *text, size_t size) {
    const uint64_t hash = pk_hash(text, size) | 1;
    size_t         at = (size_t)(hash >> 32) & t->mask;
    for (; t->seen[at]; at = (at + 1) & t->mask)
        if (t->seen[at] == hash) return false;
    t->seen[at] = hash;
    return true;
}

/* One piece: its text is there, new and UTF-8, its score is a number. */
static pk_status check_piece(pk_proto r, totals *t) {
    pk_proto_field f;
    pk_proto       text = { NULL, NULL };
    uint64_t       type = 0, bits = 0;
    while (r.at < r.end) {
        if (!pk_proto_next(&r, &f)) PK_FAIL(PK_FORMAT, "piece %zu is damaged", t->n_pieces);
        if (f.id == PK_SPM_PIECE_TEXT && f.is_bytes) text = f.bytes;
        if (f.id == PK_SPM_PIECE_TYPE) type = f.number;
        if (f.id == PK_SPM_PIECE_SCORE) bits = f.number;
    }
    const size_t   size = (size_t)(text.end - text.at);
    const uint32_t score_bits = (uint32_t)bits;
    float          score;
    memcpy(&score, &score_bits, sizeof score);
    if (size == 0 || memchr(text.at, 0, size) || !pk_utf8_valid((const char *)text.at, size))
        PK_FAIL(PK_FORMAT, "the text of piece %zu is empty or not UTF-8", t->n_pieces);
    if (isnan(score)) PK_FAIL(PK_FORMAT, "the score of piece %zu is not a number", t->n_pieces);
    if (type == PK_SPM_TYPE_USER_DEFINED && size > LONGEST_USER_DEFINED)
        PK_FAIL(PK_FORMAT, "user-defined piece %zu is longer than %d bytes", t->n_pieces,
                LONGEST_USER_DEFINED);
    if (!is_new(t, text.at, size))
        PK_FAIL(PK_FORMAT, "piece %zu (\"%.*s\") is there twice", t->n_pieces,
                (int)(size < 40 ? size : 40), (const char *)text.at);
    t->n_pieces++;
    t->n_unknown += type == PK_SPM_TYPE_UNKNOWN;
    return PK_OK;
}

/* Rules for normalising, and for undoing it: both may hold a compiled table. */
static pk_status check_normalizer(pk_proto r) {
    pk_proto_field f;
    while (r.at < r.end) {
        if (!pk_proto_next(&r, &f)) PK_FAIL(PK_FORMAT, "its normalisation rules are damaged");
        if (f.id == PK_SPM_NORMALIZER_CHARSMAP && f.is_bytes && f.bytes.at < f.bytes.end)
            PK_TRY(pk_charsmap_check(f.bytes.at, (size_t)(f.bytes.end - f.bytes.at)));
    }
    return PK_OK;
}

/* parts that are only looked at for being whole */
static pk_status check_fields(pk_proto r, const char *name) {
    pk_proto_field f;
    while (r.at < r.end)
        if (!pk_proto_next(&r, &f)) PK_FAIL(PK_FORMAT, "its %s is damaged", name);
    return PK_OK;
}

/* one field of the model that is bytes; ids that are not listed are skipped */
static pk_status check_part(const pk_proto_field *f, totals *t) {
    switch (f->id) {
    case PK_SPM_MODEL_PIECE: return check_piece(f->bytes, t);
    case PK_SPM_MODEL_TRAINER: return check_fields(f->bytes, "training record");
    case PK_SPM_MODEL_SELF_TEST: return check_fields(f->bytes, "self-test");
    case PK_SPM_MODEL_NORMALIZER:
    case PK_SPM_MODEL_DENORMALIZER: return check_normalizer(f->bytes);
    default: return PK_OK;
    }
}

/* fields of the model that are bytes; no fewer than it has pieces */
static size_t count_fields(pk_proto r) {
    size_t n = 0;
    for (pk_proto_field f; r.at < r.end && pk_proto_next(&r, &f);) n += f.is_bytes;
    return n;
}

/* The whole file. The library needs exactly one unknown piece. */
static pk_status check_model(const unsigned char *data, size_t size, totals *t) {
    pk_proto       r = { data, data + size };
    pk_proto_field f;
    while (r.at < r.end) {
        if (!pk_proto_next(&r, &f))
            PK_FAIL(PK_FORMAT, "it is cut short or damaged at byte %zu", (size_t)(r.at - data));
        if (f.is_bytes)
            PK_TRY(check_part(&f, t));
        else if (f.id >= PK_SPM_MODEL_PIECE && f.id <= PK_SPM_MODEL_DENORMALIZER)
            PK_FAIL(PK_FORMAT, "it is no SentencePiece model (field %d is a number)", (int)f.id);
    }
    if (t->n_pieces == 0) PK_FAIL(PK_FORMAT, "it has no pieces; is it a SentencePiece model?");
    if (t->n_unknown != 1) PK_FAIL(PK_FORMAT, "it has %zu unknown pieces, not one", t->n_unknown);
    return PK_OK;
}

pk_status pk_spm_check(const void *data, size_t size) {
    const unsigned char *bytes = data;
    totals               t = { .mask = 1 };
    if (size == 0) PK_FAIL(PK_FORMAT, "the SentencePiece model is empty");
    /* the set of hashes is sized before anything is read into it */
    const size_t n = count_fields((pk_proto){ bytes, bytes + size });
    while (t.mask < 2 * n) t.mask = 2 * t.mask + 1;
    PK_TRY(PK_TAKE(&t.seen, t.mask + 1));
    const pk_status status = check_model(data, size, &t);
    pk_memory_give(t.seen);
    if (status == PK_FORMAT) pk_fail_context("the SentencePiece model cannot be used");
    return status;
}
