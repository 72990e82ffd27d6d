/* cpu_state.h - what the ops of the cpu backend share: kernels, threads, scratch memory.
 *
 * All scratch is taken by reserve(); no op allocates. Rows pass through linear and answer in blocks
 * that fit the second-level cache, so scratch does not grow with the number of rows. */
#ifndef PK_CPU_STATE_H
#define PK_CPU_STATE_H
#include "backend/cpu/ahead.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/pool.h"

enum {
    PK_CHUNK = 512,             /* tokens of the vocabulary answered at a time */
    PK_BLOCK_BYTES = 256 << 10, /* of prepared activations that pass together */
};

typedef struct pk_cpu {
    const pk_cpu_kernels *kernels;
    pk_pool              *pool;
    pk_ahead             *ahead;
    pk_limits             max;
    pk_status             status; /* first failure since it was last asked for */
    char                  message[120];
    /* scratch, sized by reserve() */
    void      *tiles;         /* (block rows, cols) floats */
    float     *scale;         /* (block rows) */
    int32_t   *offset, *pick; /* (block rows) see pk_tiles; rows of hidden states to answer from */
    float     *attention;     /* (threads, pk_attend_scratch(keys)) */
    float     *logits;        /* (threads, PK_TILE_MAX + 1, PK_CHUNK) */
    pk_scored *best;          /* (threads, questions, top_k) */
    int32_t   *n_best;        /* (threads, questions) */
    int32_t   *used;          /* (threads) entries of each list that are merged already */
    float     *sums;          /* (questions, chunks, 2): largest, sum of exp */
    void      *edge_panels;   /* (edge_tokens, cols) rows of an output layer, as panels */
    float     *edge_scale, *edge_bias; /* (edge_tokens) theirs */
    /* scratch of training, sized by its own reserve() */
    float  *train_scratch; /* (threads, pk_segments_scratch(longest_segment)) */
    int32_t longest_segment;
} pk_cpu;

/* rows that are prepared and multiplied together: whole tiles, at least one */
int32_t pk_cpu_block_rows(const pk_cpu *cpu, int32_t cols, pk_dtype type);
/* lays x out for the kernels, with all threads if that pays; the tiles live until the next call */
pk_tiles pk_cpu_prepare(pk_cpu *cpu, pk_tensor x, const int32_t *pick, int32_t rows, pk_dtype type);
/* records a failure; the first one sticks */
void pk_cpu_fail(pk_cpu *cpu, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* x w^T and what follows, within the limits; w may be memory that changes */
void pk_cpu_product(pk_cpu *cpu, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_after *after);
void pk_cpu_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after);
/* a row of floats into a slot of a pool, rounded to the pool's type */
void pk_cpu_store_row(const pk_cpu *cpu, pk_tensor pool, int32_t slot, const float *row,
                      int32_t cols);
void pk_cpu_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a);
void pk_cpu_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_edging *e);
#endif
