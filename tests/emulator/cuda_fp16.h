/* cuda_fp16.h - numbers of 16 bits, as far as the cuda backend uses them; for the emulated GPU. */
#ifndef PK_TESTS_EMULATOR_CUDA_FP16_H
#define PK_TESTS_EMULATOR_CUDA_FP16_H
#include <immintrin.h>

#include "cuda_runtime.h"

struct __half {
    unsigned short bits;
};
struct alignas(4) __half2 {
    __half x, y;
};
static inline float  __half2float(__half x) { return _cvtsh_ss(x.bits); }
static inline __half __float2half_rn(float x) {
    return { _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT) };
}
static inline __half         __ushort_as_half(unsigned short x) { return { x }; }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half2        __half2half2(__half x) { return { x, x }; }
static inline float2  __half22float2(__half2 x) { return { __half2float(x.x), __half2float(x.y) }; }
static inline __half2 __hsub2(__half2 a, __half2 b) {
    return { __float2half_rn(__half2float(a.x) - __half2float(b.x)),
             __float2half_rn(__half2float(a.y) - __half2float(b.y)) };
}
#endif
