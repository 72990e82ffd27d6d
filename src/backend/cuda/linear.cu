/* linear.cu - out = x w^T and what follows: which kernel does it.
 *
 * All kernels give the same bits for a row (the order of the sum is in linear.cuh), so the choice
 * is one of speed alone. The norm at the end is done by the kernel itself when the blocks of a
 * cluster can hold whole rows, and by a kernel of its own otherwise. */
#include "backend/cuda/linear.cuh"

enum {
    NORM_ROWS = 64,          /* up to here the norm is fused: a cluster for every 16 rows */
    MOST_CLUSTER = 16,       /* blocks */
    TILES_TIMES_COLS = 4096, /* bounds the shared memory that a block of one panel takes for x */
};

static bool is_aligned(const void *data, int stride, size_t element, size_t bytes) {
    return (uintptr_t)data % bytes == 0 && (size_t)stride * element % bytes == 0;
}

linear_job pk_cuda_linear_job(pk_tensor out, pk_tensor x, const pk_weight *w,
                              const pk_after *after) {
    const size_t element = pk_dtype_bytes(x.type);
    linear_job   j = {};
    j.w = w->data, j.scale = w->type == PK_I8 ? w->scale : NULL;
    j.rows = x.rows, j.cols = w->cols, j.outputs = w->rows;
    j.x = x.data, j.x_stride = x.stride;
    j.out = out.data, j.out_stride = out.stride;
    j.residual = after->residual.data, j.residual_stride = after->residual.stride;
    if (after->bias) j.bias = (const float *)after->bias->data;
    if (after->gain) j.gain = (const float *)after->gain->data;
    if (after->gain && after->shift) j.shift = (const float *)after->shift->data;
    j.act = after->act, j.epsilon = after->epsilon;
    if (!after->gain) j.pool = after->pool.data; /* else the row is stored after the norm */
    j.pool_stride = after->pool.stride, j.pool_type = after->pool.type;
    j.slot = after->slot, j.from = after->from;
    j.x_aligned = is_aligned(x.data, x.stride, element, 16);
    j.even = j.outputs % 2 == 0 && is_aligned(out.data, out.stride, element, 2 * element) &&
             (!j.residual || is_aligned(j.residual, j.residual_stride, element, 2 * element));
    return j;
}

/* blocks of (rows_each, outputs_each) that cover (rows, outputs) */
static int64_t blocks(int rows, int outputs, int rows_each, int outputs_each) {
    return (int64_t)((rows + rows_each - 1) / rows_each) *
           ((outputs + outputs_each - 1) / outputs_each);
}

/* panels of 16 outputs in a block such that a cluster holds whole rows; 0: no cluster does */
static int norm_panels(int outputs) {
    for (int panels = 2; panels <= 4; panels *= 2)
        for (int cluster = 2; cluster <= MOST_CLUSTER; cluster *= 2)
            if (outputs == 16 * panels * cluster && outputs % 64 == 0) return panels;
    return 0;
}

/* The shape of the blocks: the largest (they read least) that still keep enough multiprocessors
 * busy. panels of 16 outputs, tiles of 8 rows; panels 0: the large kernel, WHOLE_GROUPS: wgmma. */
struct block_shape {
    int panels, tiles;
};
enum { WHOLE_GROUPS = -1 };

/* the thresholds come from measurements, see docs/performance.md for the machine */
static block_shape choose(const pk_cuda *c, const linear_job &j) {
    const int rows = j.rows, outputs = j.outputs, processors = c->processors;
    if (pk_cuda_linear_straight(c, j)) {
        /* a block has a multiprocessor to itself: with fewer, smaller ones are done sooner */
        if (c->wgmma && 4 * blocks(rows, outputs, 128, 128) >= 3 * processors)
            return { WHOLE_GROUPS, 0 };
        if (10 * blocks(rows, outputs, 128, 64) >= 3 * processors) return { 0, 0 };
    } else if (4 * blocks(rows, outputs, 128, 128) >= 3 * processors) {
        return { 0, 0 };
    }
    if (2 * blocks(rows, outputs, 64, 64) >= processors) return { 4, 8 };
    if (3 * blocks(rows, outputs, 32, 64) >= processors) return { 4, 4 };
    int tiles = rows <= 8 ? 1 : rows <= 16 ? 2 : 4;
    if (tiles == 4 && 2 * blocks(rows, outputs, 32, 16) <= processors) tiles = 2;
    while (tiles > 1 && tiles * j.cols > TILES_TIMES_COLS) tiles /= 2;
    return { 1, tiles };
}

/* three kernels with the same order of sums, so that the choice changes speed and no bit */
static void linear_16_bit(pk_cuda *c, const linear_job &j, pk_dtype weights) {
    const block_shape shape = choose(c, j);
    if (shape.panels == WHOLE_GROUPS)
        pk_cuda_linear_wgmma(c, j, weights);
    else if (shape.panels == 0)
        pk_cuda_linear_large(c, j, weights);
    else
        pk_cuda_linear_chunked(c, j, weights, shape.panels, shape.tiles, false);
}

/* the norm and what comes after it, where the kernel did not do them */
static void norm_and_scatter(pk_cuda *c, pk_tensor out, const pk_after *after) {
    pk_cuda_norm(c, out, out, after->gain, after->shift, after->epsilon);
    if (!after->pool.data) return;
    out.data = (float *)(void *)((char *)out.data + (size_t)after->from * pk_dtype_bytes(out.type));
    out.cols -= after->from;
    pk_cuda_scatter(c, after->pool, out, after->slot);
}

void pk_cuda_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_after *after) {
    pk_cuda *c = (pk_cuda *)self;
    if (x.rows == 0 || c->status != PK_OK) return;
    const linear_job j = pk_cuda_linear_job(out, x, w, after);
    const int        panels = norm_panels(j.outputs);
    if (c->arithmetic == PK_F32) {
        pk_cuda_linear_f32(c, out, x, w, after);
    } else if (after->gain && panels && c->hopper && j.rows <= NORM_ROWS && !after->pool.data) {
        pk_cuda_linear_chunked(c, j, w->type, panels, j.rows <= 8 ? 1 : 2, true);
        return;
    } else {
        linear_16_bit(c, j, w->type);
    }
    if (after->gain) norm_and_scatter(c, out, after);
}
