/* spm_extend.c - new pieces behind those of a SentencePiece model.
 *
 * A character that had no piece was unknown, so a piece for it changes no segmentation of text that was known; its
 * score is below all others. libsentencepiece compiles rules of normalisation only while it trains: a model of one
 * line is trained for its rules alone. Invariant: no old piece changes its id. */
#include "vocab/spm_extend.h"

#include <stdio.h>
#include <string.h>

#include "text/utf8.h"
#include "vocab/protobuf.h"
#include "vocab/spm_check.h"
#include "vocab/spm_train.h"
#include "vocab/token_list.h"

typedef struct extension {
    pk_buffer     names; /* of the old pieces, a NUL behind each */
    pk_token_list list;
    float         least; /* score of an ordinary piece */
    int32_t       n;     /* pieces, new ones included */
    pk_buffer    *out;
} extension;

/* ---- what is there ---- */

static void read_piece(extension *e, pk_proto p) {
    pk_proto_field f;
    uint64_t       type = PK_SPM_TYPE_NORMAL;
    float          score = 0;
    while (p.at < p.end && pk_proto_next(&p, &f)) {
        if (f.id == PK_SPM_PIECE_TEXT)
            pk_buffer_add(&e->names, f.bytes.at, (size_t)(f.bytes.end - f.bytes.at));
        if (f.id == PK_SPM_PIECE_SCORE) memcpy(&score, &f.number, sizeof score);
        if (f.id == PK_SPM_PIECE_TYPE) type = f.number;
    }
    pk_buffer_add(&e->names, "", 1);
    if (type == PK_SPM_TYPE_NORMAL && score < e->least) e->least = score;
    e->n++;
}

static pk_status read_old(const pk_spm_extend_options *o, extension *e) {
    pk_proto       p = { o->model, (const unsigned char *)o->model + o->size };
    pk_proto_field f;
    PK_TRY(pk_spm_check(o->model, o->size));
    while (p.at < p.end && pk_proto_next(&p, &f))
        if (f.id == PK_SPM_MODEL_PIECE) read_piece(e, f.bytes);
    PK_TRY(pk_buffer_status(&e->names));
    return pk_token_list_open(e->names.data, e->names.size, &e->list);
}

/* ---- what is new ---- */

static void add_piece(extension *e, const char *text, size_t size, float score, uint64_t type) {
    pk_buffer piece = { 0 };
    if (pk_token_list_find(&e->list, text, size) >= 0) return;
    pk_proto_add_bytes(&piece, PK_SPM_PIECE_TEXT, text, size);
    pk_proto_add_float(&piece, PK_SPM_PIECE_SCORE, score);
    pk_proto_add_number(&piece, PK_SPM_PIECE_TYPE, type);
    pk_proto_add_bytes(e->out, PK_SPM_MODEL_PIECE, piece.data, piece.size);
    if (pk_buffer_status(&piece) != PK_OK) e->out->failed = true;
    pk_buffer_free(&piece);
    e->n++;
}

/* spaces are not characters: SentencePiece has its own sign for them */
static void add_characters(extension *e, const char *text) {
    const size_t n = strlen(text);
    int32_t      code;
    for (size_t at = 0, size; at < n; at += size) {
        size = pk_utf8_next(text + at, n - at, &code);
        if (!pk_utf8_is_space(code))
            add_piece(e, text + at, size, e->least - 1, PK_SPM_TYPE_NORMAL);
    }
}

static void add_bytes(extension *e) {
    char name[8];
    for (int byte = 0; byte < 256; byte++) {
        snprintf(name, sizeof name, "<0x%02X>", byte);
        add_piece(e, name, strlen(name), 0, PK_SPM_TYPE_BYTE);
    }
}

static void add_settings(extension *e, bool byte_fallback) {
    pk_buffer settings = { 0 };
    pk_proto_add_number(&settings, PK_SPM_TRAINER_SIZE, (uint64_t)e->n);
    if (byte_fallback) pk_proto_add_number(&settings, PK_SPM_TRAINER_BYTE_FALLBACK, 1);
    pk_proto_add_bytes(e->out, PK_SPM_MODEL_TRAINER, settings.data, settings.size);
    if (pk_buffer_status(&settings) != PK_OK) e->out->failed = true;
    pk_buffer_free(&settings);
}

/* ---- rules of normalisation ---- */

static pk_status one_line(void *user, const char **line, size_t *size) {
    bool *done = user;
    *line = *done ? NULL : "a b";
    *size = 3;
    *done = true;
    return PK_OK;
}

static pk_status add_rules(extension *e, const pk_spm_extend_options *o) {
    bool           done = false;
    pk_buffer      model = { 0 };
    pk_proto_field f;
    pk_status      status = pk_spm_train(&(pk_spm_train_options){ .type = "char",
                                                                  .size = 16,
                                                                  .threads = 1,
                                                                  .coverage = 1,
                                                                  .characters = "",
                                                                  .rules = o->rules,
                                                                  .rules_size = o->rules_size,
                                                                  .next = one_line,
                                                                  .user = &done },
                                         &model);
    pk_proto       p = { (const unsigned char *)model.data,
                         (const unsigned char *)model.data + model.size };
    while (status == PK_OK && p.at < p.end && pk_proto_next(&p, &f))
        if (f.id == PK_SPM_MODEL_NORMALIZER)
            pk_proto_add_bytes(e->out, f.id, f.bytes.at, (size_t)(f.bytes.end - f.bytes.at));
    pk_buffer_free(&model);
    return status;
}

pk_status pk_spm_extend(const pk_spm_extend_options *o, pk_buffer *out) {
    extension e = { .out = out };
    pk_status status = read_old(o, &e);
    if (status == PK_OK) {
        pk_buffer_add(out, o->model, o->size);
        add_characters(&e, o->characters);
        if (o->byte_fallback) add_bytes(&e);
        add_settings(&e, o->byte_fallback);
        status = add_rules(&e, o);
    }
    pk_token_list_close(&e.list);
    pk_buffer_free(&e.names);
    return status == PK_OK ? pk_buffer_status(out) : status;
}
