/* answer.cuh - what the kernels of answer() share: their arguments, and how a warp answers one
 * question from the logits of one chunk.
 *
 *                     tokens of the vocabulary, 128 in a chunk
 *                     chunk 0    chunk 1    chunk 2  ...
 *   questions      [  block      block      block       first kernel: logits in shared memory; for
 *   (up to 128)    [                                    each question its best tokens, sorted, and
 *                                                       its part of the log sum
 *   one question:  <- merged by one block               second kernel (answer_merge.cu)
 *
 * The first kernel is in answer.cu, answer_f32.cu and answer_many.cu. There are no (n, V) logits
 * in memory. A chunk always has 128 tokens and a question is always done by one warp, so no
 * number depends on how many questions there are. Scores are compared as keys: unsigned integers
 * in the order of the floats, so that one redux instruction finds the best of a warp. */
#ifndef PK_BACKEND_CUDA_ANSWER_CUH
#define PK_BACKEND_CUDA_ANSWER_CUH
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "backend/cuda/linear.cuh"

enum {
    CHUNK = 128, /* tokens: 8 panels */
    THREADS = 256,
    WARPS = 8,
    LOGITS_STRIDE = CHUNK + 4, /* keeps the stores of mma's results apart in the banks */
    EARLY = 32,                /* bans of a question that are fetched beforehand */
    MOST_KEPT = CHUNK,         /* a chunk has no more to give */
    MOST_TOP_K = 512
};

/* The arguments of both kernels. */
struct asking {
    const pk_question *question; /* (n) */
    const int32_t     *tokens;
    float             *target_score;
    int32_t            n, vocab, chunks;
    int32_t            keep; /* best tokens kept of each chunk */
    bool               sums;
    uint2             *list;  /* (n, chunks, keep) key and token, best first */
    float2            *part;  /* (n, chunks) largest logit, sum of exp(logit - largest) */
    unsigned          *bound; /* (n) no key below is among the best; 0 before and after answer() */
};

struct output_layer {
    const void  *data;
    const float *scale, *bias; /* either may be NULL */
    int32_t      cols, panels;
};

/* the first kernel for many questions, with wgmma; whether it will do */
bool pk_cuda_answer_many_fits(const pk_cuda *c, pk_tensor hidden, const output_layer &layer,
                              const asking &a);
void pk_cuda_answer_many(pk_cuda *c, pk_tensor hidden, pk_dtype weights, const output_layer &layer,
                         const asking &a);
/* the first kernel for F32 */
void pk_cuda_answer_f32(pk_cuda *c, pk_tensor hidden, const output_layer &layer, const asking &a);
/* the second kernel */
void pk_cuda_answer_merge(pk_cuda *c, const asking &a, const pk_answering *all);

/* ---- keys ---- */

static constexpr unsigned NONE = 0x007fffffu; /* the key of minus infinity */

/* not-a-numbers count as minus infinity, both zeros as one */
static __device__ __forceinline__ unsigned key_of(float x) {
    const unsigned bits = __float_as_uint(x > -INFINITY ? x + 0.0f : -INFINITY);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static __device__ __forceinline__ float score_of(unsigned key) {
    return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

/* the largest key of a warp and the lowest token that has it */
static __device__ __forceinline__ uint2 best_of_warp(uint2 mine) {
    const unsigned key = __reduce_max_sync(~0u, mine.x);
    const int      token = __reduce_min_sync(~0u, mine.x == key ? (int)mine.y : INT_MAX);
    return make_uint2(key, (unsigned)token);
}

static __device__ __forceinline__ float sum_of_warp(float x) {
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* ---- one question, one chunk: a warp; lane l has tokens l, l + 32, l + 64, l + 96 ---- */

static __device__ __forceinline__ void read_logits(float x[4], const float *logits, int n) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = lane + 32 * j < n ? logits[lane + 32 * j] : -INFINITY;
}

static __device__ void store_targets(const asking &a, const pk_question &q, const float *logits,
                                     int first, int n) {
    for (int j = threadIdx.x % 32; j < q.n_target; j += 32) {
        const int token = a.tokens[q.target + j] - first;
        if (token >= 0 && token < n) a.target_score[q.target + j] = logits[token];
    }
}

/* A lane's share of the sum; rounded alike in every kernel: nothing is merged into the addition.
 * Where all are minus infinity the difference still is, so that no branch is needed. */
static __device__ __forceinline__ float sum_of_four(const float x[4], float largest) {
    const float from = fmaxf(largest, -FLT_MAX);
    float       sum = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) sum = __fadd_rn(sum, expf(__fsub_rn(x[j], from)));
    return sum;
}

/* largest logit of the chunk and the sum of exp(logit - largest): lane, then a tree over the
 * warp */
static __device__ void store_sum(float2 *part, const float x[4]) {
    unsigned most = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) most = max(most, key_of(x[j]));
    const float largest = score_of(__reduce_max_sync(~0u, most));
    const float sum = sum_of_warp(sum_of_four(x, largest));
    if (threadIdx.x % 32 == 0) *part = make_float2(largest, sum);
}

/* banned tokens become minus infinity; the first EARLY bans were fetched beforehand */
static __device__ void apply_bans(const asking &a, const pk_question &q, const int *early,
                                  float *logits, int first) {
    const int lane = threadIdx.x % 32;
    __syncwarp(); /* all have read what they needed of the logits */
    for (int j = lane; j < q.n_ban; j += 32) {
        const int token = (j < EARLY ? early[j] : a.tokens[q.ban + j]) - first;
        if (token >= 0 && token < CHUNK) logits[token] = -INFINITY;
    }
    __syncwarp();
}

/* The n best of the chunk, best first. As soon as one chunk has found n, no other needs to list
 * what is less than the last of those (bound): most chunks then list little or nothing. Which
 * chunk knows which bound depends on timing; the merged result does not. */
static __device__ void list_best(uint2 *list, int n, const float x[4], int first, unsigned known,
                                 unsigned *bound) {
    const int      lane = threadIdx.x % 32;
    const unsigned least = max(known, NONE + 1);
    unsigned       last = 0;
    unsigned       key[4];
#pragma unroll
    for (int j = 0; j < 4; j++) key[j] = key_of(x[j]);
    for (int k = 0; k < n; k++) {
        uint2 mine = make_uint2(key[0], (unsigned)(first + lane));
#pragma unroll
        for (int j = 1; j < 4; j++)
            if (key[j] > mine.x) mine = make_uint2(key[j], (unsigned)(first + lane + 32 * j));
        const uint2 best = best_of_warp(mine);
        if (best.x < least) { /* nothing is left, or nothing that counts */
            for (int rest = k + lane; rest < n; rest += 32) list[rest] = make_uint2(NONE, ~0u);
            return;
        }
        last = best.x;
        if (mine.y == best.y) list[k] = best;
#pragma unroll
        for (int j = 0; j < 4; j++)
            if ((unsigned)(first + lane + 32 * j) == best.y) key[j] = 0;
    }
    if (bound && lane == 0 && n > 0) atomicMax(bound, last);
}

/* all that one question wants from one chunk; bans are applied to its logits in place */
static __device__ void ask_chunk(const asking &a, const pk_question &q, const int *early,
                                 float *logits, int question, int chunk, unsigned known) {
    const int    first = chunk * CHUNK, n = min(a.vocab - first, (int)CHUNK);
    const size_t at = (size_t)question * (size_t)a.chunks + (size_t)chunk;
    const bool   sums = a.sums && q.log_sum;
    float        x[4];
    read_logits(x, logits, n);
    store_targets(a, q, logits, first, n);
    if (sums && !q.renormalise) store_sum(a.part + at, x);
    if (q.n_ban > 0) {
        apply_bans(a, q, early, logits, first);
        read_logits(x, logits, n);
    }
    if (sums && q.renormalise) store_sum(a.part + at, x);
    /* a chunk that cannot list all that is asked for gives no bound; for one token it would not
     * pay */
    unsigned *bound = a.keep > 1 && q.top_k <= a.keep ? a.bound + question : NULL;
    list_best(a.list + at * (size_t)a.keep, min(q.top_k, a.keep), x, first, bound ? known : 0,
              bound);
}

/* ---- the questions of a block; warp w of ALL has w, w + ALL, ... ---- */

enum { WORDS = sizeof(pk_question) / 4 };
static_assert(sizeof(pk_question) == 28 && offsetof(pk_question, row) == 0 &&
                  offsetof(pk_question, ban) == 8 && offsetof(pk_question, n_ban) == 12,
              "fetch_questions() reads questions as words");

struct questions {
    int         early[EARLY];
    pk_question asked;
    int         gap; /* 16-byte multiples */
};
static_assert(sizeof(questions) == 160, "a whole number of 16 bytes");

/* A warp's questions, in registers on their way to shared memory. */
template <int N> struct coming {
    int word[N]; /* lane's word of each question */
    int ban[N];  /* lane's ban, or -1 */
    int row[N];  /* of the hidden states */
};

/* Asks for this warp's questions, then for the beginning of their bans, but does not wait for
 * those. Past the end there are questions about row 0 that want nothing. */
template <int N, int ALL = WARPS>
static __device__ __forceinline__ void fetch_questions(coming<N> &c, const asking &a) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const int i = (int)blockIdx.x * N * ALL + warp + ALL * j;
        c.word[j] =
            lane < WORDS && i < a.n ? reinterpret_cast<const int *>(a.question + i)[lane] : 0;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        c.row[j] = __shfl_sync(~0u, c.word[j], 0);
        const int from = __shfl_sync(~0u, c.word[j], 2), n = __shfl_sync(~0u, c.word[j], 3);
        c.ban[j] = lane < n ? a.tokens[from + lane] : -1;
    }
}

template <int N, int ALL = WARPS>
static __device__ __forceinline__ void store_questions(questions *to, const coming<N> &c) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < N; j++) {
        questions *q = to + warp + ALL * j;
        if (lane < WORDS) reinterpret_cast<int *>(&q->asked)[lane] = c.word[j];
        q->early[lane] = c.ban[j];
    }
}

/* what is known by now of the bounds of this warp's questions: lane j has the jth */
template <int N> static __device__ __forceinline__ unsigned known_bounds(const asking &a) {
    const int lane = threadIdx.x % 32;
    const int i = (int)blockIdx.x * N * WARPS + (int)threadIdx.x / 32 + WARPS * lane;
    return a.keep > 1 && lane < N && i < a.n ? *(volatile unsigned *)(a.bound + i) : 0;
}

/* each warp answers its N questions, one after the other */
template <int N>
static __device__ void ask_all(const asking &a, const questions *asked, float *logits,
                               unsigned known) {
    const int warp = threadIdx.x / 32;
    for (int j = 0; j < N; j++) {
        const int in_block = warp + WARPS * j, i = (int)blockIdx.x * N * WARPS + in_block;
        if (i >= a.n) break;
        ask_chunk(a, asked[in_block].asked, asked[in_block].early,
                  logits + (size_t)in_block * LOGITS_STRIDE, i, (int)blockIdx.y,
                  __shfl_sync(~0u, known, j));
    }
}

/* ---- launching ---- */

/* bytes of shared memory for n questions and their logits */
static inline size_t base_bytes(int n) {
    return (size_t)n * (sizeof(questions) + LOGITS_STRIDE * sizeof(float));
}

/* with as much shared memory as asked for */
template <typename... Formal, typename... Actual>
static void launch_answer(pk_cuda *c, void (*kernel)(Formal...), dim3 grid, size_t shared,
                          Actual... actual) {
    allow_shared(c, kernel);
    launch(c, "answer", kernel, grid, dim3(THREADS), shared, 0, actual...);
}

/* groups of 8 * N questions are neighbours in the grid, so that a chunk's weights are read from
 * memory once and then from level 2 */
template <int N> static dim3 grid_for(const asking &a) {
    return dim3((unsigned)((a.n + 8 * N - 1) / (8 * N)), (unsigned)a.chunks);
}

#endif
