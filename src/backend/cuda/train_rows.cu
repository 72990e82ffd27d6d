/* train_rows.cu - ops that treat each number by itself: embed and activate, forwards and backwards.
 *
 * A thread has V neighbours of one row: 16 bytes where rows allow it, else a single number. What
 * dropout does to a number depends on its position alone (tensor/drop.h). */
#include "backend/cuda/activation.cuh"
#include "backend/cuda/train.cuh"

enum { ROW_THREADS = 256 };

/* which numbers are this thread's: V from (row, col) on */
struct spot {
    int row, col;
};

/* per_row: threads that a row has */
static __device__ __forceinline__ spot own_spot(int per_row, int V) {
    const uint32_t i = blockIdx.x * (uint32_t)ROW_THREADS + threadIdx.x;
    const uint32_t row = i / (uint32_t)per_row;
    return spot{ (int)row, (int)(i - row * (uint32_t)per_row) * V };
}

static unsigned blocks_for(int rows, int per_row) {
    return (unsigned)(((int64_t)rows * per_row + ROW_THREADS - 1) / ROW_THREADS);
}

/* ---- embed ---- */

template <typename T> struct embedding {
    T             *out;
    const T       *table, *position; /* position: NULL: none */
    const int32_t *token, *pos;
    int64_t        stride;
    int            rows, cols;
    float          scale;
    dropping       drop;
};

template <typename T, int V>
__global__ void __launch_bounds__(ROW_THREADS) embed_numbers(embedding<T> e) {
    const spot at = own_spot(e.cols / V, V);
    let_next_start();
    wait_for_previous();
    if (at.row >= e.rows) return;
    const int token = e.token[at.row];
    some<V>   x = {};
    if (token >= 0) x = load<V>(e.table + (int64_t)token * e.cols + at.col);
#pragma unroll
    for (int i = 0; i < V; i++) x.at[i] *= e.scale;
    if (e.position) {
        const some<V> offset = load<V>(e.position + (int64_t)e.pos[at.row] * e.cols + at.col);
#pragma unroll
        for (int i = 0; i < V; i++) x.at[i] += offset.at[i];
    }
    drop_some(x, e.drop, (uint64_t)at.row * (uint64_t)e.cols + (uint64_t)at.col);
    store<V>(e.out + at.row * e.stride + at.col, x);
}

void pk_cuda_train_embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                         float scale, const pk_weight *position, const int32_t *pos, pk_drop drop) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (out.rows == 0) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        constexpr int      V = lot<T>;
        const embedding<T> e = { (T *)out.data,
                                 (const T *)table->data,
                                 position ? (const T *)position->data : NULL,
                                 token,
                                 pos,
                                 out.stride,
                                 out.rows,
                                 out.cols,
                                 scale,
                                 dropping_of(drop) };
        if (out.cols % V == 0 && aligned_16(out, sizeof(T)) && aligned_16(table) &&
            aligned_16(position))
            launch(c, "embed", embed_numbers<T, V>, blocks_for(out.rows, out.cols / V), ROW_THREADS,
                   0, 0, e);
        else
            launch(c, "embed", embed_numbers<T, 1>, blocks_for(out.rows, out.cols), ROW_THREADS, 0,
                   0, e);
    });
}

template <typename T> struct embedding_back {
    const T       *d_out;
    float         *d_table, *d_position; /* NULL: not wanted */
    const int32_t *token, *pos;
    int64_t        stride;
    int            rows, cols;
    float          scale;
    dropping       drop;
};

template <typename T, int V>
__global__ void __launch_bounds__(ROW_THREADS) embed_back_numbers(embedding_back<T> e) {
    const spot at = own_spot(e.cols / V, V);
    let_next_start();
    wait_for_previous();
    if (at.row >= e.rows) return;
    const int token = e.d_table ? e.token[at.row] : -1;
    some<V>   d = load<V>(e.d_out + at.row * e.stride + at.col);
    drop_some(d, e.drop, (uint64_t)at.row * (uint64_t)e.cols + (uint64_t)at.col);
    if (e.d_position) add_some(e.d_position + (int64_t)e.pos[at.row] * e.cols + at.col, d);
    if (token < 0) return;
#pragma unroll
    for (int i = 0; i < V; i++) d.at[i] *= e.scale;
    add_some(e.d_table + (int64_t)token * e.cols + at.col, d);
}

void pk_cuda_train_embed_back(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                              float scale, float *d_position, const int32_t *pos, pk_drop drop) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (d_out.rows == 0 || (!d_table && !d_position)) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        constexpr int           V = lot<T>;
        const embedding_back<T> e = {
            (const T *)d_out.data, d_table,    d_position, token, pos,
            d_out.stride,          d_out.rows, d_out.cols, scale, dropping_of(drop)
        };
        if (d_out.cols % V == 0 && aligned_16(d_out, sizeof(T)) && aligned_16(d_table) &&
            aligned_16(d_position))
            launch(c, "embed backwards", embed_back_numbers<T, V>,
                   blocks_for(d_out.rows, d_out.cols / V), ROW_THREADS, 0, 0, e);
        else
            launch(c, "embed backwards", embed_back_numbers<T, 1>,
                   blocks_for(d_out.rows, d_out.cols), ROW_THREADS, 0, 0, e);
    });
}

/* ---- activate ---- */

template <typename T> struct activation { /* d_out: NULL: forwards */
    T       *out;
    const T *x, *d_out;
    int64_t  out_stride, x_stride, d_out_stride;
    int      rows, cols;
    dropping drop;
};

/* out = drop(act(x)), or d_x = drop(d_out) act'(x) */
template <typename T, int V, pk_act ACT>
__global__ void __launch_bounds__(ROW_THREADS) activate_numbers(activation<T> a) {
    const spot at = own_spot(a.cols / V, V);
    let_next_start();
    wait_for_previous();
    if (at.row >= a.rows) return;
    const some<V> x = load<V>(a.x + at.row * a.x_stride + at.col);
    some<V>       y;
    if (a.d_out) {
        y = load<V>(a.d_out + at.row * a.d_out_stride + at.col);
#pragma unroll
        for (int i = 0; i < V; i++) y.at[i] *= slope(x.at[i], ACT);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) y.at[i] = activate(x.at[i], ACT);
    }
    drop_some(y, a.drop, (uint64_t)at.row * (uint64_t)a.cols + (uint64_t)at.col);
    store<V>(a.out + at.row * a.out_stride + at.col, y);
}

template <typename T, int V>
static void launch_activation(pk_cuda *c, const activation<T> &a, pk_act act) {
#define KERNEL(act, ...) activate_numbers<T, V, act>,
    void (*const kernels[])(activation<T>) = { PK_ACT_MAP(KERNEL) };
#undef KERNEL
    launch(c, "activate", kernels[act], blocks_for(a.rows, a.cols / V), ROW_THREADS, 0, 0, a);
}

/* d_out without data: forwards */
static void activate_any(pk_cuda *c, pk_tensor out, pk_tensor x, pk_tensor d_out, pk_act act,
                         pk_drop drop) {
    if (x.rows == 0) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        const activation<T> a = { (T *)out.data,
                                  (const T *)x.data,
                                  (const T *)d_out.data,
                                  out.stride,
                                  x.stride,
                                  d_out.stride,
                                  x.rows,
                                  x.cols,
                                  dropping_of(drop) };
        if (x.cols % lot<T> == 0 && aligned_16(out, sizeof(T)) && aligned_16(x, sizeof(T)) &&
            aligned_16(d_out, sizeof(T)))
            launch_activation<T, lot<T>>(c, a, act);
        else
            launch_activation<T, 1>(c, a, act);
    });
}

void pk_cuda_activate(void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop) {
    activate_any(static_cast<pk_cuda *>(self), out, x, pk_tensor{}, act, drop);
}

void pk_cuda_activate_back(void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act,
                           pk_drop drop) {
    activate_any(static_cast<pk_cuda *>(self), d_x, x, d_out, act, drop);
}
