/* cpu_train.c - training on the cpu backend: the table, products, attention, the optimiser.
 *
 * Every number is computed by one thread in an order that its op's shape fixes. So sums over rows
 * (gradients of weights) are shared out by columns, never by rows. */
#include "backend/cpu/cpu_train.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum {
    ALONE = 16 << 10, /* numbers one thread does by itself */
    PARTS = 4,        /* per thread, so that a slow one costs little */
    LEAST_ROWS = 96,  /* of a part of a product */
    LEAST_COLUMNS = 64,
    UPDATE_NUMBERS = 16 << 10,  /* of a part of an update */
    SQUARES_NUMBERS = 64 << 10, /* of one partial sum */
    SQUARES_SUMS = 256
};

/* ---- sharing out ---- */

typedef struct shared {
    pk_share *part;
    void     *job;
    int32_t   n, n_parts, unit;
} shared;

/* the first item of a part; parts begin at multiples of `unit` */
static int32_t part_begin(const shared *s, int32_t task) {
    const int64_t units = ((int64_t)s->n + s->unit - 1) / s->unit;
    const int64_t at = units * task / s->n_parts * s->unit;
    return at < s->n ? (int32_t)at : s->n;
}

static void shared_task(void *context, int32_t task, int32_t worker) {
    const shared *s = context;
    s->part(s->job, part_begin(s, task), part_begin(s, task + 1), worker);
}

static void share(pk_cpu *cpu, shared s, int64_t work) {
    const int32_t threads = pk_pool_threads(cpu->pool), units = (s.n + s.unit - 1) / s.unit;
    s.n_parts = work <= ALONE || threads == 1 ? 1 : PARTS * threads;
    if (s.n_parts > units) s.n_parts = units;
    if (cpu->status == PK_OK) pk_pool_dispatch(cpu->pool, shared_task, &s, s.n_parts);
}

void pk_cpu_share(pk_cpu *cpu, pk_share *part, void *job, int32_t n, int64_t work) {
    share(cpu, (shared){ part, job, n, 1, 1 }, work);
}

void pk_cpu_share_columns(pk_cpu *cpu, pk_share *part, void *job, int32_t cols, int64_t work) {
    share(cpu, (shared){ part, job, cols, 1, 16 }, work);
}

float *pk_cpu_train_scratch(const pk_cpu *cpu, int32_t worker) {
    return cpu->train_scratch + (size_t)worker * pk_segments_scratch(cpu->longest_segment);
}

bool pk_cpu_train_ready(pk_cpu *cpu, int32_t longest_segment) {
    if (cpu->status != PK_OK) return false;
    if (!cpu->train_scratch)
        pk_cpu_fail(cpu, "training: no scratch memory was reserved");
    else if (longest_segment > cpu->longest_segment)
        pk_cpu_fail(cpu, "training: a segment of %d is more than the %d reserved", longest_segment,
                    cpu->longest_segment);
    return cpu->status == PK_OK;
}

static pk_status reserve(void *self, int32_t rows, int32_t cols, int32_t longest_segment) {
    pk_cpu *cpu = self;
    (void)rows, (void)cols; /* products pass through blocks of a fixed size */
    pk_memory_give(cpu->train_scratch);
    cpu->train_scratch = NULL;
    cpu->longest_segment = longest_segment;
    return PK_TAKE(&cpu->train_scratch,
                   (size_t)pk_pool_threads(cpu->pool) * pk_segments_scratch(longest_segment));
}

/* ---- products ---- */

typedef struct product_job {
    const pk_cpu          *cpu;
    const pk_product_part *whole;
    int32_t                rows, columns, across; /* of a part; parts side by side */
} product_job;

/* one part: some rows times some columns; parts are counted along the columns first */
static void product_task(void *context, int32_t task, int32_t worker) {
    const product_job *job = context;
    pk_product_part    part = *job->whole;
    const int32_t row = task / job->across * job->rows, column = task % job->across * job->columns;
    part.m = part.m - row < job->rows ? part.m - row : job->rows;
    part.n = part.n - column < job->columns ? part.n - column : job->columns;
    part.a.at += (size_t)row * part.a.row;
    part.b.at += (size_t)column * part.b.col;
    part.out += (size_t)row * part.out_stride + (size_t)column;
    if (part.bias) part.bias += column;
    job->cpu->kernels->train->product(&part, pk_cpu_train_scratch(job->cpu, worker));
}

static int32_t parts_of(int32_t n, int32_t each) { return n ? (n - 1) / each + 1 : 0; }

/* Parts are as large as possible, with a few for every thread: a part packs all that it reads, so
 * small parts pack the same numbers often. */
void pk_cpu_multiply(pk_cpu *cpu, const pk_product_part *whole) {
    const int32_t threads = pk_pool_threads(cpu->pool);
    product_job   job = { cpu, whole, whole->m > 0 ? whole->m : 1, PK_PRODUCT_COLUMNS, 0 };
    int64_t       n;
    if (!pk_cpu_train_ready(cpu, 0)) return;
    while ((n = (int64_t)parts_of(whole->m, job.rows) * parts_of(whole->n, job.columns)),
           threads > 1 && n < PARTS * threads) {
        if (job.rows > LEAST_ROWS)
            job.rows = (job.rows / 2 + 11) / 12 * 12; /* whole tiles, see PK_TILE_MAX */
        else if (job.columns > LEAST_COLUMNS)
            job.columns /= 2;
        else
            break;
    }
    job.across = parts_of(whole->n, job.columns);
    pk_pool_dispatch(cpu->pool, product_task, &job, (int32_t)n);
}

static pk_view view_of(pk_tensor t) { return (pk_view){ t.data, (size_t)t.stride, 1 }; }
static pk_view weight_view(const pk_weight *w) { return (pk_view){ w->data, (size_t)w->cols, 1 }; }
static pk_view transposed(pk_view v) { return (pk_view){ v.at, v.col, v.row }; }

/* out = x w^T + bias */
static void product(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                    const pk_weight *bias) {
    pk_cpu_multiply(self, &(pk_product_part){ .a = view_of(x),
                                              .b = transposed(weight_view(w)),
                                              .out = out.data,
                                              .out_stride = (size_t)out.stride,
                                              .m = out.rows,
                                              .n = out.cols,
                                              .k = x.cols,
                                              .bias = bias ? bias->data : NULL });
}

/* d_w += d_out^T x, d_bias += sums of the columns of d_out, d_x (+)= d_out w */
static void product_back(void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias,
                         pk_tensor d_out, pk_tensor x, const pk_weight *w) {
    if (d_w)
        pk_cpu_multiply(self, &(pk_product_part){ .a = transposed(view_of(d_out)),
                                                  .b = view_of(x),
                                                  .out = d_w,
                                                  .out_stride = (size_t)x.cols,
                                                  .m = d_out.cols,
                                                  .n = x.cols,
                                                  .k = x.rows,
                                                  .add = true });
    if (d_bias) pk_cpu_sum_columns(self, d_bias, d_out);
    if (d_x.data)
        pk_cpu_multiply(self, &(pk_product_part){ .a = view_of(d_out),
                                                  .b = weight_view(w),
                                                  .out = d_x.data,
                                                  .out_stride = (size_t)d_x.stride,
                                                  .m = d_x.rows,
                                                  .n = d_x.cols,
                                                  .k = d_out.cols,
                                                  .add = add });
}

/* ---- attention ---- */

typedef struct segments_share {
    const pk_cpu   *cpu;
    pk_segments_job job;
    void (*one)(const pk_segments_job *job, int32_t segment, int32_t head, float *scratch);
} segments_share;

static void segments_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const segments_share *s = context;
    const int32_t         heads = s->job.see->heads;
    for (int32_t i = first; i < end; i++)
        s->one(&s->job, i / heads, i % heads, pk_cpu_train_scratch(s->cpu, worker));
}

/* an item is one head of one segment */
static void attend_all(pk_cpu *cpu, segments_share *s) {
    const pk_attention *see = s->job.see;
    if (!pk_cpu_train_ready(cpu, see->longest_segment)) return;
    pk_cpu_share(cpu, segments_part, s, see->n_segments * see->heads,
                 (int64_t)s->job.q.rows * s->job.q.cols * see->longest_segment);
}

static void attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see, pk_drop drop, float *sums) {
    pk_cpu        *cpu = self;
    segments_share s = { cpu, { .out = out, .q = q, .k = k, .v = v, .see = see }, NULL };
    s.one = cpu->kernels->train->attend;
    s.job.drop = drop, s.job.sums = sums;
    attend_all(cpu, &s);
}

static void attend_back(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                        pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                        const pk_attention *see, pk_drop drop, const float *sums) {
    pk_cpu        *cpu = self;
    segments_share s = { cpu, { out, q, k, v, d_out, d_q, d_k, d_v, see, drop, NULL }, NULL };
    s.one = cpu->kernels->train->attend_back;
    s.job.sums = (float *)(uintptr_t)sums; /* only read backwards */
    attend_all(cpu, &s);
}

/* ---- the optimiser ---- */

typedef struct squares_job {
    const pk_cpu *cpu;
    const float  *x;
    size_t        n;
    double        sums[SQUARES_SUMS];
} squares_job;

/* partial sums of some blocks; a block's sum does not depend on the thread */
static void squares_part(void *context, int32_t first, int32_t end, int32_t worker) {
    squares_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++) {
        const size_t from = (size_t)i * SQUARES_NUMBERS, left = job->n - from;
        job->sums[i] = job->cpu->kernels->train->squares(
            job->x + from, left < SQUARES_NUMBERS ? left : SQUARES_NUMBERS);
    }
}

/* partial sums of blocks of a fixed size, added in order */
static void squares(void *self, const float *x, size_t n, double *sum) {
    squares_job job = { .cpu = self, .x = x };
    double      all = 0;
    while (n > 0) {
        const size_t most = (size_t)SQUARES_NUMBERS * SQUARES_SUMS;
        job.n = n < most ? n : most;
        const int32_t blocks = (int32_t)((job.n + SQUARES_NUMBERS - 1) / SQUARES_NUMBERS);
        pk_cpu_share(self, squares_part, &job, blocks, (int64_t)job.n);
        for (int32_t i = 0; i < blocks; i++) all += job.sums[i];
        job.x += job.n, n -= job.n;
    }
    *sum += all;
}

typedef struct update_job {
    const pk_cpu    *cpu;
    const pk_update *u;
    float            scale;
} update_job;

/* the optimiser treats every number by itself, so parts can be cut anywhere */
static void update_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const update_job *job = context;
    const size_t      from = (size_t)first * UPDATE_NUMBERS;
    size_t            n = (size_t)(end - first) * UPDATE_NUMBERS;
    (void)worker;
    if (n > job->u->n - from) n = job->u->n - from;
    job->cpu->kernels->train->update(job->u, from, n, job->scale);
}

static void round_weights(void *self, void *weights, const float *master, size_t n) {
    (void)self;
    if (weights != (const void *)master) memcpy(weights, master, n * sizeof *master);
}

/* clips by the norm of the whole gradient; a gradient that is not finite takes no step */
static void update(void *self, const pk_update *u) {
    const double length = sqrt(*u->squares) / (double)u->total, clip = (double)u->clip;
    const double shorten = clip > 0 && length > clip ? clip / length : 1;
    update_job   job = { self, u, (float)(shorten / (double)u->total) };
    if (!isfinite(*u->squares)) {
        ++*u->skipped;
        memset(u->grad, 0, u->n * sizeof *u->grad);
        return;
    }
    pk_cpu_share(self, update_part, &job, (int32_t)((u->n + UPDATE_NUMBERS - 1) / UPDATE_NUMBERS),
                 (int64_t)u->n);
    round_weights(self, u->weights, u->master, u->n);
}

static void clear(void *self, void *memory, size_t bytes) {
    (void)self;
    memset(memory, 0, bytes);
}

const pk_training pk_cpu_training = { .embed = pk_cpu_embed_keep,
                                      .embed_back = pk_cpu_embed_back,
                                      .product = product,
                                      .product_back = product_back,
                                      .activate = pk_cpu_activate,
                                      .activate_back = pk_cpu_activate_back,
                                      .add_norm = pk_cpu_add_norm,
                                      .add_norm_back = pk_cpu_add_norm_back,
                                      .norm = pk_cpu_norm_keep,
                                      .norm_back = pk_cpu_norm_back,
                                      .attend = attend,
                                      .attend_back = attend_back,
                                      .loss = pk_cpu_loss,
                                      .loss_bytes = pk_cpu_loss_bytes,
                                      .squares = squares,
                                      .update = update,
                                      .clear = clear,
                                      .round_weights = round_weights,
                                      .reserve = reserve };
