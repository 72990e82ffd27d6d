/* train.cuh - what the ops of training share on the GPU: rows in vectors, dropout, products.
 *
 * Activations, their gradients and the weights are of the backend's type T (float or bfloat16);
 * gradients of weights are float and added to, in any order. Where rows start on 16 bytes they are
 * read and written 16 bytes at a time, else number by number: every kernel has both forms.
 * Weights change between updates: nothing is read before wait_for_previous(). */
#ifndef PK_BACKEND_CUDA_TRAIN_CUH
#define PK_BACKEND_CUDA_TRAIN_CUH
#include "backend/cuda/common.cuh"

extern "C" {
#include "tensor/training.h"
}

extern const pk_training pk_cuda_training;

/* train_product.cu: cuBLASLt, found when training begins; close accepts that it never did */
pk_status pk_cuda_open_products(pk_cuda *c);
void      pk_cuda_close_products(pk_cuda *c);
void      pk_cuda_product(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                          const pk_weight *bias);
void      pk_cuda_product_back(void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias,
                               pk_tensor d_out, pk_tensor x, const pk_weight *w);

/* nccl.cu: sums over ranks; close accepts that there is no link */
pk_status pk_cuda_link_id(void *self, unsigned char id[PK_LINK_BYTES]);
pk_status pk_cuda_link_ranks(void *self, int32_t n, int32_t rank,
                             const unsigned char id[PK_LINK_BYTES]);
void      pk_cuda_close_link(pk_cuda *c);
void      pk_cuda_sum_linked(void *self, float *x, size_t n);
void      pk_cuda_wait_linked(void *self);

/* train_plain.cu: products of any shape and alignment, slowly; sums of columns */
struct pk_cuda_plain {        /* out (rows, cols) = a b, or added where `add` */
    const void *a, *b, *bias; /* (rows, inner), (inner, cols), (cols) or NULL */
    void       *out;
    int64_t     a_row, a_col, b_row, b_col, out_row; /* elements from one to the next */
    int         rows, cols, inner;
    bool        add, wide; /* wide: out is float whatever the arithmetic */
};
void pk_cuda_multiply_plain(pk_cuda *c, const pk_cuda_plain &job);
/* sums (wanted) += the columns of x; x may have more of them */
void pk_cuda_sum_columns(pk_cuda *c, pk_tensor x, int32_t wanted, float *sums);

/* the other ops, by file: train_rows.cu, train_norm.cu, train_attend.cu, train_attend_back.cu,
 * train_loss.cu, train_update.cu */
void pk_cuda_train_embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                         float scale, const pk_weight *position, const int32_t *pos, pk_drop drop);
void pk_cuda_train_embed_back(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                              float scale, float *d_position, const int32_t *pos, pk_drop drop);
void pk_cuda_activate(void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop);
void pk_cuda_activate_back(void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act,
                           pk_drop drop);
void pk_cuda_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                      pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                      float *moments);
void pk_cuda_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                           float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                           const float *moments, pk_drop drop);
void pk_cuda_train_norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                        const pk_weight *shift, float epsilon, float *moments);
void pk_cuda_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                       pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments);
void pk_cuda_train_attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                          const pk_attention *see, pk_drop drop, float *sums);
void pk_cuda_attend_back(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                         pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                         const pk_attention *see, pk_drop drop, const float *sums);
void pk_cuda_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                  pk_tensor d_hidden, float *d_table, float *d_bias, void *work);
size_t pk_cuda_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows);
void   pk_cuda_squares(void *self, const float *x, size_t n, double *sum);
void   pk_cuda_update(void *self, const pk_update *u);
void   pk_cuda_round_weights(void *self, void *weights, const float *master, size_t n);

/* on_type() for the types that can be trained in */
template <typename F> void on_learning_type(pk_dtype type, F f) {
    if (type == PK_BF16)
        f(__nv_bfloat16());
    else
        f(float());
}

/* ---- 16 bytes at a time ---- */

template <typename T> constexpr int lot = 16 / (int)sizeof(T); /* numbers in 16 bytes */

static inline bool aligned_16(const void *p) { return (uintptr_t)p % 16 == 0; }
static inline bool aligned_16(pk_tensor t, size_t each) {
    return !t.data || (aligned_16(t.data) && (size_t)t.stride * each % 16 == 0);
}
static inline bool aligned_16(const pk_weight *w) { return !w || aligned_16(w->data); }

template <int V> struct some { /* V neighbours */
    float at[V];
};

static __device__ __forceinline__ float low_half(uint32_t x) { return __uint_as_float(x << 16); }
static __device__ __forceinline__ float high_half(uint32_t x) {
    return __uint_as_float(x & 0xffff0000u);
}
static __device__ __forceinline__ uint32_t two_halves(float low, float high) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t *>(&both);
}

static __device__ __forceinline__ some<8> unpacked(uint4 x, __nv_bfloat16) {
    return some<8>{ { low_half(x.x), high_half(x.x), low_half(x.y), high_half(x.y), low_half(x.z),
                      high_half(x.z), low_half(x.w), high_half(x.w) } };
}
static __device__ __forceinline__ some<4> unpacked(uint4 x, float) {
    return some<4>{ { __uint_as_float(x.x), __uint_as_float(x.y), __uint_as_float(x.z),
                      __uint_as_float(x.w) } };
}
static __device__ __forceinline__ uint4 packed(const some<8> &x, __nv_bfloat16) {
    return make_uint4(two_halves(x.at[0], x.at[1]), two_halves(x.at[2], x.at[3]),
                      two_halves(x.at[4], x.at[5]), two_halves(x.at[6], x.at[7]));
}
static __device__ __forceinline__ uint4 packed(const some<4> &x, float) {
    return make_uint4(__float_as_uint(x.at[0]), __float_as_uint(x.at[1]), __float_as_uint(x.at[2]),
                      __float_as_uint(x.at[3]));
}

/* V: one number, or all of 16 bytes */
template <int V, typename T> __device__ __forceinline__ some<V> load(const T *from) {
    if constexpr (V == 1)
        return some<1>{ { to_float(*from) } };
    else
        return unpacked(*reinterpret_cast<const uint4 *>(from), T());
}
template <int V, typename T> __device__ __forceinline__ void store(T *to, const some<V> &x) {
    if constexpr (V == 1)
        *to = from_float<T>(x.at[0]);
    else
        *reinterpret_cast<uint4 *>(to) = packed(x, T());
}

/* what is left of a number once it was stored */
template <typename T> __device__ __forceinline__ float rounded(float x) {
    return to_float(from_float<T>(x));
}

static __device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* ---- dropout, bit by bit as tensor/drop.h has it ---- */

struct dropping {
    uint64_t key;
    uint32_t threshold; /* 0: all survive */
    float    keep;      /* what those that survive are multiplied with */
};

static inline dropping dropping_of(pk_drop d) {
    return d.rate > 0 ? dropping{ d.key, pk_drop_threshold(d.rate), 1.0f / (1.0f - d.rate) }
                      : dropping{ d.key, 0, 1 };
}

static __device__ __forceinline__ float drop_factor(const dropping &d, uint64_t bits, int which) {
    return ((uint32_t)(bits >> (16 * which)) & 0xffffu) < d.threshold ? 0.0f : d.keep;
}

/* multiplies neighbours, of which `first` is a multiple of V */
template <int V>
__device__ __forceinline__ void drop_some(some<V> &x, const dropping &d, uint64_t first) {
    if (d.threshold == 0) {
#pragma unroll
        for (int i = 0; i < V; i++) x.at[i] *= d.keep;
    } else if constexpr (V == 1) {
        x.at[0] *= drop_factor(d, pk_drop_bits(d.key, first >> 2), (int)(first & 3));
    } else {
#pragma unroll
        for (int i = 0; i < V; i += 4) {
            const uint64_t bits = pk_drop_bits(d.key, (first >> 2) + (uint64_t)(i / 4));
#pragma unroll
            for (int e = 0; e < 4; e++) x.at[i + e] *= drop_factor(d, bits, e);
        }
    }
}

/* ---- adding to gradients ---- */

/* four neighbours, on 16 bytes */
static __device__ __forceinline__ void add_four(float *to, float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a),
                 "f"(b), "f"(c), "f"(d)
                 : "memory");
#else
    atomicAdd(to, a), atomicAdd(to + 1, b), atomicAdd(to + 2, c), atomicAdd(to + 3, d);
#endif
}

/* to: on 16 bytes where V is more than one */
template <int V> __device__ __forceinline__ void add_some(float *to, const some<V> &x) {
    if constexpr (V == 1) {
        atomicAdd(to, x.at[0]);
    } else {
#pragma unroll
        for (int i = 0; i < V; i += 4)
            add_four(to + i, x.at[i], x.at[i + 1], x.at[i + 2], x.at[i + 3]);
    }
}
#endif
