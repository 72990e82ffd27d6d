/* lexicon_beside.c - the links of each source token three times: alone, under the token before it
 * and under the one behind it; sorted, equal ones lie side by side and are counted. */
#include "lexicon/lexicon_beside.h"

#include <stdlib.h>

#include "base/memory.h"

/* Chosen on parliament.dev, a million pairs: with rows from 8 links on and entries from 2 the table
 * has 1.7 times as many entries, and finds 0.3 of 100 tokens more at 64 candidates. */
enum {
    LEAST = 16, /* links of a row */
    FEWEST = 3, /* of an entry */
    /* links with no neighbour that count in each row as much as its own */
    REST = 5
};

typedef struct counted {
    uint32_t n;
    int32_t  target;
} counted;

typedef struct making {
    pk_lexicon_beside *out;
    uint64_t          *event; /* neighbour | target */
    counted           *run;
    size_t             event_room, run_room;
} making;

static int by_token(const void *a, const void *b) {
    const pk_lexicon_seen *x = a, *y = b;
    return x->token < y->token ? -1 : x->token > y->token;
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* the most frequent first, then the lower id */
static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* how often each target token is among n sorted events of one row; returns how many there are */
static size_t count_runs(making *m, const uint64_t *event, size_t n, uint32_t fewest) {
    size_t runs = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && event[end] == event[first];) end++;
        if (end - first < fewest) continue;
        m->run[runs++] = (counted){ (uint32_t)(end - first), (int32_t)(uint32_t)event[first] };
    }
    qsort(m->run, runs, sizeof *m->run, by_count);
    return runs;
}

/* the row of n sorted events, where there are enough */
static pk_status add_row(making *m, const uint64_t *event, size_t n) {
    pk_lexicon_beside *b = m->out;
    const uint32_t     neighbour = (uint32_t)(event[0] >> 32);
    const bool         alone = neighbour == PK_LEXICON_ALONE;
    const size_t       most = alone ? PK_LEXICON_TOP : PK_LEXICON_BESIDE_TOP;
    const double       all = (double)n + (alone ? 0 : REST);
    if (!alone && n < LEAST) return PK_OK;
    size_t runs = count_runs(m, event, n, alone ? 1 : FEWEST);
    if (!runs) return PK_OK;
    if (runs > most) runs = most;
    PK_TRY(PK_RESERVE(&b->neighbour, b->n_rows + 1, &b->neighbour_room));
    PK_TRY(PK_RESERVE(&b->rest, b->n_rows + 1, &b->rest_room));
    PK_TRY(PK_RESERVE(&b->entry_first, b->n_rows + 2, &b->first_room));
    PK_TRY(PK_RESERVE(&b->entry, b->n_entries + runs, &b->entry_room));
    b->neighbour[b->n_rows] = neighbour;
    b->rest[b->n_rows++] = alone ? 0 : (float)(REST / all);
    for (size_t i = 0; i < runs; i++)
        b->entry[b->n_entries++] =
            (pk_lexicon_candidate){ m->run[i].target, (float)(m->run[i].n / all) };
    b->entry_first[b->n_rows] = (uint32_t)b->n_entries;
    return PK_OK;
}

/* all rows of one source token, which has n links */
static pk_status add_token(making *m, const pk_lexicon_seen *seen, size_t n) {
    PK_TRY(PK_RESERVE(&m->event, 3 * n, &m->event_room));
    PK_TRY(PK_RESERVE(&m->run, n, &m->run_room));
    for (size_t i = 0; i < n; i++) {
        const uint32_t neighbour[] = { PK_LEXICON_ALONE,
                                       PK_LEXICON_BEFORE | (uint32_t)seen[i].before,
                                       PK_LEXICON_AFTER | (uint32_t)seen[i].after };
        for (size_t j = 0; j < 3; j++)
            m->event[3 * i + j] = (uint64_t)neighbour[j] << 32 | (uint32_t)seen[i].target;
    }
    qsort(m->event, 3 * n, sizeof *m->event, by_number);
    for (size_t first = 0, end; first < 3 * n; first = end) {
        for (end = first + 1; end < 3 * n && m->event[end] >> 32 == m->event[first] >> 32;) end++;
        PK_TRY(add_row(m, m->event + first, end - first));
    }
    return PK_OK;
}

static pk_status make(making *m, pk_lexicon_seen *seen, size_t n, int32_t source_vocab) {
    pk_lexicon_beside *b = m->out;
    PK_TRY(PK_TAKE(&b->first, (size_t)source_vocab + 1));
    PK_TRY(PK_RESERVE(&b->entry_first, 1, &b->first_room));
    b->entry_first[0] = 0;
    if (n) qsort(seen, n, sizeof *seen, by_token);
    size_t end = 0;
    for (int32_t x = 0; x < source_vocab; x++) {
        const size_t first = end;
        while (end < n && seen[end].token == x) end++;
        if (end > first) PK_TRY(add_token(m, seen + first, end - first));
        b->first[x + 1] = (uint32_t)b->n_rows;
    }
    return PK_OK;
}

pk_status pk_lexicon_beside_make(pk_lexicon_seen *seen, size_t n, int32_t source_vocab,
                                 pk_lexicon_beside *out) {
    *out = (pk_lexicon_beside){ 0 };
    making          m = { .out = out };
    const pk_status status = make(&m, seen, n, source_vocab);
    pk_memory_give(m.event);
    pk_memory_give(m.run);
    if (status != PK_OK) pk_lexicon_beside_free(out);
    return status;
}

void pk_lexicon_beside_free(pk_lexicon_beside *b) {
    void *const blocks[] = { b->first, b->neighbour, b->entry_first, b->rest, b->entry };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    *b = (pk_lexicon_beside){ 0 };
}
