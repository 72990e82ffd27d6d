/* align_rows.h - what training goes by: where each given word occurs, and what occurs with it.
 *
 * A row is a given word with all generated words of the pairs that it occurs in. Training handles
 * rows one by one, so that nothing but the present row's numbers must be looked up at random. */
#ifndef PK_ALIGN_ROWS_H
#define PK_ALIGN_ROWS_H
#include "align/align_corpus.h"

typedef struct pk_align_occurrence {
    uint32_t pair, position; /* position from 1 */
} pk_align_occurrence;

typedef struct pk_align_rows {
    uint32_t             n;          /* given words */
    size_t              *occurs;     /* first occurrence of each [n + 1] */
    pk_align_occurrence *occurrence; /* by word, then in the order of the text */
    uint64_t            *entry;      /* first entry of each row [n + 1] */
    uint32_t            *word;       /* generated word of each entry */
    float               *prob;       /* of each entry */
    uint32_t            *part;       /* first row of each part: pieces of work [n_parts + 1] */
    size_t               n_parts;
} pk_align_rows;

/* Builds all but the probabilities. given: the side (0 or 1) whose words have rows. `planned` is
 * called when it is known how many entries there are, before memory for them is taken. */
typedef struct pk_align_rows_request {
    const pk_align_corpus *corpus;
    int                    given;
    int32_t                threads;
    pk_status (*planned)(void *user, uint64_t entries);
    void *user;
} pk_align_rows_request;
pk_status pk_align_rows_open(const pk_align_rows_request *q, pk_align_rows *out);
void      pk_align_rows_close(pk_align_rows *r);
#endif
