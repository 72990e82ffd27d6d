/* lexicon_small.c - the part of a lexicon that drafts need: probable translations of each token, and
 * what often follows each. */
#include <string.h>

#include "base/memory.h"
#include "lexicon/lexicon.h"

enum { EACH = 24, NEXT = 32 }; /* kept of a row */
#define LEAST 5e-3f            /* probability of what is kept */

typedef struct small {
    uint32_t             *row_first, *entry_first, *next_first, none[2];
    int32_t              *distance;
    pk_lexicon_candidate *entry, *next;
    size_t                entry_room, next_room;
} small;

static void free_small(small *s) {
    void *const blocks[] = { s->row_first, s->entry_first, s->next_first,
                             s->distance,  s->entry,       s->next };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
}

/* the first entries of a row, the most probable ones, behind those that there are */
static pk_status keep(const pk_lexicon_candidate *row, int32_t n, int32_t vocab, int32_t most,
                      pk_lexicon_candidate **out, uint32_t *count, size_t *room) {
    if (n > most) n = most;
    PK_TRY(PK_RESERVE(out, *count + (size_t)n, room));
    for (int32_t i = 0; i < n; i++)
        if (row[i].prob >= LEAST && row[i].token >= 0 && row[i].token < vocab)
            (*out)[(*count)++] = row[i];
    return PK_OK;
}

static pk_status keep_rows(const pk_lexicon *l, small *s) {
    const size_t n = (size_t)l->source_vocab;
    uint32_t     rows = 0, entries = 0;
    PK_TRY(PK_TAKE(&s->row_first, n + 2));
    PK_TRY(PK_TAKE(&s->distance, n + 1));
    PK_TRY(PK_TAKE(&s->entry_first, n + 2));
    for (int32_t x = 0; x <= l->source_vocab; x++) {
        const pk_lexicon_candidate *row;
        const uint32_t              before = entries;
        const int32_t               all = pk_lexicon_row(l, x, &row);
        PK_TRY(keep(row, all, l->target_vocab, EACH, &s->entry, &entries, &s->entry_room));
        if (entries > before) s->distance[rows++] = PK_LEXICON_ANY, s->entry_first[rows] = entries;
        s->row_first[x + 1] = rows;
    }
    return PK_OK;
}

static pk_status keep_next(const pk_lexicon *l, small *s) {
    uint32_t entries = 0;
    if (!l->next_first) return PK_OK;
    PK_TRY(PK_TAKE(&s->next_first, (size_t)l->target_vocab + 2));
    for (int32_t y = 0; y <= l->target_vocab; y++) {
        const uint32_t first = l->next_first[y];
        PK_TRY(keep(l->next + first, (int32_t)(l->next_first[y + 1] - first), l->target_vocab, NEXT,
                    &s->next, &entries, &s->next_room));
        s->next_first[y + 1] = entries;
    }
    return PK_OK;
}

pk_status pk_lexicon_write_small(const pk_lexicon *l, pk_buffer *out) {
    small     s = { 0 };
    pk_status status = keep_rows(l, &s);
    if (status == PK_OK) status = keep_next(l, &s);
    const pk_lexicon part = { .source_vocab = l->source_vocab,
                              .target_vocab = l->target_vocab,
                              .fingerprint = l->fingerprint,
                              .slope = l->slope,
                              .intercept = l->intercept,
                              .row_first = s.row_first,
                              .distance = s.distance,
                              .entry_first = s.entry_first,
                              .entry = s.entry,
                              .length_first = s.none,
                              .link_first = s.none,
                              .next_first = s.next_first,
                              .next = s.next,
                              .share = l->share };
    if (status == PK_OK) pk_lexicon_write(&part, out);
    free_small(&s);
    return status;
}
