/* linear_large.cu - linear for many rows: blocks of (128 rows, 128 outputs), bound by throughput.
 *
 * Where sizes are whole the arithmetic of large.cuh does it; here is what any size needs: 8 warps,
 * each (64 rows, 32 outputs). Slices of 32 columns of x and w travel through shared memory, STAGES
 * - 1 of them ahead of the arithmetic. The chunks of the sum follow one another: at the end of
 * each, its sums are added to the totals, which is the order that linear.cuh asks for.
 */
#include "backend/cuda/large.cuh"

enum {
    ROWS = 128,
    PANELS = 8, /* 128 outputs */
    OUTPUTS = 16 * PANELS,
    SLICE = 2, /* tiles of 16 columns */
    STAGES = 4,
    THREADS = 256,
    WARP_PANELS = 2,
    WARP_TILES = 8, /* of 8 rows */
    X_STRIDE =
        16 * SLICE + 8, /* elements: 5 times 16 bytes, so that 8 rows lie in different banks */
    X_BYTES = ROWS * X_STRIDE * 2,
    TOTAL_STRIDE = OUTPUTS + 4, /* floats */
};

template <typename W> struct general_shape {
    static constexpr int TILE = 32 * (int)sizeof(typename tile_of<W>::piece); /* bytes of 16 x 16 */
    static constexpr int W_BYTES = PANELS * SLICE * TILE;
    static constexpr int STAGE = X_BYTES + W_BYTES;
    static constexpr int TOTALS = ROWS * TOTAL_STRIDE * (int)sizeof(float);
    static constexpr int SHARED = STAGES * STAGE > TOTALS ? STAGES *STAGE : TOTALS;
};

/* (ROWS, 32) of x into `to` */
template <typename T>
__device__ __forceinline__ void bring_x(T *to, const linear_job &j, int first_row, int slice) {
    const int first_k = slice * SLICE * 16;
    if (j.x_aligned) {
#pragma unroll
        for (int i = 0; i < ROWS * SLICE * 2 / THREADS; i++) {
            const int piece = (int)threadIdx.x + i * THREADS;
            const int row = piece / (SLICE * 2), k = piece % (SLICE * 2) * 8;
            copy_of_x(to + row * X_STRIDE + k, j, first_row + row, first_k + k);
        }
    } else {
        for (int i = threadIdx.x; i < ROWS * SLICE * 16; i += THREADS) {
            const int row = i / (SLICE * 16), k = i % (SLICE * 16);
            to[row * X_STRIDE + k] = x_or_zero<T>(j, first_row + row, first_k + k);
        }
    }
}

/* (PANELS, SLICE) tiles of w into `to`. Panels beyond the last are computed on the last one and not
 * kept; tiles beyond the last are not used. */
template <typename W>
__device__ __forceinline__ void bring_w(char *to, const linear_job &j, int first_panel, int slice) {
    constexpr int TILE = general_shape<W>::TILE, PIECES = TILE / 16;
    const int     k_tiles = k_tiles_of(j.cols), last = (j.outputs + 15) / 16 - 1;
#pragma unroll
    for (int i = 0; i < general_shape<W>::W_BYTES / 16 / THREADS; i++) {
        const int    at = (int)threadIdx.x + i * THREADS;
        const int    tile = at / PIECES, k_tile = slice * SLICE + tile % SLICE;
        const int    panel = first_panel + tile / SLICE < last ? first_panel + tile / SLICE : last;
        const size_t from = (size_t)panel * (size_t)k_tiles + (size_t)k_tile;
        if (k_tile < k_tiles)
            copy_16(to + at * 16, (const char *)j.w + from * TILE + at % PIECES * 16, 16);
    }
}

typedef float warp_sums[WARP_PANELS][WARP_TILES][4];

/* the sums of a chunk go to the totals; the next chunk starts from zero */
static __device__ __forceinline__ void end_chunk(warp_sums &total, warp_sums &sum) {
#pragma unroll
    for (int p = 0; p < WARP_PANELS; p++)
#pragma unroll
        for (int i = 0; i < WARP_TILES; i++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                total[p][i][e] = __fadd_rn(total[p][i][e], sum[p][i][e]);
                sum[p][i][e] = 0;
            }
}

/* one tile of columns; w_at: this lane's part of the warp's first panel, x_at: as load_x wants it
 */
template <typename T, typename W>
__device__ __forceinline__ void multiply_tile(warp_sums &sum, const char *w_at, uint32_t x_at) {
    typedef typename tile_of<W>::piece piece;
    uint32_t                           b[WARP_TILES][2];
    uint4                              a[WARP_PANELS];
#pragma unroll
    for (int p = 0; p < WARP_PANELS; p++)
        a[p] = widen<T>(*(const piece *)(w_at + p * SLICE * general_shape<W>::TILE));
    load_x<WARP_TILES>(b, x_at, X_STRIDE);
#pragma unroll
    for (int p = 0; p < WARP_PANELS; p++)
#pragma unroll
        for (int i = 0; i < WARP_TILES; i++) multiply(sum[p][i], a[p], b[i], T());
}

/* from fragments to (ROWS, OUTPUTS) floats in shared memory; row, output: where the warp's begin */
static __device__ __forceinline__ void leave_totals(float *to, const warp_sums &total, int row,
                                                    int output, int lane) {
#pragma unroll
    for (int p = 0; p < WARP_PANELS; p++)
#pragma unroll
        for (int i = 0; i < WARP_TILES; i++) {
            float *at =
                to + (row + 8 * i + lane % 4 * 2) * TOTAL_STRIDE + output + 16 * p + lane / 4;
            at[0] = total[p][i][0], at[TOTAL_STRIDE] = total[p][i][1];
            at[8] = total[p][i][2], at[TOTAL_STRIDE + 8] = total[p][i][3];
        }
}

template <typename T, typename W>
__global__ void __launch_bounds__(THREADS, 1) large_kernel(linear_job j) {
    typedef general_shape<W> shape;
    extern __shared__ __align__(16) char memory[];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first_row = blockIdx.y * ROWS, first_panel = blockIdx.x * PANELS;
    const int warp_row = warp / 4 * 64, warp_panel = warp % 4 * WARP_PANELS;
    const int k_tiles = k_tiles_of(j.cols), slices = (k_tiles + SLICE - 1) / SLICE;

    /* a stage: (ROWS, 32) of x, then (PANELS, SLICE) tiles of w */
    for (int s = 0; s < STAGES - 1 && s < slices; s++)
        bring_w<W>(memory + s * shape::STAGE + X_BYTES, j, first_panel, s);
    let_next_start();
    wait_for_previous();
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < slices) bring_x((T *)(memory + s * shape::STAGE), j, first_row, s);
        copies_commit();
    }

    warp_sums sum = {}, total = {};
    const int w_offset = X_BYTES + warp_panel * SLICE * shape::TILE + lane * (shape::TILE / 32);
    const uint32_t x_offset =
        x_lane_offset<WARP_TILES>(X_STRIDE, lane) + (uint32_t)(warp_row * X_STRIDE * 2);
    int chunk = 0;
    for (int s = 0; s < slices; s++) {
        copies_wait<STAGES - 2>();
        __syncthreads(); /* slice s is there, and all have used slice s - 1 */
        const int next = s + STAGES - 1;
        if (next < slices) {
            bring_w<W>(memory + next % STAGES * shape::STAGE + X_BYTES, j, first_panel, next);
            bring_x((T *)(memory + next % STAGES * shape::STAGE), j, first_row, next);
        }
        copies_commit();
        const char *stage = memory + s % STAGES * shape::STAGE;
#pragma unroll
        for (int t = 0; t < SLICE; t++) {
            const int done = s * SLICE + t + 1; /* tiles, this one included */
            if (done > k_tiles) break;
            multiply_tile<T, W>(sum, stage + w_offset + t * shape::TILE,
                                shared_address(stage) + x_offset + (uint32_t)(t * 32));
            while (chunk_start(k_tiles, chunk + 1) < done) chunk++; /* those that are empty */
            if (chunk_start(k_tiles, chunk + 1) == done) end_chunk(total, sum), chunk++;
        }
    }

    copies_wait<0>();
    __syncthreads(); /* the stages are free: the totals reuse their memory */
    leave_totals((float *)memory, total, warp_row, warp_panel * 16, lane);
    __syncthreads();
    finish_block<T, W, OUTPUTS, TOTAL_STRIDE>(j, (const float *)memory, first_row,
                                              first_panel * 16);
}

/* the same where nothing needs testing, see large.cuh */
template <typename T, typename W>
__global__ void __launch_bounds__(LARGE_THREADS, 2) straight_kernel(linear_job j) {
    extern __shared__ __align__(16) char memory[];
    const int       first_row = blockIdx.y * LARGE_ROWS, first_panel = blockIdx.x * LARGE_PANELS;
    const int       k_tiles = k_tiles_of(j.cols), slices = k_tiles / LARGE_SLICE;
    large_source<W> source;
    large_part      total = {};
    large_panels(source, j.w, (j.outputs + 15) / 16, k_tiles, first_panel);
    large_begin(memory, source, slices);
    let_next_start();
    wait_for_previous();
#pragma unroll
    for (int i = 0; i < LARGE_X_PIECES; i++) { /* rows beyond the last are the last, and not kept */
        const int row = min(first_row + large_row(i), j.rows - 1);
        source.x[i] =
            (const char *)((const T *)j.x + (size_t)row * (size_t)j.x_stride + large_column());
    }
    large_sums<T, W>(total, memory, source, slices);
    large_leave((float *)memory, total);
    __syncthreads();
    finish_block<T, W, 16 * LARGE_PANELS, LARGE_STRIDE>(j, (const float *)memory, first_row,
                                                        first_panel * 16);
}

/* ---- launching ---- */

bool pk_cuda_linear_straight(const pk_cuda *c, const linear_job &j) {
    return j.cols % 512 == 0 && j.x_aligned && 2 * large_shape<uint16_t>::BYTES <= c->shared_limit;
}

template <typename T, typename W> static void launch_large(pk_cuda *c, const linear_job &j) {
    const bool straight = pk_cuda_linear_straight(c, j);
    const auto kernel = straight ? straight_kernel<T, W> : large_kernel<T, W>;
    const int  shared = straight ? large_shape<W>::BYTES : general_shape<W>::SHARED;
    const int  outputs = straight ? 16 * LARGE_PANELS : OUTPUTS;
    const dim3 grid((unsigned)((j.outputs + outputs - 1) / outputs),
                    (unsigned)((j.rows + ROWS - 1) / ROWS));
    allow_shared(c, kernel);
    launch(c, "linear", kernel, grid, dim3(THREADS), (size_t)shared, 1, j);
}

template <typename T>
static void launch_weights(pk_cuda *c, const linear_job &j, pk_dtype weights) {
    if (weights == PK_I8)
        launch_large<T, int8_t>(c, j);
    else
        launch_large<T, T>(c, j);
}

void pk_cuda_linear_large(pk_cuda *c, const linear_job &j, pk_dtype weights) {
    if (c->arithmetic == PK_F16)
        launch_weights<__half>(c, j, weights);
    else
        launch_weights<__nv_bfloat16>(c, j, weights);
}
