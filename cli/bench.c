/* bench.c - `pronk bench`: translates the same lines with each --decode and its model, and
 * measures.
 *
 * Cases come one after the other, each in a process of its own, or, interleaved, in one: each block
 * of lines goes through all of them before the next one comes. At batch 1 a block is a line, as an
 * interactive user would give it. At larger batches it is a call of many lines; a sentence's
 * latency is then the time from that call to the progress report that counts it. */
#include "bench.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "lines.h"
#include "progress.h"

enum { BATCHES_A_BLOCK = 8 }; /* interleaved: enough for a batch to be refilled as usual */

typedef struct runner { /* one case at work */
    pk_bench_case *k;
    pk_translator *translator;
    pk_line_reader draft;   /* with no lines: none was given */
    uint64_t      *hash;    /* of each line's translation */
    double        *seconds; /* of each repetition */
    double        *latency; /* of all repetitions */
    size_t         n_latency, most_latency;
    double         call_began;
    pk_stats       before; /* the first repetition */
} runner;

typedef struct job {
    pk_bench       b;
    pk_cli        *c;
    pk_line_reader input;
    runner        *runners; /* one a case */
    void          *shared;  /* with the processes of cases: b.cases, hashes and seconds of lines */
    size_t         shared_bytes;
} job;

/* FNV-1a: enough to see whether two translations are the same */
static uint64_t hash_of(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* between white space */
static uint64_t count_words(const pk_text *line) {
    uint64_t n = 0;
    bool     inside = false;
    for (size_t i = 0; i < line->size; i++) {
        bool space = isspace((unsigned char)line->data[i]);
        n += !space && !inside;
        inside = !space;
    }
    return n;
}

/* all sentences up to `done` that were not yet counted are done now */
static int record_latency(void *user, size_t done, size_t in_all) {
    runner *r = user;
    size_t  left = done < in_all ? in_all - done : 0; /* a line may have become several */
    size_t  end = left < r->most_latency ? r->most_latency - left : 0;
    double  now = pk_cli_seconds() - r->call_began;
    if (!in_all) return 0; /* lines are still being read */
    while (r->n_latency < end) r->latency[r->n_latency++] = now;
    return 0;
}

/* 0: not measured yet */
static void keep_fastest(double *best, double seconds) {
    if (*best == 0 || seconds < *best) *best = seconds;
}

/* one call; adds what it took, and keeps the hashes of the translations */
static int call(job *j, runner *r, size_t first, size_t n, double *seconds) {
    pk_result      *result = NULL;
    pk_call_options options = { .size = sizeof options,
                                .draft = r->draft.n ? r->draft.line + first : NULL,
                                .progress = record_latency,
                                .user = r };
    r->most_latency = r->n_latency + n;
    r->call_began = pk_cli_seconds();
    pk_status status = pk_translate(r->translator, j->input.line + first, n, &options, &result);
    if (status != PK_OK) return pk_cli_fail_status(j->c, status);
    record_latency(r, n, n);
    double took = pk_cli_seconds() - r->call_began;
    *seconds += took;
    if (n == 1) keep_fastest(&r->k->line_seconds[first], took);
    for (size_t i = 0; i < n; i++) r->hash[first + i] = hash_of(pk_result_text(result, i));
    pk_result_free(result);
    return 0;
}

/* lines of a call */
static size_t block_of(const job *j) {
    if (j->c->batch == 1) return 1;
    if (!j->c->interleave) return j->b.lines;
    size_t block = BATCHES_A_BLOCK * (size_t)j->c->batch;
    return block < j->b.lines ? block : j->b.lines;
}

/* All lines once through n cases. Which case is first changes from block to block, so that none
 * always finds the caches as another one left them. */
static int translate_once(job *j, runner *r, size_t n, size_t repetition) {
    size_t block = block_of(j), turn = 0;
    for (size_t i = 0; i < n; i++) r[i].seconds[repetition] = 0;
    for (size_t at = 0; at < j->b.lines; at += block, turn++)
        for (size_t i = 0; i < n; i++) {
            runner *next = &r[(turn + i) % n];
            size_t  left = j->b.lines - at;
            int code = call(j, next, at, left < block ? left : block, &next->seconds[repetition]);
            if (code) return code;
        }
    return 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* by nearest rank in a sorted list */
static double percentile(const double *sorted, size_t n, double part) {
    size_t rank = (size_t)ceil(part * (double)n);
    return n ? sorted[rank > 0 ? rank - 1 : 0] : 0;
}

/* statistics count from when the translator was opened: the warm-up is taken off */
static void subtract(pk_stats *after, const pk_stats *before) {
    after->texts -= before->texts;
    after->sentences -= before->sentences;
    after->source_tokens -= before->source_tokens;
    after->target_tokens -= before->target_tokens;
    after->passes -= before->passes;
    after->asks -= before->asks;
    after->sentence_passes -= before->sentence_passes;
    after->sentence_drafts -= before->sentence_drafts;
    after->probe_passes -= before->probe_passes;
    after->draft_passes -= before->draft_passes;
    after->flops -= before->flops;
    after->draft_flops -= before->draft_flops;
    after->pass_seconds -= before->pass_seconds;
    after->draft_seconds -= before->draft_seconds;
    for (int i = 0; i < PK_N_MODULES; i++) after->seconds[i] -= before->seconds[i];
}

/* the figures of one case: median time, percentiles, lines that equal the first case's */
static void summarize(job *j, runner *r) {
    pk_bench_case *k = r->k;
    size_t         repeat = (size_t)j->c->repeat, n = r->n_latency;
    pk_translator_stats(r->translator, &k->stats);
    subtract(&k->stats, &r->before);
    qsort(r->seconds, repeat, sizeof *r->seconds, ascending);
    k->seconds = r->seconds[repeat / 2];
    qsort(r->latency, n, sizeof *r->latency, ascending);
    k->p50 = percentile(r->latency, n, 0.50);
    k->p95 = percentile(r->latency, n, 0.95);
    k->p99 = percentile(r->latency, n, 0.99);
    k->slowest = percentile(r->latency, n, 1.0);
    k->same = 0;
    for (size_t i = 0; i < j->b.lines; i++) k->same += r->hash[i] == j->runners->hash[i];
}

/* opens a case and warms it up; statistics count from here */
static int start(job *j, pk_bench_models *models, runner *r) {
    size_t warm = (size_t)j->c->warm_up < j->b.lines ? (size_t)j->c->warm_up : j->b.lines;
    double ignored = 0;
    int    code = pk_bench_open_case(j->c, models, r->k, &r->translator);
    if (!code && warm) code = call(j, r, 0, warm, &ignored);
    if (!code) pk_translator_stats(r->translator, &r->before);
    r->n_latency = 0;
    r->k->line_seconds[0] = 0; /* a warm-up of one line has measured it */
    return code;
}

typedef struct group { /* cases open at the same time: one, or all, interleaved */
    job    *j;
    runner *r;
    size_t  n;
} group;

/* in a process of its own, which ends then: nothing is closed */
static int measure_cases(void *user) {
    group          *s = user;
    job            *j = s->j;
    pk_bench_models models = { 0 };
    int             code = 0;
    for (size_t i = 0; i < s->n && !code; i++) code = start(j, &models, &s->r[i]);
    for (size_t i = 0; i < (size_t)j->c->repeat && !code; i++)
        code = translate_once(j, s->r, s->n, i);
    for (size_t i = 0; i < s->n && !code; i++) summarize(j, &s->r[i]);
    return code;
}

/* what cannot be opened is refused before anything is measured; later cases find the model's file
 * in memory as the first one does */
static int try_cases(void *user) {
    job            *j = user;
    pk_bench_models models = { 0 };
    int             code = 0;
    for (size_t i = 0; i < j->b.n && !code; i++)
        code = pk_bench_open_models(j->c, &models, &j->b.cases[i]);
    if (!code) code = pk_inputs_refuse(j->c, NULL);
    for (size_t i = 0; i < j->b.n && !code; i++) {
        pk_translator *translator = NULL;
        code = pk_bench_open_case(j->c, &models, &j->b.cases[i], &translator);
        pk_translator_close(translator);
    }
    return code;
}

/* one process for each case, or one for all where they are interleaved */
static int measure(job *j) {
    size_t   step = j->c->interleave ? j->b.n : 1;
    uint64_t peak;
    int      code = pk_bench_apart(j->c, try_cases, j, &peak);
    for (size_t i = 0; i < j->b.n && !code; i += step) {
        group s = { j, &j->runners[i], step };
        code = pk_bench_apart(j->c, measure_cases, &s, &peak);
        for (size_t k = i; k < i + step; k++) j->b.cases[k].peak_bytes = peak;
    }
    return code;
}

/* one case for each --decode, or the default alone */
static int prepare(job *j) {
    pk_bench *b = &j->b;
    b->c = j->c;
    b->lines = j->input.n;
    for (size_t i = 0; i < b->lines; i++) b->words += count_words(&j->input.line[i]);
    b->threads = j->c->threads ? (int)j->c->threads : pk_cli_cores();
    b->n = pk_bench_count_cases(j->c);
    j->shared_bytes = b->n * (sizeof *b->cases + b->lines * (sizeof(uint64_t) + sizeof(double)));
    j->shared = pk_bench_share(j->shared_bytes);
    if (!j->shared) return b->n = 0, pk_cli_fail(j->c, "out of memory");
    b->cases = j->shared;
    uint64_t *hash = (uint64_t *)(b->cases + b->n);
    double   *line_seconds = (double *)(hash + b->n * b->lines);
    pk_bench_read_cases(j->c, b->cases);
    for (size_t i = 0; i < b->n; i++) b->cases[i].line_seconds = line_seconds + i * b->lines;
    const pk_cli_list *draft = &j->c->drafts;
    for (size_t i = 0; i < b->n && draft->n; i++)
        b->cases[i].draft = draft->item[draft->n > 1 && i < draft->n ? i : 0];
    j->runners = pk_cli_grow(NULL, b->n, sizeof *j->runners);
    for (size_t i = 0; i < b->n; i++) {
        size_t repeat = (size_t)j->c->repeat;
        j->runners[i] = (runner){ .k = &b->cases[i],
                                  .hash = hash + i * b->lines,
                                  .seconds = pk_cli_grow(NULL, repeat, sizeof(double)),
                                  .latency = pk_cli_grow(NULL, b->lines * repeat, sizeof(double)) };
    }
    return 0;
}

/* one draft serves all cases, or there is one for each, which may be none */
static int open_draft(job *j, size_t i) {
    const pk_cli   *c = j->c;
    pk_line_reader *draft = &j->runners[i].draft;
    const char     *path = j->b.cases[i].draft;
    size_t          lines = j->input.n;
    draft->file = -1;
    if (!path || !*path) return 0;
    int code = pk_lines_open(c, path, draft);
    /* of an input that is read in full, one more line would be one too many */
    if (!code) code = pk_lines_take(c, draft, c->limit ? lines : lines + 1);
    if (!code && draft->n != lines)
        code = pk_cli_fail(c,
                           "%s must have as many lines as the input: one for each, empty for "
                           "no guess",
                           draft->name);
    return code;
}

/* --draft once serves all cases; otherwise there must be one for each --decode */
static int open_drafts(job *j) {
    size_t n = j->c->drafts.n;
    int    code = 0;
    if (n > 1 && n != j->b.n)
        return pk_cli_usage(j->c, "--draft is given once, or once for each --decode");
    for (size_t i = 0; i < j->b.n && !code; i++) code = open_draft(j, i);
    return code;
}

/* Opens the input and the drafts; refuses what does not fit. */
static int open_all(job *j) {
    pk_cli *c = j->c;
    int     code = pk_lines_open(c, c->input, &j->input);
    if (!code) code = pk_lines_take(c, &j->input, c->limit ? (size_t)c->limit : SIZE_MAX);
    if (!code && !j->input.n) code = pk_cli_fail(c, "%s is empty", j->input.name);
    if (code) return code;
    code = prepare(j);
    return code ? code : open_drafts(j);
}

static void free_all(job *j) {
    for (size_t i = 0; i < j->b.n; i++) {
        free(j->runners[i].seconds);
        free(j->runners[i].latency);
        pk_lines_close(&j->runners[i].draft);
    }
    free(j->runners);
    pk_bench_unshare(j->shared, j->shared_bytes);
    pk_lines_close(&j->input);
}

int pk_cli_bench(pk_cli *c) {
    job j = { .c = c, .input.file = -1 };
    if (!c->batch)
        c->batch = c->device && strncmp(c->device, "cuda", 4) == 0 ? PK_DEFAULT_BATCH_GPU
                                                                   : PK_DEFAULT_BATCH;
    c->no_split = true; /* each line is one sentence with one latency */
    if (c->each_line && (!c->json || c->batch != 1))
        return pk_cli_usage(c, "--each-line needs --json and --batch 1");
    int code = pk_bench_check_cases(c);
    if (!code) code = open_all(&j);
    if (!code) code = measure(&j);
    if (!code) {
        j.b.bandwidth = pk_cli_bandwidth(j.b.threads);
        c->json ? pk_bench_print_json(&j.b) : pk_bench_print_table(&j.b);
    }
    free_all(&j);
    return code;
}
