/* edges.cu - the edges of lattices: for each position, logits of some rows for some tokens, and
 * their log sums.
 *
 * A block of threads has ROWS rows of one position, as floats in shared memory, and all tokens of
 * the position. A warp takes one token at a time: its lanes have every 32nd column, which is read
 * once for all rows, and their sums are added pairwise. So the order of a sum depends on the number
 * of columns alone, and a row's scores on nothing but its row and its tokens. */
#include "backend/cuda/common.cuh"

enum { EDGE_ROWS = 16, EDGE_WARPS = 8, EDGE_THREADS = 32 * EDGE_WARPS };

struct edges_of {
    const pk_edge_block *block;
    const int32_t       *tokens;
    const float         *log_sum, *bias; /* may be NULL */
    float               *score;
    int                  cols, stride; /* of the hidden states */
};

/* (EDGE_ROWS, cols) states as floats; zeros past the last row */
template <typename T>
static __device__ void fetch_rows(float *to, const T *hidden, const edges_of &e, int first,
                                  int rows) {
    for (int i = (int)threadIdx.x; i < EDGE_ROWS * e.cols; i += EDGE_THREADS) {
        const int row = i / e.cols, col = i % e.cols;
        to[i] = row < rows
                    ? to_float(hidden[(size_t)(first + row) * (size_t)e.stride + (size_t)col])
                    : 0;
    }
}

/* logits of one token for all rows, to lanes 0 .. EDGE_ROWS - 1 of `logits`, rows n_tokens apart */
template <typename W>
static __device__ void score_token(float *logits, int n_tokens, const float *states,
                                   const matrix<W> &table, const edges_of &e, int token) {
    const int lane = (int)threadIdx.x % 32;
    float     sum[EDGE_ROWS] = {};
    for (int col = lane; col < e.cols; col += 32) {
        const float w = weight_at(table, token, col);
#pragma unroll
        for (int r = 0; r < EDGE_ROWS; r++) sum[r] = __fmaf_rn(states[r * e.cols + col], w, sum[r]);
    }
    const float bias = e.bias ? e.bias[token] : 0;
#pragma unroll
    for (int r = 0; r < EDGE_ROWS; r++) {
        for (int step = 16; step; step /= 2)
            sum[r] = __fadd_rn(sum[r], __shfl_xor_sync(~0u, sum[r], step));
        if (lane == r) logits[r * n_tokens] = __fadd_rn(sum[r], bias);
    }
}

/* log of the sum of exp over a row's own tokens; the same in all lanes */
static __device__ float own_log_sum(const float *logits, int n) {
    const int lane = (int)threadIdx.x % 32;
    float     most = -INFINITY, sum = 0;
    for (int i = lane; i < n; i += 32) most = fmaxf(most, logits[i]);
    for (int step = 16; step; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    for (int i = lane; i < n; i += 32) sum = __fadd_rn(sum, expf(logits[i] - most));
    for (int step = 16; step; step /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, step));
    return __fadd_rn(most, logf(sum));
}

/* blocks: (positions, groups of EDGE_ROWS rows) */
template <typename T, typename W>
static __global__ void __launch_bounds__(EDGE_THREADS)
    score_edges(const T *hidden, matrix<W> table, edges_of e) {
    extern __shared__ float edge_memory[];
    let_next_start();
    wait_for_previous();
    const pk_edge_block b = e.block[blockIdx.x];
    const int           first = (int)blockIdx.y * EDGE_ROWS, left = b.n_rows - first;
    const int           rows = left < EDGE_ROWS ? left : EDGE_ROWS, warp = (int)threadIdx.x / 32;
    if (rows <= 0) return; /* fills up the launch */
    float *states = edge_memory, *logits = edge_memory + EDGE_ROWS * e.cols;
    fetch_rows(states, hidden, e, b.row + first, rows);
    __syncthreads();
    for (int i = warp; i < b.n_tokens; i += EDGE_WARPS)
        score_token(logits + i, b.n_tokens, states, table, e, e.tokens[b.token + i]);
    __syncthreads();
    for (int r = warp; r < rows; r += EDGE_WARPS) {
        const float *row = logits + (size_t)r * (size_t)b.n_tokens;
        const float  sum = e.log_sum ? e.log_sum[b.row + first + r] : own_log_sum(row, b.n_tokens);
        float       *out = e.score + b.score + (size_t)(first + r) * (size_t)b.n_tokens;
        for (int i = (int)threadIdx.x % 32; i < b.n_tokens; i += 32)
            out[i] = __fsub_rn(row[i], sum);
    }
}

template <typename T, typename W>
static void launch_edges(pk_cuda *c, pk_tensor hidden, const pk_weight *table, const edges_of &e,
                         const pk_edging *a) {
    const matrix<W> m = { (const W *)table->data, table->scale, table->cols };
    const size_t    shared = (size_t)EDGE_ROWS * (size_t)(e.cols + a->most_tokens) * sizeof(float);
    const dim3      grid((unsigned)a->n, (unsigned)((a->most_rows + EDGE_ROWS - 1) / EDGE_ROWS));
    if (shared > c->shared_limit) {
        pk_cuda_fail(c, PK_UNSUPPORTED,
                     "a lattice of %d candidates for states of %d numbers does not fit this GPU's "
                     "shared memory: choose a smaller k",
                     a->most_tokens, e.cols);
        return;
    }
    allow_shared(c, score_edges<T, W>);
    launch(c, "edges", score_edges<T, W>, grid, EDGE_THREADS, shared, 0, (const T *)hidden.data, m,
           e);
}

void pk_cuda_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_edging *a) {
    pk_cuda       *c = static_cast<pk_cuda *>(self);
    const edges_of e = { a->block,     a->tokens,
                         a->log_sum,   bias ? (const float *)bias->data : NULL,
                         a->score,     hidden.cols,
                         hidden.stride };
    if (a->n == 0 || a->most_rows == 0) return;
    on_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if (table->type == PK_I8)
            launch_edges<T, int8_t>(c, hidden, table, e, a);
        else
            on_type(table->type, [&](auto weight) {
                launch_edges<T, decltype(weight)>(c, hidden, table, e, a);
            });
    });
}
