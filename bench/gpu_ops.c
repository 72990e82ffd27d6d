/* gpu_ops.c - how long the large products of translating take on a device.
 *
 *   gpu_ops [BACKEND [f16|bf16|i8]]                   defaults: cuda f16
 *
 * linear and answer at the sizes of transformer-base: 7,168 rows are 256 sentences in the encoder,
 * 1,024 those in the decoder with a beam of 4, 256 without. One line per op: microseconds (calls
 * enqueued together, best of several repetitions) and TFLOP/s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "base/clock.h"
#include "on_device.h"
#include "tensor/panel.h"

enum { CALLS = 40, REPETITIONS = 6, MOST_ROWS = 7168, MOST_COLS = 2048, VOCAB = 32000, TOP = 8 };

typedef struct bench {
    pk_backend   on;
    pk_dtype     arithmetic, stored;
    uint64_t     seed;
    pk_weight    w, bias;           /* of the op at hand */
    pk_weight    table, table_bias; /* of all answers */
    pk_tensor    x, out;
    pk_answering asked;
    bool         answers; /* else linear */
} bench;

/* in [-1, 1); zeros would be quicker to multiply */
static float uniform(bench *b) {
    b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(b->seed >> 32) * 0x1p-31f;
}

static pk_tensor take_rows(bench *b, int32_t rows, int32_t cols) {
    const size_t n = (size_t)rows * (size_t)cols, bytes = n * pk_dtype_bytes(b->arithmetic);
    float       *from = malloc(n * sizeof *from);
    pk_tensor    t = { take(&b->on, bytes), rows, cols, cols, b->arithmetic, 0 };
    if (!from) exit(1);
    for (size_t i = 0; i < n; i++) from[i] = uniform(b);
    for (size_t i = 0; i < n && b->arithmetic != PK_F32; i++) { /* in place: it shrinks */
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        const uint16_t half =
            b->arithmetic == PK_F16 ? pk_f32_to_f16(from[i]) : (uint16_t)(bits >> 16);
        memcpy((char *)from + 2 * i, &half, sizeof half);
    }
    put(&b->on, t.data, from, bytes);
    free(from);
    return t;
}

static pk_weight take_matrix(bench *b, int32_t rows, int32_t cols) {
    const size_t n = (size_t)rows * (size_t)cols;
    float       *values = malloc(n * sizeof *values);
    float       *scale = b->stored == PK_I8 ? calloc((size_t)rows, sizeof *scale) : NULL;
    void        *panels = calloc(pk_panel_bytes(rows, cols, b->stored) + 64, 1);
    pk_weight    host = { panels, scale, rows, cols, b->stored, false }, w = host;
    if (!values || !panels) exit(1);
    for (size_t i = 0; i < n; i++) values[i] = 0.05f * uniform(b);
    pk_panel_pack(panels, scale, cols, b->stored, 0, rows, values);
    free(values);
    if (!b->on.remote) return w; /* lives as long as the program */
    or_stop(b->on.adopt(b->on.self, &host, &w));
    or_stop(b->on.status(b->on.self));
    free(panels), free(scale);
    return w;
}

static pk_weight take_vector(bench *b, int32_t cols) {
    float    *values = malloc((size_t)cols * sizeof *values);
    pk_weight host = { values, NULL, 1, cols, PK_F32, true }, w = host;
    if (!values) exit(1);
    for (int32_t i = 0; i < cols; i++) values[i] = uniform(b);
    if (!b->on.remote) return w;
    or_stop(b->on.adopt(b->on.self, &host, &w));
    or_stop(b->on.status(b->on.self));
    free(values);
    return w;
}

/* n questions of a beam: the best 8 tokens, the log sum, one token banned */
static pk_answering take_questions(bench *b, int32_t n, int32_t top_k) {
    const int32_t ban = 1;
    pk_question *from = calloc((size_t)n, sizeof *from), *to = take(&b->on, (size_t)n * sizeof *to);
    int32_t     *tokens = take(&b->on, sizeof ban);
    if (!from) exit(1);
    for (int32_t i = 0; i < n; i++)
        from[i] = (pk_question){ .row = i, .top_k = top_k, .n_ban = 1, .log_sum = top_k > 1 };
    put(&b->on, to, from, (size_t)n * sizeof *to), put(&b->on, tokens, &ban, sizeof ban);
    free(from);
    return (pk_answering){ .n = n,
                           .most_top_k = top_k,
                           .any_log_sum = top_k > 1,
                           .question = to,
                           .tokens = tokens,
                           .top_stride = TOP,
                           .top = take(&b->on, sizeof(pk_scored) * TOP * (size_t)n),
                           .log_sum = take(&b->on, sizeof(float) * (size_t)n),
                           .target_score = take(&b->on, sizeof(float)) };
}

/* of one call: many are enqueued together, so that the launch is not measured */
static double seconds_of(bench *b) {
    const pk_after after = { .bias = &b->bias };
    double         best = 1e9;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) { /* the first one warms up */
        const double start = pk_clock_now();
        for (int i = 0; i < CALLS; i++)
            if (b->answers)
                b->on.answer(b->on.self, b->x, &b->w, &b->bias, &b->asked);
            else
                b->on.linear(b->on.self, b->out, b->x, &b->w, &after);
        or_stop(b->on.status(b->on.self));
        const double each = (pk_clock_now() - start) / CALLS;
        if (repetition && each < best) best = each;
    }
    return best;
}

static void report(bench *b, const char *name) {
    const double seconds = seconds_of(b);
    const double flops = 2.0 * (b->answers ? b->asked.n : b->x.rows) * b->w.rows * b->w.cols;
    printf("%-34s %10.1f us %8.1f TFLOP/s\n", name, 1e6 * seconds, 1e-12 * flops / seconds);
    fflush(stdout);
}

static void measure_linear(bench *b, int32_t rows, int32_t cols, int32_t outputs) {
    char name[64];
    snprintf(name, sizeof name, "linear (%d, %d) -> %d", rows, cols, outputs);
    b->answers = false;
    b->x = take_rows(b, rows, cols), b->out = take_rows(b, rows, outputs);
    b->w = take_matrix(b, outputs, cols), b->bias = take_vector(b, outputs);
    report(b, name);
}

static void measure_answer(bench *b, int32_t n, int32_t top_k) {
    const int32_t cols = 512;
    char          name[64];
    snprintf(name, sizeof name, "answer (%d, %d) best %d", n, cols, top_k);
    b->answers = true;
    if (!b->table.data)
        b->table = take_matrix(b, VOCAB, cols), b->table_bias = take_vector(b, VOCAB);
    b->w = b->table, b->bias = b->table_bias;
    b->x = take_rows(b, n, cols), b->asked = take_questions(b, n, top_k);
    report(b, name);
}

int main(int argc, char **argv) {
    const pk_limits limits = { MOST_ROWS, MOST_COLS, 64, 1024, TOP, VOCAB };
    const char     *type = argc > 2 ? argv[2] : "f16";
    const bool      gpu = argc < 2 || !strncmp(argv[1], "cuda", 4);
    bench           b = { .seed = 1, .stored = strcmp(type, "i8") ? PK_F16 : PK_I8 };
    b.arithmetic = !gpu ? PK_F32 : strcmp(type, "bf16") ? PK_F16 : PK_BF16;
    or_stop(pk_backend_open(argc > 1 ? argv[1] : "cuda", 1, b.arithmetic, &b.on));
    or_stop(b.on.reserve(b.on.self, &limits));
    measure_answer(&b, 1024, 8), measure_answer(&b, 256, 8);
    measure_answer(&b, 1024, 1), measure_answer(&b, 256, 1);
    measure_answer(&b, 128, 8), measure_answer(&b, 64, 8);
    measure_linear(&b, 7168, 512, 512), measure_linear(&b, 7168, 512, 1536);
    measure_linear(&b, 7168, 512, 2048), measure_linear(&b, 7168, 2048, 512);
    measure_linear(&b, 1024, 512, 512), measure_linear(&b, 1024, 512, 1536);
    measure_linear(&b, 1024, 512, 2048), measure_linear(&b, 1024, 2048, 512);
    pk_backend_close(&b.on);
    return 0;
}
