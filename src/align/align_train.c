/* align_train.c - variational Bayes EM for IBM model 2 with the diagonal prior, as fast_align's
 * -d -o -v (Dyer, Chahuneau and Smith 2013).
 *
 * An iteration has two sweeps. The first finds the probability of every generated word, the sum
 * over what may have generated it: threads share the pairs. The second collects each row's counts
 * and turns them into probabilities: threads share the rows. In both a row's probabilities are
 * spread out over an array with a cell for each generated word, so that nothing is searched for.
 * Invariant: each sum is made by one thread, in the order of words and of the text. */
#include "align/align_train.h"

#include <math.h>
#include <string.h>

#include "align/align_prune.h"
#include "align/align_rows.h"
#include "align/align_sizes.h"
#include "align/align_threads.h"
#include "base/memory.h"

static const double alpha = 0.01; /* of the Dirichlet prior on rows */
/* The lowest probability, so that a sum is never 0 and its inverse is never infinite. It only
 * matters for words that nothing probable could have generated. */
static const float tiniest = 1e-30f;

enum { RANGES_PER_THREAD = 2 };

/* one generated word while a row is handled */
typedef struct cell {
    double count;
    float  prob;
} cell;

typedef struct training {
    const pk_align_training *t;
    const pk_align_corpus   *c;
    int                      given, generated; /* sides */
    pk_align_rows            rows;
    float                   *null;           /* t(word | null) [generated words] */
    float                   *weight, *nulls; /* of each generated token: what a link's probability
                                                is multiplied with to get its posterior; null's
                                                posterior */
    double                   tension;
    pk_align_sizes           sizes;
    double                  *partial; /* of sizes or parts: sums, added in order by one thread */
    /* pairs are shared out in ranges */
    size_t *range, n_ranges;
    cell  **cell; /* of each thread [generated words] */
    bool    first_iteration;
    double  done, steps; /* of the progress: sweeps */
    size_t  bytes;
} training;

static uint32_t length(const training *r, size_t pair, int side) {
    return pk_align_corpus_length(r->c, pair, side);
}

/* ---- memory ---- */

/* ranges of pairs with about equal work; the work of a pair is the product of its lengths */
static pk_status find_ranges(training *r) {
    const size_t wanted = (size_t)r->t->threads * RANGES_PER_THREAD;
    double       all = 0, done = 0;
    PK_TRY(PK_TAKE(&r->range, wanted + 1));
    for (size_t i = 0; i < r->sizes.n; i++)
        all += (double)r->sizes.size[i].pairs * r->sizes.size[i].m * r->sizes.size[i].n;
    for (size_t i = 0; i < r->c->n; i++) {
        done += (double)length(r, i, 0) * length(r, i, 1);
        if (done >= all * (double)(r->n_ranges + 1) / (double)wanted && r->n_ranges + 1 < wanted)
            r->range[++r->n_ranges] = i + 1;
    }
    r->range[++r->n_ranges] = r->c->n;
    return PK_OK;
}

/* reports the memory that will be needed, before it is taken: the caller may cancel */
static pk_status plan(void *user, uint64_t entries) {
    training    *r = user;
    const size_t words = r->c->words[r->generated].n;
    r->bytes = pk_align_corpus_bytes(r->c) + (size_t)entries * 8 +
               r->c->n_tokens[r->given] * sizeof(pk_align_occurrence) +
               r->c->n_tokens[r->generated] * 8 + words * sizeof(float) +
               (size_t)r->t->threads * words * sizeof(cell) + r->rows.n * 16 + r->c->n * 4;
    return r->t->progress ? r->t->progress(r->t->user, 0, r->bytes) : PK_OK;
}

/* all memory of the training, taken before the first iteration */
static pk_status open_all(training *r) {
    const size_t                tokens = r->c->n_tokens[r->generated];
    const size_t                words = r->c->words[r->generated].n;
    const pk_align_rows_request q = { r->c, r->given, r->t->threads, plan, r };
    PK_TRY(pk_align_sizes_open(r->c, r->given, &r->sizes));
    PK_TRY(find_ranges(r));
    PK_TRY(pk_align_rows_open(&q, &r->rows));
    PK_TRY(PK_TAKE(&r->null, words));
    PK_TRY(PK_TAKE(&r->weight, tokens));
    PK_TRY(PK_TAKE(&r->nulls, tokens));
    PK_TRY(PK_TAKE(&r->partial, r->sizes.n > r->rows.n_parts ? r->sizes.n : r->rows.n_parts));
    PK_TRY(PK_TAKE(&r->cell, (size_t)r->t->threads));
    for (int32_t i = 0; i < r->t->threads; i++) PK_TRY(PK_TAKE(&r->cell[i], words));
    return PK_OK;
}

/* frees all but the entries and null's probabilities, before the table is made from those */
static void close_scratch(training *r) {
    pk_memory_give(r->rows.occurrence);
    r->rows.occurrence = NULL;
    for (int32_t i = 0; r->cell && i < r->t->threads; i++) pk_memory_give(r->cell[i]);
    pk_memory_give(r->cell);
    pk_memory_give(r->partial);
    pk_memory_give(r->nulls);
    pk_memory_give(r->weight);
    pk_memory_give(r->range);
    pk_align_sizes_close(&r->sizes);
}

/* from the calling thread alone */
static pk_status report(training *r, int32_t worker, double share_of_sweep) {
    if (worker != 0 || !r->t->progress) return PK_OK;
    return r->t->progress(r->t->user, (r->done + share_of_sweep) / r->steps, r->bytes);
}

/* ---- first sweep: the probability of each generated word ---- */

/* Spreads a row's entries over an array indexed by word. Only the probabilities: the array is
 * accessed at random, so the smaller it is, the more of it stays in the cache. All are equal at
 * first. */
static void spread_probs(const training *r, uint32_t row, float *prob) {
    const pk_align_rows *rows = &r->rows;
    for (uint64_t e = rows->entry[row]; e < rows->entry[row + 1]; e++)
        prob[rows->word[e]] = r->first_iteration ? 1 : rows->prob[e];
}

/* One occurrence of a given word: adds its t(word | given) x prior to every word of its pair. */
static void add_probabilities(training *r, pk_align_occurrence o, const float *prob) {
    const size_t           first = r->c->first[r->generated][o.pair];
    const uint32_t         m = length(r, o.pair, r->generated), n = length(r, o.pair, r->given);
    const uint32_t        *word = r->c->token[r->generated] + first;
    const pk_align_curves *curves = &r->sizes.curves;
    const float            rises = curves->rising[curves->start[n] + o.position];
    const float            falls = curves->falling[curves->start[n] + o.position];
    const float           *rising = curves->rising + curves->start[m] + 1;
    const float           *falling = curves->falling + curves->start[m] + 1;
    float                 *sum = r->weight + first;
    for (uint32_t j = 0; j < m; j++) {
        const float a = rises * falling[j], b = falls * rising[j];
        sum[j] += prob[word[j]] * (a < b ? a : b);
    }
}

/* the first occurrence of the row in or behind the pair */
static size_t find_occurrence(const pk_align_rows *rows, uint32_t row, size_t pair) {
    size_t at = rows->occurs[row], n = rows->occurs[row + 1] - at;
    while (n > 0) {
        const bool before = rows->occurrence[at + n / 2].pair < pair;
        at += before ? n / 2 + 1 : 0;
        n = before ? n - n / 2 - 1 : n / 2;
    }
    return at;
}

/* From sums to factors: a link's posterior is its probability times weight[], null's is nulls[]. */
static void finish_pair(training *r, size_t pair) {
    const float    p_null = (float)PK_ALIGN_NULL;
    const float   *scale = pk_align_sizes_scale(&r->sizes, pair);
    const size_t   first = r->c->first[r->generated][pair];
    const uint32_t m = length(r, pair, r->generated);
    for (uint32_t j = 0; j < m; j++) {
        const uint32_t word = r->c->token[r->generated][first + j];
        const float    null = p_null * (r->first_iteration ? 1 : r->null[word]);
        const float    sum = null + r->weight[first + j] * scale[j];
        r->nulls[first + j] = null / sum;
        r->weight[first + j] = scale[j] / sum;
    }
}

/* the first sweep over one range of pairs, row by row, so that a row is spread out once */
static pk_status sum_range(void *context, size_t range, int32_t worker) {
    training            *r = context;
    const pk_align_rows *rows = &r->rows;
    const size_t         begin = r->range[range], end = r->range[range + 1];
    float               *prob = (void *)r->cell[worker];
    const size_t        *first = r->c->first[r->generated];
    memset(r->weight + first[begin], 0, (first[end] - first[begin]) * sizeof *r->weight);
    for (uint32_t row = 0; row < rows->n; row++) {
        size_t o = find_occurrence(rows, row, begin);
        if (o == rows->occurs[row + 1] || rows->occurrence[o].pair >= end) continue;
        spread_probs(r, row, prob);
        for (; o < rows->occurs[row + 1] && rows->occurrence[o].pair < end; o++)
            add_probabilities(r, rows->occurrence[o], prob);
        if (row % 1024 == 0)
            PK_TRY(
                report(r, worker, ((double)range + (double)row / rows->n) / (double)r->n_ranges));
    }
    for (size_t pair = begin; pair < end; pair++) finish_pair(r, pair);
    return report(r, worker, (double)(range + 1) / (double)r->n_ranges);
}

/* ---- second sweep: counts, then probabilities ---- */

/* exp(digamma(x)). digamma(x) = digamma(x + 1) - 1/x is used until x >= 7, then the asymptotic
 * series in 1 / (x - 1/2)^2. The sum of 1 / (x + k) is kept as one fraction, above / below, which
 * saves divisions. */
static double exp_digamma(double x) {
    double above = 0, below = 1;
    for (; x < 7; x++) {
        above = above * x + below;
        below *= x;
    }
    x -= 0.5;
    const double y = 1 / (x * x);
    const double series =
        y * (1.0 / 24 - y * (7.0 / 960 - y * (31.0 / 8064 - y * (127.0 / 30720))));
    return x * exp(series - above / below);
}

/* The mean-field estimate exp(digamma(count + alpha)) / exp(digamma(total)). full: the row's total
 * is at least 1; a count near 0 then gives less than `tiniest` and need not be computed. */
static float variational(double count, double inverse_total, bool full) {
    const double x = count + alpha;
    if (full && x < 0.0144) return tiniest;
    const float prob = (float)(exp_digamma(x) * inverse_total);
    return prob > tiniest ? prob : tiniest;
}

/* as spread_probs(), with room for counts */
static void spread_cells(const training *r, uint32_t row, cell *cells) {
    const pk_align_rows *rows = &r->rows;
    for (uint64_t e = rows->entry[row]; e < rows->entry[row + 1]; e++)
        cells[rows->word[e]] = (cell){ 0, r->first_iteration ? 1 : rows->prob[e] };
}

/* E-step of one occurrence: adds posteriors to the counts, and their distances to *distance */
static void count_occurrence(training *r, pk_align_occurrence o, cell *cells, double *distance) {
    const size_t           first = r->c->first[r->generated][o.pair];
    const uint32_t         m = length(r, o.pair, r->generated), n = length(r, o.pair, r->given);
    const uint32_t        *word = r->c->token[r->generated] + first;
    const pk_align_curves *curves = &r->sizes.curves;
    const float            rises = curves->rising[curves->start[n] + o.position];
    const float            falls = curves->falling[curves->start[n] + o.position];
    const float           *rising = curves->rising + curves->start[m] + 1;
    const float           *falling = curves->falling + curves->start[m] + 1;
    const float           *weight = r->weight + first;
    const float            at = (float)o.position / (float)n, step = 1 / (float)m;
    float                  far = 0;
    for (uint32_t j = 0; j < m; j++) {
        cell       *c = &cells[word[j]];
        const float a = rises * falling[j], b = falls * rising[j];
        const float posterior = c->prob * (a < b ? a : b) * weight[j];
        c->count += (double)posterior;
        far += posterior * fabsf(at - (float)j * step);
    }
    *distance += (double)far;
}

/* M-step of one row */
static void update_row(training *r, uint32_t row, const cell *cells) {
    const pk_align_rows *rows = &r->rows;
    double               total = 0;
    for (uint64_t e = rows->entry[row]; e < rows->entry[row + 1]; e++)
        total += cells[rows->word[e]].count + alpha;
    const double inverse = 1 / exp_digamma(total);
    for (uint64_t e = rows->entry[row]; e < rows->entry[row + 1]; e++)
        rows->prob[e] = variational(cells[rows->word[e]].count, inverse, total >= 1);
}

/* the second sweep over one part of the rows */
static pk_status count_part(void *context, size_t part, int32_t worker) {
    training            *r = context;
    const pk_align_rows *rows = &r->rows;
    cell                *cells = r->cell[worker];
    r->partial[part] = 0;
    for (uint32_t row = rows->part[part]; row < rows->part[part + 1]; row++) {
        spread_cells(r, row, cells);
        for (size_t o = rows->occurs[row]; o < rows->occurs[row + 1]; o++)
            count_occurrence(r, rows->occurrence[o], cells, &r->partial[part]);
        update_row(r, row, cells);
    }
    return report(r, worker, (double)(part + 1) / (double)rows->n_parts);
}

/* the same for null, which may generate any word of the corpus */
static void update_null(training *r) {
    const size_t    words = r->c->words[r->generated].n;
    const uint32_t *word = r->c->token[r->generated];
    cell           *cells = r->cell[0];
    double          total = 0;
    for (size_t w = 0; w < words; w++) cells[w].count = 0;
    for (size_t i = 0; i < r->c->n_tokens[r->generated]; i++)
        cells[word[i]].count += (double)r->nulls[i];
    for (size_t w = 0; w < words; w++) total += cells[w].count + alpha;
    const double inverse = 1 / exp_digamma(total);
    for (size_t w = 0; w < words; w++)
        r->null[w] = variational(cells[w].count, inverse, total >= 1);
}

/* ---- iterations ---- */

/* the parts' distances are added in order, whatever the threads */
static pk_status update_tension(training *r) {
    const double words = (double)r->c->n_tokens[r->generated];
    double       distance = 0;
    for (size_t part = 0; part < r->rows.n_parts; part++) distance += r->partial[part];
    return pk_align_tension_update(r->sizes.size, r->sizes.n, words, distance / words,
                                   r->t->threads, r->partial, &r->tension);
}

/* The tension stays as it is in the first iteration, as in fast_align. */
static pk_status iterate(training *r, int32_t iteration) {
    const int32_t threads = r->t->threads;
    r->first_iteration = iteration == 0;
    PK_TRY(pk_align_sizes_set(&r->sizes, r->tension, threads));
    PK_TRY(pk_align_parallel(threads, r->n_ranges, sum_range, r));
    r->done++;
    PK_TRY(pk_align_parallel(threads, r->rows.n_parts, count_part, r));
    r->done++;
    update_null(r);
    return iteration > 0 ? update_tension(r) : PK_OK;
}

pk_status pk_align_train(const pk_align_training *t, pk_align_table *out) {
    training r = { .t = t,
                   .c = t->corpus,
                   .given = t->given,
                   .generated = !t->given,
                   .tension = PK_ALIGN_TENSION,
                   .steps = 2.0 * (t->iterations - 1) };
    *out = (pk_align_table){ 0 };
    pk_status status = open_all(&r);
    for (int32_t i = 0; i + 1 < t->iterations && status == PK_OK; i++) status = iterate(&r, i);
    close_scratch(&r);
    if (status == PK_OK) status = pk_align_prune(&r.rows, r.null, r.c->words[r.generated].n, out);
    out->tension = r.tension;
    out->p_null = PK_ALIGN_NULL;
    pk_memory_give(r.null);
    pk_align_rows_close(&r.rows);
    return status;
}
