/* bench.c - `pronk bench`: translates the same lines with each --decode in turn, and measures.
 *
 * At batch 1 each line is a call of its own, as an interactive user would make it. At larger
 * batches one call gets all lines; a sentence's latency then runs from that call to the progress
 * report that counts it. The sweep over memory comes last, so that it is in no case's peak. */
#include "bench.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "progress.h"

typedef struct job {
    pk_bench       b;
    pk_cli        *c;
    pk_model      *model;
    double         model_load;
    pk_line_reader input, draft;
    uint64_t      *first_hash; /* of each line's translation in the first case */
    double        *latency;    /* of all runs of the present case */
    size_t         n_latency, most_latency;
    double         call_began;
} job;

/* FNV-1a: enough to tell whether two translations are the same */
static uint64_t hash_of(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

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

/* the kernel's high-water mark of resident memory; writing 5 to clear_refs starts it anew */
static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

static uint64_t read_peak(void) {
    FILE              *file = fopen("/proc/self/status", "r");
    char               line[256];
    unsigned long long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes * 1024;
}

/* all sentences up to `done` that were not yet counted are done now */
static int note_latency(void *user, size_t done, size_t in_all) {
    job   *j = user;
    size_t left = done < in_all ? in_all - done : 0; /* a line may have become several */
    size_t end = left < j->most_latency ? j->most_latency - left : 0;
    double now = pk_cli_seconds() - j->call_began;
    while (j->n_latency < end) j->latency[j->n_latency++] = now;
    return 0;
}

/* one call; compares with, or in the first case keeps, the hashes of the translations */
static int call(job *j, pk_translator *t, pk_bench_case *k, size_t first, size_t n) {
    pk_result      *result = NULL;
    pk_call_options options = { .size = sizeof options,
                                .draft = j->c->draft ? j->draft.line + first : NULL,
                                .progress = note_latency,
                                .user = j };
    j->most_latency = j->n_latency + n;
    j->call_began = pk_cli_seconds();
    pk_status status = pk_translate(t, j->input.line + first, n, &options, &result);
    if (status != PK_OK) return pk_cli_fail_status(j->c, status);
    note_latency(j, n, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hash_of(pk_result_text(result, i));
        if (k == j->b.cases) j->first_hash[first + i] = hash;
        k->same += j->first_hash[first + i] == hash;
    }
    pk_result_free(result);
    return 0;
}

/* all lines once; `same` is that of the last run, and all runs give the same */
static int run_once(job *j, pk_translator *t, pk_bench_case *k, double *seconds) {
    size_t step = j->c->batch == 1 ? 1 : j->b.lines;
    double begin = pk_cli_seconds();
    k->same = 0;
    for (size_t at = 0; at < j->b.lines; at += step) {
        int code = call(j, t, k, at, step);
        if (code) return code;
    }
    *seconds = pk_cli_seconds() - begin;
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

static void subtract(pk_stats *after, const pk_stats *before) {
    after->texts -= before->texts;
    after->sentences -= before->sentences;
    after->source_tokens -= before->source_tokens;
    after->target_tokens -= before->target_tokens;
    after->passes -= before->passes;
    after->asks -= before->asks;
    after->sentence_passes -= before->sentence_passes;
    after->aside_passes -= before->aside_passes;
    for (int i = 0; i < PK_N_MODULES; i++) after->seconds[i] -= before->seconds[i];
}

static void summarize(job *j, pk_bench_case *k, double *seconds) {
    size_t runs = (size_t)j->c->repeat;
    qsort(seconds, runs, sizeof *seconds, ascending);
    k->seconds = seconds[runs / 2];
    qsort(j->latency, j->n_latency, sizeof *j->latency, ascending);
    k->p50 = percentile(j->latency, j->n_latency, 0.50);
    k->p95 = percentile(j->latency, j->n_latency, 0.95);
    k->p99 = percentile(j->latency, j->n_latency, 0.99);
    k->slowest = percentile(j->latency, j->n_latency, 1.0);
}

/* warm-up, then the runs; statistics count from after the warm-up */
static int measure(job *j, pk_translator *t, pk_bench_case *k) {
    size_t   warm = (size_t)j->c->warm_up < j->b.lines ? (size_t)j->c->warm_up : j->b.lines;
    double  *seconds = pk_cli_grow(NULL, (size_t)j->c->repeat, sizeof *seconds);
    pk_stats before;
    int      code = 0;
    j->n_latency = 0;
    if (warm) code = call(j, t, k, 0, warm);
    pk_translator_stats(t, &before);
    j->n_latency = 0;
    for (int64_t i = 0; i < j->c->repeat && !code; i++) code = run_once(j, t, k, &seconds[i]);
    pk_translator_stats(t, &k->stats);
    subtract(&k->stats, &before);
    if (!code) summarize(j, k, seconds);
    free(seconds);
    return code;
}

/* a translator of its own for each case, closed before the next: peaks do not add up */
static int run_case(job *j, pk_bench_case *k) {
    pk_translator *t = NULL;
    reset_peak();
    double begin = pk_cli_seconds();
    int    code = pk_cli_open_translator(j->c, j->model, k->decode, &t);
    k->load = j->model_load + pk_cli_seconds() - begin;
    if (!code) code = measure(j, t, k);
    k->peak_bytes = read_peak();
    pk_translator_close(t);
    return code;
}

static int open_all(job *j) {
    pk_cli *c = j->c;
    int     code = pk_lines_open(c, c->input, &j->input);
    if (!code) code = pk_lines_take(c, &j->input, c->limit ? (size_t)c->limit : SIZE_MAX);
    if (!code && !j->input.n) code = pk_cli_fail(c, "%s is empty", j->input.name);
    if (!code && c->draft) code = pk_lines_open(c, c->draft, &j->draft);
    if (!code && c->draft) code = pk_lines_take(c, &j->draft, j->input.n);
    if (!code && c->draft && j->draft.n != j->input.n)
        code = pk_cli_fail(c, "%s has fewer lines than the input: it must have one for each",
                           j->draft.name);
    double begin = pk_cli_seconds();
    if (!code) code = pk_cli_open_model(c, &j->model);
    j->model_load = pk_cli_seconds() - begin;
    return code;
}

/* one case for each --decode, or the default alone */
static void prepare(job *j) {
    static const char *const normal[] = { "greedy" };
    pk_bench                *b = &j->b;
    b->c = j->c;
    b->lines = j->input.n;
    for (size_t i = 0; i < b->lines; i++) b->words += count_words(&j->input.line[i]);
    b->threads = j->c->threads ? (int)j->c->threads : pk_cli_cores();
    b->n = j->c->decodes.n ? j->c->decodes.n : 1;
    b->cases = pk_cli_grow(NULL, b->n, sizeof *b->cases);
    memset(b->cases, 0, b->n * sizeof *b->cases);
    for (size_t i = 0; i < b->n; i++)
        b->cases[i].decode = j->c->decodes.n ? j->c->decodes.item[i] : normal[i];
    j->first_hash = pk_cli_grow(NULL, b->lines, sizeof *j->first_hash);
    j->latency = pk_cli_grow(NULL, b->lines * (size_t)j->c->repeat, sizeof *j->latency);
}

int pk_cli_bench(pk_cli *c) {
    job j = { .c = c, .input.file = -1, .draft.file = -1 };
    c->no_split = true; /* so that a line is a sentence is a latency */
    int code = open_all(&j);
    if (!code) prepare(&j);
    for (size_t i = 0; i < j.b.n && !code; i++) code = run_case(&j, &j.b.cases[i]);
    if (!code) {
        j.b.bandwidth = pk_cli_bandwidth(j.b.threads);
        c->json ? pk_bench_print_json(&j.b) : pk_bench_print_table(&j.b);
    }
    pk_model_close(j.model);
    pk_lines_close(&j.draft);
    pk_lines_close(&j.input);
    free(j.b.cases);
    free(j.first_hash);
    free(j.latency);
    return code;
}
