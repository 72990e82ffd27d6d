/* common.cuh - what the ops of the cuda backend share: the state, launching, number types,
 * layouts.
 *
 * Activations are float, __half or __nv_bfloat16 (the backend's arithmetic); sums are always
 * float. Kernels overlap: a kernel may start before the one before it has ended (programmatic
 * dependent launch). So every kernel calls wait_for_previous() before it touches what other
 * kernels write, and let_next_start() as early as it can: the next kernel may then start, fetch
 * its weights, and wait.
 *
 * How matrices lie on the device (adopt.cu makes it so):
 *
 *   16-bit: (ceil(rows / 16), ceil(cols / 16), 32 lanes, 8): tiles of 16 x 16. Inside a tile the
 *           order is that of the first operand of mma.m16n8k16: 16 bytes per lane, one load. Lane
 *           4 r + c has rows r and r + 8, columns 2c, 2c + 1, 2c + 8, 2c + 9. Zero past the end.
 *
 *   I8:     the same with 8 bytes a lane; value = integer * scale[row].
 *
 *   F32:    (ceil(rows / 16), cols, 16), as tensor/panel.h has it.
 *
 * Vectors and position tables are plain F32. */
#ifndef PK_BACKEND_CUDA_COMMON_CUH
#define PK_BACKEND_CUDA_COMMON_CUH
#include "backend/cuda/ptx.cuh"

extern "C" {
#include "tensor/backend.h"
}

struct pk_cuda_graphs;
struct pk_cuda_memory;
struct pk_cuda_products;
struct pk_cuda_link;

struct pk_cuda {
    cudaStream_t    stream;
    int             device, processors; /* multiprocessors */
    size_t          shared_limit;       /* bytes of shared memory a block may have */
    bool            hopper;             /* clusters, early starts */
    bool            wgmma;              /* build and device both have the kernels of wgmma.cuh */
    pk_dtype        arithmetic;         /* of activations */
    pk_limits       max;
    pk_status       status; /* first failure since it was last asked for */
    char            message[256];
    pk_cuda_graphs *graphs;
    pk_cuda_memory *memory;
    size_t          device_bytes; /* taken so far */
    size_t          pinned_bytes; /* counted so far, by a dry run */
    bool            counting;     /* this is a dry run: memory is counted, not taken */
    /* scratch of answer.cu, sized by reserve() */
    void  *answer_scratch;
    size_t answer_bytes;
    /* where adopt.cu puts the host's bytes */
    void  *staging;
    size_t staging_bytes;
    /* cuBLASLt, once training was reserved for; train_product.cu */
    pk_cuda_products *products;
    /* the other ranks' GPUs, where there are any; nccl.cu */
    pk_cuda_link *link;
    /* events in the stream that the host may wait for, made when first recorded; cuda.cu */
    cudaEvent_t events[4];
};

/* records a failure; the first one sticks */
void pk_cuda_fail(pk_cuda *c, pk_status why, const char *format, ...);
/* records a failed call of the runtime; true when nothing has failed so far */
bool pk_cuda_good(pk_cuda *c, cudaError_t code, const char *what);
/* bytes that answer() needs for these limits */
size_t pk_cuda_answer_bytes(const pk_limits *max);
/* whether kernels with wgmma can be launched on this device; linear_wgmma.cu */
bool pk_cuda_wgmma_there(void);
/* fills *out with the device's own form of a matrix; adopt.cu */
pk_status pk_cuda_adopt(pk_cuda *c, const pk_weight *host, pk_weight *out);

/* the ops, one file each */
void pk_cuda_embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                   float scale, const pk_weight *position, const int32_t *pos);
void pk_cuda_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_after *after);
void pk_cuda_linear_f32(pk_cuda *c, pk_tensor out, pk_tensor x, const pk_weight *w,
                        const pk_after *after);
void pk_cuda_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                  const pk_weight *shift, float epsilon);
void pk_cuda_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                    const pk_attention *see);
void pk_cuda_scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot);
void pk_cuda_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                    const pk_answering *a);
void pk_cuda_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_edging *a);
void pk_cuda_advance(void *self, const pk_following *f);

/* ---- launching ---- */

/* A launch that may start before the kernel before it has ended (it waits inside, see above).
 * cluster: blocks that share their memory, 0 or 1: none. */
template <typename... Formal, typename... Actual>
void launch(pk_cuda *c, const char *what, void (*kernel)(Formal...), dim3 grid, dim3 block,
            size_t shared, unsigned cluster, Actual... actual) {
    cudaLaunchConfig_t  config = {};
    cudaLaunchAttribute attribute[2] = {};
    if (c->status != PK_OK) return;
    config.gridDim = grid, config.blockDim = block;
    config.dynamicSmemBytes = shared, config.stream = c->stream;
    config.attrs = attribute;
    if (c->hopper) {
        attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
        attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attribute[config.numAttrs].val.clusterDim.x = cluster;
        attribute[config.numAttrs].val.clusterDim.y = 1;
        attribute[config.numAttrs++].val.clusterDim.z = 1;
    }
    pk_cuda_good(c, cudaLaunchKernelEx(&config, kernel, Formal(actual)...), what);
}

/* A kernel may have all the shared memory there is. Always all of it: the setting belongs to the
 * kernel, not to the launch, and other threads launch it too. */
template <typename Kernel> void allow_shared(pk_cuda *c, Kernel kernel) {
    const void        *code = (const void *)kernel;
    cudaFuncAttributes now;
    if (!pk_cuda_good(c, cudaFuncGetAttributes(&now, code), "asking for shared memory")) return;
    const int most = (int)(c->shared_limit - now.sharedSizeBytes);
    if (now.maxDynamicSharedSizeBytes < most)
        pk_cuda_good(c,
                     cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                     "asking for shared memory");
}

static __device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* ---- numbers ---- */

static __device__ __forceinline__ float to_float(float x) { return x; }
static __device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
static __device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float       from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ __half      from_float<__half>(float x) {
         return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}

/* calls f with a value of the arithmetic's type: on_type(c->arithmetic, [&](auto zero) { ... }) */
template <typename F> void on_type(pk_dtype type, F f) {
    if (type == PK_F16)
        f(__half());
    else if (type == PK_BF16)
        f(__nv_bfloat16());
    else
        f(float());
}

/* element (row, col) of a matrix in tiles: index in elements */
static __host__ __device__ __forceinline__ size_t tile_index(int cols, int row, int col) {
    const size_t tile = (size_t)(row / 16) * (size_t)((cols + 15) / 16) + (size_t)(col / 16);
    const int    r = row % 16, k = col % 16;
    const int    lane = r % 8 * 4 + k % 8 / 2;
    return (tile * 32 + (size_t)lane) * 8 + (size_t)(k / 8 * 4 + r / 8 * 2 + k % 2);
}

/* one weight of a matrix as the device has it; W: float in panels, all others in tiles */
template <typename W> struct matrix {
    const W     *data;
    const float *scale; /* I8 only */
    int          cols;
};

static __device__ __forceinline__ float weight_at(const matrix<float> &m, int row, int col) {
    return m.data[((size_t)(row / 16) * (size_t)m.cols + (size_t)col) * 16 + (size_t)(row % 16)];
}
static __device__ __forceinline__ float weight_at(const matrix<int8_t> &m, int row, int col) {
    return __fmul_rn((float)m.data[tile_index(m.cols, row, col)], m.scale[row]);
}
template <typename W>
__device__ __forceinline__ float weight_at(const matrix<W> &m, int row, int col) {
    return to_float(m.data[tile_index(m.cols, row, col)]);
}

/* ---- the norm, in one order of sums for all kernels ---- */

/* A row's mean and sum of squared differences are found for each 64 columns by one warp (lane l has
 * columns 2l and 2l + 1) and merged in order. So kernels that hold a row in other pieces agree
 * bitwise, as long as the pieces are whole 64s. */
struct moments {
    float n, mean, squares;
};

/* of one 64: a and b are this lane's columns; n is how many columns there are (the last may be
 * short) */
static __device__ __forceinline__ moments moments_of(float a, float b, int lane, int n) {
    const bool has_a = 2 * lane < n, has_b = 2 * lane + 1 < n;
    float      sum = (has_a ? a : 0) + (has_b ? b : 0);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    const float mean = sum / (float)n;
    const float da = has_a ? a - mean : 0, db = has_b ? b - mean : 0;
    float       squares = fmaf(da, da, db * db); /* one way to round, in every kernel */
    for (int step = 16; step; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
    return moments{ (float)n, mean, squares };
}

/* the moments of what came before and of the 64 that follow (Chan, Golub and LeVeque 1979) */
static __device__ __forceinline__ moments merged(moments a, moments b) {
    if (a.n == 0) return b;
    const float n = a.n + b.n, apart = b.mean - a.mean;
    return moments{ n, a.mean + apart * (b.n / n),
                    a.squares + b.squares + apart * apart * (a.n * b.n / n) };
}

/* one number of a row after its norm */
static __device__ __forceinline__ float normalised(float x, moments m, float gain, float shift,
                                                   float epsilon) {
    return (x - m.mean) * rsqrtf(m.squares / m.n + epsilon) * gain + shift;
}
#endif
