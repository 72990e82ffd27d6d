/* train_kernels.h - what each instruction set provides for training, and the jobs it is handed.
 *
 * As in kernels.h: kernels know nothing of threads, and no number depends on how a job was cut into
 * parts. `first` beside a drop is the number of the row's (or part's) first element, see drop.h. */
#ifndef PK_CPU_TRAIN_KERNELS_H
#define PK_CPU_TRAIN_KERNELS_H
#include "tensor/training.h"

/* Part of a matrix as a product reads it: number (i, j) is at[i * row + j * col]; row or col is 1.
 */
typedef struct pk_view {
    const float *at;
    size_t       row, col;
} pk_view;

/* out (m, n) = what was there (add), or bias (n; NULL: zeros), plus a (m, k) times b (k, n) */
typedef struct pk_product_part {
    pk_view      a, b;
    float       *out;
    size_t       out_stride;
    int32_t      m, n, k;
    const float *bias;
    bool         add;
} pk_product_part;
/* floats of scratch: packed blocks of a (rows, depth) and of b (depth, columns) */
enum { PK_PRODUCT_ROWS = 192, PK_PRODUCT_DEPTH = 256, PK_PRODUCT_COLUMNS = 512 };
enum { PK_PRODUCT_SCRATCH = (PK_PRODUCT_ROWS + PK_PRODUCT_COLUMNS) * PK_PRODUCT_DEPTH };

/* One row on its way back through sum = residual + drop(x), out = norm(sum). */
typedef struct pk_add_norm_back_row {
    const float *d_out, *sum;
    const float *gain;       /* NULL: no norm, d_out is the gradient of the sum */
    const float *moments;    /* mean, 1 / deviation */
    float       *d_x;        /* set, with dropout; may be NULL or d_out */
    float       *d_residual; /* set or added to; may be NULL or d_out */
    bool         add;
    int32_t      cols;
    pk_drop      drop;
    uint64_t     first;
} pk_add_norm_back_row;

/* Attention over segments. Backwards also d_out and the gradients, which may lack data. */
typedef struct pk_segments_job {
    pk_tensor           out, q, k, v, d_out, d_q, d_k, d_v;
    const pk_attention *see;
    pk_drop             drop;
    float              *sums; /* (queries, heads) written forwards, read backwards */
} pk_segments_job;
/* floats of scratch for one head of one segment */
static inline size_t pk_segments_scratch(int32_t longest_segment) {
    return PK_PRODUCT_SCRATCH + 2 * (size_t)longest_segment * (size_t)longest_segment;
}

/* One question: with `learn`, the logits are overwritten by their gradient. */
typedef struct pk_loss_row {
    float  *logits; /* (vocab) */
    int32_t vocab, never, target;
    float   weight, smoothing;
    bool    learn;
    /* set by the kernel */
    double  nll, all; /* -log p of the target; of all classes together */
    int32_t best;
} pk_loss_row;

typedef struct pk_train_kernels {
    void (*product)(const pk_product_part *part, float *scratch);
    /* out = drop(row * scale + position); row NULL: zeros; position may be NULL */
    void (*embed)(float *out, const float *row, float scale, const float *position, int32_t cols,
                  pk_drop drop, uint64_t first);
    /* to += drop(d) * scale */
    void (*add_dropped)(float *to, const float *d, float scale, int32_t n, pk_drop drop,
                        uint64_t first);
    void (*activate)(float *out, const float *x, int32_t n, pk_act act, pk_drop drop,
                     uint64_t first);
    void (*activate_back)(float *d_x, const float *d_out, const float *x, int32_t n, pk_act act,
                          pk_drop drop, uint64_t first);
    /* sum = residual + drop(x) */
    void (*add_norm)(float *sum, const float *x, const float *residual, int32_t cols, pk_drop drop,
                     uint64_t first);
    void (*norm)(float *out, const float *x, int32_t cols, const float *gain, const float *shift,
                 float epsilon, float *moments);
    void (*add_norm_back)(const pk_add_norm_back_row *row);
    /* columns first .. first + n - 1 of d_gain += sum over rows of d_out times the normalised x,
     * and of d_shift += sum of d_out; either may be NULL */
    void (*gains)(float *d_gain, float *d_shift, pk_tensor d_out, pk_tensor x, const float *moments,
                  int32_t first, int32_t n);
    void (*attend)(const pk_segments_job *job, int32_t segment, int32_t head, float *scratch);
    void (*attend_back)(const pk_segments_job *job, int32_t segment, int32_t head, float *scratch);
    void (*loss)(pk_loss_row *row);
    double (*squares)(const float *x, size_t n);
    /* numbers first .. first + n - 1 of a step; scale: what the gradient is multiplied with */
    void (*update)(const pk_update *u, size_t first, size_t n, float scale);
} pk_train_kernels;
#endif
