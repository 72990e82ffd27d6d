/* bandwidth.c - how fast this machine reads memory: the bound for a decoder at batch 1.
 *
 * Each thread sums its own share of 256 MB, far more than caches hold; the best of a few sweeps
 * counts, since other programs can only make it slower. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "progress.h"

enum { SWEEP_BYTES = 256 << 20, SWEEPS = 5, MOST_SWEEPERS = 256 };

typedef struct sweeper {
    pthread_t       thread;
    const uint64_t *data;
    size_t          n;
    uint64_t        sum; /* kept, so that the reading cannot be left out */
} sweeper;

int pk_cli_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

static void *sweep(void *user) {
    sweeper *s = user;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n; i++) sum += s->data[i];
    s->sum = sum;
    return NULL;
}

/* Seconds for all threads to read their shares, or 0. Starting the threads is included: that is
 * short next to reading 256 MB. */
static double sweep_once(sweeper *sweepers, int n) {
    double begin = pk_cli_seconds();
    int    started = 0;
    while (started < n &&
           !pthread_create(&sweepers[started].thread, NULL, sweep, &sweepers[started]))
        started++;
    for (int i = 0; i < started; i++) pthread_join(sweepers[i].thread, NULL);
    return started == n ? pk_cli_seconds() - begin : 0;
}

double pk_cli_bandwidth(int threads) {
    sweeper   sweepers[MOST_SWEEPERS];
    uint64_t *data = malloc(SWEEP_BYTES);
    double    best = 0;
    size_t    n = SWEEP_BYTES / sizeof *data;
    if (!data) return 0;
    if (threads > MOST_SWEEPERS) threads = MOST_SWEEPERS;
    memset(data, 1, SWEEP_BYTES); /* pages must be real before they are timed */
    for (int i = 0; i < threads; i++) {
        size_t first = n * (size_t)i / (size_t)threads, end = n * ((size_t)i + 1) / (size_t)threads;
        sweepers[i] = (sweeper){ .data = data + first, .n = end - first };
    }
    for (int i = 0; i < SWEEPS; i++) {
        double seconds = sweep_once(sweepers, threads);
        if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
    }
    free(data);
    return best > 0 ? SWEEP_BYTES / best : 0;
}
