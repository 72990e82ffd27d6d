/* lexicon_file.c - a lexicon as bytes (docs/format.md): a header and plain arrays, used where they
 * lie. The list of arrays exists once, in list_parts(), for writing and for reading. Version 1 has
 * no neighbours: its header ends before their numbers, and their arrays are not there. Version 3 has
 * what follows each token instead. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lexicon/lexicon.h"

enum {
    PLAIN = 1,
    BESIDE = 2,
    FOLLOWED = 3,
    N_PLAIN = 7, /* parts of version 1 */
    N_BESIDE = 12,
    N_FOLLOWED = 10,
    ALIGNMENT = 8,
    MOST_VOCAB = 1 << 20,
    MOST_LENGTH = 1 << 14
};
static const char magic[8] = "PKLEXIC";

/* little-endian; the arrays follow, each padded with zeros to a multiple of 8 bytes */
typedef struct header {
    char     magic[8];
    uint32_t version, n_rows;
    int32_t  source_vocab, target_vocab;
    uint64_t fingerprint;
    double   slope, intercept;
    int32_t  longest;
    uint32_t n_positions;
    uint32_t n_entries, n_links;
    uint64_t size; /* of all of it */
    uint32_t n_beside_rows,
        n_beside_entries; /* of version 2; of 3: successors, nothing; not in 1 */
} header;

typedef struct part { /* an array: its address in the lexicon, its bytes */
    const void **data;
    size_t       size;
} part;

#define PART(pointer, count) \
    (part) { (const void **)(void *)&(pointer), (size_t)(count) * sizeof *(pointer) }

static void list_parts(const header *h, pk_lexicon *l, part *list) {
    const part followed[] = { PART(l->next_first, (size_t)h->target_vocab + 2),
                              PART(l->next, h->n_beside_rows), PART(l->share, h->target_vocab) };
    const part all[N_BESIDE] = {
        PART(l->row_first, (size_t)h->source_vocab + 2),
        PART(l->distance, h->n_rows),
        PART(l->entry_first, (size_t)h->n_rows + 1),
        PART(l->entry, h->n_entries),
        PART(l->length_first, (size_t)h->longest + 2),
        PART(l->link_first, (size_t)h->n_positions + 1),
        PART(l->link, h->n_links),
        PART(l->beside_first, (size_t)h->source_vocab + 1),
        PART(l->neighbour, h->n_beside_rows),
        PART(l->rest, h->n_beside_rows),
        PART(l->beside_entry_first, (size_t)h->n_beside_rows + 1),
        PART(l->beside_entry, h->n_beside_entries),
    };
    memcpy(list, all, sizeof all);
    if (h->version == FOLLOWED) memcpy(list + N_PLAIN, followed, sizeof followed);
}

static size_t filled_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static size_t header_size(const header *h) {
    return h->version == PLAIN ? offsetof(header, n_beside_rows) : sizeof *h;
}

static size_t n_parts(const header *h) {
    return h->version == PLAIN ? N_PLAIN : h->version == BESIDE ? N_BESIDE : N_FOLLOWED;
}

static size_t size_of(const header *h, const part *list) {
    size_t size = header_size(h);
    for (size_t i = 0; i < n_parts(h); i++) size += filled_up(list[i].size);
    return size;
}

/* ---- reading ---- */

static pk_status damaged(const char *what) {
    return pk_fail_with(PK_FORMAT, "the model's candidates are damaged (%s): train it anew", what);
}

/* numbers within which no size overflows */
static bool is_sane(const header *h) {
    return h->source_vocab > 0 && h->source_vocab < MOST_VOCAB && h->target_vocab > 0 &&
           h->target_vocab < MOST_VOCAB && h->longest >= 0 && h->longest < MOST_LENGTH &&
           isfinite(h->slope) && isfinite(h->intercept) && fabs(h->slope) < 1e6 &&
           fabs(h->intercept) < 1e6;
}

/* first[0 .. n] rises from 0 to `end` */
static bool rises(const uint32_t *first, size_t n, uint32_t end) {
    bool ok = first[0] == 0 && first[n] == end;
    for (size_t i = 0; i < n; i++) ok &= first[i] <= first[i + 1];
    return ok;
}

/* the distances of each token rise, and begin with that of all */
static bool distances_rise(const pk_lexicon *l) {
    bool ok = true;
    for (int32_t x = 0; x <= l->source_vocab; x++)
        for (uint32_t i = l->row_first[x]; i < l->row_first[x + 1]; i++)
            ok &= i == l->row_first[x] ? l->distance[i] == PK_LEXICON_ANY
                                       : l->distance[i] > l->distance[i - 1];
    return ok;
}

/* the neighbours of each token rise: they are searched by halves */
static bool neighbours_rise(const pk_lexicon *l) {
    bool ok = true;
    for (int32_t x = 0; x < l->source_vocab; x++)
        for (uint32_t i = l->beside_first[x]; i < l->beside_first[x + 1]; i++)
            ok &= i == l->beside_first[x] || l->neighbour[i] > l->neighbour[i - 1];
    return ok;
}

static pk_status read_header(const void *data, size_t size, header *h) {
    *h = (header){ 0 };
    const size_t least = offsetof(header, n_beside_rows);
    if (size < least || (uintptr_t)data % ALIGNMENT) return damaged("its size");
    memcpy(h, data, least);
    if (memcmp(h->magic, magic, sizeof magic) != 0) return damaged("its beginning");
    if (h->version < PLAIN || h->version > FOLLOWED)
        PK_FAIL(PK_UNSUPPORTED, "the model's candidates are of version %u, this reads %d to %d",
                h->version, PLAIN, FOLLOWED);
    if (size < header_size(h)) return damaged("its size");
    memcpy(h, data, header_size(h));
    return is_sane(h) ? PK_OK : damaged("its header");
}

/* what is used without a look at it later */
static pk_status check_parts(const header *h, const pk_lexicon *l) {
    if (!rises(l->row_first, (size_t)h->source_vocab + 1, h->n_rows) || !distances_rise(l) ||
        !rises(l->entry_first, h->n_rows, h->n_entries))
        return damaged("rows of its tokens");
    if (!rises(l->length_first, (size_t)h->longest + 1, h->n_positions) ||
        !rises(l->link_first, h->n_positions, h->n_links))
        return damaged("links of its positions");
    if (l->next_first && !rises(l->next_first, (size_t)h->target_vocab + 1, h->n_beside_rows))
        return damaged("what follows its tokens");
    if (!l->beside_first) return PK_OK;
    if (!rises(l->beside_first, (size_t)h->source_vocab, h->n_beside_rows) || !neighbours_rise(l) ||
        !rises(l->beside_entry_first, h->n_beside_rows, h->n_beside_entries))
        return damaged("rows of its neighbours");
    return PK_OK;
}

pk_status pk_lexicon_read(const void *data, size_t size, pk_lexicon *out) {
    header h;
    part   list[N_BESIDE];
    *out = (pk_lexicon){ 0 };
    PK_TRY(read_header(data, size, &h));
    pk_lexicon l = { .source_vocab = h.source_vocab,
                     .target_vocab = h.target_vocab,
                     .fingerprint = h.fingerprint,
                     .slope = h.slope,
                     .intercept = h.intercept,
                     .longest = h.longest };
    list_parts(&h, &l, list);
    if (h.size != size || size_of(&h, list) != size) return damaged("its size");
    const char *at = (const char *)data + header_size(&h);
    for (size_t i = 0; i < n_parts(&h); at += filled_up(list[i++].size)) *list[i].data = at;
    PK_TRY(check_parts(&h, &l));
    *out = l;
    return PK_OK;
}

pk_status pk_lexicon_check(const pk_lexicon *l, int32_t source_vocab, int32_t target_vocab,
                           uint64_t fingerprint) {
    if (l->source_vocab != source_vocab || l->target_vocab != target_vocab)
        PK_FAIL(PK_FORMAT,
                "its candidates are for another vocabulary: of %d and %d tokens, the model has %d "
                "and %d",
                l->source_vocab, l->target_vocab, source_vocab, target_vocab);
    if (l->fingerprint != fingerprint)
        PK_FAIL(PK_FORMAT, "its candidates are for another vocabulary: of as many tokens, but not "
                           "the model's");
    return PK_OK;
}

/* ---- writing ---- */

void pk_lexicon_write(const pk_lexicon *l, pk_buffer *out) {
    static const char zeros[ALIGNMENT];
    pk_lexicon        view = *l; /* the list takes addresses that it may change */
    part              list[N_BESIDE];
    header            h = { .version = l->beside_first ? BESIDE
                                       : l->next_first ? FOLLOWED
                                                       : PLAIN,
                            .n_rows = l->row_first[l->source_vocab + 1],
                            .source_vocab = l->source_vocab,
                            .target_vocab = l->target_vocab,
                            .fingerprint = l->fingerprint,
                            .slope = l->slope,
                            .intercept = l->intercept,
                            .longest = l->longest,
                            .n_positions = l->length_first[l->longest + 1] };
    memcpy(h.magic, magic, sizeof magic);
    h.n_entries = l->entry_first[h.n_rows];
    h.n_links = l->link_first[h.n_positions];
    if (h.version == FOLLOWED) h.n_beside_rows = l->next_first[l->target_vocab + 1];
    if (l->beside_first) h.n_beside_rows = l->beside_first[l->source_vocab];
    if (l->beside_first) h.n_beside_entries = l->beside_entry_first[h.n_beside_rows];
    list_parts(&h, &view, list);
    h.size = size_of(&h, list);
    pk_buffer_add(out, &h, header_size(&h));
    for (size_t i = 0; i < n_parts(&h); i++) {
        pk_buffer_add(out, *list[i].data, list[i].size);
        pk_buffer_add(out, zeros, filled_up(list[i].size) - list[i].size);
    }
}
