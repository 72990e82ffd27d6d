/* unknowns.c - which bytes of the source replace an unknown token.
 *
 * The source is segmented again, but only where there is an unknown token: jobs do not keep the
 * positions of their pieces. A piece is taken as it is written, with the space before it, so that a
 * word stays a word. A piece that is only a space belongs to the piece behind it. */
#include "engine/unknowns.h"

#include <string.h>

#include "text/utf8.h"

#define SPACE "\xE2\x96\x81" /* U+2581, as in pieces */

/* the pieces of the source sentence and where they begin; once */
static pk_status segment(pk_unknowns *u) {
    if (u->piece.n) return PK_OK;
    return pk_vocab_encode_source(u->model->vocab, u->sentence.data, u->sentence.size, &u->piece,
                                  &u->begin);
}

/* the bytes of piece k without the space before it; *spaced: whether there was one */
static pk_text text_of(const pk_unknowns *u, size_t k, bool *spaced) {
    size_t       at = (size_t)u->begin.id[k];
    const size_t end = k + 1 < u->begin.n ? (size_t)u->begin.id[k + 1] : u->sentence.size;
    int32_t      code;
    *spaced = k == 0;
    while (at < end) {
        const size_t n = pk_utf8_next(u->sentence.data + at, end - at, &code);
        if (!pk_utf8_is_space(code)) break;
        *spaced = true;
        at += n;
    }
    return (pk_text){ u->sentence.data + at, end - at };
}

/* the space that a token before this one has already written is not written again */
static bool ends_in_space(const pk_unknowns *u, const pk_job_hypothesis *h, int32_t i) {
    if (i == 0) return false;
    const char  *before = pk_vocab_target_token(u->model->vocab, h->token[i - 1]);
    const size_t size = strlen(before), space = strlen(SPACE);
    return size >= space && strcmp(before + size - space, SPACE) == 0;
}

/* the piece looked at; what the model put before the sentence (a language) is none */
static pk_status add_piece(pk_unknowns *u, const pk_job_hypothesis *h, int32_t i, int32_t *where) {
    const pk_ids *source = &u->job->source;
    const bool    ends = source->id[source->n - 1] == u->model->data.network.config.eos;
    const size_t  before = source->n - ends - u->piece.n;
    bool          spaced, space_before = false;
    if ((size_t)h->looks_at[i] < before) return PK_OK;
    for (size_t k = (size_t)h->looks_at[i] - before; k < u->piece.n; k++) {
        const pk_text text = text_of(u, k, &spaced);
        space_before |= spaced;
        if (text.size == 0) continue;
        *where = (int32_t)u->names.size;
        if (space_before && !ends_in_space(u, h, i)) pk_buffer_add_text(&u->names, SPACE);
        pk_buffer_add(&u->names, text.data, text.size);
        pk_buffer_add(&u->names, "", 1);
        break;
    }
    return pk_buffer_status(&u->names);
}

pk_status pk_unknowns_add(pk_unknowns *u, const pk_job_hypothesis *h, int32_t i) {
    int32_t where = -1;
    if (h->token[i] == u->model->data.network.config.unk && h->looks_at) {
        PK_TRY(segment(u));
        PK_TRY(add_piece(u, h, i, &where));
    }
    return pk_ids_add(&u->instead, where);
}

void pk_unknowns_free(pk_unknowns *u) {
    pk_ids_free(&u->piece);
    pk_ids_free(&u->begin);
    pk_ids_free(&u->instead);
    pk_buffer_free(&u->names);
}
