/* chrf.h - chrF2 (Popovic 2015) and chrF2++ (Popovic 2017) as sacreBLEU computes them: character
 * orders 1 to 6 without white space, word orders 1 and 2 for the ++ form, beta 2, effective order.
 *
 * Both come from one set of counts: chrF2 reads the first six orders of chrF2++'s eight. */
#ifndef PK_METRIC_CHRF_H
#define PK_METRIC_CHRF_H
#include "metric/bleu.h"

enum { PK_CHRF_CHARS = 6, PK_CHRF_WORDS = 2, PK_CHRF_ORDERS = PK_CHRF_CHARS + PK_CHRF_WORDS };
enum { PK_CHRF_COUNTS = 3 * PK_CHRF_ORDERS }; /* hypothesis, reference, match; for each order */

/* counts of one line, not tokenized */
pk_status pk_chrf_count(const pk_points *reference, const pk_points *hypothesis,
                        pk_ngram_table *table, pk_word_lists *words, int32_t count[PK_CHRF_COUNTS]);
/* n_orders: PK_CHRF_CHARS for chrF2, PK_CHRF_ORDERS for chrF2++. `single`: every operation in
 * single precision, as sacreBLEU has them for bootstrap resamples */
double pk_chrf_score(const double sum[PK_CHRF_COUNTS], int n_orders, bool single);
#endif
