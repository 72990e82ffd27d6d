/* train_attend.cuh - what the kernels of attention over segments share: the job, tiles in shared
 * memory, the tensor cores' operands, dropout of probabilities.
 *
 * p(i, j) = exp(q(i) k(j) scale - sums(i)); drop() makes it p f; out(i) = sum of p f v(j).
 * Backwards, with D(i) = d_out(i) out(i): d_score = p (f d_out v - D). A block has one head of one
 * segment and a tile of its queries or keys; nothing of size (queries, keys) is kept.
 * Operands of mma.m16n8k16: in a sum a lane holds rows lane / 4 and 8 more, and columns
 * lane % 4 * 2 and the next. */
#ifndef PK_BACKEND_CUDA_TRAIN_ATTEND_CUH
#define PK_BACKEND_CUDA_TRAIN_ATTEND_CUH
#include "backend/cuda/linear.cuh"
#include "backend/cuda/train.cuh"

template <typename T> struct attending { /* (rows, heads * width) each; backwards: from d_out on */
    const T       *q, *k, *v;
    T             *out;
    const T       *d_out;
    T             *d_q, *d_k, *d_v; /* NULL: not wanted */
    int64_t        q_stride, k_stride, v_stride, out_stride, d_out_stride;
    int64_t        d_q_stride, d_k_stride, d_v_stride;
    float         *sums; /* (queries, heads) */
    const int32_t *first, *count, *query_segment, *key_segment;
    int            heads, width;
    float          scale; /* 1 / sqrt(width) */
    dropping       drop;
};

/* train_attend_any.cu: any width and alignment, slowly */
void pk_cuda_attend_any(pk_cuda *c, const attending<float> &a, int segments);
void pk_cuda_attend_any(pk_cuda *c, const attending<__nv_bfloat16> &a, int segments);
void pk_cuda_attend_back_any(pk_cuda *c, const attending<float> &a, int segments);
void pk_cuda_attend_back_any(pk_cuda *c, const attending<__nv_bfloat16> &a, int segments);
/* train_attend_back.cu; the rows of everything start on 16 bytes, width 32 or 64 */
void pk_cuda_attend_back_tiles(pk_cuda *c, const attending<__nv_bfloat16> &a, int segments,
                               int longest);

static constexpr float log2_e = 1.44269504088896341f, ln_2 = 0.69314718055994531f;

/* the rows of one segment that a block works on */
struct segment_rows {
    int head, query, query_end, key, key_end;
};

template <typename T>
__device__ __forceinline__ segment_rows rows_of_segment(const attending<T> &a) {
    const int segment = (int)blockIdx.x / a.heads, head = (int)blockIdx.x % a.heads;
    return segment_rows{ head, a.query_segment[segment], a.query_segment[segment + 1],
                         a.key_segment[segment], a.key_segment[segment + 1] };
}

/* ---- dropout ---- */

/* the quad of a query's first key, see pk_drop_attention() */
template <typename T>
__device__ __forceinline__ uint64_t drop_base(const attending<T> &a, int query, int head) {
    return ((uint64_t)query * (uint64_t)a.heads + (uint64_t)head) << 18;
}

/* the factors of keys `key` and key + 1, counted from the query's first; where a key is before
 * that, any number */
static __device__ __forceinline__ float2 drop_pair(const dropping &d, uint64_t base, int key) {
    if (d.threshold == 0) return make_float2(d.keep, d.keep);
    const uint64_t quad = base + (uint64_t)(int64_t)(key >> 2);
    const uint64_t bits = pk_drop_bits(d.key, quad);
    const int      which = key & 3;
    const float    one = drop_factor(d, bits, which);
    if (which < 3) return make_float2(one, drop_factor(d, bits, which + 1));
    return make_float2(one, drop_factor(d, pk_drop_bits(d.key, quad + 1), 0));
}

/* ---- tiles (TILE, W) in shared memory, rows W + 8 apart: no two of 8 rows share banks ---- */

typedef __nv_bfloat16 half_t;

/* Begins to copy n rows of a head; those from n on become zeros. Threads: 2 * TILE. */
template <int W, int TILE>
__device__ __forceinline__ void fetch_rows(half_t *to, const half_t *from, int64_t stride, int n) {
    constexpr int PER_ROW = W / 8;
#pragma unroll
    for (int i = 0; i < PER_ROW / 2; i++) {
        const int at = i * 2 * TILE + (int)threadIdx.x, row = at / PER_ROW, piece = at % PER_ROW;
        copy_16(to + row * (W + 8) + piece * 8, from + (row < n ? row : 0) * stride + piece * 8,
                row < n ? 16 : 0);
    }
}

/* 8 columns of a warp's 16 rows of sums go to shared memory that only this warp uses; low, high:
 * what the lane's two rows are multiplied with */
template <int W>
__device__ __forceinline__ void stage(half_t *room, const float (&sum)[4], int column, float low,
                                      float high) {
    const int lane = (int)threadIdx.x % 32;
    uint32_t *own = reinterpret_cast<uint32_t *>(room + lane / 4 * (W + 8) + column + lane % 4 * 2);
    own[0] = two_halves(sum[0] * low, sum[1] * low);
    own[8 * (W + 8) / 2] = two_halves(sum[2] * high, sum[3] * high);
}

/* what a warp has staged, n of its 16 rows, goes to memory */
template <int W>
__device__ __forceinline__ void put_staged(half_t *to, int64_t stride, const half_t *room, int n) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < W / 16; i++) {
        const int at = i * 32 + (int)threadIdx.x % 32, row = at / (W / 8), piece = at % (W / 8);
        if (row < n)
            *reinterpret_cast<uint4 *>(to + row * stride + piece * 8) =
                *reinterpret_cast<const uint4 *>(room + row * (W + 8) + piece * 8);
    }
    __syncwarp();
}

/* both, for all columns */
template <int W>
__device__ __forceinline__ void put_rows(half_t *to, int64_t stride, half_t *room, int n,
                                         const float (&sum)[W / 8][4], float low, float high) {
#pragma unroll
    for (int i = 0; i < W / 8; i++) stage<W>(room, sum[i], 8 * i, low, high);
    put_staged<W>(to, stride, room, n);
}

/* ---- operands ---- */

static __device__ __forceinline__ void load_rows(uint32_t (&r)[4], const half_t *at) {
    load_four(r, shared_address(at));
}
static __device__ __forceinline__ void load_columns(uint32_t (&r)[4], const half_t *at) {
    load_four_transposed(r, shared_address(at));
}

/* a (16 m, 16 k) from rows m */
static __device__ __forceinline__ void load_a(uint32_t (&a)[4], const half_t *tile, int stride,
                                              int m, int k, int lane) {
    load_rows(a, tile + (m + lane % 16) * stride + k + lane / 16 * 8);
}
/* a (16 m, 16 k) from rows k */
static __device__ __forceinline__ void load_a_transposed(uint32_t (&a)[4], const half_t *tile,
                                                         int stride, int m, int k, int lane) {
    load_columns(a, tile + (k + lane / 16 * 8 + lane % 8) * stride + m + lane / 8 % 2 * 8);
}
/* b (16 k, 16 n) from rows n: the first 8 n in b[0] and b[1], the others in b[2] and b[3] */
static __device__ __forceinline__ void load_b(uint32_t (&b)[4], const half_t *tile, int stride,
                                              int k, int n, int lane) {
    load_rows(b, tile + (n + lane / 16 * 8 + lane % 8) * stride + k + lane / 8 % 2 * 8);
}
/* b (16 k, 16 n) from rows k */
static __device__ __forceinline__ void load_b_transposed(uint32_t (&b)[4], const half_t *tile,
                                                         int stride, int k, int n, int lane) {
    load_columns(b, tile + (k + lane % 16) * stride + n + lane / 16 * 8);
}

/* sum (16 m, 16 n) += a b */
static __device__ __forceinline__ void add_product(float (&low)[4], float (&high)[4],
                                                   const uint32_t (&a)[4], const uint32_t (&b)[4]) {
    const uint32_t one[2] = { b[0], b[1] }, two[2] = { b[2], b[3] };
    const uint4    left = make_uint4(a[0], a[1], a[2], a[3]);
    multiply(low, left, one, half_t());
    multiply(high, left, two, half_t());
}
#endif
