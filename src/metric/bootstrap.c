/* bootstrap.c - resampling, and the statistics of resampled scores in numpy's arithmetic.
 *
 * sacreBLEU keeps counts and chrF scores in numpy arrays of single precision and BLEU scores in
 * double. Equal last digits need the same widths and the same order of additions. */
#include "metric/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "metric/plain_arithmetic.h"
#include "metric/random_pcg64.h"

/* the n_resamples scores of one system by one metric */
static double *scores_of(const pk_bootstrap *b, size_t system, pk_metric metric) {
    return b->score + (system * PK_N_METRICS + (size_t)metric) * b->n_resamples;
}

/* sums the drawn lines' counts (in single precision, as numpy does) and scores the sums */
static void score_resample(const pk_bootstrap *b, size_t system, size_t resample,
                           const uint32_t *line) {
    const pk_count_row *row = b->row + system * b->n_lines;
    pk_count_row        sum = { { 0 } };
    for (size_t i = 0; i < b->n_lines; i++) {
        const float *count = row[line[i]].count;
        for (int k = 0; k < PK_ROW_COUNTS; k++) sum.count[k] += count[k];
    }
    double wide[PK_ROW_COUNTS];
    for (int k = 0; k < PK_ROW_COUNTS; k++) wide[k] = (double)sum.count[k];
    const double *chrf = wide + PK_BLEU_COUNTS;
    scores_of(b, system, PK_METRIC_BLEU)[resample] = pk_bleu_score(wide, true).score;
    scores_of(b, system, PK_METRIC_CHRF2)[resample] = pk_chrf_score(chrf, PK_CHRF_CHARS, true);
    scores_of(b, system, PK_METRIC_CHRF2PP)[resample] = pk_chrf_score(chrf, PK_CHRF_ORDERS, true);
}

/* One resample: n_lines lines drawn with replacement, the same ones for all systems. */
pk_status pk_bootstrap_resample(pk_bootstrap *b) {
    uint32_t *line = NULL;
    if (b->n_lines > UINT32_MAX)
        PK_FAIL(PK_ARGUMENT, "too many lines to resample: %zu", b->n_lines);
    PK_TRY(PK_TAKE(&line, b->n_lines));
    const pk_status status = PK_TAKE(&b->score, b->n_systems * PK_N_METRICS * b->n_resamples);
    if (status == PK_OK) {
        pk_random random;
        pk_random_seed(&random, b->seed);
        for (size_t resample = 0; resample < b->n_resamples; resample++) {
            for (size_t i = 0; i < b->n_lines; i++) {
                line[i] = pk_random_below(&random, (uint32_t)b->n_lines);
            }
            for (size_t s = 0; s < b->n_systems; s++) score_resample(b, s, resample, line);
        }
    }
    pk_memory_give(line);
    return status;
}

/* Whether numpy holds these scores in single precision: chrF is computed so, but a score of nothing
 * is Python's 0.0, a double, and one double makes an array of doubles. */
static bool is_single(const double *score, size_t n, pk_metric metric) {
    if (metric == PK_METRIC_BLEU) return false;
    for (size_t i = 0; i < n; i++) {
        if (score[i] <= 0) return false;
    }
    return true;
}

/* numpy's pairwise summation: up to 128 numbers are added into eight partial sums, which are then
 * added in pairs; more numbers are halved first. Any other order could change the last bit. */
static double pairwise_sum(const double *x, size_t n, bool single) {
    if (n > 128) {
        const size_t half = n / 2 - n / 2 % 8;
        return pk_round_to(single, pairwise_sum(x, half, single) +
                                       pairwise_sum(x + half, n - half, single));
    }
    double sum = 0;
    size_t i = 0;
    if (n >= 8) {
        double r[8];
        for (int k = 0; k < 8; k++) r[k] = x[k];
        for (i = 8; i + 8 <= n; i += 8) {
            for (int k = 0; k < 8; k++) r[k] = pk_round_to(single, r[k] + x[i + (size_t)k]);
        }
        for (int step = 1; step < 8; step *= 2) {
            for (int k = 0; k < 8; k += 2 * step) r[k] = pk_round_to(single, r[k] + r[k + step]);
        }
        sum = r[0];
    }
    for (; i < n; i++) sum = pk_round_to(single, sum + x[i]);
    return sum;
}

/* The mean rounded once, as Python's statistics.mean: the sum is carried in two doubles, and what
 * the quotient missed is added to it. */
static double exact_mean(const double *x, size_t n) {
    double high = 0, low = 0;
    for (size_t i = 0; i < n; i++) {
        const double sum = high + x[i], part = sum - high;
        low += (high - (sum - part)) + (x[i] - part);
        high = sum;
    }
    const double count = (double)n, quotient = (high + low) / count;
    const double missed = fma(-quotient, count, high) + low;
    return quotient + missed / count;
}

/* sacreBLEU's paired test: the differences of the resamples, shifted to a mean of 0, are the null
 * hypothesis. p = (how many of them exceed the real difference + 1) / (n + 1). */
pk_status pk_bootstrap_p_value(const pk_bootstrap *b, size_t system, pk_metric metric,
                               double real_difference, double *p) {
    const size_t  n = b->n_resamples;
    const double *base = scores_of(b, 0, metric), *score = scores_of(b, system, metric);
    const bool    single = is_single(base, n, metric) && is_single(score, n, metric);
    double       *difference = NULL;
    PK_TRY(PK_TAKE(&difference, n));
    for (size_t i = 0; i < n; i++) difference[i] = pk_round_to(single, fabs(score[i] - base[i]));
    const double mean = pk_round_to(single, pairwise_sum(difference, n, single) / (double)n);
    const double limit = pk_round_to(single, real_difference);
    size_t       larger = 0;
    for (size_t i = 0; i < n; i++) larger += pk_round_to(single, difference[i] - mean) > limit;
    pk_memory_give(difference);
    *p = (double)(larger + 1) / (double)(n + 1);
    return PK_OK;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One system alone is averaged as --confidence does, several as --paired-bs does. */
void pk_bootstrap_interval(pk_bootstrap *b, size_t system, pk_metric metric, double *mean,
                           double *half_width) {
    const size_t n = b->n_resamples, tail = n / 40; /* 2.5 % at each end */
    double      *score = scores_of(b, system, metric);
    const bool   single = is_single(score, n, metric);
    qsort(score, n, sizeof *score, compare);
    *half_width = 0.5 * pk_round_to(single, score[n - tail - 1] - score[tail]);
    *mean = pk_round_to(single, b->n_systems == 1 ? exact_mean(score, n)
                                                  : pairwise_sum(score, n, single) / (double)n);
}

void pk_bootstrap_free(pk_bootstrap *b) {
    pk_memory_give(b->score);
    b->score = NULL;
}
