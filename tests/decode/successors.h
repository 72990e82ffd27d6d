/* successors.h - a random lexicon of what follows what, for tests of drafts: rows of any length, ids
 * that may not exist, as in a damaged file. Its blocks are as long as they are used, so that a
 * sanitizer sees what lies behind. */
#ifndef TESTS_DECODE_SUCCESSORS_H
#define TESTS_DECODE_SUCCESSORS_H
#include "scenes.h"

#include "lexicon/lexicon.h"

enum { SUCCESSORS = 6, MOST_SUCCEEDED = 64 /* tokens there may be */ };

typedef struct successors {
    pk_lexicon            lexicon;
    uint32_t             *first;
    pk_lexicon_candidate *next;
    float                *share;
} successors;

static inline float any_share(void) { return (float)(1 + any(1000)) / 1001; }

/* each token once, as in a file that is whole */
static inline void fill_row(successors *s, uint32_t row, int32_t vocab) {
    bool     used[MOST_SUCCEEDED] = { false };
    uint32_t n = 0;
    for (int32_t i = any(SUCCESSORS + 1); i > 0; i--) {
        const int32_t lost = any(2) ? -1 - any(1000) : vocab + any(1 << 20);
        const bool    exists = any(8) > 0;
        const int32_t token = any(vocab);
        if (exists && used[token]) continue;
        if (exists) used[token] = true;
        s->next[s->first[row] + n++] = (pk_lexicon_candidate){ exists ? token : lost, any_share() };
    }
    s->first[row + 1] = s->first[row] + n;
}

static inline void *take_block(size_t n, size_t each) {
    void *out;
    assert_int_equal(pk_memory_take(n, each, &out), PK_OK);
    return out;
}

static inline void open_successors(successors *s, int32_t vocab) {
    const uint32_t rows = (uint32_t)vocab + 1;
    assert_true(vocab <= MOST_SUCCEEDED);
    *s = (successors){ .first = take_block(rows + 1, sizeof *s->first),
                       .next = take_block((size_t)rows * SUCCESSORS, sizeof *s->next),
                       .share = take_block((size_t)vocab, sizeof *s->share) };
    for (uint32_t row = 0; row < rows; row++) fill_row(s, row, vocab);
    for (int32_t y = 0; y < vocab; y++) s->share[y] = any(5) ? any_share() : 0;
    s->lexicon = (pk_lexicon){
        .target_vocab = vocab, .next_first = s->first, .next = s->next, .share = s->share
    };
}

static inline void close_successors(successors *s) {
    pk_memory_give(s->first);
    pk_memory_give(s->next);
    pk_memory_give(s->share);
}
#endif
