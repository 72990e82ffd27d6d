/* align_corpus.h - the pairs to learn from, as numbers of words, in memory.
 *
 * Words are numbered by how often they occur, the most frequent first: what is used most then lies
 * close together. A pair with an empty or an overlong side stays, with no words. */
#ifndef PK_ALIGN_CORPUS_H
#define PK_ALIGN_CORPUS_H
#include "align/align_text.h"
#include "align/align_words.h"

typedef struct pk_align_corpus {
    pk_align_word_builder words[2];
    uint32_t             *token[2]; /* numbers of words, all sentences end to end */
    size_t               *first[2]; /* token of each pair [n + 1] */
    size_t                n, n_tokens[2];
    uint64_t              empty, too_long; /* pairs without words for that reason */
} pk_align_corpus;

typedef struct pk_align_corpus_request {
    const char *source, *target; /* target NULL: `source ||| target` */
    pk_spm     *spm[2];          /* of each side; NULL: words */
    int32_t     threads;
    /* called with the pairs read so far; a value other than PK_OK stops */
    pk_status (*progress)(void *user, uint64_t pairs);
    void *user;
} pk_align_corpus_request;

/* A corpus from words that the caller has already: the words of a pair, side by side or in turn,
 * then its end. Begins zeroed. */
typedef struct pk_align_gatherer {
    pk_align_corpus corpus;
    size_t          token_room[2], first_room[2];
} pk_align_gatherer;
pk_status pk_align_gather_word(pk_align_gatherer *g, int side, const char *name, size_t size);
pk_status pk_align_gather_pair(pk_align_gatherer *g);
/* moves the corpus out, its words numbered as if it had been read */
pk_status pk_align_gather_end(pk_align_gatherer *g, int32_t threads, pk_align_corpus *out);
void      pk_align_gatherer_free(pk_align_gatherer *g);

pk_status pk_align_corpus_read(const pk_align_corpus_request *q, pk_align_corpus *out);
void      pk_align_corpus_free(pk_align_corpus *c);
size_t    pk_align_corpus_bytes(const pk_align_corpus *c); /* of memory */

static inline uint32_t pk_align_corpus_length(const pk_align_corpus *c, size_t pair, int side) {
    return (uint32_t)(c->first[side][pair + 1] - c->first[side][pair]);
}
#endif
