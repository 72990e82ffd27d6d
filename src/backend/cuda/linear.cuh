/* linear.cuh - what the kernels of linear share: the job, copies, fragments, and what follows a
 * sum.
 *
 * The order of the sum over cols is the same in every kernel. The columns are cut into tiles of
 * 16 and the tiles into 8 chunks, see chunk_start(). A chunk is one chain of additions from zero
 * in the order of its columns. Then total = 0, and the 8 chunks are added to it in order. An
 * empty chunk adds +0 and may be left out. What follows, see finished(), is written with
 * intrinsics that the compiler never fuses with others, so that all kernels round alike. */
#ifndef PK_BACKEND_CUDA_LINEAR_CUH
#define PK_BACKEND_CUDA_LINEAR_CUH
#include "backend/cuda/activation.cuh"
#include "backend/cuda/common.cuh"

/* one call of linear, as the kernels get it: out = x w^T and what follows */
struct linear_job {
    const void *w, *x,
        *residual; /* (outputs, cols) in tiles or panels, (rows, cols), (rows, outputs) */
    const float   *scale, *bias; /* (outputs) or NULL */
    const float   *gain, *shift; /* (outputs) or NULL */
    void          *out, *pool;   /* (rows, outputs), (slots, outputs - from) */
    const int32_t *slot;         /* (rows) */
    int            rows, cols, outputs, from;
    int            x_stride, residual_stride, out_stride, pool_stride;
    pk_dtype       pool_type;
    pk_act         act;
    float          epsilon;
    bool           x_aligned; /* every row of x starts on 16 bytes */
    bool           even; /* columns 2i and 2i + 1 of out and residual make one aligned access */
};

/* the kernels' own launchers */
void pk_cuda_linear_chunked(pk_cuda *c, const linear_job &j, pk_dtype weights, int panels,
                            int tiles, bool norm);
void pk_cuda_linear_large(pk_cuda *c, const linear_job &j, pk_dtype weights);
void pk_cuda_linear_wgmma(pk_cuda *c, const linear_job &j, pk_dtype weights);
/* whether sizes are whole, so that the quicker of the large kernels will do */
bool       pk_cuda_linear_straight(const pk_cuda *c, const linear_job &j);
linear_job pk_cuda_linear_job(pk_tensor out, pk_tensor x, const pk_weight *w,
                              const pk_after *after);

enum { CHUNKS = 8, CHUNKED_THREADS = 32 * CHUNKS };

static __host__ __device__ __forceinline__ int k_tiles_of(int cols) { return (cols + 15) / 16; }
/* the first tile of a chunk */
static __host__ __device__ __forceinline__ int chunk_start(int k_tiles, int chunk) {
    return chunk * k_tiles / CHUNKS;
}

/* ---- copies that overlap with the arithmetic ---- */

/* elements of x beyond the end are zeros, whatever lies there: 16 bytes from (row, k) on */
template <typename T>
__device__ __forceinline__ void copy_of_x(T *to, const linear_job &j, int row, int k) {
    const int left = row < j.rows ? (j.cols - k) * (int)sizeof(T) : 0;
    const T  *from = (const T *)j.x + (left > 0 ? (size_t)row * (size_t)j.x_stride + (size_t)k : 0);
    copy_16(to, from, left > 16 ? 16 : left > 0 ? left : 0);
}

template <typename T> __device__ __forceinline__ T x_or_zero(const linear_job &j, int row, int k) {
    if (row >= j.rows || k >= j.cols) return from_float<T>(0.0f);
    return ((const T *)j.x)[(size_t)row * (size_t)j.x_stride + (size_t)k];
}

/* One warp brings (ROWS, 16 * tiles) of x, from (first_row, first_k) on, into `to`, rows `stride`
 * apart. Eight lanes take 128 bytes of a row. */
template <typename T, int ROWS>
__device__ __forceinline__ void stage_x(T *to, int stride, const linear_job &j, int first_row,
                                        int first_k, int tiles, int lane) {
    constexpr int PIECE = 16 / (int)sizeof(T);
    if (j.x_aligned) {
#pragma unroll
        for (int r = 0; r < ROWS; r += 4)
            for (int k = lane % 8 * PIECE; k < 16 * tiles; k += 8 * PIECE) {
                const int row = r + lane / 8;
                copy_of_x(to + row * stride + k, j, first_row + row, first_k + k);
            }
    } else {
        for (int row = 0; row < ROWS; row++)
            for (int k = lane; k < 16 * tiles; k += 32)
                to[row * stride + k] = x_or_zero<T>(j, first_row + row, first_k + k);
    }
}

/* ---- tiles of weights and the matrix units ---- */

/* what a lane holds of a tile of 16 x 16 weights, as it lies in memory */
template <typename W> struct tile_of { typedef uint4 piece; };
template <> struct tile_of<int8_t> { typedef uint2 piece; };

/* four integers (plus 128) to two pairs of 16-bit floats; exact */
static __device__ __forceinline__ void widen_four(uint32_t biased, __half, uint32_t &low,
                                                  uint32_t &high) {
    const __half2 bias = __half2half2(__ushort_as_half(0x6480));        /* 1024 + 128 */
    uint32_t      pair[2] = { __byte_perm(biased, 0x64646464u, 0x4140), /* 1024 + integer */
                              __byte_perm(biased, 0x64646464u, 0x4342) };
    for (int i = 0; i < 2; i++) {
        const __half2 value = __hsub2(*(__half2 *)&pair[i], bias);
        pair[i] = *(const uint32_t *)&value;
    }
    low = pair[0], high = pair[1];
}
static __device__ __forceinline__ void widen_four(uint32_t biased, __nv_bfloat16, uint32_t &low,
                                                  uint32_t &high) {
    uint32_t value[4];
    for (int i = 0; i < 4;
         i++) { /* 2^23 + integer, as a float; then only the upper half has bits */
        const uint32_t bits = __byte_perm(biased, 0x4B000000u, 0x7440u + (uint32_t)i);
        value[i] = __float_as_uint(__uint_as_float(bits) - 8388736.0f);
    }
    low = __byte_perm(value[0], value[1], 0x7632), high = __byte_perm(value[2], value[3], 0x7632);
}

template <typename T> __device__ __forceinline__ uint4 widen(uint4 a) { return a; }
template <typename T> __device__ __forceinline__ uint4 widen(uint2 a) {
    uint4 w;
    widen_four(a.x ^ 0x80808080u, T(), w.x, w.y);
    widen_four(a.y ^ 0x80808080u, T(), w.z, w.w);
    return w;
}

/* Where a lane points for load_x: bytes from the first element of a tile of x, whose rows lie
 * `stride` elements apart. Lanes 0-7 and 8-15 name the halves (in k) of 8 rows, 16-31 those of the
 * next 8. */
template <int TILES> __device__ __forceinline__ uint32_t x_lane_offset(int stride, int lane) {
    const int row = lane % 8 + (TILES > 1 ? lane / 16 * 8 : 0), k = lane / 8 % 2 * 8;
    return (uint32_t)(row * stride + k) * 2;
}

/* b: (16 k, 8 * TILES rows) from shared memory; at: the tile's first element plus x_lane_offset()
 */
template <int TILES>
__device__ __forceinline__ void load_x(uint32_t (&b)[TILES][2], uint32_t at, int stride) {
    if constexpr (TILES == 1) {
        load_two(b[0], at);
    } else {
#pragma unroll
        for (int i = 0; i < TILES; i += 2) {
            uint32_t four[4];
            load_four(four, at + (uint32_t)(8 * i * stride) * 2);
            b[i][0] = four[0], b[i][1] = four[1], b[i + 1][0] = four[2], b[i + 1][1] = four[3];
        }
    }
}

/* ---- what follows a sum ---- */

template <typename W> struct is_scaled { static constexpr bool value = false; };
template <> struct is_scaled<int8_t> { static constexpr bool value = true; };

/* scale, bias, activation and residual of one sum, in this order */
template <typename T, typename W>
__device__ __forceinline__ T finished(float sum, float scale, float bias, pk_act act,
                                      float residual) {
    const float x = is_scaled<W>::value ? __fmaf_rn(sum, scale, bias) : __fadd_rn(sum, bias);
    return from_float<T>(__fadd_rn(activate(x, act), residual));
}

template <typename T>
__device__ __forceinline__ float residual_at(const linear_job &j, int row, int col) {
    if (!j.residual || row >= j.rows || col >= j.outputs) return 0;
    return to_float(((const T *)j.residual)[(size_t)row * (size_t)j.residual_stride + (size_t)col]);
}

static __device__ __forceinline__ int slot_at(const linear_job &j, int row) {
    return j.pool && row < j.rows ? j.slot[row] : 0;
}

/* also into the pool of keys and values, where there is one */
template <typename T>
__device__ __forceinline__ void scatter(const linear_job &j, int slot, int col, T value) {
    if (!j.pool || col < j.from) return;
    const size_t at = (size_t)slot * (size_t)j.pool_stride + (size_t)(col - j.from);
    const float  x = to_float(value);
    if (j.pool_type == PK_F32)
        ((float *)j.pool)[at] = x;
    else if (j.pool_type == PK_F16)
        ((__half *)j.pool)[at] = from_float<__half>(x);
    else
        ((__nv_bfloat16 *)j.pool)[at] = from_float<__nv_bfloat16>(x);
}

/* two neighbours at once where they lie well; T is a 16-bit type */
template <typename T>
__device__ __forceinline__ void residual_pair(const linear_job &j, int row, int col,
                                              float (&pair)[2]) {
    if (!j.even || !j.residual || row >= j.rows || col >= j.outputs) {
        for (int i = 0; i < 2; i++) pair[i] = residual_at<T>(j, row, col + i);
        return;
    }
    const T *from = (const T *)j.residual + (size_t)row * (size_t)j.residual_stride + (size_t)col;
    const uint32_t bits = *(const uint32_t *)from;
    for (int i = 0; i < 2; i++) pair[i] = to_float(((const T *)&bits)[i]);
}

/* col + 1 may lie beyond the end */
template <typename T>
__device__ __forceinline__ void store_pair(const linear_job &j, int row, int col,
                                           const T (&pair)[2]) {
    T *to = (T *)j.out + (size_t)row * (size_t)j.out_stride + (size_t)col;
    if (j.even) {
        uint32_t bits;
        for (int i = 0; i < 2; i++) ((T *)&bits)[i] = pair[i];
        *(uint32_t *)to = bits;
    } else {
        for (int i = 0; i < 2; i++)
            if (col + i < j.outputs) to[i] = pair[i];
    }
}

template <typename T>
__device__ __forceinline__ void keep(const linear_job &j, int row, int col, int slot, T value) {
    if (row >= j.rows || col >= j.outputs) return;
    ((T *)j.out)[(size_t)row * (size_t)j.out_stride + (size_t)col] = value;
    scatter(j, slot, col, value);
}

/* ---- merging chunks that were summed side by side ---- */

/* Each chunk leaves its sums in a region of its own: (rows, outputs), rows this many floats apart,
 * so that neither the lanes that write fragments nor those that read rows meet in a bank. */
template <int PANELS> struct partial {
    static constexpr int OUTPUTS = 16 * PANELS, STRIDE = OUTPUTS + 4;
};

/* the sum of all chunks, in the order given at the top of this file */
static __device__ __forceinline__ float chunks_merged(const char *memory, int region, int index) {
    float total = 0;
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        total = __fadd_rn(total, ((const float *)(memory + chunk * region))[index]);
    return total;
}

/* what a thread needs besides the sums for its share of (rows, outputs): always the same output,
 * and every (CHUNKED_THREADS / outputs)th row */
template <int EACH> struct ending {
    float scale, bias, residual[EACH];
    int   slot[EACH];
};

template <int EACH>
__device__ __forceinline__ void ending_constants(ending<EACH> &e, const linear_job &j, int col) {
    e.scale = j.scale && col < j.outputs ? j.scale[col] : 0;
    e.bias = j.bias && col < j.outputs ? j.bias[col] : 0;
}

/* what other kernels write; row_step: rows between this thread's */
template <typename T, int EACH>
__device__ __forceinline__ void ending_variables(ending<EACH> &e, const linear_job &j, int row,
                                                 int row_step, int col) {
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        e.residual[i] = residual_at<T>(j, row + i * row_step, col);
        e.slot[i] = slot_at(j, row + i * row_step);
    }
}
#endif
