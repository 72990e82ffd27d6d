/* train_ops.c - how long each op of training takes at the sizes of transformer-base.
 *
 *   train_ops [BACKEND [TYPE [ROWS [LENGTH]]]]        defaults: cuda bf16 12288 28
 *
 * ROWS tokens a side in sentences of LENGTH, width 512, feed-forward 2048, 8 heads, 16,001 tokens;
 * dropout 0.1. One line per op: microseconds (mean of many calls, enqueued together), TFLOP/s and
 * GB/s (each tensor counted once), how often an update of a 6-6 network calls it, and what share of
 * such an update that is. The last line is the whole update. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "base/clock.h"
#include "on_device.h"
#include "tensor/training.h"

enum {
    DIM = 512,
    FFN = 2048,
    HEADS = 8,
    VOCAB = 16001,
    TABLE = 16064,
    CALLS = 20,
    MOST_LINES = 64
};
static const size_t parameters = (size_t)60 << 20;

typedef struct bench {
    pk_backend          on;
    const pk_training  *train;
    pk_dtype            type;
    size_t              each; /* bytes of a number */
    int32_t             rows, length;
    pk_tensor           wide[4], thin[5]; /* (rows, FFN), (rows, DIM) */
    pk_weight           matrix, table, gain, shift;
    float              *d_matrix, *d_table, *d_vector, *moments, *sums;
    int32_t            *token, *pos;
    pk_attention        all, causal;
    pk_lesson_questions q;
    pk_loss_sums       *loss;
    void               *work;
    pk_update           update;
    double             *squares;
    int32_t             inputs, outputs; /* of the product at hand */
} bench;

typedef struct line {
    char   name[48];
    double seconds, flops, bytes;
    int    uses; /* per update */
} line;

static const pk_drop drop = { 0.1f, 12345 };

/* ---- memory ---- */

/* random numbers: zeros would be quicker to multiply */
static void *take_numbers(bench *b, size_t n, float scale) {
    static uint64_t seed = 1;
    float          *from = malloc(n * sizeof *from);
    void           *memory = take(&b->on, n * sizeof *from);
    if (!from) exit(1);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        from[i] = scale * (float)(int32_t)(seed >> 32) * 0x1p-31f;
    }
    put(&b->on, memory, from, n * sizeof *from);
    free(from);
    if (b->type == PK_F32) return memory;
    void *narrow = take(&b->on, n * b->each);
    b->train->round_weights(b->on.self, narrow, memory, n);
    return narrow;
}

static pk_tensor take_rows(bench *b, int32_t cols) {
    return (pk_tensor){
        take_numbers(b, (size_t)b->rows * (size_t)cols, 1), b->rows, cols, cols, b->type, 0
    };
}

static pk_weight take_weight(bench *b, int32_t rows, int32_t cols) {
    return (pk_weight){
        take_numbers(b, (size_t)rows * (size_t)cols, 0.05f), NULL, rows, cols, b->type, true
    };
}

static int32_t *take_ints(bench *b, int32_t n, int32_t (*of)(const bench *b, int32_t i)) {
    int32_t *from = malloc((size_t)n * sizeof *from), *to = take(&b->on, (size_t)n * sizeof *from);
    if (!from) exit(1);
    for (int32_t i = 0; i < n; i++) from[i] = of(b, i);
    put(&b->on, to, from, (size_t)n * sizeof *from);
    free(from);
    return to;
}

static int32_t token_of(const bench *b, int32_t i) {
    (void)b;
    return (int32_t)((uint32_t)i * 2654435761u % VOCAB);
}
static int32_t segment_of(const bench *b, int32_t i) {
    return i * b->length < b->rows ? i * b->length : b->rows;
}
static int32_t pos_of(const bench *b, int32_t i) { return i % b->length; }
static int32_t first_of(const bench *b, int32_t i) { return i - i % b->length; }
static int32_t count_of(const bench *b, int32_t i) {
    const int32_t left = b->rows - first_of(b, i);
    return left < b->length ? left : b->length;
}
static int32_t seen_of(const bench *b, int32_t i) { return i % b->length + 1; }

static void take_all(bench *b) {
    const size_t rows = (size_t)b->rows;
    for (int i = 0; i < 4; i++) b->wide[i] = take_rows(b, FFN);
    for (int i = 0; i < 5; i++) b->thin[i] = take_rows(b, DIM);
    b->matrix = take_weight(b, FFN, FFN), b->table = take_weight(b, TABLE, DIM);
    b->gain = take_weight(b, 1, FFN), b->shift = take_weight(b, 1, FFN);
    b->d_matrix = take(&b->on, sizeof(float) * FFN * FFN);
    b->d_table = take(&b->on, sizeof(float) * TABLE * DIM),
    b->d_vector = take(&b->on, sizeof(float) * TABLE);
    b->moments = take(&b->on, sizeof(float) * 2 * rows),
    b->sums = take(&b->on, sizeof(float) * HEADS * rows);
    b->token = take_ints(b, b->rows, token_of), b->pos = take_ints(b, b->rows, pos_of);
    b->all = (pk_attention){ .heads = HEADS, .longest_segment = b->length };
    b->all.n_segments = (b->rows + b->length - 1) / b->length;
    b->all.query_segment = b->all.key_segment = take_ints(b, b->all.n_segments + 1, segment_of);
    b->all.first = take_ints(b, b->rows, first_of), b->all.count = take_ints(b, b->rows, count_of);
    b->causal = b->all, b->causal.count = take_ints(b, b->rows, seen_of);
    b->q = (pk_lesson_questions){ b->rows, NULL, b->token, NULL, 0.1f, VOCAB, 0 };
    b->loss = take(&b->on, sizeof *b->loss);
    b->work = take(&b->on, b->train->loss_bytes(b->on.self, b->rows, DIM, TABLE));
    b->squares = take(&b->on, 2 * sizeof *b->squares);
    b->update = (pk_update){ .n = parameters, .total = 1, .rate = 1e-4f, .beta1 = 0.9f, .step = 9 };
    b->update.beta2 = 0.98f, b->update.epsilon = 1e-9f, b->update.squares = b->squares;
    b->update.skipped = (int64_t *)(void *)(b->squares + 1);
    b->update.master = take(&b->on, 4 * parameters), b->update.grad = take(&b->on, 4 * parameters);
    b->update.m = take(&b->on, 4 * parameters), b->update.v = take(&b->on, 4 * parameters);
    b->update.weights = b->type == PK_F32 ? (void *)b->update.master : take(&b->on, 2 * parameters);
}

/* ---- the ops ---- */

typedef void call(bench *b);

static pk_tensor cut(pk_tensor t, int32_t first, int32_t cols, const bench *b) {
    t.data = (float *)(void *)((char *)t.data + (size_t)first * b->each);
    t.cols = cols;
    return t;
}
/* (rows, inputs) and (rows, outputs) of the product at hand, rows end to end */
static pk_tensor inputs_of(bench *b, int which) {
    pk_tensor t = b->inputs > DIM ? b->wide[which] : b->thin[which];
    t.cols = t.stride = b->inputs;
    return t;
}
static pk_tensor outputs_of(bench *b, int which) {
    pk_tensor t = b->outputs > DIM ? b->wide[which] : b->thin[which];
    t.cols = t.stride = b->outputs;
    return t;
}
static pk_weight matrix_of(const bench *b) {
    pk_weight w = b->matrix;
    w.rows = b->outputs, w.cols = b->inputs;
    return w;
}

static void product(bench *b) {
    const pk_weight w = matrix_of(b);
    b->train->product(b->on.self, outputs_of(b, 1), inputs_of(b, 0), &w, &b->gain);
}
static void product_input(bench *b) {
    const pk_weight w = matrix_of(b);
    b->train->product_back(b->on.self, inputs_of(b, 2), false, NULL, NULL, outputs_of(b, 1),
                           inputs_of(b, 0), &w);
}
static void product_weights(bench *b) {
    const pk_weight w = matrix_of(b);
    b->train->product_back(b->on.self, (pk_tensor){ 0 }, false, b->d_matrix, NULL, outputs_of(b, 1),
                           inputs_of(b, 0), &w);
}
static void product_bias(bench *b) {
    const pk_weight w = matrix_of(b);
    b->train->product_back(b->on.self, (pk_tensor){ 0 }, false, NULL, b->d_vector, outputs_of(b, 1),
                           inputs_of(b, 0), &w);
}
static void embed(bench *b) {
    b->train->embed(b->on.self, b->thin[0], &b->table, b->token, 22.6f, &b->table, b->pos, drop);
}
static void embed_back(bench *b) {
    b->train->embed_back(b->on.self, b->thin[0], b->d_table, b->token, 22.6f, NULL, b->pos, drop);
}
static void activate(bench *b) {
    b->train->activate(b->on.self, b->wide[1], b->wide[0], PK_RELU, drop);
}
static void activate_back(bench *b) {
    b->train->activate_back(b->on.self, b->wide[2], b->wide[1], b->wide[0], PK_RELU, drop);
}
static void add_norm(bench *b) {
    b->train->add_norm(b->on.self, b->thin[2], b->thin[3], b->thin[0], b->thin[1], drop, &b->gain,
                       &b->shift, 1e-5f, b->moments);
}
static void add_norm_back(bench *b) {
    b->train->add_norm_back(b->on.self, b->thin[0], b->thin[1], false, b->d_vector,
                            b->d_vector + DIM, b->thin[3], b->thin[2], &b->gain, b->moments, drop);
}
/* queries, keys and values are columns of one matrix, as the network has them */
static void attend_with(bench *b, const pk_attention *see) {
    pk_tensor all = b->wide[0];
    all.stride = 3 * DIM;
    b->train->attend(b->on.self, b->thin[0], cut(all, 0, DIM, b), cut(all, DIM, DIM, b),
                     cut(all, 2 * DIM, DIM, b), see, drop, b->sums);
}
static void attend_back_with(bench *b, const pk_attention *see) {
    pk_tensor all = b->wide[0], d = b->wide[1];
    all.stride = d.stride = 3 * DIM;
    b->train->attend_back(b->on.self, cut(d, 0, DIM, b), cut(d, DIM, DIM, b),
                          cut(d, 2 * DIM, DIM, b), b->thin[1], b->thin[0], cut(all, 0, DIM, b),
                          cut(all, DIM, DIM, b), cut(all, 2 * DIM, DIM, b), see, drop, b->sums);
}
static void attend(bench *b) { attend_with(b, &b->all); }
static void attend_back(bench *b) { attend_back_with(b, &b->all); }
static void attend_causal(bench *b) { attend_with(b, &b->causal); }
static void attend_causal_back(bench *b) { attend_back_with(b, &b->causal); }
static void loss(bench *b) {
    b->train->loss(b->on.self, b->thin[0], &b->table, NULL, &b->q, b->loss, NULL, b->thin[1],
                   b->d_table, NULL, b->work);
}
static void squares(bench *b) {
    b->train->squares(b->on.self, b->update.grad, parameters, b->squares);
}
static void update(bench *b) { b->train->update(b->on.self, &b->update); }

/* ---- measuring ---- */

/* of one call: many are enqueued together, so that the launch is not measured */
static double seconds_of(bench *b, call *op) {
    double best = 1e9;
    for (int repetition = 0; repetition < 4; repetition++) { /* the first one warms up */
        const double start = pk_clock_now();
        for (int i = 0; i < CALLS; i++) op(b);
        or_stop(b->on.status(b->on.self));
        const double each = (pk_clock_now() - start) / CALLS;
        if (repetition && each < best) best = each;
    }
    return best;
}

/* tensors: how many numbers go in and out, of the arithmetic's type; floats: further ones */
static void measure(bench *b, line *lines, int *n, const char *name, call *op, int uses,
                    double flops, double tensors, double floats) {
    line *l = &lines[(*n)++];
    snprintf(l->name, sizeof l->name, "%s", name);
    l->uses = uses, l->flops = flops, l->bytes = tensors * (double)b->each + 4 * floats;
    l->seconds = seconds_of(b, op);
}

static void measure_product(bench *b, line *lines, int *n, int32_t inputs, int32_t outputs,
                            int uses) {
    const double rows = b->rows, w = (double)inputs * outputs, flops = 2 * rows * w;
    const double sizes = rows * (inputs + outputs);
    char         name[48];
    b->inputs = inputs, b->outputs = outputs;
    snprintf(name, sizeof name, "product %d -> %d", inputs, outputs);
    measure(b, lines, n, name, product, uses, flops, sizes + w, 0);
    measure(b, lines, n, "  to its input", product_input, uses, flops, sizes + w, 0);
    measure(b, lines, n, "  to its weights", product_weights, uses, flops, sizes, 2 * w);
    measure(b, lines, n, "  to its bias", product_bias, uses, 0, rows * outputs, 0);
}

static int measure_all(bench *b, line *lines) {
    const double thin = (double)b->rows * DIM, wide = (double)b->rows * FFN;
    const double pairs = 2.0 * b->rows * b->length * DIM, all = (double)parameters;
    int          n = 0;
    measure(b, lines, &n, "embed", embed, 2, 0, 2 * thin, 0);
    measure(b, lines, &n, "embed backwards", embed_back, 2, 0, thin, 2 * thin);
    measure_product(b, lines, &n, DIM, 3 * DIM, 12);
    measure_product(b, lines, &n, DIM, DIM, 24);
    measure_product(b, lines, &n, DIM, 2 * DIM, 6);
    measure_product(b, lines, &n, DIM, FFN, 12);
    measure_product(b, lines, &n, FFN, DIM, 12);
    measure(b, lines, &n, "activate", activate, 12, 0, 2 * wide, 0);
    measure(b, lines, &n, "activate backwards", activate_back, 12, 0, 3 * wide, 0);
    measure(b, lines, &n, "add and norm", add_norm, 30, 0, 4 * thin, 0);
    measure(b, lines, &n, "add and norm backwards", add_norm_back, 30, 0, 4 * thin, 0);
    measure(b, lines, &n, "attend", attend, 12, 2 * pairs, 4 * thin, 0);
    measure(b, lines, &n, "attend backwards", attend_back, 12, 5 * pairs, 8 * thin, 0);
    measure(b, lines, &n, "attend, causal", attend_causal, 6, pairs, 4 * thin, 0);
    measure(b, lines, &n, "attend, causal, backwards", attend_causal_back, 6, 2.5 * pairs, 8 * thin,
            0);
    measure(b, lines, &n, "loss", loss, 1, 6 * thin * TABLE, 2 * thin + 5.0 * b->rows * TABLE,
            2.0 * TABLE * DIM);
    measure(b, lines, &n, "squares", squares, 1, 0, 0, all);
    measure(b, lines, &n, "update", update, 1, 0, b->type == PK_F32 ? 0 : all, 8 * all);
    return n;
}

static void print_all(const bench *b, const line *lines, int n) {
    double whole = 0;
    for (int i = 0; i < n; i++) whole += lines[i].uses * lines[i].seconds;
    printf("%-28s %10s %8s %8s %5s %7s\n", "op", "us", "TFLOP/s", "GB/s", "uses", "share");
    for (int i = 0; i < n; i++) {
        const line *l = &lines[i];
        printf("%-28s %10.1f %8.1f %8.0f %5d %6.1f%%\n", l->name, 1e6 * l->seconds,
               1e-12 * l->flops / l->seconds, 1e-9 * l->bytes / l->seconds, l->uses,
               100 * l->uses * l->seconds / whole);
    }
    printf("%-28s %10.1f   %.2f million source and target tokens/s\n", "an update", 1e6 * whole,
           2e-6 * b->rows / whole);
}

int main(int argc, char **argv) {
    static line lines[MOST_LINES];
    bench       b = { .type = argc > 2 && !strcmp(argv[2], "f32") ? PK_F32 : PK_BF16 };
    b.each = pk_dtype_bytes(b.type);
    b.rows = argc > 3 ? (int32_t)atoi(argv[3]) : 12288,
    b.length = argc > 4 ? (int32_t)atoi(argv[4]) : 28;
    if (b.rows < 1 || b.length < 1)
        return fprintf(stderr, "train_ops: ROWS and LENGTH are positive\n"), 1;
    or_stop(pk_backend_open(argc > 1 ? argv[1] : "cuda", 1, b.type, &b.on));
    b.train = b.on.train;
    if (!b.train) return fprintf(stderr, "train_ops: this backend cannot train\n"), 1;
    or_stop(b.train->reserve(b.on.self, b.rows, TABLE, b.length));
    take_all(&b);
    or_stop(b.on.status(b.on.self));
    print_all(&b, lines, measure_all(&b, lines));
    pk_backend_close(&b.on);
    return 0;
}
