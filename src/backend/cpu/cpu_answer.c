/* cpu_answer.c - the output layer: logits chunk by chunk, read while they are in the nearest
 * cache.
 *
 * The vocabulary is cut into fixed chunks of PK_CHUNK tokens; a free thread takes the next.
 * Lists of best tokens are kept per thread and merged under a total order. Sums of exponentials
 * are kept per chunk and merged in the order of the chunks. So the answers do not depend on the
 * threads. Logits exist for one tile of rows and one chunk at a time, never as a whole. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_state.h"
#include "tensor/panel.h"

enum { FEW_ROWS = 4 }; /* up to here the time goes into reading weights, beyond into products */

typedef struct answer_job {
    pk_cpu             *cpu;
    const pk_answering *a;
    const pk_weight    *table;
    const float        *bias;
    pk_tiles            tiles;
    int32_t             first, n; /* questions of this block of rows */
    int32_t             n_chunks, n_tasks;
} answer_job;

/* The logits (to - from) as this question may choose from them: its banned tokens are minus
 * infinity. Another question may ask about the same row, so the change is made to a copy. */
static const float *without_banned(const answer_job *job, const pk_question *q, const float *logits,
                                   float *copy, int32_t from, int32_t to) {
    const float *result = logits;
    for (int32_t j = q->ban; j < q->ban + q->n_ban; j++) {
        const int32_t token = job->a->tokens[j];
        if (token < from || token >= to) continue;
        if (result == logits) memcpy(copy, logits, (size_t)(to - from) * sizeof *copy);
        copy[token - from] = -INFINITY;
        result = copy;
    }
    return result;
}

/* logits of the question's target tokens that are in this chunk */
static void store_targets(const answer_job *job, const pk_question *q, const float *logits,
                          int32_t from, int32_t to) {
    for (int32_t j = q->target; j < q->target + q->n_target; j++) {
        const int32_t token = job->a->tokens[j];
        if (token >= from && token < to) job->a->target_score[j] = logits[token - from];
    }
}

/* largest logit and sum of exponentials of one chunk */
static void store_sum(const answer_job *job, int32_t question, int32_t chunk, const float *logits,
                      int32_t n) {
    const size_t at = ((size_t)question * (size_t)job->n_chunks + (size_t)chunk) * 2;
    job->cpu->kernels->exp_sum(logits, n, &job->cpu->sums[at], &job->cpu->sums[at + 1]);
}

/* puts the chunk's best tokens into the list of this question and thread */
static void store_best(const answer_job *job, int32_t question, int32_t worker, const float *logits,
                       int32_t n, int32_t first_token) {
    pk_cpu      *cpu = job->cpu;
    const size_t list = (size_t)worker * (size_t)cpu->max.questions + (size_t)question;
    pk_best      best = { cpu->best + list * (size_t)cpu->max.top_k, cpu->n_best[list],
                          job->a->question[question].top_k };
    cpu->kernels->best(&best, logits, n, first_token);
    cpu->n_best[list] = best.n;
}

/* one question, one chunk: logits (to - from) */
static void read_chunk(const answer_job *job, int32_t question, int32_t worker, int32_t chunk,
                       const float *logits, float *copy, int32_t to) {
    const pk_question *q = &job->a->question[question];
    const int32_t      from = chunk * PK_CHUNK;
    store_targets(job, q, logits, from, to);
    const float *allowed = without_banned(job, q, logits, copy, from, to);
    if (q->log_sum) store_sum(job, question, chunk, q->renormalise ? allowed : logits, to - from);
    if (q->top_k > 0) store_best(job, question, worker, allowed, to - from, from);
}

/* a question about the same row as the one before it shares that row's logits */
static bool shares_row(const answer_job *job, int32_t question) {
    return question > job->first &&
           job->a->question[question].row == job->a->question[question - 1].row;
}

/* all questions of the block over one chunk of the vocabulary: a tile of rows at a time */
static void answer_chunk(const answer_job *job, int32_t chunk, int32_t worker, bool goes_on) {
    const int32_t from = chunk * PK_CHUNK, vocab = job->table->rows;
    const int32_t to = vocab - from < PK_CHUNK ? vocab : from + PK_CHUNK;
    float        *logits = job->cpu->logits + (size_t)worker * (PK_TILE_MAX + 1) * PK_CHUNK;
    int32_t       question = job->first, row = -1;
    for (int32_t tile = 0; tile < job->tiles.n; tile++) {
        const int32_t first = pk_tile_first(&job->tiles, tile),
                      end = pk_tile_first(&job->tiles, tile + 1);
        pk_linear_part part = { .x = &job->tiles,
                                .w = job->table,
                                .bias = job->bias,
                                .act = PK_LINEAR,
                                .first_tile = tile,
                                .n_tiles = 1,
                                .first_panel = from / PK_PANEL,
                                .n_panels = (int32_t)pk_panel_count(to - from),
                                .goes_on = goes_on && tile == 0,
                                .in_cache = pk_ahead_near(job->cpu->ahead),
                                .out = logits,
                                .out_stride = PK_CHUNK };
        job->cpu->kernels->linear(&part);
        for (; question < job->first + job->n; question++) {
            row = shares_row(job, question) ? row : row + 1;
            if (row >= end) {
                row--; /* it belongs to the next tile */
                break;
            }
            read_chunk(job, question, worker, chunk, logits + (size_t)(row - first) * PK_CHUNK,
                       logits + PK_TILE_MAX * PK_CHUNK, to);
        }
    }
}

/* neighbouring chunks: while one is used, the weights of the next are fetched */
static void answer_chunks(void *context, int32_t task, int32_t worker) {
    const answer_job *job = context;
    const int32_t     first = (int32_t)((int64_t)job->n_chunks * task / job->n_tasks);
    const int32_t     end = (int32_t)((int64_t)job->n_chunks * (task + 1) / job->n_tasks);
    for (int32_t chunk = first; chunk < end; chunk++)
        answer_chunk(job, chunk, worker, chunk + 1 < end);
}

/* log sum over all chunks, relative to the largest logit of all: m + log(sum_c s_c exp(m_c - m)) */
static float merged_log_sum(const answer_job *job, int32_t question) {
    const float *sums = job->cpu->sums + (size_t)question * (size_t)job->n_chunks * 2;
    float        most = -INFINITY;
    double       total = 0;
    for (int32_t c = 0; c < job->n_chunks; c++) most = sums[2 * c] > most ? sums[2 * c] : most;
    if (most == -INFINITY) return most;
    for (int32_t c = 0; c < job->n_chunks; c++)
        total += (double)sums[2 * c + 1] * exp((double)sums[2 * c] - (double)most);
    return (float)((double)most + log(total));
}

/* the total order of best lists: higher score, then lower token id */
static bool before(pk_scored a, pk_scored b) {
    return a.score > b.score || (a.score == b.score && a.token < b.token);
}

/* the best of the threads' lists, into the caller's; used[w] entries of list w are taken */
static void merge_best(const answer_job *job, int32_t question) {
    const pk_cpu *cpu = job->cpu;
    pk_scored    *top = job->a->top + (size_t)question * (size_t)job->a->top_stride;
    const int32_t threads = pk_pool_threads(cpu->pool);
    for (int32_t w = 0; w < threads; w++) cpu->used[w] = 0;
    for (int32_t k = 0; k < job->a->question[question].top_k; k++) {
        int32_t from = -1;
        top[k] = (pk_scored){ -1, -INFINITY };
        for (int32_t w = 0; w < threads; w++) {
            const size_t list = (size_t)w * (size_t)cpu->max.questions + (size_t)question;
            if (cpu->used[w] == cpu->n_best[list]) continue;
            const pk_scored next = cpu->best[list * (size_t)cpu->max.top_k + (size_t)cpu->used[w]];
            if (from >= 0 && !before(next, top[k])) continue;
            top[k] = next;
            from = w;
        }
        if (from >= 0) cpu->used[from]++;
    }
}

static void clear_lists(const pk_cpu *cpu, const pk_answering *a) {
    for (int32_t w = 0; w < pk_pool_threads(cpu->pool); w++)
        memset(cpu->n_best + (size_t)w * (size_t)cpu->max.questions, 0,
               (size_t)a->n * sizeof(int32_t));
}

/* takes questions until their rows fill a block; returns the number of rows */
static int32_t gather_rows(answer_job *job, int32_t room) {
    int32_t rows = 0;
    for (job->n = 0; job->first + job->n < job->a->n; job->n++) {
        const int32_t question = job->first + job->n;
        if (shares_row(job, question)) continue;
        if (rows == room) break;
        job->cpu->pick[rows++] = job->a->question[question].row;
    }
    return rows;
}

/* false, and a status that sticks, when the op needs more than was reserved */
static bool within_limits(pk_cpu *cpu, pk_tensor hidden, const pk_weight *table,
                          const pk_answering *a) {
    int32_t top_k = 0;
    for (int32_t i = 0; i < a->n; i++)
        if (a->question[i].top_k > top_k) top_k = a->question[i].top_k;
    if (a->n <= cpu->max.questions && top_k <= cpu->max.top_k && table->rows <= cpu->max.vocab &&
        hidden.cols <= cpu->max.cols)
        return true;
    pk_cpu_fail(
        cpu,
        "answer: %d questions, top %d of %d tokens, %d columns is more than the %d, %d, %d, "
        "%d reserved",
        a->n, top_k, table->rows, hidden.cols, cpu->max.questions, cpu->max.top_k, cpu->max.vocab,
        cpu->max.cols);
    return false;
}

void pk_cpu_answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a) {
    pk_cpu *cpu = self;
    if (cpu->status != PK_OK || !within_limits(cpu, hidden, table, a)) return;
    answer_job    job = { .cpu = cpu, .a = a, .table = table, .bias = bias ? bias->data : NULL };
    const int32_t threads = pk_pool_threads(cpu->pool);
    job.n_chunks = (table->rows + PK_CHUNK - 1) / PK_CHUNK;
    clear_lists(cpu, a);
    pk_ahead_record(cpu->ahead, table);
    for (; job.first < a->n; job.first += job.n) {
        const int32_t rows = gather_rows(&job, pk_cpu_block_rows(cpu, hidden.cols, table->type));
        job.tiles = pk_cpu_prepare(cpu, hidden, cpu->pick, rows, table->type);
        /* Few rows wait for memory: each thread has one stretch of neighbouring chunks. Many rows
         * wait for arithmetic: a task is one chunk, and a free thread takes the next. */
        job.n_tasks = rows <= FEW_ROWS || threads == 1 ? threads : job.n_chunks;
        pk_pool_dispatch(cpu->pool, answer_chunks, &job, job.n_tasks);
    }
    for (int32_t i = 0; i < a->n; i++) {
        if (a->question[i].log_sum) a->log_sum[i] = merged_log_sum(&job, i);
        if (a->question[i].top_k > 0) merge_best(&job, i);
    }
}
