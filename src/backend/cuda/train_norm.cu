/* train_norm.cu - residual sums with dropout, and layer normalisation, forwards and backwards.
 *
 * A warp has a row. Rows of the usual widths are held in registers, so that everything is read
 * once and written once; other rows are read again for every sum. The norm is that of the sum as
 * it was stored, which is what the way back sees. With y = (x - mean) f, f = 1 / sqrt(variance +
 * epsilon), e = d_out gain: d_x = f (e - average of e - y * average of e y). */
#include <type_traits>

#include "backend/cuda/train.cuh"

template <typename T> struct add_norm_job { /* pointers that are NULL: not there, or not wanted */
    T       *sum, *out;
    const T *x, *residual, *gain, *shift;
    float   *moments; /* (rows, 2) */
    int64_t  sum_stride, out_stride, x_stride, residual_stride;
    int      rows, cols;
    float    epsilon;
    dropping drop;
};

template <typename T> struct add_norm_back_job { /* as above; sum: what was normalised */
    T           *d_x, *d_residual;
    float       *d_gain, *d_shift;
    const T     *d_out, *sum, *gain;
    const float *moments;
    int64_t      d_x_stride, d_residual_stride, d_out_stride, sum_stride;
    int          rows, cols;
    bool         add; /* to d_residual */
    dropping     drop;
};

enum { NORM_WARPS = 8, GAIN_THREADS = 128, GAIN_ROWS = 64 };

/* ---- forwards ---- */

/* A warp has a row, which stays in registers from the sum to the norm. The sum is rounded as it is
 * stored, so that the way back, which reads it, sees the same numbers. */
template <typename T, int COLS>
__global__ void __launch_bounds__(32 * NORM_WARPS) add_norm_rows(add_norm_job<T> j) {
    constexpr int V = lot<T>, P = COLS / (32 * V);
    const int     lane = (int)threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * NORM_WARPS + (int)threadIdx.x / 32;
    some<V>       x[P], r[P];
    let_next_start();
    wait_for_previous();
    if (row >= j.rows) return;
#pragma unroll
    for (int p = 0; p < P; p++) x[p] = load<V>(j.x + row * j.x_stride + (32 * p + lane) * V);
    if (j.residual) {
#pragma unroll
        for (int p = 0; p < P; p++)
            r[p] = load<V>(j.residual + row * j.residual_stride + (32 * p + lane) * V);
    }
    float total = 0;
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int col = (32 * p + lane) * V;
        if (j.residual) {
            drop_some(x[p], j.drop, (uint64_t)row * COLS + (uint64_t)col);
#pragma unroll
            for (int i = 0; i < V; i++) x[p].at[i] = rounded<T>(x[p].at[i] + r[p].at[i]);
            store<V>(j.sum + row * j.sum_stride + col, x[p]);
        }
#pragma unroll
        for (int i = 0; i < V; i++) total += x[p].at[i];
    }
    if (!j.gain) return;
    const float mean = warp_sum(total) * (1.0f / COLS);
    float       squares = 0;
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
        for (int i = 0; i < V; i++) squares = fmaf(x[p].at[i] - mean, x[p].at[i] - mean, squares);
    const float f = rsqrtf(warp_sum(squares) * (1.0f / COLS) + j.epsilon);
#pragma unroll
    for (int p = 0; p < P; p++) {
        const int     col = (32 * p + lane) * V;
        const some<V> gain = load<V>(j.gain + col), shift = load<V>(j.shift + col);
#pragma unroll
        for (int i = 0; i < V; i++)
            x[p].at[i] = fmaf((x[p].at[i] - mean) * f, gain.at[i], shift.at[i]);
        store<V>(j.out + row * j.out_stride + col, x[p]);
    }
    if (lane == 0) reinterpret_cast<float2 *>(j.moments)[row] = make_float2(mean, f);
}

/* Any width. A lane reads again only what it wrote itself. */
template <typename T>
__global__ void __launch_bounds__(32 * NORM_WARPS) add_norm_any(add_norm_job<T> j) {
    const int     lane = (int)threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * NORM_WARPS + (int)threadIdx.x / 32;
    float         total = 0, squares = 0;
    let_next_start();
    wait_for_previous();
    if (row >= j.rows) return;
    const T *from = j.residual ? j.sum + row * j.sum_stride : j.x + row * j.x_stride;
    for (int col = lane; col < j.cols; col += 32) {
        some<1> x = load<1>(j.x + row * j.x_stride + col);
        if (j.residual) {
            drop_some(x, j.drop, (uint64_t)row * (uint64_t)j.cols + (uint64_t)col);
            x.at[0] = rounded<T>(x.at[0] + to_float(j.residual[row * j.residual_stride + col]));
            j.sum[row * j.sum_stride + col] = from_float<T>(x.at[0]);
        }
        total += x.at[0];
    }
    if (!j.gain) return;
    const float mean = warp_sum(total) / (float)j.cols;
    for (int col = lane; col < j.cols; col += 32) {
        const float apart = to_float(from[col]) - mean;
        squares = fmaf(apart, apart, squares);
    }
    const float f = rsqrtf(warp_sum(squares) / (float)j.cols + j.epsilon);
    for (int col = lane; col < j.cols; col += 32)
        j.out[row * j.out_stride + col] = from_float<T>(
            fmaf((to_float(from[col]) - mean) * f, to_float(j.gain[col]), to_float(j.shift[col])));
    if (lane == 0) j.moments[2 * row] = mean, j.moments[2 * row + 1] = f;
}

/* calls f with the width as a constant; false where it is none of the usual ones */
template <typename F> static bool on_width(int cols, F f) {
    switch (cols) {
    case 256: return f(std::integral_constant<int, 256>()), true;
    case 512: return f(std::integral_constant<int, 512>()), true;
    case 768: return f(std::integral_constant<int, 768>()), true;
    case 1024: return f(std::integral_constant<int, 1024>()), true;
    default: return false;
    }
}

/* residual without data: no sum, only a norm of x */
static void add_norm_or_norm(pk_cuda *c, pk_tensor sum, pk_tensor out, pk_tensor x,
                             pk_tensor residual, pk_drop drop, const pk_weight *gain,
                             const pk_weight *shift, float epsilon, float *moments) {
    const unsigned blocks = (unsigned)((x.rows + NORM_WARPS - 1) / NORM_WARPS);
    if (x.rows == 0) return;
    if (!gain) out.data = NULL;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        const add_norm_job<T> j = { (T *)sum.data,
                                    (T *)out.data,
                                    (const T *)x.data,
                                    (const T *)residual.data,
                                    gain ? (const T *)gain->data : NULL,
                                    gain ? (const T *)shift->data : NULL,
                                    moments,
                                    sum.stride,
                                    out.stride,
                                    x.stride,
                                    residual.stride,
                                    x.rows,
                                    x.cols,
                                    epsilon,
                                    dropping_of(drop) };
        const size_t          each = sizeof(T);
        const bool even = aligned_16(sum, each) && aligned_16(out, each) && aligned_16(x, each) &&
                          aligned_16(residual, each) && aligned_16(gain) && aligned_16(shift) &&
                          aligned_16(moments);
        const bool done = even && on_width(x.cols, [&](auto width) {
                              launch(c, "add_norm", add_norm_rows<T, decltype(width)::value>,
                                     blocks, 32 * NORM_WARPS, 0, 0, j);
                          });
        if (!done) launch(c, "add_norm", add_norm_any<T>, blocks, 32 * NORM_WARPS, 0, 0, j);
    });
}

void pk_cuda_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                      pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                      float *moments) {
    add_norm_or_norm(static_cast<pk_cuda *>(self), sum, out, x, residual, drop, gain, shift,
                     epsilon, moments);
}

void pk_cuda_train_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                        const pk_weight *shift, float epsilon, float *moments) {
    add_norm_or_norm(static_cast<pk_cuda *>(self), pk_tensor{}, out, x, pk_tensor{}, pk_drop{},
                     gain, shift, epsilon, moments);
}

/* ---- backwards ---- */

/* hands on the gradient of the sum, d, for V columns */
template <typename T, int V>
__device__ __forceinline__ void store_gradients(const add_norm_back_job<T> &j, int64_t row, int col,
                                                some<V> d) {
    if (j.d_residual) {
        T      *to = j.d_residual + row * j.d_residual_stride + col;
        some<V> sum = d;
        if (j.add) {
            const some<V> before = load<V>(to);
#pragma unroll
            for (int i = 0; i < V; i++) sum.at[i] += before.at[i];
        }
        store<V>(to, sum);
    }
    if (j.d_x) {
        drop_some(d, j.drop, (uint64_t)row * (uint64_t)j.cols + (uint64_t)col);
        store<V>(j.d_x + row * j.d_x_stride + col, d);
    }
}

/* Adds what the warps of a block have for the gains and shifts of 32 V columns to the gradients.
 * All threads of the block call it. */
template <int V, int WARPS>
__device__ void add_gains(float (*part)[WARPS][32 * V], const some<V> &gain, const some<V> &shift,
                          int first, float *d_gain, float *d_shift) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < V; i++) {
        part[0][warp][lane * V + i] = gain.at[i];
        part[1][warp][lane * V + i] = shift.at[i];
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 2 * 32 * V; i += 32 * WARPS) {
        const int which = i / (32 * V), col = i % (32 * V);
        float    *to = which ? d_shift : d_gain;
        float     sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) sum += part[which][w][col];
        if (to) atomicAdd(to + first + col, sum);
    }
    __syncthreads();
}

/* Warps take rows in turn and keep sums for the gains in registers. */
template <typename T, int COLS, int WARPS>
__global__ void __launch_bounds__(32 * WARPS) add_norm_back_rows(add_norm_back_job<T> j) {
    constexpr int    V = lot<T>, P = COLS / (32 * V);
    __shared__ float part[2][WARPS][32 * V];
    const int        warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    some<V>          gain_sum[P] = {}, shift_sum[P] = {};
    let_next_start();
    wait_for_previous();
    for (int64_t row = (int64_t)blockIdx.x * WARPS + warp; row < j.rows;
         row += (int64_t)gridDim.x * WARPS) {
        some<V> e[P], y[P];
        float   along = 0, across = 0;
#pragma unroll
        for (int p = 0; p < P; p++) {
            e[p] = load<V>(j.d_out + row * j.d_out_stride + (32 * p + lane) * V);
            y[p] = load<V>(j.sum + row * j.sum_stride + (32 * p + lane) * V);
        }
        const float2 moment = reinterpret_cast<const float2 *>(j.moments)[row];
#pragma unroll
        for (int p = 0; p < P; p++) {
            const some<V> gain = load<V>(j.gain + (32 * p + lane) * V);
#pragma unroll
            for (int i = 0; i < V; i++) {
                y[p].at[i] = (y[p].at[i] - moment.x) * moment.y;
                shift_sum[p].at[i] += e[p].at[i];
                gain_sum[p].at[i] = fmaf(e[p].at[i], y[p].at[i], gain_sum[p].at[i]);
                e[p].at[i] *= gain.at[i];
                along += e[p].at[i];
                across = fmaf(e[p].at[i], y[p].at[i], across);
            }
        }
        along = warp_sum(along) * (1.0f / COLS), across = warp_sum(across) * (1.0f / COLS);
#pragma unroll
        for (int p = 0; p < P; p++) {
#pragma unroll
            for (int i = 0; i < V; i++)
                e[p].at[i] = moment.y * (e[p].at[i] - along - y[p].at[i] * across);
            store_gradients<T, V>(j, row, (32 * p + lane) * V, e[p]);
        }
    }
    if (!j.d_gain && !j.d_shift) return;
#pragma unroll
    for (int p = 0; p < P; p++)
        add_gains<V, WARPS>(part, gain_sum[p], shift_sum[p], 32 * p * V, j.d_gain, j.d_shift);
}

/* Any width; the gains are for gains_any(). d_x or d_residual may be d_out: a lane writes a number
 * after it has read it for the last time. */
template <typename T>
__global__ void __launch_bounds__(32 * NORM_WARPS) add_norm_back_any(add_norm_back_job<T> j) {
    const int     lane = (int)threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * NORM_WARPS + (int)threadIdx.x / 32;
    float         along = 0, across = 0;
    let_next_start();
    wait_for_previous();
    if (row >= j.rows) return;
    const T    *d_out = j.d_out + row * j.d_out_stride, *sum = j.sum + row * j.sum_stride;
    const float mean = j.moments[2 * row], f = j.moments[2 * row + 1];
    for (int col = lane; col < j.cols; col += 32) {
        const float e = to_float(d_out[col]) * to_float(j.gain[col]);
        along += e;
        across = fmaf(e, (to_float(sum[col]) - mean) * f, across);
    }
    along = warp_sum(along) / (float)j.cols, across = warp_sum(across) / (float)j.cols;
    for (int col = lane; col < j.cols; col += 32) {
        const float e = to_float(d_out[col]) * to_float(j.gain[col]);
        const float y = (to_float(sum[col]) - mean) * f;
        store_gradients<T, 1>(j, row, col, some<1>{ { f * (e - along - y * across) } });
    }
}

/* a thread has a column of GAIN_ROWS rows */
template <typename T>
__global__ void __launch_bounds__(GAIN_THREADS) gains_any(add_norm_back_job<T> j) {
    const int     col = (int)blockIdx.x * GAIN_THREADS + (int)threadIdx.x;
    const int64_t first = (int64_t)blockIdx.y * GAIN_ROWS;
    float         gain = 0, shift = 0;
    let_next_start();
    wait_for_previous();
    if (col >= j.cols) return;
    for (int64_t row = first; row < first + GAIN_ROWS && row < j.rows; row++) {
        const float d = to_float(j.d_out[row * j.d_out_stride + col]);
        const float x = to_float(j.sum[row * j.sum_stride + col]);
        shift += d;
        gain = fmaf(d, (x - j.moments[2 * row]) * j.moments[2 * row + 1], gain);
    }
    if (j.d_gain) atomicAdd(j.d_gain + col, gain);
    if (j.d_shift) atomicAdd(j.d_shift + col, shift);
}

/* without a norm: the gradient of the sum is d_out itself */
template <typename T, int V>
__global__ void __launch_bounds__(256) copy_gradients(add_norm_back_job<T> j) {
    const uint32_t per_row = (uint32_t)(j.cols / V), i = blockIdx.x * 256u + threadIdx.x;
    const uint32_t row = i / per_row;
    const int      col = (int)(i - row * per_row) * V;
    let_next_start();
    wait_for_previous();
    if (row >= (uint32_t)j.rows) return;
    store_gradients<T, V>(j, row, col, load<V>(j.d_out + row * j.d_out_stride + col));
}

template <typename T, int V> static void launch_copy(pk_cuda *c, const add_norm_back_job<T> &j) {
    const int64_t threads = (int64_t)j.rows * (j.cols / V);
    launch(c, "add_norm backwards", copy_gradients<T, V>, (unsigned)((threads + 255) / 256), 256, 0,
           0, j);
}

/* for widths that have no kernel of their own: gains and rows one after the other */
template <typename T> static void launch_back_any(pk_cuda *c, const add_norm_back_job<T> &j) {
    const dim3 columns((unsigned)((j.cols + GAIN_THREADS - 1) / GAIN_THREADS),
                       (unsigned)((j.rows + GAIN_ROWS - 1) / GAIN_ROWS));
    if (j.d_gain || j.d_shift)
        launch(c, "norm backwards", gains_any<T>, columns, GAIN_THREADS, 0, 0, j);
    if (j.d_x || j.d_residual)
        launch(c, "norm backwards", add_norm_back_any<T>,
               (unsigned)((j.rows + NORM_WARPS - 1) / NORM_WARPS), 32 * NORM_WARPS, 0, 0, j);
}

template <typename T, int COLS> static void launch_back(pk_cuda *c, const add_norm_back_job<T> &j) {
    constexpr int WARPS = COLS <= 512 ? 16 : 8; /* by the registers that a row takes */
    /* as many blocks as fit the GPU at once: each adds to all gains when it ends */
    const int need = (j.rows + WARPS - 1) / WARPS, most = (COLS <= 256 ? 2 : 1) * c->processors;
    launch(c, "norm backwards", add_norm_back_rows<T, COLS, WARPS>,
           (unsigned)(need < most ? need : most), 32 * WARPS, 0, 0, j);
}

void pk_cuda_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                           float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                           const float *moments, pk_drop drop) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (d_out.rows == 0) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        const add_norm_back_job<T> j = { (T *)d_x.data,
                                         (T *)d_residual.data,
                                         d_gain,
                                         d_shift,
                                         (const T *)d_out.data,
                                         (const T *)sum.data,
                                         gain ? (const T *)gain->data : NULL,
                                         moments,
                                         d_x.stride,
                                         d_residual.stride,
                                         d_out.stride,
                                         sum.stride,
                                         d_out.rows,
                                         d_out.cols,
                                         add,
                                         dropping_of(drop) };
        const size_t               each = sizeof(T);
        const bool                 even = aligned_16(d_x, each) && aligned_16(d_residual, each) &&
                          aligned_16(d_out, each) && aligned_16(gain) && aligned_16(moments);
        if (!gain && even && d_out.cols % lot<T> == 0) return launch_copy<T, lot<T>>(c, j);
        if (!gain) return launch_copy<T, 1>(c, j);
        const bool done = even && aligned_16(sum, each) && on_width(d_out.cols, [&](auto width) {
                              launch_back<T, decltype(width)::value>(c, j);
                          });
        if (!done) launch_back_any<T>(c, j);
    });
}

void pk_cuda_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                       pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments) {
    pk_cuda_add_norm_back(self, pk_tensor{}, d_x, add, d_gain, d_shift, d_out, x, gain, moments,
                          pk_drop{});
}
