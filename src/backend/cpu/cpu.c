/* cpu.c - the backend table: opening, scratch memory, and the ops that need little of either.
 *
 * An op is computed when it is called, on the calling thread and the pool. An op that needs more
 * than was reserved does nothing and leaves a status that sticks until take_status() returns it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu_state.h"
#include "backend/cpu/cpu_train.h"
#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "base/memory.h"
#include "tensor/host_ops.h"
#include "tensor/panel.h"

enum {
    ALONE = 4 << 10,         /* numbers that one thread does by itself: waking others costs more */
    ATTEND_ALONE = 48 << 10, /* the same for attention, in products */
    QUERIES_AT_ONCE = 32,    /* of one task, when there are many */
};

/* ---- rows shared out over the threads: norm, embed, scatter ---- */

typedef struct rows_job {
    const pk_cpu    *cpu;
    pk_tensor        out, x;
    const pk_weight *a, *b;       /* gain and bias, or table and positions */
    const int32_t   *index, *pos; /* tokens or slots; positions */
    float            number;      /* epsilon or scale */
    void (*row)(const struct rows_job *job, int32_t i);
    int32_t rows, n_parts;
} rows_job;

static float *row_of(pk_tensor t, int32_t row) { return t.data + (size_t)row * (size_t)t.stride; }

/* part `task` of n_parts of nearly equal size */
static void rows_task(void *context, int32_t task, int32_t worker) {
    const rows_job *job = context;
    const int32_t   first = (int32_t)((int64_t)job->rows * task / job->n_parts);
    const int32_t   end = (int32_t)((int64_t)job->rows * (task + 1) / job->n_parts);
    (void)worker;
    for (int32_t i = first; i < end; i++) job->row(job, i);
}

/* shares the rows out, or does few of them on this thread */
static void share_rows(rows_job job, int32_t rows, int32_t cols) {
    if (job.cpu->status != PK_OK) return;
    job.rows = rows;
    job.n_parts = (int64_t)rows * cols <= ALONE ? 1 : pk_pool_threads(job.cpu->pool);
    pk_pool_dispatch(job.cpu->pool, rows_task, &job, job.n_parts);
}

static void norm_row(const rows_job *job, int32_t i) {
    job->cpu->kernels->norm(row_of(job->out, i), row_of(job->x, i), job->x.cols, job->a->data,
                            job->b->data, job->number);
}

static void norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                 const pk_weight *shift, float epsilon) {
    share_rows((rows_job){ .cpu = self,
                           .out = out,
                           .x = x,
                           .a = gain,
                           .b = shift,
                           .number = epsilon,
                           .row = norm_row },
               x.rows, x.cols);
}

static void embed_row(const rows_job *job, int32_t i) {
    const float *positions = job->b ? job->b->data : NULL;
    if (positions) positions += (size_t)job->pos[i] * (size_t)job->b->cols;
    job->cpu->kernels->embed(row_of(job->out, i), job->a, job->index[i], job->number, positions);
}

static void embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                  float scale, const pk_weight *position, const int32_t *pos) {
    share_rows((rows_job){ .cpu = self,
                           .out = out,
                           .a = table,
                           .b = position,
                           .index = token,
                           .pos = pos,
                           .number = scale,
                           .row = embed_row },
               out.rows, out.cols);
}

void pk_cpu_store_row(const pk_cpu *cpu, pk_tensor pool, int32_t slot, const float *row,
                      int32_t cols) {
    const size_t at = (size_t)slot * (size_t)pool.stride;
    if (pool.type == PK_F16)
        cpu->kernels->narrow((uint16_t *)(void *)pool.data + at, row, cols);
    else
        memcpy(pool.data + at, row, (size_t)cols * sizeof(float));
}

/* row i of x goes to slot index[i] of the pool */
static void scatter_row(const rows_job *job, int32_t i) {
    pk_cpu_store_row(job->cpu, job->out, job->index[i], row_of(job->x, i), job->x.cols);
}

static void scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot) {
    share_rows((rows_job){ .cpu = self, .out = pool, .x = rows, .index = slot, .row = scatter_row },
               rows.rows, rows.cols);
}

/* ---- attention ---- */

typedef struct attend_work {
    const pk_cpu *cpu;
    pk_attend_job job;
    int32_t       at_once;    /* queries of one task */
    int32_t       head_parts; /* tasks that share the heads of those */
} attend_work;

/* tasks count groups of queries, and within a group its parts of the heads */
static void attend_task(void *context, int32_t task, int32_t worker) {
    const attend_work *work = context;
    const int32_t first = task / work->head_parts * work->at_once, left = work->job.q.rows - first;
    const int32_t part = task % work->head_parts, heads = work->job.see->heads;
    const int32_t head = heads * part / work->head_parts;
    work->cpu->kernels->attend(&work->job, first, left < work->at_once ? left : work->at_once, head,
                               heads * (part + 1) / work->head_parts - head,
                               work->cpu->attention +
                                   (size_t)worker * pk_attend_scratch(work->cpu->max.keys));
}

/* Many queries: each task has some of them and all heads. Few queries: each task has all of them
 * and some heads. Attention weights are summed over the heads in order, so where they are wanted
 * a task always has all heads. */
static void share_out(attend_work *work, int32_t threads) {
    const int32_t queries = work->job.q.rows, heads = work->job.see->heads;
    work->at_once = QUERIES_AT_ONCE;
    while (work->at_once > PK_ATTEND_QUERIES && queries / work->at_once < 4 * threads)
        work->at_once /= 2;
    while (queries / work->at_once >= PK_POOL_TASKS / threads) work->at_once *= 2;
    if (queries > work->at_once * (threads - 1) || work->job.see->weights) return;
    work->at_once = queries;
    work->head_parts = heads < threads ? heads : threads;
}

/* all keys seen by all queries; -1 when a query sees more than was reserved */
static int64_t keys_seen(pk_cpu *cpu, const pk_attention *see, int32_t queries) {
    int64_t sum = 0;
    for (int32_t i = 0; i < queries; i++) {
        sum += see->count[i];
        if (see->count[i] <= cpu->max.keys) continue;
        pk_cpu_fail(cpu, "attend: %d keys are more than the %d reserved", see->count[i],
                    cpu->max.keys);
        return -1;
    }
    return sum;
}

/* shared out by queries or by heads, or done on this thread where there is little to do */
static void attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see) {
    pk_cpu *cpu = self;
    if (cpu->status != PK_OK) return;
    const int64_t keys = keys_seen(cpu, see, q.rows);
    if (keys < 0) return;
    attend_work work = { .cpu = cpu, .at_once = q.rows, .head_parts = 1 };
    work.job = (pk_attend_job){ out, q, k, v, see, q.cols / see->heads };
    if (keys * q.cols * 2 > ATTEND_ALONE && pk_pool_threads(cpu->pool) > 1)
        share_out(&work, pk_pool_threads(cpu->pool));
    const int32_t groups = q.rows ? (q.rows + work.at_once - 1) / work.at_once : 0;
    pk_pool_dispatch(cpu->pool, attend_task, &work, groups * work.head_parts);
}

/* ---- state ---- */

void pk_cpu_fail(pk_cpu *cpu, const char *format, ...) {
    va_list arguments;
    if (cpu->status != PK_OK) return;
    cpu->status = PK_ARGUMENT;
    va_start(arguments, format);
    vsnprintf(cpu->message, sizeof cpu->message, format, arguments);
    va_end(arguments);
}

/* returns the first failure and clears it */
static pk_status take_status(void *self) {
    pk_cpu         *cpu = self;
    const pk_status status = cpu->status;
    cpu->status = PK_OK;
    if (status == PK_OK) return PK_OK;
    PK_FAIL(status, "%s", cpu->message);
}

static void limit(void *self, int32_t threads) { pk_pool_limit(((pk_cpu *)self)->pool, threads); }

static void free_scratch(pk_cpu *cpu) {
    void *blocks[] = { cpu->tiles,       cpu->scale,      cpu->offset,   cpu->pick, cpu->attention,
                       cpu->logits,      cpu->best,       cpu->n_best,   cpu->used, cpu->sums,
                       cpu->edge_panels, cpu->edge_scale, cpu->edge_bias };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    cpu->tiles = cpu->edge_panels = NULL;
    cpu->edge_scale = cpu->edge_bias = NULL;
    cpu->scale = cpu->attention = cpu->logits = cpu->sums = NULL;
    cpu->offset = cpu->pick = cpu->n_best = cpu->used = NULL;
    cpu->best = NULL;
    cpu->max = (pk_limits){ 0 };
}

/* sizes follow from the limits alone: an op within them never allocates */
static pk_status take_scratch(pk_cpu *cpu, const pk_limits *max) {
    const size_t threads = (size_t)pk_pool_threads(cpu->pool), questions = (size_t)max->questions;
    /* A block has PK_BLOCK_BYTES or one tile, whichever is more. Short rows make the tallest
     * blocks, but no block has more rows than the op. */
    const int32_t most = max->rows > max->questions ? max->rows : max->questions;
    const size_t  chunks = ((size_t)max->vocab + PK_CHUNK - 1) / PK_CHUNK;
    const size_t  tallest = PK_TILE_MAX * (((size_t)max->cols + 3) / 4 * 4) * sizeof(float);
    PK_TRY(pk_memory_take(tallest > PK_BLOCK_BYTES ? tallest : PK_BLOCK_BYTES, 1, &cpu->tiles));
    PK_TRY(PK_TAKE(&cpu->scale, (size_t)most));
    PK_TRY(PK_TAKE(&cpu->offset, (size_t)most));
    PK_TRY(PK_TAKE(&cpu->pick, (size_t)most));
    PK_TRY(PK_TAKE(&cpu->attention, threads * pk_attend_scratch(max->keys)));
    PK_TRY(PK_TAKE(&cpu->logits, threads * (PK_TILE_MAX + 1) * PK_CHUNK));
    PK_TRY(PK_TAKE(&cpu->best, threads * questions * (size_t)max->top_k));
    PK_TRY(PK_TAKE(&cpu->n_best, threads * questions));
    PK_TRY(PK_TAKE(&cpu->used, threads));
    PK_TRY(PK_TAKE(&cpu->sums, questions * chunks * 2));
    if (max->edge_tokens) { /* F32 is the widest type */
        const size_t bytes = pk_panel_bytes(max->edge_tokens, max->cols, PK_F32);
        PK_TRY(pk_memory_take(bytes, 1, &cpu->edge_panels));
        PK_TRY(PK_TAKE(&cpu->edge_scale, (size_t)max->edge_tokens));
        PK_TRY(PK_TAKE(&cpu->edge_bias, (size_t)max->edge_tokens));
    }
    cpu->max = *max;
    return PK_OK;
}

/* replaces what was reserved before */
static pk_status reserve(void *self, const pk_limits *max) {
    pk_cpu *cpu = self;
    free_scratch(cpu);
    if (max->rows < 0 || max->cols < 0 || max->keys < 0 || max->questions < 0 || max->top_k < 0 ||
        max->edge_tokens < 0 || max->vocab < 0 || max->vocab > PK_CHUNK * PK_POOL_TASKS)
        PK_FAIL(PK_ARGUMENT, "limits of the cpu backend are out of range");
    const pk_status status = take_scratch(cpu, max);
    if (status != PK_OK) free_scratch(cpu);
    return status;
}

static void close(void *self) {
    pk_cpu *cpu = self;
    free_scratch(cpu);
    pk_memory_give(cpu->train_scratch);
    pk_pool_close(cpu->pool);
    pk_ahead_close(cpu->ahead);
    pk_memory_give(cpu);
}

pk_status pk_cpu_open(int32_t threads, pk_backend *out) {
    const pk_cpu_kernels *kernels;
    pk_cpu               *cpu;
    PK_TRY(pk_isa_choose(getenv("PRONK_ISA"), &kernels));
    PK_TRY(PK_TAKE(&cpu, 1));
    cpu->kernels = kernels;
    pk_status status = pk_pool_open(threads, &cpu->pool);
    if (status == PK_OK) status = pk_ahead_open(cpu->pool, threads, &cpu->ahead);
    if (status != PK_OK) {
        close(cpu);
        return status;
    }
    *out = (pk_backend){ .name = "cpu",
                         .self = cpu,
                         .close = close,
                         .status = take_status,
                         .reserve = reserve,
                         .limit = limit,
                         .encode = PK_HOST_ENCODE,
                         .padded_rows = pk_host_padded_rows,
                         .take = pk_host_take,
                         .mirror = pk_host_mirror,
                         .give = pk_host_give,
                         .put = pk_host_copy,
                         .get = pk_host_copy,
                         .adopt = pk_host_adopt,
                         .repeat = pk_host_repeat,
                         .embed = embed,
                         .linear = pk_cpu_linear,
                         .norm = norm,
                         .attend = attend,
                         .scatter = scatter,
                         .answer = pk_cpu_answer,
                         .edges = pk_cpu_edges,
                         .advance = pk_host_advance,
                         .train = &pk_cpu_training };
    return PK_OK;
}
