/* cuda_bf16.h - bfloat16, as far as the cuda backend uses it; for the emulated GPU. */
#ifndef PK_TESTS_EMULATOR_CUDA_BF16_H
#define PK_TESTS_EMULATOR_CUDA_BF16_H
#include "cuda_runtime.h"

struct __nv_bfloat16 {
    unsigned short bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
static inline float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float((unsigned)x.bits << 16);
}
/* nearest, ties to even */
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const unsigned bits = __float_as_uint(x);
    if (isnan(x)) return { 0x7fff };
    return { (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16) };
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return { __float2bfloat16_rn(x), __float2bfloat16_rn(y) };
}
#endif
