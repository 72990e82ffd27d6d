/* train_attend_back.cu - attention over segments, backwards, on the tensor cores.
 *
 *                 queries, in tiles ->
 *   tile of keys  [ p f, d_score (queries, keys) in shared memory ]   d_k and d_v stay in registers
 *
 * back_keys(): a block has a tile of a segment's keys and loops over tiles of queries. First a
 * warp has 16 queries and leaves their p f and d_score in shared memory, then it has 16 keys and
 * adds up over the queries. A segment that is one tile of keys gets its d_q there too. The
 * queries of longer segments are done by back_queries(), which finds the scores again. So every
 * gradient is written once, by one warp, without atomics. */
#include "backend/cuda/train_attend.cuh"

template <int W, int TILE> struct tiles { /* shared memory of a block */
    static constexpr int ROW = W + 8, PAIR = TILE + 8;
    alignas(16) half_t key[TILE * ROW], value[TILE * ROW], query[TILE * ROW], d_out[TILE * ROW];
    alignas(16) half_t p[TILE * PAIR], d_score[TILE * PAIR]; /* (queries, keys) */
    float along[TILE], sums[TILE];                           /* D(i); sums(i) in units of log 2 */
    int   first[TILE], count[TILE];
};

/* Fetches n queries from `query` on with all that belongs to them; ends before the copies do. */
template <int W, int TILE>
__device__ __forceinline__ void fetch_queries(const attending<half_t> &a, tiles<W, TILE> &t,
                                              int head, int query, int n) {
    constexpr int PER_ROW = W / 8;
    fetch_rows<W, TILE>(t.query, a.q + query * a.q_stride + head * W, a.q_stride, n);
    copies_commit();
    const int own = (int)threadIdx.x;
    if (own < TILE) {
        const int at = query + own;
        t.first[own] = own < n ? a.first[at] : 0, t.count[own] = own < n ? a.count[at] : 0;
        t.sums[own] = own < n ? a.sums[(int64_t)at * a.heads + head] * log2_e : 0;
    }
#pragma unroll
    for (int i = 0; i < PER_ROW / 2; i++) {
        const int at = i * 2 * TILE + own, row = at / PER_ROW, piece = at % PER_ROW;
        uint4     d = {}, o = {};
        if (row < n) {
            d = *reinterpret_cast<const uint4 *>(a.d_out + (query + row) * a.d_out_stride +
                                                 head * W + piece * 8);
            o = *reinterpret_cast<const uint4 *>(a.out + (query + row) * a.out_stride + head * W +
                                                 piece * 8);
        }
        *reinterpret_cast<uint4 *>(t.d_out + row * (W + 8) + piece * 8) = d;
        const some<8> x = unpacked(d, half_t()), y = unpacked(o, half_t());
        float         sum = 0;
#pragma unroll
        for (int e = 0; e < 8; e++) sum = fmaf(x.at[e], y.at[e], sum);
#pragma unroll
        for (int step = PER_ROW / 2; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        if (piece == 0) t.along[row] = sum;
    }
}

/* p f and d_score of a warp's 16 queries (from `query` on, n of the tile are there) and the n_keys
 * keys from `key` on; past those, up to 16, they are 0 */
template <int W, int TILE>
__device__ __forceinline__ void find_pairs(const attending<half_t> &a, tiles<W, TILE> &t, int head,
                                           int query, int key, int n_keys) {
    const int   warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int   column = lane % 4 * 2, row = 16 * warp + lane / 4;
    const float by = a.scale * log2_e;
    for (int n = 0; n < TILE && n < n_keys; n += 16) {
        float score[2][4] = {}, d_p[2][4] = {};
#pragma unroll
        for (int k = 0; k < W; k += 16) {
            uint32_t left[4], right[4];
            load_a(left, t.query, W + 8, 16 * warp, k, lane);
            load_b(right, t.key, W + 8, k, n, lane);
            add_product(score[0], score[1], left, right);
            load_a(left, t.d_out, W + 8, 16 * warp, k, lane);
            load_b(right, t.value, W + 8, k, n, lane);
            add_product(d_p[0], d_p[1], left, right);
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int      at = row + 8 * h, first = t.first[at], count = t.count[at];
            const float    along = t.along[at], sums = t.sums[at];
            const uint64_t base = drop_base(a, query + at, head);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int    number = key + n + 8 * e + column - first;
                const float2 f = drop_pair(a.drop, base, number);
                const float *s = &score[e][2 * h], *d = &d_p[e][2 * h];
                const float  one =
                    (unsigned)number < (unsigned)count ? exp2f(fmaf(s[0], by, -sums)) : 0;
                const float two =
                    (unsigned)(number + 1) < (unsigned)count ? exp2f(fmaf(s[1], by, -sums)) : 0;
                const int to = at * (TILE + 8) + n + 8 * e + column;
                *reinterpret_cast<uint32_t *>(t.p + to) = two_halves(one * f.x, two * f.y);
                *reinterpret_cast<uint32_t *>(t.d_score + to) =
                    two_halves(one * fmaf(f.x, d[0], -along) * a.scale,
                               two * fmaf(f.y, d[1], -along) * a.scale);
            }
        }
    }
}

/* d_k and d_v of a warp's 16 keys, over n queries */
template <int W, int TILE>
__device__ __forceinline__ void add_queries(const tiles<W, TILE> &t, float (&d_k)[W / 8][4],
                                            float (&d_v)[W / 8][4], int n) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int k = 0; k < TILE && k < n; k += 16) {
        uint32_t p[4], d_score[4], right[4];
        load_a_transposed(p, t.p, TILE + 8, 16 * warp, k, lane);
        load_a_transposed(d_score, t.d_score, TILE + 8, 16 * warp, k, lane);
#pragma unroll
        for (int i = 0; i < W / 16; i++) {
            load_b_transposed(right, t.d_out, W + 8, k, 16 * i, lane);
            add_product(d_v[2 * i], d_v[2 * i + 1], p, right);
            load_b_transposed(right, t.query, W + 8, k, 16 * i, lane);
            add_product(d_k[2 * i], d_k[2 * i + 1], d_score, right);
        }
    }
}

/* 16 columns from `column` on of d_q of a warp's 16 queries, over n_keys keys */
template <int W, int TILE>
__device__ __forceinline__ void add_keys(const tiles<W, TILE> &t, float (&low)[4], float (&high)[4],
                                         int column, int n_keys) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int k = 0; k < TILE && k < n_keys; k += 16) {
        uint32_t d_score[4], right[4];
        load_a(d_score, t.d_score, TILE + 8, 16 * warp, k, lane);
        load_b_transposed(right, t.key, W + 8, k, column, lane);
        add_product(low, high, d_score, right);
    }
}

/* d_q of a warp's 16 queries, of which n are there, where these are all the keys. Few columns at a
 * time: d_k and d_v have most of the registers. */
template <int W, int TILE>
__device__ __forceinline__ void put_query_gradients(tiles<W, TILE> &t, half_t *to, int64_t stride,
                                                    int n, int n_keys) {
    half_t *room = t.query + 16 * ((int)threadIdx.x / 32) * (W + 8);
#pragma unroll
    for (int column = 0; column < W; column += 16) {
        float low[4] = {}, high[4] = {};
        add_keys(t, low, high, column, n_keys);
        stage<W>(room, low, column, 1, 1), stage<W>(room, high, column + 8, 1, 1);
    }
    put_staged<W>(to, stride, room, n);
}

template <int W, int TILE>
__device__ __forceinline__ void fetch_keys(const attending<half_t> &a, tiles<W, TILE> &t, int head,
                                           int key, int n) {
    fetch_rows<W, TILE>(t.key, a.k + key * a.k_stride + head * W, a.k_stride, n);
    fetch_rows<W, TILE>(t.value, a.v + key * a.v_stride + head * W, a.v_stride, n);
    copies_commit();
}

template <int W, int TILE>
__global__ void __launch_bounds__(2 * TILE, 256 / TILE) back_keys(attending<half_t> a) {
    extern __shared__ __align__(16) unsigned char memory[];
    tiles<W, TILE>                               &t = *reinterpret_cast<tiles<W, TILE> *>(memory);
    const int                                     warp = (int)threadIdx.x / 32;
    let_next_start();
    wait_for_previous();
    const segment_rows segment = rows_of_segment(a);
    const int          key = segment.key + (int)blockIdx.y * TILE, n_keys = segment.key_end - key;
    const int          own = 16 * warp * (W + 8); /* the warp's 16 rows of a tile */
    const bool         whole = segment.key_end - segment.key <= TILE;
    if (blockIdx.y > 0 && n_keys <= 0) return; /* the first also serves queries that see nothing */
    float d_k[W / 8][4] = {}, d_v[W / 8][4] = {};
    fetch_keys(a, t, segment.head, key, n_keys);
    for (int query = segment.query; query < segment.query_end; query += TILE) {
        const int n = segment.query_end - query;
        __syncthreads(); /* all threads are done with the queries before */
        fetch_queries(a, t, segment.head, query, n);
        copies_wait<0>();
        __syncthreads();
        if (16 * warp < n) find_pairs(a, t, segment.head, query, key, n_keys);
        __syncthreads();
        if (16 * warp < n_keys) add_queries(t, d_k, d_v, n);
        if (!whole || !a.d_q) continue;
        __syncthreads(); /* the memory of the queries is free now: the gradients are staged there */
        if (16 * warp < n)
            put_query_gradients(t, a.d_q + (query + 16 * warp) * a.d_q_stride + segment.head * W,
                                a.d_q_stride, n - 16 * warp, n_keys);
    }
    copies_wait<0>(); /* a segment without queries has not waited for its keys yet */
    __syncthreads();
    const int row = key + 16 * warp, left = n_keys - 16 * warp;
    if (a.d_k)
        put_rows<W>(a.d_k + row * a.d_k_stride + segment.head * W, a.d_k_stride, t.key + own, left,
                    d_k, 1, 1);
    if (a.d_v)
        put_rows<W>(a.d_v + row * a.d_v_stride + segment.head * W, a.d_v_stride, t.value + own,
                    left, d_v, 1, 1);
}

/* d_q of segments that have more than one tile of keys */
template <int W, int TILE>
__global__ void __launch_bounds__(2 * TILE) back_queries(attending<half_t> a) {
    extern __shared__ __align__(16) unsigned char memory[];
    tiles<W, TILE>                               &t = *reinterpret_cast<tiles<W, TILE> *>(memory);
    const int                                     warp = (int)threadIdx.x / 32;
    let_next_start();
    wait_for_previous();
    const segment_rows segment = rows_of_segment(a);
    const int query = segment.query + (int)blockIdx.y * TILE, n = segment.query_end - query;
    if (n <= 0 || segment.key_end - segment.key <= TILE) return;
    float d_q[W / 8][4] = {};
    fetch_queries(a, t, segment.head, query, n);
    for (int key = segment.key; key < segment.key_end; key += TILE) {
        const int n_keys = segment.key_end - key;
        fetch_keys(a, t, segment.head, key, n_keys);
        copies_wait<0>();
        __syncthreads();
        if (16 * warp < n) {
            find_pairs(a, t, segment.head, query, key, n_keys);
            __syncwarp(); /* only its own rows are read */
#pragma unroll
            for (int i = 0; i < W / 8; i += 2) add_keys(t, d_q[i], d_q[i + 1], 8 * i, n_keys);
        }
        __syncthreads(); /* the next keys overwrite these */
    }
    put_rows<W>(a.d_q + (query + 16 * warp) * a.d_q_stride + segment.head * W, a.d_q_stride,
                t.query + 16 * warp * (W + 8), n - 16 * warp, d_q, 1, 1);
}

/* One kernel by keys; where a sentence is one tile it has seen all queries whole, and gives their
 * gradients too. Longer sentences need a second kernel by queries. */
template <int W, int TILE>
static void launch_back(pk_cuda *c, const attending<half_t> &a, int segments, int longest) {
    const dim3   grid((unsigned)(segments * a.heads), (unsigned)((longest + TILE - 1) / TILE));
    const size_t bytes = sizeof(tiles<W, TILE>);
    if (bytes > 48 << 10) allow_shared(c, back_keys<W, TILE>);
    launch(c, "attend backwards", back_keys<W, TILE>, grid, 2 * TILE, bytes, 0, a);
    if (longest <= TILE || !a.d_q) return;
    if (bytes > 48 << 10) allow_shared(c, back_queries<W, TILE>);
    launch(c, "attend backwards", back_queries<W, TILE>, grid, 2 * TILE, bytes, 0, a);
}

void pk_cuda_attend_back_tiles(pk_cuda *c, const attending<half_t> &a, int segments, int longest) {
    if (a.width == 64)
        longest <= 32 ? launch_back<64, 32>(c, a, segments, longest)
                      : launch_back<64, 64>(c, a, segments, longest);
    else
        longest <= 32 ? launch_back<32, 32>(c, a, segments, longest)
                      : launch_back<32, 64>(c, a, segments, longest);
}
