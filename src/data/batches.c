/* batches.c - draws, shuffles, sorts and cuts: the plan of an epoch in eight bytes a pair.
 *
 * Sorting is by counting, twice, since lengths are small numbers: 3 million pairs take well under a
 * second. Windows are sorted up and down in turn, so that a batch may extend over their border.
 * Invariant: a batch's rows (tokens and an end symbol a sentence) fit the budget on both sides. */
#include "data/batches.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"

/* What is shuffled: each use has keys of its own. Corpus i has OF_CORPORA + i. */
enum { OF_PAIRS = 1, OF_BATCHES = 2, OF_CORPORA = 16 };
enum { WINDOW_BATCHES = 100, WINDOWS_AT_LEAST = 8 };

uint64_t pk_batch_plan_key(uint64_t seed, uint64_t what, uint64_t i) {
    return pk_mix(pk_mix(pk_mix(seed + PK_GOLDEN) ^ what) + i);
}

/* A number below n for the i-th choice: the upper 32 bits of a hash, times n, shifted down. */
static size_t choose(uint64_t key, size_t i, size_t n) {
    return (size_t)((pk_mix(key + i * PK_GOLDEN) >> 32) * n >> 32);
}

/* Fisher and Yates: each element is swapped with a random one at or before it. */
#define SHUFFLE(type, list, n, key)                 \
    for (size_t i_ = (n); i_ > 1; i_--) {           \
        const size_t with_ = choose((key), i_, i_); \
        const type   held_ = (list)[i_ - 1];        \
        (list)[i_ - 1] = (list)[with_];             \
        (list)[with_] = held_;                      \
    }

/* ---- drawing ---- */
static pk_status make_room(pk_batch_plan *p, size_t n) {
    if (n <= p->room) return PK_OK;
    PK_TRY(PK_GROW(&p->pair, n));
    p->room = n;
    return PK_OK;
}

/* what to plan with: longer than the best segmentation where segmentations are sampled */
static uint16_t planned_length(const pk_batch_plan_options *o, int32_t length) {
    const double longer = ceil((double)length * o->stretch);
    return (uint16_t)(longer < o->max_length ? longer : o->max_length);
}

/* appends pair i of a corpus to the plan; base: pairs of the corpora before it */
static void draw(pk_batch_plan *p, const pk_batch_plan_options *o, const pk_corpus *c, size_t i,
                 size_t base) {
    pk_planned *to = &p->pair[p->n++];
    to->pair = (uint32_t)(base + i);
    for (int side = 0; side < 2; side++)
        to->length[side] = planned_length(o, pk_corpus_length(c, i, side));
}

/* Part of a pass through the corpus, in the random order of that pass. */
static pk_status draw_part(pk_batch_plan *p, const pk_batch_plan_options *o, size_t corpus,
                           size_t base, uint64_t pass, size_t from, size_t to) {
    const pk_corpus *c = &o->corpus[corpus];
    const uint64_t   key = pk_batch_plan_key(o->seed, OF_CORPORA + corpus, pass);
    uint32_t        *order;
    PK_TRY(PK_TAKE(&order, c->n));
    for (size_t i = 0; i < c->n; i++) order[i] = (uint32_t)i;
    SHUFFLE(uint32_t, order, c->n, key)
    for (size_t i = from; i < to; i++) draw(p, o, c, order[i], base);
    pk_memory_give(order);
    return PK_OK;
}

/* The corpus is gone through pass after pass, each in an order of its own; every epoch goes on from
 * where the one before stopped, weight x n pairs further. */
static pk_status draw_corpus(pk_batch_plan *p, const pk_batch_plan_options *o, size_t corpus,
                             size_t base, uint64_t epoch) {
    const pk_corpus *c = &o->corpus[corpus];
    const double     each = (o->in_order ? 1 : o->weight[corpus]) * (double)c->n;
    const uint64_t   end = (uint64_t)llround(each * ((double)epoch + 1));
    uint64_t         at = (uint64_t)llround(each * (double)epoch);
    PK_TRY(make_room(p, p->n + (size_t)(end - at)));
    while (at < end) {
        const uint64_t pass = at / c->n;
        const size_t   from = (size_t)(at % c->n);
        const size_t   to = end - at < c->n - from ? from + (size_t)(end - at) : c->n;
        if (from == 0 && to == c->n)
            for (size_t i = 0; i < c->n; i++) draw(p, o, c, i, base);
        else
            PK_TRY(draw_part(p, o, corpus, base, pass, from, to));
        at += to - from;
    }
    return PK_OK;
}

/* ---- sorting ---- */
static size_t longer_side(const pk_planned *pair) {
    return pair->length[0] > pair->length[1] ? pair->length[0] : pair->length[1];
}
static size_t target_side(const pk_planned *pair) { return pair->length[1]; }

/* Counting sort, stable. count: (max_length + 2), overwritten. */
static void sort_by(size_t (*key)(const pk_planned *), const pk_planned *from, pk_planned *to,
                    size_t n, uint32_t *count, size_t max_length) {
    memset(count, 0, (max_length + 2) * sizeof *count);
    for (size_t i = 0; i < n; i++) count[key(&from[i]) + 1]++;
    for (size_t k = 1; k <= max_length; k++) count[k] += count[k - 1];
    for (size_t i = 0; i < n; i++) to[count[key(&from[i])]++] = from[i];
}

/* By the longer side, and among equals by the target: two stable sorts, the lesser key first. */
static pk_status sort_window(pk_batch_plan *p, size_t begin, size_t n, bool down, uint32_t *count,
                             size_t max_length) {
    if (n > p->spare_room) {
        PK_TRY(PK_GROW(&p->spare, n));
        p->spare_room = n;
    }
    pk_planned *window = p->pair + begin;
    sort_by(target_side, window, p->spare, n, count, max_length);
    sort_by(longer_side, p->spare, window, n, count, max_length);
    for (size_t i = 0; down && i < n / 2; i++) {
        const pk_planned held = window[i];
        window[i] = window[n - 1 - i];
        window[n - 1 - i] = held;
    }
    return PK_OK;
}

/* The size of a window in rows: a hundred batches, but at most an eighth of the epoch, so that the
 * batches of a small corpus differ from epoch to epoch. */
static size_t window_rows(const pk_batch_plan *p, int32_t batch_tokens) {
    size_t rows = 0;
    for (size_t i = 0; i < p->n; i++) rows += longer_side(&p->pair[i]) + 1;
    const size_t most = (size_t)WINDOW_BATCHES * (size_t)batch_tokens;
    return rows / WINDOWS_AT_LEAST < most ? rows / WINDOWS_AT_LEAST : most;
}

/* Sorting whole epochs would give the same batches every time; sorting nothing would mix short and
 * long sentences in a batch. Windows are the compromise. */
static pk_status sort_windows(pk_batch_plan *p, const pk_batch_plan_options *o) {
    const size_t max_length = (size_t)o->max_length, most = window_rows(p, o->batch_tokens);
    uint32_t    *count;
    PK_TRY(PK_TAKE(&count, max_length + 2));
    pk_status status = PK_OK;
    bool      down = false;
    for (size_t begin = 0, end = 0, rows; begin < p->n && status == PK_OK; begin = end) {
        for (rows = 0; end < p->n && (end == begin || rows < most); end++)
            rows += longer_side(&p->pair[end]) + 1;
        status = sort_window(p, begin, end - begin, down, count, max_length);
        down = !down;
    }
    pk_memory_give(count);
    return status;
}

/* ---- cutting ---- */
/* pair number `at` is the first of a new batch */
static pk_status begin_batch(pk_batch_plan *p, size_t at) {
    PK_TRY(PK_RESERVE(&p->start, p->n_batches + 2, &p->start_room));
    PK_TRY(PK_RESERVE(&p->order, p->n_batches + 1, &p->order_room));
    p->order[p->n_batches] = (uint32_t)p->n_batches;
    p->start[p->n_batches++] = (uint32_t)at;
    return PK_OK;
}

/* A batch ends before the pair that would exceed the budget of either side. */
static pk_status cut(pk_batch_plan *p, int32_t batch_tokens) {
    int32_t rows[2] = { 0, 0 };
    p->n_batches = 0;
    for (size_t i = 0; i < p->n; i++) {
        const int32_t source = p->pair[i].length[0] + 1, target = p->pair[i].length[1] + 1;
        if (i == 0 || rows[0] + source > batch_tokens || rows[1] + target > batch_tokens) {
            PK_TRY(begin_batch(p, i));
            rows[0] = rows[1] = 0;
        }
        rows[0] += source, rows[1] += target;
        assert(rows[0] <= batch_tokens && rows[1] <= batch_tokens); /* max_length sees to it */
    }
    if (p->n_batches) p->start[p->n_batches] = (uint32_t)p->n;
    return PK_OK;
}

/* Draw, shuffle, sort, cut, shuffle the batches. in_order: only draw and cut. */
pk_status pk_batch_plan_make(pk_batch_plan *p, const pk_batch_plan_options *o, uint64_t epoch) {
    size_t base = 0;
    p->n = 0;
    for (size_t i = 0; i < o->n_corpora; base += o->corpus[i++].n)
        if (o->corpus[i].n) PK_TRY(draw_corpus(p, o, i, base, epoch));
    if (p->n > UINT32_MAX - 1)
        PK_FAIL(PK_UNSUPPORTED, "an epoch of %zu pairs is too long: lower data.weight", p->n);
    if (!o->in_order) {
        SHUFFLE(pk_planned, p->pair, p->n, pk_batch_plan_key(o->seed, OF_PAIRS, epoch))
        PK_TRY(sort_windows(p, o));
    }
    PK_TRY(cut(p, o->batch_tokens));
    if (!o->in_order)
        SHUFFLE(uint32_t, p->order, p->n_batches, pk_batch_plan_key(o->seed, OF_BATCHES, epoch))
    return PK_OK;
}

void pk_batch_plan_free(pk_batch_plan *p) {
    pk_memory_give(p->pair);
    pk_memory_give(p->spare);
    pk_memory_give(p->start);
    pk_memory_give(p->order);
    *p = (pk_batch_plan){ 0 };
}

const pk_planned *pk_batch_plan_batch(const pk_batch_plan *p, size_t i, size_t *n) {
    assert(i < p->n_batches);
    const uint32_t batch = p->order[i];
    *n = p->start[batch + 1] - p->start[batch];
    return p->pair + p->start[batch];
}
