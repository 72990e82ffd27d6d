/* cpu_linear.c - cuts linear ops into parts for the threads.
 *
 * Never over the columns of a sum, but by rows or by outputs (panels of 16):
 *
 *   many rows                        few rows
 *   rows of x  [     part 0     ]               outputs ->
 *       |      [     part 1     ]    rows of x  [ part 0 | part 1 | part 2 ... ]
 *
 * Many: a thread has the same rows in this op and in the next one, so what it wrote is in its own
 * cache, and all that is done to them (prepare, multiply, norm, scatter) is one task. Every thread
 * reads all weights: enough is computed with each. Few: reading the weights takes the time, so
 * every thread reads a part of them.
 *
 * A block of rows fits the second-level cache. Where one thread is fast enough the others are not
 * woken: that would cost more than it brings. */
#include "backend/cpu/cpu_state.h"
#include "base/memory.h"
#include "tensor/panel.h"

enum {
    PREPARE_ALONE = 16 << 10, /* elements one thread prepares by itself */
    LINEAR_ALONE = 32 << 10,  /* products one thread computes by itself */
    FINISH_ALONE = 4 << 10,   /* elements of finished rows, likewise */
    FINE_PRODUCTS = 8 << 20,  /* from here on, more parts than threads: a thread that is
                                 free takes the next, so a slow thread costs little */
    ROWS_OF_A_THREAD = 8,     /* so many at least, or outputs are shared out instead */
    CACHE_BYTES = 32 << 20,   /* of a last-level cache, on servers whose cores do not share one */
};

typedef struct prepare_job {
    pk_cpu        *cpu;
    pk_tiles       tiles;
    pk_dtype       type;
    pk_tensor      x;
    const int32_t *pick;
} prepare_job;

typedef struct linear_job {
    prepare_job     rows;
    pk_linear_part  whole;
    const pk_after *after;
    pk_tensor       out;
    const int32_t  *slot; /* of the block's first row, where rows are stored in a pool */
    int32_t         n_parts;
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

/* Rows of x in n_tiles tiles, in the scratch memory that all calls share. They are not laid out
 * yet, but for a single row of floats, which is its own tile. */
static prepare_job tiles_of(pk_cpu *cpu, pk_tensor x, const int32_t *pick, int32_t rows,
                            pk_dtype type, int32_t n_tiles) {
    prepare_job job = { .cpu = cpu, .type = type, .x = x, .pick = pick };
    job.tiles = (pk_tiles){ cpu->tiles, cpu->scale, cpu->offset, rows, x.cols, n_tiles };
    if (rows == 1 && type != PK_I8)
        job.tiles.data = x.data + (pick ? (size_t)pick[0] * (size_t)x.stride : 0);
    return job;
}

static void prepare_all(prepare_job *job) {
    if (job->tiles.data != job->cpu->tiles) return;
    if ((int64_t)job->tiles.rows * job->x.cols <= PREPARE_ALONE)
        for (int32_t t = 0; t < job->tiles.n; t++) prepare_tile(job, t, 0);
    else
        pk_pool_dispatch(job->cpu->pool, prepare_tile, job, job->tiles.n);
}

static int32_t tiles_needed(const pk_cpu *cpu, int32_t rows, pk_dtype type) {
    const int32_t tallest = cpu->kernels->tile_rows[type];
    return (rows + tallest - 1) / tallest;
}

pk_tiles pk_cpu_prepare(pk_cpu *cpu, pk_tensor x, const int32_t *pick, int32_t rows,
                        pk_dtype type) {
    prepare_job job = tiles_of(cpu, x, pick, rows, type, tiles_needed(cpu, rows, type));
    prepare_all(&job);
    return job.tiles;
}

/* panels are shared out in pairs, because the tallest tiles take two at a time */
static int32_t part_start(int32_t panels, int32_t part, int32_t n_parts) {
    const int64_t pairs = (panels + 1) / 2;
    const int64_t start = pairs * part / n_parts * 2;
    return start < panels ? (int32_t)start : panels;
}

/* all rows of the block times some panels */
static void panels_task(void *context, int32_t task, int32_t worker) {
    const linear_job *job = context;
    pk_linear_part    part = job->whole;
    const int32_t     start = part_start(job->whole.n_panels, task, job->n_parts);
    const size_t      column = (size_t)start * PK_PANEL;
    (void)worker;
    part.first_panel = start;
    part.n_panels = part_start(job->whole.n_panels, task + 1, job->n_parts) - start;
    part.out += column;
    if (part.residual) part.residual += column;
    if (part.n_panels > 0) job->rows.cpu->kernels->linear(&part);
}

/* what follows the product and needs a whole row */
static void finish_row(const linear_job *job, int32_t row) {
    const pk_cpu_kernels *kernels = job->rows.cpu->kernels;
    const pk_after       *after = job->after;
    float                *out = job->out.data + (size_t)row * (size_t)job->out.stride;
    if (after->gain)
        kernels->norm(out, out, job->out.cols, after->gain->data, after->shift->data,
                      after->epsilon);
    if (after->pool.data)
        pk_cpu_store_row(job->rows.cpu, after->pool, job->slot[row], out + after->from,
                         job->out.cols - after->from);
}

static void finish_task(void *context, int32_t task, int32_t worker) {
    const linear_job *job = context;
    const int64_t     rows = job->out.rows;
    (void)worker;
    for (int64_t i = rows * task / job->n_parts; i < rows * (task + 1) / job->n_parts; i++)
        finish_row(job, (int32_t)i);
}

/* some rows of the block times all panels, and all that is done to these rows */
static void rows_task(void *context, int32_t task, int32_t worker) {
    linear_job     *job = context;
    const pk_tiles *tiles = &job->rows.tiles;
    const int32_t   first = tiles->n / job->n_parts * task, n = tiles->n / job->n_parts;
    const int32_t   row = pk_tile_first(tiles, first), end = pk_tile_first(tiles, first + n);
    pk_linear_part  part = job->whole;
    for (int32_t t = first; t < first + n; t++) prepare_tile(&job->rows, t, worker);
    part.first_tile = first;
    part.n_tiles = n;
    part.out += (size_t)row * part.out_stride;
    if (part.residual) part.residual += (size_t)row * part.residual_stride;
    job->rows.cpu->kernels->linear(&part);
    for (int32_t i = row; i < end; i++) finish_row(job, i);
}

/* how many parts to cut the outputs into; at most one per pair of panels */
static int32_t parts_of_panels(const pk_cpu *cpu, int32_t panels, int64_t products) {
    const int32_t threads = pk_pool_threads(cpu->pool);
    if (threads == 1 || products <= LINEAR_ALONE) return 1;
    const int32_t parts = products >= FINE_PRODUCTS ? 8 * threads : threads;
    return parts < (panels + 1) / 2 ? parts : (panels + 1) / 2;
}

/* How many parts to cut the rows into; 1: outputs are shared out instead. Two cores may have two
 * last-level caches. Weights that do not fit one of them are better kept in parts, a part in each,
 * or the encoder drives out what every step of the decoder reads. */
static int32_t parts_of_rows(const pk_cpu *cpu, int32_t rows) {
    const int32_t threads = pk_pool_threads(cpu->pool);
    if (rows < threads * ROWS_OF_A_THREAD || pk_ahead_known(cpu->ahead) > CACHE_BYTES) return 1;
    return threads;
}

static pk_tensor rows_from(pk_tensor t, int32_t first, int32_t n) {
    if (t.data) t.data += (size_t)first * (size_t)t.stride;
    t.rows = n;
    return t;
}

/* one block of rows of all, from `first` on */
static void linear_block(pk_cpu *cpu, pk_tensor out, pk_tensor x, const pk_weight *w,
                         const pk_after *after, int32_t first) {
    const pk_tensor residual = rows_from(after->residual, first, x.rows);
    const int32_t   parts = parts_of_rows(cpu, x.rows), n = tiles_needed(cpu, x.rows, w->type);
    linear_job      job = { .after = after, .out = out, .n_parts = parts };
    if (after->pool.data) job.slot = after->slot + first;
    job.rows = tiles_of(cpu, x, NULL, x.rows, w->type, (n + parts - 1) / parts * parts);
    job.whole = (pk_linear_part){ .x = &job.rows.tiles,
                                  .w = w,
                                  .in_cache = pk_ahead_near(cpu->ahead),
                                  .bias = after->bias ? after->bias->data : NULL,
                                  .act = after->act,
                                  .n_tiles = job.rows.tiles.n,
                                  .n_panels = (int32_t)pk_panel_count(w->rows),
                                  .out = out.data,
                                  .out_stride = (size_t)out.stride,
                                  .residual = residual.data,
                                  .residual_stride = (size_t)residual.stride };
    if (parts > 1) {
        pk_pool_dispatch(cpu->pool, rows_task, &job, parts);
        return;
    }
    prepare_all(&job.rows);
    job.n_parts = parts_of_panels(cpu, job.whole.n_panels, (int64_t)x.rows * w->rows * w->cols);
    pk_pool_dispatch(cpu->pool, panels_task, &job, job.n_parts);
    if (!after->gain && !after->pool.data) return;
    job.n_parts = (int64_t)x.rows * out.cols <= FINISH_ALONE ? 1 : pk_pool_threads(cpu->pool);
    pk_pool_dispatch(cpu->pool, finish_task, &job, job.n_parts);
}

void pk_cpu_product(pk_cpu *cpu, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_after *after) {
    const int32_t step = pk_cpu_block_rows(cpu, x.cols, w->type); /* rows of a block */
    for (int32_t first = 0; first < x.rows; first += step) {
        const int32_t n = x.rows - first < step ? x.rows - first : step;
        linear_block(cpu, rows_from(out, first, n), rows_from(x, first, n), w, after, first);
    }
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
