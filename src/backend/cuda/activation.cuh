/* activation.cuh - the activations and their slopes, one number at a time. */
#ifndef PK_CUDA_ACTIVATION_CUH
#define PK_CUDA_ACTIVATION_CUH
#include "backend/cuda/common.cuh"

static __device__ __forceinline__ float activate(float x, pk_act act) {
    switch (act) {
    case PK_RELU: return x > 0 ? x : 0;
    case PK_GELU: return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
    case PK_SWISH: return x / (1 + expf(-x));
    default: return x;
    }
}

/* the derivative at x; formulas as in ref/ref_activation.h */
static __device__ __forceinline__ float slope(float x, pk_act act) {
    switch (act) {
    case PK_RELU: return x > 0 ? 1.0f : 0.0f;
    case PK_GELU: /* the normal distribution's integral, and x times its density */
        return 0.5f * (1 + erff(x * 0.70710678118654752f)) +
               x * expf(-0.5f * x * x) * 0.39894228040143268f;
    case PK_SWISH: {
        const float sigmoid = 1 / (1 + expf(-x));
        return sigmoid * (1 + x * (1 - sigmoid));
    }
    default: return 1;
    }
}
#endif
