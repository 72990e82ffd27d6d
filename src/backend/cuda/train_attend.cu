/* train_attend.cu - attention over segments, forwards.
 *
 * The usual case: a block has one head of one segment and a tile of its queries, a warp has 16 of
 * them; keys go by in tiles, with a running largest score and sum (Milakov and Gimelshein 2018).
 * What is not bfloat16, or of another width, or not aligned goes to train_attend_any.cu. */
#include "backend/cuda/train_attend.cuh"

/* the two rows of a lane */
struct query_pair {
    int      first[2], count[2]; /* count 0: sees nothing, or is not there */
    uint64_t base[2];            /* of its dropout */
    float    most[2], sum[2];    /* of scores in units of log 2; of exp, this lane's share */
};

/* a thread has two queries, eight rows apart: as tensor cores lay out their results */
static __device__ query_pair queries_of(const attending<half_t> &a, int head, int query, int end) {
    query_pair p;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int  at = query + 8 * h;
        const bool there = at < end;
        p.first[h] = there ? a.first[at] : 0, p.count[h] = there ? a.count[at] : 0;
        p.base[h] = drop_base(a, at, head);
        p.most[h] = -INFINITY, p.sum[h] = 0;
    }
    return p;
}

/* Scores of 16 queries and TILE keys from `key` on become probabilities, up to the sum that is not
 * known yet, with dropout; *scale: what came before has to be multiplied with. */
template <int TILE>
__device__ __forceinline__ void softmax_step(const attending<half_t> &a, query_pair &p,
                                             float (&score)[TILE / 8][4], int        key,
                                             float (&scale)[2]) {
    const int   column = (int)threadIdx.x % 4 * 2;
    const float by = a.scale * log2_e;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float most = p.most[h];
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int  number = key + 8 * n + column + e - p.first[h];
                const bool sees = (unsigned)number < (unsigned)p.count[h];
                float     &s = score[n][2 * h + e];
                s = sees ? s * by : -INFINITY;
                most = fmaxf(most, s);
            }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float safe = most == -INFINITY ? 0 : most; /* nothing seen yet: all become 0 */
        scale[h] = exp2f(p.most[h] - safe);
        p.most[h] = most, p.sum[h] *= scale[h];
#pragma unroll
        for (int n = 0; n < TILE / 8; n++) {
            const int   number = key + 8 * n + column - p.first[h];
            const float one = exp2f(score[n][2 * h] - safe),
                        two = exp2f(score[n][2 * h + 1] - safe);
            const float2 live = drop_pair(a.drop, p.base[h], number);
            p.sum[h] += one + two;
            score[n][2 * h] = one * live.x, score[n][2 * h + 1] = two * live.y;
        }
    }
}

/* sum (16 queries, W) += p (16 queries, TILE keys) v, of which n_keys are there */
template <int W, int TILE>
__device__ __forceinline__ void add_values(float (&sum)[W / 8][4], const float (&p)[TILE / 8][4],
                                           const half_t *values, int n_keys, int lane) {
#pragma unroll
    for (int k = 0; k < TILE / 16; k++) {
        if (16 * k >= n_keys) continue;
        const uint32_t left[4] = { two_halves(p[2 * k][0], p[2 * k][1]),
                                   two_halves(p[2 * k][2], p[2 * k][3]),
                                   two_halves(p[2 * k + 1][0], p[2 * k + 1][1]),
                                   two_halves(p[2 * k + 1][2], p[2 * k + 1][3]) };
#pragma unroll
        for (int n = 0; n < W / 16; n++) {
            uint32_t right[4];
            load_b_transposed(right, values, W + 8, 16 * k, 16 * n, lane);
            add_product(sum[2 * n], sum[2 * n + 1], left, right);
        }
    }
}

/* score (16 queries, TILE keys) = q k; query_rows: the warp's own */
template <int W, int TILE>
__device__ __forceinline__ void find_scores(float (&score)[TILE / 8][4], const half_t *query_rows,
                                            const half_t *keys, int n_keys, int lane) {
    uint32_t queries[W / 16][4];
#pragma unroll
    for (int k = 0; k < W / 16; k++) load_a(queries[k], query_rows, W + 8, 0, 16 * k, lane);
#pragma unroll
    for (int n = 0; n < TILE / 16; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++) score[2 * n][e] = score[2 * n + 1][e] = 0;
        if (16 * n >= n_keys) continue;
#pragma unroll
        for (int k = 0; k < W / 16; k++) {
            uint32_t right[4];
            load_b(right, keys, W + 8, 16 * k, 16 * n, lane);
            add_product(score[2 * n], score[2 * n + 1], queries[k], right);
        }
    }
}

template <int W, int TILE>
__global__ void __launch_bounds__(2 * TILE, 256 / TILE) attend_tiles(attending<half_t> a) {
    __shared__ __align__(16) half_t query_rows[TILE * (W + 8)], key_rows[TILE * (W + 8)],
        value_rows[TILE * (W + 8)];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    let_next_start();
    wait_for_previous();
    const segment_rows segment = rows_of_segment(a);
    const int query = segment.query + (int)blockIdx.y * TILE, n = segment.query_end - query;
    const int own = query + 16 * warp; /* the warp's first */
    if (n <= 0) return;
    fetch_rows<W, TILE>(query_rows, a.q + query * a.q_stride + segment.head * W, a.q_stride, n);
    query_pair p = queries_of(a, segment.head, own + lane / 4, segment.query_end);
    float      sum[W / 8][4] = {};
    for (int key = segment.key; key < segment.key_end; key += TILE) {
        const int n_keys = segment.key_end - key;
        fetch_rows<W, TILE>(key_rows, a.k + key * a.k_stride + segment.head * W, a.k_stride,
                            n_keys);
        fetch_rows<W, TILE>(value_rows, a.v + key * a.v_stride + segment.head * W, a.v_stride,
                            n_keys);
        copies_commit();
        copies_wait<0>();
        __syncthreads();
        if (16 * warp < n) {
            float score[TILE / 8][4], scale[2];
            find_scores<W, TILE>(score, query_rows + 16 * warp * (W + 8), key_rows, n_keys, lane);
            softmax_step<TILE>(a, p, score, key, scale);
#pragma unroll
            for (int i = 0; i < W / 8; i++)
                sum[i][0] *= scale[0], sum[i][1] *= scale[0], sum[i][2] *= scale[1],
                    sum[i][3] *= scale[1];
            add_values<W, TILE>(sum, score, value_rows, n_keys, lane);
        }
        __syncthreads(); /* the next keys overwrite these */
    }
    copies_commit(); /* a segment without keys has not waited for its queries yet */
    copies_wait<0>();
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        p.sum[h] += __shfl_xor_sync(~0u, p.sum[h], 1);
        p.sum[h] += __shfl_xor_sync(~0u, p.sum[h], 2);
        const int at = own + lane / 4 + 8 * h;
        if (lane % 4 == 0 && at < segment.query_end)
            a.sums[(int64_t)at * a.heads + segment.head] =
                p.sum[h] != 0 ? p.most[h] * ln_2 + logf(p.sum[h]) : 0;
    }
    put_rows<W>(a.out + own * a.out_stride + segment.head * W, a.out_stride,
                query_rows + 16 * warp * (W + 8), segment.query_end - own, sum,
                p.sum[0] != 0 ? 1 / p.sum[0] : 0, p.sum[1] != 0 ? 1 / p.sum[1] : 0);
}

template <int W, int TILE>
static void launch_tiles(pk_cuda *c, const attending<half_t> &a, int segments, int longest) {
    const dim3 grid((unsigned)(segments * a.heads), (unsigned)((longest + TILE - 1) / TILE));
    launch(c, "attend", attend_tiles<W, TILE>, grid, 2 * TILE, 0, 0, a);
}

/* whether the kernels of tiles can have it */
static bool in_tiles(const pk_tensor *tensors, int n, int width) {
    bool even = width == 32 || width == 64;
    for (int i = 0; i < n; i++) even = even && aligned_16(tensors[i], sizeof(half_t));
    return even;
}

template <typename T>
static attending<T> attending_of(pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                                 const pk_attention *see, pk_drop drop, const float *sums) {
    attending<T> a = {};
    a.q = (const T *)q.data, a.k = (const T *)k.data, a.v = (const T *)v.data;
    a.out = (T *)out.data;
    a.q_stride = q.stride, a.k_stride = k.stride, a.v_stride = v.stride;
    a.out_stride = out.stride;
    a.sums = const_cast<float *>(sums); /* backwards it is only read */
    a.first = see->first, a.count = see->count;
    a.query_segment = see->query_segment, a.key_segment = see->key_segment;
    a.heads = see->heads, a.width = q.cols / see->heads;
    a.scale = 1.0f / sqrtf((float)a.width);
    a.drop = dropping_of(drop);
    return a;
}

void pk_cuda_train_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                          const pk_attention *see, pk_drop drop, float *sums) {
    pk_cuda  *c = static_cast<pk_cuda *>(self);
    const int width = q.cols / see->heads, segments = see->n_segments,
              longest = see->longest_segment;
    const pk_tensor all[] = { out, q, k, v };
    if (segments == 0 || longest == 0) return;
    if (c->arithmetic != PK_BF16)
        return pk_cuda_attend_any(c, attending_of<float>(out, q, k, v, see, drop, sums), segments);
    const attending<half_t> a = attending_of<half_t>(out, q, k, v, see, drop, sums);
    if (!in_tiles(all, 4, width)) return pk_cuda_attend_any(c, a, segments);
    if (width == 64)
        longest <= 32 ? launch_tiles<64, 32>(c, a, segments, longest)
                      : launch_tiles<64, 64>(c, a, segments, longest);
    else
        longest <= 32 ? launch_tiles<32, 32>(c, a, segments, longest)
                      : launch_tiles<32, 64>(c, a, segments, longest);
}

template <typename T>
static attending<T> with_gradients(attending<T> a, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v,
                                   pk_tensor d_out) {
    a.d_q = (T *)d_q.data, a.d_k = (T *)d_k.data, a.d_v = (T *)d_v.data;
    a.d_out = (const T *)d_out.data;
    a.d_q_stride = d_q.stride, a.d_k_stride = d_k.stride, a.d_v_stride = d_v.stride;
    a.d_out_stride = d_out.stride;
    return a;
}

void pk_cuda_attend_back(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                         pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                         const pk_attention *see, pk_drop drop, const float *sums) {
    pk_cuda        *c = static_cast<pk_cuda *>(self);
    const int       width = q.cols / see->heads, segments = see->n_segments;
    const pk_tensor all[] = { d_q, d_k, d_v, d_out, out, q, k, v };
    if (segments == 0 || see->longest_segment == 0) return;
    if (c->arithmetic != PK_BF16)
        return pk_cuda_attend_back_any(
            c,
            with_gradients(attending_of<float>(out, q, k, v, see, drop, sums), d_q, d_k, d_v,
                           d_out),
            segments);
    const attending<half_t> a =
        with_gradients(attending_of<half_t>(out, q, k, v, see, drop, sums), d_q, d_k, d_v, d_out);
    if (in_tiles(all, 8, width))
        pk_cuda_attend_back_tiles(c, a, segments, see->longest_segment);
    else
        pk_cuda_attend_back_any(c, a, segments);
}
