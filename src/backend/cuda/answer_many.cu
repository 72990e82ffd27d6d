/* answer_many.cu - the first kernel of answer() for many questions on Hopper; see answer.cuh.
 *
 * A block has a multiprocessor to itself and 128 questions, whose hidden states stay in shared
 * memory while it goes through its share of the chunks. Two warpgroups make the logits of a chunk
 * (wgmma.cuh), the other two serve the questions from those of the chunk before, which for the best
 * 8 takes longer than the product. The numbers are those of the other kernels, bitwise.
 *
 * What a block lists of a chunk: a question's best tokens of this chunk, as far as they are no
 * worse than the last of its best in the block's earlier chunks (or in any chunk, which a.bound
 * says). */
#include "backend/cuda/answer.cuh"
#include "backend/cuda/wgmma.cuh"

enum {
    MANY = WGMMA_ROWS, /* questions of a block */
    COLS = 512,        /* the only width: its states and logits fill the shared memory */
    SLICES = COLS / 64,
    ALL_WARPS = 16, /* 8 that multiply, 8 that ask */
    ALL_THREADS = 32 * ALL_WARPS,
    EACH = MANY / WARPS, /* questions of a warp that asks */
    TOGETHER = 4,        /* of them served side by side */
    LEARNT = 16,         /* best tokens remembered: a beam of 8 asks for so many */
    TARGETS = 4,         /* fetched beforehand */
    MULTIPLYING = 192,   /* registers of a thread; 128 when the kernel starts */
    ASKING = 64,
    FULL = 1, /* barriers: the logits are there, they were used */
    EMPTY = 2
};
static_assert(EACH % TOGETHER == 0 && MULTIPLYING + ASKING == 2 * 128, "registers of a block");
static_assert((int)SLICES == (int)CHUNKS, "every slice is a chunk of the sum");
static_assert(offsetof(pk_question, target) == 16 && offsetof(pk_question, n_target) == 20,
              "fetch_all() reads questions as words");

/* what a block knows of a question besides: the keys of its best so far, 0: none yet */
struct learnt {
    unsigned best[LEARNT];
    int      target[TARGETS]; /* or -1 */
};

struct many_memory {
    char      states[SLICES * WGMMA_SLICE_BYTES]; /* (128, 512) in swizzled slices */
    float     logits[MANY * LOGITS_STRIDE];
    questions asked[MANY];
    learnt    known[MANY];
};

#ifdef PK_HAS_WGMMA
static __device__ __forceinline__ void barrier_wait(int which) {
    asm volatile("bar.sync %0, %1;" ::"r"(which), "n"((int)ALL_THREADS) : "memory");
}
static __device__ __forceinline__ void barrier_pass(int which) {
    asm volatile("bar.arrive %0, %1;" ::"r"(which), "n"((int)ALL_THREADS) : "memory");
}

/* ---- before the first chunk ---- */

/* One thread: a chunk's weights on their way to level 2. */
template <typename P> static __device__ void call_weights(const output_layer &layer, int chunk) {
    constexpr size_t PANEL = (size_t)(COLS / 16) * 32 * sizeof(P);
    const int        panels = min(layer.panels - chunk * WARPS, (int)WARPS);
    if (panels < 1) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((const char *)layer.data +
                                                                    (size_t)chunk * WARPS * PANEL),
                 "r"(panels * (int)PANEL)
                 : "memory");
}

/* All warps: the questions, their targets and their states. */
template <typename T>
static __device__ __forceinline__ void fetch_all(many_memory *m, const T *hidden, int stride,
                                                 const asking &a) {
    constexpr int N = MANY / ALL_WARPS;
    const int     lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    coming<N>     c;
    fetch_questions<N, ALL_WARPS>(c, a);
#pragma unroll
    for (int j = 0; j < N; j++) {
        const T *from = hidden + (size_t)c.row[j] * (size_t)stride;
#pragma unroll
        for (int piece = lane; piece < COLS / 8; piece += 32)
            copy_16(m->states + piece / 8 * WGMMA_SLICE_BYTES +
                        wgmma_offset(warp + ALL_WARPS * j, piece % 8),
                    from + piece * 8, 16);
    }
    store_questions<N, ALL_WARPS>(m->asked, c);
#pragma unroll
    for (int j = 0; j < N; j++) {
        const int from = __shfl_sync(~0u, c.word[j], 4), n = __shfl_sync(~0u, c.word[j], 5);
        learnt   *k = m->known + warp + ALL_WARPS * j;
        if (lane < LEARNT) k->best[lane] = 0;
        if (lane < TARGETS) k->target[lane] = lane < n ? a.tokens[from + lane] : -1;
    }
}

/* ---- the warps that multiply ---- */

/* this lane's part of its panel's first tile; beyond the last panel it is that of the last one, and
 * the result is not used */
template <typename P>
static __device__ __forceinline__ const P *weights_of(const output_layer &layer, int chunk) {
    const int panel = min(chunk * WARPS + (int)threadIdx.x / 32, layer.panels - 1);
    return (const P *)layer.data + (size_t)panel * (COLS / 16) * 32 + threadIdx.x % 32;
}

/* The logits of all chunks of this block's share, one chunk after the other. FULL says that a
 * chunk's logits are there, EMPTY that the asking warps have used them. */
template <typename T, typename P>
static __device__ __forceinline__ void multiply_all(many_memory *m, const output_layer &layer,
                                                    const asking &a) {
    const int      lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint64_t states = wgmma_slice_at(shared_address(m->states));
    const P       *weights = weights_of<P>(layer, (int)blockIdx.y);
    P              flying[2][WGMMA_SLICE];
    wgmma_fetch(flying[0], weights), wgmma_fetch(flying[1], weights + WGMMA_SLICE * 32);
    for (int chunk = (int)blockIdx.y; chunk < a.chunks; chunk += (int)gridDim.y) {
        const P   *next = weights_of<P>(layer, chunk + (int)gridDim.y);
        wgmma_part sum, total = {};
        float      scale[2] = { 1, 1 }, bias[2] = { 0, 0 };
        if (threadIdx.x == 0 && blockIdx.x == 0) call_weights<P>(layer, chunk + (int)gridDim.y);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int token = chunk * CHUNK + warp * 16 + lane / 4 + e * 8;
            if (layer.scale && token < a.vocab) scale[e] = layer.scale[token];
            if (layer.bias && token < a.vocab) bias[e] = layer.bias[token];
        }
#pragma unroll
        for (int k = 0; k < SLICES; k++) {
            wgmma_slice<T>(sum, flying[k % 2], states + (uint64_t)(k * WGMMA_SLICE_BYTES / 16), 0);
            wgmma_fetch(flying[k % 2], k + 2 < SLICES ? weights + (k + 2) * WGMMA_SLICE * 32
                                                      : next + (k + 2 - SLICES) * WGMMA_SLICE * 32);
            wgmma_add(total, sum);
        }
        if (chunk != (int)blockIdx.y) barrier_wait(EMPTY);
#pragma unroll
        for (int i = 0; i < WGMMA_SUMS; i++) {
            const int question = i / 4 * 8 + lane % 4 * 2 + i % 2, e = i % 4 / 2;
            m->logits[question * LOGITS_STRIDE + warp * 16 + lane / 4 + e * 8] =
                __fmaf_rn(total[i], scale[e], bias[e]);
        }
        barrier_pass(FULL);
        weights = next;
    }
}

/* ---- the warps that ask ---- */

/* Four sums over the warp at once, each in the tree of sum_of_warp(): a lane ends with that of
 * question lane / 16 + 2 * (lane / 8 % 2). */
static __device__ __forceinline__ float sums_of_warp(const float x[TOGETHER]) {
    const bool  high = threadIdx.x & 16, odd = threadIdx.x & 8;
    const float a = __fadd_rn(high ? x[1] : x[0], __shfl_xor_sync(~0u, high ? x[0] : x[1], 16));
    const float b = __fadd_rn(high ? x[3] : x[2], __shfl_xor_sync(~0u, high ? x[2] : x[3], 16));
    float       sum = __fadd_rn(odd ? b : a, __shfl_xor_sync(~0u, odd ? a : b, 8));
#pragma unroll
    for (int step = 4; step; step /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, step));
    return sum;
}

/* Whether a question has nothing to do with single tokens of this chunk, neither bans nor targets,
 * and no long list. Without branches, so that four go side by side. */
static __device__ __forceinline__ bool is_plain(const questions &q, const learnt &known,
                                                int first) {
    const int  lane = threadIdx.x % 32;
    const bool hit = ((unsigned)(q.early[lane] - first) < CHUNK) |
                     ((unsigned)(known.target[lane % TARGETS] - first) < CHUNK);
    const bool simple =
        (q.asked.n_ban <= EARLY) & (q.asked.n_target <= TARGETS) & (q.asked.top_k <= LEARNT);
    return !__any_sync(~0u, hit) & simple;
}

/* The n best of a chunk that are no less than `least`, best first, and the question's best so far
 * brought up to date: returns the least of those. */
static __device__ __forceinline__ unsigned list_and_learn(uint2 *list, int n, const float x[4],
                                                          int first, unsigned least,
                                                          learnt *known) {
    const int lane = threadIdx.x % 32;
    unsigned  held = lane < n ? known->best[lane] : ~0u, worst = __reduce_min_sync(~0u, held);
    unsigned  key[4];
    int       k = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) key[j] = key_of(x[j]);
    for (; k < n; k++) {
        uint2 mine = make_uint2(key[0], (unsigned)(first + lane));
#pragma unroll
        for (int j = 1; j < 4; j++)
            if (key[j] > mine.x) mine = make_uint2(key[j], (unsigned)(first + lane + 32 * j));
        const uint2 best = best_of_warp(mine);
        if (best.x < max(least, worst)) break;
        if (mine.y == best.y) list[k] = best;
#pragma unroll
        for (int j = 0; j < 4; j++)
            if ((unsigned)(first + lane + 32 * j) == best.y) key[j] = 0;
        if (lane == __ffs((int)__ballot_sync(~0u, held == worst)) - 1) held = best.x;
        worst = __reduce_min_sync(~0u, held);
    }
    for (int rest = k + lane; rest < n; rest += 32) list[rest] = make_uint2(NONE, ~0u);
    if (lane < n) known->best[lane] = held;
    return worst;
}

/* One question that the short way did not do. plain: all but its list is done. Returns what is then
 * known to be the least that counts. */
static __device__ __forceinline__ unsigned ask_one(many_memory *m, const asking &a, int in_block,
                                                   int chunk, bool plain, unsigned least) {
    const int  question = (int)blockIdx.x * MANY + in_block, first = chunk * CHUNK;
    questions *q = m->asked + in_block;
    float     *logits = m->logits + in_block * LOGITS_STRIDE, x[4];
    const int  n = min(q->asked.top_k, a.keep);
    if (!plain) {
        ask_chunk(a, q->asked, q->early, logits, question, chunk, least);
        return least;
    }
    read_logits(x, logits, min(a.vocab - first, (int)CHUNK));
    uint2 *list = a.list + ((size_t)question * (size_t)a.chunks + (size_t)chunk) * (size_t)a.keep;
    const unsigned now =
        list_and_learn(list, n, x, first, max(least, NONE + 1), m->known + in_block);
    if (a.keep > 1 && now > least && threadIdx.x % 32 == 0) atomicMax(a.bound + question, now);
    return max(now, least);
}

/* the logits of four questions that are 8 apart, and the keys of their best */
static __device__ __forceinline__ void read_four(float (&x)[TOGETHER][4],
                                                 unsigned (&most)[TOGETHER], const float *logits,
                                                 int n) {
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) read_logits(x[i], logits + WARPS * i * LOGITS_STRIDE, n);
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) /* fmaxf and key_of pass over what is not a number */
        most[i] =
            __reduce_max_sync(~0u, key_of(fmaxf(fmaxf(x[i][0], x[i][1]), fmaxf(x[i][2], x[i][3]))));
}

/* their parts of the log sums; plain: bits of those that want them from here */
static __device__ __forceinline__ void store_four(many_memory *m, const asking &a, int from,
                                                  int chunk, unsigned plain,
                                                  const float (&x)[TOGETHER][4],
                                                  const unsigned (&most)[TOGETHER]) {
    const int lane = threadIdx.x % 32, mine = lane / 16 + lane / 8 % 2 * 2;
    const int in_block = from + WARPS * mine, question = (int)blockIdx.x * MANY + in_block;
    float     sum[TOGETHER];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) sum[i] = sum_of_four(x[i], score_of(most[i]));
    const float    all = sums_of_warp(sum);
    const unsigned low = lane & 16 ? most[1] : most[0], high = lane & 16 ? most[3] : most[2];
    if (lane % 8 == 0 && plain >> mine & 1 && m->asked[in_block].asked.log_sum)
        a.part[(size_t)question * (size_t)a.chunks + (size_t)chunk] =
            make_float2(score_of(lane & 8 ? high : low), all);
}

/* Four questions, from `from` on and 8 apart. floors: lane j has the least key that counts for the
 * warp's jth question; which: the number of the first of the four among the warp's questions. */
static __device__ __forceinline__ void ask_four(many_memory *m, const asking &a, int from,
                                                int chunk, int which, unsigned &floors) {
    const int lane = threadIdx.x % 32, first = chunk * CHUNK;
    unsigned  plain = 0, rest = 0, most[TOGETHER]; /* rest: bits of those that need more */
    float     x[TOGETHER][4];
    read_four(x, most, m->logits + from * LOGITS_STRIDE, min(a.vocab - first, (int)CHUNK));
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
        const int      in_block = from + WARPS * i;
        const unsigned least = max(__shfl_sync(~0u, floors, which + i), NONE + 1);
        const int      wanted = min(m->asked[in_block].asked.top_k, a.keep);
        const bool     simple = is_plain(m->asked[in_block], m->known[in_block], first);
        const bool     counts = (most[i] >= least) & (wanted > 0);
        const size_t   at = (size_t)((int)blockIdx.x * MANY + in_block) * (size_t)a.chunks;
        plain |= (unsigned)simple << i;
        rest |= (unsigned)(!simple | counts) << i;
        if (simple & !counts & (lane < wanted)) /* nothing of this chunk counts */
            a.list[(at + (size_t)chunk) * (size_t)a.keep + (size_t)lane] = make_uint2(NONE, ~0u);
    }
    if (a.sums) store_four(m, a, from, chunk, plain, x, most);
#pragma unroll 1
    for (; rest; rest &= rest - 1) {
        const int      i = __ffs((int)rest) - 1;
        const unsigned least = ask_one(m, a, from + WARPS * i, chunk, plain >> i & 1,
                                       __shfl_sync(~0u, floors, which + i));
        if (lane == which + i) floors = least;
    }
}

static __device__ __forceinline__ void ask_all_chunks(many_memory *m, const asking &a) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - WARPS;
    const int mine = (int)blockIdx.x * MANY + warp + WARPS * lane; /* lane j: the jth question */
    unsigned  floors = 0;
    for (int chunk = (int)blockIdx.y; chunk < a.chunks; chunk += (int)gridDim.y) {
        if (a.keep > 1 && lane < EACH && mine < a.n)
            floors = max(floors, *(volatile unsigned *)(a.bound + mine));
        barrier_wait(FULL);
#pragma unroll 1
        for (int j = 0; j < EACH; j += TOGETHER) ask_four(m, a, warp + WARPS * j, chunk, j, floors);
        if (chunk + (int)gridDim.y < a.chunks) barrier_pass(EMPTY);
    }
}
#endif

/* blocks: (groups of 128 questions, shares of the chunks: y, y + gridDim.y, ...) */
template <typename T, typename P>
static __global__ void __launch_bounds__(ALL_THREADS, 1)
    best_of_chunks(const T *hidden, int32_t stride, output_layer layer, asking a) {
#ifdef PK_HAS_WGMMA
    extern __shared__ __align__(1024) char many[];
    many_memory                           *m = reinterpret_cast<many_memory *>(many);
    let_next_start();
    if (threadIdx.x == 0) call_weights<P>(layer, (int)blockIdx.y);
    wait_for_previous();
    fetch_all(m, hidden, stride, a);
    copies_done();
    wgmma_publish();
    __syncthreads();
    if (threadIdx.x < 32 * WARPS) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)MULTIPLYING));
        multiply_all<T, P>(m, layer, a);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)ASKING));
        ask_all_chunks(m, a);
    }
#else
    (void)hidden, (void)stride, (void)layer, (void)a;
#endif
}

/* ---- the host's side ---- */

/* Where it pays, as measured on an H200 (bench/gpu_ops): 1024 questions for the best 8 take 274 us
 * instead of 323, 256 of them 112 instead of 99, for the best one 51 instead of 63. */
static bool enough(const asking &a) { return a.n >= (a.keep > 1 ? 512 : 256); }

bool pk_cuda_answer_many_fits(const pk_cuda *c, pk_tensor hidden, const output_layer &layer,
                              const asking &a) {
    return c->wgmma && layer.cols == COLS && enough(a) && (uintptr_t)hidden.data % 16 == 0 &&
           hidden.stride % 8 == 0 && sizeof(many_memory) <= c->shared_limit;
}

/* Into how many shares the chunks are cut: the fewest chunks one after another, where fetching the
 * states counts as one more. */
static int32_t shares_of(const pk_cuda *c, int32_t groups, int32_t chunks) {
    int32_t best = 1;
    int64_t least = INT64_MAX;
    for (int32_t shares = 1; shares <= chunks && shares <= c->processors; shares++) {
        const int64_t waves = ((int64_t)groups * shares + c->processors - 1) / c->processors;
        const int64_t time = waves * ((chunks + shares - 1) / shares + 1);
        if (time < least) least = time, best = shares;
    }
    return best;
}

template <typename T, typename P>
static void launch_many(pk_cuda *c, pk_tensor hidden, const output_layer &layer, const asking &a) {
    const int32_t groups = (a.n + MANY - 1) / MANY;
    const dim3    grid((unsigned)groups, (unsigned)shares_of(c, groups, a.chunks));
    allow_shared(c, best_of_chunks<T, P>);
    launch(c, "answer", best_of_chunks<T, P>, grid, dim3(ALL_THREADS), sizeof(many_memory), 0,
           reinterpret_cast<const T *>(hidden.data), hidden.stride, layer, a);
}

void pk_cuda_answer_many(pk_cuda *c, pk_tensor hidden, pk_dtype weights, const output_layer &layer,
                         const asking &a) {
    if (c->arithmetic == PK_F16 && weights == PK_I8)
        launch_many<__half, uint2>(c, hidden, layer, a);
    else if (c->arithmetic == PK_F16)
        launch_many<__half, uint4>(c, hidden, layer, a);
    else if (weights == PK_I8)
        launch_many<__nv_bfloat16, uint2>(c, hidden, layer, a);
    else
        launch_many<__nv_bfloat16, uint4>(c, hidden, layer, a);
}
