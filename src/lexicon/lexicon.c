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
    NEAR = 4,    /* positions on each side of the diagonal, where nothing was counted */
    FEW = 16,    /* keys that are sorted by comparing each with each */
    SAMPLE = 32, /* sums that say how large those of the best are */
    LINE = 64,   /* bytes that memory brings at a time */
    /* entries of a source token by its neighbours */
    MOST_BESIDE = PK_LEXICON_TOP + 2 * PK_LEXICON_BESIDE_TOP
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
    int32_t       first = middle - NEAR, end = middle + NEAR + 1;
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
    const pk_lexicon *l = f->query.lexicon;
    const int32_t     token = f->query.source[at];
    if (token == l->source_vocab || !has_rows(l, token)) return;
    const uint32_t end = l->row_first[token + 1];
    for (uint32_t row = first_row(l, token, at - f->positions + 1); row < end; row++) {
        const int32_t t = at - l->distance[row];
        if (t < 0) break;
        const size_t cell = (size_t)t * (size_t)f->query.n + (size_t)at;
        f->first[cell] = l->entry_first[row];
        f->count[cell] = entries_of(l, row);
        for (uint32_t i = 0; i < f->count[cell]; i += LINE / sizeof *l->entry)
            __builtin_prefetch(l->entry + f->first[cell] + i);
    }
}

/* ---- sums ---- */

/* Where the sum of a token is: tokens of a sentence lie side by side, so sums stay in the nearest
 * cache. One that is not of the target's vocabulary has none: -1. Whether a token has a column yet
 * is as good as random: no branch asks it, and `token` has room for one more. */
static inline int32_t column_of(pk_lexicon_finder *f, int32_t token) {
    if ((uint32_t)token >= (uint32_t)f->query.lexicon->target_vocab) return -1;
    const int32_t before = f->column[token];
    f->token[f->n_columns] = token;
    f->n_columns += before == 0;
    f->column[token] = before ? before : f->n_columns;
    assert(f->n_columns <= f->room);
    return f->column[token] - 1;
}

static void add_entries(pk_lexicon_finder *f, const pk_lexicon_candidate *entry, uint32_t n,
                        float weight) {
    for (uint32_t i = 0; i < n; i++) {
        const float more = weight * entry[i].prob;
        if (!(more > 0)) continue;
        const int32_t column = column_of(f, entry[i].token);
        if (column >= 0) f->sum[column] += more;
    }
}

/* at any distance */
static void add_any(pk_lexicon_finder *f, int32_t token, float weight) {
    const pk_lexicon *l = f->query.lexicon;
    if (!has_rows(l, token)) return;
    const uint32_t row = l->row_first[token];
    add_entries(f, l->entry + l->entry_first[row], entries_of(l, row), weight);
}

/* the sum over all links, at their distances or at any */
static void add_links(pk_lexicon_finder *f, int32_t t, bool any) {
    const pk_lexicon *l = f->query.lexicon;
    const links       k = links_of(l, f->query.n, t);
    for (int32_t i = 0; i < k.n; i++) {
        const pk_lexicon_link link = link_at(&k, i);
        const size_t          cell = (size_t)t * (size_t)f->query.n + (size_t)link.at;
        if (link.at == -1)
            add_any(f, l->source_vocab, link.prob);
        else if (link.at < 0 || link.at >= f->query.n)
            continue; /* no position of the sentence */
        else if (any)
            add_any(f, f->query.source[link.at], link.prob);
        else
            add_entries(f, l->entry + f->first[cell], f->count[cell], link.prob);
    }
}

/* ---- by neighbours ---- */

typedef struct beside { /* a source token's rows: alone, behind the one before, before the next */
    const pk_lexicon_candidate *entry[3];
    uint32_t                    n[3];
    float                       weight[3];
} beside;

/* a token beside another; the edge of the sentence and what is no text are alike */
static uint32_t neighbour_at(const pk_lexicon_query *q, int32_t at, uint32_t side) {
    const int32_t edge = q->lexicon->source_vocab,
                  token = at >= 0 && at < q->n ? q->source[at] : edge;
    return side | (uint32_t)(token >= 0 && token < edge ? token : edge);
}

/* the row of this neighbour among rows first .. end - 1; end: there is none */
static uint32_t find_neighbour(const pk_lexicon *l, uint32_t first, uint32_t end,
                               uint32_t neighbour) {
    const uint32_t all = end;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (l->neighbour[middle] < neighbour)
            first = middle + 1;
        else
            end = middle;
    }
    return first < all && l->neighbour[first] == neighbour ? first : all;
}

/* Where a neighbour has no row, the token alone has its whole half. */
static beside rows_beside(const pk_lexicon_query *q, int32_t at) {
    const pk_lexicon *l = q->lexicon;
    const int32_t     token = q->source[at];
    beside            b = { .weight = { 0, 0.5f, 0.5f } };
    if (token < 0 || token >= l->source_vocab) return b;
    const uint32_t first = l->beside_first[token], end = l->beside_first[token + 1];
    const uint32_t neighbour[] = { PK_LEXICON_ALONE, neighbour_at(q, at - 1, PK_LEXICON_BEFORE),
                                   neighbour_at(q, at + 1, PK_LEXICON_AFTER) };
    for (int i = 0; i < 3; i++) {
        const uint32_t row = find_neighbour(l, first, end, neighbour[i]);
        const uint32_t most = i ? PK_LEXICON_BESIDE_TOP : PK_LEXICON_TOP;
        if (i) b.weight[0] += row == end ? 0.5f : 0.5f * l->rest[row];
        if (row == end) continue;
        const uint32_t n = l->beside_entry_first[row + 1] - l->beside_entry_first[row];
        b.entry[i] = l->beside_entry + l->beside_entry_first[row];
        b.n[i] = n < most ? n : most; /* more are only in a damaged file */
    }
    return b;
}

/* what one source token becomes, for all positions: columns and shares that add up to 1 */
static void find_beside(pk_lexicon_finder *f, int32_t at) {
    const beside                b = rows_beside(&f->query, at);
    pk_lexicon_candidate *const out = f->each + (size_t)at * MOST_BESIDE;
    float                       all = 0;
    int32_t                     n = 0;
    for (int i = 0; i < 3; i++)
        for (uint32_t j = 0; j < b.n[i]; j++) {
            const float   more = b.weight[i] * b.entry[i][j].prob;
            const int32_t column = more > 0 ? column_of(f, b.entry[i][j].token) : -1;
            if (column < 0) continue;
            out[n].token = column;
            n += f->sum[column] == 0;
            f->sum[column] += more;
        }
    for (int32_t i = 0; i < n; i++) all += f->sum[out[i].token];
    for (int32_t i = 0; i < n; i++) {
        out[i].prob = f->sum[out[i].token] / all;
        f->sum[out[i].token] = 0;
    }
    f->n_each[at] = n;
}

/* Links flattened, as sentences do not keep to the mean. Roots, unlike powers, have the same bits on
 * every machine. */
static float flat(float prob) {
    const float root = sqrtf(prob);
    return root * sqrtf(root);
}

/* The sum over all links; null has no part in it, as what is linked to it counts as linked to what
 * its own neighbours are. */
static void add_beside(pk_lexicon_finder *f, int32_t t) {
    const links k = links_of(f->query.lexicon, f->query.n, t);
    float       all = 0;
    for (int32_t i = 0; i < k.n; i++) all += link_at(&k, i).at < 0 ? 0 : flat(link_at(&k, i).prob);
    for (int32_t i = 0; i < k.n; i++) {
        const pk_lexicon_link link = link_at(&k, i);
        if (link.at < 0 || link.at >= f->query.n) continue;
        const pk_lexicon_candidate *each = f->each + (size_t)link.at * MOST_BESIDE;
        const float                 weight = flat(link.prob) / all;
        if (!(weight > 0)) continue;
        for (int32_t j = 0; j < f->n_each[link.at]; j++)
            f->sum[each[j].token] += weight * each[j].prob;
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

/* A sum that probably more than k of the columns have, but not many more: every so many are asked.
 * 0 where nearly all are wanted. */
static float guess_least(const pk_lexicon_finder *f, int32_t k) {
    uint64_t      key[SAMPLE];
    const int32_t n = f->n_columns;
    const int64_t place = n < 2 * SAMPLE ? SAMPLE : (int64_t)SAMPLE * k * 3 / (2 * n) + 2;
    if (place >= SAMPLE) return 0;
    for (int32_t i = 0; i < SAMPLE; i++) {
        const int32_t column = (int32_t)((int64_t)i * n / SAMPLE);
        key[i] = key_of(f->token[column], f->sum[column]);
    }
    sort_best(key, SAMPLE, (int32_t)place + 1);
    return candidate_of(key[place]).prob;
}

/* The tokens with a sum, and such a one or a larger one, as keys; returns how many. Which have it is
 * as good as random: no branch asks. */
static int32_t list_keys(pk_lexicon_finder *f, float least) {
    const float *const sum = f->sum;
    int32_t *const     place = f->place;
    const int32_t      columns = f->n_columns;
    int32_t            n = 0;
    for (int32_t i = 0; i < columns; i++) {
        place[n] = i;
        n += (sum[i] >= least) & (sum[i] > 0);
    }
    for (int32_t i = 0; i < n; i++) f->key[i] = key_of(f->token[place[i]], sum[place[i]]);
    return n;
}

/* By distances every position has tokens of its own. */
static void clear_sums(pk_lexicon_finder *f) {
    memset(f->sum, 0, (size_t)f->n_columns * sizeof *f->sum);
    if (f->each) return;
    for (int32_t i = 0; i < f->n_columns; i++) f->column[f->token[i]] = 0;
    f->n_columns = 0;
}

/* moves the k best of the tokens with a sum to out, best first, and clears all sums */
static int32_t take_best(pk_lexicon_finder *f, int32_t k, pk_lexicon_candidate *out) {
    int32_t n_keys = list_keys(f, guess_least(f, k));
    if (n_keys < k) n_keys = list_keys(f, 0);
    const int32_t n = n_keys < k ? n_keys : k;
    sort_best(f->key, n_keys, k);
    for (int32_t i = 0; i < n; i++) out[i] = candidate_of(f->key[i]);
    clear_sums(f);
    return n;
}

static bool any_sum(const pk_lexicon_finder *f) {
    for (int32_t i = 0; i < f->n_columns; i++)
        if (f->sum[i] > 0) return true;
    return false;
}

int32_t pk_lexicon_find(pk_lexicon_finder *f, int32_t t, int32_t k, pk_lexicon_candidate *out) {
    if (f->query.n < 1 || t < 0 || t >= f->positions || k < 1) return 0;
    if (f->each)
        add_beside(f, t);
    else
        add_links(f, t, false);
    if (!any_sum(f)) add_links(f, t, true);
    if (!any_sum(f)) add_any(f, f->query.lexicon->source_vocab, 1);
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

/* P(token | source token, its neighbours) */
static float prob_beside(const pk_lexicon_query *q, int32_t at, int32_t token) {
    const beside b = rows_beside(q, at);
    float        all = 0, prob = 0;
    for (int i = 0; i < 3; i++)
        for (uint32_t j = 0; j < b.n[i]; j++) {
            const float more = b.weight[i] * b.entry[i][j].prob;
            if (!(more > 0)) continue;
            all += more;
            if (b.entry[i][j].token == token) prob += more;
        }
    return prob > 0 ? prob / all : 0;
}

static bool by_neighbours(const pk_lexicon_query *q) {
    return q->by == PK_LEXICON_BY_NEIGHBOURS && q->lexicon->beside_first;
}

void pk_lexicon_align(const pk_lexicon_query *q, int32_t t, int32_t token, float *share) {
    const pk_lexicon *l = q->lexicon;
    const links       k = links_of(l, q->n, t);
    const bool        neighbours = by_neighbours(q);
    float             all = 0;
    for (int32_t i = 0; i < q->n; i++) share[i] = 0;
    for (int32_t i = 0; i < k.n; i++) {
        const pk_lexicon_link link = link_at(&k, i);
        if (link.at < 0 || link.at >= q->n) continue;
        share[link.at] = neighbours
                             ? flat(link.prob) * prob_beside(q, link.at, token)
                             : link.prob * prob_of(l, q->source[link.at], link.at - t, token);
        all += share[link.at];
    }
    for (int32_t i = 0; all > 0 && i < q->n; i++) share[i] /= all;
}

/* ---- memory ---- */

/* columns: different tokens that a source token, or null, has at once */
static pk_status take_sums(pk_lexicon_finder *f, int64_t columns) {
    const int32_t vocab = f->query.lexicon->target_vocab;
    const int64_t most = ((int64_t)f->query.n + 1) * columns;
    f->room = (int32_t)(most < vocab ? most : vocab);
    PK_TRY(PK_TAKE(&f->column, (size_t)vocab));
    PK_TRY(PK_TAKE(&f->token, (size_t)f->room + 1));
    PK_TRY(PK_TAKE(&f->place, (size_t)f->room + 1));
    PK_TRY(PK_TAKE(&f->sum, (size_t)f->room));
    return PK_TAKE(&f->key, (size_t)f->room);
}

static pk_status open_beside(pk_lexicon_finder *f) {
    const size_t n = (size_t)f->query.n;
    PK_TRY(take_sums(f, MOST_BESIDE + PK_LEXICON_TOP));
    PK_TRY(PK_TAKE(&f->each, n * MOST_BESIDE));
    PK_TRY(PK_TAKE(&f->n_each, n));
    for (int32_t at = 0; at < f->query.n; at++) find_beside(f, at);
    return PK_OK;
}

static pk_status open_distances(pk_lexicon_finder *f) {
    const size_t cells = (size_t)f->query.n * (size_t)f->positions;
    PK_TRY(take_sums(f, 2 * PK_LEXICON_TOP));
    PK_TRY(PK_TAKE(&f->first, cells));
    PK_TRY(PK_TAKE(&f->count, cells));
    for (int32_t at = 0; at < f->query.n; at++) find_rows(f, at);
    return PK_OK;
}

pk_status pk_lexicon_finder_open(const pk_lexicon_query *q, int32_t positions,
                                 pk_lexicon_finder *out) {
    *out = (pk_lexicon_finder){ .query = *q, .positions = positions };
    const pk_status status = by_neighbours(q) ? open_beside(out) : open_distances(out);
    if (status != PK_OK) pk_lexicon_finder_close(out);
    return status;
}

void pk_lexicon_finder_close(pk_lexicon_finder *f) {
    void *const blocks[] = { f->first, f->count, f->each,  f->n_each, f->column,
                             f->token, f->sum,   f->place, f->key };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    *f = (pk_lexicon_finder){ 0 };
}
