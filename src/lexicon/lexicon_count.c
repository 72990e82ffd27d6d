/* lexicon_count.c - every event is one number; sorted, equal ones lie side by side and are counted.
 *
 *   word:  source token (null: source_vocab) | distance + MIDDLE | target token
 *   link:  source length | target position | link (0: null) */
#include "lexicon/lexicon_count.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    TOKEN_BITS = 20,
    DISTANCE_BITS = 12,
    MIDDLE = 1 << (DISTANCE_BITS - 1),
    LENGTH_BITS = 14,
    MOST_LENGTH = (1 << LENGTH_BITS) - 1,
    REACH = 2 /* how far off a token may be whose link one without a link shares */
};

pk_status pk_lexicon_counter_open(int32_t source_vocab, int32_t target_vocab,
                                  pk_lexicon_counter *out) {
    *out = (pk_lexicon_counter){ .source_vocab = source_vocab, .target_vocab = target_vocab };
    const int32_t most = (1 << TOKEN_BITS) - 2;
    if (source_vocab < 1 || target_vocab < 1 || source_vocab > most || target_vocab > most)
        PK_FAIL(PK_UNSUPPORTED, "candidates can be counted of 1 to %d tokens, not %d and %d", most,
                source_vocab, target_vocab);
    return PK_OK;
}

void pk_lexicon_counter_close(pk_lexicon_counter *c) {
    pk_memory_give(c->word);
    pk_memory_give(c->link);
    pk_memory_give(c->seen);
    *c = (pk_lexicon_counter){ 0 };
}

/* ---- events ---- */

static void count_lengths(pk_lexicon_counter *c, double source, double target) {
    c->pairs++;
    c->lengths[0] += source;
    c->lengths[1] += target;
    c->squared += source * source;
    c->product += source * target;
}

static bool in_vocabulary(int32_t token, int32_t vocab) { return token >= 0 && token < vocab; }

/* one target token; links that are too far apart, and tokens that are no text, count only as a
 * position */
static void count_token(pk_lexicon_counter *c, const int32_t *source, int32_t n_source, int32_t t,
                        int32_t target, uint32_t link) {
    const int32_t distance = link ? (int32_t)link - 1 - t : 0;
    const int32_t from = link ? source[link - 1] : c->source_vocab;
    c->link[c->n_links++] =
        (uint64_t)n_source << 2 * LENGTH_BITS | (uint64_t)t << LENGTH_BITS | link;
    if (distance < -MIDDLE || distance >= MIDDLE || !in_vocabulary(target, c->target_vocab) ||
        !in_vocabulary(from, c->source_vocab + 1))
        return;
    c->word[c->n_words++] = (uint64_t)from << (TOKEN_BITS + DISTANCE_BITS) |
                            (uint64_t)(distance + MIDDLE) << TOKEN_BITS | (uint64_t)target;
}

/* a pair that is counted */
typedef struct linked {
    const int32_t  *source, *target;
    int32_t         n_source, n_target;
    const uint32_t *link;
} linked;

/* 0 where it is none of the sentence */
static uint32_t link_of(const linked *p, int32_t t) {
    return p->link[t] <= (uint32_t)p->n_source ? p->link[t] : 0;
}

static int32_t text_or_edge(const pk_lexicon_counter *c, const linked *p, int32_t at) {
    return at >= 0 && at < p->n_source && in_vocabulary(p->source[at], c->source_vocab)
               ? p->source[at]
               : c->source_vocab;
}

/* target token t beside source token `at` and its neighbours */
static void see(pk_lexicon_counter *c, const linked *p, int32_t t, int32_t at) {
    if (!in_vocabulary(p->target[t], c->target_vocab) ||
        !in_vocabulary(p->source[at], c->source_vocab))
        return;
    c->seen[c->n_seen++] = (pk_lexicon_seen){ p->source[at], text_or_edge(c, p, at - 1),
                                              text_or_edge(c, p, at + 1), p->target[t] };
}

/* the link of the nearest token on one side that has one; 0: it is out of reach */
static uint32_t link_beside(const linked *p, int32_t t, int32_t step) {
    for (int32_t i = 1, u = t + step; i <= REACH && u >= 0 && u < p->n_target; i++, u += step)
        if (link_of(p, u)) return link_of(p, u);
    return 0;
}

/* A token that is linked to nothing, like an article that only one language has, goes with what its
 * neighbours are linked to. */
static void see_token(pk_lexicon_counter *c, const linked *p, int32_t t) {
    const uint32_t own = link_of(p, t);
    if (own) {
        see(c, p, t, (int32_t)own - 1);
        return;
    }
    const uint32_t before = link_beside(p, t, -1), after = link_beside(p, t, 1);
    if (before) see(c, p, t, (int32_t)before - 1);
    if (after && after != before) see(c, p, t, (int32_t)after - 1);
}

pk_status pk_lexicon_count(pk_lexicon_counter *c, const int32_t *source, int32_t n_source,
                           const int32_t *target, int32_t n_target, const uint32_t *link) {
    if (n_source < 1 || n_target < 1 || n_source >= MOST_LENGTH || n_target >= MOST_LENGTH)
        return PK_OK;
    PK_TRY(PK_RESERVE(&c->word, c->n_words + (size_t)n_target, &c->word_room));
    PK_TRY(PK_RESERVE(&c->link, c->n_links + (size_t)n_target, &c->link_room));
    PK_TRY(PK_RESERVE(&c->seen, c->n_seen + 2 * (size_t)n_target, &c->seen_room));
    const linked p = { source, target, n_source, n_target, link };
    count_lengths(c, n_source, n_target);
    for (int32_t t = 0; t < n_target; t++) {
        count_token(c, source, n_source, t, target[t], link_of(&p, t));
        see_token(c, &p, t);
    }
    return PK_OK;
}

/* ---- the table that grows ---- */

typedef struct count {
    uint32_t n;
    int32_t  token;
} count;

typedef struct making {
    pk_lexicon_counter   *c;
    uint32_t             *row_first, *entry_first, *length_first, *link_first;
    int32_t              *distance;
    pk_lexicon_candidate *entry;
    pk_lexicon_link      *link;
    pk_lexicon_beside     beside;
    size_t                n_rows, n_entries, n_positions, n_links;
    size_t                distance_room, row_room, entry_room, position_room, link_room;
    int32_t               longest;
    int32_t              *pooled; /* target tokens of one source token, at all distances */
    size_t                pooled_room;
    count                *counted;
    size_t                counted_room;
} making;

static void free_making(making *m) {
    void *const blocks[] = { m->row_first,  m->entry_first, m->length_first,
                             m->link_first, m->distance,    m->entry,
                             m->link,       m->pooled,      m->counted };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    pk_lexicon_beside_free(&m->beside);
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int by_token(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* the most frequent first, then the lower id */
static int by_count(const void *a, const void *b) {
    const count *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static pk_status add_entry(making *m, int32_t token, float prob) {
    PK_TRY(PK_RESERVE(&m->entry, m->n_entries + 1, &m->entry_room));
    m->entry[m->n_entries++] = (pk_lexicon_candidate){ token, prob };
    return PK_OK;
}

/* a row of n target tokens, sorted: the best PK_LEXICON_TOP of them with their shares of all n */
static pk_status add_row(making *m, int32_t distance, const int32_t *token, size_t n) {
    size_t runs = 0;
    PK_TRY(PK_RESERVE(&m->counted, n, &m->counted_room));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || token[i] != token[i - 1]) m->counted[runs++] = (count){ 0, token[i] };
        m->counted[runs - 1].n++;
    }
    qsort(m->counted, runs, sizeof *m->counted, by_count);
    PK_TRY(PK_RESERVE(&m->distance, m->n_rows + 1, &m->distance_room));
    PK_TRY(PK_RESERVE(&m->entry_first, m->n_rows + 2, &m->row_room));
    m->distance[m->n_rows++] = distance;
    for (size_t i = 0; i < runs && i < PK_LEXICON_TOP; i++)
        PK_TRY(add_entry(m, m->counted[i].token, (float)((double)m->counted[i].n / (double)n)));
    m->entry_first[m->n_rows] = (uint32_t)m->n_entries;
    return PK_OK;
}

static uint64_t source_of(uint64_t word) { return word >> (TOKEN_BITS + DISTANCE_BITS); }
static uint64_t row_of(uint64_t word) { return word >> TOKEN_BITS; }

/* all rows of one source token: its sorted events word[0 .. n). Null has one row. */
static pk_status add_token(making *m, const uint64_t *word, size_t n) {
    const bool null = source_of(word[0]) == (uint64_t)m->c->source_vocab;
    PK_TRY(PK_RESERVE(&m->pooled, 2 * n, &m->pooled_room));
    int32_t *const in_order = m->pooled + n;
    for (size_t i = 0; i < n; i++)
        m->pooled[i] = in_order[i] = (int32_t)(word[i] & ((1u << TOKEN_BITS) - 1));
    qsort(m->pooled, n, sizeof *m->pooled, by_token);
    PK_TRY(add_row(m, PK_LEXICON_ANY, m->pooled, n));
    for (size_t first = 0, end; first < n && !null; first = end) {
        for (end = first + 1; end < n && row_of(word[end]) == row_of(word[first]);) end++;
        const int32_t distance =
            (int32_t)(row_of(word[first]) & ((1u << DISTANCE_BITS) - 1)) - MIDDLE;
        PK_TRY(add_row(m, distance, in_order + first, end - first));
    }
    return PK_OK;
}

static pk_status make_rows(making *m) {
    const pk_lexicon_counter *c = m->c;
    PK_TRY(PK_TAKE(&m->row_first, (size_t)c->source_vocab + 2));
    PK_TRY(PK_RESERVE(&m->entry_first, 1, &m->row_room));
    m->entry_first[0] = 0;
    for (size_t first = 0, end = 0, x = 0; x <= (size_t)c->source_vocab; x++, first = end) {
        while (end < c->n_words && source_of(c->word[end]) == x) end++;
        if (end > first) PK_TRY(add_token(m, c->word + first, end - first));
        m->row_first[x + 1] = (uint32_t)m->n_rows;
    }
    return PK_OK;
}

/* ---- links ---- */

static uint64_t position_of(uint64_t link) { return link >> LENGTH_BITS; }

/* positions between are empty: all of a length are numbered without gaps */
static pk_status open_position(making *m, uint32_t position) {
    PK_TRY(PK_RESERVE(&m->link_first, (size_t)position + 2, &m->position_room));
    for (; m->n_positions <= position; m->n_positions++)
        m->link_first[m->n_positions + 1] = (uint32_t)m->n_links;
    return PK_OK;
}

/* the links of one target position: sorted events link[0 .. n) */
static pk_status add_position(making *m, const uint64_t *link, size_t n) {
    const uint32_t t = (uint32_t)position_of(link[0]) & MOST_LENGTH;
    const uint32_t length = (uint32_t)(link[0] >> 2 * LENGTH_BITS);
    PK_TRY(open_position(m, m->length_first[length] + t));
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && link[end] == link[first];) end++;
        PK_TRY(PK_RESERVE(&m->link, m->n_links + 1, &m->link_room));
        m->link[m->n_links++] = (pk_lexicon_link){ (int32_t)(link[first] & MOST_LENGTH) - 1,
                                                   (float)((double)(end - first) / (double)n) };
    }
    m->link_first[m->n_positions] = (uint32_t)m->n_links;
    return PK_OK;
}

static pk_status make_links(making *m) {
    const pk_lexicon_counter *c = m->c;
    m->longest = c->n_links ? (int32_t)(c->link[c->n_links - 1] >> 2 * LENGTH_BITS) : 0;
    PK_TRY(PK_TAKE(&m->length_first, (size_t)m->longest + 2));
    PK_TRY(PK_RESERVE(&m->link_first, 1, &m->position_room));
    m->link_first[0] = 0;
    size_t at = 0;
    for (uint32_t length = 0; length <= (uint32_t)m->longest; length++) {
        m->length_first[length] = (uint32_t)m->n_positions;
        while (at < c->n_links && c->link[at] >> 2 * LENGTH_BITS == length) {
            size_t end = at + 1;
            while (end < c->n_links && position_of(c->link[end]) == position_of(c->link[at])) end++;
            PK_TRY(add_position(m, c->link + at, end - at));
            at = end;
        }
        m->length_first[length + 1] = (uint32_t)m->n_positions;
    }
    return PK_OK;
}

/* ---- all of it ---- */

/* the least-squares line of target lengths over source lengths; a constant where all sources are
 * equally long */
static void fit_lengths(const pk_lexicon_counter *c, pk_lexicon *out) {
    const double n = c->pairs > 0 ? c->pairs : 1;
    const double spread = c->squared - c->lengths[0] * c->lengths[0] / n;
    out->slope = spread > 1e-9 * n ? (c->product - c->lengths[0] * c->lengths[1] / n) / spread : 0;
    out->intercept = (c->lengths[1] - out->slope * c->lengths[0]) / n;
}

/* what was counted takes much memory: each list goes when it is done with */
static void forget_links(pk_lexicon_counter *c) {
    pk_memory_give(c->word);
    pk_memory_give(c->link);
    c->word = c->link = NULL;
    c->n_words = c->word_room = c->n_links = c->link_room = 0;
}

static pk_status make(making *m) {
    pk_lexicon_counter *c = m->c;
    if (!c->n_words)
        PK_FAIL(PK_FORMAT, "no pair has tokens on both sides: there are no candidates to count");
    qsort(c->word, c->n_words, sizeof *c->word, by_number);
    qsort(c->link, c->n_links, sizeof *c->link, by_number);
    PK_TRY(make_rows(m));
    PK_TRY(make_links(m));
    forget_links(c);
    PK_TRY(pk_lexicon_beside_make(c->seen, c->n_seen, c->source_vocab, &m->beside));
    if (m->n_entries > UINT32_MAX || m->n_links > UINT32_MAX || m->beside.n_entries > UINT32_MAX)
        PK_FAIL(PK_UNSUPPORTED, "too many candidates for one model: give less text");
    return PK_OK;
}

pk_status pk_lexicon_make(pk_lexicon_counter *c, uint64_t fingerprint, pk_buffer *out) {
    making    m = { .c = c };
    pk_status status = make(&m);
    if (status == PK_OK) {
        pk_lexicon made = { .source_vocab = c->source_vocab,
                            .target_vocab = c->target_vocab,
                            .fingerprint = fingerprint,
                            .longest = m.longest,
                            .row_first = m.row_first,
                            .distance = m.distance,
                            .entry_first = m.entry_first,
                            .entry = m.entry,
                            .length_first = m.length_first,
                            .link_first = m.link_first,
                            .link = m.link,
                            .beside_first = m.beside.first,
                            .neighbour = m.beside.neighbour,
                            .rest = m.beside.rest,
                            .beside_entry_first = m.beside.entry_first,
                            .beside_entry = m.beside.entry };
        fit_lengths(c, &made);
        pk_lexicon_write(&made, out);
        status = pk_buffer_status(out);
    }
    free_making(&m);
    return status;
}
