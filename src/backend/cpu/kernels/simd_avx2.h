/* simd_avx2.h - sixteen lanes as two ymm registers: lo has lanes 0 to 7, hi 8 to 15. Included by
 * simd.h only; what each function gives is said there. */
#ifndef PK_CPU_SIMD_AVX2_H
#define PK_CPU_SIMD_AVX2_H
#include <immintrin.h>

typedef struct vf {
    __m256 lo, hi;
} vf;
typedef struct vi {
    __m256i lo, hi;
} vi;

#define EACH(call, a, b)     ((vf){ call((a).lo, (b).lo), call((a).hi, (b).hi) })
#define EACH_INT(call, a, b) ((vi){ call((a).lo, (b).lo), call((a).hi, (b).hi) })

INLINE __m256i first_lanes(int32_t n) { /* n may be below 0 or beyond 8 */
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
}
INLINE vf   vf_load(const float *p) { return (vf){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) }; }
INLINE void vf_store(float *p, vf v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
}
INLINE vf vf_load_part(const float *p, int32_t n) {
    return (vf){ _mm256_maskload_ps(p, first_lanes(n)),
                 _mm256_maskload_ps(p + 8, first_lanes(n - 8)) };
}
INLINE void vf_store_part(float *p, vf v, int32_t n) {
    _mm256_maskstore_ps(p, first_lanes(n), v.lo);
    _mm256_maskstore_ps(p + 8, first_lanes(n - 8), v.hi);
}
INLINE vf vf_load_f16(const uint16_t *p) {
    const __m128i *h = (const __m128i *)(const void *)p;
    return (vf){ _mm256_cvtph_ps(_mm_loadu_si128(h)), _mm256_cvtph_ps(_mm_loadu_si128(h + 1)) };
}
INLINE void vf_store_f16(uint16_t *p, vf v) { /* nearest, ties to even */
    __m128i *h = (__m128i *)(void *)p;
    _mm_storeu_si128(h, _mm256_cvtps_ph(v.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(h + 1, _mm256_cvtps_ph(v.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE vf vf_all(float x) { return (vf){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
INLINE vf vf_first(vf v, int32_t n, float fill) {
    const __m256 rest = _mm256_set1_ps(fill);
    return (vf){ _mm256_blendv_ps(rest, v.lo, _mm256_castsi256_ps(first_lanes(n))),
                 _mm256_blendv_ps(rest, v.hi, _mm256_castsi256_ps(first_lanes(n - 8))) };
}
INLINE vf vf_add(vf a, vf b) { return EACH(_mm256_add_ps, a, b); }
INLINE vf vf_sub(vf a, vf b) { return EACH(_mm256_sub_ps, a, b); }
INLINE vf vf_mul(vf a, vf b) { return EACH(_mm256_mul_ps, a, b); }
INLINE vf vf_div(vf a, vf b) { return EACH(_mm256_div_ps, a, b); }
INLINE vf vf_max(vf a, vf b) { return EACH(_mm256_max_ps, a, b); }
INLINE vf vf_min(vf a, vf b) { return EACH(_mm256_min_ps, a, b); }
INLINE vf vf_abs(vf a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return (vf){ _mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi) };
}
INLINE vf vf_fma(vf a, vf b, vf c) { /* a b + c */
    return (vf){ _mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi) };
}
INLINE vi vf_nearest(vf a) { return (vi){ _mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi) }; }
INLINE vf vf_of(vi a) { return (vf){ _mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi) }; }
INLINE uint32_t vf_at_least(vf a, vf b) {
    const int lo = _mm256_movemask_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_GE_OQ));
    const int hi = _mm256_movemask_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_GE_OQ));
    return (uint32_t)lo | (uint32_t)hi << 8;
}
INLINE vf vf_where_less(vf a, vf b, vf yes, vf no) {
    return (vf){ _mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
                 _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)) };
}
/* 2^n: n goes into the exponent bits; n of a normal number only */
INLINE __m256 power_of_2(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
INLINE vf    vf_power_of_2(vi n) { return (vf){ power_of_2(n.lo), power_of_2(n.hi) }; }
INLINE float vf_sum(vf a) {
    const __m256 eight = _mm256_add_ps(a.lo, a.hi);
    __m128       x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
INLINE float vf_most(vf a) {
    const __m256 eight = _mm256_max_ps(a.lo, a.hi);
    __m128       x = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

INLINE vi vi_load(const int32_t *p) {
    const __m256i *v = (const __m256i *)(const void *)p;
    return (vi){ _mm256_loadu_si256(v), _mm256_loadu_si256(v + 1) };
}
INLINE void vi_store(int32_t *p, vi v) {
    _mm256_storeu_si256((__m256i *)(void *)p, v.lo);
    _mm256_storeu_si256((__m256i *)(void *)(p + 8), v.hi);
}
INLINE vi      vi_all(int32_t x) { return (vi){ _mm256_set1_epi32(x), _mm256_set1_epi32(x) }; }
INLINE vi      vi_add(vi a, vi b) { return EACH_INT(_mm256_add_epi32, a, b); }
INLINE vi      vi_sub(vi a, vi b) { return EACH_INT(_mm256_sub_epi32, a, b); }
INLINE int32_t vi_sum(vi a) {
    const __m256i eight = _mm256_add_epi32(a.lo, a.hi);
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
}
INLINE void vi_narrow(int8_t *p, vi v) {
    /* packs works inside 128-bit halves: dwords come out as 0-3 8-11 4-7 12-15 of the bytes */
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(v.lo, v.hi), 0xd8);
    const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_packs_epi16(low, high));
}

/* the sums of eight vectors, each folded to eight lanes first */
INLINE __m256 sum8(const vf *a) {
    __m256 f[8];
    UNROLL for (int i = 0; i < 8; i++) f[i] = _mm256_add_ps(a[i].lo, a[i].hi);
    const __m256 x = _mm256_hadd_ps(_mm256_hadd_ps(f[0], f[1]), _mm256_hadd_ps(f[2], f[3]));
    const __m256 y = _mm256_hadd_ps(_mm256_hadd_ps(f[4], f[5]), _mm256_hadd_ps(f[6], f[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
}
INLINE vf vf_sum16(const vf *a) { return (vf){ sum8(a), sum8(a + 8) }; }
#undef EACH
#undef EACH_INT
#endif
