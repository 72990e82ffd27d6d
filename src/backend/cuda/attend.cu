/* attend.cu - softmax(q k^T / sqrt(head width)) v over the keys that each query sees.
 *
 * Head widths 32, 64 and 128: a lane has 8 columns, so LANES = width / 8 lanes share a key and a
 * warp reads 32 / LANES keys at a time. Eight times that many keys and values (a chunk) are
 * loaded at once, before the softmax is known:
 *
 *   list of keys:   chunk 0   chunk 1   chunk 2   chunk 3   chunk 4   chunk 5 ...
 *   stream:            0         1         2         3         0         1    ...
 *
 * Each of the four streams has a running softmax of its own (Milakov and Gimelshein 2018); they
 * are merged in order at the end. Few queries: a warp for each stream. Many: a warp for all
 * streams. Both round alike, so the choice between them does not change a bit. Other widths: one
 * key at a time.
 *
 * Every order of sums is fixed by the width, the position of a key in its list and the list's
 * length. Products are fused by hand (fmaf), so that no two kernels can be compiled to round
 * differently. */
#include "backend/cuda/common.cuh"

enum {
    IN_FLIGHT = 8, /* keys of a lane that are loaded at once */
    STREAMS = 4,
    LANE_COLS = 8,
    MANY_WARPS = 8,   /* of a block, when a warp has all streams */
    GENERAL_COLS = 8, /* of a lane, at other widths */
    WEIGHT_WARPS = 8  /* of a block that computes attention weights */
};

template <typename T> struct attend_job {
    T             *out;
    const T       *q, *k, *v;
    int64_t        out_stride, q_stride, k_stride, v_stride;
    const int32_t *first, *count, *index; /* index may be NULL */
    int            queries, width;
    float          factor; /* scores are scaled to powers of two */
};

/* ---- eight numbers ---- */

template <typename T> struct eight { unsigned word[2 * sizeof(T)]; };

static __device__ __forceinline__ unsigned both(const void *pair) {
    const unsigned short *half = static_cast<const unsigned short *>(pair);
    return (unsigned)half[0] | (unsigned)half[1] << 16;
}

/* VECTOR: 16 bytes at a time, which the address must allow */
template <bool VECTOR, typename T> __device__ __forceinline__ eight<T> fetch(const T *from) {
    constexpr int WORDS = 2 * sizeof(T);
    eight<T>      e;
#pragma unroll
    for (int w = 0; w < WORDS; w += 4) {
        if constexpr (VECTOR) {
            const uint4 four = reinterpret_cast<const uint4 *>(from)[w / 4];
            e.word[w] = four.x, e.word[w + 1] = four.y;
            e.word[w + 2] = four.z, e.word[w + 3] = four.w;
        } else {
#pragma unroll
            for (int i = w; i < w + 4; i++)
                e.word[i] = sizeof(T) == 4 ? reinterpret_cast<const unsigned *>(from)[i]
                                           : both(from + 2 * i);
        }
    }
    return e;
}

static __device__ __forceinline__ void widen(float *x, const eight<float> &e) {
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) x[d] = __uint_as_float(e.word[d]);
}
static __device__ __forceinline__ void widen(float *x, const eight<__half> &e) {
#pragma unroll
    for (int w = 0; w < LANE_COLS / 2; w++) {
        __half2 pair;
        memcpy(&pair, &e.word[w], sizeof pair);
        const float2 two = __half22float2(pair);
        x[2 * w] = two.x, x[2 * w + 1] = two.y;
    }
}
static __device__ __forceinline__ void widen(float *x, const eight<__nv_bfloat16> &e) {
#pragma unroll
    for (int w = 0; w < LANE_COLS / 2; w++) {
        x[2 * w] = __uint_as_float(e.word[w] << 16);
        x[2 * w + 1] = __uint_as_float(e.word[w] & 0xffff0000u);
    }
}

static __device__ __forceinline__ unsigned narrowed(float x, __half) {
    return __half_as_ushort(__float2half_rn(x));
}
static __device__ __forceinline__ unsigned narrowed(float x, __nv_bfloat16) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

/* a lane's columns; VECTOR where addresses are multiples of 16 bytes */
template <bool VECTOR> __device__ __forceinline__ void store(float *to, const float *x) {
#pragma unroll
    for (int d = 0; d < LANE_COLS; d += 4) {
        if (VECTOR)
            reinterpret_cast<float4 *>(to)[d / 4] = make_float4(x[d], x[d + 1], x[d + 2], x[d + 3]);
        else
            to[d] = x[d], to[d + 1] = x[d + 1], to[d + 2] = x[d + 2], to[d + 3] = x[d + 3];
    }
}
template <bool VECTOR, typename T> __device__ __forceinline__ void store(T *to, const float *x) {
    unsigned word[LANE_COLS / 2];
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) {
        if (!VECTOR) to[d] = from_float<T>(x[d]);
        word[d / 2] = d % 2 ? word[d / 2] | narrowed(x[d], T()) << 16 : narrowed(x[d], T());
    }
    if (VECTOR) *reinterpret_cast<uint4 *>(to) = make_uint4(word[0], word[1], word[2], word[3]);
}

/* ---- the running softmax ---- */

/* Of the keys seen so far: the largest score, the sum of powers, the values weighed by the powers.
 * Within a stream, total and out are of this lane's keys alone; at its end, of the whole stream. */
struct running {
    float most, total, out[LANE_COLS];
};

static __device__ __forceinline__ running no_keys() {
    running r;
    r.most = -INFINITY, r.total = 0;
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) r.out[d] = 0;
    return r;
}

/* of the keys of both; neither may be empty */
static __device__ __forceinline__ running merged(const running &a, const running &b) {
    running     r;
    const float most = fmaxf(a.most, b.most);
    const float keep = power_of_two(a.most - most), take = power_of_two(b.most - most);
    r.most = most;
    r.total = fmaf(b.total, take, __fmul_rn(a.total, keep));
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) r.out[d] = fmaf(b.out[d], take, __fmul_rn(a.out[d], keep));
    return r;
}

/* a lane's 8 products in order, then a tree over the LANES lanes of a key */
template <int LANES> __device__ __forceinline__ float dot(const float *q, const float *k) {
    float sum = __fmul_rn(q[0], k[0]);
#pragma unroll
    for (int d = 1; d < LANE_COLS; d++) sum = fmaf(q[d], k[d], sum);
#pragma unroll
    for (int step = LANES / 2; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

/* the keys from `start` on, a chunk of them or as many as there are; at least one */
template <int LANES, bool VECTOR, typename T>
__device__ __forceinline__ void see_chunk(running &r, const float *q, const attend_job<T> &job,
                                          int first, int count, int start, int column) {
    constexpr int GROUPS = 32 / LANES;
    const int     mine = start + (int)(threadIdx.x % 32) / LANES;
    int           row[IN_FLIGHT];
    eight<T>      key[IN_FLIGHT], value[IN_FLIGHT];
    float         score[IN_FLIGHT], x[LANE_COLS], most = r.most;
    /* past the end of the list the last key is fetched again: no branches between the loads */
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) row[i] = first + min(mine + i * GROUPS, count - 1);
    if (job.index) {
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) row[i] = job.index[row[i]];
    }
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++)
        key[i] = fetch<VECTOR>(job.k + row[i] * job.k_stride + column);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++)
        value[i] = fetch<VECTOR>(job.v + row[i] * job.v_stride + column);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) {
        widen(x, key[i]);
        score[i] = dot<LANES>(q, x);
        if (mine + i * GROUPS >= count) score[i] = -INFINITY;
        most = fmaxf(most, score[i]);
    }
#pragma unroll
    for (int step = LANES; step < 32; step *= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    const float keep = power_of_two(r.most - most);
    r.most = most;
    r.total = __fmul_rn(r.total, keep);
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) r.out[d] = __fmul_rn(r.out[d], keep);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++) {
        const float power = power_of_two(score[i] - most); /* 0 past the end */
        widen(x, value[i]);
        r.total += power;
#pragma unroll
        for (int d = 0; d < LANE_COLS; d++) r.out[d] = fmaf(power, x[d], r.out[d]);
    }
}

/* every fourth chunk from the stream's own on */
template <int LANES, bool VECTOR, typename T>
__device__ __forceinline__ running see_stream(const float *q, const attend_job<T> &job, int first,
                                              int count, int stream, int column) {
    constexpr int CHUNK = 32 / LANES * IN_FLIGHT;
    running       r = no_keys();
#pragma unroll 1
    for (int start = stream * CHUNK; start < count; start += STREAMS * CHUNK)
        see_chunk<LANES, VECTOR>(r, q, job, first, count, start, column);
#pragma unroll
    for (int step = LANES; step < 32; step *= 2) {
        r.total += __shfl_xor_sync(~0u, r.total, step);
#pragma unroll
        for (int d = 0; d < LANE_COLS; d++) r.out[d] += __shfl_xor_sync(~0u, r.out[d], step);
    }
    return r;
}

/* One query and head for each block (SPLIT: a warp is a stream), or for each warp (a block's warps
 * have neighbouring queries, which tend to see the same keys). */
template <typename T, int LANES, bool VECTOR, bool SPLIT>
__global__ void __launch_bounds__(32 * (SPLIT ? STREAMS : MANY_WARPS))
    attend_lists(attend_job<T> job) {
    constexpr int      CHUNK = 32 / LANES * IN_FLIGHT;
    __shared__ running left[SPLIT ? STREAMS : 1][LANES];
    const int          warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int          query = SPLIT ? (int)blockIdx.x : (int)blockIdx.x * MANY_WARPS + warp;
    const int          column = (int)blockIdx.y * LANES * LANE_COLS + lane % LANES * LANE_COLS;
    float              q[LANE_COLS];
    running            all = no_keys();
    let_next_start();
    wait_for_previous();
    if (query >= job.queries) return;
    const int count = load_now(job.count + query), first = load_now(job.first + query);
    const int streams = min((count + CHUNK - 1) / CHUNK, (int)STREAMS);
    widen(q, fetch<VECTOR>(job.q + query * job.q_stride + column));
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) q[d] = __fmul_rn(q[d], job.factor);
    if (SPLIT) {
        if (warp < streams) all = see_stream<LANES, VECTOR>(q, job, first, count, warp, column);
        if (streams > 1) { /* the same for the whole block */
            if (lane < LANES) left[warp][lane] = all;
            __syncthreads();
#pragma unroll 1
            for (int s = 1; warp == 0 && s < streams; s++) all = merged(all, left[s][lane % LANES]);
        }
        if (warp > 0) return;
    } else {
#pragma unroll 1
        for (int s = 0; s < streams; s++) {
            const running next = see_stream<LANES, VECTOR>(q, job, first, count, s, column);
            all = s == 0 ? next : merged(all, next);
        }
    }
    const float share = count > 0 ? 1.0f / all.total : 0;
#pragma unroll
    for (int d = 0; d < LANE_COLS; d++) all.out[d] = __fmul_rn(all.out[d], share);
    if (lane < LANES) store<VECTOR>(job.out + query * job.out_stride + column, all.out);
}

/* ---- any width ---- */

template <typename T>
__device__ __forceinline__ const T *row_seen(const T *rows, int64_t stride, const int32_t *index,
                                             int at) {
    return rows + (index ? index[at] : at) * stride;
}

/* One warp for a query and head. A lane has every 32nd column; more columns than its registers hold
 * are taken in turns, with the scores found again. */
template <typename T> __global__ void __launch_bounds__(32) attend_general(attend_job<T> job) {
    const int     lane = (int)threadIdx.x, query = (int)blockIdx.x;
    const int64_t column = (int64_t)blockIdx.y * job.width;
    let_next_start();
    wait_for_previous();
    const int count = job.count[query], first = job.first[query];
    const T  *q = job.q + query * job.q_stride + column;
    for (int base = 0; base < job.width; base += 32 * GENERAL_COLS) {
        float most = -INFINITY, total = 0, out[GENERAL_COLS] = {};
        for (int j = 0; j < count; j++) {
            const T *k = row_seen(job.k, job.k_stride, job.index, first + j) + column;
            const T *v = row_seen(job.v, job.v_stride, job.index, first + j) + column;
            float    score = 0;
            for (int c = lane; c < job.width; c += 32)
                score = fmaf(__fmul_rn(to_float(q[c]), job.factor), to_float(k[c]), score);
            for (int step = 16; step; step /= 2) score += __shfl_xor_sync(~0u, score, step);
            const float now = fmaxf(most, score);
            const float keep = power_of_two(most - now), power = power_of_two(score - now);
            most = now;
            total = fmaf(total, keep, power);
#pragma unroll
            for (int d = 0; d < GENERAL_COLS; d++) {
                const int c = base + 32 * d + lane;
                if (c < job.width) out[d] = fmaf(power, to_float(v[c]), __fmul_rn(out[d], keep));
            }
        }
#pragma unroll
        for (int d = 0; d < GENERAL_COLS; d++) {
            const int c = base + 32 * d + lane;
            if (c < job.width)
                job.out[query * job.out_stride + column + c] =
                    from_float<T>(count > 0 ? out[d] / total : 0);
        }
    }
}

/* ---- the attention probabilities ---- */

/* the largest, or the sum, of the numbers of all threads */
template <bool LARGEST> __device__ float over_block(float x, float *shared) {
    for (int step = 16; step; step /= 2) {
        const float other = __shfl_xor_sync(~0u, x, step);
        x = LARGEST ? fmaxf(x, other) : x + other;
    }
    __syncthreads(); /* all have read what was there before */
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[0];
    for (int w = 1; w < WEIGHT_WARPS; w++) x = LARGEST ? fmaxf(x, shared[w]) : x + shared[w];
    return x;
}

template <typename T>
__device__ float score_of(const attend_job<T> &job, int64_t q, int64_t column, int at) {
    const T *k = row_seen(job.k, job.k_stride, job.index, at) + column;
    float    sum = 0;
    for (int c = 0; c < job.width; c++)
        sum = fmaf(__fmul_rn(to_float(job.q[q + c]), job.factor), to_float(k[c]), sum);
    return sum;
}

/* A block for a query, a thread for a key (and every 256th after it): it adds up its keys' weights
 * over the heads, in order. Seldom asked for, so it finds the scores by itself. */
template <typename T>
__global__ void __launch_bounds__(32 * WEIGHT_WARPS)
    attend_weights(attend_job<T> job, float *weights, int64_t stride, int heads) {
    __shared__ float shared[WEIGHT_WARPS];
    const int        thread = (int)threadIdx.x, query = (int)blockIdx.x;
    let_next_start();
    wait_for_previous();
    const int count = job.count[query], first = job.first[query];
    weights += query * stride;
    for (int64_t j = thread; j < stride; j += 32 * WEIGHT_WARPS) weights[j] = 0;
    if (count == 0) return;
    for (int head = 0; head < heads; head++) {
        const int64_t column = (int64_t)head * job.width, q = query * job.q_stride + column;
        const float   own = thread < count ? score_of(job, q, column, first + thread) : -INFINITY;
        float         most = own, total = 0;
        for (int j = thread + 32 * WEIGHT_WARPS; j < count; j += 32 * WEIGHT_WARPS)
            most = fmaxf(most, score_of(job, q, column, first + j));
        most = over_block<true>(most, shared);
        if (thread < count) total = power_of_two(own - most);
        for (int j = thread + 32 * WEIGHT_WARPS; j < count; j += 32 * WEIGHT_WARPS)
            total += power_of_two(score_of(job, q, column, first + j) - most);
        total = over_block<false>(total, shared);
        for (int j = thread; j < count; j += 32 * WEIGHT_WARPS) {
            const float score = j == thread ? own : score_of(job, q, column, first + j);
            weights[j] += power_of_two(score - most) / total / (float)heads;
        }
    }
}

/* ---- the op ---- */

/* With few queries each has a block, whose warps share its keys; with many a warp has a query of its
 * own, which keeps all processors busy with less to merge. The bits are the same. */
template <typename T, int LANES>
static void attend_fast(pk_cuda *c, const attend_job<T> &job, int heads, bool vector) {
    const dim3 each(job.queries, heads), some((job.queries + MANY_WARPS - 1) / MANY_WARPS, heads);
    if (!vector)
        launch(c, "attend", attend_lists<T, LANES, false, true>, each, 32 * STREAMS, 0, 0, job);
    else if ((int64_t)job.queries * heads <= 4 * c->processors)
        launch(c, "attend", attend_lists<T, LANES, true, true>, each, 32 * STREAMS, 0, 0, job);
    else
        launch(c, "attend", attend_lists<T, LANES, true, false>, some, 32 * MANY_WARPS, 0, 0, job);
}

static bool aligned(pk_tensor t) {
    return (uintptr_t)t.data % 16 == 0 && (size_t)t.stride * pk_dtype_bytes(t.type) % 16 == 0;
}

template <typename T>
static void attend_type(pk_cuda *c, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                        const pk_attention *see) {
    const int           width = q.cols / see->heads;
    const bool          vector = aligned(out) && aligned(q) && aligned(k) && aligned(v);
    const attend_job<T> job = { (T *)out.data,
                                (const T *)q.data,
                                (const T *)k.data,
                                (const T *)v.data,
                                out.stride,
                                q.stride,
                                k.stride,
                                v.stride,
                                see->first,
                                see->count,
                                see->index,
                                q.rows,
                                width,
                                1.44269504f / sqrtf((float)width) };
    if (width == 32)
        attend_fast<T, 4>(c, job, see->heads, vector);
    else if (width == 64)
        attend_fast<T, 8>(c, job, see->heads, vector);
    else if (width == 128)
        attend_fast<T, 16>(c, job, see->heads, vector);
    else
        launch(c, "attend", attend_general<T>, dim3(q.rows, see->heads), 32, 0, 0, job);
    if (see->weights)
        launch(c, "attention weights", attend_weights<T>, q.rows, 32 * WEIGHT_WARPS, 0, 0, job,
               see->weights, see->weights_stride, see->heads);
}

void pk_cuda_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                    const pk_attention *see) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (q.rows == 0) return;
    if (k.type != c->arithmetic || v.type != c->arithmetic)
        return pk_cuda_fail(c, PK_UNSUPPORTED, "attend: keys must be of the arithmetic's type");
    on_type(c->arithmetic, [&](auto zero) { attend_type<decltype(zero)>(c, out, q, k, v, see); });
}
