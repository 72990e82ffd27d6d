/* cpu_train_loss.c - the loss, some questions at a time.
 *
 * The logits of as many questions as fit into LOGIT_BYTES are found by one product, transposed into
 * their gradients where they are, and multiplied into the gradients of hidden states and table. How
 * many those are depends on the table alone, so no sum depends on the threads. */
#include <string.h>

#include "backend/cpu/cpu_train.h"

enum { LOGIT_BYTES = 8 << 20, MOST_QUESTIONS = 512, LEAST_QUESTIONS = 16 };

/* from the size of the table alone, see above */
static int32_t questions_at_once(int32_t table_rows) {
    const size_t n = LOGIT_BYTES / sizeof(float) / (size_t)table_rows;
    if (n > MOST_QUESTIONS) return MOST_QUESTIONS;
    return n < LEAST_QUESTIONS ? LEAST_QUESTIONS : (int32_t)n;
}

size_t pk_cpu_loss_bytes(void *self, int32_t questions, int32_t dim, int32_t table_rows) {
    const int32_t most = questions_at_once(table_rows);
    const size_t  rows = (size_t)(questions < most ? questions : most);
    (void)self;
    return rows * (sizeof(pk_loss_row) + ((size_t)table_rows + 2 * (size_t)dim) * sizeof(float));
}

typedef struct loss_job {
    pk_cpu                    *cpu;
    const pk_lesson_questions *q;
    pk_tensor                  hidden, d_hidden;
    const pk_weight           *table;
    const float               *bias;
    float                     *d_table, *d_bias;
    int32_t                    first, n; /* questions of this group */
    pk_loss_row               *rows;     /* (n) */
    pk_tensor                  logits;   /* (n, vocab) */
    pk_tensor                  picked;   /* (n, dim) hidden states asked about */
    pk_tensor                  d_picked; /* (n, dim) */
} loss_job;

static float  *row_of(pk_tensor t, int32_t row) { return t.data + (size_t)row * (size_t)t.stride; }
static pk_view view_of(pk_tensor t) { return (pk_view){ t.data, (size_t)t.stride, 1 }; }
static pk_view transposed(pk_view v) { return (pk_view){ v.at, v.col, v.row }; }

static int32_t hidden_row(const loss_job *job, int32_t i) {
    return job->q->row ? job->q->row[job->first + i] : job->first + i;
}

/* copies the hidden states that are asked about, so that the products see whole matrices */
static void pick_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const loss_job *job = context;
    (void)worker;
    for (int32_t i = first; i < end; i++)
        memcpy(row_of(job->picked, i), row_of(job->hidden, hidden_row(job, i)),
               (size_t)job->picked.cols * sizeof(float));
}

/* loss of some questions; with `learn` their logits become gradients */
static void loss_part(void *context, int32_t first, int32_t end, int32_t worker) {
    const loss_job            *job = context;
    const pk_lesson_questions *q = job->q;
    (void)worker;
    for (int32_t i = first; i < end; i++) {
        pk_loss_row *row = &job->rows[i];
        *row = (pk_loss_row){ .logits = row_of(job->logits, i),
                              .vocab = q->vocab,
                              .never = q->never,
                              .target = q->target[job->first + i],
                              .weight = q->weight ? q->weight[job->first + i] : 1,
                              .smoothing = q->smoothing };
        row->learn = job->d_hidden.data || job->d_table || job->d_bias;
        job->cpu->kernels->train->loss(row);
    }
}

/* adds the questions of the group to the sums, in order */
static void count(const loss_job *job, pk_loss_sums *sums, int32_t *best) {
    const double s = (double)job->q->smoothing;
    const int    none = job->q->never >= 0 && job->q->never < job->q->vocab;
    for (int32_t i = 0; i < job->n; i++) {
        const pk_loss_row *row = &job->rows[i];
        const double       weight = (double)row->weight;
        sums->loss += weight * ((1 - s) * row->nll + s / (job->q->vocab - none) * row->all);
        sums->nll += weight * row->nll;
        sums->weight += weight;
        sums->correct += row->best == row->target ? weight : 0;
        if (best) best[job->first + i] = row->best;
    }
}

/* logits (n, vocab) = picked table^T + bias */
static void find_logits(const loss_job *job) {
    const pk_view table = { job->table->data, (size_t)job->table->cols, 1 };
    pk_cpu_multiply(job->cpu, &(pk_product_part){ .a = view_of(job->picked),
                                                  .b = transposed(table),
                                                  .out = job->logits.data,
                                                  .out_stride = (size_t)job->logits.stride,
                                                  .m = job->n,
                                                  .n = job->q->vocab,
                                                  .k = job->picked.cols,
                                                  .bias = job->bias });
}

/* the logits hold their gradients now: d_hidden of the rows asked about += logits table */
static void back_to_hidden(const loss_job *job) {
    const pk_view table = { job->table->data, (size_t)job->table->cols, 1 };
    pk_cpu_multiply(job->cpu, &(pk_product_part){ .a = view_of(job->logits),
                                                  .b = table,
                                                  .out = job->d_picked.data,
                                                  .out_stride = (size_t)job->d_picked.stride,
                                                  .m = job->n,
                                                  .n = job->d_picked.cols,
                                                  .k = job->q->vocab });
    for (int32_t i = 0; i < job->n; i++) {
        float       *to = row_of(job->d_hidden, hidden_row(job, i));
        const float *from = row_of(job->d_picked, i);
        for (int32_t c = 0; c < job->d_picked.cols; c++) to[c] += from[c];
    }
}

/* d_table += logits^T picked */
static void back_to_table(const loss_job *job) {
    pk_cpu_multiply(job->cpu, &(pk_product_part){ .a = transposed(view_of(job->logits)),
                                                  .b = view_of(job->picked),
                                                  .out = job->d_table,
                                                  .out_stride = (size_t)job->table->cols,
                                                  .m = job->q->vocab,
                                                  .n = job->picked.cols,
                                                  .k = job->n,
                                                  .add = true });
}

/* logits, losses and all gradients of some questions */
static void one_group(loss_job *job, pk_loss_sums *sums, int32_t *best) {
    const int64_t numbers = (int64_t)job->n * job->q->vocab;
    job->picked.rows = job->d_picked.rows = job->logits.rows = job->n;
    pk_cpu_share(job->cpu, pick_part, job, job->n, (int64_t)job->n * job->picked.cols);
    find_logits(job);
    pk_cpu_share(job->cpu, loss_part, job, job->n, numbers);
    if (job->cpu->status != PK_OK) return;
    count(job, sums, best);
    if (job->d_hidden.data) back_to_hidden(job);
    if (job->d_table) back_to_table(job);
    if (job->d_bias) pk_cpu_sum_columns(job->cpu, job->d_bias, job->logits);
}

void pk_cpu_loss(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                 const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best,
                 pk_tensor d_hidden, float *d_table, float *d_bias, void *work) {
    const int32_t most = questions_at_once(table->rows), dim = hidden.cols;
    const int32_t rows = q->n < most ? q->n : most;
    loss_job      job = { .cpu = self, .q = q, .hidden = hidden, .d_hidden = d_hidden };
    if (!pk_cpu_train_ready(job.cpu, 0)) return;
    job.table = table, job.bias = bias ? bias->data : NULL;
    job.d_table = d_table, job.d_bias = d_bias;
    job.rows = work;
    job.picked = (pk_tensor){ (float *)(void *)(job.rows + rows), rows, dim, dim, PK_F32, 0 };
    job.d_picked = job.logits = job.picked;
    job.d_picked.data += (size_t)rows * (size_t)dim;
    job.logits.data = job.d_picked.data + (size_t)rows * (size_t)dim;
    job.logits.cols = job.logits.stride = q->vocab;
    for (int32_t i = 0; d_hidden.data && i < d_hidden.rows; i++)
        memset(row_of(d_hidden, i), 0, (size_t)d_hidden.cols * sizeof(float));
    for (; job.first < q->n; job.first += job.n) {
        job.n = q->n - job.first < most ? q->n - job.first : most;
        one_group(&job, sums, best);
    }
}
