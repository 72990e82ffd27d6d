/* backend.h - all a device must provide. A backend is one folder that fills one of these.
 *
 * Ops are computed in order on the backend's own queue and return nothing. The first failure
 * sticks: later ops do nothing, and status() returns it. Shapes were checked by tensor/ops.c, so
 * a backend may trust them. Batches are ragged: rows of tokens end to end. There is no padding,
 * there are no masks.
 *
 * The law of exactness: the numbers of a row never depend on how many rows share the op, nor on
 * the number of threads. So every sum over cols, keys or vocabulary has one order, fixed by its
 * length. */
#ifndef PK_TENSOR_BACKEND_H
#define PK_TENSOR_BACKEND_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/types.h"

/* (rows, cols) numbers on the device; rows `stride` elements apart, so that columns can be a view.
 * Activations are of the backend's type; pools of keys and values may be of another. Where that is a
 * 16-bit type, data points at 16-bit numbers. */
typedef struct pk_tensor {
    float   *data;
    int32_t  rows, cols, stride;
    pk_dtype type;
    int32_t  node;                              /* while training: whose value it is, see tape.h; else 0 */
} pk_tensor;

/* A constant. A matrix (rows = outputs, cols = inputs) lies in panels of 16 rows, see tensor/panel.h;
 * a vector or a table of positions is F32, row-major, and says so with `plain`. While training all
 * weights are plain and of the backend's type. */
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
    /* Training, where there is no index: queries query_segment[r] .. query_segment[r + 1] - 1 see nothing but keys
     * key_segment[r] .. key_segment[r + 1] - 1, each a part of them that has no gaps. */
    int32_t        n_segments, longest_segment;         /* longest: most queries or keys of any */
    const int32_t *query_segment, *key_segment;         /* (n_segments + 1) */
} pk_attention;

/* What happens to a product on its way out, in this order; zeros: nothing. */
typedef struct pk_after {
    const pk_weight *bias;                      /* (1, outputs), added */
    pk_act           act;
    pk_tensor        residual;                  /* added; may be the same memory as the output */
    const pk_weight *gain, *shift;              /* with a gain, each row is normalised, see norm */
    float            epsilon;
    pk_tensor        pool;                      /* with data, columns from `from` on are also stored */
    const int32_t   *slot;                      /*   in pool[slot[i]], see scatter */
    int32_t          from;
} pk_after;

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

/* All answers of one pass. Ties: the lower token id comes first. Scores are logits, bias included.
 * The arrays are the device's, as those of attention are. */
typedef struct pk_answering {
    int32_t            n;                       /* questions */
    int32_t            most_top_k;              /* of any of them */
    bool               any_log_sum;
    const pk_question *question;
    const int32_t     *tokens;                  /* ban and target lists end to end */
    int32_t            top_stride;
    pk_scored         *top;                     /* (n, top_stride) best first; token -1 past the end */
    float             *log_sum;                 /* (n) */
    float             *target_score;            /* parallel to tokens */
} pk_answering;

/* The edges of one position of a lattice: from some rows of the hidden states to some tokens. */
typedef struct pk_edge_block {
    int32_t row, n_rows;                        /* of the hidden states, neighbours; 0 rows: nothing */
    int32_t token, n_tokens;                    /* in pk_edging.tokens */
    int32_t score;                              /* where its (n_rows, n_tokens) scores begin in pk_edging.score */
} pk_edge_block;

/* Scores are log-probabilities, logits with their bias less a log sum: that of the row, or of the row's own tokens. */
typedef struct pk_edging {
    int32_t              n;                     /* blocks */
    int32_t              most_rows, most_tokens;        /* of any of them, or more */
    const pk_edge_block *block;
    const int32_t       *tokens;
    const float         *log_sum;               /* (rows of the hidden states); NULL: over each block's tokens */
    float               *score;
} pk_edging;

/* How a row follows its own best tokens. */
typedef struct pk_follower {
    int32_t question;                               /* the question about this row */
    int32_t partner;                                /* 0: it is alone; 1: the next row is the other one of its pair,
                                                       -1: the row before is; the same holds for their questions */
    int32_t stride;                                 /* positions from one step to the next */
    int32_t found;                                  /* where its tokens begin in pk_following.found */
    int32_t log_sum;                                /* 1: scores are log-probabilities */
} pk_follower;

/* Rows that follow their own best tokens: each step feeds the token that the last step found, until it (or
 * its partner's) is eos or the steps are used up. Then the row is finished and changes no more; rows that do not
 * follow are so from the beginning. `index[first + count]` is the slot of its next token; a pair has one list,
 * takes the next two slots of it, and sees both. */
typedef struct pk_following {
    int32_t          n, eos;
    int32_t         *token, *pos, *slot, *count;    /* (n) the pass's own arrays, moved on in place */
    const int32_t   *first, *index;
    const pk_follower *follower;                    /* (n); zeros where left is 0 from the beginning */
    int32_t         *left;                          /* (n) steps it may still take; 0: finished */
    const pk_scored *top;                           /* (questions, top_stride) */
    int32_t          top_stride;
    const float     *log_sum;                       /* (questions), taken from the scores */
    int32_t         *n_found;                       /* (n) */
    pk_scored       *found;                         /* the tokens they found */
    int32_t         *live;                          /* how many rows are not finished */
} pk_following;

/* What a session will ask for at most, so that a backend can take its scratch memory beforehand. */
typedef struct pk_limits {
    int32_t rows;                               /* of any x in linear */
    int32_t cols;                               /* of any x in linear */
    int32_t keys;                               /* longest count in attend */
    int32_t questions, top_k, vocab;
    int32_t edge_tokens;                        /* of one block of edges */
} pk_limits;

enum { PK_EVENTS = 4 };
typedef struct pk_backend {
    const char *name;
    void       *self;
    pk_dtype    activations;                                /* type of the tensors between ops */
    bool        remote;                                     /* its memory is not the host's */
    int32_t     follow;                                     /* most steps worth taking on its own; 0: none */
    int32_t     encode;                                     /* source tokens worth encoding at once */
    void      (*close)  (void *self);
    pk_status (*status) (void *self);                       /* waits for all ops; first failure since the last call */
    pk_status (*reserve)(void *self, const pk_limits *max); /* scratch for ops up to these sizes */
    /* Events (0 to PK_EVENTS - 1) in the queue of ops. wait_event waits until all ops before the
     * event are done, so that the host goes on while later ones are computed. NULL: only status()
     * waits. */
    void      (*record_event)(void *self, int32_t which);
    void      (*wait_event)(void *self, int32_t which);
    void      (*limit)  (void *self, int32_t threads);      /* use no more threads than these from now on */
    int32_t   (*padded_rows)(void *self, int32_t rows);         /* rows that a pass of so many is filled up to */

    /* Memory of the device, zeroed. A mirror is host memory for a block of the device, from and
     * to which copies are fast. On the host it is that block itself, and put and get between the
     * two do nothing. put and get are in order with the ops; what get fetches is there after
     * status(). give() takes back what take() gave, or NULL; a remote device may keep it until
     * it is closed, and keeps mirrors as long. */
    pk_status (*take)   (void *self, size_t bytes, void **out);
    pk_status (*mirror) (void *self, void *there, size_t bytes, void **out);
    void      (*give)   (void *self, void *memory);
    /* Something large is opened twice. First on a dry run of the device, which only counts
     * bytes: take, adopt and reserve take nothing, put does nothing, ops must not be called.
     * Then here, after expect() has taken all counted bytes in one piece. All three are NULL
     * where memory need not be in one piece. */
    uint64_t  (*held)   (void *self);                       /* bytes of the device taken so far */
    pk_status (*dry_run)(void *self, struct pk_backend *out);
    pk_status (*expect) (void *self, const struct pk_backend *dry_run);
    void      (*put)    (void *self, void *to, const void *from, size_t bytes);
    void      (*get)    (void *self, void *to, const void *from, size_t bytes);
    /* the weight in the device's layout: a copy that lives until close; on the host the weight
     * itself */
    pk_status (*adopt)  (void *self, const pk_weight *host, pk_weight *out);

    /* Computes the ops that the body calls, again and again until *live is 0 after a step; that
     * must happen after `steps` at most (live: a number on the device; NULL: once). The same key
     * promises the same ops on the same memory, so a device may record them the first time and
     * then replay them. */
    void (*repeat)(void *self, uint64_t key, int32_t steps, const int32_t *live, void (*body)(void *context),
                   void *context);

    /* out[i] = table[token[i]] * scale + position[pos[i]]; token -1 counts as a row of zeros */
    void (*embed)  (void *self, pk_tensor out, const pk_weight *table, const int32_t *token, float scale,
                    const pk_weight *position, const int32_t *pos);
    /* out = x w^T, and what follows */
    void (*linear) (void *self, pk_tensor out, pk_tensor x, const pk_weight *w, const pk_after *after);
    /* out = (x - mean) / sqrt(variance + epsilon) * gain + shift, row by row; out may be x */
    void (*norm)   (void *self, pk_tensor out, pk_tensor x, const pk_weight *gain, const pk_weight *shift,
                    float epsilon);
    /* out[i] = softmax(q[i] k^T / sqrt(head width)) v over the keys that query i sees, head by head; zeros
     * where it sees none; k and v are of one type */
    void (*attend) (void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                    const pk_attention *see);
    /* pool[slot[i]] = rows[i], rounded to the pool's type */
    void (*scatter)  (void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot);
    /* logits = hidden table^T + bias, never stored whole; vocab = table->rows; bias may be NULL */
    void (*answer) (void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                    const pk_answering *a);
    /* scores of all edges of lattices; table, vocab and bias as in answer */
    void (*edges)  (void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                    const pk_edging *e);
    /* one step of those that follow their best tokens */
    void (*advance)(void *self, const pk_following *f);
    /* what learning needs besides; NULL: this device can only translate */
    const struct pk_training *train;
} pk_backend;
#endif
