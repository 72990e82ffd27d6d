/* activation.h - the activations and their slopes, sixteen at a time; formulas as in
 * ref/ref_activation.h. 0.7071 = 1 / sqrt(2), 0.3989 = 1 / sqrt(2 pi). */
#ifndef PK_CPU_ACTIVATION_H
#define PK_CPU_ACTIVATION_H
#include "backend/cpu/kernels/simd.h"
#include "tensor/backend.h"

INLINE vf sigmoid(vf x) {
    return vf_div(vf_all(1), vf_add(vf_all(1), vf_exp(vf_sub(vf_all(0), x))));
}

/* the normal distribution's integral up to x */
INLINE vf normal_share(vf x) {
    return vf_mul(vf_all(0.5f), vf_add(vf_all(1), vf_erf(vf_mul(x, vf_all(0.707106781f)))));
}

/* sixteen numbers through one activation */
INLINE vf activate(vf x, pk_act act) {
    switch (act) {
    case PK_RELU: return vf_max(x, vf_all(0));
    case PK_GELU:
        return vf_mul(vf_mul(vf_all(0.5f), x),
                      vf_add(vf_all(1), vf_erf(vf_mul(x, vf_all(0.707106781f)))));
    case PK_SWISH: return vf_div(x, vf_add(vf_all(1), vf_exp(vf_sub(vf_all(0), x))));
    default: return x;
    }
}

/* the derivative at x */
INLINE vf slope(vf x, pk_act act) {
    const vf one = vf_all(1);
    switch (act) {
    case PK_RELU: return vf_where_less(vf_all(0), x, one, vf_all(0));
    case PK_GELU: { /* x times the normal density */
        const vf density = vf_exp(vf_mul(vf_mul(x, x), vf_all(-0.5f)));
        return vf_fma(x, vf_mul(density, vf_all(0.398942280f)), normal_share(x));
    }
    case PK_SWISH: {
        const vf s = sigmoid(x);
        return vf_mul(s, vf_fma(x, vf_sub(one, s), one));
    }
    default: return one;
    }
}
#endif
