/* train_cases.h - the table of cases for the ops of training, for every backend.
 *
 * Shapes that meet tails, strides wider than rows (gap), gradients that are not wanted, and
 * dropout. The large ones at the end of a table meet blocks, threads and tiles; those with at
 * most TRAIN_SMALL numbers are also compared with finite differences. */
#ifndef PK_TESTS_TRAIN_CASES_H
#define PK_TESTS_TRAIN_CASES_H
#include "tensor/training.h"

enum { TRAIN_SMALL = 1500 }; /* numbers in all inputs */
static const uint64_t train_key = 0x5eed5eed12345678u;

/* which gradients are wanted, where an op has several */
enum train_wants { WANT_FIRST = 1, WANT_SECOND = 2, WANT_THIRD = 4, WANT_ALL = 7 };

/* ---- embed ---- */

typedef struct train_embed_case {
    int32_t rows, cols, vocab, positions; /* positions 0: none are added */
    float   scale, drop;
    int32_t gap, wants; /* table, positions */
} train_embed_case;

/* every third token of the first rows is -1; tokens repeat */
static const train_embed_case train_embed_cases[] = {
    { 1, 1, 2, 3, 1, 0, 0, WANT_ALL },
    { 7, 5, 4, 9, 2.5f, 0, 3, WANT_ALL },
    { 13, 24, 11, 6, 4.9f, 0.3f, 0, WANT_ALL },
    { 9, 16, 7, 0, 1, 0.3f, 1, WANT_FIRST },
    { 12, 33, 5, 8, 1, 0, 0, WANT_FIRST },
    { 12, 32, 5, 8, 3, 0.1f, 0, WANT_SECOND },
    { 300, 128, 50, 40, 11.3f, 0.1f, 0, WANT_ALL },
};

/* ---- product ---- */

typedef struct train_product_case {
    int32_t rows, outputs, cols; /* x (rows, cols), w (outputs, cols) */
    bool    bias, add;
    int32_t gap, wants; /* x, w, bias */
} train_product_case;

static const train_product_case train_product_cases[] = {
    { 1, 1, 1, true, false, 0, WANT_ALL },
    { 3, 5, 7, true, true, 2, WANT_ALL },
    { 16, 8, 24, false, false, 0, WANT_FIRST | WANT_SECOND },
    { 17, 33, 15, true, false, 1, WANT_ALL },
    { 24, 16, 32, true, true, 0, WANT_FIRST },
    { 9, 40, 16, true, false, 8, WANT_SECOND },
    { 5, 3, 64, true, false, 0, WANT_THIRD },
    { 70, 65, 130, true, true, 6, WANT_ALL },
    { 64, 128, 64, true, false, 0, WANT_ALL },
    { 300, 96, 520, true, true, 0, WANT_ALL },   /* more than one block of columns and of rows */
    { 130, 700, 72, false, false, 8, WANT_ALL }, /* of outputs */
};

/* ---- activate ---- */

typedef struct train_activate_case {
    int32_t rows, cols;
    pk_act  act;
    float   drop;
    int32_t gap;
} train_activate_case;

static const train_activate_case train_activate_cases[] = {
    { 1, 1, PK_LINEAR, 0, 0 },     { 5, 7, PK_RELU, 0, 2 },       { 8, 16, PK_RELU, 0.3f, 0 },
    { 7, 33, PK_GELU, 0, 1 },      { 6, 24, PK_GELU, 0.3f, 0 },   { 3, 19, PK_SWISH, 0, 0 },
    { 4, 32, PK_SWISH, 0.3f, 4 },  { 5, 13, PK_LINEAR, 0.3f, 0 }, { 200, 256, PK_RELU, 0.1f, 0 },
    { 70, 513, PK_GELU, 0.3f, 3 },
};

/* ---- add and norm ---- */

typedef struct train_norm_case {
    int32_t rows, cols;
    float   drop; /* of add; norm has none */
    bool    add;
    int32_t gap, wants; /* x, residual (add only), gain and shift */
} train_norm_case;

static const train_norm_case train_norm_cases[] = {
    { 1, 2, 0, false, 0, WANT_ALL },       { 3, 5, 0.3f, false, 3, WANT_ALL },
    { 7, 16, 0, true, 0, WANT_ALL },       { 5, 33, 0.3f, true, 1, WANT_ALL },
    { 4, 24, 0, false, 0, WANT_FIRST },    { 4, 40, 0.3f, true, 8, WANT_SECOND },
    { 9, 24, 0.1f, false, 0, WANT_THIRD }, { 70, 512, 0.1f, false, 0, WANT_ALL },
    { 200, 130, 0.1f, true, 6, WANT_ALL },
};

/* ---- attend ---- */

enum train_pattern {
    SEES_ALL,
    SEES_CAUSAL, /* one key more than the query before it */
    SEES_PREFIX, /* the first two keys */
    SEES_BLOCK,  /* the three keys of its own block */
    SEES_MIXED   /* by turns all, the last key, and none */
};

enum { TRAIN_RUNS = 8 };
typedef struct train_attend_case {
    int32_t            heads, width;
    enum train_pattern pattern;
    int32_t            n_segments, queries[TRAIN_RUNS], keys[TRAIN_RUNS];
    float              drop;
    int32_t            gap;   /* between rows of out and d_out */
    bool               fused; /* q, k and v are columns of one matrix; queries = keys then */
    int32_t            wants; /* q, k, v */
} train_attend_case;

static const train_attend_case train_attend_cases[] = {
    { 1, 4, SEES_ALL, 1, { 1 }, { 1 }, 0, 0, false, WANT_ALL },
    { 2, 8, SEES_ALL, 3, { 5, 1, 7 }, { 3, 6, 1 }, 0, 2, false, WANT_ALL },
    { 2, 8, SEES_CAUSAL, 3, { 6, 1, 9 }, { 6, 1, 9 }, 0.3f, 0, true, WANT_ALL },
    { 1, 16, SEES_PREFIX, 2, { 4, 5 }, { 7, 2 }, 0, 0, false, WANT_ALL },
    { 3, 8, SEES_BLOCK, 2, { 8, 5 }, { 8, 5 }, 0.3f, 8, true, WANT_ALL },
    { 2, 20, SEES_MIXED, 2, { 7, 3 }, { 5, 4 }, 0.3f, 1, false, WANT_ALL },
    { 2, 8, SEES_ALL, 2, { 4, 3 }, { 5, 2 }, 0, 0, false, WANT_FIRST },
    { 2, 8, SEES_ALL, 2, { 4, 3 }, { 5, 2 }, 0.3f, 0, false, WANT_SECOND | WANT_THIRD },
    { 8, 64, SEES_CAUSAL, 4, { 17, 33, 1, 100 }, { 17, 33, 1, 100 }, 0.1f, 0, true, WANT_ALL },
    { 4, 32, SEES_ALL, 5, { 40, 16, 5, 70, 9 }, { 31, 16, 8, 66, 20 }, 0.1f, 0, false, WANT_ALL },
    { 2, 72, SEES_MIXED, 3, { 30, 2, 18 }, { 30, 17, 5 }, 0, 8, false, WANT_ALL },
};

/* Fills query_segment and key_segment (n_segments + 1), first and count (one per query). */
static inline void train_see(const train_attend_case *c, int32_t *query_segment,
                             int32_t *key_segment, int32_t *first, int32_t *count) {
    query_segment[0] = key_segment[0] = 0;
    for (int32_t r = 0; r < c->n_segments; r++) {
        const int32_t start = query_segment[r], from = key_segment[r], keys = c->keys[r];
        query_segment[r + 1] = start + c->queries[r], key_segment[r + 1] = from + keys;
        for (int32_t i = 0; i < c->queries[r]; i++) {
            int32_t at = 0, n = keys;
            if (c->pattern == SEES_CAUSAL) n = i + 1;
            if (c->pattern == SEES_PREFIX) n = 2;
            if (c->pattern == SEES_BLOCK) at = i / 3 * 3, n = 3;
            if (c->pattern == SEES_MIXED && i % 3) at = i % 3 == 1 ? keys - 1 : 0, n = i % 3 == 1;
            first[start + i] = from + at;
            count[start + i] = at + n > keys ? keys - at : n;
        }
    }
}

static inline pk_attention train_attention(const train_attend_case *c, const int32_t *query_segment,
                                           const int32_t *key_segment, const int32_t *first,
                                           const int32_t *count) {
    int32_t longest = 0;
    for (int32_t r = 0; r < c->n_segments; r++) {
        if (c->queries[r] > longest) longest = c->queries[r];
        if (c->keys[r] > longest) longest = c->keys[r];
    }
    return (pk_attention){ .heads = c->heads,
                           .first = first,
                           .count = count,
                           .n_segments = c->n_segments,
                           .longest_segment = longest,
                           .query_segment = query_segment,
                           .key_segment = key_segment };
}

/* ---- loss ---- */

enum train_weights { WEIGHTS_NONE, WEIGHTS_MIXED }; /* MIXED: 0, 1, 0.25, 2 and so on by turns */

typedef struct train_loss_case {
    int32_t            rows, questions, dim; /* rows of the hidden states; NULL rows where equal */
    int32_t            vocab, table_rows, never;
    float              smoothing;
    enum train_weights weights;
    bool               bias, best;
    int32_t            gap, wants; /* hidden, table, bias */
} train_loss_case;

static const train_loss_case train_loss_cases[] = {
    { 1, 1, 1, 2, 2, -1, 0, WEIGHTS_NONE, false, false, 0, WANT_ALL },
    { 5, 5, 8, 17, 17, -1, 0.1f, WEIGHTS_NONE, true, true, 2, WANT_ALL },
    { 9, 4, 16, 30, 64, 3, 0.1f, WEIGHTS_MIXED, true, true, 0, WANT_ALL },
    { 6, 6, 24, 33, 40, 32, 0, WEIGHTS_MIXED, false, true, 8, WANT_FIRST | WANT_SECOND },
    { 7, 3, 8, 21, 64, 0, 0.3f, WEIGHTS_NONE, true, false, 0, WANT_FIRST },
    { 7, 7, 8, 21, 64, -1, 0.1f, WEIGHTS_NONE, true, true, 0, WANT_SECOND | WANT_THIRD },
    { 4, 4, 8, 21, 64, 5, 0.1f, WEIGHTS_MIXED, true, true, 0, 0 }, /* measures only */
    { 90, 77, 64, 1001, 1024, 0, 0.1f, WEIGHTS_MIXED, true, true, 0, WANT_ALL },
    { 150, 150, 72, 3000, 3008, -1, 0.1f, WEIGHTS_NONE, false, true, 0, WANT_ALL },
    { 160, 150, 8, 14500, 14528, 7, 0.1f, WEIGHTS_MIXED, true, true, 0,
      WANT_ALL }, /* in several groups */
};

/* question i's row (rising), target and weight */
static inline int32_t train_question_row(const train_loss_case *c, int32_t i) {
    return (int32_t)((int64_t)(i + 1) * c->rows / c->questions) - 1;
}
static inline int32_t train_target(const train_loss_case *c, int32_t i) {
    const int32_t token = (i * 7 + 1) % c->vocab;
    return token == c->never ? (token + 1) % c->vocab : token;
}
static inline float train_weight(int32_t i) {
    static const float turns[] = { 1, 0, 0.25f, 2, 0.7f };
    return turns[i % 5];
}

/* ---- squares and update ---- */

typedef struct train_update_case {
    size_t  n;
    bool    average;
    float   total, clip, decay;
    int64_t step;
    bool    finite; /* else one gradient is not a number */
} train_update_case;

static const train_update_case train_update_cases[] = {
    { 1, false, 1, 0, 0, 1, true },      { 17, true, 8, 0, 0.01f, 2, true },
    { 100, true, 3, 0.5f, 0, 7, true },  { 1000, false, 1, 1e6f, 0.1f, 1000, true },
    { 33, true, 1, 1, 0.01f, 3, false }, { 200000, true, 100, 0.01f, 0.01f, 50, true },
};
#endif
