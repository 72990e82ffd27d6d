/* closest.h - scores how similar a text is to another, by sentence-level chrF2. BLEU would be 0 for
 * most sentences, since it needs four equal words in a sequence; character n-grams do not. */
#ifndef PK_METRIC_CLOSEST_H
#define PK_METRIC_CLOSEST_H
#include "metric/chrf.h"

typedef struct pk_closest { /* memory that is used again; zeroed: none yet */
    pk_points      reference, hypothesis;
    pk_ngram_table table;
    pk_word_lists  words;
} pk_closest;

/* replaces what the texts are compared with */
pk_status pk_closest_begin(pk_closest *c, pk_text reference);
/* chrF2 of one text against it, 0 to 100 */
pk_status pk_closest_score(pk_closest *c, pk_text text, double *score);
void      pk_closest_free(pk_closest *c);
#endif
