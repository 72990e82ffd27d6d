/* cpu_linear.c - cuts linear ops into parts for the threads.
 *
 * Work is split by panels (outputs) and by blocks of rows, never over the columns of a sum:
 *
 *                outputs (panels of 16) ->
 *   rows of x  [ part 0 | part 1 | part 2 ... ]   one block of rows, its parts shared by the
 *   threads
 *       |      [ part 0 | part 1 | part 2 ... ]   then the next block
 *
 * A block of rows is prepared once and fits the second-level cache. Where one thread is fast
 * enough the others are not woken: that would cost more than it brings. */
#include "backend/cpu/cpu_state.h"
#include "base/memory.h"
#include "tensor/panel.h"

enum {
    PREPARE_ALONE = 16 << 10, /* elements one thread prepares by itself */
    LINEAR_ALONE = 32 << 10,  /* products one thread computes by itself */
    FINE_PRODUCTS = 8 << 20,  /* from here on, more parts than threads: a thread that is
                                 free takes the next, so a slow thread costs little */
};

typedef struct prepare_job {
    pk_cpu        *cpu;
    pk_tiles       tiles;
    pk_dtype       type;
    pk_tensor      x;
    const int32_t *pick;
} prepare_job;

typedef struct linear_job {
    const pk_cpu  *cpu;
    pk_linear_part whole;
    int32_t        n_parts;
} linear_job;

/* (cols + 3) / 4 * 4: rows are filled up to whole quads, see pk_tiles */
int32_t pk_cpu_block_rows(const pk_cpu *cpu, int32_t cols, pk_dtype type) {
    const int32_t tile = cpu->kernels->tile_rows[type];
    const size_t  element = type == PK_I8 ? 1 : sizeof(float);
    const int32_t rows = (int32_t)(PK_BLOCK_BYTES / (((size_t)cols + 3) / 4 * 4 * element));
    return rows < tile ? tile : rows / tile * tile;
}

static void prepare_tile(void *context, int32_t task, int32_t worker) {
    const prepare_job *job = context;
    (void)worker;
    job->cpu->kernels->prepare(&job->tiles, job->type, job->x, job->pick, task);
}

/* Rows of x in tiles, in the scratch memory that all calls share. */
pk_tiles pk_cpu_prepare(pk_cpu *cpu, pk_tensor x, const int32_t *pick, int32_t rows,
                        pk_dtype type) {
    const int32_t tallest = cpu->kernels->tile_rows[type];
    prepare_job   job = { .cpu = cpu, .type = type, .x = x, .pick = pick };
    job.tiles = (pk_tiles){ cpu->tiles, cpu->scale, cpu->offset,
                            rows,       x.cols,     (rows + tallest - 1) / tallest };
    if (rows == 1 && type != PK_I8) { /* a single row of floats is its own tile */
        job.tiles.data = x.data + (pick ? (size_t)pick[0] * (size_t)x.stride : 0);
    } else if ((int64_t)rows * x.cols <= PREPARE_ALONE) {
        for (int32_t t = 0; t < job.tiles.n; t++) prepare_tile(&job, t, 0);
    } else {
        pk_pool_dispatch(cpu->pool, prepare_tile, &job, job.tiles.n);
    }
    return job.tiles;
}

/* panels are shared out in pairs, because the tallest tiles take two at a time */
static int32_t part_start(int32_t panels, int32_t part, int32_t n_parts) {
    const int64_t pairs = (panels + 1) / 2;
    const int64_t start = pairs * part / n_parts * 2;
    return start < panels ? (int32_t)start : panels;
}

/* all rows of the block times some panels */
static void linear_task(void *context, int32_t task, int32_t worker) {
    const linear_job *job = context;
    pk_linear_part    part = job->whole;
    const int32_t     start = part_start(job->whole.n_panels, task, job->n_parts);
    const size_t      column = (size_t)start * PK_PANEL;
    (void)worker;
    part.first_panel = start;
    part.n_panels = part_start(job->whole.n_panels, task + 1, job->n_parts) - start;
    part.out += column;
    if (part.residual) part.residual += column;
    if (part.n_panels > 0) job->cpu->kernels->linear(&part);
}

/* how many parts to cut a product into; at most one per pair of panels */
static int32_t part_count(const pk_cpu *cpu, int32_t panels, int64_t products) {
    const int32_t threads = pk_pool_threads(cpu->pool);
    if (threads == 1 || products <= LINEAR_ALONE) return 1;
    const int32_t parts = products >= FINE_PRODUCTS ? 8 * threads : threads;
    return parts < (panels + 1) / 2 ? parts : (panels + 1) / 2;
}

static pk_tensor rows_from(pk_tensor t, int32_t first, int32_t n) {
    if (t.data) t.data += (size_t)first * (size_t)t.stride;
    t.rows = n;
    return t;
}

/* one block of rows: prepares it, then multiplies it on all threads */
static void linear_block(pk_cpu *cpu, pk_tensor out, pk_tensor x, const pk_weight *w,
                         const pk_after *after, pk_tensor residual) {
    const pk_tiles tiles = pk_cpu_prepare(cpu, x, NULL, x.rows, w->type);
    linear_job     job = { .cpu = cpu };
    job.whole = (pk_linear_part){ .x = &tiles,
                                  .w = w,
                                  .bias = after->bias ? after->bias->data : NULL,
                                  .act = after->act,
                                  .n_tiles = tiles.n,
                                  .n_panels = (int32_t)pk_panel_count(w->rows),
                                  .out = out.data,
                                  .out_stride = (size_t)out.stride,
                                  .residual = residual.data,
                                  .residual_stride = (size_t)residual.stride };
    job.n_parts = part_count(cpu, job.whole.n_panels, (int64_t)x.rows * w->rows * w->cols);
    pk_pool_dispatch(cpu->pool, linear_task, &job, job.n_parts);
}

/* what follows the product and needs whole rows */
static void finish_rows(pk_cpu *cpu, pk_tensor out, const pk_after *after) {
    if (after->gain) pk_cpu_norm(cpu, out, out, after->gain, after->shift, after->epsilon);
    if (!after->pool.data) return;
    out.data += after->from;
    out.cols -= after->from;
    pk_cpu_scatter(cpu, after->pool, out, after->slot);
}

void pk_cpu_product(pk_cpu *cpu, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_after *after) {
    const int32_t step = pk_cpu_block_rows(cpu, x.cols, w->type); /* rows of a block */
    for (int32_t first = 0; first < x.rows; first += step) {
        const int32_t n = x.rows - first < step ? x.rows - first : step;
        linear_block(cpu, rows_from(out, first, n), rows_from(x, first, n), w, after,
                     rows_from(after->residual, first, n));
    }
    finish_rows(cpu, out, after);
}

void pk_cpu_linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after) {
    pk_cpu *cpu = self;
    if (cpu->status != PK_OK) return;
    if (x.rows > cpu->max.rows || x.cols > cpu->max.cols) {
        pk_cpu_fail(cpu, "linear: (%d, %d) is more than the (%d, %d) reserved", x.rows, x.cols,
                    cpu->max.rows, cpu->max.cols);
        return;
    }
    pk_ahead_record(cpu->ahead, w);
    pk_cpu_product(cpu, out, x, w, after);
}
