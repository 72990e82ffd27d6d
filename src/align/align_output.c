/* align_output.c - blocks of pairs are cut into tasks; each task leaves its lines in a buffer of
 * its own, and the buffers of a block are written one after the other. */
#include "align/align_output.h"

#include <math.h>

#include "align/align_threads.h"
#include "base/memory.h"

enum { TASK_PAIRS = 64, TASKS = 128, BLOCK_PAIRS = TASK_PAIRS * TASKS, BLOCK_BYTES = 8 << 20 };

typedef struct output {
    const pk_align_output *o;
    const pk_align_corpus *corpus;        /* NULL: from text */
    size_t                 first, n;      /* pairs of the block */
    pk_buffer              text;          /* of the block: both sides of each pair */
    size_t                *end;           /* of each side of each pair in it */
    pk_align_worker        worker[TASKS]; /* of each task, so that sums have one order */
} output;

/* one pair of the block, from the corpus or from text */
static pk_status align_one(output *p, size_t pair, pk_align_worker *w) {
    const pk_align_output *o = p->o;
    if (p->corpus) {
        const pk_align_corpus *c = p->corpus;
        const size_t           at = p->first + pair;
        const uint32_t         n[2] = { pk_align_corpus_length(c, at, 0),
                                        pk_align_corpus_length(c, at, 1) };
        const uint32_t *const  token[2] = { c->token[0] + c->first[0][at],
                                            c->token[1] + c->first[1][at] };
        return pk_align_pair(o->model, o->use, token, n, w);
    }
    const size_t  begin = pair ? p->end[2 * pair - 1] : 0, middle = p->end[2 * pair];
    const pk_text text[2] = { { p->text.data + begin, middle - begin },
                              { p->text.data + middle, p->end[2 * pair + 1] - middle } };
    return pk_align_text_pair(o->model, o->use, text, w);
}

/* the lines of TASK_PAIRS pairs, into the task's own buffer */
static pk_status align_task(void *context, size_t task, int32_t worker) {
    output          *p = context;
    pk_align_worker *w = &p->worker[task];
    const size_t     end = (task + 1) * TASK_PAIRS < p->n ? (task + 1) * TASK_PAIRS : p->n;
    (void)worker;
    pk_buffer_clear(&w->text);
    for (size_t pair = task * TASK_PAIRS; pair < end; pair++) {
        PK_TRY(align_one(p, pair, w));
        pk_align_links_print(&w->links, &w->text);
        pk_buffer_add(&w->text, "\n", 1);
    }
    return pk_buffer_status(&w->text);
}

/* adds the tasks' counts in order, so that sums of floats do not depend on threads */
static void count_block(output *p, size_t n_tasks) {
    pk_align_report *r = p->o->report;
    for (size_t i = 0; i < n_tasks; i++) {
        pk_align_worker *w = &p->worker[i];
        r->pairs += w->pairs;
        r->empty += w->empty;
        r->too_long += w->too_long;
        r->links += w->n_links;
        for (int d = 0; d < 2; d++) {
            r->words[d] += w->n_words[d];
            r->cross_entropy[d] += w->log_prob[d]; /* turned into bits a word at the end */
            w->n_words[d] = 0;
            w->log_prob[d] = 0;
        }
        w->pairs = w->empty = w->too_long = w->n_links = 0;
    }
}

/* all threads align, then the calling thread writes the buffers in order */
static pk_status write_block(output *p, double share) {
    const pk_align_output *o = p->o;
    const size_t           n_tasks = (p->n + TASK_PAIRS - 1) / TASK_PAIRS;
    PK_TRY(pk_align_parallel(o->threads, n_tasks, align_task, p));
    for (size_t i = 0; i < n_tasks && o->write; i++)
        if (o->write(o->user, p->worker[i].text.data, p->worker[i].text.size) != 0)
            PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    count_block(p, n_tasks);
    return o->progress ? o->progress(o->progress_user, share, o->report) : PK_OK;
}

/* cross-entropy: -sum of ln p / ln 2 / generated words = bits a word */
static void finish(output *p) {
    pk_align_report *r = p->o->report;
    for (int d = 0; d < 2; d++)
        if (r->words[!d]) r->cross_entropy[d] /= -log(2) * (double)r->words[!d];
    for (size_t i = 0; i < TASKS; i++) pk_align_worker_free(&p->worker[i]);
    pk_buffer_free(&p->text);
    pk_memory_give(p->end);
    pk_memory_give(p);
}

pk_status pk_align_output_corpus(const pk_align_output *o, const pk_align_corpus *c) {
    output   *p;
    pk_status status = PK_OK;
    PK_TRY(PK_TAKE(&p, 1));
    p->o = o;
    p->corpus = c;
    for (; p->first < c->n && status == PK_OK; p->first += p->n) {
        p->n = c->n - p->first < BLOCK_PAIRS ? c->n - p->first : BLOCK_PAIRS;
        status = write_block(p, (double)(p->first + p->n) / (double)c->n);
    }
    o->report->empty = c->empty;
    o->report->too_long = c->too_long;
    finish(p);
    return status;
}

/* the next pairs: at most BLOCK_PAIRS, and fewer where they are long */
static pk_status read_block(output *p, pk_align_reader *r) {
    pk_text pair[2];
    p->n = 0;
    pk_buffer_clear(&p->text);
    while (p->n < BLOCK_PAIRS && p->text.size < BLOCK_BYTES) {
        PK_TRY(pk_align_reader_next(r, pair));
        if (!pair[0].data) break;
        for (int side = 0; side < 2; side++) {
            pk_buffer_add(&p->text, pair[side].data, pair[side].size);
            p->end[2 * p->n + (size_t)side] = p->text.size;
        }
        p->n++;
        PK_TRY(pk_buffer_status(&p->text));
    }
    return PK_OK;
}

pk_status pk_align_output_files(const pk_align_output *o, const char *source, const char *target) {
    const char *const path[2] = { source, target };
    pk_align_reader   reader = { 0 };
    output           *p;
    PK_TRY(PK_TAKE(&p, 1));
    p->o = o;
    pk_status status = target ? pk_align_check_lines(path) : PK_OK;
    if (status == PK_OK) status = PK_TAKE(&p->end, (size_t)2 * BLOCK_PAIRS);
    if (status == PK_OK) status = pk_align_reader_open(source, target, &reader);
    do {
        if (status == PK_OK) status = read_block(p, &reader);
        if (status == PK_OK && p->n) status = write_block(p, -1);
    } while (status == PK_OK && p->n);
    pk_align_reader_close(&reader);
    finish(p);
    return status;
}
