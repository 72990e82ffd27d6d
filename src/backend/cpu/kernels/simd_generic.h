/* simd_generic.h - sixteen lanes in plain C vectors, for any machine. Included by simd.h only. */
#ifndef PK_CPU_SIMD_GENERIC_H
#define PK_CPU_SIMD_GENERIC_H
#pragma GCC diagnostic ignored "-Wpsabi"        /* every function that passes a vector is inlined */

typedef float   vf __attribute__((vector_size(64), aligned(16)));
typedef int32_t vi __attribute__((vector_size(64), aligned(16)));

INLINE vf vf_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf   vf_all(float x) { return (vf){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }; }
INLINE vf   vf_load_part(const float *p, int32_t n) {
    vf v = vf_all(0);
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}
INLINE void vf_store_part(float *p, vf v, int32_t n) { memcpy(p, &v, (size_t)n * sizeof *p); }
INLINE vf   vf_first(vf v, int32_t n, float fill) {
    for (int i = n; i < 16; i++) v[i] = fill;
    return v;
}
INLINE vf   vf_load_f16(const uint16_t *p) {
    vi bits;
    for (int i = 0; i < 16; i++) bits[i] = p[i];
    const vi sign = (bits & 0x8000) << 16, body = bits & 0x7fff;
    /* moving the bits scales by 2^-112, exactly undone by the product; infinities are put back */
    const vf value = (vf)(body << 13) * 0x1p112f;
    return (vf)((vi)value | sign | ((body >= 0x7c00) & 0x7f800000));
}
INLINE vf vf_add(vf a, vf b) { return a + b; }
INLINE vf vf_sub(vf a, vf b) { return a - b; }
INLINE vf vf_mul(vf a, vf b) { return a * b; }
INLINE vf vf_div(vf a, vf b) { return a / b; }
INLINE vf vf_pick(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
INLINE vf vf_max(vf a, vf b) { return vf_pick(a > b, a, b); }
INLINE vf vf_min(vf a, vf b) { return vf_pick(a < b, a, b); }
INLINE vf vf_abs(vf a) { return (vf)((vi)a & 0x7fffffff); }
INLINE vf vf_fma(vf a, vf b, vf c) {            /* a b + c; fused only where the machine can */
#ifdef __FP_FAST_FMAF
    for (int i = 0; i < 16; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}
INLINE vi vf_nearest(vf a) {                    /* |a| < 2^22: the sum leaves no room for a fraction */
    const vf shift = vf_all(12582912.0f);
    return (vi)(a + shift) - (vi)shift;
}
INLINE vf       vf_of(vi a) { return __builtin_convertvector(a, vf); }
INLINE uint32_t vf_at_least(vf a, vf b) {
    const vi yes = a >= b;
    uint32_t bits = 0;
    for (int i = 0; i < 16; i++) bits |= (uint32_t)(yes[i] & 1) << i;
    return bits;
}
INLINE vf    vf_where_less(vf a, vf b, vf yes, vf no) { return vf_pick(a < b, yes, no); }
INLINE vf    vf_power_of_2(vi n) { return (vf)((n + 127) << 23); }
INLINE float vf_sum(vf a) {
    float s[8];
    for (int i = 0; i < 8; i++) s[i] = a[i] + a[i + 8];
    for (int n = 4; n > 0; n /= 2)
        for (int i = 0; i < n; i++) s[i] += s[i + n];
    return s[0];
}
INLINE float vf_most(vf a) {
    float most = a[0];
    for (int i = 1; i < 16; i++) most = a[i] > most ? a[i] : most;
    return most;
}

INLINE vi vi_load(const int32_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
INLINE vi   vi_all(int32_t x) { return (vi){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }; }
INLINE vi   vi_add(vi a, vi b) { return a + b; }
INLINE vi   vi_sub(vi a, vi b) { return a - b; }
INLINE int32_t vi_sum(vi a) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += a[i];
    return sum;
}
INLINE void vi_narrow(int8_t *p, vi v) {
    for (int i = 0; i < 16; i++) p[i] = (int8_t)(v[i] > 127 ? 127 : v[i] < -128 ? -128 : v[i]);
}
INLINE vf vf_sum16(const vf *a) {
    vf v;
    for (int i = 0; i < 16; i++) v[i] = vf_sum(a[i]);
    return v;
}
#endif
