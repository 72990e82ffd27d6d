/* cpu_edges.c - the edges of lattices: a small product for each position.
 *
 * The rows of the output layer that a block asks about are gathered into panels of their own; then
 * its product is that of any linear op, and a logit has the same bits as in answer(). Gathering
 * costs a fraction of what the decoder costs that made the states. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_state.h"
#include "tensor/panel.h"

typedef struct edges_job {
    pk_cpu              *cpu;
    const pk_edging     *e;
    const pk_edge_block *block;
    const pk_weight     *table;
    const float         *bias;
    int32_t              n_parts;
} edges_job;

/* Rows of the output layer that belong to a step's candidates, one panel of 16: they lie anywhere
 * in the table, and the product wants panels. Lanes past the last candidate have no row and give
 * numbers that nobody reads. */
static void gather_panel(void *context, int32_t panel, int32_t worker) {
    const edges_job *job = context;
    const pk_weight *w = job->table;
    const int32_t    first = panel * PK_PANEL, left = job->block->n_tokens - first;
    const int32_t    n = left < PK_PANEL ? left : PK_PANEL;
    const int32_t   *tokens = job->e->tokens + job->block->token + first;
    char *to = (char *)job->cpu->edge_panels + (size_t)panel * pk_panel_stride(w->cols, w->type);
    (void)worker;
    pk_panel_gather(to, w, tokens, n);
    for (int32_t i = 0; i < n; i++) {
        if (job->bias) job->cpu->edge_bias[first + i] = job->bias[tokens[i]];
        if (w->type == PK_I8) job->cpu->edge_scale[first + i] = w->scale[tokens[i]];
    }
}

/* logits of one block, into its scores */
static void multiply(edges_job *job, pk_tensor hidden) {
    pk_cpu              *cpu = job->cpu;
    const pk_edge_block *b = job->block;
    pk_pool_dispatch(cpu->pool, gather_panel, job, (int32_t)pk_panel_count(b->n_tokens));
    const pk_weight chosen = { cpu->edge_panels, job->table->type == PK_I8 ? cpu->edge_scale : NULL,
                               b->n_tokens,      job->table->cols,
                               job->table->type, false };
    const pk_weight bias = { cpu->edge_bias, NULL, 1, b->n_tokens, PK_F32, true };
    pk_tensor out = { job->e->score + b->score, b->n_rows, b->n_tokens, b->n_tokens, PK_F32, 0 };
    hidden.data += (size_t)b->row * (size_t)hidden.stride;
    hidden.rows = b->n_rows;
    pk_cpu_product(cpu, out, hidden, &chosen, &(pk_after){ .bias = job->bias ? &bias : NULL });
}

/* logits become log-probabilities, in some of the blocks */
static void normalise(void *context, int32_t task, int32_t worker) {
    const edges_job *job = context;
    const pk_edging *e = job->e;
    const int32_t    end = (int32_t)((int64_t)e->n * (task + 1) / job->n_parts);
    (void)worker;
    for (int32_t i = (int32_t)((int64_t)e->n * task / job->n_parts); i < end; i++) {
        const pk_edge_block *b = &e->block[i];
        for (int32_t r = 0; r < b->n_rows; r++) {
            float *score = e->score + b->score + (size_t)r * (size_t)b->n_tokens, most, sum;
            if (e->log_sum) {
                sum = e->log_sum[b->row + r];
            } else {
                job->cpu->kernels->exp_sum(score, b->n_tokens, &most, &sum);
                sum = (float)((double)most + log((double)sum));
            }
            for (int32_t j = 0; j < b->n_tokens; j++) score[j] -= sum;
        }
    }
}

/* memory was reserved when the session opened: larger steps are a mistake of the caller */
static bool within_limits(pk_cpu *cpu, pk_tensor hidden, const pk_edging *e) {
    for (int32_t i = 0; i < e->n; i++)
        if (e->block[i].n_tokens > cpu->max.edge_tokens || e->block[i].n_rows > cpu->max.rows) {
            pk_cpu_fail(cpu, "edges: %d rows and %d tokens are more than the %d and %d reserved",
                        e->block[i].n_rows, e->block[i].n_tokens, cpu->max.rows,
                        cpu->max.edge_tokens);
            return false;
        }
    if (hidden.cols <= cpu->max.cols) return true;
    pk_cpu_fail(cpu, "edges: %d columns are more than the %d reserved", hidden.cols, cpu->max.cols);
    return false;
}

void pk_cpu_edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_edging *e) {
    pk_cpu *cpu = self;
    if (cpu->status != PK_OK || !within_limits(cpu, hidden, e)) return;
    edges_job job = { .cpu = cpu, .e = e, .table = table, .bias = bias ? bias->data : NULL };
    for (int32_t i = 0; i < e->n; i++) {
        job.block = &e->block[i];
        if (job.block->n_rows && job.block->n_tokens) multiply(&job, hidden);
    }
    job.n_parts = pk_pool_threads(cpu->pool);
    pk_pool_dispatch(cpu->pool, normalise, &job, job.n_parts);
}
