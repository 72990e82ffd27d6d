/* large.cuh - the arithmetic of (128 rows, 64 outputs) at a time, two such blocks a
 * multiprocessor: one computes while the other begins or ends.
 *
 * For matrices whose columns are a multiple of 512 and x whose rows lie on 16 bytes: then every
 * chunk of the sum (see linear.cuh) is a whole number of slices of 64 columns, no copy needs a
 * test, and addresses only ever move on. 8 warps, each (32 rows, 32 outputs); slices of x and w
 * travel through shared memory, STAGES - 1 of them ahead. The sums are those of the other
 * kernels, bitwise.
 *
 * Use: large_begin() before wait_for_previous(), then large_rows() with the rows, then
 * large_sums(). */
#ifndef PK_BACKEND_CUDA_LARGE_CUH
#define PK_BACKEND_CUDA_LARGE_CUH
#include "backend/cuda/linear.cuh"

enum {
    LARGE_ROWS = 128,
    LARGE_PANELS = 4, /* 64 outputs */
    LARGE_THREADS = 256,
    LARGE_SLICE = 4, /* tiles of 16 columns */
    LARGE_STAGES = 3,
    LARGE_X_STRIDE = 16 * LARGE_SLICE + 8, /* elements: 9 times 16 bytes, rows in different banks */
    LARGE_X_BYTES = LARGE_ROWS * LARGE_X_STRIDE * 2,
    LARGE_X_PIECES = LARGE_ROWS * LARGE_SLICE * 2 / LARGE_THREADS, /* of 16 bytes, a thread's */
    LARGE_STRIDE = 16 * LARGE_PANELS + 4,                          /* floats between rows of sums */
    LARGE_WARP_PANELS = 2,
    LARGE_WARP_TILES = 4,                            /* of 8 rows */
    LARGE_ACROSS = LARGE_PANELS / LARGE_WARP_PANELS, /* warps side by side over the outputs */
};

template <typename W> struct large_shape {
    static constexpr int TILE = 32 * (int)sizeof(typename tile_of<W>::piece); /* bytes */
    static constexpr int SLICE = LARGE_SLICE * TILE;                          /* of one panel */
    static constexpr int W_PIECES = LARGE_PANELS * SLICE / 16 / LARGE_THREADS;
    static constexpr int STAGE = LARGE_X_BYTES + LARGE_PANELS * SLICE;
    static constexpr int BYTES = LARGE_STAGES * STAGE; /* of shared memory; the sums fit in */
    static_assert(LARGE_ROWS * LARGE_STRIDE * 4 <= BYTES,
                  "the sums reuse the memory of the stages");
};

/* where a thread's copies come from; they move on slice by slice */
template <typename W> struct large_source {
    const char *x[LARGE_X_PIECES], *w[large_shape<W>::W_PIECES];
};

typedef float large_part[LARGE_WARP_PANELS][LARGE_WARP_TILES][4];

/* Panels beyond the last are computed on the last one, and their sums are not stored. */
template <typename W>
__device__ __forceinline__ void large_panels(large_source<W> &s, const void *w, int panels,
                                             int k_tiles, int first_panel) {
    typedef large_shape<W> shape;
#pragma unroll
    for (int i = 0; i < shape::W_PIECES; i++) {
        const int at = ((int)threadIdx.x + i * LARGE_THREADS) * 16;
        const int panel = min(first_panel + at / shape::SLICE, panels - 1);
        s.w[i] =
            (const char *)w + (size_t)panel * (size_t)k_tiles * shape::TILE + at % shape::SLICE;
    }
}

/* the row of the block that a thread's piece i of x belongs to, and the piece's columns */
static __device__ __forceinline__ int large_row(int i) {
    return (int)threadIdx.x / 8 + i * (LARGE_THREADS / 8);
}
static __device__ __forceinline__ int large_column() { return (int)threadIdx.x % 8 * 8; }

template <typename W>
__device__ __forceinline__ void large_bring_w(char *stage, large_source<W> &s) {
#pragma unroll
    for (int i = 0; i < large_shape<W>::W_PIECES; i++) {
        copy_16(stage + LARGE_X_BYTES + ((int)threadIdx.x + i * LARGE_THREADS) * 16, s.w[i], 16);
        s.w[i] += large_shape<W>::SLICE;
    }
}

template <typename W>
__device__ __forceinline__ void large_bring_x(char *stage, large_source<W> &s) {
#pragma unroll
    for (int i = 0; i < LARGE_X_PIECES; i++) {
        copy_16(stage + (large_row(i) * LARGE_X_STRIDE + large_column()) * 2, s.x[i], 16);
        s.x[i] += LARGE_SLICE * 32;
    }
}

/* one slice; FIRST: of its chunk. w_at: this lane's part of the warp's first panel */
template <typename T, typename W, bool FIRST>
__device__ __forceinline__ void large_slice(large_part &sum, const char *w_at, uint32_t x_at) {
    typedef typename tile_of<W>::piece piece;
#pragma unroll
    for (int t = 0; t < LARGE_SLICE; t++) {
        uint32_t b[LARGE_WARP_TILES][2];
        uint4    a[LARGE_WARP_PANELS];
#pragma unroll
        for (int p = 0; p < LARGE_WARP_PANELS; p++)
            a[p] = widen<T>(
                *(const piece *)(w_at + p * large_shape<W>::SLICE + t * large_shape<W>::TILE));
        load_x<LARGE_WARP_TILES>(b, x_at + (uint32_t)(t * 32), LARGE_X_STRIDE);
#pragma unroll
        for (int p = 0; p < LARGE_WARP_PANELS; p++)
#pragma unroll
            for (int i = 0; i < LARGE_WARP_TILES; i++) {
                if (FIRST && t == 0)
                    multiply_first(sum[p][i], a[p], b[i], T());
                else
                    multiply(sum[p][i], a[p], b[i], T());
            }
    }
}

/* the end of a chunk: its sums go to the total */
static __device__ __forceinline__ void large_add(large_part &total, const large_part &sum) {
#pragma unroll
    for (int p = 0; p < LARGE_WARP_PANELS; p++)
#pragma unroll
        for (int i = 0; i < LARGE_WARP_TILES; i++)
#pragma unroll
            for (int e = 0; e < 4; e++) total[p][i][e] = __fadd_rn(total[p][i][e], sum[p][i][e]);
}

/* weights that need no waiting */
template <typename W>
__device__ __forceinline__ void large_begin(char *memory, large_source<W> &s, int slices) {
    for (int i = 0; i < LARGE_STAGES - 1 && i < slices; i++)
        large_bring_w(memory + i * large_shape<W>::STAGE, s);
}

/* The sums of (32 rows, 32 outputs) of this warp, and shared memory free for other use. */
template <typename T, typename W>
__device__ __forceinline__ void large_sums(large_part &total, char *memory, large_source<W> &s,
                                           int slices) {
    typedef large_shape<W> shape;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, per_chunk = slices / CHUNKS;
    const int w_offset = LARGE_X_BYTES + warp % LARGE_ACROSS * LARGE_WARP_PANELS * shape::SLICE +
                         lane * (shape::TILE / 32);
    const uint32_t x_offset =
        shared_address(memory) +
        (uint32_t)(warp / LARGE_ACROSS * LARGE_WARP_TILES * 8 * LARGE_X_STRIDE * 2) +
        x_lane_offset<LARGE_WARP_TILES>(LARGE_X_STRIDE, lane);
    large_part sum;
    int        within = 0; /* slices of the present chunk that are done */
    for (int i = 0; i < LARGE_STAGES - 1; i++) {
        if (i < slices) large_bring_x(memory + i * shape::STAGE, s);
        copies_commit();
    }
    for (int i = 0; i < slices; i++) {
        copies_wait<LARGE_STAGES - 2>();
        __syncthreads(); /* slice i is there, and all have used slice i - 1 */
        if (i + LARGE_STAGES - 1 < slices) {
            char *free_stage = memory + (i + LARGE_STAGES - 1) % LARGE_STAGES * shape::STAGE;
            large_bring_w(free_stage, s);
            large_bring_x(free_stage, s);
        }
        copies_commit();
        const int      stage = i % LARGE_STAGES * shape::STAGE;
        const char    *w_at = memory + stage + w_offset;
        const uint32_t x_at = x_offset + (uint32_t)stage;
        if (within == 0)
            large_slice<T, W, true>(sum, w_at, x_at);
        else
            large_slice<T, W, false>(sum, w_at, x_at);
        if (++within == per_chunk) {
            large_add(total, sum);
            within = 0;
        }
    }
    copies_wait<0>();
    __syncthreads();
}

/* from fragments to (128 rows, 64 outputs) floats in shared memory */
static __device__ __forceinline__ void large_leave(float *to, const large_part &total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / LARGE_ACROSS * LARGE_WARP_TILES * 8 + lane % 4 * 2;
    const int output = warp % LARGE_ACROSS * 32 + lane / 4;
#pragma unroll
    for (int p = 0; p < LARGE_WARP_PANELS; p++)
#pragma unroll
        for (int i = 0; i < LARGE_WARP_TILES; i++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                to[(row + 8 * i + e % 2) * LARGE_STRIDE + output + 16 * p + e / 2 * 8] =
                    total[p][i][e];
}

/* each thread: two neighbouring outputs of every fourth row */
template <typename T, typename W, int OUTPUTS, int STRIDE>
__device__ __forceinline__ void finish_block(const linear_job &j, const float *totals,
                                             int first_row, int first_output) {
    constexpr int STEP = LARGE_THREADS / (OUTPUTS / 2);
    const int     output = (int)threadIdx.x % (OUTPUTS / 2) * 2, col = first_output + output;
    float         scale[2] = {}, bias[2] = {};
    if (col >= j.outputs) return;
    for (int i = 0; i < 2; i++) {
        if (j.scale && col + i < j.outputs) scale[i] = j.scale[col + i];
        if (j.bias && col + i < j.outputs) bias[i] = j.bias[col + i];
    }
#pragma unroll 4
    for (int r = (int)threadIdx.x / (OUTPUTS / 2); r < LARGE_ROWS; r += STEP) {
        const int row = first_row + r;
        if (row >= j.rows) break;
        const float2 total = *(const float2 *)(totals + r * STRIDE + output);
        float        residual[2];
        residual_pair<T>(j, row, col, residual);
        const T pair[2] = { finished<T, W>(total.x, scale[0], bias[0], j.act, residual[0]),
                            finished<T, W>(total.y, scale[1], bias[1], j.act, residual[1]) };
        store_pair(j, row, col, pair);
        if (j.pool)
            for (int i = 0; i < 2; i++)
                if (col + i < j.outputs) scatter(j, j.slot[row], col + i, pair[i]);
    }
}
#endif
