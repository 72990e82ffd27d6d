/* align_model.c - aligns a pair: one direction, or both and then made one.
 *
 * The model itself is only read, so many threads can share it; what a thread writes to is its
 * pk_align_worker. */
#include "align/align_model.h"

#include "align/align_text.h"
#include "base/memory.h"

void pk_align_model_close(pk_align_model *m) {
    for (int side = 0; side < 2; side++) {
        pk_spm_close(m->spm[side]);
        pk_memory_give(m->own_spm_data[side]);
    }
    if (!m->map.data) pk_align_successors_free(&m->next);
    for (int d = 0; d < 2 && !m->map.data; d++) pk_align_table_free(&m->table[d]);
    pk_file_map_close(&m->map);
    *m = (pk_align_model){ 0 };
}

pk_status pk_align_model_use(const pk_align_model *m, const char *method, bool reverse,
                             pk_align_use *out) {
    *out = (pk_align_use){ .method = m->method };
    if (method) PK_TRY(pk_align_method_find(method, &out->method));
    if (reverse) out->method = PK_ALIGN_ONE_WAY;
    out->direction = reverse || !m->has[PK_ALIGN_FORWARD] ? PK_ALIGN_REVERSE : PK_ALIGN_FORWARD;
    if (out->method != PK_ALIGN_ONE_WAY && !(m->has[0] && m->has[1]))
        PK_FAIL(PK_ARGUMENT, "the model was trained in one direction: it cannot be symmetrised; "
                             "train one with symmetrise");
    if (!m->has[out->direction])
        PK_FAIL(PK_ARGUMENT, "the model was trained forward only: train one for the reverse");
    return PK_OK;
}

void pk_align_worker_free(pk_align_worker *w) {
    pk_align_scratch_free(&w->scratch);
    pk_align_symmetriser_free(&w->symmetriser);
    for (int side = 0; side < 2; side++) {
        pk_align_links_free(&w->direction[side]);
        pk_memory_give(w->token[side]);
    }
    pk_align_links_free(&w->links);
    pk_buffer_free(&w->text);
    *w = (pk_align_worker){ 0 };
}

/* Links of one direction, in the order of the generated words; null links are left out. */
static pk_status align_direction(const pk_align_model *m, int direction,
                                 const uint32_t *const token[2], const uint32_t n[2],
                                 pk_align_worker *w, pk_align_links *out) {
    const int given = direction == PK_ALIGN_FORWARD ? 0 : 1, generated = !given;
    out->n = 0;
    PK_TRY(pk_align_best(&m->table[direction], token[given], n[given], token[generated],
                         n[generated], &w->scratch, &w->log_prob[direction]));
    for (uint32_t j = 0; j < n[generated]; j++) {
        const uint32_t i = w->scratch.link[j];
        if (i) PK_TRY(pk_align_links_add(out, given ? j : i - 1, given ? i - 1 : j));
    }
    return PK_OK;
}

pk_status pk_align_pair(const pk_align_model *m, pk_align_use use, const uint32_t *const token[2],
                        const uint32_t n[2], pk_align_worker *w) {
    w->links.n = 0;
    w->pairs++;
    if (!n[0] || !n[1]) return PK_OK;
    for (int side = 0; side < 2; side++) w->n_words[side] += n[side];
    if (use.method == PK_ALIGN_ONE_WAY) {
        PK_TRY(align_direction(m, use.direction, token, n, w, &w->links));
    } else {
        for (int d = 0; d < 2; d++) PK_TRY(align_direction(m, d, token, n, w, &w->direction[d]));
        PK_TRY(pk_align_symmetrise(&w->symmetriser, use.method, &w->direction[0], &w->direction[1],
                                   &w->links));
    }
    w->n_links += w->links.n;
    return PK_OK;
}

/* ---- text ---- */

/* where add_word() puts the words of one side */
typedef struct adding {
    const pk_align_words *words;
    pk_align_worker      *worker;
    int                   side;
} adding;

/* a word that the model does not know becomes PK_ALIGN_NO_WORD and may still get a link */
static pk_status add_word(void *user, const char *name, size_t size, size_t begin) {
    const adding    *a = user;
    pk_align_worker *w = a->worker;
    (void)begin;
    if (w->n[a->side] == w->room[a->side]) {
        const size_t room = w->room[a->side] ? 2 * w->room[a->side] : 64;
        PK_TRY(PK_GROW(&w->token[a->side], room));
        w->room[a->side] = room;
    }
    w->token[a->side][w->n[a->side]++] = pk_align_words_find(a->words, name, size);
    return PK_OK;
}

pk_status pk_align_text_pair(const pk_align_model *m, pk_align_use use, const pk_text pair[2],
                             pk_align_worker *w) {
    uint32_t n[2] = { 0, 0 };
    for (int side = 0; side < 2; side++) {
        w->n[side] = 0;
        PK_TRY(pk_align_segment(pk_align_model_spm(m, side), pair[side], add_word,
                                &(adding){ &m->words[side], w, side }));
    }
    const bool empty = !w->n[0] || !w->n[1];
    const bool too_long = w->n[0] > PK_ALIGN_MOST_WORDS || w->n[1] > PK_ALIGN_MOST_WORDS;
    w->empty += empty;
    w->too_long += !empty && too_long;
    for (int side = 0; side < 2 && !empty && !too_long; side++) n[side] = (uint32_t)w->n[side];
    return pk_align_pair(m, use, (const uint32_t *const[2]){ w->token[0], w->token[1] }, n, w);
}
