/* linear_wgmma.cu - linear for many rows on Hopper: blocks of (128 rows, 128 outputs), one a
 * multiprocessor.
 *
 * Two warpgroups of 64 outputs each. x travels through shared memory, STAGES - 1 stages of 128
 * columns ahead; weights go from memory (level 2, where all blocks of a column of blocks find them)
 * straight to the registers of the warp that uses them, two slices ahead. Sizes as large.cuh wants
 * them; the sums are those of the other kernels, bitwise. */
#include "backend/cuda/large.cuh"
#include "backend/cuda/wgmma.cuh"

enum {
    STAGES = 4,
    STAGE_SLICES = 2,
    STAGE_BYTES = STAGE_SLICES * WGMMA_SLICE_BYTES,
    SHARED = STAGES * STAGE_BYTES,
    PIECES = WGMMA_ROWS * 16 / LARGE_THREADS /* of 16 bytes, a thread's of a stage */
};
static_assert(WGMMA_ROWS * WGMMA_STRIDE * 4 <= SHARED, "the sums reuse the memory of the stages");
static_assert((int)WGMMA_ROWS == (int)LARGE_ROWS && 32 * WGMMA_PANELS == (int)LARGE_THREADS,
              "finish_block() has the rows and threads of the other large kernel");

#ifdef PK_HAS_WGMMA
/* Where a thread's pieces of x come from, in 16s of bytes: always the same 16 bytes of the 256 that
 * a row has in a stage, of every 16th row. Rows beyond the last are the last, and not kept. */
struct x_source {
    const char *x;
    uint32_t    at[PIECES];
};

/* computed once; a stage then only adds its offset */
static __device__ __forceinline__ x_source source_of(const linear_job &j, int first_row) {
    x_source s;
    s.x = (const char *)j.x;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        const int row = min(first_row + (int)threadIdx.x / 16 + i * 16, j.rows - 1);
        s.at[i] = (uint32_t)row * (uint32_t)(j.x_stride / 8) + threadIdx.x % 16;
    }
    return s;
}

/* (128 rows, 128 columns) of x: two slices. Rows are 16 apart, so all pieces swizzle alike. */
static __device__ __forceinline__ void bring(char *stage, const x_source &s, int number) {
    const int row = (int)threadIdx.x / 16, piece = (int)threadIdx.x % 16;
    char     *to = stage + piece / 8 * WGMMA_SLICE_BYTES + wgmma_offset(row, piece % 8);
#pragma unroll
    for (int i = 0; i < PIECES; i++)
        copy_16(to + i * 16 * 128, s.x + ((size_t)s.at[i] + (size_t)number * 16) * 16, 16);
}

/* from fragments to (128 rows, 128 outputs) floats in shared memory */
static __device__ __forceinline__ void leave(float *to, const wgmma_part &total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < WGMMA_SUMS; i++) {
        const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
        to[row * WGMMA_STRIDE + warp * 16 + lane / 4 + i % 4 / 2 * 8] = total[i];
    }
}

/* the sums of this warp's panel; w: this lane's part of its first tile, flying: the first slices */
template <typename T, typename P>
static __device__ __forceinline__ void sums(wgmma_part &total, char *memory, const x_source &x,
                                            const P *w, P (&flying)[STAGE_SLICES][WGMMA_SLICE],
                                            int      cols) {
    const int  stages = cols / 128, slices = stages * STAGE_SLICES, per_chunk = slices / CHUNKS;
    wgmma_part sum;
    int        within = 0;                 /* slices of the present chunk that are done */
    for (int s = 0; s < STAGES - 1; s++) { /* cols is 512 at least: there are so many */
        bring(memory + s * STAGE_BYTES, x, s);
        copies_commit();
    }
    copies_wait<STAGES - 2>();
    wgmma_publish();
    for (int s = 0; s < stages; s++) {
        __syncthreads(); /* stage s is there, and all have used stage s - 1 */
        if (s + STAGES - 1 < stages)
            bring(memory + (s + STAGES - 1) % STAGES * STAGE_BYTES, x, s + STAGES - 1);
        copies_commit();
        const uint64_t at = wgmma_slice_at(shared_address(memory + s % STAGES * STAGE_BYTES));
#pragma unroll
        for (int h = 0; h < STAGE_SLICES; h++) {
            wgmma_slice<T>(sum, flying[h], at + (uint64_t)(h * WGMMA_SLICE_BYTES / 16), within);
            if (h ==
                0) { /* the next stage; here, where no weights are on their way to be waited for */
                copies_wait<STAGES - 2>();
                wgmma_publish();
            }
            if (s + 1 < stages)
                wgmma_fetch(flying[h], w + ((s + 1) * STAGE_SLICES + h) * WGMMA_SLICE * 32);
            if (++within == per_chunk) {
                wgmma_add(total, sum);
                within = 0;
            }
        }
    }
    copies_wait<0>();
    __syncthreads();
}
#endif

template <typename T, typename W>
__global__ void __launch_bounds__(LARGE_THREADS, 1) wgmma_kernel(linear_job j) {
#ifdef PK_HAS_WGMMA
    typedef typename tile_of<W>::piece piece;
    extern __shared__ __align__(1024) char stages_of_x[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, k_tiles = k_tiles_of(j.cols);
    const int first_row = blockIdx.y * WGMMA_ROWS, first_panel = blockIdx.x * WGMMA_PANELS;
    /* panels beyond the last are computed on the last one, and not kept */
    const int    panel = min(first_panel + warp, (j.outputs + 15) / 16 - 1);
    const piece *w = (const piece *)j.w + (size_t)panel * (size_t)k_tiles * 32 + lane;
    piece        flying[STAGE_SLICES][WGMMA_SLICE];
    wgmma_part   total = {};
#pragma unroll
    for (int h = 0; h < STAGE_SLICES; h++) wgmma_fetch(flying[h], w + h * WGMMA_SLICE * 32);
    let_next_start();
    wait_for_previous();
    const x_source x = source_of(j, first_row);
    sums<T>(total, stages_of_x, x, w, flying, j.cols);
    leave((float *)stages_of_x, total);
    __syncthreads();
    finish_block<T, W, WGMMA_OUTPUTS, WGMMA_STRIDE>(j, (const float *)stages_of_x, first_row,
                                                    first_panel * 16);
#else
    (void)j;
#endif
}

/* ---- launching ---- */

/* asks the runtime whether the kernel was built for sm_90a and is not empty */
bool pk_cuda_wgmma_there(void) {
    cudaFuncAttributes is;
    if (cudaFuncGetAttributes(&is, (const void *)wgmma_kernel<__half, __half>) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    return is.binaryVersion == 90 && is.numRegs >= WGMMA_SUMS; /* an empty kernel has a few */
}

template <typename T, typename W> static void launch_wgmma(pk_cuda *c, const linear_job &j) {
    const dim3 grid((unsigned)((j.outputs + WGMMA_OUTPUTS - 1) / WGMMA_OUTPUTS),
                    (unsigned)((j.rows + WGMMA_ROWS - 1) / WGMMA_ROWS));
    allow_shared(c, wgmma_kernel<T, W>);
    launch(c, "linear", wgmma_kernel<T, W>, grid, dim3(LARGE_THREADS), (size_t)SHARED, 1, j);
}

void pk_cuda_linear_wgmma(pk_cuda *c, const linear_job &j, pk_dtype weights) {
    if (c->arithmetic == PK_F16 && weights == PK_I8)
        launch_wgmma<__half, int8_t>(c, j);
    else if (c->arithmetic == PK_F16)
        launch_wgmma<__half, __half>(c, j);
    else if (weights == PK_I8)
        launch_wgmma<__nv_bfloat16, int8_t>(c, j);
    else
        launch_wgmma<__nv_bfloat16, __nv_bfloat16>(c, j);
}
