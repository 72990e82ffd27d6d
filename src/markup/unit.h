/* unit.h - the sentences of a passage, and what became of each as words of the passage's target.
 *
 * A unit is what is handed to the engine as one text. It may be tried several times, with other
 * placeholders; the attempt that lost fewest kept spans counts. Whatever the model wrote, every
 * kept span is in the words exactly once. */
#ifndef PK_MARKUP_UNIT_H
#define PK_MARKUP_UNIT_H
#include "markup/glossary.h"
#include "markup/mask.h"
#include "markup/word_list.h"
#include "text/split.h"

typedef struct pk_unit {
    size_t           begin, size; /* of the passage's text */
    bool             copied;      /* there is nothing to translate in it */
    int32_t          scheme;      /* of the attempt that counts */
    const pk_result *result;      /* that attempt: entry `at` of this; NULL: none yet */
    size_t           at;
    size_t           lost; /* kept spans that it has not exactly once */
} pk_unit;

typedef struct pk_units {
    pk_unit *unit;
    size_t   n, room;
} pk_units;

/* Adds the units of a passage. one_sentence: all of it, or each of its lines, is one. No unit is
 * much longer than PK_MOST_UNIT bytes, so that work on one is bounded. */
enum { PK_MOST_UNIT = 4096 };
pk_status pk_units_split(pk_units *u, const pk_passage *p, pk_splitter *s, bool one_sentence);

/* kept spans of the mask that the text has not exactly once */
size_t pk_mask_lost(const pk_mask *m, const char *text, size_t size);

typedef struct pk_unit_world { /* what the words of a unit are made from */
    const pk_passage      *passage;
    const pk_word_list    *source; /* words of the whole passage */
    const pk_term_matches *terms;  /* in those; may be empty */
} pk_unit_world;

/* adds the words of one hypothesis; number: of the unit, for its words */
pk_status pk_unit_words(const pk_unit *u, int32_t number, int32_t rank, const pk_unit_world *w,
                        pk_word_list *out);
#endif
