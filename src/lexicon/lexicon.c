/* lexicon.c - look-ups: the sum over source positions, and the best of what it gives.
 *
 * Sums are made in one order, null first and then from the first source token to the last, so a
 * look-up is a function of the sentence alone. */
#include "lexicon/lexicon.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

enum {
    NEIGHBOURS = 4, /* on each side of the diagonal, where nothing was counted */
    FEW = 16,       /* keys that are sorted by comparing each with each */
    SAMPLE = 32,    /* sums that say how large those of the best are */
    LINE = 64       /* bytes that memory brings at a time */
};

int32_t pk_lexicon_length(const pk_lexicon *l, int32_t n_source) {
    const double length = floor(l->slope * n_source + l->intercept + 0.5);
    return length >= 1 ? length < INT32_MAX / 2 ? (int32_t)length : INT32_MAX / 2 : 1;
}

/* ---- links and rows ---- */

typedef struct links { /* of one target position */
    int32_t                n;
    const pk_lexicon_link *link;  /* NULL: first, first + 1 ..., all with the same probability */
    int32_t                first; /* where there is none */
} links;

/* the source positions next to the diagonal */
static links near_diagonal(const pk_lexicon *l, int32_t n, int32_t t) {
    const int32_t middle = (int32_t)(((int64_t)t * n) / pk_lexicon_length(l, n));
    int32_t       first = middle - NEIGHBOURS, end = middle + NEIGHBOURS + 1;
    if (end > n) end = n;
    if (first > end - 1) first = end - 1;
    if (first < 0) first = 0;
    return (links){ .n = end - first, .first = first };
}

static links links_of(const pk_lexicon *l, int32_t n, int32_t t) {
    if (n <= l->longest && (uint32_t)t < l->length_first[n + 1] - l->length_first[n]) {
        const uint32_t position = l->length_first[n] + (uint32_t)t;
        const uint32_t first = l->link_first[position], end = l->link_first[position + 1];
        if (end > first) return (links){ (int32_t)(end - first), l->link + first, 0 };
    }
    return near_diagonal(l, n, t);
}

static pk_lexicon_link link_at(const links *k, int32_t i) {
    return k->link ? k->link[i] : (pk_lexicon_link){ k->first + i, 1.0f / (float)k->n };
}

/* a source token that has rows; null has those behind the last */
static bool has_rows(const pk_lexicon *l, int32_t token) {
    return token >= 0 && token <= l->source_vocab && l->row_first[token] < l->row_first[token + 1];
}

int32_t pk_lexicon_row(const pk_lexicon *l, int32_t token, const pk_lexicon_candidate **out) {
    if (!has_rows(l, token)) return 0;
    const uint32_t row = l->row_first[token];
    *out = l->entry + l->entry_first[row];
    return (int32_t)(l->entry_first[row + 1] - l->entry_first[row]);
}

/* the first row of a token at this distance or a greater one, that of all distances left out */
static uint32_t first_row(const pk_lexicon *l, int32_t token, int32_t distance) {
    uint32_t first = l->row_first[token] + 1, end = l->row_first[token + 1];
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (l->distance[middle] < distance)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* how many entries a row has; more are only in a damaged file */
static uint32_t entries_of(const pk_lexicon *l, uint32_t row) {
    const uint32_t n = l->entry_first[row + 1] - l->entry_first[row];
    return n < PK_LEXICON_TOP ? n : PK_LEXICON_TOP;
}

/* where the entries of source token `at` lie for each target position: its rows are walked once */
static void find_rows(pk_lexicon_finder *f, int32_t at) {
    const pk_lexicon *l = f->lexicon;
    const int32_t     token = f->source[at];
    if (token == l->source_vocab || !has_rows(l, token)) return;
    const uint32_t end = l->row_first[token + 1];
    for (uint32_t row = first_row(l, token, at - f->positions + 1); row < end; row++) {
        const int32_t t = at - l->distance[row];
        if (t < 0) break;
        const size_t cell = (size_t)t * (size_t)f->n + (size_t)at;
        f->first[cell] = l->entry_first[row];
        f->count[cell] = entries_of(l, row);
        for (uint32_t i = 0; i < f->count[cell]; i += LINE / sizeof *l->entry)
            __builtin_prefetch(l->entry + f->first[cell] + i);
    }
}

/* ---- sums ---- */

/* Whether a token has a sum yet is as good as random: no branch asks it. `touched` has room for one
 * more, and no rows have more tokens than there is room for. */
static void add_entries(pk_lexicon_finder *f, uint32_t first, uint32_t n, float weight) {
    const pk_lexicon_candidate *entry = f->lexicon->entry + first;
    const uint32_t              vocab = (uint32_t)f->lexicon->target_vocab;
    float *const                sum = f->sum;
    int32_t *const              touched = f->touched;
    int32_t                     n_touched = f->n_touched;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t token = entry[i].token;
        const float   more = weight * entry[i].prob;
        if ((uint32_t)token >= vocab || !(more > 0)) continue;
        touched[n_touched] = token;
        n_touched += sum[token] == 0;
        sum[token] += more;
    }
    assert(n_touched <= f->room);
    f->n_touched = n_touched;
}

/* at any distance */
static void add_any(pk_lexicon_finder *f, int32_t token, float weight) {
    const pk_lexicon *l = f->lexicon;
    if (!has_rows(l, token)) return;
    const uint32_t row = l->row_first[token];
    add_entries(f, l->entry_first[row], entries_of(l, row), weight);
}

/* the sum over all links, at their distances or at any */
static void add_links(pk_lexicon_finder *f, int32_t t, bool any) {
    const links k = links_of(f->lexicon, f->n, t);
    for (int32_t i = 0; i < k.n; i++) {
        const pk_lexicon_link link = link_at(&k, i);
        const size_t          cell = (size_t)t * (size_t)f->n + (size_t)link.at;
        if (link.at == -1)
            add_any(f, f->lexicon->source_vocab, link.prob);
        else if (link.at < 0 || link.at >= f->n)
            continue; /* no position of the sentence */
        else if (any)
            add_any(f, f->source[link.at], link.prob);
        else
            add_entries(f, f->first[cell], f->count[cell], link.prob);
    }
}

/* ---- the best of them ---- */

/* A candidate as a number: the higher the probability the larger, then the lower the id. (Bits of
 * positive floats order as the floats do.) */
static uint64_t key_of(int32_t token, float prob) {
    uint32_t bits;
    memcpy(&bits, &prob, sizeof bits);
    return (uint64_t)bits << 32 | (uint32_t)~token;
}

static pk_lexicon_candidate candidate_of(uint64_t key) {
    const uint32_t       bits = (uint32_t)(key >> 32);
    pk_lexicon_candidate c = { (int32_t) ~(uint32_t)key, 0 };
    memcpy(&c.prob, &bits, sizeof bits);
    return c;
}

/* of a few keys, all different: each goes where so many are larger */
static void sort_few(uint64_t *key, int32_t n) {
    uint64_t sorted[FEW];
    int32_t  larger[FEW] = { 0 };
    for (int32_t i = 1; i < n; i++)
        for (int32_t j = 0; j < i; j++) {
            const int32_t later = key[i] > key[j];
            larger[j] += later;
            larger[i] += 1 - later;
        }
    for (int32_t i = 0; i < n; i++) sorted[larger[i]] = key[i];
    for (int32_t i = 0; i < n; i++) key[i] = sorted[i];
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c) {
    if (a < b) return b < c ? b : a < c ? c : a;
    return a < c ? a : b < c ? c : b;
}

/* keys larger than the pivot to the front, without branches; returns how many */
static int32_t part(uint64_t *key, int32_t n, uint64_t pivot) {
    int32_t larger = 0;
    for (int32_t i = 0; i < n; i++) {
        const uint64_t moved = key[i];
        key[i] = key[larger];
        key[larger] = moved;
        larger += moved > pivot;
    }
    return larger;
}

/* the k largest keys to the front, in order: quicksort that leaves alone what lies behind them */
static void sort_best(uint64_t *key, int32_t n, int32_t k) {
    while (n > FEW && k > 0) {
        const int32_t larger = part(key, n, middle_of(key[0], key[n / 2], key[n - 1]));
        sort_best(key, larger, k);
        key += larger, n -= larger, k -= larger;
    }
    if (k > 0) sort_few(key, n);
}

/* A sum that probably more than k of the touched tokens have, but not many more: every so many
 * tokens are asked. 0 where nearly all are wanted. */
static float guess_least(const pk_lexicon_finder *f, int32_t k) {
    uint64_t      key[SAMPLE];
    const int32_t n = f->n_touched;
    const int64_t place = n < 2 * SAMPLE ? SAMPLE : (int64_t)SAMPLE * k * 3 / (2 * n) + 2;
    if (place >= SAMPLE) return 0;
    for (int32_t i = 0; i < SAMPLE; i++) {
        const int32_t token = f->touched[(int64_t)i * n / SAMPLE];
        key[i] = key_of(token, f->sum[token]);
    }
    sort_best(key, SAMPLE, (int32_t)place + 1);
    return candidate_of(key[place]).prob;
}

/* the touched tokens with such a sum or a larger one, as keys; returns how many */
static int32_t list_keys(pk_lexicon_finder *f, float least) {
    int32_t n = 0;
    for (int32_t i = 0; i < f->n_touched; i++) {
        const int32_t token = f->touched[i];
        const float   sum = f->sum[token];
        f->key[n] = key_of(token, sum);
        n += sum >= least;
    }
    return n;
}

/* moves the k best of the touched tokens to out, best first, and clears all sums */
static int32_t take_best(pk_lexicon_finder *f, int32_t k, pk_lexicon_candidate *out) {
    const int32_t n = f->n_touched < k ? f->n_touched : k;
    int32_t       n_keys = list_keys(f, guess_least(f, k));
    if (n_keys < n) n_keys = list_keys(f, 0);
    sort_best(f->key, n_keys, k);
    for (int32_t i = 0; i < n; i++) out[i] = candidate_of(f->key[i]);
    for (int32_t i = 0; i < f->n_touched; i++) f->sum[f->touched[i]] = 0;
    f->n_touched = 0;
    return n;
}

int32_t pk_lexicon_find(pk_lexicon_finder *f, int32_t t, int32_t k, pk_lexicon_candidate *out) {
    if (f->n < 1 || t < 0 || t >= f->positions || k < 1) return 0;
    add_links(f, t, false);
    if (!f->n_touched) add_links(f, t, true);
    if (!f->n_touched) add_any(f, f->lexicon->source_vocab, 1);
    return take_best(f, k, out);
}

/* P(token | source token, distance) */
static float prob_of(const pk_lexicon *l, int32_t from, int32_t distance, int32_t token) {
    if (from == l->source_vocab || !has_rows(l, from)) return 0;
    const uint32_t row = first_row(l, from, distance);
    if (row == l->row_first[from + 1] || l->distance[row] != distance) return 0;
    for (uint32_t i = l->entry_first[row]; i < l->entry_first[row + 1]; i++)
        if (l->entry[i].token == token) return l->entry[i].prob;
    return 0;
}

void pk_lexicon_align(const pk_lexicon *l, const int32_t *source, int32_t n, int32_t t,
                      int32_t token, float *share) {
    const links k = links_of(l, n, t);
    float       all = 0;
    for (int32_t i = 0; i < n; i++) share[i] = 0;
    for (int32_t i = 0; i < k.n; i++) {
        const pk_lexicon_link link = link_at(&k, i);
        if (link.at < 0 || link.at >= n) continue;
        share[link.at] = link.prob * prob_of(l, source[link.at], link.at - t, token);
        all += share[link.at];
    }
    for (int32_t i = 0; all > 0 && i < n; i++) share[i] /= all;
}

/* ---- memory ---- */

pk_status pk_lexicon_finder_open(const pk_lexicon *l, const int32_t *source, int32_t n,
                                 int32_t positions, pk_lexicon_finder *out) {
    *out = (pk_lexicon_finder){ .lexicon = l, .source = source, .n = n, .positions = positions };
    const size_t  cells = (size_t)n * (size_t)positions;
    const int64_t most = ((int64_t)n + 1) * PK_LEXICON_TOP; /* of each source token, and of null */
    out->room = (int32_t)(most < l->target_vocab ? most : l->target_vocab);
    pk_status status = PK_TAKE(&out->first, cells);
    if (status == PK_OK) status = PK_TAKE(&out->count, cells);
    if (status == PK_OK) status = PK_TAKE(&out->sum, (size_t)l->target_vocab);
    if (status == PK_OK) status = PK_TAKE(&out->touched, (size_t)out->room + 1);
    if (status == PK_OK) status = PK_TAKE(&out->key, (size_t)out->room + 1);
    for (int32_t at = 0; status == PK_OK && at < n; at++) find_rows(out, at);
    if (status != PK_OK) pk_lexicon_finder_close(out);
    return status;
}

void pk_lexicon_finder_close(pk_lexicon_finder *f) {
    void *const blocks[] = { f->first, f->count, f->sum, f->touched, f->key };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    *f = (pk_lexicon_finder){ 0 };
}
