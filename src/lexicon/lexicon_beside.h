/* lexicon_beside.h - counts what source tokens become beside their neighbours: rows for each token
 * and the token before it, and for each and the token behind it. Rows of few links and entries of
 * few are left out: most pairs of neighbours are rare, and would make the table many times as
 * large. The result does not depend on the order of what was seen. */
#ifndef PK_LEXICON_BESIDE_H
#define PK_LEXICON_BESIDE_H
#include "lexicon/lexicon.h"

typedef struct pk_lexicon_seen { /* one link; no neighbour: source_vocab */
    int32_t token, before, after, target;
} pk_lexicon_seen;

typedef struct pk_lexicon_beside { /* the arrays of that name in a pk_lexicon */
    uint32_t             *first, *neighbour, *entry_first;
    float                *rest;
    pk_lexicon_candidate *entry;
    size_t                n_rows, n_entries;
    size_t                neighbour_room, rest_room, first_room, entry_room;
} pk_lexicon_beside;

/* rows of n links, which are left in the order of their tokens */
pk_status pk_lexicon_beside_make(pk_lexicon_seen *seen, size_t n, int32_t source_vocab,
                                 pk_lexicon_beside *out);
void      pk_lexicon_beside_free(pk_lexicon_beside *b);
#endif
