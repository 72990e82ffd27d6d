/* align_table.h - the model of one direction: a lexical table, null's probabilities, a tension.
 *
 * Entries lie row by row, a row for each given word, sorted by the generated word. What is not in
 * the table has probability PK_ALIGN_FLOOR, and nothing in it has less. The arrays are the table's
 * own or lie in a mapped file. */
#ifndef PK_ALIGN_TABLE_H
#define PK_ALIGN_TABLE_H
#include <stdint.h>

#include "align/align_words.h"

#define PK_ALIGN_FLOOR 1e-9f /* fast_align's probability of what it has not seen */

typedef struct pk_align_table {
    uint32_t        n_given, n_generated;
    double          tension, p_null;
    const uint64_t *row;  /* first entry of each given word [n_given + 1] */
    const uint32_t *word; /* generated word of each entry */
    const float    *prob; /* of each entry: t(generated | given) */
    const float    *null; /* t(generated | null) [n_generated] */
} pk_align_table;

void pk_align_table_free(pk_align_table *t); /* arrays of its own */

/* Memory for pk_align_best; grows with the longest sentence. */
typedef struct pk_align_scratch {
    double   *rising[2], *falling[2]; /* given, generated */
    double   *normaliser, *scale;     /* of each generated word; 1 / normaliser */
    double   *sum, *best;
    float    *best_prob;
    uint32_t *link;
    size_t    room;
} pk_align_scratch;
void pk_align_scratch_free(pk_align_scratch *s);

/* For each of the m generated words the given word that most probably generated it, counted from
 * 1, or 0 for null: s->link[m]. Words may be PK_ALIGN_NO_WORD. n and m are at least 1. Adds the
 * natural logarithm of each word's probability to *log_prob. */
pk_status pk_align_best(const pk_align_table *t, const uint32_t *given, uint32_t n,
                        const uint32_t *generated, uint32_t m, pk_align_scratch *s,
                        double *log_prob);

/* Appends the table as fast_align's -p writes it: `given TAB generated TAB ln t`, for each given
 * word what is within e^-4 of its best; null is <eps>. */
void pk_align_table_print_null(const pk_align_table *t, const pk_align_words *generated,
                               pk_buffer *out);
void pk_align_table_print_row(const pk_align_table *t, uint32_t row, const pk_align_words *given,
                              const pk_align_words *generated, pk_buffer *out);
#endif
