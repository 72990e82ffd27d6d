/* backend.h - all a device must provide. A backend is one folder that fills one of these.
 *
 * Ops run in order on the backend's own queue and return nothing. The first failure sticks,
 * later ops do nothing, and status() tells. Shapes were checked by tensor/ops.c, so a backend may
 * trust them. Batches are ragged: rows of tokens end to end. There is no padding, there are no
 * masks.
 *
 * The law of exactness: the numbers of a row never depend on how many rows share the op, nor on the
 * number of threads. So every sum over cols, keys or vocabulary has one order, fixed by its length.
 */
#ifndef PK_TENSOR_BACKEND_H
#define PK_TENSOR_BACKEND_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <stdbool.h>

#include "base/status.h"

typedef enum pk_dtype { PK_F32, PK_F16, PK_I8 } pk_dtype;

/* (rows, cols) numbers on the device; rows `stride` elements apart, so that columns can be a view.
 * Activations are F32. Pools of keys and values may be F16: then data points at 16-bit numbers. */
typedef struct pk_tensor {
    float   *data;
    int32_t  rows, cols, stride;
    pk_dtype type;
} pk_tensor;

/* A constant. A matrix (rows = outputs, cols = inputs) lies in panels of 16 rows, see tensor/panel.h;
 * a vector or a table of positions is F32, row-major, and says so with `plain`. */
typedef struct pk_weight {
    const void  *data;
    const float *scale;                         /* I8: value = integer * scale[row]; else NULL */
    int32_t      rows, cols;
    pk_dtype     type;
    bool         plain;
} pk_weight;

/* Which keys each query sees: rows first[i] .. first[i] + count[i] - 1 of k and v, or, when there is
 * an index, the rows named by index[first[i] ..]. Encoder: the sentence. Decoding: a path of slots. */
typedef struct pk_attention {
    int32_t        heads;
    const int32_t *first, *count, *index;       /* one per query; index may be NULL */
    float         *weights;                     /* NULL, or (queries, weights_stride): the attention */
    int32_t        weights_stride;              /*   probabilities, averaged over heads */
} pk_attention;

typedef enum pk_act { PK_LINEAR, PK_RELU, PK_GELU, PK_SWISH } pk_act;       /* GELU: exact, with erf */

typedef struct pk_scored {
    int32_t token;
    float   score;
} pk_scored;

/* One row of hidden states to answer from. The lists are offsets into pk_answering.tokens. */
typedef struct pk_question {
    int32_t row;                                /* of the hidden states */
    int32_t top_k;                              /* how many of the best tokens; 0: none */
    int32_t ban, n_ban;                         /* tokens that may not be among them */
    int32_t target, n_target;                   /* tokens whose logits are asked for */
    bool    log_sum;                            /* also log(sum(exp(logits))) */
    bool    renormalise;                        /* that sum leaves the banned tokens out */
} pk_question;

/* All answers of one pass. Ties: the lower token id comes first. Scores are logits, bias included. */
typedef struct pk_answering {
    int32_t            n;                       /* questions */
    const pk_question *question;
    const int32_t     *tokens;                  /* ban and target lists end to end */
    int32_t            top_stride;
    pk_scored         *top;                     /* (n, top_stride) best first; token -1 past the end */
    float             *log_sum;                 /* (n) */
    float             *target_score;            /* parallel to tokens */
} pk_answering;

/* What a session will ask for at most, so that a backend can take its scratch memory beforehand. */
typedef struct pk_limits {
    int32_t rows;                               /* of any x in linear */
    int32_t cols;                               /* of any x in linear */
    int32_t keys;                               /* longest count in attend */
    int32_t questions, top_k, vocab;
} pk_limits;

typedef struct pk_backend {
    const char *name;
    void       *self;
    void      (*close)  (void *self);
    pk_status (*status) (void *self);                       /* first failure since the last call */
    pk_status (*reserve)(void *self, const pk_limits *max); /* scratch for ops up to these sizes */
    void      (*limit)  (void *self, int32_t threads);      /* use no more threads than these from now on */

    /* out[i] = table[token[i]] * scale + position[pos[i]]; token -1 counts as a row of zeros */
    void (*embed) (void *self, pk_tensor out, const pk_weight *table, const int32_t *token, float scale,
                   const pk_weight *position, const int32_t *pos);
    /* out = act(x w^T + bias) + residual; bias (1, out.cols) may be NULL, residual.data may be NULL
     * and may be the same memory as out */
    void (*linear)(void *self, pk_tensor out, pk_tensor x, const pk_weight *w, const pk_weight *bias,
                   pk_act act, pk_tensor residual);
    /* out = (x - mean) / sqrt(variance + epsilon) * gain + bias, row by row; out may be x */
    void (*norm)  (void *self, pk_tensor out, pk_tensor x, const pk_weight *gain, const pk_weight *bias,
                   float epsilon);
    /* out[i] = softmax(q[i] k^T / sqrt(head width)) v over the keys that query i sees, head by head;
     * k and v are of one type */
    void (*attend)(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see);
    /* pool[slot[i]] = rows[i], rounded to the pool's type */
    void (*place) (void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot);
    /* logits = hidden table^T + bias, never stored whole; vocab = table->rows; bias may be NULL */
    void (*answer)(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a);
} pk_backend;
#endif
