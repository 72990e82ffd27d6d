/* cpu_train_rows.c - shares out the ops of training that go row by row, and their sums over rows.
 *
 * Rows are independent: any thread may have any. What is summed over rows (tables, gains, biases)
 * is shared out by columns, and each thread walks all rows in order. */
#include "backend/cpu/cpu_train.h"

typedef struct rows_job {
    const pk_train_kernels *kernels;
    pk_tensor               out, x, residual, sum;
    pk_tensor               d_x, d_residual, d_out;
    const pk_weight        *a, *b; /* gain and shift, or table and positions */
    float                  *d_a, *d_b;
    const int32_t          *token, *pos;
    float                   number; /* epsilon or scale */
    float                  *moments;
    const float            *moments_kept;
    pk_act                  act;
    pk_drop                 drop;
    bool                    add;
} rows_job;

static float *row_of(pk_tensor t, int32_t row) {
    return t.data ? t.data + (size_t)row * (size_t)t.stride : NULL;
}

/* the number that dropout knows a row's first element by */
static uint64_t element(pk_tensor t, int32_t row) { return (uint64_t)row * (uint64_t)t.cols; }

/* shares the rows out over the threads */
static void share_rows(void *self, pk_share *part, rows_job job, pk_tensor rows) {
    pk_cpu *cpu = self;
    job.kernels = cpu->kernels->train;
    pk_cpu_share(cpu, part, &job, rows.rows, (int64_t)rows.rows * rows.cols);
}

/* shares the columns out: each thread has some columns of all rows */
static void share_columns(void *self, pk_share *part, rows_job job, pk_tensor rows) {
    pk_cpu *cpu = self;
    job.kernels = cpu->kernels->train;
    pk_cpu_share_columns(cpu, part, &job, rows.cols, (int64_t)rows.rows * rows.cols);
}

/* ---- embed ---- */

static const float *weight_row(const pk_weight *w, int32_t row) {
    return (const float *)w->data + (size_t)row * (size_t)w->cols;
}

static void embed_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++)
        job->kernels->embed(row_of(job->out, i),
                            job->token[i] < 0 ? NULL : weight_row(job->a, job->token[i]),
                            job->number, job->b ? weight_row(job->b, job->pos[i]) : NULL,
                            job->out.cols, job->drop, element(job->out, i));
}

void pk_cpu_embed_keep(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                       float scale, const pk_weight *position, const int32_t *pos, pk_drop drop) {
    share_rows(self, embed_part,
               (rows_job){ .out = out,
                           .a = table,
                           .b = position,
                           .token = token,
                           .pos = pos,
                           .number = scale,
                           .drop = drop },
               out);
}

/* some columns of all rows: two rows may have the same token, so rows are not shared out */
static void embed_back_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    const int32_t   n = end - first;
    (void)worker;
    for (int32_t i = 0; i < job->d_out.rows; i++) {
        const float   *d = row_of(job->d_out, i) + first;
        const uint64_t at = element(job->d_out, i) + (uint64_t)first;
        const size_t   cols = (size_t)job->d_out.cols;
        if (job->d_a && job->token[i] >= 0)
            job->kernels->add_dropped(job->d_a + (size_t)job->token[i] * cols + first, d,
                                      job->number, n, job->drop, at);
        if (job->d_b)
            job->kernels->add_dropped(job->d_b + (size_t)job->pos[i] * cols + first, d, 1, n,
                                      job->drop, at);
    }
}

void pk_cpu_embed_back(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                       float scale, float *d_position, const int32_t *pos, pk_drop drop) {
    share_columns(self, embed_back_part,
                  (rows_job){ .d_out = d_out,
                              .d_a = d_table,
                              .d_b = d_position,
                              .token = token,
                              .pos = pos,
                              .number = scale,
                              .drop = drop },
                  d_out);
}

/* ---- activate ---- */

static void activate_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++)
        job->kernels->activate(row_of(job->out, i), row_of(job->x, i), job->x.cols, job->act,
                               job->drop, element(job->x, i));
}

void pk_cpu_activate(void *self, pk_tensor out, pk_tensor x, pk_act act, pk_drop drop) {
    share_rows(self, activate_part, (rows_job){ .out = out, .x = x, .act = act, .drop = drop }, x);
}

static void activate_back_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++)
        job->kernels->activate_back(row_of(job->d_x, i), row_of(job->d_out, i), row_of(job->x, i),
                                    job->x.cols, job->act, job->drop, element(job->x, i));
}

void pk_cpu_activate_back(void *self, pk_tensor d_x, pk_tensor d_out, pk_tensor x, pk_act act,
                          pk_drop drop) {
    share_rows(self, activate_back_part,
               (rows_job){ .d_x = d_x, .d_out = d_out, .x = x, .act = act, .drop = drop }, x);
}

/* ---- add and norm ---- */

static void norm_row(const rows_job *job, pk_tensor x, int32_t i) {
    job->kernels->norm(row_of(job->out, i), row_of(x, i), x.cols, job->a->data, job->b->data,
                       job->number, job->moments + 2 * (size_t)i);
}

/* some rows: sum = residual + drop(x), then the norm of the sum where there is a gain */
static void add_norm_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++) {
        job->kernels->add_norm(row_of(job->sum, i), row_of(job->x, i), row_of(job->residual, i),
                               job->x.cols, job->drop, element(job->x, i));
        if (job->a) norm_row(job, job->sum, i);
    }
}

void pk_cpu_add_norm(void *self, pk_tensor sum, pk_tensor out, pk_tensor x, pk_tensor residual,
                     pk_drop drop, const pk_weight *gain, const pk_weight *shift, float epsilon,
                     float *moments) {
    share_rows(self, add_norm_part,
               (rows_job){ .sum = sum,
                           .out = out,
                           .x = x,
                           .residual = residual,
                           .drop = drop,
                           .a = gain,
                           .b = shift,
                           .number = epsilon,
                           .moments = moments },
               x);
}

static void norm_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++) norm_row(job, job->x, i);
}

void pk_cpu_norm_keep(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                      const pk_weight *shift, float epsilon, float *moments) {
    share_rows(
        self, norm_part,
        (rows_job){
            .out = out, .x = x, .a = gain, .b = shift, .number = epsilon, .moments = moments },
        x);
}

/* some columns of d_gain and d_shift, each a sum over all rows */
static void gains_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job *job = context;
    (void)worker;
    job->kernels->gains(job->d_a, job->d_b, job->d_out, job->sum, job->moments_kept, first,
                        end - first);
}

/* some rows of d_x and d_residual */
static void add_norm_back_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const rows_job      *job = context;
    pk_add_norm_back_row row = { .add = job->add, .cols = job->d_out.cols, .drop = job->drop };
    (void)worker;
    row.gain = job->a ? job->a->data : NULL;
    for (int32_t i = first; i < end; i++) {
        row.d_out = row_of(job->d_out, i), row.sum = row_of(job->sum, i);
        row.d_x = row_of(job->d_x, i), row.d_residual = row_of(job->d_residual, i);
        row.moments = job->a ? job->moments_kept + 2 * (size_t)i : NULL;
        row.first = element(job->d_out, i);
        job->kernels->add_norm_back(&row);
    }
}

void pk_cpu_add_norm_back(void *self, pk_tensor d_x, pk_tensor d_residual, bool add, float *d_gain,
                          float *d_shift, pk_tensor d_out, pk_tensor sum, const pk_weight *gain,
                          const float *moments, pk_drop drop) {
    const rows_job job = { .d_x = d_x,
                           .d_residual = d_residual,
                           .d_out = d_out,
                           .sum = sum,
                           .a = gain,
                           .d_a = d_gain,
                           .d_b = d_shift,
                           .moments_kept = moments,
                           .drop = drop,
                           .add = add };
    /* first: d_x may be d_out */
    if (gain && (d_gain || d_shift)) share_columns(self, gains_part, job, d_out);
    if (d_x.data || d_residual.data) share_rows(self, add_norm_back_part, job, d_out);
}

/* as add_norm_back where only the gradient of the sum is wanted */
void pk_cpu_norm_back(void *self, pk_tensor d_x, bool add, float *d_gain, float *d_shift,
                      pk_tensor d_out, pk_tensor x, const pk_weight *gain, const float *moments) {
    pk_cpu_add_norm_back(self, (pk_tensor){ 0 }, d_x, add, d_gain, d_shift, d_out, x, gain, moments,
                         (pk_drop){ 0, 0 });
}

/* a shift's gradient is a sum of columns */
void pk_cpu_sum_columns(pk_cpu *cpu, float *to, pk_tensor rows) {
    share_columns(cpu, gains_part, (rows_job){ .d_b = to, .d_out = rows }, rows);
}
