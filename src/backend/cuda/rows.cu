/* rows.cu - ops that go over rows: embed, norm, scatter; and advance, the step of rows that follow
 * their own best tokens.
 *
 * All of them are small. Their time is that of waiting for memory, so loads that do not depend on
 * each other are issued together. The norm adds up in the order of common.cuh. */
#include "backend/cuda/common.cuh"

enum { EMBED_THREADS = 256, SCATTER_THREADS = 256, NORM_WARPS = 16, ADVANCE_THREADS = 256 };

static int at_most(int n, int most) { return n < most ? n : most; }
static int threads_for(int n, int most) { return at_most((n + 31) / 32 * 32, most); }

/* ---- embed ---- */

/* a block for a row; product and sum are rounded one by one, as everywhere else */
template <typename T, typename W>
__global__ void __launch_bounds__(EMBED_THREADS)
    embed_rows(T *out, int64_t out_stride, matrix<W> table, const int32_t *token, float scale,
               const float *position, const int32_t *pos) {
    const int row = (int)blockIdx.x;
    let_next_start();
    wait_for_previous();
    const int    id = token[row], at = position ? pos[row] : 0;
    T           *to = out + row * out_stride;
    const float *add = position + (int64_t)at * table.cols;
    for (int c = (int)threadIdx.x; c < table.cols; c += (int)blockDim.x) {
        const float offset = position ? add[c] : 0;
        const float value = id < 0 ? 0 : __fmul_rn(weight_at(table, id, c), scale);
        to[c] = from_float<T>(__fadd_rn(value, offset));
    }
}

template <typename T, typename W>
static void embed_from(pk_cuda *c, pk_tensor out, const pk_weight *table, const int32_t *token,
                       float scale, const pk_weight *position, const int32_t *pos) {
    const matrix<W> m = { (const W *)table->data, table->scale, table->cols };
    launch(c, "embed", embed_rows<T, W>, out.rows, threads_for(out.cols, EMBED_THREADS), 0, 0,
           (T *)out.data, out.stride, m, token, scale,
           position ? (const float *)position->data : NULL, pos);
}

void pk_cuda_embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                   float scale, const pk_weight *position, const int32_t *pos) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (out.rows == 0) return;
    on_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if (table->type == PK_I8)
            embed_from<T, int8_t>(c, out, table, token, scale, position, pos);
        else
            on_type(table->type, [&](auto weight) {
                embed_from<T, decltype(weight)>(c, out, table, token, scale, position, pos);
            });
    });
}

/* ---- norm ---- */

/* this lane's two columns of a piece of 64 */
template <typename T> __device__ __forceinline__ float2 two_of(const T *row, int col, int cols) {
    return make_float2(col < cols ? to_float(row[col]) : 0,
                       col + 1 < cols ? to_float(row[col + 1]) : 0);
}

/* A block for a row, a warp for each piece of 64 columns (or several, in turn). `out` may be `x`: a
 * thread writes only the columns that it alone has read. */
template <typename T>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_rows(T *out, int64_t out_stride, const T *x, int64_t x_stride, int cols, const float *gain,
              const float *shift, float epsilon) {
    extern __shared__ moments part[];
    const int                 warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    const int                 lane = (int)threadIdx.x % 32, pieces = (cols + 63) / 64;
    const int own = 64 * warp + 2 * lane; /* its first piece; most rows have no more */
    /* weights never change: they may be asked for before the rows are there */
    const float2 own_gain = two_of(gain, own, cols), own_shift = two_of(shift, own, cols);
    let_next_start();
    wait_for_previous();
    const T     *from = x + blockIdx.x * x_stride;
    T           *to = out + blockIdx.x * out_stride;
    const float2 own_x = two_of(from, own, cols);
    for (int piece = warp; piece < pieces; piece += warps) {
        const int     col = 64 * piece + 2 * lane;
        const float2  v = piece == warp ? own_x : two_of(from, col, cols);
        const moments m = moments_of(v.x, v.y, lane, min(64, cols - 64 * piece));
        if (lane == 0) part[piece] = m;
    }
    __syncthreads();
    moments all = part[0];
    for (int piece = 1; piece < pieces; piece++) all = merged(all, part[piece]);
    for (int piece = warp; piece < pieces; piece += warps) {
        const int    col = 64 * piece + 2 * lane;
        const bool   first = piece == warp;
        const float2 v = first ? own_x : two_of(from, col, cols);
        const float2 g = first ? own_gain : two_of(gain, col, cols);
        const float2 s = first ? own_shift : two_of(shift, col, cols);
        if (col < cols) to[col] = from_float<T>(normalised(v.x, all, g.x, s.x, epsilon));
        if (col + 1 < cols) to[col + 1] = from_float<T>(normalised(v.y, all, g.y, s.y, epsilon));
    }
}

/* Many rows of 64 * PIECES columns, two of which are one aligned access: a warp for a row, which it
 * holds in registers. */
template <typename T, int PIECES>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_many(T *out, int64_t out_stride, const T *x, int64_t x_stride, int rows, const float *gain,
              const float *shift, float epsilon) {
    struct alignas(2 * sizeof(T)) pair {
        T a, b;
    };
    const int     lane = (int)threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * NORM_WARPS + (int)threadIdx.x / 32;
    pair          v[PIECES];
    let_next_start();
    wait_for_previous();
    if (row >= rows) return;
#pragma unroll
    for (int i = 0; i < PIECES; i++)
        v[i] = reinterpret_cast<const pair *>(x + row * x_stride)[32 * i + lane];
    moments all = moments_of(to_float(v[0].a), to_float(v[0].b), lane, 64);
#pragma unroll
    for (int i = 1; i < PIECES; i++)
        all = merged(all, moments_of(to_float(v[i].a), to_float(v[i].b), lane, 64));
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        const float2 g = reinterpret_cast<const float2 *>(gain)[32 * i + lane];
        const float2 s = reinterpret_cast<const float2 *>(shift)[32 * i + lane];
        const pair   y = { from_float<T>(normalised(to_float(v[i].a), all, g.x, s.x, epsilon)),
                           from_float<T>(normalised(to_float(v[i].b), all, g.y, s.y, epsilon)) };
        reinterpret_cast<pair *>(out + row * out_stride)[32 * i + lane] = y;
    }
}

/* whether rows start where two columns are one access */
static bool even_rows(pk_tensor t) {
    return (uintptr_t)t.data % (2 * pk_dtype_bytes(t.type)) == 0 && t.stride % 2 == 0;
}

template <typename T, int PIECES>
static void launch_many(pk_cuda *c, pk_tensor out, pk_tensor x, const pk_weight *gain,
                        const pk_weight *shift, float epsilon) {
    launch(c, "norm", norm_many<T, PIECES>, (x.rows + NORM_WARPS - 1) / NORM_WARPS, 32 * NORM_WARPS,
           0, 0, (T *)out.data, out.stride, (const T *)x.data, x.stride, x.rows,
           (const float *)gain->data, (const float *)shift->data, epsilon);
}

enum { FROM_ROWS = 512 }; /* norm_many keeps few multiprocessors busy with fewer */

void pk_cuda_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                  const pk_weight *shift, float epsilon) {
    pk_cuda  *c = static_cast<pk_cuda *>(self);
    const int pieces = (x.cols + 63) / 64, warps = at_most(pieces, NORM_WARPS);
    if (x.rows == 0) return;
    if (x.rows >= FROM_ROWS && (x.cols == 512 || x.cols == 1024) && even_rows(x) &&
        even_rows(out)) {
        on_type(c->arithmetic, [&](auto zero) {
            using T = decltype(zero);
            if (x.cols == 512)
                launch_many<T, 8>(c, out, x, gain, shift, epsilon);
            else
                launch_many<T, 16>(c, out, x, gain, shift, epsilon);
        });
        return;
    }
    on_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        launch(c, "norm", norm_rows<T>, x.rows, 32 * warps, (size_t)pieces * sizeof(moments), 0,
               (T *)out.data, out.stride, (const T *)x.data, x.stride, x.cols,
               (const float *)gain->data, (const float *)shift->data, epsilon);
    });
}

/* ---- scatter ---- */

/* a block for a row */
template <typename To, typename T>
__global__ void __launch_bounds__(SCATTER_THREADS)
    scatter_rows(To *pool, int64_t pool_stride, const T *rows, int64_t stride, int cols,
                 const int32_t *slot) {
    let_next_start();
    wait_for_previous();
    const T *from = rows + blockIdx.x * stride;
    To      *to = pool + slot[blockIdx.x] * pool_stride;
    for (int c = (int)threadIdx.x; c < cols; c += (int)blockDim.x)
        to[c] = from_float<To>(to_float(from[c]));
}

template <typename To, typename T>
static void scatter_as(pk_cuda *c, pk_tensor pool, pk_tensor rows, const int32_t *slot) {
    launch(c, "scatter", scatter_rows<To, T>, rows.rows, threads_for(rows.cols, SCATTER_THREADS), 0,
           0, (To *)pool.data, pool.stride, (const T *)rows.data, rows.stride, rows.cols, slot);
}

void pk_cuda_scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (rows.rows == 0) return;
    if (pool.type != PK_F32 && pool.type != c->arithmetic)
        return pk_cuda_fail(c, PK_UNSUPPORTED,
                            "scatter: a pool is F32 or of the arithmetic's type");
    on_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if (pool.type == PK_F32)
            scatter_as<float, T>(c, pool, rows, slot);
        else
            scatter_as<T, T>(c, pool, rows, slot);
    });
}

/* ---- advance ---- */

static __device__ pk_scored best_of(const pk_following &f, int32_t question) {
    return f.top[(int64_t)question * f.top_stride];
}

static __device__ bool ends(const pk_following &f, int32_t token) {
    return token < 0 || token == f.eos;
}

/* how a row follows: the host writes it before the steps begin, and no op changes it */
static __device__ pk_follower follower_of(const pk_following &f, int row) {
    return row < f.n ? f.follower[row] : pk_follower{};
}

/* The step of one row; true while it is not finished. Partners each do their own half: nothing that one
 * of them writes is read by the other. */
static __device__ bool advance_row(const pk_following &f, int row, const pk_follower &me) {
    const int32_t left = f.left[row], found = f.n_found[row], pos = f.pos[row];
    const int32_t first = f.first[row], count = f.count[row];
    if (left <= 0) return false;
    const pk_scored best = best_of(f, me.question);
    const int32_t   other = best_of(f, me.question + me.partner).token;
    const float     sum = me.log_sum ? f.log_sum[me.question] : 0;
    const int32_t   still = ends(f, best.token) || ends(f, other) ? 0 : left - 1;
    f.found[me.found + found] = pk_scored{ best.token, best.score - sum };
    f.n_found[row] = found + 1;
    f.left[row] = still;
    if (still == 0) return false;
    f.token[row] = best.token;
    f.pos[row] = pos + me.stride;
    f.slot[row] = f.index[first + count + (me.partner < 0)];
    f.count[row] = count + (me.partner ? 2 : 1);
    return true;
}

/* One block: it also counts those that go on. The first rows' followers are loaded before the wait: what
 * is loaded behind it needs them. */
static __global__ void __launch_bounds__(ADVANCE_THREADS) advance_rows(pk_following f) {
    int         live = 0, row = (int)threadIdx.x;
    pk_follower me = follower_of(f, row);
    let_next_start();
    wait_for_previous();
    for (int start = 0; start < f.n; start += ADVANCE_THREADS) {
        live += __syncthreads_count(row < f.n && advance_row(f, row, me));
        row += ADVANCE_THREADS;
        me = follower_of(f, row);
    }
    if (threadIdx.x == 0) *f.live = live;
}

void pk_cuda_advance(void *self, const pk_following *f) {
    launch(static_cast<pk_cuda *>(self), "advance", advance_rows, 1, ADVANCE_THREADS, 0, 0, *f);
}
