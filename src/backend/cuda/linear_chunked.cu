/* linear_chunked.cu - linear for few and for some rows: the 8 chunks of the sum side by side.
 *
 *   columns of x and w:   chunk 0 | chunk 1 | ... | chunk 7
 *   warps of a block:     warp 0    warp 1          warp 7      then all 8 sums are added, in order
 *
 * A block computes (8 * TILES rows, 16 * PANELS outputs) with 8 warps; warp c sums chunk c. Weights
 * go from memory straight into registers, DEPTH tiles ahead, the first of them before the kernel
 * waits for the one before it; x goes through shared memory of the warp's own, so that no warp
 * waits for another until the chunks are merged. With NORM the blocks of a row form a cluster: each
 * sends its outputs to the block that owns the row, where one warp normalises it, in the order of
 * sums that common.cuh fixes. */
#include "backend/cuda/linear.cuh"

/* ---- clusters ---- */

static __device__ __forceinline__ void cluster_arrive() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

static __device__ __forceinline__ void cluster_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* writes to the same address of shared memory in another block of the cluster */
template <typename T> __device__ __forceinline__ void send(T *to, unsigned block, T value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t at;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(at)
                 : "r"(shared_address(to)), "r"(block));
    asm volatile("st.shared::cluster.u16 [%0], %1;" ::"r"(at), "h"(*(const unsigned short *)&value)
                 : "memory");
#else
    (void)to, (void)block, (void)value;
#endif
}

/* ---- the shape of a block and its shared memory ---- */

template <typename T, int PANELS, int TILES, int DEPTH> struct chunked_shape {
    static constexpr int ROWS = 8 * TILES;
    static constexpr int OUTPUTS = 16 * PANELS;
    static constexpr int GROUP = TILES < 4 ? TILES : 4; /* tiles of rows merged at a time */
    static constexpr int ROW_STEP = CHUNKED_THREADS / OUTPUTS;
    static constexpr int EACH = (8 * GROUP + ROW_STEP - 1) / ROW_STEP; /* outputs a thread merges */
    static constexpr bool EARLY = EACH <= 4; /* few enough to fetch their residuals beforehand */
};

/* Shared memory: a region per chunk, which holds one or two slices of x and later the chunk's sums;
 * with NORM then gain and shift (outputs each) and the rows that this block owns. */
struct chunked_layout {
    int x_stride; /* elements between rows of a slice: an odd number of 16 bytes, so that the 8 rows
                     a matrix load takes lie in different banks */
    int slice_bytes; /* of x */
    int region;      /* bytes */
};

template <typename T, int PANELS, int TILES, int DEPTH>
static __host__ __device__ __forceinline__ chunked_layout layout_of(int cols) {
    typedef chunked_shape<T, PANELS, TILES, DEPTH> shape;
    const int      most = (k_tiles_of(cols) + CHUNKS - 1) / CHUNKS; /* tiles of the longest chunk */
    const int      slice = most < DEPTH ? most : DEPTH;
    const int      sums = 8 * shape::GROUP * partial<PANELS>::STRIDE * (int)sizeof(float);
    chunked_layout l;
    l.x_stride = 16 * slice + 8;
    l.slice_bytes = shape::ROWS * l.x_stride * (int)sizeof(T);
    l.region = most > DEPTH ? 2 * l.slice_bytes : l.slice_bytes;
    if (l.region < sums) l.region = sums;
    return l;
}

/* ---- the pieces of the kernel ---- */

/* where this lane's part of the chunk's first tile lies, panel by panel; panels beyond the last are
 * computed on the last one and not kept */
template <typename W, int PANELS>
__device__ __forceinline__ void find_panels(const typename tile_of<W>::piece *(&at)[PANELS],
                                            const linear_job &j, int first_panel, int first_tile,
                                            int lane) {
    const int k_tiles = k_tiles_of(j.cols), last = (j.outputs + 15) / 16 - 1;
#pragma unroll
    for (int p = 0; p < PANELS; p++) {
        const int    panel = first_panel + p < last ? first_panel + p : last;
        const size_t tile = (size_t)panel * (size_t)k_tiles + (size_t)first_tile;
        at[p] = (const typename tile_of<W>::piece *)j.w + tile * 32 + (size_t)lane;
    }
}

/* leaves tiles [group, group + GROUP) of the sums in this chunk's region, as (rows, outputs) */
template <typename T, int PANELS, int TILES, int GROUP>
__device__ __forceinline__ void leave_sums(float *to, const float (&sum)[PANELS][TILES][4],
                                           int group, int lane) {
    constexpr int STRIDE = partial<PANELS>::STRIDE;
#pragma unroll
    for (int p = 0; p < PANELS; p++)
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            float *at = to + (8 * i + lane % 4 * 2) * STRIDE + 16 * p + lane / 4;
            at[0] = sum[p][group + i][0], at[STRIDE] = sum[p][group + i][1];
            at[8] = sum[p][group + i][2], at[STRIDE + 8] = sum[p][group + i][3];
        }
}

/* One warp normalises one row, (64 * segments) columns in shared memory. All segments are computed,
 * those beyond the row on zeros, so that their chains of shuffles overlap. */
template <typename T, int MOST>
__device__ __forceinline__ void normalise_row(const linear_job &j, const T *row, const float *gain,
                                              const float *shift, int to_row, int lane) {
    const int segments = j.outputs / 64;
    float     a[MOST], b[MOST];
    moments   part[MOST], all = { 0, 0, 0 };
#pragma unroll
    for (int s = 0; s < MOST; s++) {
        a[s] = s < segments ? to_float(row[64 * s + 2 * lane]) : 0;
        b[s] = s < segments ? to_float(row[64 * s + 2 * lane + 1]) : 0;
        part[s] = moments_of(a[s], b[s], lane, 64);
    }
#pragma unroll
    for (int s = 0; s < MOST; s++)
        if (s < segments) all = merged(all, part[s]);
#pragma unroll
    for (int s = 0; s < MOST; s++) {
        if (s >= segments) break;
        const int col = 64 * s + 2 * lane;
        const T   pair[2] = {
              from_float<T>(normalised(a[s], all, gain[col], shift[col], j.epsilon)),
              from_float<T>(normalised(b[s], all, gain[col + 1], shift[col + 1], j.epsilon)),
        };
        store_pair(j, to_row, col, pair);
    }
}

/* the rows this block owns: every gridDim.x-th from its own rank on; warps take turns */
template <typename T, int ROWS, int MOST>
__device__ __forceinline__ void normalise_own(const linear_job &j, const T *own, const float *gain,
                                              int first_row, int warp, int lane) {
    for (int local = warp;; local += CHUNKS) {
        const int r = local * (int)gridDim.x + (int)blockIdx.x;
        if (r >= ROWS || first_row + r >= j.rows) break;
        normalise_row<T, MOST>(j, own + local * j.outputs, gain, gain + j.outputs, first_row + r,
                               lane);
    }
}

/* ---- the kernel ---- */

template <typename T, typename W, int PANELS, int TILES, int DEPTH, bool NORM>
__global__ void __launch_bounds__(CHUNKED_THREADS, PANELS == 1 && TILES <= 2 ? 2 : 1)
    chunked_kernel(linear_job j) {
    typedef chunked_shape<T, PANELS, TILES, DEPTH> shape;
    typedef typename tile_of<W>::piece             piece;
    extern __shared__ __align__(16) char memory[];

    const int lane = threadIdx.x % 32, chunk = threadIdx.x / 32;
    const int k_tiles = k_tiles_of(j.cols);
    const int first = chunk_start(k_tiles, chunk), n = chunk_start(k_tiles, chunk + 1) - first;
    const int first_row = blockIdx.y * shape::ROWS;
    const int col = threadIdx.x % shape::OUTPUTS + blockIdx.x * shape::OUTPUTS;
    const int row_in_group = threadIdx.x / shape::OUTPUTS;
    const chunked_layout layout = layout_of<T, PANELS, TILES, DEPTH>(j.cols);
    char                *region = memory + chunk * layout.region;
    float               *gain = (float *)(memory + CHUNKS * layout.region);
    T                   *own = (T *)(gain + 2 * j.outputs);

    /* what never changes */
    const piece *w[PANELS];
    piece        a[DEPTH][PANELS];
    find_panels<W, PANELS>(w, j, blockIdx.x * PANELS, first, lane);
#pragma unroll
    for (int t = 0; t < DEPTH; t++) {
        if (t >= n) break;
#pragma unroll
        for (int p = 0; p < PANELS; p++) fetch(a[t][p], w[p] + t * 32);
    }
    ending<shape::EACH> end;
    ending_constants(end, j, col);
    if constexpr (NORM) {
        cluster_arrive(); /* a block may send to another only after that one has started */
        for (int i = threadIdx.x; i < j.outputs; i += CHUNKED_THREADS) {
            gain[i] = j.gain[i];
            gain[j.outputs + i] = j.shift ? j.shift[i] : 0;
        }
    }
    let_next_start();
    wait_for_previous();

    /* the sums of this chunk */
    stage_x<T, shape::ROWS>((T *)region, layout.x_stride, j, first_row, first * 16,
                            n < DEPTH ? n : DEPTH, lane);
    copies_commit();
    if constexpr (shape::EARLY)
        ending_variables<T>(end, j, first_row + row_in_group, shape::ROW_STEP, col);
    float          sum[PANELS][TILES][4] = {};
    const uint32_t x_at = shared_address(region) + x_lane_offset<TILES>(layout.x_stride, lane);
    for (int base = 0, slice = 0; base < n; base += DEPTH, slice ^= 1) {
        const int left = n - base - DEPTH; /* tiles after this slice */
        if (left > 0)
            stage_x<T, shape::ROWS>((T *)(region + (slice ^ 1) * layout.slice_bytes),
                                    layout.x_stride, j, first_row, (first + base + DEPTH) * 16,
                                    left < DEPTH ? left : DEPTH, lane);
        copies_commit();
        copies_wait<1>();
        __syncwarp();
#pragma unroll
        for (int t = 0; t < DEPTH; t++) {
            if (base + t >= n) break;
            uint32_t b[TILES][2];
            load_x<TILES>(b, x_at + (uint32_t)(slice * layout.slice_bytes + t * 32),
                          layout.x_stride);
#pragma unroll
            for (int p = 0; p < PANELS; p++) {
                const uint4 wide = widen<T>(a[t][p]);
#pragma unroll
                for (int i = 0; i < TILES; i++) multiply(sum[p][i], wide, b[i], T());
                if (t < left) fetch(a[t][p], w[p] + (size_t)(base + DEPTH + t) * 32);
            }
        }
        __syncwarp(); /* all have read the slice before it is written again */
    }

    /* all chunks together */
#pragma unroll
    for (int group = 0; group < TILES; group += shape::GROUP) {
        if (group) __syncthreads(); /* all have read the group before */
        leave_sums<T, PANELS, TILES, shape::GROUP>((float *)region, sum, group, lane);
        if constexpr (!shape::EARLY)
            ending_variables<T>(end, j, first_row + 8 * group + row_in_group, shape::ROW_STEP, col);
        __syncthreads();
        if constexpr (NORM) cluster_wait();
#pragma unroll
        for (int i = 0; i < shape::EACH; i++) {
            const int r = row_in_group + i * shape::ROW_STEP, row = first_row + 8 * group + r;
            if (r >= 8 * shape::GROUP || row >= j.rows) break;
            const int   index = r * partial<PANELS>::STRIDE + (int)threadIdx.x % shape::OUTPUTS;
            const float total = chunks_merged(memory, layout.region, index);
            const T     value = finished<T, W>(total, end.scale, end.bias, j.act, end.residual[i]);
            if constexpr (NORM)
                send(own + (unsigned)r / gridDim.x * (unsigned)j.outputs + col,
                     (unsigned)r % gridDim.x, value);
            else
                keep(j, row, col, end.slot[i], value);
        }
    }
    if constexpr (NORM) {
        static_assert(TILES <= shape::GROUP, "one barrier, so one group");
        cluster_arrive();
        cluster_wait();
        normalise_own<T, shape::ROWS, shape::OUTPUTS / 4>(j, own, gain, first_row, chunk, lane);
    }
}

/* ---- launching ---- */

/* Where a norm follows, the blocks of a row form one cluster and exchange the row through shared
 * memory, so that the norm needs no second kernel. Clusters of more than 8 blocks must be asked for. */
template <typename T, typename W, int PANELS, int TILES, int DEPTH, bool NORM>
static void launch_shape(pk_cuda *c, const linear_job &j) {
    typedef chunked_shape<T, PANELS, TILES, DEPTH> shape;
    const auto     kernel = chunked_kernel<T, W, PANELS, TILES, DEPTH, NORM>;
    const unsigned wide = (unsigned)((j.outputs + shape::OUTPUTS - 1) / shape::OUTPUTS);
    const unsigned high = (unsigned)((j.rows + shape::ROWS - 1) / shape::ROWS);
    int            shared = CHUNKS * layout_of<T, PANELS, TILES, DEPTH>(j.cols).region;
    if (NORM) {
        const int own = (shape::ROWS + (int)wide - 1) / (int)wide;
        shared += j.outputs * (2 * (int)sizeof(float) + own * (int)sizeof(T));
    }
    allow_shared(c, kernel);
    if (NORM && wide > 8)
        pk_cuda_good(
            c, cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "linear: cluster");
    launch(c, "linear", kernel, dim3(wide, high), dim3(CHUNKED_THREADS), (size_t)shared,
           NORM ? wide : 1, j);
}

template <typename T, typename W>
static void launch_one_panel(pk_cuda *c, const linear_job &j, int tiles) {
    if (tiles == 1)
        launch_shape<T, W, 1, 1, 16, false>(c, j);
    else if (tiles == 2)
        launch_shape<T, W, 1, 2, 16, false>(c, j);
    else
        launch_shape<T, W, 1, 4, 16, false>(c, j);
}

/* the shapes that pay, as measured; each is a kernel of its own */
template <typename T, typename W>
static void launch_norm(pk_cuda *c, const linear_job &j, int panels, int tiles) {
    if (panels == 2 && tiles == 1)
        launch_shape<T, W, 2, 1, 16, true>(c, j);
    else if (panels == 2)
        launch_shape<T, W, 2, 2, 16, true>(c, j);
    else if (tiles == 1)
        launch_shape<T, W, 4, 1, 8, true>(c, j);
    else
        launch_shape<T, W, 4, 2, 8, true>(c, j);
}

template <typename T, typename W>
static void launch_any(pk_cuda *c, const linear_job &j, int panels, int tiles, bool norm) {
    if (norm)
        launch_norm<T, W>(c, j, panels, tiles);
    else if (panels == 1)
        launch_one_panel<T, W>(c, j, tiles);
    else if (tiles == 4)
        launch_shape<T, W, 4, 4, 4, false>(c, j);
    else
        launch_shape<T, W, 4, 8, 2, false>(c, j);
}

template <typename T>
static void launch_weights(pk_cuda *c, const linear_job &j, pk_dtype weights, int panels, int tiles,
                           bool norm) {
    if (weights == PK_I8)
        launch_any<T, int8_t>(c, j, panels, tiles, norm);
    else
        launch_any<T, T>(c, j, panels, tiles, norm);
}

void pk_cuda_linear_chunked(pk_cuda *c, const linear_job &j, pk_dtype weights, int panels,
                            int tiles, bool norm) {
    if (c->arithmetic == PK_F16)
        launch_weights<__half>(c, j, weights, panels, tiles, norm);
    else
        launch_weights<__nv_bfloat16>(c, j, weights, panels, tiles, norm);
}
