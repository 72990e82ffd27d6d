/* mend.h - puts right what a model did to a unit: kept spans that it lost or wrote twice, and terms
 * that it translated in other words. */
#ifndef PK_MARKUP_MEND_H
#define PK_MARKUP_MEND_H
#include "markup/unit.h"

enum { PK_DROPPED = -2 }; /* as `kept` of a word: a placeholder that was written again */

typedef struct pk_stretch {
    size_t first, end; /* words */
} pk_stretch;

/* in: the unit's words in the source. Afterwards each of its kept spans is there once, and each of
 * its terms appears; a term that the model wrote with an ending stays as it is. */
pk_status pk_mend(const pk_unit_world *w, pk_stretch in, pk_word_list *words);
#endif
