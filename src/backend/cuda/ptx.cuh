/* ptx.cuh - instructions that CUDA C has no words for, as functions: one place for all that every
 * GPU has. (What only Hopper has is with its users: clusters, wgmma, early starts.)
 *
 * tests/emulator/ptx.h has the same functions for a CPU; one that is added here is added there. */
#ifndef PK_BACKEND_CUDA_PTX_CUH
#define PK_BACKEND_CUDA_PTX_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

/* ---- copies to shared memory that are not waited for ---- */

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* 16 bytes into shared memory: `bytes` of them from `from`, then zeros */
static __device__ __forceinline__ void copy_16(void *to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void copies_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* until at most N of the groups committed last are still under way */
template <int N> __device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* n bytes of 4 or 16, or zeros */
template <int BYTES>
static __device__ __forceinline__ void copy_or_clear(void *to, const void *from, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(from), "n"(BYTES), "r"(there ? BYTES : 0)
                 : "memory");
}

/* until all copies of this thread are there */
static __device__ __forceinline__ void copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* ---- loads ---- */

/* Weights are read once per block and never change. Volatile, so that they stay in front of
 * wait_for_previous(). */
static __device__ __forceinline__ void fetch(uint4 &a, const uint4 *from) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w)
                 : "l"(from));
}
static __device__ __forceinline__ void fetch(uint2 &a, const uint2 *from) {
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(a.x), "=r"(a.y)
                 : "l"(from));
}

/* A load that the compiler may not move. It would otherwise wait for the count before it loads the
 * first key, which costs one more access to memory. */
static __device__ __forceinline__ int load_now(const int32_t *from) {
    int x;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
    return x;
}

/* Matrices of 8 x 8 numbers of 16 bits from shared memory. Lanes 0-7 say where the rows of the first
 * one begin, 8-15 those of the second, and so on. A lane gets two neighbours of row lane / 4;
 * transposed: of column lane / 4. */
static __device__ __forceinline__ void load_two(uint32_t (&r)[2], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(at)
                 : "memory");
}
static __device__ __forceinline__ void load_four(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}
static __device__ __forceinline__ void load_four_transposed(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

/* ---- arithmetic ---- */

static __device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* sum (16 outputs, 8 rows) += a (16 outputs, 16 k) b (16 k, 8 rows) */
static __device__ __forceinline__ void multiply(float (&sum)[4], uint4 a, const uint32_t (&b)[2],
                                                __half) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void multiply(float (&sum)[4], uint4 a, const uint32_t (&b)[2],
                                                __nv_bfloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]));
}

/* the same, with sums that start from zero */
static __device__ __forceinline__ void multiply_first(float (&sum)[4], uint4 a,
                                                      const uint32_t (&b)[2], __half) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}
static __device__ __forceinline__ void multiply_first(float (&sum)[4], uint4 a,
                                                      const uint32_t (&b)[2], __nv_bfloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}
#endif
