/* simd.h - sixteen floats (vf) or sixteen 32-bit integers (vi) at a time, one panel wide.
 *
 * The same small vocabulary for every instruction set, so that each kernel is written once.
 * Products and sums are fused only where a kernel says vf_fma: the compiler may not, because I8
 * products must have the same bits on every machine. _part loads and stores touch the first n
 * floats (1 <= n <= 16). vf_first replaces lanes n .. 15 by a number (0 <= n <= 16). vf_sum16 gives
 * the sums of sixteen vectors at once, each with the same tree of additions. */
#ifndef PK_CPU_SIMD_H
#define PK_CPU_SIMD_H
#pragma GCC optimize("fp-contract=off")
#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* for loops over registers; not unrolled where speed does not matter, so that builds are quick */
#if defined PK_ISA_generic || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define PK_PASTE_(a, b, c) a##b##_##c
#define PK_PASTE(a, b, c)  PK_PASTE_(a, b, c)
#define PK_KERNEL(name)    PK_PASTE(pk_, name, PK_ISA) /* pk_name_avx2 */

#if defined PK_ISA_avx512
#include "backend/cpu/kernels/simd_avx512.h"
#elif defined PK_ISA_avx2
#include "backend/cpu/kernels/simd_avx2.h"
#else
#include "backend/cpu/kernels/simd_generic.h"
#endif

/* exp(x), error of 1 to 2 ulp; 0 below the smallest normal result. x = n ln 2 + r with |r| <= ln
 * 2 / 2, exp(x) = 2^n p(r); ln 2 is subtracted in two parts (Cody and Waite), p is a polynomial
 * of degree 6. */
INLINE vf vf_exp(vf x) {
    const vf lowest = vf_all(-87.3365448f);
    const vf bounded = vf_min(vf_all(88.0f), vf_max(lowest, x)); /* this order keeps NaN */
    const vi n = vf_nearest(vf_mul(bounded, vf_all(1.44269504f)));
    const vf steps = vf_of(n);
    vf       r = vf_fma(steps, vf_all(-0.693145752f), bounded);
    r = vf_fma(steps, vf_all(-1.42860677e-6f), r); /* the low part of ln 2 */
    vf p = vf_all(0.00139505998f);
    p = vf_fma(p, r, vf_all(0.00836895406f));
    p = vf_fma(p, r, vf_all(0.0416662060f));
    p = vf_fma(p, r, vf_all(0.166665182f));
    p = vf_fma(p, r, vf_all(0.5f));
    p = vf_fma(vf_mul(p, r), r, vf_add(r, vf_all(1.0f)));
    return vf_where_less(x, lowest, vf_all(0), vf_mul(p, vf_power_of_2(n)));
}

/* erf(x), error below 2e-7: an odd polynomial inside [-1, 1], 1 - exp(-a Q(a)) outside */
INLINE vf vf_erf(vf x) {
    const vf a = vf_min(vf_abs(x), vf_all(4.0f)), z = vf_mul(x, x);
    vf       p = vf_all(7.88911930e-5f);
    p = vf_fma(p, z, vf_all(-0.000802084105f));
    p = vf_fma(p, z, vf_all(0.00518953521f));
    p = vf_fma(p, z, vf_all(-0.0268544443f));
    p = vf_fma(p, z, vf_all(0.112836003f));
    p = vf_fma(p, z, vf_all(-0.376126260f));
    p = vf_fma(p, z, vf_all(1.12837911f));
    vf q = vf_all(1.41338387e-5f);
    q = vf_fma(q, a, vf_all(-0.000352332165f));
    q = vf_fma(q, a, vf_all(0.00376466033f));
    q = vf_fma(q, a, vf_all(-0.0240255091f));
    q = vf_fma(q, a, vf_all(0.106549107f));
    q = vf_fma(q, a, vf_all(0.634958327f));
    q = vf_fma(q, a, vf_all(1.12869716f));
    const vf far = vf_sub(vf_all(1.0f), vf_exp(vf_sub(vf_all(0), vf_mul(q, a))));
    const vf signed_far = vf_where_less(x, vf_all(0), vf_sub(vf_all(0), far), far);
    return vf_where_less(a, vf_all(1.0f), vf_mul(p, x), signed_far);
}
#endif
