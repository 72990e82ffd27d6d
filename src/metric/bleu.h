/* bleu.h - BLEU (Papineni et al. 2002) as sacreBLEU computes it: orders 1 to 4, one reference,
 * exponential smoothing of orders without a match, no effective order.
 *
 * Counts of a line add up to counts of a corpus; a score is a function of summed counts only. */
#ifndef PK_METRIC_BLEU_H
#define PK_METRIC_BLEU_H
#include "metric/ngram_count.h"
#include "metric/points.h"

enum { PK_BLEU_ORDERS = 4 };
/* the index of each count among a line's counts; the same order as sacreBLEU's statistics */
enum {
    PK_BLEU_HYPOTHESIS, /* tokens */
    PK_BLEU_REFERENCE,  /* tokens */
    PK_BLEU_CORRECT,    /* n-grams of the hypothesis in the reference, [PK_BLEU_ORDERS] */
    PK_BLEU_TOTAL = PK_BLEU_CORRECT + PK_BLEU_ORDERS, /* all of them, [PK_BLEU_ORDERS] */
    PK_BLEU_COUNTS = PK_BLEU_TOTAL + PK_BLEU_ORDERS
};

typedef struct pk_bleu {
    double score, precision[PK_BLEU_ORDERS], brevity_penalty, ratio;
} pk_bleu;

/* one line as ids, reused from line to line */
typedef struct pk_word_lists {
    pk_ids reference, hypothesis;
} pk_word_lists;

/* Counts of one line from both sides' tokenized points. *repeated is the number of hypothesis
 * tokens equal to the token just before them in the line: as a percentage of all hypothesis tokens
 * this is the repetition ratio by which non-autoregressive translation is judged (it gives the same
 * word twice where two translations were possible). */
pk_status pk_bleu_count(const pk_points *reference, const pk_points *hypothesis,
                        pk_ngram_table *table, pk_word_lists *words, int32_t count[PK_BLEU_COUNTS],
                        int32_t *repeated);
/* The n-grams of the first (tail: the last) `most` tokens of the hypothesis alone, against the
 * whole reference: adds to correct[n] and total[n]. */
pk_status pk_bleu_count_end(const pk_points *reference, const pk_points *hypothesis, size_t most,
                            bool tail, pk_ngram_table *table, pk_word_lists *words,
                            int64_t correct[PK_BLEU_ORDERS], int64_t total[PK_BLEU_ORDERS]);
/* `single`: precisions in single precision, as sacreBLEU has them for bootstrap resamples */
pk_bleu pk_bleu_score(const double sum[PK_BLEU_COUNTS], bool single);
#endif
