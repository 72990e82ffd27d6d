/* unit_split.c - a passage as units. Sentences are looked for where kept spans are mere letters, so
 * that the dots of an address end none. */
#include "markup/unit.h"

static bool has_text(const pk_passage *p, const pk_unit *u) {
    size_t at = u->begin;
    for (size_t k = 0; k < p->n_kept; k++) {
        const pk_kept *kept = &p->kept[k];
        if (kept->begin < u->begin) continue;
        if (kept->begin >= u->begin + u->size) break;
        if (pk_text_has_letters(p->text.data + at, kept->begin - at)) return true;
        at = kept->begin + kept->size;
    }
    return pk_text_has_letters(p->text.data + at, u->begin + u->size - at);
}

static pk_status add_unit(pk_units *u, const pk_passage *p, size_t begin, size_t end,
                          size_t *first_kept) {
    pk_unit unit = { .begin = begin, .size = end - begin };
    if (begin >= end) return PK_OK;
    /* kept spans before the unit are passed over once */
    while (*first_kept < p->n_kept && p->kept[*first_kept].begin < begin) ++*first_kept;
    pk_passage part = *p;
    part.kept = p->kept ? p->kept + *first_kept : NULL;
    part.n_kept = p->n_kept - *first_kept;
    unit.copied = !has_text(&part, &unit);
    PK_TRY(PK_RESERVE(&u->unit, u->n + 1, &u->room));
    u->unit[u->n++] = unit;
    return PK_OK;
}

/* one sentence of the masked text; a very long one in parts */
static pk_status add_sentence(pk_units *u, const pk_passage *p, const pk_mask *m, pk_piece piece,
                              size_t *first_kept) {
    while (piece.size) {
        const char  *text = m->text.data + piece.begin;
        const size_t size = piece.size <= PK_MOST_UNIT
                                ? piece.size
                                : pk_split_point(text, piece.size, PK_MOST_UNIT);
        const size_t begin = pk_mask_origin(m, p, piece.begin, true);
        const size_t end = pk_mask_origin(m, p, piece.begin + size, true);
        PK_TRY(add_unit(u, p, begin, end, first_kept));
        piece.begin += size;
        piece.size -= size;
    }
    return PK_OK;
}

pk_status pk_units_split(pk_units *u, const pk_passage *p, pk_splitter *s, bool one_sentence) {
    pk_mask   m = { 0 };
    pk_pieces pieces = { 0 };
    size_t    first_kept = 0;
    pk_status status;
    PK_GOTO(pk_mask_make(p, 0, p->text.size, -1, &m));
    PK_GOTO(pk_split(s, m.text.data ? m.text.data : "", m.text.size, one_sentence, &pieces));
    for (size_t i = 0; i < pieces.n; i++)
        if (pieces.piece[i].sentence) PK_GOTO(add_sentence(u, p, &m, pieces.piece[i], &first_kept));
done:
    pk_pieces_free(&pieces);
    pk_mask_free(&m);
    return status;
}
