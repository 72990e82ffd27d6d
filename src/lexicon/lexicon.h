/* lexicon.h - candidates by look-up: which pieces may stand at each position of a translation.
 *
 * The count-based model of Deng and Rush (2021): P(y | x, t) is the sum over source positions a of
 * P(y | x_a, a - t) P(a | S, t), for target position t and S source tokens. Both factors are
 * counted over word alignments (lexicon_count.h), without smoothing. A target token that is linked
 * to nothing counts as linked to null: one more source position, whose distance does not matter.
 *
 * By neighbours, P(y | x_a, a - t) is P(y | x_a, x_(a-1), x_(a+1)) instead: the mean of what was
 * counted for x_a behind x_(a-1) and before x_(a+1), each backing off to x_a alone; and P(a | S, t)
 * is flattened. What stands beside a piece says more of its translation than how far it moves.
 *
 * The arrays lie in the model's file or in memory. What pk_lexicon_read() lets pass can be used;
 * single entries are checked when they are used, so that opening does not read all of them. */
#ifndef PK_LEXICON_LEXICON_H
#define PK_LEXICON_LEXICON_H
#include <stdint.h>

#include "base/buffer.h"
#include "base/words.h"

enum {
    PK_LEXICON_TOP = 40,          /* target tokens kept for a source token and a distance */
    PK_LEXICON_ANY = -0x7fffffff, /* the distance of the row that counts all distances */
    /* neighbours of a source token: a side and a token, or the edge of the sentence (source_vocab) */
    PK_LEXICON_ALONE = 0,
    PK_LEXICON_BEFORE = 1 << 20,
    PK_LEXICON_AFTER = 1 << 21,
    PK_LEXICON_BESIDE_TOP = 16 /* target tokens kept for a source token and a neighbour */
};

/* what source tokens are looked up by: distances where neighbours were not counted */
#define PK_LEXICON_BY_MAP(X)                  \
    X(PK_LEXICON_BY_NEIGHBOURS, "neighbours") \
    X(PK_LEXICON_BY_DISTANCES, "distances")
typedef enum pk_lexicon_by { PK_LEXICON_BY_MAP(PK_CHOICE_CONSTANT) } pk_lexicon_by;

typedef struct pk_lexicon_candidate {
    int32_t token;
    float   prob;
} pk_lexicon_candidate;

typedef struct pk_lexicon_link {
    int32_t at; /* source position from 0; -1: null */
    float   prob;
} pk_lexicon_link;

typedef struct pk_lexicon {
    int32_t         source_vocab, target_vocab; /* tokens that are text */
    uint64_t        fingerprint;                /* of their names */
    double          slope, intercept; /* target tokens = slope * source tokens + intercept */
    int32_t         longest;          /* source sentence that was counted */
    const uint32_t *row_first;   /* [source_vocab + 2] rows of each source token; null's are last */
    const int32_t  *distance;    /* [rows] a - t, rising; a token's first is PK_LEXICON_ANY */
    const uint32_t *entry_first; /* [rows + 1] */
    /* [entries] of each row P(token | source token, distance), the most probable first */
    const pk_lexicon_candidate *entry;
    const uint32_t *length_first; /* [longest + 2] target positions of each source length */
    const uint32_t *link_first;   /* [positions + 1] */
    /* [links] of each position P(link | source length, position), by rising source position */
    const pk_lexicon_link *link;
    /* what source tokens become beside their neighbours; NULL: that was not counted */
    const uint32_t *beside_first;       /* [source_vocab + 1] rows of each source token */
    const uint32_t *neighbour;          /* [beside rows] rising for a token; first, none */
    const float    *rest;               /* [beside rows] share that the token alone has in it */
    const uint32_t *beside_entry_first; /* [beside rows + 1] */
    /* [beside entries] of each row P(token | source token, neighbour), the most probable first */
    const pk_lexicon_candidate *beside_entry;
    /* what follows each target token in text; NULL: that was not counted */
    const uint32_t *next_first; /* [target_vocab + 2] the last row: how a text begins */
    /* of each row P(next token | token), the most probable first */
    const pk_lexicon_candidate *next;
    const float                *share; /* [target_vocab] of each token among all of a text */
} pk_lexicon;

/* Views of `size` bytes as pk_lexicon_write() leaves them, which stay where they are; 8-byte
 * aligned. PK_FORMAT: damaged. */
pk_status pk_lexicon_read(const void *data, size_t size, pk_lexicon *out);
/* PK_FORMAT where it was counted with another vocabulary */
pk_status pk_lexicon_check(const pk_lexicon *l, int32_t source_vocab, int32_t target_vocab,
                           uint64_t fingerprint);
/* appends the bytes of a lexicon; of one with neighbours not what follows what */
void pk_lexicon_write(const pk_lexicon *l, pk_buffer *out);
/* The same of a part of it that is small enough for a drafter's file: of each token's rows that of all
 * distances, and of each row what is most probable; its links and lengths are left out. */
pk_status pk_lexicon_write_small(const pk_lexicon *l, pk_buffer *out);

/* target tokens to expect for so many source tokens, end symbols not counted; at least 1 */
int32_t pk_lexicon_length(const pk_lexicon *l, int32_t n_source);

/* The tokens that a source token, or null (source_vocab), becomes at any distance, the most
 * probable first; returns how many. Their ids may be any: they come from a file. */
int32_t pk_lexicon_row(const pk_lexicon *l, int32_t token, const pk_lexicon_candidate **out);

/* what looks up: a sentence, without its end symbol, and a way */
typedef struct pk_lexicon_query {
    const pk_lexicon *lexicon;
    pk_lexicon_by     by;
    const int32_t    *source; /* (n) borrowed */
    int32_t           n;
} pk_lexicon_query;

/* Look-ups for one sentence. Opening finds the rows that its positions will need, token by token,
 * where they lie side by side; by neighbours it adds up those of each token. */
typedef struct pk_lexicon_finder {
    pk_lexicon_query      query;
    int32_t               positions;
    uint32_t             *first, *count; /* (positions, n) entries of each source token there, or */
    pk_lexicon_candidate *each;          /* (n, most beside) columns of each source token, and */
    int32_t              *n_each;        /* (n) how many */
    int32_t              *column;        /* (target_vocab) of each token, from 1; 0: none yet */
    int32_t              *token;         /* (room + 1) of each column */
    float                *sum;           /* (room) of each column; zeros between look-ups */
    int32_t              *place;         /* (room + 1) columns with a sum, and */
    uint64_t             *key;           /* (room) their tokens and sums, as numbers that sort */
    int32_t               n_columns, room;
} pk_lexicon_finder;
/* target positions 0 .. positions - 1 can be looked up */
pk_status pk_lexicon_finder_open(const pk_lexicon_query *q, int32_t positions,
                                 pk_lexicon_finder *out);
void      pk_lexicon_finder_close(pk_lexicon_finder *f); /* accepts a zeroed one */

/* The k most probable tokens of target position t, from 0: the higher probability first, then the
 * lower id. Returns how many there are. Where (S, t) was never counted, the source positions next
 * to the diagonal count alike; where nothing was counted at their distances, any distance does. */
int32_t pk_lexicon_find(pk_lexicon_finder *f, int32_t t, int32_t k, pk_lexicon_candidate *out);
/* what each source token has to do with this token at position t: P(a | x, t, token), into
 * share[n]; zeros where nothing has */
void pk_lexicon_align(const pk_lexicon_query *q, int32_t t, int32_t token, float *share);
#endif
