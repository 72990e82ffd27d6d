/* cuda_runtime.h - of CUDA's language and run-time library, what the cuda backend uses, for the
 * emulated GPU. Streams do their work at once; what is captured becomes a list of functions. */
#ifndef PK_TESTS_EMULATOR_CUDA_RUNTIME_H
#define PK_TESTS_EMULATOR_CUDA_RUNTIME_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "emulator.h"

#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__   thread_local
#define threadIdx    (emulator::now->thread)
#define __expf       expf

extern thread_local uint3 blockIdx, blockDim, gridDim;

/* ---- vectors ---- */

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
static inline uint2 make_uint2(unsigned x, unsigned y) { return { x, y }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return { x, y, z, w };
}
static inline float2 make_float2(float x, float y) { return { x, y }; }
static inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }

/* ---- arithmetic ---- */

#define EMULATED_MIN_MAX(T)                                 \
    static inline T min(T a, T b) { return b < a ? b : a; } \
    static inline T max(T a, T b) { return a < b ? b : a; }
EMULATED_MIN_MAX(int)
EMULATED_MIN_MAX(unsigned)
EMULATED_MIN_MAX(int64_t)
EMULATED_MIN_MAX(uint64_t)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline int   __ffs(int x) { return __builtin_ffs(x); }
static inline float __uint_as_float(unsigned x) {
    float y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline unsigned __float_as_uint(float x) {
    unsigned y;
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const uint64_t both = (uint64_t)high << 32 | low;
    unsigned       out = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned pick = which >> 4 * i & 0xf;
        unsigned       byte = (unsigned)(both >> 8 * (pick & 7)) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * i;
    }
    return out;
}
template <typename T, typename V> static inline T atomicAdd(T *to, V value) {
    const T old = *to;
    *to = old + (T)value;
    return old;
}
static inline unsigned atomicMax(unsigned *to, unsigned value) {
    const unsigned old = *to;
    if (value > old) *to = value;
    return old;
}

/* ---- warps and blocks ---- */

static inline void whole_warp(unsigned mask) {
    if (mask != ~0u) emulator::complain("a collective call of a part of a warp");
}
static inline void __syncwarp(unsigned mask = ~0u) {
    whole_warp(mask);
    emulator::exchanged((char)0);
}
template <typename T> static inline T __shfl_sync(unsigned mask, T x, int lane) {
    whole_warp(mask);
    return emulator::exchanged(x)[lane & 31];
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T x, int by) {
    const int lane = emulator::now->lane;
    whole_warp(mask);
    return emulator::exchanged(x)[lane ^ by];
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T x, unsigned by) {
    const int lane = emulator::now->lane;
    whole_warp(mask);
    return emulator::exchanged(x)[lane < (int)by ? lane : lane - (int)by];
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T x, unsigned by) {
    const int lane = emulator::now->lane;
    whole_warp(mask);
    return emulator::exchanged(x)[lane + (int)by > 31 ? lane : lane + (int)by];
}
static inline unsigned __ballot_sync(unsigned mask, int x) {
    whole_warp(mask);
    const int *all = emulator::exchanged(x);
    unsigned   bits = 0;
    for (int i = 0; i < 32; i++) bits |= (unsigned)(all[i] != 0) << i;
    return bits;
}
static inline int __any_sync(unsigned mask, int x) { return __ballot_sync(mask, x) != 0; }
template <typename T> static inline T __reduce_max_sync(unsigned mask, T x) {
    whole_warp(mask);
    const T *all = emulator::exchanged(x);
    for (int i = 0; i < 32; i++) x = max(x, all[i]);
    return x;
}
template <typename T> static inline T __reduce_min_sync(unsigned mask, T x) {
    whole_warp(mask);
    const T *all = emulator::exchanged(x);
    for (int i = 0; i < 32; i++) x = min(x, all[i]);
    return x;
}
static inline void __syncthreads() { emulator::wait_for_block(); }
static inline int  __syncthreads_count(int x) {
     emulator::now->count = x != 0;
     emulator::wait_for_block();
     return emulator::counted;
}
static inline void __threadfence() {}

/* ---- the library ---- */

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2, cudaErrorInsufficientDriver = 35 };
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributeNonPortableClusterSizeAllowed
};
enum cudaLaunchAttributeID {
    cudaLaunchAttributeProgrammaticStreamSerialization,
    cudaLaunchAttributeClusterDimension
};
enum cudaDataType { CUDA_R_32F, CUDA_R_16BF };
enum { cudaGraphCondAssignDefault = 1, cudaGraphNodeTypeConditional, cudaGraphCondTypeWhile };

struct emulated_graph;
struct emulated_stream {
    emulated_graph *captured; /* NULL: work is done at once */
};
struct emulated_node {
    std::function<void()> work;
    emulated_graph       *body; /* of a loop, or NULL */
};
struct emulated_graph {
    std::vector<emulated_node> nodes;
    unsigned                   go_on; /* of its loop */
    bool                       launchable;
    void                       play();
};
typedef emulated_stream   *cudaStream_t;
typedef emulated_graph    *cudaGraph_t, *cudaGraphExec_t;
typedef int               *cudaEvent_t, *cudaGraphNode_t;
typedef unsigned long long cudaGraphConditionalHandle; /* a graph's address */

struct cudaDeviceProp {
    char   name[256];
    int    major, minor, multiProcessorCount;
    size_t sharedMemPerBlockOptin;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int    maxDynamicSharedSizeBytes, binaryVersion, numRegs;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
        struct {
            unsigned x, y, z;
        } clusterDim;
    } val;
};
struct cudaLaunchConfig_t {
    dim3                 gridDim, blockDim;
    size_t               dynamicSmemBytes;
    cudaStream_t         stream;
    cudaLaunchAttribute *attrs;
    unsigned             numAttrs;
};
struct cudaGraphNodeParams {
    int type;
    struct {
        cudaGraphConditionalHandle handle;
        int                        type;
        unsigned                   size;
        cudaGraph_t               *phGraph_out;
    } conditional;
};

const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaMemGetInfo(size_t *left, size_t *all);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *kernel);
template <typename K> cudaError_t cudaFuncSetAttribute(K, cudaFuncAttribute, int) {
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const void *,
                                          const void *, size_t, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *out, cudaGraph_t graph,
                                             unsigned first, unsigned flags);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const void *, const void *,
                             size_t, cudaGraphNodeParams      *node);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
void        cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value);

/* work of a stream: done, or captured */
void emulated_work(cudaStream_t stream, std::function<void()> work);

template <typename... Formal, typename... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Formal...),
                               Actual... actual) {
    const uint3  grid = { config->gridDim.x, config->gridDim.y, config->gridDim.z };
    const uint3  block = { config->blockDim.x, config->blockDim.y, config->blockDim.z };
    const size_t shared = config->dynamicSmemBytes;
    emulated_work(config->stream,
                  [=] { emulator::run(grid, block, shared, [=] { kernel(Formal(actual)...); }); });
    return cudaSuccess;
}

/* kernel<<<grid, block, shared, stream>>>(...), which the build rewrites to this */
template <typename... Formal, typename... Actual>
void emulated_launch(void (*kernel)(Formal...), dim3 grid, dim3 block, size_t shared,
                     cudaStream_t stream, Actual... actual) {
    cudaLaunchConfig_t config = { grid, block, shared, stream, NULL, 0 };
    cudaLaunchKernelEx(&config, kernel, Formal(actual)...);
}
#endif
