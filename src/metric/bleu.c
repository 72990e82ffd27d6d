/* bleu.c - BLEU's counts for a line, and its score for summed counts.
 *
 * The order of operations is that of sacreBLEU under Python 3.11, so that doubles are equal bit for
 * bit. (Python 3.12 and later sum the four logarithms with compensation, which may change the last
 * bit of a score, never a printed digit.) */
#include "metric/bleu.h"

#include <math.h>
#include <string.h>

#include "metric/plain_arithmetic.h"
#include "text/utf8.h"

/* appends the id of each piece between white space */
static pk_status add_words(const pk_points *line, pk_ngram_table *table, pk_ids *words) {
    words->n = 0;
    for (size_t i = 0; i < line->n;) {
        while (i < line->n && pk_utf8_is_space(line->point[i])) i++;
        const size_t first = i;
        while (i < line->n && !pk_utf8_is_space(line->point[i])) i++;
        if (i == first) break;
        PK_TRY(pk_ids_add(words, pk_ngram_word(table, line->point + first, i - first)));
    }
    return PK_OK;
}

/* tokens that equal the one before them */
static int32_t count_repeated(const pk_ids *words) {
    int32_t repeated = 0;
    for (size_t i = 1; i < words->n; i++) repeated += words->id[i] == words->id[i - 1];
    return repeated;
}

static pk_status read_words(const pk_points *reference, const pk_points *hypothesis,
                            pk_ngram_table *table, pk_word_lists *words) {
    PK_TRY(pk_ngram_begin(table, reference->n + hypothesis->n));
    PK_TRY(add_words(reference, table, &words->reference));
    return add_words(hypothesis, table, &words->hypothesis);
}

pk_status pk_bleu_count_end(const pk_points *reference, const pk_points *hypothesis, size_t most,
                            bool tail, pk_ngram_table *table, pk_word_lists *words,
                            int64_t correct[PK_BLEU_ORDERS], int64_t total[PK_BLEU_ORDERS]) {
    pk_ngram_counts order[PK_BLEU_ORDERS];
    pk_ids         *those = &words->hypothesis;
    PK_TRY(read_words(reference, hypothesis, table, words));
    if (those->n > most) {
        if (tail) memmove(those->id, those->id + those->n - most, most * sizeof *those->id);
        those->n = most;
    }
    PK_TRY(pk_ngram_count(table, &words->reference, those, PK_BLEU_ORDERS, order));
    for (int n = 0; n < PK_BLEU_ORDERS; n++) {
        correct[n] += order[n].match;
        total[n] += order[n].hypothesis;
    }
    return PK_OK;
}

pk_status pk_bleu_count(const pk_points *reference, const pk_points *hypothesis,
                        pk_ngram_table *table, pk_word_lists *words, int32_t count[PK_BLEU_COUNTS],
                        int32_t *repeated) {
    PK_TRY(read_words(reference, hypothesis, table, words));
    *repeated = count_repeated(&words->hypothesis);
    pk_ngram_counts order[PK_BLEU_ORDERS];
    PK_TRY(pk_ngram_count(table, &words->reference, &words->hypothesis, PK_BLEU_ORDERS, order));
    count[PK_BLEU_HYPOTHESIS] = order[0].hypothesis;
    count[PK_BLEU_REFERENCE] = order[0].reference;
    for (int n = 0; n < PK_BLEU_ORDERS; n++) {
        count[PK_BLEU_CORRECT + n] = order[n].match;
        count[PK_BLEU_TOTAL + n] = order[n].hypothesis;
    }
    return PK_OK;
}

/* exp(1 - r/c) for a hypothesis of c tokens that is shorter than its reference of r tokens */
static double brevity_penalty(double hypothesis, double reference) {
    if (hypothesis >= reference) return 1.0;
    return hypothesis > 0 ? exp(1 - reference / hypothesis) : 0.0;
}

/* Precisions in percent. Exponential smoothing: the first order without a match counts as half a
 * match, the second as a quarter ("smooth:exp" in sacreBLEU's signature). Orders that the
 * hypothesis is too short for stay 0. */
static void precisions(const double *correct, const double *total, bool single, double *out) {
    double smooth = 1.0;
    for (int n = 0; n < PK_BLEU_ORDERS && total[n] > 0; n++) {
        if (correct[n] > 0) {
            out[n] = pk_round_to(single, pk_round_to(single, 100.0 * correct[n]) / total[n]);
        } else {
            smooth *= 2;
            out[n] = pk_round_to(single, 100.0 / pk_round_to(single, smooth * total[n]));
        }
    }
}

/* sacreBLEU's replacement for the logarithm of 0: exp of it is 0 */
static double log_or_floor(double x) { return x > 0 ? log(x) : -9999999999.0; }

/* brevity penalty x exp(mean of the logarithms of the four precisions) */
pk_bleu pk_bleu_score(const double sum[PK_BLEU_COUNTS], bool single) {
    const double *correct = sum + PK_BLEU_CORRECT, *total = sum + PK_BLEU_TOTAL;
    const double  hypothesis = sum[PK_BLEU_HYPOTHESIS], reference = sum[PK_BLEU_REFERENCE];
    pk_bleu       bleu = { .brevity_penalty = brevity_penalty(hypothesis, reference),
                           .ratio = reference > 0 ? hypothesis / reference : 0.0 };
    bool          any = false; /* without any match the score is 0, smoothing or not */
    for (int n = 0; n < PK_BLEU_ORDERS; n++) any |= correct[n] > 0;
    if (!any) return bleu;

    precisions(correct, total, single, bleu.precision);
    double logs = 0.0;
    for (int n = 0; n < PK_BLEU_ORDERS; n++) logs += log_or_floor(bleu.precision[n]);
    bleu.score = bleu.brevity_penalty * exp(logs / PK_BLEU_ORDERS);
    return bleu;
}
