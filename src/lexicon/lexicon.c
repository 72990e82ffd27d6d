/* lexicon.c - look-ups: the sum over source positions, and the best of what it gives.
 *
 * Sums are made in one order, null first and then from the first source token to the last, so a
 * look-up is a function of the sentence alone. */
#include "lexicon/lexicon.h"

#include <math.h>

#include "base/memory.h"

enum { NEIGHBOURS = 4 }; /* on each side of the diagonal, where nothing was counted */

int32_t pk_lexicon_length(const pk_lexicon *l, int32_t n_source) {
    const double length = floor(l->slope * n_source + l->intercept + 0.5);
    return length >= 1 ? length < INT32_MAX / 2 ? (int32_t)length : INT32_MAX / 2 : 1;
}

/* ---- links and rows ---- */

typedef struct links { /* of one target position */
    int32_t        n;
    const int32_t *at;    /* NULL: first, first + 1 ... */
    const float   *prob;  /* NULL: all the same */
    int32_t        first; /* where `at` is NULL */
} links;

/* the source positions next to the diagonal, each with the same probability */
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
        if (end > first)
            return (links){ (int32_t)(end - first), l->link + first, l->link_prob + first, 0 };
    }
    return near_diagonal(l, n, t);
}

static int32_t link_at(const links *k, int32_t i) { return k->at ? k->at[i] : k->first + i; }

static float link_prob(const links *k, int32_t i) {
    return k->prob ? k->prob[i] : 1.0f / (float)k->n;
}

/* the source token of a link, null's number for -1; -1 where it is no position of the sentence or
 * no token that was counted */
static int32_t token_at(const pk_lexicon *l, const int32_t *source, int32_t n, int32_t at) {
    if (at == -1) return l->source_vocab;
    if (at < 0 || at >= n || source[at] < 0 || source[at] >= l->source_vocab) return -1;
    return source[at];
}

/* the row of a source token at a distance; -1: there is none */
static int64_t find_row(const pk_lexicon *l, int32_t token, int32_t distance) {
    uint32_t first = l->row_first[token], end = l->row_first[token + 1];
    if (first == end) return -1;
    if (token == l->source_vocab || distance == PK_LEXICON_ANY) return first;
    while (end - first > 1) {
        const uint32_t middle = first + (end - first) / 2;
        if (l->distance[middle] <= distance)
            first = middle;
        else
            end = middle;
    }
    return l->distance[first] == distance ? (int64_t)first : -1;
}

/* ---- sums ---- */

static void add_row(pk_lexicon_finder *f, int64_t row, float weight) {
    const pk_lexicon *l = f->lexicon;
    if (row < 0) return;
    for (uint32_t i = l->entry_first[row]; i < l->entry_first[row + 1]; i++) {
        const int32_t token = l->token[i];
        const float   more = weight * l->prob[i];
        if (token < 0 || token >= l->target_vocab || !(more > 0)) continue;
        if (f->sum[token] == 0) f->touched[f->n_touched++] = token;
        f->sum[token] += more;
    }
}

/* the sum over all links, at their distances or at any */
static void add_links(pk_lexicon_finder *f, const int32_t *source, int32_t n, int32_t t, bool any) {
    const pk_lexicon *l = f->lexicon;
    const links       k = links_of(l, n, t);
    for (int32_t i = 0; i < k.n; i++) {
        const int32_t at = link_at(&k, i), token = token_at(l, source, n, at);
        if (token < 0) continue;
        add_row(f, find_row(l, token, any ? PK_LEXICON_ANY : at - t), link_prob(&k, i));
    }
}

/* ---- the best of them ---- */

static bool before(pk_lexicon_candidate a, pk_lexicon_candidate b) {
    return a.prob > b.prob || (a.prob == b.prob && a.token < b.token);
}

/* a heap with the worst on top: moves what lies at i down to where it belongs */
static void sink(pk_lexicon_candidate *heap, int32_t n, int32_t i) {
    const pk_lexicon_candidate moved = heap[i];
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(heap[child], heap[child + 1])) child++;
        if (!before(moved, heap[child])) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* moves the k best of the touched tokens to out, best first, and clears all sums */
static int32_t take_best(pk_lexicon_finder *f, int32_t k, pk_lexicon_candidate *out) {
    int32_t n = 0;
    for (int32_t i = 0; i < f->n_touched; i++) {
        const pk_lexicon_candidate next = { f->touched[i], f->sum[f->touched[i]] };
        f->sum[next.token] = 0;
        if (n < k) {
            out[n++] = next;
            for (int32_t j = n / 2 - 1; n == k && j >= 0; j--) sink(out, n, j);
        } else if (before(next, out[0])) {
            out[0] = next;
            sink(out, n, 0);
        }
    }
    f->n_touched = 0;
    for (int32_t j = n / 2 - 1; n < k && j >= 0; j--) sink(out, n, j);
    for (int32_t end = n - 1; end > 0; end--) {
        const pk_lexicon_candidate worst = out[0];
        out[0] = out[end];
        out[end] = worst;
        sink(out, end, 0);
    }
    return n;
}

int32_t pk_lexicon_find(pk_lexicon_finder *f, const int32_t *source, int32_t n, int32_t t,
                        int32_t k, pk_lexicon_candidate *out) {
    const pk_lexicon *l = f->lexicon;
    if (n < 1 || t < 0 || k < 1) return 0;
    add_links(f, source, n, t, false);
    if (!f->n_touched) add_links(f, source, n, t, true);
    if (!f->n_touched) add_row(f, find_row(l, l->source_vocab, PK_LEXICON_ANY), 1);
    return take_best(f, k, out);
}

/* P(token | source token, distance) */
static float prob_of(const pk_lexicon *l, int64_t row, int32_t token) {
    for (uint32_t i = row < 0 ? 0 : l->entry_first[row]; row >= 0 && i < l->entry_first[row + 1];
         i++)
        if (l->token[i] == token) return l->prob[i];
    return 0;
}

void pk_lexicon_align(const pk_lexicon *l, const int32_t *source, int32_t n, int32_t t,
                      int32_t token, float *share) {
    const links k = links_of(l, n, t);
    float       all = 0;
    for (int32_t i = 0; i < n; i++) share[i] = 0;
    for (int32_t i = 0; i < k.n; i++) {
        const int32_t at = link_at(&k, i), word = token_at(l, source, n, at);
        if (at < 0 || word < 0) continue;
        share[at] = link_prob(&k, i) * prob_of(l, find_row(l, word, at - t), token);
        all += share[at];
    }
    for (int32_t i = 0; all > 0 && i < n; i++) share[i] /= all;
}

/* ---- memory ---- */

pk_status pk_lexicon_finder_open(const pk_lexicon *l, pk_lexicon_finder *out) {
    *out = (pk_lexicon_finder){ .lexicon = l };
    pk_status status = PK_TAKE(&out->sum, (size_t)l->target_vocab);
    if (status == PK_OK) status = PK_TAKE(&out->touched, (size_t)l->target_vocab);
    if (status != PK_OK) pk_lexicon_finder_close(out);
    return status;
}

void pk_lexicon_finder_close(pk_lexicon_finder *f) {
    pk_memory_give(f->sum);
    pk_memory_give(f->touched);
    *f = (pk_lexicon_finder){ 0 };
}
