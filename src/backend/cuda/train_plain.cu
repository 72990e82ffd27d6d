/* train_plain.cu - products of any shape and alignment, where the library has no kernel for them,
 * and sums of columns.
 *
 * multiply_tiles() is for odd sizes, which real networks do not have: a tile of 64 x 64 in plain
 * float arithmetic. Sums are float and every number of `out` belongs to one thread. */
#include "backend/cuda/train.cuh"

enum { TILE = 64, INNER = 16, PLAIN_THREADS = 256, EACH = 4 };

/* a tile of a (TILE, INNER) as to[inner][row], zeros past the ends; neighbouring threads read
 * along the dimension whose numbers are neighbours */
template <typename T>
__device__ void load_tile(float (*to)[TILE + 4], const T *from, int64_t by_row, int64_t by_inner,
                          int row, int rows, int inner, int inners) {
    for (int i = (int)threadIdx.x; i < TILE * INNER; i += PLAIN_THREADS) {
        const int r = by_inner == 1 ? i / INNER : i % TILE,
                  k = by_inner == 1 ? i % INNER : i / TILE;
        const bool there = row + r < rows && inner + k < inners;
        to[k][r] = there ? to_float(from[(row + r) * by_row + (inner + k) * by_inner]) : 0;
    }
}

/* a thread's 4 x 4 sums, with the bias and what was there */
template <typename T, typename Out>
__device__ void write_tile(const pk_cuda_plain &j, const float (&sum)[EACH][EACH], int row,
                           int col) {
#pragma unroll
    for (int r = 0; r < EACH; r++)
#pragma unroll
        for (int c = 0; c < EACH; c++) {
            if (row + r >= j.rows || col + c >= j.cols) continue;
            Out        *to = (Out *)j.out + (row + r) * j.out_row + col + c;
            const float bias = j.bias ? to_float(((const T *)j.bias)[col + c]) : 0;
            *to = from_float<Out>(sum[r][c] + bias + (j.add ? to_float(*to) : 0));
        }
}

/* a block has 64 x 64 of out, a thread 4 x 4; INNER numbers of the sum at a time in shared
 * memory */
template <typename T, typename Out>
__global__ void __launch_bounds__(PLAIN_THREADS) multiply_tiles(pk_cuda_plain j) {
    __shared__ float a[INNER][TILE + 4], b[INNER][TILE + 4];
    const int        row = (int)blockIdx.y * TILE, col = (int)blockIdx.x * TILE;
    const int        own_row = (int)threadIdx.x / 16 * EACH, own_col = (int)threadIdx.x % 16 * EACH;
    float            sum[EACH][EACH] = {};
    let_next_start();
    wait_for_previous();
    for (int inner = 0; inner < j.inner; inner += INNER) {
        load_tile(a, (const T *)j.a, j.a_row, j.a_col, row, j.rows, inner, j.inner);
        load_tile(b, (const T *)j.b, j.b_col, j.b_row, col, j.cols, inner, j.inner);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < INNER; k++)
#pragma unroll
            for (int r = 0; r < EACH; r++)
#pragma unroll
                for (int c = 0; c < EACH; c++)
                    sum[r][c] = fmaf(a[k][own_row + r], b[k][own_col + c], sum[r][c]);
        __syncthreads();
    }
    write_tile<T, Out>(j, sum, row + own_row, col + own_col);
}

void pk_cuda_multiply_plain(pk_cuda *c, const pk_cuda_plain &job) {
    const dim3 grid((unsigned)((job.cols + TILE - 1) / TILE),
                    (unsigned)((job.rows + TILE - 1) / TILE));
    if (job.rows == 0 || job.cols == 0) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if (job.wide)
            launch(c, "a product", multiply_tiles<T, float>, grid, PLAIN_THREADS, 0, 0, job);
        else
            launch(c, "a product", multiply_tiles<T, T>, grid, PLAIN_THREADS, 0, 0, job);
    });
}

/* ---- sums of columns ---- */

enum { SUM_WARPS = 8, SUM_THREADS = 32 * SUM_WARPS };

/* A block for 32 V columns of a strip of rows; a warp takes every eighth row. */
template <typename T, int V>
__global__ void __launch_bounds__(SUM_THREADS)
    sum_strips(const T *x, int64_t stride, int rows, int cols, int wanted, int strip, float *sums) {
    __shared__ float part[SUM_WARPS][32 * V];
    const int        warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int        first = (int)blockIdx.x * 32 * V, col = first + lane * V;
    const int        end = min(rows, ((int)blockIdx.y + 1) * strip);
    some<V>          sum = {};
    let_next_start();
    wait_for_previous();
    if (col < cols) {
#pragma unroll 4
        for (int row = (int)blockIdx.y * strip + warp; row < end; row += SUM_WARPS) {
            const some<V> now = load<V>(x + row * stride + col);
#pragma unroll
            for (int i = 0; i < V; i++) sum.at[i] += now.at[i];
        }
    }
#pragma unroll
    for (int i = 0; i < V; i++) part[warp][lane * V + i] = sum.at[i];
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 32 * V; i += SUM_THREADS) {
        float all = 0;
#pragma unroll
        for (int w = 0; w < SUM_WARPS; w++) all += part[w][i];
        if (first + i < wanted) atomicAdd(sums + first + i, all);
    }
}

/* Rows are cut into as many strips as keep all processors busy. The strips add to `sums` atomically:
 * the order of sums is free in training. */
template <typename T, int V>
static void launch_sums(pk_cuda *c, pk_tensor x, int wanted, float *sums) {
    const int across = (x.cols + 32 * V - 1) / (32 * V);
    const int want = (4 * c->processors + across - 1) / across, most = (x.rows + 31) / 32;
    const int strips = want < most ? want : most;
    const int strip = ((x.rows + strips - 1) / strips + SUM_WARPS - 1) / SUM_WARPS * SUM_WARPS;
    launch(c, "sums of columns", sum_strips<T, V>,
           dim3((unsigned)across, (unsigned)((x.rows + strip - 1) / strip)), SUM_THREADS, 0, 0,
           (const T *)x.data, x.stride, x.rows, x.cols, wanted, strip, sums);
}

void pk_cuda_sum_columns(pk_cuda *c, pk_tensor x, int32_t wanted, float *sums) {
    if (x.rows == 0 || wanted == 0) return;
    on_learning_type(c->arithmetic, [&](auto zero) {
        using T = decltype(zero);
        if (aligned_16(x, sizeof(T)) && x.cols % lot<T> == 0)
            launch_sums<T, lot<T>>(c, x, wanted, sums);
        else
            launch_sums<T, 1>(c, x, wanted, sums);
    });
}
