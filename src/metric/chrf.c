/* chrf.c - the counts of chrF2 and chrF2++ for a line, and the scores for summed counts. */
#include "metric/chrf.h"

#include "metric/plain_arithmetic.h"
#include "text/utf8.h"

/* the code points that are not white space, as ids */
static pk_status add_chars(const pk_points *line, pk_ids *chars) {
    chars->n = 0;
    for (size_t i = 0; i < line->n; i++) {
        if (!pk_utf8_is_space(line->point[i])) PK_TRY(pk_ids_add(chars, line->point[i]));
    }
    return PK_OK;
}

/* ASCII punctuation and symbols */
static bool is_punctuation(int32_t c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

/* Splits one punctuation mark off a word: its last point if that is punctuation, else its first.
 * "(hi)" gives "(hi" and ")". Only one is split off, as in the original chrF++ script. */
static pk_status add_word(const int32_t *point, size_t n, pk_ngram_table *table, pk_ids *words) {
    size_t cut = n;
    if (n > 1 && is_punctuation(point[n - 1])) {
        cut = n - 1;
    } else if (n > 1 && is_punctuation(point[0])) {
        cut = 1;
    }
    PK_TRY(pk_ids_add(words, pk_ngram_word(table, point, cut)));
    if (cut == n) return PK_OK;
    return pk_ids_add(words, pk_ngram_word(table, point + cut, n - cut));
}

/* the words between white space as ids, punctuation split off */
static pk_status add_words(const pk_points *line, pk_ngram_table *table, pk_ids *words) {
    words->n = 0;
    for (size_t i = 0; i < line->n;) {
        while (i < line->n && pk_utf8_is_space(line->point[i])) i++;
        const size_t first = i;
        while (i < line->n && !pk_utf8_is_space(line->point[i])) i++;
        if (i > first) PK_TRY(add_word(line->point + first, i - first, table, words));
    }
    return PK_OK;
}

/* Three counts for each order. Orders that the reference is too short for do not count against the
 * hypothesis. */
static void store(const pk_ngram_counts *order, int n, int32_t *count) {
    for (int i = 0; i < n; i++) {
        count[3 * i] = order[i].reference ? order[i].hypothesis : 0;
        count[3 * i + 1] = order[i].reference;
        count[3 * i + 2] = order[i].match;
    }
}

pk_status pk_chrf_count(const pk_points *reference, const pk_points *hypothesis,
                        pk_ngram_table *table, pk_word_lists *words,
                        int32_t count[PK_CHRF_COUNTS]) {
    pk_ngram_counts order[PK_CHRF_CHARS];
    PK_TRY(add_chars(reference, &words->reference));
    PK_TRY(add_chars(hypothesis, &words->hypothesis));
    PK_TRY(pk_ngram_count(table, &words->reference, &words->hypothesis, PK_CHRF_CHARS, order));
    store(order, PK_CHRF_CHARS, count);

    PK_TRY(pk_ngram_begin(table, reference->n + hypothesis->n));
    PK_TRY(add_words(reference, table, &words->reference));
    PK_TRY(add_words(hypothesis, table, &words->hypothesis));
    PK_TRY(pk_ngram_count(table, &words->reference, &words->hypothesis, PK_CHRF_WORDS, order));
    store(order, PK_CHRF_WORDS, count + 3 * PK_CHRF_CHARS);
    return PK_OK;
}

/* F = (1 + beta^2) P R / (beta^2 P + R), P and R being means over the n-gram orders, beta = 2.
 * Orders that one side lacks are left out of the means ("effective order"). */
double pk_chrf_score(const double sum[PK_CHRF_COUNTS], int n_orders, bool single) {
    double precision = 0, recall = 0; /* means over the orders that both sides have */
    int    effective = 0;
    for (int i = 0; i < n_orders; i++) {
        const double hypothesis = sum[3 * i], reference = sum[3 * i + 1], match = sum[3 * i + 2];
        if (hypothesis <= 0 || reference <= 0) continue;
        precision = pk_round_to(single, precision + pk_round_to(single, match / hypothesis));
        recall = pk_round_to(single, recall + pk_round_to(single, match / reference));
        effective++;
    }
    if (effective == 0 || precision + recall <= 0) return 0.0;
    precision = pk_round_to(single, precision / effective);
    recall = pk_round_to(single, recall / effective);

    const double factor = 4; /* beta squared, beta = 2: recall weighs twice as much as precision */
    double score = pk_round_to(single, pk_round_to(single, (1 + factor) * precision) * recall);
    score /= pk_round_to(single, pk_round_to(single, factor * precision) + recall);
    return pk_round_to(single, 100 * pk_round_to(single, score));
}
