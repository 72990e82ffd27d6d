/* peak.c - what this machine can do at best: reads from memory, float multiply-adds, 8-bit ones.
 *
 * usage: cc -O3 -march=native -pthread bench/peak.c -o peak && ./peak [THREADS] Prints one JSON
 * line: bytes/s of a plain sweep over 256 MB in all, float multiply-adds/s, and 8-bit
 * multiply-adds/s (VNNI; 0 where there is none). These are the bounds that bench/ measures
 * against. The arithmetic reads registers only: no program that reads its operands from memory
 * can be faster. */
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, CHAINS = 12, STEPS = 20000000, SWEEPS = 8 };
#define SWEPT ((size_t)256 << 20) /* bytes, shared out to the threads */

typedef struct job {
    const unsigned char *memory;
    size_t               bytes;
    double               sink; /* so that nothing is optimised away */
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* reads memory in order: eight sums hide the latency of the additions */
static void *sweep(void *p) {
    job     *j = p;
    uint64_t sum[8] = { 0 };
    for (int s = 0; s < SWEEPS; s++)
        for (size_t i = 0; i + 64 <= j->bytes; i += 64)
            for (int k = 0; k < 8; k++) sum[k] += ((const uint64_t *)(j->memory + i))[k];
    for (int k = 0; k < 8; k++) j->sink += (double)sum[k];
    return NULL;
}

/* CHAINS independent accumulators hide the latency of the multiply-add */
#ifdef __AVX512F__
enum { FLOATS = 16 };
static void *floats(void *p) {
    __m512 a[CHAINS], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-9f);
    for (int c = 0; c < CHAINS; c++) a[c] = _mm512_set1_ps((float)c);
    for (int r = 0; r < STEPS; r++)
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) a[c] = _mm512_fmadd_ps(a[c], x, y);
    for (int c = 0; c < CHAINS; c++) ((job *)p)->sink += _mm512_reduce_add_ps(a[c]);
    return NULL;
}
#elif defined __AVX2__
enum { FLOATS = 8 };
static void *floats(void *p) {
    __m256 a[CHAINS], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-9f);
    for (int c = 0; c < CHAINS; c++) a[c] = _mm256_set1_ps((float)c);
    for (int r = 0; r < STEPS; r++)
#pragma GCC   unroll 12
        for (int c = 0; c < CHAINS; c++) a[c] = _mm256_fmadd_ps(a[c], x, y);
    for (int c = 0; c < CHAINS; c++) ((job *)p)->sink += (double)a[c][0];
    return NULL;
}
#else
#error "this probe knows AVX2 and AVX-512"
#endif

#ifdef __AVX512VNNI__
enum { BYTES = 64 };
static void *bytes(void *p) {
    __m512i a[CHAINS], x = _mm512_set1_epi8(3), y = _mm512_set1_epi8(5);
    for (int c = 0; c < CHAINS; c++) a[c] = _mm512_set1_epi32(c);
    for (int r = 0; r < STEPS; r++) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) a[c] = _mm512_dpbusd_epi32(a[c], x, y);
        __asm__ volatile("" : "+v"(x)); /* else the loop is one multiplication */
    }
    for (int c = 0; c < CHAINS; c++) ((job *)p)->sink += _mm512_reduce_add_epi32(a[c]);
    return NULL;
}
#else
enum { BYTES = 0 };
static void *bytes(void *p) { return p; }
#endif

/* seconds that n threads need for one call each: the best of three */
static double timed(void *(*work)(void *), job *jobs, int n) {
    double best = 1e30;
    for (int k = 0; k < 3; k++) {
        pthread_t    thread[MOST_THREADS];
        const double begin = now();
        for (int i = 1; i < n; i++) pthread_create(&thread[i], NULL, work, &jobs[i]);
        work(&jobs[0]);
        for (int i = 1; i < n; i++) pthread_join(thread[i], NULL);
        const double seconds = now() - begin;
        if (seconds < best) best = seconds;
    }
    return best;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > MOST_THREADS)
        return fprintf(stderr, "peak: 1 to %d threads\n", MOST_THREADS), 2;
    static job     jobs[MOST_THREADS];
    unsigned char *memory = aligned_alloc(64, SWEPT);
    if (!memory) return fprintf(stderr, "peak: no memory\n"), 1;
    memset(memory, 1, SWEPT);
    const size_t share = SWEPT / (size_t)n / 64 * 64;
    for (int i = 0; i < n; i++) jobs[i] = (job){ memory + (size_t)i * share, share, 0 };
    const double read = (double)share * n * SWEEPS / timed(sweep, jobs, n);
    const double steps = (double)n * STEPS * CHAINS;
    const double multiply = steps * FLOATS / timed(floats, jobs, n);
    const double dot = BYTES ? steps * BYTES / timed(bytes, jobs, n) : 0;
    printf("{\"threads\": %d, \"bytes_per_second\": %.4g, \"float_macs\": %.4g, \"int8_macs\": "
           "%.4g}\n",
           n, read, multiply, dot);
    free(memory);
    return 0;
}
