/* align_successors.h - which words follow which in the text that was aligned, of one language.
 *
 * For each word the most frequent of those that follow it, with their shares: what a drafter that
 * is a table needs besides translations. The beginning of a sentence has a row of its own, behind
 * the words', and its end is a word of its own, with the number behind the last. */
#ifndef PK_ALIGN_SUCCESSORS_H
#define PK_ALIGN_SUCCESSORS_H
#include "align/align_corpus.h"

enum { PK_ALIGN_SUCCESSORS = 128 }; /* kept of a word, at most */

typedef struct pk_align_successors {
    uint32_t        n;     /* words; 0: nothing was counted */
    const uint32_t *first; /* [n + 2] entries of each word, then of the beginning */
    const uint32_t *word;  /* of each entry: what follows, the most frequent first; n: the end */
    const float    *prob;  /* of each entry */
    const float    *share; /* [n + 1] of each word and of the end among all words */
} pk_align_successors;

/* counts one side of a corpus; 4 bytes of memory for each of its words on the way */
pk_status pk_align_successors_count(const pk_align_corpus *c, int side, pk_align_successors *out);
void      pk_align_successors_free(pk_align_successors *s); /* arrays of its own */
#endif
