/* train_update.cu - the optimiser: sums of squares, Adam, and weights rounded to the backend's
 * type.
 *
 * Whether an update is skipped or shortened is decided on the device, from the sum of squares that
 * lies there: the host never waits. Each array is read once and written once. */
#include <cmath>

#include "backend/cuda/train.cuh"

enum { UPDATE_THREADS = 256, UPDATE_BLOCKS = 8 /* per multiprocessor */ };

/* a few blocks per multiprocessor, each walking over the array in steps of the grid */
static unsigned update_blocks(const pk_cuda *c, size_t n) {
    const size_t need = (n + UPDATE_THREADS - 1) / UPDATE_THREADS;
    const size_t most = (size_t)UPDATE_BLOCKS * (size_t)c->processors;
    return (unsigned)(need < 1 ? 1 : need < most ? need : most);
}

/* ---- squares ---- */

/* n4: how many fours there are; the rest is one by one */
static __global__ void __launch_bounds__(UPDATE_THREADS)
    sum_squares(const float *x, size_t n4, size_t n, double *sum) {
    __shared__ double part[UPDATE_THREADS / 32];
    const size_t      first = (size_t)blockIdx.x * UPDATE_THREADS + threadIdx.x;
    const size_t      step = (size_t)gridDim.x * UPDATE_THREADS;
    double            all = 0;
    let_next_start();
    wait_for_previous();
#pragma unroll 4
    for (size_t i = first; i < n4; i += step) {
        const float4 v = reinterpret_cast<const float4 *>(x)[i];
        all += (double)(v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w));
    }
    for (size_t i = 4 * n4 + first; i < n; i += step) all += (double)x[i] * (double)x[i];
    for (int apart = 16; apart; apart /= 2) all += __shfl_xor_sync(~0u, all, apart);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = all;
    __syncthreads();
    if (threadIdx.x) return;
    for (int i = 1; i < UPDATE_THREADS / 32; i++) all += part[i];
    atomicAdd(sum, all);
}

void pk_cuda_squares(void *self, const float *x, size_t n, double *sum) {
    pk_cuda     *c = static_cast<pk_cuda *>(self);
    const size_t n4 = aligned_16(x) ? n / 4 : 0;
    if (n == 0) return;
    launch(c, "squares", sum_squares, update_blocks(c, n4 ? n4 : n), UPDATE_THREADS, 0, 0, x, n4, n,
           sum);
}

/* ---- update ---- */

struct adam { /* one update, with what the host knows worked out */
    float        *master, *grad, *m, *v, *average;
    void         *weights; /* NULL: master itself */
    const double *squares;
    int64_t      *skipped;
    size_t        n, n4; /* n4: fours that are aligned; the rest is one by one */
    double        total;
    float         clip, rate, beta1, beta2, epsilon, decay, keep;
    float         mean_scale, square_scale; /* Adam's corrections of the first steps */
};

/* what the gradient is multiplied with */
static __device__ float gradient_scale(const adam &a, double squares) {
    const double length = sqrt(squares) / a.total;
    return (float)((a.clip > 0 && length > a.clip ? a.clip / length : 1) / a.total);
}

/* Adam (Kingma and Ba 2015) with decoupled decay (Loshchilov and Hutter 2019) */
static __device__ __forceinline__ void step_one(const adam &a, float g, float &w, float &m,
                                                float &v, float &average) {
    m = fmaf(a.beta1, m, (1 - a.beta1) * g);
    v = fmaf(a.beta2, v, (1 - a.beta2) * g * g);
    const float by = m * a.mean_scale / (sqrtf(v * a.square_scale) + a.epsilon);
    w = w - a.rate * a.decay * w - a.rate * by;
    average = fmaf(a.keep, average, (1 - a.keep) * w);
}

/* numbers V i .. V i + V - 1 */
template <typename T, int V>
__device__ __forceinline__ void step_some(const adam &a, size_t i, float scale) {
    const some<V> g = load<V>(a.grad + V * i);
    some<V>       w = load<V>(a.master + V * i), m = load<V>(a.m + V * i), v = load<V>(a.v + V * i);
    some<V>       average = {};
    if (a.average) average = load<V>(a.average + V * i);
#pragma unroll
    for (int e = 0; e < V; e++)
        step_one(a, g.at[e] * scale, w.at[e], m.at[e], v.at[e], average.at[e]);
    store<V>(a.grad + V * i, some<V>{});
    store<V>(a.master + V * i, w), store<V>(a.m + V * i, m), store<V>(a.v + V * i, v);
    if (a.average) store<V>(a.average + V * i, average);
    if (!a.weights) return;
    if constexpr (V == 1 || sizeof(T) == 4)
        store<V>((T *)a.weights + V * i, w);
    else
        ((uint2 *)a.weights)[i] =
            make_uint2(two_halves(w.at[0], w.at[1]), two_halves(w.at[2], w.at[3]));
}

/* a gradient that is not finite takes no step: it is cleared and the update counts as skipped */
template <typename T> __global__ void __launch_bounds__(UPDATE_THREADS) update_numbers(adam a) {
    const size_t first = (size_t)blockIdx.x * UPDATE_THREADS + threadIdx.x;
    const size_t step = (size_t)gridDim.x * UPDATE_THREADS;
    let_next_start();
    wait_for_previous();
    const double squares = *a.squares;
    if (!isfinite(squares)) {
        if (first == 0) atomicAdd((unsigned long long *)a.skipped, 1ull);
        for (size_t i = first; i < a.n; i += step) a.grad[i] = 0;
        return;
    }
    const float scale = gradient_scale(a, squares);
    for (size_t i = first; i < a.n4; i += step) step_some<T, 4>(a, i, scale);
    for (size_t i = 4 * a.n4 + first; i < a.n; i += step) step_some<T, 1>(a, i, scale);
}

/* what the host can compute once: alignment, and Adam's corrections */
static adam adam_of(const pk_update *u) {
    const bool apart = u->weights && u->weights != (void *)u->master;
    const bool even = aligned_16(u->master) && aligned_16(u->grad) && aligned_16(u->m) &&
                      aligned_16(u->v) && aligned_16(u->average) &&
                      (!apart || aligned_16(u->weights));
    adam a = {};
    a.master = u->master, a.grad = u->grad, a.m = u->m, a.v = u->v, a.average = u->average;
    a.weights = apart ? u->weights : NULL;
    a.squares = u->squares, a.skipped = u->skipped;
    a.n = u->n, a.n4 = even ? u->n / 4 : 0;
    a.total = u->total;
    a.clip = u->clip, a.rate = u->rate, a.beta1 = u->beta1, a.beta2 = u->beta2;
    a.epsilon = u->epsilon, a.decay = u->decay, a.keep = u->average_keep;
    a.mean_scale = (float)(1 / (1 - std::pow((double)u->beta1, (double)u->step)));
    a.square_scale = (float)(1 / (1 - std::pow((double)u->beta2, (double)u->step)));
    return a;
}

void pk_cuda_update(void *self, const pk_update *u) {
    pk_cuda       *c = static_cast<pk_cuda *>(self);
    const adam     a = adam_of(u);
    const unsigned blocks = update_blocks(c, a.n4 ? a.n4 : a.n);
    if (c->arithmetic == PK_BF16)
        launch(c, "an update", update_numbers<__nv_bfloat16>, blocks, UPDATE_THREADS, 0, 0, a);
    else
        launch(c, "an update", update_numbers<float>, blocks, UPDATE_THREADS, 0, 0, a);
}

/* ---- round_weights ---- */

static __global__ void __launch_bounds__(UPDATE_THREADS)
    round_numbers(__nv_bfloat16 *weights, const float *master, size_t n4, size_t n) {
    const size_t first = (size_t)blockIdx.x * UPDATE_THREADS + threadIdx.x;
    const size_t step = (size_t)gridDim.x * UPDATE_THREADS;
    let_next_start();
    wait_for_previous();
    for (size_t i = first; i < n4; i += step) {
        const float4 w = reinterpret_cast<const float4 *>(master)[i];
        reinterpret_cast<uint2 *>(weights)[i] =
            make_uint2(two_halves(w.x, w.y), two_halves(w.z, w.w));
    }
    for (size_t i = 4 * n4 + first; i < n; i += step) weights[i] = __float2bfloat16_rn(master[i]);
}

void pk_cuda_round_weights(void *self, void *weights, const float *master, size_t n) {
    pk_cuda     *c = static_cast<pk_cuda *>(self);
    const size_t n4 = aligned_16(master) && (uintptr_t)weights % 8 == 0 ? n / 4 : 0;
    if (n == 0 || weights == (const void *)master) return;
    if (c->arithmetic == PK_BF16)
        launch(c, "rounding weights", round_numbers, update_blocks(c, n4 ? n4 : n), UPDATE_THREADS,
               0, 0, (__nv_bfloat16 *)weights, master, n4, n);
    else
        pk_cuda_good(c,
                     cudaMemcpyAsync(weights, master, n * sizeof *master, cudaMemcpyDeviceToDevice,
                                     c->stream),
                     "rounding weights");
}
