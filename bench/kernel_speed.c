/* kernel_speed.c - how fast the cpu kernels are, and how far from the machine's bounds.
 *
 *   make build/bench/kernel_speed && build/bench/kernel_speed [seconds per cell]
 *
 * For each type, threads, (N, K) and M: GB/s of weights, 10^9 products/s, fraction of the peak.
 * Weights are cold: each call takes the next of more than 64 MB of matrices. Bounds: products per
 * cycle and core of the widest unit (64 for I8, 16 for floats, halves for avx2) times the clock,
 * measured with a chain of dependent additions. PRONK_ISA chooses the kernels. The best of several
 * repeats counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/isa.h"
#include "backend/cpu/pool.h"
#include "backend/list.h"
#include "base/clock.h"
#include "tensor/panel.h"

#define REPETITION_SECONDS 300e-6
enum { COLD_BYTES = 80 << 20, MOST_M = 256 };
static const int32_t shapes[][2] = {
    { 512, 512 }, { 1536, 512 }, { 2048, 512 }, { 512, 2048 }, { 16001, 512 }
};
static const int32_t heights[] = { 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256 };
static const char   *type_names[] = { "f32", "f16", "i8" };
enum { N_SHAPES = 5, N_HEIGHTS = 11 };

static void *zeroed(size_t n, size_t each) { /* aligned as the library's own blocks are */
    const size_t bytes = (n * each + 63) / 64 * 64;
    void        *block = aligned_alloc(64, bytes);
    memset(block, 0, bytes);
    return block;
}

/* the clock at this moment: additions that depend on each other take one cycle each */
static double clock_hertz(void) {
    double best = 0;
    for (int repetition = 0; repetition < 50; repetition++) {
        const double start = pk_clock_now();
        uint64_t     x = 1;
        for (int i = 0; i < 50000; i++) /* eight additions, each waiting for the one before */
            for (int j = 0; j < 8; j++) __asm__ volatile("add %0, %0" : "+r"(x));
        const double rate = 4e5 / (pk_clock_now() - start);
        if (rate > best) best = rate;
    }
    return best;
}

/* so many matrices of one shape that they do not fit the caches */
static int32_t fill(pk_weight *list, int32_t rows, int32_t cols, pk_dtype type, int32_t most) {
    const size_t bytes = (pk_panel_bytes(rows, cols, type) + 4095) / 4096 * 4096;
    int32_t      n = (int32_t)((size_t)COLD_BYTES / bytes) + 1;
    if (n > most) n = most;
    for (int32_t i = 0; i < n; i++) {
        uint8_t *data = aligned_alloc(4096, bytes);
        float   *scale = malloc((size_t)rows * sizeof *scale);
        memset(data, 1, bytes);
        for (int32_t r = 0; r < rows; r++) scale[r] = 0.01f;
        list[i] = (pk_weight){ data, scale, rows, cols, type, false };
    }
    return n;
}

static void release(pk_weight *list, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)list[i].data);
        free((void *)(uintptr_t)list[i].scale);
    }
}

/* seconds of one linear op: the best of many short repetitions, so that other programs disturb
 * little */
static double time_linear(pk_backend *b, pk_tensor out, pk_tensor x, const pk_weight *list,
                          int32_t n, double seconds) {
    const pk_weight bias = { x.data, NULL, 1, out.cols, PK_F32, true };
    const double    begin = pk_clock_now();
    double          best = 1e9, now = begin;
    int32_t         next = 0;
    while (now - begin < seconds || next < 3) {
        const double start = now;
        int32_t      calls = 0;
        for (; now - start < REPETITION_SECONDS; calls++) {
            b->linear(b->self, out, x, &list[next++ % n], &(pk_after){ .bias = &bias });
            now = pk_clock_now();
        }
        if ((now - start) / calls < best) best = (now - start) / calls;
    }
    return best;
}

static void one_shape(pk_backend *b, int32_t threads, const int32_t *shape, pk_dtype type,
                      double hertz, double peak, double seconds) {
    static pk_weight list[2048];
    const int32_t    rows = shape[0], cols = shape[1], n = fill(list, rows, cols, type, 2048);
    float           *x = zeroed((size_t)MOST_M * 2048 + 20000, 4),
          *out = zeroed((size_t)MOST_M * (size_t)rows, 4);
    for (int i = 0; i < MOST_M * 2048; i++) x[i] = (float)(i % 17) - 8;
    printf("%-3s %d thr (%5d,%4d)", type_names[type], threads, rows, cols);
    for (int h = 0; h < N_HEIGHTS; h++) {
        const int32_t m = heights[h];
        const double  t = time_linear(b, (pk_tensor){ out, m, rows, rows },
                                      (pk_tensor){ x, m, cols, cols }, list, n, seconds);
        const double  products = (double)m * rows * cols / t;
        if (m == 1)
            printf("  M=1 %5.1f GB/s %6.2f us |",
                   (double)pk_panel_bytes(rows, cols, type) / t * 1e-9, t * 1e6);
        else
            printf(" %d:%4.0f(%2.0f%%)", m, products * 1e-9,
                   100 * products / (peak * hertz * threads));
    }
    printf("\n");
    fflush(stdout);
    free(x), free(out);
    release(list, n);
}

static void busy(void *context, int32_t task, int32_t worker) { /* 4,000 cycles */
    uint64_t x = 1;
    (void)context, (void)task, (void)worker;
    for (int i = 0; i < 4000; i++) __asm__ volatile("add %0, %0" : "+r"(x));
}

/* what sharing costs: nanoseconds of a region of one busy task per thread, less one busy task */
static void region(int32_t threads, double hertz) {
    pk_pool *pool;
    double   best = 1e9;
    if (pk_pool_open(threads, &pool) != PK_OK) return;
    for (int repetition = 0; repetition < 2000; repetition++) {
        const double start = pk_clock_now();
        for (int i = 0; i < 20; i++) pk_pool_dispatch(pool, busy, NULL, threads);
        const double t = (pk_clock_now() - start) / 20;
        if (t < best) best = t;
    }
    printf("parallel region, %d thr: %.0f ns beyond its work\n", threads,
           (best - 4000 / hertz) * 1e9);
    pk_pool_close(pool);
}

/* microseconds of one attention op: 8 heads of 64, each query with its own list of keys */
static void attention(pk_backend *b, int32_t threads, int32_t queries, int32_t keys, bool shared) {
    const int32_t cols = 512;
    float        *data = zeroed((size_t)(2 * queries + 2 * queries * keys) * (size_t)cols, 4);
    int32_t      *first = zeroed((size_t)queries, 4), *count = zeroed((size_t)queries, 4),
            *index = zeroed((size_t)(queries * keys), 4);
    for (int32_t i = 0; i < queries; i++) first[i] = shared ? 0 : i * keys, count[i] = keys;
    for (int32_t i = 0; i < queries * keys; i++) index[i] = i;
    pk_tensor q = { data, queries, cols, cols },
              out = { data + queries * cols, queries, cols, cols };
    pk_tensor k = { out.data + queries * cols, queries * keys, cols, cols }, v = k;
    v.data += queries * keys * cols;
    pk_attention see = { 8, first, count, shared ? NULL : index, NULL, 0 };
    double       best = 1e9;
    for (int repetition = 0; repetition < 50; repetition++) {
        const int    calls = 1 + 200 / queries;
        const double start = pk_clock_now();
        for (int i = 0; i < calls; i++) b->attend(b->self, out, q, k, v, &see);
        const double t = (pk_clock_now() - start) / calls;
        if (t < best) best = t;
    }
    printf("attend %d thr %3d queries x %3d keys %s: %.2f us, %.0f GMAC/s\n", threads, queries,
           keys, shared ? "shared" : "indexed", best * 1e6,
           2.0 * queries * keys * cols / best * 1e-9);
    free(data), free(first), free(count), free(index);
}

/* microseconds of one answer: M questions over a cold table of 16001 x 512 */
static void answer(pk_backend *b, int32_t threads, int32_t m, int32_t top_k, bool log_sum,
                   pk_dtype type) {
    static pk_weight          list[16];
    const int32_t             vocab = 16001, n = fill(list, vocab, 512, type, 16);
    static _Alignas(64) float hidden[256 * 512], bias_values[16001], sums[256];
    static pk_scored          top[256 * 8];
    static pk_question        question[256];
    for (int i = 0; i < 256 * 512; i++) hidden[i] = (float)(i % 13) - 6;
    for (int i = 0; i < vocab; i++) bias_values[i] = (float)((i * 7919) % 10007) * 1e-3f;
    for (int i = 0; i < m; i++)
        question[i] = (pk_question){ .row = i, .top_k = top_k, .log_sum = log_sum };
    pk_weight    bias = { bias_values, NULL, 1, vocab, PK_F32, true };
    pk_answering a = { .n = m,
                       .most_top_k = top_k,
                       .any_log_sum = log_sum,
                       .question = question,
                       .top_stride = 8,
                       .top = top,
                       .log_sum = sums };
    double       best = 1e9;
    for (int repetition = 0; repetition < 30; repetition++) {
        const double start = pk_clock_now();
        b->answer(b->self, (pk_tensor){ hidden, m, 512, 512 }, &list[repetition % n], &bias, &a);
        const double t = pk_clock_now() - start;
        if (t < best) best = t;
    }
    printf("answer %s %d thr M=%3d top %d%s: %.1f us, %.0f GMAC/s\n", type_names[type], threads, m,
           top_k, log_sum ? " log_sum" : "", best * 1e6, (double)m * vocab * 512 / best * 1e-9);
    release(list, n);
}

/* one greedy step of a 6-layer base decoder in I8, batch 1: all its linears over distinct weights
 */
static void sweep(pk_backend *b, int32_t threads) {
    static const int32_t layer[][2] = { { 1536, 512 }, { 512, 512 },  { 512, 512 },
                                        { 512, 512 },  { 2048, 512 }, { 512, 2048 } };
    static pk_weight     w[2][6][6], table[2];
    float               *x = zeroed(20000, 4), *out = zeroed(20000, 4);
    double               bytes = 0, best = 1e9;
    for (int copy = 0; copy < 2; copy++) {
        for (int l = 0; l < 6; l++)
            for (int i = 0; i < 6; i++)
                fill(&w[copy][l][i], layer[i][0], layer[i][1], PK_I8, 1),
                    bytes += layer[i][0] * layer[i][1] / 2.0;
        fill(&table[copy], 16001, 512, PK_I8, 1), bytes += 16001 * 512 / 2.0;
    }
    for (int i = 0; i < 2048; i++) x[i] = (float)(i % 17) - 8;
    pk_question  question = { .top_k = 1 };
    pk_scored    top[1];
    pk_answering a = {
        .n = 1, .most_top_k = 1, .question = &question, .top_stride = 1, .top = top
    };
    for (int repetition = 0; repetition < 600; repetition++) {
        const double start = pk_clock_now();
        for (int l = 0; l < 6; l++)
            for (int i = 0; i < 6; i++) {
                const pk_weight *m = &w[repetition % 2][l][i];
                b->linear(b->self, (pk_tensor){ out, 1, m->rows, m->rows },
                          (pk_tensor){ x, 1, m->cols, m->cols }, m, &(pk_after){ .act = PK_RELU });
            }
        b->answer(b->self, (pk_tensor){ x, 1, 512, 512 }, &table[repetition % 2], NULL, &a);
        const double t = pk_clock_now() - start;
        if (t < best) best = t;
    }
    printf("sweep of %.1f MB in I8, %d thr: %.3f ms, %.1f GB/s\n", bytes * 1e-6, threads,
           best * 1e3, bytes / best * 1e-9);
    for (int copy = 0; copy < 2; copy++) {
        for (int l = 0; l < 6; l++) release(w[copy][l], 6);
        release(&table[copy], 1);
    }
    free(x), free(out);
}

int main(int argc, char **argv) {
    const double          seconds = argc > 1 ? atof(argv[1]) : 0.1, hertz = clock_hertz();
    const char           *only = argc > 2 ? argv[2] : "sxal";
    const pk_limits       limits = { MOST_M, 2048, 512, MOST_M, 8, 16001 };
    const pk_cpu_kernels *kernels;
    if (pk_isa_choose(getenv("PRONK_ISA"), &kernels) != PK_OK)
        return fprintf(stderr, "%s\n", pk_last_error()), 1;
    const double wide = strcmp(kernels->name, "avx512") == 0 ? 1 : 0.5;
    printf("%s, %.2f GHz; cells: M: GMAC/s (fraction of peak)\n", kernels->name, hertz * 1e-9);
    for (int32_t threads = 1; threads <= 2; threads++) {
        pk_backend b;
        if (pk_backend_open("cpu", threads, PK_F32, &b) != PK_OK ||
            b.reserve(b.self, &limits) != PK_OK)
            return 1;
        if (strchr(only, 's')) region(threads, hertz), sweep(&b, threads);
        if (strchr(only, 'a')) {
            attention(&b, threads, 1, 30, false), attention(&b, threads, 32, 30, false);
            attention(&b, threads, 30, 30, true), attention(&b, threads, 256, 30, true);
        }
        if (strchr(only, 'x')) {
            answer(&b, threads, 1, 1, false, PK_I8), answer(&b, threads, 32, 1, false, PK_I8);
            answer(&b, threads, 128, 8, true, PK_I8), answer(&b, threads, 32, 8, true, PK_F32);
        }
        for (pk_dtype type = PK_F32; type <= PK_I8; type++)
            for (int s = 0; s < N_SHAPES && strchr(only, 'l'); s++)
                one_shape(&b, threads, shapes[s], type, hertz,
                          type == PK_I8 ? 64 * wide * wide : 16, seconds);
        pk_backend_close(&b);
    }
    return 0;
}
