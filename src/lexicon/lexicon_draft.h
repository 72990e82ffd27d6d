/* lexicon_draft.h - guesses at the next tokens of a translation, from a lexicon alone: a drafter
 * that is a table.
 *
 * After y the token z is guessed that has the highest P(z | x) P(z | y) / P(z): what the source
 * says, times what usually follows y, less what is common anyway. P(z | x) is the sum over source
 * tokens of their translations, weighed by how far they are from the one that y translates, and
 * less where they were translated before. Without successors in the lexicon it is P(z | x)
 * alone. */
#ifndef PK_LEXICON_DRAFT_H
#define PK_LEXICON_DRAFT_H
#include "lexicon/lexicon.h"

/* how far the source is translated */
typedef struct pk_draft_place {
    int32_t  n;    /* output tokens so far */
    int32_t  at;   /* the source token that the last of them translates, as far as any does; -1 */
    uint8_t *used; /* [n_source] 1: it was translated */
} pk_draft_place;

typedef struct pk_lexicon_draft {
    const pk_lexicon     *lexicon;
    int32_t               n_source, eos;
    int32_t              *first; /* [n_source + 2] candidates of each source token, then null's */
    pk_lexicon_candidate *candidate; /* their `token` is a place in the list below */
    int32_t              *token;     /* [n_tokens] all of them, rising */
    int32_t               n_tokens;
    float                *sum, *follows; /* [n_tokens] of one guess */
    pk_draft_place        certain, guessed;
} pk_lexicon_draft;

/* source: without the end symbol; target tokens are 0 .. vocab - 1 */
pk_status pk_lexicon_draft_open(const pk_lexicon *l, const int32_t *source, int32_t n,
                                int32_t vocab, int32_t eos, pk_lexicon_draft *out);
void      pk_lexicon_draft_close(pk_lexicon_draft *d); /* accepts a zeroed one, and again */
/* The token to expect behind n output tokens, of which the last `ahead` are guesses themselves, and
 * with it its share of all that was considered; -1: nothing is. Certain tokens stay what they are
 * from call to call. */
int32_t pk_lexicon_draft_next(pk_lexicon_draft *d, const int32_t *output, int32_t n, int32_t ahead,
                              float *share);
#endif
