/* align_rows.c - a counting sort of occurrences, then one sweep that counts entries and one that
 * writes them.
 *
 * Rows are shared out to threads in parts of about equal work, whose bounds depend on the corpus
 * alone; each row is made by one thread, in the order of the text. */
#include "align/align_rows.h"

#include <string.h>

#include "align/align_threads.h"
#include "base/memory.h"

enum { PARTS = 512 };

/* the two sweeps over all rows: `counting` says which one */
typedef struct making {
    const pk_align_rows_request *q;
    pk_align_rows               *r;
    uint32_t                   **seen; /* of each thread: the last row + 1 that had this word */
    bool                         counting;
} making;

/* counting sort: how often each word occurs, where its occurrences begin, then the occurrences */
static pk_status find_occurrences(const pk_align_rows_request *q, pk_align_rows *r) {
    const pk_align_corpus *c = q->corpus;
    const uint32_t        *token = c->token[q->given];
    const size_t          *first = c->first[q->given], n = c->n_tokens[q->given];
    size_t                *at;
    PK_TRY(PK_TAKE(&r->occurs, (size_t)r->n + 1));
    PK_TRY(PK_TAKE(&r->occurrence, n));
    PK_TRY(PK_TAKE(&at, (size_t)r->n + 1));
    for (size_t i = 0; i < n; i++) r->occurs[token[i] + 1]++;
    for (uint32_t w = 0; w < r->n; w++) r->occurs[w + 1] += r->occurs[w];
    memcpy(at, r->occurs, (size_t)r->n * sizeof *at);
    for (size_t pair = 0; pair < c->n; pair++)
        for (size_t i = first[pair]; i < first[pair + 1]; i++)
            r->occurrence[at[token[i]]++] =
                (pk_align_occurrence){ (uint32_t)pair, (uint32_t)(i - first[pair] + 1) };
    pk_memory_give(at);
    return PK_OK;
}

/* parts with about equal numbers of occurrences */
static pk_status find_parts(pk_align_rows *r) {
    const size_t share = r->occurs[r->n] / PARTS + 1;
    PK_TRY(PK_TAKE(&r->part, (size_t)2 * PARTS + 2));
    for (uint32_t w = 0, begin = 0; w < r->n; w++) {
        if (r->occurs[w + 1] - r->occurs[begin] < share && w + 1 < r->n) continue;
        r->part[++r->n_parts] = begin = w + 1;
    }
    return PK_OK;
}

/* the row's generated words, each once, to `to` unless NULL; how many there are */
static uint64_t make_row(const making *m, uint32_t row, uint32_t *seen, uint32_t *to) {
    const pk_align_rows   *r = m->r;
    const pk_align_corpus *c = m->q->corpus;
    const int              generated = !m->q->given;
    uint64_t               n = 0;
    for (size_t o = r->occurs[row]; o < r->occurs[row + 1]; o++) {
        const size_t pair = r->occurrence[o].pair;
        for (size_t j = c->first[generated][pair]; j < c->first[generated][pair + 1]; j++) {
            const uint32_t word = c->token[generated][j];
            if (seen[word] == row + 1) continue;
            seen[word] = row + 1;
            if (to) to[n] = word;
            n++;
        }
    }
    return n;
}

/* the rows of one part: counted in the first sweep, written in the second */
static pk_status make_part(void *context, size_t part, int32_t worker) {
    making        *m = context;
    pk_align_rows *r = m->r;
    if (!m->seen[worker]) {
        const int generated = !m->q->given;
        PK_TRY(PK_TAKE(&m->seen[worker], m->q->corpus->words[generated].n + 1));
    }
    for (uint32_t row = r->part[part]; row < r->part[part + 1]; row++) {
        uint32_t *to = m->counting ? NULL : r->word + r->entry[row];
        uint64_t  n = make_row(m, row, m->seen[worker], to);
        if (m->counting) r->entry[row + 1] = n;
    }
    return PK_OK;
}

static pk_status sweep(making *m, bool counting) {
    m->counting = counting;
    pk_status status = pk_align_parallel(m->q->threads, m->r->n_parts, make_part, m);
    for (int32_t i = 0; i < m->q->threads; i++) {
        pk_memory_give(m->seen[i]); /* the next sweep has the same rows: it starts empty */
        m->seen[i] = NULL;
    }
    return status;
}

/* Counting first finds the exact size: entries take most of the memory of a training. */
static pk_status make_rows(making *m) {
    pk_align_rows *r = m->r;
    PK_TRY(PK_TAKE(&r->entry, (size_t)r->n + 1));
    PK_TRY(sweep(m, true));
    for (uint32_t w = 0; w < r->n; w++) r->entry[w + 1] += r->entry[w];
    if (m->q->planned) PK_TRY(m->q->planned(m->q->user, r->entry[r->n]));
    PK_TRY(PK_TAKE(&r->word, (size_t)r->entry[r->n]));
    PK_TRY(PK_TAKE(&r->prob, (size_t)r->entry[r->n]));
    return sweep(m, false);
}

pk_status pk_align_rows_open(const pk_align_rows_request *q, pk_align_rows *out) {
    making m = { .q = q, .r = out };
    *out = (pk_align_rows){ .n = (uint32_t)q->corpus->words[q->given].n };
    pk_status status = PK_TAKE(&m.seen, (size_t)q->threads);
    if (status == PK_OK) status = find_occurrences(q, out);
    if (status == PK_OK) status = find_parts(out);
    if (status == PK_OK) status = make_rows(&m);
    pk_memory_give(m.seen);
    if (status != PK_OK) pk_align_rows_close(out);
    return status;
}

void pk_align_rows_close(pk_align_rows *r) {
    pk_memory_give(r->occurs);
    pk_memory_give(r->occurrence);
    pk_memory_give(r->entry);
    pk_memory_give(r->word);
    pk_memory_give(r->prob);
    pk_memory_give(r->part);
    *r = (pk_align_rows){ 0 };
}
