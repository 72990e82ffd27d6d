/* simd_generic.h - sixteen lanes as four short vectors of plain C, for any machine. Included by
 * simd.h only. The compiler turns each into whatever 128-bit registers there are. */
#ifndef PK_CPU_SIMD_GENERIC_H
#define PK_CPU_SIMD_GENERIC_H

typedef float   float4 __attribute__((vector_size(16)));
typedef int32_t int4 __attribute__((vector_size(16)));
typedef struct vf {
    float4 part[4];
} vf;
typedef struct vi {
    int4 part[4];
} vi;

/* a vf or vi whose parts are each the expression */
#define EACH_PART(type, expression)                            \
    type result;                                               \
    for (int i = 0; i < 4; i++) result.part[i] = (expression); \
    return result

INLINE vf vf_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf   vf_all(float x) { EACH_PART(vf, ((float4){ x, x, x, x })); }

INLINE vf vf_load_part(const float *p, int32_t n) {
    vf v = vf_all(0);
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}
INLINE void vf_store_part(float *p, vf v, int32_t n) { memcpy(p, &v, (size_t)n * sizeof *p); }

INLINE vf vf_first(vf v, int32_t n, float fill) {
    float lanes[16];
    vf_store(lanes, v);
    for (int i = n; i < 16; i++) lanes[i] = fill;
    return vf_load(lanes);
}
INLINE float4 widen(const uint16_t *p) {
    const int4 bits = { p[0], p[1], p[2], p[3] }, sign = (bits & 0x8000) << 16,
               body = bits & 0x7fff;
    /* as pk_f16_to_f32 in tensor/panel.c; the last term puts infinities back */
    const float4 value = (float4)(body << 13) * 0x1p112f;
    return (float4)((int4)value | sign | ((body >= 0x7c00) & 0x7f800000));
}
INLINE vf     vf_load_f16(const uint16_t *p) { EACH_PART(vf, widen(p + 4 * i)); }
INLINE float4 pick(int4 mask, float4 yes, float4 no) {
    return (float4)(((int4)yes & mask) | ((int4)no & ~mask));
}
INLINE vf vf_add(vf a, vf b) { EACH_PART(vf, a.part[i] + b.part[i]); }
INLINE vf vf_sub(vf a, vf b) { EACH_PART(vf, a.part[i] - b.part[i]); }
INLINE vf vf_mul(vf a, vf b) { EACH_PART(vf, a.part[i] * b.part[i]); }
INLINE vf vf_div(vf a, vf b) { EACH_PART(vf, a.part[i] / b.part[i]); }
INLINE vf vf_max(vf a, vf b) { EACH_PART(vf, pick(a.part[i] > b.part[i], a.part[i], b.part[i])); }
INLINE vf vf_min(vf a, vf b) { EACH_PART(vf, pick(a.part[i] < b.part[i], a.part[i], b.part[i])); }
INLINE vf vf_abs(vf a) { EACH_PART(vf, (float4)((int4)a.part[i] & 0x7fffffff)); }
INLINE float4 fuse(float4 a, float4 b, float4 c) {
#ifdef __FP_FAST_FMAF
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}
/* a b + c; fused only where the machine can */
INLINE vf vf_fma(vf a, vf b, vf c) { EACH_PART(vf, fuse(a.part[i], b.part[i], c.part[i])); }
/* |a| < 2^22: adding 1.5 * 2^23 rounds to an integer, which is then in the low bits */
INLINE vi       vf_nearest(vf a) { EACH_PART(vi, (int4)(a.part[i] + 12582912.0f) - 0x4b400000); }
INLINE vf       vf_of(vi a) { EACH_PART(vf, __builtin_convertvector(a.part[i], float4)); }
INLINE uint32_t vf_at_least(vf a, vf b) {
    uint32_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= (uint32_t)(a.part[i / 4][i % 4] >= b.part[i / 4][i % 4]) << i;
    return bits;
}
INLINE vf vf_where_less(vf a, vf b, vf yes, vf no) {
    EACH_PART(vf, pick(a.part[i] < b.part[i], yes.part[i], no.part[i]));
}
INLINE vf    vf_power_of_2(vi n) { EACH_PART(vf, (float4)((n.part[i] + 127) << 23)); }
INLINE float vf_sum(vf a) {
    const float4 s = (a.part[0] + a.part[2]) + (a.part[1] + a.part[3]);
    return (s[0] + s[2]) + (s[1] + s[3]);
}
INLINE float vf_most(vf a) {
    float most = a.part[0][0];
    for (int i = 1; i < 16; i++) most = a.part[i / 4][i % 4] > most ? a.part[i / 4][i % 4] : most;
    return most;
}

INLINE vi vi_load(const int32_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void    vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
INLINE vi      vi_all(int32_t x) { EACH_PART(vi, ((int4){ x, x, x, x })); }
INLINE vi      vi_add(vi a, vi b) { EACH_PART(vi, a.part[i] + b.part[i]); }
INLINE vi      vi_sub(vi a, vi b) { EACH_PART(vi, a.part[i] - b.part[i]); }
INLINE int32_t vi_sum(vi a) {
    const int4 s = a.part[0] + a.part[1] + a.part[2] + a.part[3];
    return s[0] + s[1] + s[2] + s[3];
}
INLINE void vi_narrow(int8_t *p, vi v) {
    for (int i = 0; i < 16; i++) {
        const int32_t x = v.part[i / 4][i % 4];
        p[i] = (int8_t)(x > 127 ? 127 : x < -128 ? -128 : x);
    }
}
INLINE vf vf_sum16(const vf *a) {
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = vf_sum(a[i]);
    return vf_load(sums);
}
#undef EACH_PART
#endif
