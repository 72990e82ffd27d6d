/* kernels.h - what each instruction set provides, and the jobs it is handed.
 *
 * Everything in kernels/ is compiled once per instruction set and reached through one table.
 * Kernels know nothing of threads: they work on the part of a job that they are given. No number
 * depends on how a job was cut into parts. */
#ifndef PK_CPU_KERNELS_H
#define PK_CPU_KERNELS_H
#include "tensor/backend.h"

enum { PK_TILE_MAX = 12 }; /* rows of the tallest tile */

/* Activations in the layout of the linear kernels. Rows are cut into tiles of nearly equal
 * height h. Inside a tile they lie (quads, h, 4): four columns of each row, then the next four
 * of each row. For h = 2 (a, b: rows):   a0 a1 a2 a3  b0 b1 b2 b3  a4 a5 a6 a7  b4 b5 b6 b7 ... */
typedef struct pk_tiles {
    void    *data;          /* float or int8_t (I8) */
    float   *scale;         /* (rows) I8: value = integer * scale[row] */
    int32_t *offset;        /* (rows) I8: 128 * sum of the row's integers */
    int32_t  rows, cols, n; /* n: tiles */
} pk_tiles;

/* the first row of a tile; tile n gives the number of rows */
static inline int32_t pk_tile_first(const pk_tiles *t, int32_t tile) {
    return (int32_t)((int64_t)t->rows * tile / t->n);
}
static inline int32_t pk_tile_height(const pk_tiles *t, int32_t tile) {
    return pk_tile_first(t, tile + 1) - pk_tile_first(t, tile);
}
/* columns of a tile: filled up to whole quads */
static inline size_t pk_tile_width(const pk_tiles *t) { return ((size_t)t->cols + 3) / 4 * 4; }

/* out = act(x w^T + bias) + residual for some tiles and some panels */
typedef struct pk_linear_part {
    const pk_tiles  *x;
    const pk_weight *w;
    const float     *bias; /* (w->rows) or NULL */
    pk_act           act;
    int32_t          first_tile, n_tiles, first_panel, n_panels;
    bool         goes_on;  /* this thread does the panels behind these next: fetch their weights */
    bool         in_cache; /* the weights are in the last-level cache: the processor fetches them */
    float       *out;      /* at the first row and column of the part */
    size_t       out_stride;
    const float *residual; /* as out, or NULL; may be out itself */
    size_t       residual_stride;
} pk_linear_part;

typedef struct pk_attend_job {
    pk_tensor           out, q, k, v;
    const pk_attention *see;
    int32_t             width; /* of a head */
} pk_attend_job;
enum { PK_ATTEND_QUERIES = 4, PK_ATTEND_HEADS = 8 }; /* served together at most */
/* floats of scratch that attend needs per thread: scores of each query, and where the keys are */
static inline size_t pk_attend_scratch(int32_t keys) {
    const size_t room = ((size_t)keys + 15) / 16 * 16;
    return room * (PK_ATTEND_QUERIES * PK_ATTEND_HEADS + 2 * sizeof(size_t) / sizeof(float));
}

/* best tokens so far, best first; a new one must beat the last of n once the list is full */
typedef struct pk_best {
    pk_scored *list;
    int32_t    n, room;
} pk_best;

typedef struct pk_cpu_kernels {
    const char *name;
    int32_t     tile_rows[3]; /* tallest tile, by pk_dtype */
    /* row r of the tiles is row pick[r] of x (row r when pick is NULL) */
    void (*prepare)(const pk_tiles *t, pk_dtype type, pk_tensor x, const int32_t *pick,
                    int32_t tile);
    void (*linear)(const pk_linear_part *part);
    void (*attend)(const pk_attend_job *job, int32_t first_query, int32_t n_queries,
                   int32_t first_head, int32_t n_heads, float *scratch);
    void (*norm)(float *out, const float *x, int32_t cols, const float *gain, const float *bias,
                 float epsilon);
    void (*embed)(float *out, const pk_weight *table, int32_t token, float scale,
                  const float *position);
    /* rounds n numbers to F16 */
    void (*narrow)(uint16_t *out, const float *x, int32_t n);
    /* puts logits (n) of tokens first_token .. into the list, highest score first; of equal
     * scores the lower id comes first */
    void (*best)(pk_best *best, const float *logits, int32_t n, int32_t first_token);
    /* the largest logit and the sum of exp(logit - largest) */
    void (*exp_sum)(const float *logits, int32_t n, float *most, float *sum);
    const struct pk_train_kernels *train; /* see train_kernels.h */
} pk_cpu_kernels;

extern const pk_cpu_kernels pk_kernels_generic;
#ifdef __x86_64__
extern const pk_cpu_kernels pk_kernels_avx2, pk_kernels_avx512;
#endif
#endif
