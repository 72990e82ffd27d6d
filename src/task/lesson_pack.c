/* lesson_pack.c - a lesson as one block of bytes, and as the pointers that the network wants.
 *
 * The block holds the arrays one after the other, each from a multiple of 64 bytes on, so that one
 * copy brings it to the device. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "task/lesson.h"

typedef struct packer { /* where the next array goes, here and on the device */
    char *at, *device;
} packer;

static const int32_t *pack(packer *p, const void *from, size_t n) {
    const int32_t *there = (const int32_t *)(void *)p->device;
    const size_t   bytes = n * sizeof(int32_t);
    if (n) memcpy(p->at, from, bytes);
    p->at += pk_arena_aligned(bytes);
    p->device += pk_arena_aligned(bytes);
    return there;
}

/* for each of n queries: where the source of its sentence begins, or how long it is */
static const int32_t *pack_source(packer *p, const pk_ids *query_segment,
                                  const pk_ids *source_segment, bool length) {
    int32_t       *to = (int32_t *)(void *)p->at;
    const int32_t *there = (const int32_t *)(void *)p->device;
    const size_t   n = (size_t)query_segment->id[query_segment->n - 1];
    for (size_t segment = 0; segment + 1 < query_segment->n; segment++) {
        const int32_t first = source_segment->id[segment];
        const int32_t value = length ? source_segment->id[segment + 1] - first : first;
        for (int32_t i = query_segment->id[segment]; i < query_segment->id[segment + 1]; i++)
            to[i] = value;
    }
    p->at += pk_arena_aligned(n * sizeof *to);
    p->device += pk_arena_aligned(n * sizeof *to);
    return there;
}

static size_t aligned(size_t n) { return pk_arena_aligned(n * sizeof(int32_t)); }

/* source: token, pos, first, count; target: token, pos, and first and count twice; questions: row,
 * target, weight; two lists of segments */
static size_t bytes_of(size_t source, size_t target, size_t questions, size_t sentences) {
    return 4 * aligned(source) + 6 * aligned(target) + 3 * aligned(questions) +
           2 * aligned(sentences + 1);
}

size_t pk_lesson_bytes(const pk_lesson *l) {
    return bytes_of(l->source_token.n, l->token.n, l->target.n, l->segment.n - 1);
}

size_t pk_lesson_bytes_most(int32_t source_rows, int32_t target_rows, int32_t sentences) {
    return bytes_of((size_t)source_rows, (size_t)target_rows, (size_t)target_rows,
                    (size_t)sentences);
}

/* Each slice's questions are one behind the other, in their order. */
static void pack_questions(packer *p, const pk_lesson *l, pk_lesson_there *out) {
    const size_t   n = l->target.n, bytes = aligned(n);
    int32_t       *row = (int32_t *)(void *)p->at, *target = (int32_t *)(void *)(p->at + bytes);
    float         *weight = (float *)(void *)(p->at + 2 * bytes);
    const int32_t *there = (const int32_t *)(void *)p->device;
    size_t         at = 0;
    for (int32_t slice = 0; slice < PK_SLICES; slice++) {
        pk_lesson_asked *asked = &out->asked[slice];
        asked->row = there + at;
        asked->target = (const int32_t *)(const void *)(p->device + bytes) + at;
        asked->weight = (const float *)(const void *)(p->device + 2 * bytes) + at;
        for (size_t i = 0; i < n; i++) {
            if (l->slice.id[i] != slice) continue;
            row[at] = l->question_row.id[i], target[at] = l->target.id[i];
            weight[at++] = l->weight.value[i];
            asked->n++;
        }
    }
    p->at += 3 * bytes, p->device += 3 * bytes;
}

void pk_lesson_sort_answers(const pk_lesson *l, const int32_t *packed, int32_t *out) {
    for (int32_t slice = 0, at = 0; slice < PK_SLICES; slice++)
        for (size_t i = 0; i < l->target.n; i++)
            if (l->slice.id[i] == slice) out[i] = packed[at++];
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

void pk_lesson_pack(const pk_lesson *l, int32_t encoder_heads, int32_t decoder_heads, void *block,
                    void *device, pk_lesson_there *out) {
    packer p = { block, device };
    *out = (pk_lesson_there){ .n_source = (int32_t)l->source_token.n,
                              .n_target = (int32_t)l->token.n };
    const int32_t *source_segment = pack(&p, l->source_segment.id, l->source_segment.n);
    const int32_t *segment = pack(&p, l->segment.id, l->segment.n);
    const int32_t  n_segments = (int32_t)l->segment.n - 1;
    out->source_token = pack(&p, l->source_token.id, l->source_token.n);
    out->source_pos = pack(&p, l->source_pos.id, l->source_pos.n);
    out->source_self = (pk_attention){ .heads = encoder_heads,
                                       .n_segments = n_segments,
                                       .longest_segment = l->longest_source,
                                       .query_segment = source_segment,
                                       .key_segment = source_segment };
    out->source_self.first = pack_source(&p, &l->source_segment, &l->source_segment, false);
    out->source_self.count = pack_source(&p, &l->source_segment, &l->source_segment, true);
    out->token = pack(&p, l->token.id, l->token.n);
    out->pos = pack(&p, l->pos.id, l->pos.n);
    out->self = (pk_attention){ .heads = decoder_heads,
                                .n_segments = n_segments,
                                .longest_segment = l->longest_target,
                                .query_segment = segment,
                                .key_segment = segment };
    out->self.first = pack(&p, l->first.id, l->first.n);
    out->self.count = pack(&p, l->count.id, l->count.n);
    out->cross = (pk_attention){ .heads = decoder_heads,
                                 .n_segments = n_segments,
                                 .longest_segment = larger(l->longest_source, l->longest_target),
                                 .query_segment = segment,
                                 .key_segment = source_segment };
    out->cross.first = pack_source(&p, &l->segment, &l->source_segment, false);
    out->cross.count = pack_source(&p, &l->segment, &l->source_segment, true);
    pack_questions(&p, l, out);
    assert((size_t)(p.at - (char *)block) == pk_lesson_bytes(l)); /* as it was counted */
    /* questions rise, so as many as there are rows are one to each */
    if (out->asked[0].n == out->n_target) out->asked[0].row = NULL;
}
