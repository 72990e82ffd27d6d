/* cuda_train_sizes_test.c - the ops of training of the cuda backend at the sizes of real networks.
 *
 * Width 512, feed-forward 2048, 8 heads of 64, 16,001 tokens in a table of 16,064 rows; segments of
 * one tile and of many. Small things are compared with `ref` as a whole; of the large products some
 * rows and numbers are computed here. Inputs are numbers that BF16 can hold, so that one truth
 * serves both arithmetics. Skipped where there is no GPU. */
#include "cuda_train_help.h"

enum { DIM = 512, FFN = 2048, HEADS = 8, VOCAB = 16001, TABLE = 16064, SAMPLES = 6 };

static pk_tensor on_host(float *data, int32_t rows, int32_t cols) {
    return (pk_tensor){ data, rows, cols, cols, PK_F32, 0 };
}

static size_t area(int32_t rows, int32_t cols) { return (size_t)rows * (size_t)cols; }

/* columns [first, first + cols) of a tensor of the device */
static pk_tensor columns(pk_tensor t, int32_t first, int32_t cols) {
    t.data = (float *)(void *)((char *)t.data + (size_t)first * pk_dtype_bytes(t.type));
    t.cols = cols;
    return t;
}

/* ---- products ---- */

typedef struct product_data {
    int32_t rows, inputs, outputs;
    float  *x, *w, *bias, *d_out, *d_x, *d_w, *d_bias; /* x and d_x: (rows, 3 inputs) */
} product_data;

static double at_x(const product_data *p, int32_t row, int32_t col) {
    return (double)p->x[area(row, 3 * p->inputs) + (size_t)(p->inputs + col)];
}
static double at_w(const product_data *p, int32_t output, int32_t col) {
    return (double)p->w[area(output, p->inputs) + (size_t)col];
}
static double at_d(const product_data *p, int32_t row, int32_t output) {
    return (double)p->d_out[area(row, p->outputs) + (size_t)output];
}

static void check_product_rows(int a, const product_data *p, const float *out, const float *d_x) {
    float *want = malloc(sizeof(float) * (size_t)(p->outputs + p->inputs));
    for (int s = 0; s < SAMPLES; s++) {
        const int32_t row = s * (p->rows - 1) / (SAMPLES - 1);
        for (int32_t o = 0; o < p->outputs; o++) {
            double sum = (double)p->bias[o];
            for (int32_t c = 0; c < p->inputs; c++) sum += at_x(p, row, c) * at_w(p, o, c);
            want[o] = (float)sum;
        }
        check_numbers(a, out + area(row, p->outputs), want, (size_t)p->outputs, "out");
        const size_t first = area(row, 3 * p->inputs) + (size_t)p->inputs;
        for (int32_t c = 0; c < p->inputs; c++) {
            double sum = (double)p->d_x[first + (size_t)c];
            for (int32_t o = 0; o < p->outputs; o++) sum += at_d(p, row, o) * at_w(p, o, c);
            want[c] = (float)sum;
        }
        check_numbers(a, d_x + first, want, (size_t)p->inputs, "d_x");
    }
    free(want);
}

static void check_product_weights(int a, const product_data *p, const float *d_w,
                                  const float *d_bias) {
    enum { NUMBERS = 300 };
    float  got[NUMBERS], want[NUMBERS];
    float *sums = malloc(sizeof(float) * (size_t)p->outputs);
    for (int s = 0; s < NUMBERS; s++) {
        const int32_t o = s * 37 % p->outputs, c = s * 101 % p->inputs;
        double        sum = (double)p->d_w[area(o, p->inputs) + (size_t)c];
        for (int32_t i = 0; i < p->rows; i++) sum += at_d(p, i, o) * at_x(p, i, c);
        want[s] = (float)sum, got[s] = d_w[area(o, p->inputs) + (size_t)c];
    }
    check_numbers(a, got, want, NUMBERS, "d_w");
    for (int32_t o = 0; o < p->outputs; o++) {
        double sum = (double)p->d_bias[o];
        for (int32_t i = 0; i < p->rows; i++) sum += at_d(p, i, o);
        sums[o] = (float)sum;
    }
    check_numbers(a, d_bias, sums, (size_t)p->outputs, "d_bias");
    free(sums);
}

static void check_product(int a, const product_data *p) {
    const int32_t      rows = p->rows, in = p->inputs, outs = p->outputs;
    const pk_training *train = gpus[a].train;
    void              *self = gpus[a].self;
    NAME_CASE("%s, product (%d, %d) -> %d", type_names[a], rows, in, outs);
    arena_used = 0;
    const pk_tensor x = upload_rows(a, p->x, rows, 3 * in),
                    d_x = upload_rows(a, p->d_x, rows, 3 * in);
    const pk_tensor out = upload_rows(a, NULL, rows, outs),
                    d_out = upload_rows(a, p->d_out, rows, outs);
    const pk_weight w = weight_of(upload_rows(a, p->w, outs, in));
    const pk_weight bias = weight_of(upload_rows(a, p->bias, 1, outs));
    float          *d_w = upload_numbers(a, p->d_w, area(outs, in), PK_F32);
    float          *d_bias = upload_numbers(a, p->d_bias, (size_t)outs, PK_F32);
    train->product(self, out, columns(x, in, in), &w, &bias);
    train->product_back(self, columns(d_x, in, in), true, d_w, d_bias, d_out, columns(x, in, in),
                        &w);
    settle(a);
    float *got_out = download(a, out.data, area(rows, outs), arithmetics[a]);
    float *got_d_x = download(a, d_x.data, area(rows, 3 * in), arithmetics[a]);
    float *got_d_w = download(a, d_w, area(outs, in), PK_F32);
    float *got_d_bias = download(a, d_bias, (size_t)outs, PK_F32);
    check_product_rows(a, p, got_out, got_d_x);
    check_product_weights(a, p, got_d_w, got_d_bias);
    for (int32_t c = 0; c < 3 * in; c++) /* its neighbours are as they were */
        if ((c < in || c >= 2 * in) && got_d_x[c] != p->d_x[c])
            COMPLAIN("column %d was written", c);
    free(got_out), free(got_d_x), free(got_d_w), free(got_d_bias);
}

static void test_products(void **state) {
    static const int32_t sizes[][3] = {
        { 1000, DIM, 3 * DIM }, { 2999, DIM, FFN }, { 1537, FFN, DIM }, { 1, DIM, DIM }
    };
    (void)state;
    NEED_GPU();
    for (int i = 0; i < COUNT(sizes); i++) {
        product_data p = { .rows = sizes[i][0], .inputs = sizes[i][1], .outputs = sizes[i][2] };
        trial_seed = (uint64_t)i + 1;
        p.x = random_numbers(area(p.rows, 3 * p.inputs), 1);
        p.d_x = random_numbers(area(p.rows, 3 * p.inputs), 1);
        p.w = random_numbers(area(p.outputs, p.inputs), 0.1f);
        p.bias = random_numbers((size_t)p.outputs, 1);
        p.d_out = random_numbers(area(p.rows, p.outputs), 1);
        p.d_w = random_numbers(area(p.outputs, p.inputs), 1);
        p.d_bias = random_numbers((size_t)p.outputs, 1);
        for (int a = 0; a < ARITHMETICS; a++) check_product(a, &p);
        free(p.x), free(p.d_x), free(p.w), free(p.bias), free(p.d_out), free(p.d_w), free(p.d_bias);
    }
    conclude();
}

/* ---- rows ---- */

enum { ROWS = 1003, NORM_ARRAYS = 8 };
static const pk_drop some_drop = { 0.1f, 0x1234567887654321u };

/* x, residual, gain, shift, d_out, d_residual (added to), d_gain, d_shift */
static void check_add_norm(int a, float *const host[NORM_ARRAYS], bool norm) {
    const pk_training *train = gpus[a].train;
    const size_t       n = area(ROWS, DIM);
    pk_tensor          t[NORM_ARRAYS], sum, out, d_x;
    float             *on[5], *gradient[2], *moments;
    NAME_CASE("%s, add%s", type_names[a], norm ? " and norm" : "");
    arena_used = 0;
    for (int i = 0; i < 6; i++) t[i] = upload_rows(a, host[i], i == 2 || i == 3 ? 1 : ROWS, DIM);
    for (int i = 0; i < 2; i++) gradient[i] = upload_numbers(a, host[6 + i], DIM, PK_F32);
    sum = upload_rows(a, NULL, ROWS, DIM), out = upload_rows(a, NULL, ROWS, DIM);
    d_x = upload_rows(a, NULL, ROWS, DIM), moments = fresh(a, 2 * ROWS * sizeof(float));
    const pk_weight gain = weight_of(t[2]), shift = weight_of(t[3]);
    train->add_norm(gpus[a].self, sum, out, t[0], t[1], some_drop, norm ? &gain : NULL,
                    norm ? &shift : NULL, 1e-5f, moments);
    train->add_norm_back(gpus[a].self, d_x, t[5], true, gradient[0], gradient[1], t[4], sum,
                         norm ? &gain : NULL, moments, some_drop);
    for (int i = 0; i < 5; i++) on[i] = malloc(n * sizeof(float));
    float          *kept = malloc(2 * ROWS * sizeof(float));
    const pk_weight host_gain = weight_of(on_host(host[2], 1, DIM));
    const pk_weight host_shift = weight_of(on_host(host[3], 1, DIM));
    memcpy(on[3], host[5], n * sizeof(float));
    memcpy(on[4], host[6], DIM * sizeof(float)), memcpy(on[4] + DIM, host[7], DIM * sizeof(float));
    ref.train->add_norm(ref.self, on_host(on[0], ROWS, DIM), on_host(on[1], ROWS, DIM),
                        on_host(host[0], ROWS, DIM), on_host(host[1], ROWS, DIM), some_drop,
                        norm ? &host_gain : NULL, norm ? &host_shift : NULL, 1e-5f, kept);
    ref.train->add_norm_back(ref.self, on_host(on[2], ROWS, DIM), on_host(on[3], ROWS, DIM), true,
                             on[4], on[4] + DIM, on_host(host[4], ROWS, DIM),
                             on_host(on[0], ROWS, DIM), norm ? &host_gain : NULL, kept, some_drop);
    check_array(a, sum.data, arithmetics[a], on[0], n, "sum");
    if (norm) check_array(a, out.data, arithmetics[a], on[1], n, "out");
    check_array(a, d_x.data, arithmetics[a], on[2], n, "d_x");
    check_array(a, t[5].data, arithmetics[a], on[3], n, "d_residual");
    check_array(a, gradient[0], PK_F32, on[4], DIM, "d_gain");
    check_array(a, gradient[1], PK_F32, on[4] + DIM, DIM, "d_shift");
    for (int i = 0; i < 5; i++) free(on[i]);
    free(kept);
}

static void test_add_norms(void **state) {
    float *host[NORM_ARRAYS];
    (void)state;
    NEED_GPU();
    trial_seed = 77;
    for (int i = 0; i < NORM_ARRAYS; i++) host[i] = random_numbers(area(ROWS, DIM), 1);
    for (int a = 0; a < ARITHMETICS; a++)
        for (int norm = 0; norm < 2; norm++) check_add_norm(a, host, norm);
    for (int i = 0; i < NORM_ARRAYS; i++) free(host[i]);
    conclude();
}

static void test_activations(void **state) {
    const size_t n = area(ROWS, FFN);
    (void)state;
    NEED_GPU();
    trial_seed = 5;
    float *x = random_numbers(n, 3), *d = random_numbers(n, 1), *want = malloc(n * sizeof *want);
    for (int a = 0; a < ARITHMETICS; a++)
        for (int act = PK_LINEAR; act <= PK_SWISH; act++) {
            NAME_CASE("%s, activate %d", type_names[a], act);
            arena_used = 0;
            const pk_tensor on = upload_rows(a, x, ROWS, FFN),
                            out = upload_rows(a, NULL, ROWS, FFN);
            const pk_tensor d_out = upload_rows(a, d, ROWS, FFN),
                            d_x = upload_rows(a, NULL, ROWS, FFN);
            gpus[a].train->activate(gpus[a].self, out, on, (pk_act)act, some_drop);
            gpus[a].train->activate_back(gpus[a].self, d_x, d_out, on, (pk_act)act, some_drop);
            ref.train->activate(ref.self, on_host(want, ROWS, FFN), on_host(x, ROWS, FFN),
                                (pk_act)act, some_drop);
            check_array(a, out.data, arithmetics[a], want, n, "out");
            ref.train->activate_back(ref.self, on_host(want, ROWS, FFN), on_host(d, ROWS, FFN),
                                     on_host(x, ROWS, FFN), (pk_act)act, some_drop);
            check_array(a, d_x.data, arithmetics[a], want, n, "d_x");
        }
    free(x), free(d), free(want);
    conclude();
}

static void check_embedding(int a, float *table, float *position, float *d, const int32_t *token,
                            const int32_t *pos) {
    const size_t n = area(ROWS, DIM);
    float       *want = malloc(n * sizeof *want);
    float       *d_table = calloc(area(TABLE, DIM), sizeof(float)),
          *d_position = calloc(n, sizeof(float));
    NAME_CASE("%s, embed", type_names[a]);
    arena_used = 0;
    const pk_weight w = weight_of(upload_rows(a, table, TABLE, DIM));
    const pk_weight p = weight_of(upload_rows(a, position, ROWS, DIM));
    const pk_tensor out = upload_rows(a, NULL, ROWS, DIM), d_out = upload_rows(a, d, ROWS, DIM);
    const int32_t  *tokens = upload(a, token, ROWS * sizeof *token);
    const int32_t  *positions = upload(a, pos, ROWS * sizeof *pos);
    float          *sums = zeros(a, area(TABLE, DIM) * sizeof(float)),
          *position_sums = zeros(a, n * sizeof(float));
    gpus[a].train->embed(gpus[a].self, out, &w, tokens, 22.6f, &p, positions, some_drop);
    gpus[a].train->embed_back(gpus[a].self, d_out, sums, tokens, 22.6f, position_sums, positions,
                              some_drop);
    const pk_weight host = weight_of(on_host(table, TABLE, DIM)),
                    host_position = weight_of(on_host(position, ROWS, DIM));
    ref.train->embed(ref.self, on_host(want, ROWS, DIM), &host, token, 22.6f, &host_position, pos,
                     some_drop);
    ref.train->embed_back(ref.self, on_host(d, ROWS, DIM), d_table, token, 22.6f, d_position, pos,
                          some_drop);
    check_array(a, out.data, arithmetics[a], want, n, "out");
    check_array(a, sums, PK_F32, d_table, area(TABLE, DIM), "d_table");
    check_array(a, position_sums, PK_F32, d_position, n, "d_position");
    free(want), free(d_table), free(d_position);
}

static void test_embeddings(void **state) {
    int32_t token[ROWS], pos[ROWS];
    (void)state;
    NEED_GPU();
    trial_seed = 6;
    for (int32_t i = 0; i < ROWS; i++)
        token[i] = i % 2 ? 3 : i % 10 ? i * 97 % TABLE : -1, pos[i] = i % 60;
    float *table = random_numbers(area(TABLE, DIM), 0.05f),
          *position = random_numbers(area(ROWS, DIM), 1), *d = random_numbers(area(ROWS, DIM), 1);
    for (int a = 0; a < ARITHMETICS; a++) check_embedding(a, table, position, d, token, pos);
    free(table), free(position), free(d);
    conclude();
}

/* ---- attention ---- */

enum { MOST_RUNS = 10 };
typedef struct segments {
    const char *name;
    int32_t     n, queries[MOST_RUNS], keys[MOST_RUNS];
    bool        causal;
} segments;

static const segments all_segments[] = {
    { "short", 8, { 28, 31, 5, 32, 1, 16, 17, 30 }, { 28, 31, 5, 32, 1, 16, 17, 30 }, false },
    { "short, causal", 6, { 28, 31, 5, 32, 1, 16 }, { 28, 31, 5, 32, 1, 16 }, true },
    { "short, across", 6, { 28, 31, 5, 0, 1, 16 }, { 30, 7, 32, 9, 1, 0 }, false },
    { "long", 6, { 64, 65, 130, 20, 300, 1 }, { 64, 65, 130, 20, 300, 1 }, false },
    { "long, causal", 5, { 100, 63, 129, 257, 2 }, { 100, 63, 129, 257, 2 }, true },
    { "long, across", 6, { 70, 200, 3, 64, 0, 20 }, { 64, 60, 150, 129, 80, 0 }, false },
};

typedef struct attend_data {
    int32_t      queries, keys, *ints[4]; /* query_segment, key_segment, first, count */
    float       *numbers[4];              /* q, k, v, d_out */
    float       *want[5];                 /* out, d_q, d_k, d_v, sums */
    pk_attention see;
} attend_data;

static void make_segments(attend_data *d, const segments *r) {
    for (int i = 0; i < 4; i++) d->ints[i] = calloc(1200, sizeof(int32_t));
    for (int32_t k = 0; k < r->n; k++) {
        const int32_t query = d->ints[0][k], key = d->ints[1][k];
        d->ints[0][k + 1] = query + r->queries[k], d->ints[1][k + 1] = key + r->keys[k];
        for (int32_t i = 0; i < r->queries[k]; i++)
            d->ints[2][query + i] = key, d->ints[3][query + i] = r->causal ? i + 1 : r->keys[k];
        const int32_t longer = r->queries[k] > r->keys[k] ? r->queries[k] : r->keys[k];
        if (longer > d->see.longest_segment) d->see.longest_segment = longer;
    }
    d->queries = d->ints[0][r->n], d->keys = d->ints[1][r->n];
    d->see.heads = HEADS, d->see.n_segments = r->n;
    d->see.query_segment = d->ints[0], d->see.key_segment = d->ints[1];
    d->see.first = d->ints[2], d->see.count = d->ints[3];
}

static int32_t rows_in(const attend_data *d, int array) { /* of q, k, v, d_out */
    return array == 1 || array == 2 ? d->keys : d->queries;
}

static void make_attention(attend_data *d, const segments *r, pk_drop drop) {
    pk_tensor t[4], want[4];
    memset(d, 0, sizeof *d);
    make_segments(d, r);
    for (int i = 0; i < 4; i++) {
        d->numbers[i] = random_numbers(area(rows_in(d, i), DIM), i < 2 ? 2 : 1);
        t[i] = on_host(d->numbers[i], rows_in(d, i), DIM);
    }
    for (int i = 0; i < 4; i++) {
        const int32_t rows = i < 2 ? d->queries : d->keys;
        d->want[i] = calloc(area(rows, DIM) + 1, sizeof(float));
        want[i] = on_host(d->want[i], rows, DIM);
    }
    d->want[4] = calloc(area(d->queries, HEADS) + 1, sizeof(float));
    ref.train->attend(ref.self, want[0], t[0], t[1], t[2], &d->see, drop, d->want[4]);
    ref.train->attend_back(ref.self, want[1], want[2], want[3], t[3], want[0], t[0], t[1], t[2],
                           &d->see, drop, d->want[4]);
}

static void check_attention(int a, const attend_data *d, pk_drop drop) {
    static const char *const names[] = { "out", "d_q", "d_k", "d_v" };
    pk_tensor                t[4], got[4];
    pk_attention             see = d->see;
    arena_used = 0;
    for (int i = 0; i < 4; i++) t[i] = upload_rows(a, d->numbers[i], rows_in(d, i), DIM);
    for (int i = 0; i < 4; i++) got[i] = upload_rows(a, NULL, i < 2 ? d->queries : d->keys, DIM);
    float *sums = upload_numbers(a, NULL, area(d->queries, HEADS), PK_F32);
    see.query_segment = upload(a, d->ints[0], 1200 * sizeof(int32_t));
    see.key_segment = upload(a, d->ints[1], 1200 * sizeof(int32_t));
    see.first = upload(a, d->ints[2], 1200 * sizeof(int32_t));
    see.count = upload(a, d->ints[3], 1200 * sizeof(int32_t));
    gpus[a].train->attend(gpus[a].self, got[0], t[0], t[1], t[2], &see, drop, sums);
    gpus[a].train->attend_back(gpus[a].self, got[1], got[2], got[3], t[3], got[0], t[0], t[1], t[2],
                               &see, drop, sums);
    settle(a);
    for (int i = 0; i < 4; i++)
        check_array(a, got[i].data, arithmetics[a], d->want[i],
                    area(i < 2 ? d->queries : d->keys, DIM), names[i]);
    float *log_sums = download(a, sums, area(d->queries, HEADS), PK_F32);
    for (size_t i = 0; i < area(d->queries, HEADS); i++)
        if (isinf(d->want[4][i])) log_sums[i] = d->want[4][i] = 0; /* it saw nothing */
    check_numbers(a, log_sums, d->want[4], area(d->queries, HEADS), "sums");
    free(log_sums);
}

static void test_attention(void **state) {
    (void)state;
    NEED_GPU();
    for (int i = 0; i < COUNT(all_segments); i++)
        for (int with = 0; with < 2; with++) {
            const pk_drop drop = { with ? 0.2f : 0, 99 };
            attend_data   d;
            trial_seed = (uint64_t)i + 10;
            make_attention(&d, &all_segments[i], drop);
            for (int a = 0; a < ARITHMETICS; a++) {
                NAME_CASE("%s, attend, %s%s", type_names[a], all_segments[i].name,
                          with ? ", drop" : "");
                check_attention(a, &d, drop);
            }
            for (int k = 0; k < 4; k++) free(d.ints[k]), free(d.numbers[k]);
            for (int k = 0; k < 5; k++) free(d.want[k]);
        }
    conclude();
}

/* ---- the loss ---- */

enum { ASKED = 30, REPEATS = 300 }; /* 9,000 questions: more than one chunk */
typedef struct loss_data {
    float       *hidden, *table, *bias;       /* (ASKED, DIM), (TABLE, DIM), (TABLE) */
    float       *d_hidden, *d_table, *d_bias; /* the truth for ASKED questions */
    int32_t      target[ASKED], best[ASKED];
    pk_loss_sums sums;
} loss_data;

static void make_loss_data(loss_data *d) {
    memset(d, 0, sizeof *d);
    d->hidden = random_numbers(area(ASKED, DIM), 1),
    d->table = random_numbers(area(TABLE, DIM), 0.3f);
    d->bias = random_numbers(TABLE, 1);
    d->d_hidden = calloc(area(ASKED, DIM), sizeof(float));
    d->d_table = calloc(area(TABLE, DIM), sizeof(float)), d->d_bias = calloc(TABLE, sizeof(float));
    for (int32_t i = 0; i < ASKED; i++) d->target[i] = i * 533 % VOCAB;
    const pk_lesson_questions q = { ASKED, NULL, d->target, NULL, 0.1f, VOCAB, 5 };
    const pk_weight           table = weight_of(on_host(d->table, TABLE, DIM));
    const pk_weight           bias = weight_of(on_host(d->bias, 1, TABLE));
    void                     *work = malloc(ref.train->loss_bytes(ref.self, ASKED, DIM, TABLE));
    ref.train->loss(ref.self, on_host(d->hidden, ASKED, DIM), &table, &bias, &q, &d->sums, d->best,
                    on_host(d->d_hidden, ASKED, DIM), d->d_table, d->d_bias, work);
    free(work);
}

/* times: how often every question is asked; apart: rows from one that is asked about to the next */
static void check_loss(int a, const loss_data *d, int32_t times, int32_t apart) {
    const int32_t n = ASKED * times, rows = n * apart;
    const size_t  numbers = area(rows, DIM);
    float *hidden = calloc(numbers, sizeof(float)), *d_hidden = calloc(numbers, sizeof(float));
    float *d_table = malloc(area(TABLE, DIM) * sizeof(float)),
          *d_bias = malloc(TABLE * sizeof(float));
    int32_t *target = malloc((size_t)n * sizeof *target), *row = malloc((size_t)n * sizeof *row);
    pk_loss_sums got;
    NAME_CASE("%s, loss of %d questions to %d rows", type_names[a], n, rows);
    arena_used = 0;
    for (int32_t i = 0; i < n; i++) {
        row[i] = apart * i + apart - 1, target[i] = d->target[i % ASKED];
        memcpy(hidden + area(row[i], DIM), d->hidden + area(i % ASKED, DIM), DIM * sizeof(float));
        memcpy(d_hidden + area(row[i], DIM), d->d_hidden + area(i % ASKED, DIM),
               DIM * sizeof(float));
    }
    for (size_t i = 0; i < area(TABLE, DIM); i++) d_table[i] = (float)times * d->d_table[i];
    for (size_t i = 0; i < TABLE; i++) d_bias[i] = (float)times * d->d_bias[i];
    const pk_tensor on = upload_rows(a, hidden, rows, DIM), d_on = upload_rows(a, NULL, rows, DIM);
    const pk_weight table = weight_of(upload_rows(a, d->table, TABLE, DIM));
    const pk_weight bias = weight_of(upload_rows(a, d->bias, 1, TABLE));
    float          *table_sums = zeros(a, area(TABLE, DIM) * sizeof(float)),
          *bias_sums = zeros(a, TABLE * sizeof(float));
    pk_loss_sums             *sums = zeros(a, sizeof *sums);
    int32_t                  *best = zeros(a, (size_t)n * sizeof *best);
    const pk_lesson_questions q = { n,
                                    apart > 1 ? upload(a, row, (size_t)n * sizeof *row) : NULL,
                                    upload(a, target, (size_t)n * sizeof *target),
                                    NULL,
                                    0.1f,
                                    VOCAB,
                                    5 };
    void *work = fresh(a, gpus[a].train->loss_bytes(gpus[a].self, n, DIM, TABLE));
    gpus[a].train->loss(gpus[a].self, on, &table, &bias, &q, sums, best, d_on, table_sums,
                        bias_sums, work);
    gpus[a].get(gpus[a].self, &got, sums, sizeof got);
    gpus[a].get(gpus[a].self, row, best, (size_t)n * sizeof *row);
    settle(a);
    if (!(fabs(got.loss - times * d->sums.loss) <= 5e-3 * times * d->sums.loss))
        COMPLAIN("the loss is %g, not %g", got.loss, times * d->sums.loss);
    if (!(fabs(got.nll - times * d->sums.nll) <= 5e-3 * times * d->sums.nll))
        COMPLAIN("nll is %g, not %g", got.nll, times * d->sums.nll);
    if (got.weight != n) COMPLAIN("the weight is %g, not %d", got.weight, n);
    for (int32_t i = 0; a == 0 && i < n; i++)
        if (row[i] != d->best[i % ASKED]) {
            COMPLAIN("question %d: the best token is %d, not %d", i, d->best[i % ASKED], row[i]);
            break;
        }
    check_array(a, d_on.data, arithmetics[a], d_hidden, numbers, "d_hidden");
    check_array(a, table_sums, PK_F32, d_table, area(TABLE, DIM), "d_table");
    check_array(a, bias_sums, PK_F32, d_bias, TABLE, "d_bias");
    free(hidden), free(d_hidden), free(d_table), free(d_bias), free(target), free(row);
}

static void test_losses(void **state) {
    loss_data d;
    (void)state;
    NEED_GPU();
    trial_seed = 8;
    make_loss_data(&d);
    for (int a = 0; a < ARITHMETICS; a++) {
        check_loss(a, &d, 1, 1);
        check_loss(a, &d, 40, 2);
        check_loss(a, &d, REPEATS, 1);
    }
    free(d.hidden), free(d.table), free(d.bias), free(d.d_hidden), free(d.d_table), free(d.d_bias);
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),    cmocka_unit_test(test_add_norms),
        cmocka_unit_test(test_activations), cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_attention),   cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
