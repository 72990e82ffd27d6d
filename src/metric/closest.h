/* closest.h - which of several texts is most like another, by chrF2 of the sentence: character
 * n-grams say something also where no four words agree. */
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
