/* batch_fill.c - ids of a batch's sentences, end to end.
 *
 * With sampling, a sentence's segmentation is drawn from a key of the batch's number and the
 * sentence's index in it. Invariant: a batch stays within its budget, and a sentence within
 * max_length: where a drawn segmentation is too long, the best one is used instead. */
#include "data/batch_fill.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* what the keys are for, so that no two uses draw the same numbers; the others are in batches.c */
enum { OF_SAMPLES = 8 };

pk_status pk_filled_assign(pk_filled *b, uint64_t number, const pk_planned *pair, size_t n) {
    if (n > b->room) {
        PK_TRY(PK_GROW(&b->pair, n));
        b->room = n;
    }
    memcpy(b->pair, pair, n * sizeof *pair);
    b->n = n;
    b->number = number;
    return PK_OK;
}

/* empties a list and makes room for n ids */
static pk_status reserve(pk_ids *list, size_t n) {
    list->n = 0;
    if (n <= list->room) return PK_OK;
    PK_TRY(PK_GROW(&list->id, n));
    list->room = n;
    return PK_OK;
}

/* the corpus a pair is in; the pair's number becomes that within it */
static const pk_corpus *corpus_of(const pk_batch_filler *f, size_t *pair) {
    const pk_corpus *c = f->corpus;
    while (*pair >= c->n) *pair -= c++->n;
    assert(c < f->corpus + f->n_corpora);
    return c;
}

/* alpha 0: the best segmentation */
static pk_status segment(const pk_vocab *v, pk_text text, int side, float alpha, uint64_t key,
                         pk_ids *to) {
    if (alpha > 0)
        return side ? pk_vocab_sample_target(v, text.data, text.size, alpha, key, to)
                    : pk_vocab_sample_source(v, text.data, text.size, alpha, key, to);
    return side ? pk_vocab_encode_target(v, text.data, text.size, to)
                : pk_vocab_encode_source(v, text.data, text.size, to, NULL);
}

/* Draws a segmentation of one sentence. spare: rows that the batch has left over beyond its best
 * segmentations; a draw that needs more is replaced by the best segmentation. */
static pk_status add_sampled(const pk_batch_filler *f, size_t pair, int side, uint64_t key,
                             int32_t *spare, pk_ids *to) {
    const pk_corpus *c = corpus_of(f, &pair);
    const pk_text    text = pk_corpus_text(c, pair, side);
    const int32_t    best = pk_corpus_length(c, pair, side);
    const size_t     begin = to->n;
    PK_TRY(segment(f->vocab, text, side, f->sampling, key, to));
    const int64_t n = (int64_t)(to->n - begin);
    if (n >= 1 && n <= f->max_length && n - best <= *spare) {
        *spare -= (int32_t)(n - best);
        return PK_OK;
    }
    to->n = begin;
    PK_TRY(segment(f->vocab, text, side, 0, 0, to));
    if (to->n - begin != (size_t)best)
        PK_FAIL(PK_FORMAT, "%s is damaged (length of pair %zu): remove it", c->path, pair);
    return PK_OK;
}

/* without sampling: the ids are in the cache */
static pk_status add_stored(const pk_batch_filler *f, size_t pair, int side, pk_ids *to) {
    const pk_corpus *c = corpus_of(f, &pair);
    PK_TRY(pk_corpus_ids(c, pair, side, to->id + to->n));
    to->n += (size_t)pk_corpus_length(c, pair, side);
    return PK_OK;
}

/* rows of the budget that the best segmentations, with an end symbol each, do not use */
static int32_t spare_rows(const pk_batch_filler *f, const pk_filled *b, int side) {
    int32_t spare = f->batch_tokens;
    for (size_t i = 0; i < b->n; i++) {
        size_t           pair = b->pair[i].pair;
        const pk_corpus *c = corpus_of(f, &pair);
        spare -= pk_corpus_length(c, pair, side) + 1;
    }
    return spare;
}

/* all sentences of one side (0 source, 1 target), end to end */
static pk_status fill_side(const pk_batch_filler *f, pk_filled *b, int side) {
    const bool     sample = f->sampling > 0;
    const uint64_t key = pk_batch_plan_key(f->seed, OF_SAMPLES + (uint64_t)side, b->number);
    pk_ids        *ids = &b->ids[side], *first = &b->first[side];
    int32_t        spare = sample ? spare_rows(f, b, side) : 0;
    PK_TRY(reserve(ids, (size_t)f->batch_tokens));
    PK_TRY(reserve(first, b->n + 1));
    for (size_t i = 0; i < b->n; i++) {
        const size_t pair = b->pair[i].pair;
        first->id[first->n++] = (int32_t)ids->n;
        PK_TRY(sample ? add_sampled(f, pair, side, pk_batch_plan_key(key, 0, i), &spare, ids)
                      : add_stored(f, pair, side, ids));
    }
    first->id[first->n++] = (int32_t)ids->n;
    assert(ids->n + b->n <= (size_t)f->batch_tokens); /* end symbols counted */
    return PK_OK;
}

pk_status pk_filled_make(pk_filled *b, const pk_batch_filler *f) {
    PK_TRY(fill_side(f, b, 0));
    return fill_side(f, b, 1);
}

void pk_filled_free(pk_filled *b) {
    pk_memory_give(b->pair);
    for (int side = 0; side < 2; side++) {
        pk_ids_free(&b->ids[side]);
        pk_ids_free(&b->first[side]);
    }
    *b = (pk_filled){ 0 };
}

/* Tries 200 pairs of each corpus, evenly spread over it, and both their sides. */
pk_status pk_batch_stretch(const pk_batch_filler *f, double *stretch) {
    enum { TRIALS = 200 };
    const double margin = 1.02;
    double       best = 0, drawn = 0;
    pk_ids       ids = { 0 };
    pk_status    status = PK_OK;
    for (size_t i = 0; i < f->n_corpora * TRIALS * 2 && status == PK_OK; i++) {
        const pk_corpus *c = &f->corpus[i / (TRIALS * 2)];
        const int        side = (int)(i % 2);
        if (c->n == 0) continue;
        const size_t pair = i / 2 % TRIALS * c->n / TRIALS;
        ids.n = 0;
        status =
            segment(f->vocab, pk_corpus_text(c, pair, side), side, f->sampling, f->seed + i, &ids);
        best += pk_corpus_length(c, pair, side);
        drawn += (double)ids.n;
    }
    pk_ids_free(&ids);
    *stretch = fmax(1, margin * drawn / best);
    return status;
}
