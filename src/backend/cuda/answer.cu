/* answer.cu - best tokens, log sums and single logits of the output layer; see answer.cuh. Here:
 * the first kernel for 16-bit arithmetic, and the way in.
 *
 * Order of the sum over k, as in linear.cuh: tiles of 16 columns are cut into 8 stretches,
 * stretch c ends at tile (c + 1) * tiles / 8. Each is one chain of mma from zero; the stretches
 * are added in order. Weights go from memory to registers, many tiles ahead. */
#include <type_traits>

#include "backend/cuda/answer.cuh"

/* This warp's hidden states, zeros from cols to width - 8; width is odd in 16 bytes, which keeps
 * ldmatrix's rows apart in the banks. wide: rows may be read 16 bytes at a time. */
template <typename T, int N>
static __device__ void fetch_states(T *to, int width, const T *hidden, int stride, int cols,
                                    bool wide, const int row[N]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const T *from = hidden + (size_t)row[j] * (size_t)stride;
        T       *at = to + (size_t)(warp + WARPS * j) * (size_t)width;
        for (int col = lane * 8; col < width - 8; col += 32 * 8) {
            if (wide && col + 8 <= cols) {
                copy_16(at + col, from + col, 16);
                continue;
            }
            for (int e = col; e < col + 8; e++) at[e] = e < cols ? from[e] : from_float<T>(0);
        }
    }
}

/* how many tiles of weights a lane has on their way */
template <int N> struct ring { static constexpr int size = N <= 2 ? 16 : N == 4 ? 8 : 4; };

template <int SIZE, typename W>
static __device__ __forceinline__ void fetch_first(W (&flying)[SIZE], const W *weights, int tiles) {
#pragma unroll
    for (int u = 0; u < SIZE; u++)
        if (u < tiles) fetch(flying[u], weights + (size_t)u * 32);
}

/* the end of a stretch: its sums go to the total */
template <int N>
static __device__ __forceinline__ void add_stretch(float total[N][4], float part[N][4]) {
#pragma unroll
    for (int j = 0; j < N * 4; j++)
        total[j / 4][j % 4] += part[j / 4][j % 4], part[j / 4][j % 4] = 0;
}

/* total = a panel's logits for 8 * N questions, without bias; for any number of tiles */
template <typename T, int N, int SIZE, typename W>
static __device__ __forceinline__ void product(float    total[N][4], W (&flying)[SIZE],
                                               const W *weights, int tiles, unsigned states,
                                               int width) {
    float    part[N][4] = {};
    unsigned b[N][2];
    int      stretch = 1, end = tiles / 8;        /* where the present stretch ends */
    while (end == 0) end = ++stretch * tiles / 8; /* those without a tile are skipped */
    for (int begin = 0; begin < tiles; begin += SIZE) {
#pragma unroll
        for (int u = 0; u < SIZE; u++) {
            const int t = begin + u;
            if (t >= tiles) break;
            load_x<N>(b, states + (unsigned)t * 32, width);
            const uint4 a = widen<T>(flying[u]);
#pragma unroll
            for (int j = 0; j < N; j++) multiply(part[j], a, b[j], T());
            if (t + SIZE < tiles) fetch(flying[u], weights + (size_t)(t + SIZE) * 32);
            if (t + 1 < end) continue;
            add_stretch<N>(total, part);
            while (end <= t + 1) end = ++stretch * tiles / 8;
        }
    }
}

/* The same where tiles is a multiple of 32: all stretches are whole fours of tiles, so four
 * tiles go without a branch. */
template <typename T, int N, int SIZE, typename W>
static __device__ __forceinline__ void product_of_fours(float    total[N][4], W (&flying)[SIZE],
                                                        const W *weights, int tiles,
                                                        unsigned states, int width) {
    constexpr int AHEAD =
        N <= 2 ? 4 : 1; /* tiles whose hidden states are read before the first mma */
    float    part[N][4] = {};
    unsigned b[AHEAD][N][2];
    int      end = tiles / 8;
    for (int begin = 0; begin < tiles; begin += SIZE) {
        const bool more = begin + SIZE < tiles;
        const W   *next = weights + (size_t)(begin + SIZE) * 32;
#pragma unroll
        for (int u = 0; u < SIZE; u++) {
            if (u % AHEAD == 0)
#pragma unroll
                for (int v = 0; v < AHEAD; v++)
                    load_x<N>(b[v], states + (unsigned)(begin + u + v) * 32, width);
            const uint4 a = widen<T>(flying[u]);
#pragma unroll
            for (int j = 0; j < N; j++) multiply(part[j], a, b[u % AHEAD][j], T());
            if (more) fetch(flying[u], next + u * 32);
            if (u % 4 == 3 && begin + u + 1 == end) {
                add_stretch<N>(total, part);
                end += tiles / 8;
            }
        }
    }
}

/* mma's results to (question, token), with scale and bias */
template <int N>
static __device__ __forceinline__ void store_logits(float *logits, const float total[N][4],
                                                    const float scale[2], const float bias[2]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int question = j * 8 + lane % 4 * 2 + e % 2,
                      token = warp * 16 + lane / 4 + e / 2 * 8;
            logits[question * LOGITS_STRIDE + token] =
                __fmaf_rn(total[j][e], scale[e / 2], bias[e / 2]);
        }
}

/* blocks: (groups of 8 * N questions, chunks); each warp makes the logits of one panel, then serves
 * N questions. W: a lane's weights of one tile. */
template <typename T, typename W, int N>
static __global__ void __launch_bounds__(THREADS, 2)
    best_of_chunk(const T *hidden, int32_t stride, bool wide, output_layer layer, asking a) {
    extern __shared__ uint4 memory[];
    const int               tiles = (layer.cols + 15) / 16, width = tiles * 16 + 8;
    const int  lane = threadIdx.x % 32, panel = (int)blockIdx.y * WARPS + (int)threadIdx.x / 32;
    questions *asked = reinterpret_cast<questions *>(memory);
    float     *logits = reinterpret_cast<float *>(asked + 8 * N);
    T         *states = reinterpret_cast<T *>(logits + 8 * N * LOGITS_STRIDE);
    const W   *weights =
        static_cast<const W *>(layer.data) + (size_t)panel * (size_t)tiles * 32 + lane;
    W     flying[ring<N>::size];
    float scale[2] = { 1, 1 }, bias[2] = { 0, 0 };

    let_next_start();
    if (panel < layer.panels) {
        fetch_first(flying, weights, tiles);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int token = panel * 16 + lane / 4 + e * 8;
            if (layer.scale && token < a.vocab) scale[e] = layer.scale[token];
            if (layer.bias && token < a.vocab) bias[e] = layer.bias[token];
        }
    }
    wait_for_previous();
    coming<N> c;
    fetch_questions(c, a);
    fetch_states<T, N>(states, width, hidden, stride, layer.cols, wide, c.row);
    store_questions(asked, c);
    copies_done();
    __syncthreads();
    unsigned known = 0;
    if (panel < layer.panels) {
        float          total[N][4] = {};
        const unsigned at = shared_address(states) + x_lane_offset<N>(width, lane);
        if (tiles % 32 == 0)
            product_of_fours<T, N>(total, flying, weights, tiles, at, width);
        else
            product<T, N>(total, flying, weights, tiles, at, width);
        known = known_bounds<N>(a); /* on its way while the logits are stored */
        store_logits<N>(logits, total, scale, bias);
    }
    __syncthreads();
    ask_all<N>(a, asked, logits, known);
}

/* ---- the host's side ---- */

static int32_t chunks_of(int32_t vocab) { return (vocab + CHUNK - 1) / CHUNK; }
static int32_t kept_of(int32_t top_k) {
    return top_k < 1 ? 1 : top_k < MOST_KEPT ? top_k : (int32_t)MOST_KEPT;
}

size_t pk_cuda_answer_bytes(const pk_limits *max) {
    const size_t each = (size_t)kept_of(max->top_k) * sizeof(uint2) + sizeof(float2);
    return (size_t)max->questions * (sizeof(unsigned) + (size_t)chunks_of(max->vocab) * each) + 16;
}

template <typename T, typename W, int N>
static void launch_chunks(pk_cuda *c, pk_tensor hidden, const output_layer &layer, const asking &a,
                          size_t shared) {
    const bool wide = (uintptr_t)hidden.data % 16 == 0 && hidden.stride % 8 == 0;
    launch_answer(c, best_of_chunk<T, W, N>, grid_for<N>(a), shared,
                  reinterpret_cast<const T *>(hidden.data), hidden.stride, wide, layer, a);
}

/* the widest groups of questions that there is use and shared memory for */
template <typename T, typename W>
static void launch_16_bit(pk_cuda *c, pk_tensor hidden, const output_layer &layer,
                          const asking &a) {
    const size_t limit = c->shared_limit,
                 row = (size_t)((layer.cols + 15) / 16 * 16 + 8) * sizeof(T);
    int n = a.n <= 8 ? 1 : a.n <= 16 ? 2 : a.n <= 32 ? 4 : 8;
    while (n > 1 && base_bytes(8 * n) + (size_t)(8 * n) * row > limit) n /= 2;
    const size_t shared = base_bytes(8 * n) + (size_t)(8 * n) * row;
    if (shared > limit)
        pk_cuda_fail(c, PK_ARGUMENT, "answer: a model of width %d is too wide for this device",
                     (int)layer.cols);
    else if (n == 1)
        launch_chunks<T, W, 1>(c, hidden, layer, a, shared);
    else if (n == 2)
        launch_chunks<T, W, 2>(c, hidden, layer, a, shared);
    else if (n == 4)
        launch_chunks<T, W, 4>(c, hidden, layer, a, shared);
    else
        launch_chunks<T, W, 8>(c, hidden, layer, a, shared);
}

static void launch_any(pk_cuda *c, pk_tensor hidden, const pk_weight *table,
                       const output_layer &layer, const asking &a) {
    on_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_same<T, float>::value) {
            pk_cuda_answer_f32(c, hidden, layer, a);
        } else if (pk_cuda_answer_many_fits(c, hidden, layer, a)) {
            pk_cuda_answer_many(c, hidden, table->type, layer, a);
        } else if (table->type == PK_I8) {
            launch_16_bit<T, uint2>(c, hidden, layer, a);
        } else {
            launch_16_bit<T, uint4>(c, hidden, layer, a);
        }
    });
}

/* false, and a failure that sticks, where the op needs more than was reserved */
static bool fits(pk_cuda *c, const pk_weight *table, const pk_answering *a) {
    const bool type = c->arithmetic == PK_F32
                          ? table->type == PK_F32
                          : table->type == c->arithmetic || table->type == PK_I8;
    if (a->n > c->max.questions || a->most_top_k > c->max.top_k || table->rows > c->max.vocab)
        pk_cuda_fail(c, PK_ARGUMENT,
                     "answer: more questions, tokens or vocabulary than were reserved");
    else if (a->most_top_k > MOST_TOP_K)
        pk_cuda_fail(c, PK_ARGUMENT, "answer: at most the %d best tokens can be listed, not %d",
                     (int)MOST_TOP_K, (int)a->most_top_k);
    else if (!type)
        pk_cuda_fail(c, PK_ARGUMENT, "answer: the table is not of a type that was adopted");
    else
        return true;
    return false;
}

void pk_cuda_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                    const pk_answering *a) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (c->status != PK_OK || a->n < 1 || !fits(c, table, a)) return;
    const int32_t chunks = chunks_of(table->rows), keep = kept_of(a->most_top_k);
    /* bounds lie in front, where every call finds them as the last one left them: zero */
    unsigned *bound = static_cast<unsigned *>(c->answer_scratch);
    uint2    *list = reinterpret_cast<uint2 *>(bound + (c->max.questions + 3) / 4 * 4);
    float2 *part = reinterpret_cast<float2 *>(list + (size_t)a->n * (size_t)chunks * (size_t)keep);
    const asking       asked = { a->question, a->tokens, a->target_score, a->n, table->rows,
                                 chunks,      keep,      a->any_log_sum,  list, part,
                                 bound };
    const output_layer layer = { table->data, table->type == PK_I8 ? table->scale : NULL,
                                 bias ? static_cast<const float *>(bias->data) : NULL, table->cols,
                                 (table->rows + 15) / 16 };
    launch_any(c, hidden, table, layer, asked);
    pk_cuda_answer_merge(c, asked, a);
}
