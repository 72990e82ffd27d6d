/* wgmma.cuh - Hopper's matrix instruction for whole warpgroups, as our products use it.
 *
 * sum (64 outputs, 128 rows) += w (64 outputs, 16 columns) x^T: each warp of the four holds one
 * panel of weights in its registers, in the very fragments that lie in memory for mma.sync; x lies
 * in shared memory in slices of (128 rows, 64 columns), swizzled. The sums of a thread lie as those
 * of mma.sync: sum[4 * j + e] is output lane / 4 + 8 * (e / 2) of the warp's panel and row 8 * j +
 * lane % 4 * 2 + e % 2. Steps of 16 columns, one after another: so the sums are those of the other
 * kernels, bitwise.
 *
 * Only a build for sm_90a has the instruction. Elsewhere kernels that use it are empty, and
 * pk_cuda.wgmma is false: they are not launched. */
#ifndef PK_BACKEND_CUDA_WGMMA_CUH
#define PK_BACKEND_CUDA_WGMMA_CUH
#include "backend/cuda/linear.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PK_HAS_WGMMA 1
#endif

enum {
    WGMMA_ROWS = 128,
    WGMMA_SLICE = 4, /* tiles of 16 columns: 128 bytes, the width of the swizzle */
    WGMMA_SLICE_BYTES = WGMMA_ROWS * WGMMA_SLICE * 32,
    WGMMA_SUMS = 64,  /* floats of a thread */
    WGMMA_PANELS = 8, /* of a block: two warpgroups */
    WGMMA_OUTPUTS = 16 * WGMMA_PANELS,
    WGMMA_STRIDE = WGMMA_OUTPUTS + 4 /* floats between rows of sums in shared memory */
};

typedef float wgmma_part[WGMMA_SUMS];

/* where 16 bytes of a slice lie: piece 0 .. 7 of a row; slices start on 1024 bytes */
static __device__ __forceinline__ int wgmma_offset(int row, int piece) {
    return row * 128 + (piece ^ row % 8) * 16;
}

#ifdef PK_HAS_WGMMA
/* What copies wrote must be seen by the matrix units, which read past the ordinary path: every
 * thread that wrote does this between the end of its copies and the barrier. */
static __device__ __forceinline__ void wgmma_publish() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The matrix descriptor of a slice, columns from its first on; + 2 is 16 columns further. Groups of
 * 8 rows are 1024 bytes apart (in 16s, bits 32 on); bit 62: 128-byte swizzle. */
static __device__ __forceinline__ uint64_t wgmma_slice_at(uint32_t address) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

#define PK_FOUR_SUMS(s, i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define PK_SIXTEEN_SUMS(s, i) \
    PK_FOUR_SUMS(s, i), PK_FOUR_SUMS(s, i + 4), PK_FOUR_SUMS(s, i + 8), PK_FOUR_SUMS(s, i + 12)
#define PK_ALL_SUMS(s) \
    PK_SIXTEEN_SUMS(s, 0), PK_SIXTEEN_SUMS(s, 16), PK_SIXTEEN_SUMS(s, 32), PK_SIXTEEN_SUMS(s, 48)
#define PK_WGMMA(TYPES)                                                                 \
    "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"                                        \
    "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPES " "                            \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "  \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "  \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, " \
    "{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"

/* 16 columns; more: 0 starts the sums from zero */
static __device__ __forceinline__ void wgmma_step(wgmma_part &sum, uint4 a, uint64_t x, int more,
                                                  __half) {
    asm volatile(PK_WGMMA("f16.f16")
                 : PK_ALL_SUMS(sum)
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(x), "r"(more)
                 : "memory");
}
static __device__ __forceinline__ void wgmma_step(wgmma_part &sum, uint4 a, uint64_t x, int more,
                                                  __nv_bfloat16) {
    asm volatile(PK_WGMMA("bf16.bf16")
                 : PK_ALL_SUMS(sum)
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(x), "r"(more)
                 : "memory");
}

/* Until the sums are there. The weights are named so that their registers stay theirs until then:
 * the instruction reads them until it is done. */
static __device__ __forceinline__ void wgmma_wait(wgmma_part &sum, const uint4 (&a)[WGMMA_SLICE]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : PK_ALL_SUMS(sum)
                 : "r"(a[0].x), "r"(a[0].y), "r"(a[0].z), "r"(a[0].w), "r"(a[1].x), "r"(a[1].y),
                   "r"(a[1].z), "r"(a[1].w), "r"(a[2].x), "r"(a[2].y), "r"(a[2].z), "r"(a[2].w),
                   "r"(a[3].x), "r"(a[3].y), "r"(a[3].z), "r"(a[3].w)
                 : "memory");
}

/* One slice, waited for: while this warpgroup waits and adds, the other one computes. P: a lane's
 * piece of a tile. */
template <typename T, typename P>
__device__ __forceinline__ void wgmma_slice(wgmma_part &sum, const P (&w)[WGMMA_SLICE], uint64_t x,
                                            int more) {
    uint4 a[WGMMA_SLICE];
#pragma unroll
    for (int t = 0; t < WGMMA_SLICE; t++) a[t] = widen<T>(w[t]);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int t = 0; t < WGMMA_SLICE; t++)
        wgmma_step(sum, a[t], x + (uint64_t)(2 * t), t == 0 ? more : 1, T());
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    wgmma_wait(sum, a);
}
#endif

/* weights of a slice; w: this lane's part of its first tile */
template <typename P>
__device__ __forceinline__ void wgmma_fetch(P (&w)[WGMMA_SLICE], const P *from) {
#pragma unroll
    for (int t = 0; t < WGMMA_SLICE; t++) fetch(w[t], from + t * 32);
}

/* a chunk of the sum has ended, see linear.cuh */
static __device__ __forceinline__ void wgmma_add(wgmma_part &total, const wgmma_part &sum) {
#pragma unroll
    for (int i = 0; i < WGMMA_SUMS; i++) total[i] = __fadd_rn(total[i], sum[i]);
}
#endif
