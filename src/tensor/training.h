/* training.h - what a device must provide besides, to learn: each op of the network forwards, with
 * what its gradient needs kept, and backwards; the loss; the optimiser.
 *
 * Numbers: activations, their gradients and the weights are of the backend's type (F32 on the host,
 * BF16 or F32 on a GPU); weights are plain: row-major, rows end to end. Gradients of weights are
 * always float and always added to. Gradients of activations are set, or added where `add` says so.
 * A gradient that is not wanted is NULL (or a tensor without data). Shapes were checked by tape.c.
 * Sums inside an op are float or wider. On the host a result does not depend on the number of
 * threads; a GPU may add to gradients of weights in any order. */
#ifndef PK_TENSOR_TRAINING_H
#define PK_TENSOR_TRAINING_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "tensor/backend.h"
#include "tensor/drop.h"

/* Questions to hidden states with known answers. */
typedef struct pk_lesson_questions {
    int32_t        n;
    const int32_t *row;                         /* (n) of the hidden states, rising; NULL: question i is row i */
    const int32_t *target;                      /* (n) the right token */
    const float   *weight;                      /* (n) its share in the loss; NULL: 1 each */
    float          smoothing;                   /* of the labels: this share goes to all tokens alike */
    int32_t        vocab;                       /* tokens there are; the table may have more rows, for alignment */
    int32_t        never;                       /* a token that is no answer and left out of the sums; -1: none */
} pk_lesson_questions;

/* Sums over questions, added to; on the device. loss = -sum weight * ((1 - smoothing) log p(target)
 * + smoothing / classes * sum over classes of log p). */
typedef struct pk_loss_sums {
    double loss, nll, weight, correct;          /* nll: without smoothing; correct: weight of best == target */
} pk_loss_sums;

/* One step of Adam over n numbers that lie end to end. The gradient is grad / total. Nothing but `skipped`
 * changes when the sum of squares is not finite. The gradient is zero afterwards either way. */
typedef struct pk_update {
    size_t        n;
    float        *master, *grad, *m, *v;        /* (n) */
    float        *average;                      /* (n) moving average of the weights; NULL: none */
    void         *weights;                      /* (n) in the backend's type; master itself where that is F32 */
    const double *squares;                      /* sum of squares of grad, before division, on the device */
    int64_t      *skipped;                      /* on the device, added to */
    float         total;                        /* what the gradient is divided by */
    float         rate, beta1, beta2, epsilon;
    float         decay;                        /* rate * decay * weight is taken off (decoupled); 0: none */
    float         clip;                         /* longest gradient; 0: any */
    float         average_keep;                 /* average = keep * average + (1 - keep) * weight */
    int64_t       step;                         /* from 1, for Adam's correction of its first steps */
} pk_update;

enum { PK_LINK_BYTES = 128 };
typedef struct pk_training {
    /* out[i] = drop(table[token[i]] * scale + position[pos[i]]); token -1 counts as a row of zeros */
    void (*embed)         (void *self, pk_tensor out, const pk_weight *table, const int32_t *token, float scale,
                           const pk_weight *position, const int32_t *pos, pk_drop drop);
    void (*embed_back)    (void *self, pk_tensor d_out, float *d_table, const int32_t *token, float scale,
                           float *d_position, const int32_t *pos, pk_drop drop);
    /* out = x w^T + bias; bias may be NULL */
    void (*product)       (void *self, pk_tensor out, pk_tensor x, const pk_weight *w, const pk_weight *bias);
    void (*product_back)  (void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias, pk_tensor d_out,
                           pk_tensor x, const pk_weight *w);
    /* out = drop(act(x)) */
    void (*activate)      (void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop);
    void (*activate_back) (void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act, pk_drop drop);
    /* sum = residual + drop(x), and where there is a gain out = norm(sum); moments: (rows, 2) floats, mean and
     * 1 / sqrt(variance + epsilon). sum may be x. d_out is that of out, or of sum where there is no gain. */
    void (*add_norm)      (void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual, pk_drop drop,
                           const pk_weight *gain, const pk_weight *shift, float epsilon, float *moments);
    void (*add_norm_back) (void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain, float *d_shift,
                           pk_tensor d_out, pk_tensor sum, const pk_weight *gain, const float *moments,
                           pk_drop drop);
    /* out = norm(x) */
    void (*norm)          (void *self, pk_tensor out, pk_tensor x, const pk_weight *gain, const pk_weight *shift,
                           float epsilon, float *moments);
    void (*norm_back)     (void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift, pk_tensor d_out,
                           pk_tensor x, const pk_weight *gain, const float *moments);
    /* as the op attend, over segments (see->query_segment and so on); dropout on the
     * probabilities. sums: (queries, heads) floats, log of the sum of exp of the scaled scores.
     * d_q, d_k and d_v are set, but for rows of no segment. */
    void (*attend)        (void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                           const pk_attention *see, pk_drop drop, float *sums);
    void (*attend_back)   (void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out, pk_tensor out,
                           pk_tensor q, pk_tensor k, pk_tensor v, const pk_attention *see, pk_drop drop,
                           const float *sums);
    /* Logits = hidden table^T + bias, softmax, loss, and at once the gradients of `loss` as
     * summed: d_hidden (set; zero in rows without a question), d_table, d_bias. best: (n) the
     * model's most probable tokens, or NULL. work: memory for loss_bytes() of the backend. */
    void (*loss)          (void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                           const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best, pk_tensor d_hidden,
                           float *d_table, float *d_bias, void *work);
    size_t (*loss_bytes)  (void *self, int32_t questions, int32_t dim, int32_t table_rows);

    /* *sum += the sum of squares of n numbers */
    void (*squares)       (void *self, const float *x, size_t n, double *sum);
    void (*update)        (void *self, const pk_update *u);
    /* memory of the device becomes zero */
    void (*clear)         (void *self, void *memory, size_t bytes);
    /* weights = master, rounded to the backend's type; nothing where they are the same memory */
    void (*round_weights) (void *self, void *weights, const float *master, size_t n);
    /* scratch for ops of so many rows and columns of x, out or w, whichever is most; before the first op */
    pk_status (*reserve)  (void *self, int32_t rows, int32_t cols, int32_t longest_segment);
    /* Devices that sum among themselves, one rank each; NULL: this one cannot. All ranks must
     * get rank 0's id, then all link at once. sum_linked begins to sum n numbers over all ranks,
     * in place, beside the ops that follow; ops after wait_linked see the sums. */
    pk_status (*link_id)  (void *self, unsigned char id[PK_LINK_BYTES]);
    pk_status (*link)     (void *self, int32_t n, int32_t rank, const unsigned char id[PK_LINK_BYTES]);
    void (*sum_linked)    (void *self, float *x, size_t n);
    void (*wait_linked)   (void *self);
} pk_training;
#endif
