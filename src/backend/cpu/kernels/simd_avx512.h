/* simd_avx512.h - sixteen lanes as one zmm register; masks take the part of the last lanes.
 * Included by simd.h only; what each function gives is said there. */
#ifndef PK_CPU_SIMD_AVX512_H
#define PK_CPU_SIMD_AVX512_H
#include <immintrin.h>

typedef __m512  vf;
typedef __m512i vi;

INLINE __mmask16 first_lanes(int32_t n) { return (__mmask16)((1u << n) - 1); }
INLINE vf        vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void      vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }

INLINE vf vf_load_part(const float *p, int32_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
INLINE void vf_store_part(float *p, vf v, int32_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), v);
}
INLINE vf vf_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
INLINE void vf_store_f16(uint16_t *p, vf v) { /* nearest, ties to even */
    _mm256_storeu_si256((__m256i *)(void *)p,
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE vf vf_all(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_first(vf v, int32_t n, float fill) {
    return _mm512_mask_mov_ps(_mm512_set1_ps(fill), first_lanes(n), v);
}
INLINE vf       vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf       vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf       vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf       vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
INLINE vf       vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf       vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf       vf_abs(vf a) { return _mm512_abs_ps(a); }
INLINE vf       vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); } /* a b + c */
INLINE vi       vf_nearest(vf a) { return _mm512_cvtps_epi32(a); }
INLINE vf       vf_of(vi a) { return _mm512_cvtepi32_ps(a); }
INLINE uint32_t vf_at_least(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }

INLINE vf vf_where_less(vf a, vf b, vf yes, vf no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
INLINE vf vf_power_of_2(vi n) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}
INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
INLINE float vf_most(vf a) { return _mm512_reduce_max_ps(a); }

INLINE vi      vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
INLINE void    vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
INLINE vi      vi_all(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vi      vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
INLINE vi      vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
INLINE int32_t vi_sum(vi a) { return _mm512_reduce_add_epi32(a); }

INLINE void vi_narrow(int8_t *p, vi v) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtsepi32_epi8(v));
}

INLINE vf add_pairs(vf a, vf b) { /* per 128 bits: a0+a2 b0+b2 a1+a3 b1+b3 */
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}
INLINE vf add_fours(vf a, vf b) { /* per 128 bits: the sums of four sources */
    const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}
INLINE vf add_blocks(vf a, vf b) { /* 128-bit blocks: a0+a1 a2+a3 b0+b1 b2+b3 */
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
INLINE vf sum4(const vf *a) { return add_fours(add_pairs(a[0], a[1]), add_pairs(a[2], a[3])); }
INLINE vf vf_sum16(const vf *a) {
    return add_blocks(add_blocks(sum4(a), sum4(a + 4)), add_blocks(sum4(a + 8), sum4(a + 12)));
}
#endif
