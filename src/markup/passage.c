/* passage.c - lists of passages, kept spans and tags. */
#include "markup/passage.h"

#include "markup/word_list.h"

pk_status pk_markup_add(pk_markup *m, pk_passage **out) {
    PK_TRY(PK_RESERVE(&m->passage, m->n + 1, &m->room));
    *out = &m->passage[m->n++];
    **out = (pk_passage){ 0 };
    pk_buffer_add(&(*out)->text, "", 0); /* so that there is a text, if an empty one */
    return pk_buffer_status(&(*out)->text);
}

void pk_passage_free(pk_passage *p) {
    pk_buffer_free(&p->text);
    pk_memory_give(p->kept);
    pk_memory_give(p->tag);
    pk_memory_give(p->origin);
    *p = (pk_passage){ 0 };
}

/* text that goes on where the last one ended makes no new origin */
pk_status pk_passage_add_text(pk_passage *p, pk_text text, pk_text input) {
    pk_origin *last = p->n_origins ? &p->origin[p->n_origins - 1] : NULL;
    const bool same = text.size == input.size;
    if (last && same && last->size == last->input_size && last->input + last->size == input.data) {
        last->size = last->input_size += text.size;
    } else {
        PK_TRY(PK_RESERVE(&p->origin, p->n_origins + 1, &p->origin_room));
        p->origin[p->n_origins++] = (pk_origin){ p->text.size, text.size, input.data, input.size };
    }
    pk_buffer_add(&p->text, text.data, text.size);
    return pk_buffer_status(&p->text);
}

void pk_markup_free(pk_markup *m) {
    for (size_t i = 0; i < m->n; i++) pk_passage_free(&m->passage[i]);
    pk_memory_give(m->passage);
    *m = (pk_markup){ 0 };
}

pk_status pk_passage_add_kept(pk_passage *p, pk_kept kept) {
    PK_TRY(PK_RESERVE(&p->kept, p->n_kept + 1, &p->kept_room));
    p->kept[p->n_kept++] = kept;
    return PK_OK;
}

pk_status pk_passage_add_tag(pk_passage *p, pk_tag tag, int32_t *index) {
    PK_TRY(PK_RESERVE(&p->tag, p->n_tags + 1, &p->tag_room));
    if (index) *index = (int32_t)p->n_tags;
    p->tag[p->n_tags++] = tag;
    return PK_OK;
}

bool pk_passage_has_text(const pk_passage *p) {
    size_t at = 0;
    for (size_t k = 0; k <= p->n_kept; k++) {
        const size_t end = k < p->n_kept ? p->kept[k].begin : p->text.size;
        if (pk_text_has_letters(p->text.data + at, end - at)) return true;
        if (k < p->n_kept) at = end + p->kept[k].size;
    }
    return false;
}
