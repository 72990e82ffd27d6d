/* train_attend_any.cu - attention over segments for any type, width and alignment.
 *
 * Simple rather than fast. A block has one head of one segment, a warp has a query (or, for d_k
 * and d_v, a key). First each lane has a key (a query) and finds the numbers of that pair; then
 * each lane has columns and adds up over the pairs. */
#include "backend/cuda/train_attend.cuh"

enum { ANY_WARPS = 8, ANY_THREADS = 32 * ANY_WARPS, MOST = 8 /* columns of a lane */ };

template <typename T> __device__ float dot(const T *a, const T *b, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum = fmaf(to_float(a[i]), to_float(b[i]), sum);
    return sum;
}

static __device__ float warp_most(float x) {
    for (int step = 16; step; step /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
    return x;
}

/* the factor of a query's key number `key` */
template <typename T>
__device__ float drop_one(const attending<T> &a, int query, int head, int key) {
    return drop_pair(a.drop, drop_base(a, query, head), key).x;
}

/* sum (width columns, lane + 32 i) += weight * row */
template <typename T>
__device__ __forceinline__ void add_row(float (&sum)[MOST], float weight, const T *row, int width) {
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        const int column = (int)threadIdx.x % 32 + 32 * i;
        if (column < width) sum[i] = fmaf(weight, to_float(row[column]), sum[i]);
    }
}

template <typename T>
__device__ __forceinline__ void write_row(T *to, const float (&sum)[MOST], float scale, int width) {
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        const int column = (int)threadIdx.x % 32 + 32 * i;
        if (column < width) to[column] = from_float<T>(sum[i] * scale);
    }
}

/* one query of one head, forwards */
template <typename T> __device__ void attend_one(const attending<T> &a, int head, int query) {
    const int lane = (int)threadIdx.x % 32, first = a.first[query], count = a.count[query];
    const int at = head * a.width;
    float     most = -INFINITY, total = 0, sum[MOST] = {};
    for (int start = 0; start < count; start += 32) {
        const int   number = start + lane;
        const bool  there = number < count;
        const T    *key = a.k + (first + (there ? number : 0)) * a.k_stride + at;
        const float score =
            there ? dot(a.q + query * a.q_stride + at, key, a.width) * a.scale : -INFINITY;
        const float now = fmaxf(most, warp_most(score)), scale = expf(most - now);
        const float p = there ? expf(score - now) : 0;
        const float live = p * drop_one(a, query, head, number);
        total = total * scale + warp_sum(p);
        most = now;
#pragma unroll
        for (int i = 0; i < MOST; i++) sum[i] *= scale;
        for (int j = 0; j < 32 && start + j < count; j++)
            add_row(sum, __shfl_sync(~0u, live, j), a.v + (first + start + j) * a.v_stride + at,
                    a.width);
    }
    write_row(a.out + query * a.out_stride + at, sum, count > 0 ? 1 / total : 0, a.width);
    if (lane == 0) a.sums[(int64_t)query * a.heads + head] = count > 0 ? most + logf(total) : 0;
}

template <typename T> __global__ void __launch_bounds__(ANY_THREADS) attend_any(attending<T> a) {
    let_next_start();
    wait_for_previous();
    const segment_rows segment = rows_of_segment(a);
    for (int query = segment.query + (int)threadIdx.x / 32; query < segment.query_end;
         query += ANY_WARPS)
        attend_one(a, segment.head, query);
}

/* ---- backwards ---- */

struct pair_numbers {
    float live, d_score; /* p f, and the score's gradient times the scale */
};

/* of a query and its key number `number`; along: D(i) */
template <typename T>
__device__ pair_numbers pair_of(const attending<T> &a, int head, int query, int number,
                                float along) {
    const int   at = head * a.width, key = a.first[query] + number;
    const float score =
        dot(a.q + query * a.q_stride + at, a.k + key * a.k_stride + at, a.width) * a.scale;
    const float p = expf(score - a.sums[(int64_t)query * a.heads + head]);
    const float f = drop_one(a, query, head, number);
    const float d_p =
        f * dot(a.d_out + query * a.d_out_stride + at, a.v + key * a.v_stride + at, a.width);
    return pair_numbers{ p * f, p * (d_p - along) * a.scale };
}

template <typename T> __device__ float along_of(const attending<T> &a, int head, int query) {
    const T *out = a.out + query * a.out_stride + head * a.width;
    return dot(a.d_out + query * a.d_out_stride + head * a.width, out, a.width);
}

/* d_q of one query */
template <typename T> __device__ void back_to_query(const attending<T> &a, int head, int query) {
    const int   lane = (int)threadIdx.x % 32, first = a.first[query], count = a.count[query];
    const float along = along_of(a, head, query);
    float       sum[MOST] = {};
    for (int start = 0; start < count; start += 32) {
        const float d_score =
            start + lane < count ? pair_of(a, head, query, start + lane, along).d_score : 0;
        for (int j = 0; j < 32 && start + j < count; j++)
            add_row(sum, __shfl_sync(~0u, d_score, j),
                    a.k + (first + start + j) * a.k_stride + head * a.width, a.width);
    }
    write_row(a.d_q + query * a.d_q_stride + head * a.width, sum, 1, a.width);
}

/* A warp has one key. Each lane finds the numbers of one query, 32 at a time; then all lanes add the
 * rows of these queries, one by one, each lane its own columns. */
template <typename T>
__device__ void back_to_key(const attending<T> &a, const segment_rows &segment, int key) {
    const int lane = (int)threadIdx.x % 32, at = segment.head * a.width;
    float     d_k[MOST] = {}, d_v[MOST] = {};
    for (int start = segment.query; start < segment.query_end; start += 32) {
        const int    query = start + lane;
        const int    number = query < segment.query_end ? key - a.first[query] : -1;
        pair_numbers pair = { 0, 0 };
        if (number >= 0 && number < a.count[query])
            pair = pair_of(a, segment.head, query, number, along_of(a, segment.head, query));
        __syncwarp();
        for (int j = 0; j < 32 && start + j < segment.query_end; j++) {
            add_row(d_v, __shfl_sync(~0u, pair.live, j),
                    a.d_out + (start + j) * a.d_out_stride + at, a.width);
            add_row(d_k, __shfl_sync(~0u, pair.d_score, j), a.q + (start + j) * a.q_stride + at,
                    a.width);
        }
    }
    if (a.d_k) write_row(a.d_k + key * a.d_k_stride + at, d_k, 1, a.width);
    if (a.d_v) write_row(a.d_v + key * a.d_v_stride + at, d_v, 1, a.width);
}

/* first all queries, then all keys of a segment: no two warps write the same row */
template <typename T>
__global__ void __launch_bounds__(ANY_THREADS) attend_back_any(attending<T> a) {
    const int warp = (int)threadIdx.x / 32;
    let_next_start();
    wait_for_previous();
    const segment_rows segment = rows_of_segment(a);
    for (int query = segment.query + warp; a.d_q && query < segment.query_end; query += ANY_WARPS)
        back_to_query(a, segment.head, query);
    if (!a.d_k && !a.d_v) return;
    for (int key = segment.key + warp; key < segment.key_end; key += ANY_WARPS)
        back_to_key(a, segment, key);
}

template <typename T>
static void launch_any(pk_cuda *c, void (*kernel)(attending<T>), const attending<T> &a,
                       int segments) {
    if (a.width > 32 * MOST)
        return pk_cuda_fail(c, PK_UNSUPPORTED,
                            "training on a GPU takes heads of at most %d columns, not %d",
                            32 * MOST, a.width);
    launch(c, "attend", kernel, (unsigned)(segments * a.heads), ANY_THREADS, 0, 0, a);
}

void pk_cuda_attend_any(pk_cuda *c, const attending<float> &a, int segments) {
    launch_any(c, attend_any<float>, a, segments);
}
void pk_cuda_attend_any(pk_cuda *c, const attending<__nv_bfloat16> &a, int segments) {
    launch_any(c, attend_any<__nv_bfloat16>, a, segments);
}
void pk_cuda_attend_back_any(pk_cuda *c, const attending<float> &a, int segments) {
    launch_any(c, attend_back_any<float>, a, segments);
}
void pk_cuda_attend_back_any(pk_cuda *c, const attending<__nv_bfloat16> &a, int segments) {
    launch_any(c, attend_back_any<__nv_bfloat16>, a, segments);
}
