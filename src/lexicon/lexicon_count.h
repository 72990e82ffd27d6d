/* lexicon_count.h - counts linked sentence pairs, and makes a lexicon of the counts.
 *
 * 32 bytes of memory for each target token that is counted, 48 where one without a link shares two.
 * The result does not depend on the order of the pairs. */
#ifndef PK_LEXICON_COUNT_H
#define PK_LEXICON_COUNT_H
#include "lexicon/lexicon_beside.h"

typedef struct pk_lexicon_counter {
    int32_t          source_vocab, target_vocab;
    uint64_t        *word; /* for each target token: source token, distance, target token */
    size_t           n_words, word_room;
    uint64_t        *link; /* for each target token: source length, target position, link */
    size_t           n_links, link_room;
    pk_lexicon_seen *seen; /* for each target token and a source token that it is linked to */
    size_t           n_seen, seen_room;
    double           pairs, lengths[2], squared, product; /* sums for the line of lengths */
} pk_lexicon_counter;

/* of tokens 0 .. vocab - 1 of each side; PK_UNSUPPORTED: more than a million */
pk_status pk_lexicon_counter_open(int32_t source_vocab, int32_t target_vocab,
                                  pk_lexicon_counter *out);
void      pk_lexicon_counter_close(pk_lexicon_counter *c);
/* One pair without end symbols. link[t]: the source token, counted from 1, that target token t is
 * linked to; 0: null. A pair with an empty or an overlong side is passed over. */
pk_status pk_lexicon_count(pk_lexicon_counter *c, const int32_t *source, int32_t n_source,
                           const int32_t *target, int32_t n_target, const uint32_t *link);
/* appends the lexicon's bytes; the counter is used up */
pk_status pk_lexicon_make(pk_lexicon_counter *c, uint64_t fingerprint, pk_buffer *out);
#endif
