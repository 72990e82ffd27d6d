/* linear_f32.cu - linear in plain 32-bit arithmetic: w in panels of 16 outputs, (panels, cols, 16).
 *
 * Two kernels with one order of sums, that of linear.cuh: one with the 8 chunks of the sum side by
 * side, for up to some hundred rows, and one with the chunks one after the other, for blocks of (64
 * rows, 64 outputs). Within a chunk each product is added by a fused multiply-add, column by
 * column; columns beyond the end are zeros up to a whole tile of 16. */
#include "backend/cuda/linear.cuh"

/* 16 bytes of w: outputs 4 * quarter .. of a panel, column k */
static __device__ __forceinline__ void copy_of_w(float *to, const linear_job &j, int panel, int k,
                                                 int quarter) {
    const size_t at = k < j.cols ? ((size_t)panel * (size_t)j.cols + (size_t)k) * 16 : 0;
    copy_16(to, (const float *)j.w + at + 4 * quarter, k < j.cols ? 16 : 0);
}

/* sum[r][o] += x[r] w[o] over four columns; x: rows x_step floats apart, w: columns w_step apart */
template <int R>
__device__ __forceinline__ void add_four(float (&sum)[R][4], const float *x, int x_step,
                                         const float *w, int w_step) {
    float4 a[R];
#pragma unroll
    for (int r = 0; r < R; r++) a[r] = *(const float4 *)(x + r * x_step);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float4 b = *(const float4 *)(w + k * w_step);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const float v = k == 0 ? a[r].x : k == 1 ? a[r].y : k == 2 ? a[r].z : a[r].w;
            sum[r][0] = __fmaf_rn(v, b.x, sum[r][0]), sum[r][1] = __fmaf_rn(v, b.y, sum[r][1]);
            sum[r][2] = __fmaf_rn(v, b.z, sum[r][2]), sum[r][3] = __fmaf_rn(v, b.w, sum[r][3]);
        }
    }
}

/* ---- chunks side by side: a block has one panel and 8 * R rows, a warp a chunk ---- */

/* Lane l has outputs 4 * (l % 4) .. and rows l / 4 + 8 r. SLICE tiles of columns at a time go
 * through the warp's own shared memory, the next while these are multiplied. */
template <int R, int SLICE> struct side_shape {
    static constexpr int ROWS = 8 * R, ROW_STEP = CHUNKED_THREADS / 16;
    static constexpr int EACH = (ROWS + ROW_STEP - 1) / ROW_STEP;
    static constexpr int X_STRIDE = 16 * SLICE + 4; /* floats; an odd number of 16 bytes: banks */
    static constexpr int W_FLOATS = 16 * SLICE * 16;
    static constexpr int BUFFER = W_FLOATS + ROWS * X_STRIDE; /* floats: w, then x */
    static constexpr int REGION = 2 * BUFFER * 4;             /* bytes of a chunk */
    static constexpr int STRIDE = partial<1>::STRIDE;
    static_assert(ROWS * STRIDE <= 2 * BUFFER, "the sums reuse the memory of the slices");
};

template <int SLICE>
__device__ __forceinline__ void stage_w(float *to, const linear_job &j, int first_k, int tiles,
                                        int lane) {
    for (int i = lane; i < tiles * 64; i += 32)
        copy_of_w(to + 4 * i, j, (int)blockIdx.x, first_k + i / 4, i % 4);
}

/* this chunk's sums; the first slice of w is under way or there */
template <int R, int SLICE>
__device__ __forceinline__ void sum_chunk(float (&sum)[R][4], float *buffer, const linear_job &j,
                                          int first_row, int first, int n, int lane) {
    typedef side_shape<R, SLICE> shape;
    const int                    x_at = shape::W_FLOATS + lane / 4 * shape::X_STRIDE;
    stage_x<float, shape::ROWS>(buffer + shape::W_FLOATS, shape::X_STRIDE, j, first_row, first * 16,
                                n < SLICE ? n : SLICE, lane);
    copies_commit();
    for (int base = 0, slice = 0; base < n; base += SLICE, slice ^= 1) {
        const int left = n - base - SLICE, next_k = (first + base + SLICE) * 16;
        if (left > 0) {
            float    *next = buffer + (slice ^ 1) * shape::BUFFER;
            const int tiles = left < SLICE ? left : SLICE;
            stage_w<SLICE>(next, j, next_k, tiles, lane);
            stage_x<float, shape::ROWS>(next + shape::W_FLOATS, shape::X_STRIDE, j, first_row,
                                        next_k, tiles, lane);
        }
        copies_commit();
        copies_wait<1>();
        __syncwarp();
        const float *now = buffer + slice * shape::BUFFER;
        const int    columns = (left < 0 ? n - base : SLICE) * 16;
        for (int k = 0; k < columns; k += 4)
            add_four<R>(sum, now + x_at + k, 8 * shape::X_STRIDE, now + k * 16 + lane % 4 * 4, 16);
        __syncwarp(); /* all have read the slice before it is written again */
    }
}

/* A block has 16 outputs of some rows; each warp sums one chunk of the columns, and the chunks are
 * merged in a fixed order at the end. Weights are fetched before the kernel waits for the one before
 * it, since no kernel writes them. */
template <int R, int SLICE>
__global__ void __launch_bounds__(CHUNKED_THREADS) side_kernel(linear_job j) {
    typedef side_shape<R, SLICE> shape;
    extern __shared__ __align__(16) char memory[];

    const int lane = threadIdx.x % 32, chunk = threadIdx.x / 32;
    const int k_tiles = k_tiles_of(j.cols);
    const int first = chunk_start(k_tiles, chunk), n = chunk_start(k_tiles, chunk + 1) - first;
    const int first_row = blockIdx.y * shape::ROWS;
    const int col = blockIdx.x * 16 + threadIdx.x % 16, row = threadIdx.x / 16;
    float    *region = (float *)(memory + chunk * shape::REGION);

    ending<shape::EACH> end;
    stage_w<SLICE>(region, j, first * 16, n < SLICE ? n : SLICE, lane);
    ending_constants(end, j, col);
    let_next_start();
    wait_for_previous();
    ending_variables<float>(end, j, first_row + row, shape::ROW_STEP, col);

    float sum[R][4] = {};
    sum_chunk<R, SLICE>(sum, region, j, first_row, first, n, lane);
#pragma unroll
    for (int r = 0; r < R; r++) {
        float *at = region + (lane / 4 + 8 * r) * shape::STRIDE + lane % 4 * 4;
        *(float4 *)at = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < shape::EACH; i++) {
        const int r = row + i * shape::ROW_STEP;
        if (r >= shape::ROWS) break;
        const float total =
            chunks_merged(memory, shape::REGION, r * shape::STRIDE + (int)threadIdx.x % 16);
        keep(j, first_row + r, col, end.slot[i],
             finished<float, float>(total, 0, end.bias, j.act, end.residual[i]));
    }
}

/* ---- chunks one after the other: a block has (64 rows, 64 outputs), a thread 4 x 4 ---- */

enum {
    BLOCK_ROWS = 64,
    BLOCK_OUTPUTS = 64,
    BLOCK_THREADS = 256,
    BLOCK_STAGES = 4,
    BLOCK_X_STRIDE = 16 + 4,             /* floats */
    BLOCK_W_FLOATS = 16 * BLOCK_OUTPUTS, /* (16 columns, 64 outputs) */
    BLOCK_STAGE = BLOCK_W_FLOATS + BLOCK_ROWS * BLOCK_X_STRIDE,
};

/* one tile of columns: each thread brings 16 bytes of w, and as much of x */
static __device__ __forceinline__ void bring_w(float *to, const linear_job &j, int k_tile) {
    const int last = (j.outputs + 15) / 16 - 1, thread = threadIdx.x;
    const int p = thread / 64, k = thread / 4 % 16, quarter = thread % 4;
    const int panel = (int)blockIdx.x * 4 + p < last ? (int)blockIdx.x * 4 + p : last;
    copy_of_w(to + k * BLOCK_OUTPUTS + p * 16 + quarter * 4, j, panel, k_tile * 16 + k, quarter);
}

static __device__ __forceinline__ void bring_x(float *to, const linear_job &j, int first_row,
                                               int k_tile) {
    const int thread = threadIdx.x, row = thread / 4, k = thread % 4 * 4;
    float    *at = to + BLOCK_W_FLOATS + row * BLOCK_X_STRIDE + k;
    if (j.x_aligned)
        copy_of_x(at, j, first_row + row, k_tile * 16 + k);
    else
        for (int i = 0; i < 4; i++)
            at[i] = x_or_zero<float>(j, first_row + row, k_tile * 16 + k + i);
}

static __device__ __forceinline__ void end_chunk(float (&total)[4][4], float (&sum)[4][4]) {
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int o = 0; o < 4; o++) total[r][o] = __fadd_rn(total[r][o], sum[r][o]), sum[r][o] = 0;
}

static __device__ __forceinline__ void finish_block(const linear_job &j, const float (&total)[4][4],
                                                    int first_row, int first_col) {
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int o = 0; o < 4; o++) {
            const int   row = first_row + r, col = first_col + o;
            const float bias = j.bias && col < j.outputs ? j.bias[col] : 0;
            const float residual = residual_at<float>(j, row, col);
            keep(j, row, col, slot_at(j, row),
                 finished<float, float>(total[r][o], 0, bias, j.act, residual));
        }
}

static __global__ void __launch_bounds__(BLOCK_THREADS) block_kernel(linear_job j) {
    __shared__ __align__(16) float memory[BLOCK_STAGES][BLOCK_STAGE];

    const int first_row = blockIdx.y * BLOCK_ROWS, k_tiles = k_tiles_of(j.cols);
    const int output = threadIdx.x % 16 * 4, row = threadIdx.x / 16 * 4;
    for (int t = 0; t < BLOCK_STAGES - 1 && t < k_tiles; t++) bring_w(memory[t], j, t);
    let_next_start();
    wait_for_previous();
    for (int t = 0; t < BLOCK_STAGES - 1; t++) {
        if (t < k_tiles) bring_x(memory[t], j, first_row, t);
        copies_commit();
    }

    float sum[4][4] = {}, total[4][4] = {};
    int   chunk = 0;
    for (int t = 0; t < k_tiles; t++) {
        copies_wait<BLOCK_STAGES - 2>();
        __syncthreads(); /* tile t is there, and all have used tile t - 1 */
        const int next = t + BLOCK_STAGES - 1;
        if (next < k_tiles) {
            bring_w(memory[next % BLOCK_STAGES], j, next);
            bring_x(memory[next % BLOCK_STAGES], j, first_row, next);
        }
        copies_commit();
        const float *w = memory[t % BLOCK_STAGES], *x = w + BLOCK_W_FLOATS + row * BLOCK_X_STRIDE;
#pragma unroll
        for (int k = 0; k < 16; k += 4)
            add_four<4>(sum, x + k, BLOCK_X_STRIDE, w + k * BLOCK_OUTPUTS + output, BLOCK_OUTPUTS);
        while (chunk_start(k_tiles, chunk + 1) < t + 1) chunk++; /* those that are empty */
        if (chunk_start(k_tiles, chunk + 1) == t + 1) end_chunk(total, sum), chunk++;
    }
    finish_block(j, total, first_row + row, (int)blockIdx.x * BLOCK_OUTPUTS + output);
}

/* ---- launching ---- */

static unsigned parts(int n, int each) { return (unsigned)((n + each - 1) / each); }

template <int R, int SLICE> static void launch_side(pk_cuda *c, const linear_job &j) {
    const auto kernel = side_kernel<R, SLICE>;
    const int  shared = CHUNKS * side_shape<R, SLICE>::REGION;
    allow_shared(c, kernel);
    launch(c, "linear", kernel, dim3(parts(j.outputs, 16), parts(j.rows, 8 * R)),
           dim3(CHUNKED_THREADS), (size_t)shared, 1, j);
}

void pk_cuda_linear_f32(pk_cuda *c, pk_tensor out, pk_tensor x, const pk_weight *w,
                        const pk_after *after) {
    const linear_job j = pk_cuda_linear_job(out, x, w, after);
    const dim3       grid(parts(j.outputs, BLOCK_OUTPUTS), parts(j.rows, BLOCK_ROWS));
    if (j.rows <= 8)
        launch_side<1, 4>(c, j);
    else if ((int64_t)grid.x * grid.y < c->processors)
        launch_side<4, 1>(c, j);
    else
        launch(c, "linear", block_kernel, grid, dim3(BLOCK_THREADS), 0, 1, j);
}
