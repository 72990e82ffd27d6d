/* train_loss.cu - the loss of known answers and its gradient.
 *
 * Questions go in chunks: logits = hidden table^T into the caller's memory, one block per question
 * turns its row of logits into their gradients in place, and two products take these on to the
 * hidden states and the table. With p = softmax(logits) over the classes (all tokens but `never`)
 * and s the smoothing: d_logit = weight (p - (1 - s) [is the target] - s / classes), and 0 for what
 * is no class. */
#include <climits>

#include "backend/cuda/train.cuh"

enum { LOSS_THREADS = 512, LOSS_WARPS = LOSS_THREADS / 32, CHUNK_ROWS = 8192, COPY_THREADS = 256 };

template <typename T> struct asking { /* one chunk */
    T             *logits;            /* (n, stride) become their gradients */
    const T       *bias;              /* NULL: none */
    const int32_t *target;
    const float   *weight; /* NULL: 1 each */
    int32_t       *best;   /* NULL: not wanted */
    pk_loss_sums  *sums;
    int64_t        stride;
    int   n, cols, vocab, never; /* cols: of the table; those from vocab on are no tokens */
    float smoothing;
    bool  learn;
};

struct found { /* the best token so far */
    float logit;
    int   token;
};

static __device__ __forceinline__ found better(found a, found b) { /* ties: the lower token */
    const bool first = a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
    return first ? a : b;
}

struct block_room {
    double tally[4]; /* what this block will add to the sums; the first thread's */
    found  best[LOSS_WARPS];
    float  sum[LOSS_WARPS], all[LOSS_WARPS];
};

/* the best of a block, known to all its threads */
static __device__ found block_best(found x, block_room &room) {
    for (int step = 16; step; step /= 2)
        x = better(
            x, found{ __shfl_xor_sync(~0u, x.logit, step), __shfl_xor_sync(~0u, x.token, step) });
    if (threadIdx.x % 32 == 0) room.best[threadIdx.x / 32] = x;
    __syncthreads();
    x = room.best[0];
    for (int w = 1; w < LOSS_WARPS; w++) x = better(x, room.best[w]);
    return x;
}

/* two sums over a block, known to all its threads */
static __device__ float2 block_sums(float sum, float all, block_room &room) {
    sum = warp_sum(sum), all = warp_sum(all);
    if (threadIdx.x % 32 == 0) room.sum[threadIdx.x / 32] = sum, room.all[threadIdx.x / 32] = all;
    __syncthreads();
    float2 total = make_float2(0, 0);
    for (int w = 0; w < LOSS_WARPS; w++) total.x += room.sum[w], total.y += room.all[w];
    return total;
}

/* what the gradients of a question are made of */
struct verdict {
    float log_sum, weight, even, right; /* d = weight * (p - even), at the target less `right` */
};

/* The question's part of the sums (the first thread adds it up), and what its gradients need. */
template <typename T>
__device__ verdict judge(const asking<T> &a, int question, found best, float2 total, float target,
                         block_room &room) {
    const int   classes = a.vocab - (a.never >= 0 && a.never < a.vocab);
    const float weight = a.weight ? a.weight[question] : 1;
    const float log_sum = best.logit + logf(total.x), even = a.smoothing / (float)classes;
    if (threadIdx.x == 0) {
        const double nll = (double)log_sum - target, s = a.smoothing;
        const double others = (double)classes * log_sum - total.y; /* -log p of every class */
        room.tally[0] += weight * ((1 - s) * nll + s / classes * others);
        room.tally[1] += weight * nll;
        room.tally[2] += weight;
        room.tally[3] += best.token == a.target[question] ? weight : 0;
        if (a.best) a.best[question] = best.token == INT_MAX ? 0 : best.token; /* all NaN */
    }
    return verdict{ log_sum, weight, even, 1 - a.smoothing };
}

/* d_logit, see the top of this file */
static __device__ __forceinline__ float gradient_of(const verdict &v, float logit, bool is_target) {
    const float p = __expf(logit - v.log_sum);
    return v.weight * (p - v.even - (is_target ? v.right : 0));
}

static __device__ void begin_tally(block_room &room) {
    if (threadIdx.x == 0) room.tally[0] = room.tally[1] = room.tally[2] = room.tally[3] = 0;
}
/* once per block: atomics on double are slow */
static __device__ void add_tally(pk_loss_sums *sums, const block_room &room) {
    if (threadIdx.x) return;
    atomicAdd(&sums->loss, room.tally[0]), atomicAdd(&sums->nll, room.tally[1]);
    atomicAdd(&sums->weight, room.tally[2]), atomicAdd(&sums->correct, room.tally[3]);
}

/* ---- a row of 16-bit logits, held in registers: read once, written once ---- */

/* the logits of vector `at` of the row, with the bias */
template <typename T, bool BIAS>
__device__ __forceinline__ some<8> logits_of(const asking<T> &a, uint4 raw, int at) {
    some<8> z = unpacked(raw, T());
    if constexpr (BIAS) {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (8 * at + e < a.vocab) z.at[e] += to_float(a.bias[8 * at + e]);
    }
    return z;
}

/* one bit for each number of vector `at`: whether it is a class */
static __device__ __forceinline__ uint32_t classes_of(int vocab, int never, int at) {
    const int left = vocab - 8 * at;
    uint32_t  bits = left >= 8 ? 0xffu : left > 0 ? (1u << left) - 1 : 0;
    if (never >= 0 && never / 8 == at) bits &= ~(1u << never % 8);
    return bits;
}

/* VECTORS: of 8 logits, a thread has; blocks take questions in turn */
template <typename T, int VECTORS, bool BIAS>
__global__ void __launch_bounds__(LOSS_THREADS, VECTORS > 4 ? 1 : 2) judge_held(asking<T> a) {
    __shared__ block_room room;
    const int             vectors = a.cols / 8;
    begin_tally(room);
    let_next_start();
    wait_for_previous();
    for (int question = (int)blockIdx.x; question < a.n; question += (int)gridDim.x) {
        T        *row = a.logits + question * a.stride;
        uint4     raw[VECTORS];
        uint32_t  live[(VECTORS + 3) / 4] = {}; /* a bit for each logit: whether it is a class */
        const int target = a.target[question];
        /* read the row */
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const int at = i * LOSS_THREADS + (int)threadIdx.x;
            if (at < vectors) live[i / 4] |= classes_of(a.vocab, a.never, at) << i % 4 * 8;
            raw[i] = at < vectors ? reinterpret_cast<const uint4 *>(row)[at] : uint4{};
        }
        const float at_target = to_float(row[target]) + (BIAS ? to_float(a.bias[target]) : 0);
        found       best = { -INFINITY, INT_MAX };
        /* the best class: its logit is also what the exponentials are relative to */
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const int     at = i * LOSS_THREADS + (int)threadIdx.x;
            const some<8> z = logits_of<T, BIAS>(a, raw[i], at);
#pragma unroll
            for (int e = 0; e < 8; e++)
                if (live[i / 4] >> (i % 4 * 8 + e) & 1 && z.at[e] > best.logit)
                    best = found{ z.at[e], 8 * at + e };
        }
        best = block_best(best, room);
        float sum = 0, all = 0; /* of exponentials; of logits, for smoothing */
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const some<8> z = logits_of<T, BIAS>(a, raw[i], i * LOSS_THREADS + (int)threadIdx.x);
#pragma unroll
            for (int e = 0; e < 8; e++)
                if (live[i / 4] >> (i % 4 * 8 + e) & 1)
                    sum += __expf(z.at[e] - best.logit), all += z.at[e];
        }
        const float2  total = block_sums(sum, all, room);
        const verdict v = judge(a, question, best, total, at_target, room);
        __syncthreads(); /* the room is free again, and all threads have read the target's logit */
        if (!a.learn) continue;
            /* write the gradients over the logits; zeros for what is no class */
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const int at = i * LOSS_THREADS + (int)threadIdx.x;
            some<8>   z = logits_of<T, BIAS>(a, raw[i], at);
#pragma unroll
            for (int e = 0; e < 8; e++)
                z.at[e] = live[i / 4] >> (i % 4 * 8 + e) & 1
                              ? gradient_of(v, z.at[e], 8 * at + e == target)
                              : 0.0f;
            if (at < vectors) reinterpret_cast<uint4 *>(row)[at] = packed(z, T());
        }
    }
    add_tally(a.sums, room);
}

/* ---- any row, read again for every sum ---- */

template <typename T> __global__ void __launch_bounds__(LOSS_THREADS) judge_any(asking<T> a) {
    __shared__ block_room room;
    begin_tally(room);
    let_next_start();
    wait_for_previous();
    for (int question = (int)blockIdx.x; question < a.n; question += (int)gridDim.x) {
        T        *row = a.logits + question * a.stride;
        const int target = a.target[question];
        auto logit = [&](int t) { return to_float(row[t]) + (a.bias ? to_float(a.bias[t]) : 0); };
        const float at_target = logit(target);
        found       best = { -INFINITY, INT_MAX };
        for (int t = (int)threadIdx.x; t < a.vocab; t += LOSS_THREADS)
            if (t != a.never) best = better(best, found{ logit(t), t });
        best = block_best(best, room);
        float sum = 0, all = 0;
        for (int t = (int)threadIdx.x; t < a.vocab; t += LOSS_THREADS)
            if (t != a.never) sum += __expf(logit(t) - best.logit), all += logit(t);
        const float2  total = block_sums(sum, all, room);
        const verdict v = judge(a, question, best, total, at_target, room);
        __syncthreads(); /* the room is free again, and all threads have read the target's logit */
        for (int t = (int)threadIdx.x; a.learn && t < a.cols; t += LOSS_THREADS) {
            const bool live = t < a.vocab && t != a.never;
            row[t] = from_float<T>(live ? gradient_of(v, logit(t), t == target) : 0.0f);
        }
    }
    add_tally(a.sums, room);
}

/* a row of logits is held in registers where it fits, and read once */
template <bool BIAS>
static void launch_held(pk_cuda *c, const asking<__nv_bfloat16> &a, unsigned blocks) {
    using T = __nv_bfloat16;
    const bool even = a.cols % 8 == 0 && a.stride % 8 == 0 && aligned_16(a.logits);
    const int  vectors = even ? (a.cols / 8 + LOSS_THREADS - 1) / LOSS_THREADS : INT_MAX;
    void (*const kernel)(asking<T>) = vectors <= 1   ? judge_held<T, 1, BIAS>
                                      : vectors <= 4 ? judge_held<T, 4, BIAS>
                                      : vectors <= 8 ? judge_held<T, 8, BIAS>
                                                     : judge_any<T>;
    launch(c, "the loss", kernel, blocks, LOSS_THREADS, 0, 0, a);
}
static void launch_judge(pk_cuda *c, const asking<__nv_bfloat16> &a, unsigned blocks) {
    a.bias ? launch_held<true>(c, a, blocks) : launch_held<false>(c, a, blocks);
}
static void launch_judge(pk_cuda *c, const asking<float> &a, unsigned blocks) {
    launch(c, "the loss", judge_any<float>, blocks, LOSS_THREADS, 0, 0, a);
}

/* ---- rows that are asked about ---- */

/* to[to_row ? to_row[i] : i] = from[from_row ? from_row[i] : i], V numbers a thread */
template <typename T, int V>
__global__ void __launch_bounds__(COPY_THREADS)
    copy_rows(T *to, int64_t to_stride, const int32_t *to_row, const T *from, int64_t from_stride,
              const int32_t *from_row, int cols) {
    const int i = (int)blockIdx.x;
    let_next_start();
    wait_for_previous();
    T       *there = to + (to_row ? to_row[i] : i) * to_stride;
    const T *here = from + (from_row ? from_row[i] : i) * from_stride;
    for (int col = (int)threadIdx.x * V; col < cols; col += COPY_THREADS * V)
        store<V>(there + col, load<V>(here + col));
}

/* n rows, 16 bytes at a time where they are aligned */
template <typename T>
static void copy_some(pk_cuda *c, pk_tensor to, const int32_t *to_row, pk_tensor from,
                      const int32_t *from_row, int32_t n) {
    const bool even =
        to.cols % lot<T> == 0 && aligned_16(to, sizeof(T)) && aligned_16(from, sizeof(T));
    if (even)
        launch(c, "choosing rows", copy_rows<T, lot<T>>, n, COPY_THREADS, 0, 0, (T *)to.data,
               to.stride, to_row, (const T *)from.data, from.stride, from_row, to.cols);
    else
        launch(c, "choosing rows", copy_rows<T, 1>, n, COPY_THREADS, 0, 0, (T *)to.data, to.stride,
               to_row, (const T *)from.data, from.stride, from_row, to.cols);
}

/* ---- the op ---- */

static int32_t chunk_of(int32_t questions) {
    return questions < CHUNK_ROWS ? questions : CHUNK_ROWS;
}
static size_t  whole(size_t bytes) { return (bytes + 255) / 256 * 256; }
static int32_t logits_stride(int32_t table_rows) { return (table_rows + 7) / 8 * 8; }

/* logits, and the hidden states that are asked about with their gradients */
size_t pk_cuda_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows) {
    const size_t each = pk_dtype_bytes(static_cast<pk_cuda *>(self)->arithmetic);
    const size_t rows = (size_t)chunk_of(questions);
    return 256 + whole(rows * (size_t)logits_stride(table_rows) * each) +
           2 * whole(rows * (size_t)dim * each);
}

/* rows first .. first + n - 1 */
static pk_tensor rows_from(pk_tensor t, int32_t first, int32_t n, size_t each) {
    if (t.data) t.data = (float *)((char *)t.data + (size_t)first * (size_t)t.stride * each);
    t.rows = n;
    return t;
}

/* What one call of loss has, and where its chunks work. */
struct lesson {
    pk_tensor        hidden, d_hidden, logits, chosen, d_chosen; /* chosen: (chunk, dim) */
    const pk_weight *table, *bias;
    float           *d_table, *d_bias;
    bool             learn;
};

/* One chunk of questions: logits, judge, then the gradients of hidden states, table and bias. */
template <typename T>
static void ask_chunk(pk_cuda *c, const lesson &l, const pk_lesson_questions *q, int32_t first,
                      int32_t n, pk_loss_sums *sums, int32_t *best) {
    const int32_t *row = q->row ? q->row + first : NULL;
    const size_t   each = sizeof(T);
    pk_tensor      x = rows_from(row ? l.chosen : l.hidden, row ? 0 : first, n, each);
    pk_tensor      d_x = row ? l.d_chosen : l.d_hidden, logits = rows_from(l.logits, 0, n, each);
    d_x = rows_from(l.d_hidden.data ? d_x : pk_tensor{}, row ? 0 : first, n, each);
    if (row) copy_some<T>(c, x, NULL, l.hidden, row, n);
    pk_cuda_product(c, logits, x, l.table, NULL);
    asking<T> a = {};
    a.logits = (T *)logits.data, a.bias = l.bias ? (const T *)l.bias->data : NULL;
    a.target = q->target + first, a.weight = q->weight ? q->weight + first : NULL;
    a.best = best ? best + first : NULL, a.sums = sums;
    a.stride = logits.stride, a.n = n, a.cols = logits.cols;
    a.vocab = q->vocab, a.never = q->never, a.smoothing = q->smoothing, a.learn = l.learn;
    const int most = 4 * c->processors; /* each block adds to the sums once */
    launch_judge(c, a, (unsigned)(n < most ? n : most));
    if (!l.learn) return;
    pk_cuda_product_back(c, d_x, false, l.d_table, NULL, logits, x, l.table);
    if (l.d_bias) pk_cuda_sum_columns(c, logits, q->vocab, l.d_bias);
    if (row && d_x.data) copy_some<T>(c, l.d_hidden, row, d_x, NULL, n);
}

/* zeros in the rows of d_hidden that no chunk will set */
static void clear_hidden(pk_cuda *c, pk_tensor d_hidden, const pk_lesson_questions *q,
                         size_t each) {
    const int32_t   first = q->row ? 0 : q->n;
    const pk_tensor rest = rows_from(d_hidden, first, d_hidden.rows - first, each);
    if (!rest.data || rest.rows <= 0 || c->status != PK_OK) return;
    pk_cuda_good(c,
                 cudaMemset2DAsync(rest.data, (size_t)rest.stride * each, 0,
                                   (size_t)rest.cols * each, (size_t)rest.rows, c->stream),
                 "the loss");
}

/* cuts the caller's memory into pieces */
static void lay_out(lesson &l, int32_t rows, void *work, size_t each) {
    const int32_t dim = l.table->cols, outputs = l.table->rows, stride = logits_stride(outputs);
    char         *at = (char *)work + (256 - (uintptr_t)work % 256) % 256;
    l.logits = pk_tensor{ (float *)at, rows, outputs, stride, l.hidden.type, 0 };
    at += whole((size_t)rows * (size_t)stride * each);
    l.chosen = pk_tensor{ (float *)at, rows, dim, dim, l.hidden.type, 0 };
    at += whole((size_t)rows * (size_t)dim * each);
    l.d_chosen = pk_tensor{ (float *)at, rows, dim, dim, l.hidden.type, 0 };
}

void pk_cuda_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                  pk_tensor d_hidden, float *d_table, float *d_bias, void *work) {
    pk_cuda     *c = static_cast<pk_cuda *>(self);
    const size_t each = pk_dtype_bytes(c->arithmetic);
    lesson       l = { hidden, d_hidden, {}, {}, {}, table, bias, d_table, d_bias, false };
    l.learn = d_hidden.data || d_table || d_bias;
    clear_hidden(c, d_hidden, q, each);
    if (q->n == 0) return;
    lay_out(l, chunk_of(q->n), work, each);
    /* chunks of one size, so that the products are */
    const int32_t chunks = (q->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    const int32_t size = (q->n + chunks - 1) / chunks;
    for (int32_t first = 0; first < q->n; first += size) {
        const int32_t n = q->n - first < size ? q->n - first : size;
        on_learning_type(c->arithmetic, [&](auto zero) {
            ask_chunk<decltype(zero)>(c, l, q, first, n, sums, best);
        });
    }
}
