/* align_latency.c - how long a saved model takes to align one pair.
 *
 * usage: make build/bench/align_latency && build/bench/align_latency MODEL SOURCE TARGET
 * Opens MODEL (from `pronk align --save`) and aligns the lines of two plain files one by one,
 * twice; of the second time it prints mean, median and 99th percentile in microseconds, and the
 * mean lengths. Opening is timed by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text_reader.h"
#include "pronk.h"

enum { MOST = 100000 };

typedef struct lines {
    pk_text line[MOST];
    size_t  n, words;
} lines;

static int fail(void) {
    fprintf(stderr, "align_latency: %s\n", pk_last_error());
    return 1;
}

static pk_status read_lines(const char *path, lines *out) {
    pk_text_reader *r;
    pk_text         line;
    PK_TRY(pk_text_reader_open(path, &r));
    pk_status status = pk_text_reader_next(r, &line.data, &line.size);
    while (status == PK_OK && line.data && out->n < MOST) {
        out->words++;
        for (size_t i = 0; i < line.size; i++) out->words += line.data[i] == ' ';
        out->line[out->n++] = (pk_text){ strndup(line.data, line.size), line.size };
        status = pk_text_reader_next(r, &line.data, &line.size);
    }
    pk_text_reader_close(r);
    return status;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static pk_status measure(pk_aligner *a, const lines *source, const lines *target, double *time) {
    for (size_t i = 0; i < source->n; i++) {
        const char  *links;
        const double begin = pk_clock_now();
        PK_TRY(pk_aligner_align(a, source->line[i], target->line[i], &links));
        time[i] = 1e6 * (pk_clock_now() - begin);
    }
    return PK_OK;
}

static void print(double *time, double cpu, const lines *source, const lines *target) {
    const size_t n = source->n;
    qsort(time, n, sizeof *time, compare);
    printf(
        "%zu pairs of %.1f and %.1f words: median %.1f us, 99 %% below %.1f us, mean of CPU time "
        "%.1f us\n",
        n, (double)source->words / (double)n, (double)target->words / (double)n, time[n / 2],
        time[n - 1 - n / 100], 1e6 * cpu / (double)n);
}

int main(int n, char **argument) {
    static lines  source, target;
    static double time[MOST];
    pk_aligner   *a;
    if (n != 4) return fprintf(stderr, "usage: align_latency MODEL SOURCE TARGET\n"), 2;
    if (read_lines(argument[2], &source) || read_lines(argument[3], &target)) return fail();
    if (source.n != target.n || !source.n) return fprintf(stderr, "files do not fit\n"), 1;
    const double begin = pk_clock_now();
    if (pk_aligner_open(argument[1], &a)) return fail();
    printf("opened in %.1f ms\n", 1e3 * (pk_clock_now() - begin));
    double cpu = 0;
    for (int turn = 0; turn < 2; turn++) {
        cpu = cpu_now();
        if (measure(a, &source, &target, time)) return fail();
        cpu = cpu_now() - cpu;
    }
    print(time, cpu, &source, &target);
    pk_aligner_close(a);
    return 0;
}
