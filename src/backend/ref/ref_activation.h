/* ref_activation.h - the activations and their slopes, one number at a time. */
#ifndef PK_BACKEND_REF_ACTIVATION_H
#define PK_BACKEND_REF_ACTIVATION_H
#include <math.h>

#include "tensor/types.h"

/* GELU is x times the normal distribution's integral up to x (Hendrycks and Gimpel 2016); swish
 * is x times its sigmoid (Ramachandran et al. 2017) */
static inline float pk_ref_activate(float x, pk_act act) {
    switch (act) {
    case PK_RELU: return x > 0 ? x : 0;
    case PK_GELU: return (float)(0.5 * x * (1 + erf(x * M_SQRT1_2)));
    case PK_SWISH: return (float)(x / (1 + exp(-(double)x)));
    default: return x;
    }
}

/* the derivative at x */
static inline double pk_ref_slope(double x, pk_act act) {
    const double sigmoid = 1 / (1 + exp(-x));
    switch (act) {
    case PK_RELU: return x > 0;
    case PK_GELU: /* the normal distribution's integral, and x times its density */
        return 0.5 * (1 + erf(x * M_SQRT1_2)) +
               x * exp(-0.5 * x * x) * 0.5 * M_2_SQRTPI * M_SQRT1_2;
    case PK_SWISH: return sigmoid * (1 + x * (1 - sigmoid));
    default: return 1;
    }
}
#endif
