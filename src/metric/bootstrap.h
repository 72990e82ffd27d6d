/* bootstrap.h - confidence intervals and paired tests by resampling lines (Koehn 2004), equal to
 * sacreBLEU's --confidence and --paired-bs for the same seed.
 *
 * Works from the counts of each line: a resample is a sum of rows. All systems and metrics see the
 * same resamples. */
#ifndef PK_METRIC_BOOTSTRAP_H
#define PK_METRIC_BOOTSTRAP_H
#include "metric/bleu.h"
#include "metric/chrf.h"

typedef enum pk_metric {
    PK_METRIC_BLEU,
    PK_METRIC_CHRF2,
    PK_METRIC_CHRF2PP,
    PK_N_METRICS
} pk_metric;

/* The counts of a line: BLEU's, then chrF's. Floats because sacreBLEU resamples in single
 * precision; sums are exact up to 2^24. */
enum { PK_ROW_COUNTS = PK_BLEU_COUNTS + PK_CHRF_COUNTS };
typedef struct pk_count_row {
    float count[PK_ROW_COUNTS];
} pk_count_row;

typedef struct pk_bootstrap {
    const pk_count_row *row; /* [system][line] */
    size_t              n_systems, n_lines;
    size_t              n_resamples;
    uint64_t            seed;
    double             *score; /* [system][metric][resample], filled by pk_bootstrap_resample() */
} pk_bootstrap;

/* draws the resamples and scores them into a new array */
pk_status pk_bootstrap_resample(pk_bootstrap *b);
/* the probability that a difference at least as large as the real one arises by chance */
pk_status pk_bootstrap_p_value(const pk_bootstrap *b, size_t system, pk_metric metric,
                               double real_difference, double *p);
/* mean of the resampled scores, and half of the width that holds 95 % of them. Call it last: it
 * sorts the scores. */
void pk_bootstrap_interval(pk_bootstrap *b, size_t system, pk_metric metric, double *mean,
                           double *half_width);
void pk_bootstrap_free(pk_bootstrap *b); /* not the rows */
#endif
