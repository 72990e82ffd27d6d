/* links.c - links in bytes: the source is segmented again, as jobs do not keep where pieces begin.
 *
 * Both sides of a link are without the space before a piece. A source token that is no text (a
 * language) gives no link. */
#include "engine/links.h"

#include <assert.h>

#include "text/boundary.h"

/* the bytes of source piece k, in the document's text */
static void source_side(const pk_linked *l, const pk_ids *begin, size_t k, pk_link *link) {
    const size_t at = l->piece.begin;
    const size_t next = k + 1 < begin->n ? (size_t)begin->id[k + 1] : l->piece.size;
    link->source_begin = pk_skip_space(l->text, at + (size_t)begin->id[k], at + next);
    link->source_size = at + next - link->source_begin;
}

/* one token; where: its source token */
static pk_status add_link(const pk_linked *l, const pk_ids *begin, size_t i, int32_t where,
                          size_t before, pk_rendering *out) {
    const size_t from = i ? l->end[i - 1] : l->begin;
    pk_link      link = { .target_begin = pk_skip_space(out->text.data, from, l->end[i]) };
    link.target_size = l->end[i] - link.target_begin;
    if ((size_t)where < before || (size_t)where - before >= begin->n) return PK_OK;
    source_side(l, begin, (size_t)where - before, &link);
    if (!link.target_size || !link.source_size) return PK_OK;
    PK_TRY(PK_RESERVE(&out->link, out->n_links + 1, &out->link_room));
    out->link[out->n_links++] = link;
    return PK_OK;
}

pk_status pk_links_add(const pk_linked *l, pk_rendering *out) {
    const pk_ids *source = &l->job->source;
    pk_ids        piece = { 0 }, begin = { 0 };
    if (!l->hypothesis->looks_at) return PK_OK;
    pk_status    status = pk_vocab_encode_source(l->model->vocab, l->text + l->piece.begin,
                                                 l->piece.size, &piece, &begin);
    const bool   ends = source->id[source->n - 1] == l->model->data.network.config.eos;
    const size_t before = source->n - ends - piece.n; /* tokens in front that are no text */
    assert(status != PK_OK || piece.n + ends <= source->n);
    for (size_t i = 0; i < l->n && status == PK_OK; i++)
        status = add_link(l, &begin, i, l->hypothesis->looks_at[l->token[i]], before, out);
    pk_ids_free(&piece);
    pk_ids_free(&begin);
    return status;
}
