/* cuda_test.c - every op of the cuda backend against `ref`, and the law of exactness.
 *
 * For each arithmetic (F32, F16, BF16) and type of weights. Inputs are numbers that the arithmetic
 * can hold, the truth is computed from them in float or double, and an op may be off by a small
 * part of a row's largest magnitude (cuda_help.h). The law is bitwise: a row alone = the row in any
 * batch, a fused norm = the product and then the norm. Skipped where there is no GPU. */
#include "cuda_help.h"
#include "op_cases.h"

static const pk_dtype types[] = { PK_F32, PK_F16, PK_I8 };

/* ---- linear: the table of cases ---- */

static pk_after after_on_device(const linear_case *c, const matrix *bias, const matrix *gain,
                                const matrix *shift) {
    return (pk_after){ .bias = c->bias ? &bias->device : NULL,
                       .act = c->act,
                       .gain = gain ? &gain->device : NULL,
                       .shift = gain ? &shift->device : NULL,
                       .epsilon = 1e-5f };
}

/* all rows at once into `all`, then one by one into `alone` */
static void linear_case_of(const linear_case *c, const array *all, const array *alone,
                           const array *x, const array *residual, const matrix *w, pk_after after) {
    pk_backend     *b = &gpus[all->a];
    const pk_tensor none = { 0 };
    for (int32_t i = -1; i < c->rows; i++) {
        const array    *out = i < 0 ? all : alone;
        const pk_tensor add = c->residual == NO_RESIDUAL     ? none
                              : c->residual == SAME_RESIDUAL ? out->on
                                                             : residual->on;
        const int32_t   first = i < 0 ? 0 : i, n = i < 0 ? c->rows : 1;
        after.residual = rows_of(add, first, n);
        b->linear(b->self, rows_of(out->on, first, n), rows_of(x->on, first, n), &w->device,
                  &after);
    }
}

/* the product without its norm, then the norm */
static void linear_in_two(const linear_case *c, array *out, const array *x, const array *residual,
                          const matrix *w, pk_after after) {
    pk_backend      *b = &gpus[out->a];
    const pk_weight *gain = after.gain, *shift = after.shift;
    after.gain = after.shift = NULL;
    if (c->residual != NO_RESIDUAL)
        after.residual = c->residual == SAME_RESIDUAL ? out->on : residual->on;
    b->linear(b->self, out->on, x->on, &w->device, &after);
    b->norm(b->self, out->on, out->on, gain, shift, after.epsilon);
}

static void linear_case_on(int a, const linear_case *c, pk_dtype type, bool norm) {
    pk_backend    *b = &gpus[a];
    const pk_dtype t = arithmetics[a];
    const bool     same = c->residual == SAME_RESIDUAL;
    NAME_CASE("%s arithmetic, %s weights, linear (%d, %d) -> %d, act %d, residual %d, gap %d%s",
              type_names[t], type_names[type], c->rows, c->cols, c->outputs, c->act, c->residual,
              c->gap, norm ? ", norm" : "");
    reset_arena(a);
    seed = (uint64_t)(c->rows * 131 + c->outputs * 17 + c->cols);
    pk_tensor x = random_rows(c->rows, c->cols, t, 1),
              residual = random_rows(c->rows, c->outputs, t, 1),
              want = random_rows(c->rows, c->outputs, PK_F32, 1);
    matrix w = random_matrix(b, c->outputs, c->cols, type, NULL),
           bias = random_plain(b, 1, c->outputs), gain = random_plain(b, 1, c->outputs),
           shift = random_plain(b, 1, c->outputs);
    array dx = array_of(a, x, c->gap, t), other = array_of(a, residual, c->gap + 1, t), out[3];
    for (int k = 0; k < 3; k++) {
        out[k] = blank_array(a, c->rows, c->outputs, c->gap + same, t);
        if (same) fill_array(&out[k], residual);
    }
    const pk_after after = after_on_device(c, &bias, norm ? &gain : NULL, &shift);
    pk_after       host = { .bias = c->bias ? &bias.wide : NULL, .act = c->act, .epsilon = 1e-5f };
    if (c->residual != NO_RESIDUAL) host.residual = residual;
    if (norm) host.gain = &gain.wide, host.shift = &shift.wide;
    ref.linear(ref.self, want, x, &w.wide, &host);
    linear_case_of(c, &out[0], &out[1], &dx, &other, &w, after);
    if (norm) linear_in_two(c, &out[2], &dx, &other, &w, after);
    settle(b);
    for (int k = 0; k < 3; k++) get_array(&out[k]);
    check_rows(&out[0], want, "linear");
    check_gaps(&out[1], "rows alone");
    for (int32_t i = 0; i < c->rows; i++) {
        check_same(&out[1], i, &out[0], i, "a row alone");
        if (norm) check_same(&out[2], i, &out[0], i, "product, then norm");
    }
    for (int k = 0; k < 3; k++) free(out[k].raw);
    free(dx.raw), free(other.raw), free(x.data), free(residual.data), free(want.data);
    free_matrix(&w), free_matrix(&bias), free_matrix(&gain), free_matrix(&shift);
}

static void linear_cases_with(bool norm) {
    for (int a = 0; a < ARITHMETICS; a++)
        for (int i = 0; i < COUNT(linear_cases); i++)
            for (int t = 0; t < COUNT(types); t++) {
                /* few outputs may be nearly equal, and then a norm shows their rounding alone */
                if (norm && linear_cases[i].outputs < 32) continue;
                linear_case_on(a, &linear_cases[i], types[t], norm);
            }
    conclude();
}

static void test_linear(void **state) {
    (void)state;
    NEED_GPU();
    linear_cases_with(false);
}

static void test_linear_norm(void **state) {
    (void)state;
    NEED_GPU();
    linear_cases_with(true);
}

/* ---- linear: the sizes of real models ---- */

enum { MOST_ROWS = 1000, SLOTS = 1100 };
static const int32_t row_counts[] = { 1, 5, 8, 9, 16, 17, 28, 33, 64, 65, 128, 200, 256, 257, 999 };
static const int32_t sampled_rows[] = { 0, 1, 7, 8, 63, 64, 255, 500, 999 };

typedef struct linear_size {
    int32_t outputs, cols;
    pk_act  act;
    bool    residual, norm; /* the residual is the output's memory, as in a network */
    int32_t stored;         /* the last so many columns also go to a pool */
} linear_size;

static const linear_size linear_sizes[] = {
    { 1536, 512, PK_LINEAR, false, false, 1024 }, { 512, 512, PK_LINEAR, true, true, 0 },
    { 2048, 512, PK_RELU, false, false, 0 },      { 512, 2048, PK_LINEAR, true, true, 0 },
    { 512, 512, PK_LINEAR, true, false, 0 },      { 512, 2048, PK_LINEAR, true, false, 0 },
    { 1024, 1024, PK_LINEAR, true, true, 0 },     { 2048, 512, PK_SWISH, false, false, 2048 },
};

typedef struct size_data {
    const linear_size *s;
    pk_tensor          x, residual;
    matrix             w, bias, gain, shift;
    float             *values;
    array              dx, all, out, pool;
    int32_t           *slot; /* the device's */
    int32_t            host_slot[MOST_ROWS];
} size_data;

static void norm_row(double *y, int32_t n, const float *gain, const float *shift) {
    double mean = 0, variance = 0;
    for (int32_t o = 0; o < n; o++) mean += y[o] / n;
    for (int32_t o = 0; o < n; o++) variance += (y[o] - mean) * (y[o] - mean) / n;
    for (int32_t o = 0; o < n; o++)
        y[o] = (y[o] - mean) / sqrt(variance + 1e-5) * (double)gain[o] + (double)shift[o];
}

static void expected_row(float *want, const size_data *d, int32_t row) {
    const linear_size *s = d->s;
    const float       *x = host_row(d->x, row), *bias = d->bias.wide.data;
    double            *y = malloc((size_t)s->outputs * sizeof *y);
    for (int32_t o = 0; o < s->outputs; o++) {
        const float *w = d->values + (size_t)o * (size_t)s->cols;
        double       sum = (double)bias[o];
        for (int32_t c = 0; c < s->cols; c++) sum += (double)x[c] * (double)w[c];
        if (s->act == PK_RELU) sum = sum > 0 ? sum : 0;
        if (s->act == PK_SWISH) sum = sum / (1 + exp(-sum));
        y[o] = sum + (s->residual ? (double)host_row(d->residual, row)[o] : 0);
    }
    if (s->norm) norm_row(y, s->outputs, d->gain.wide.data, d->shift.wide.data);
    for (int32_t o = 0; o < s->outputs; o++) want[o] = (float)y[o];
    free(y);
}

static void size_matrices(size_data *d, pk_backend *b, pk_dtype type) {
    d->w = random_matrix(b, d->s->outputs, d->s->cols, type, &d->values);
    d->bias = random_plain(b, 1, d->s->outputs), d->gain = random_plain(b, 1, d->s->outputs);
    d->shift = random_plain(b, 1, d->s->outputs);
}

static void make_size(size_data *d, int a, const linear_size *s, pk_dtype type) {
    const pk_dtype t = arithmetics[a];
    *d = (size_data){ .s = s };
    reset_arena(a);
    seed = (uint64_t)(s->outputs + 7 * s->cols);
    d->x = random_rows(MOST_ROWS, s->cols, t, 1);
    d->residual = random_rows(MOST_ROWS, s->outputs, t, 1);
    size_matrices(d, &gpus[a], type);
    d->dx = array_of(a, d->x, 0, t);
    d->all = blank_array(a, MOST_ROWS, s->outputs, 0, t);
    d->out = blank_array(a, MOST_ROWS, s->outputs, 0, t);
    d->pool = blank_array(a, SLOTS, s->stored ? s->stored : 1, 8, t);
    for (int32_t i = 0; i < MOST_ROWS; i++) d->host_slot[i] = (i * 7 + 3) % SLOTS;
    d->slot = upload_ints(a, d->host_slot, MOST_ROWS);
}

static void free_size(size_data *d) {
    free(d->x.data), free(d->residual.data), free(d->values);
    free(d->dx.raw), free(d->all.raw), free(d->out.raw), free(d->pool.raw);
    free_matrix(&d->w), free_matrix(&d->bias), free_matrix(&d->gain), free_matrix(&d->shift);
}

/* rows [first, first + n) into the first rows of out; fused: with the norm, where there is one */
static void linear_of_size(size_data *d, array *out, int32_t first, int32_t n, bool fused) {
    pk_backend *b = &gpus[out->a];
    pk_after    after = { .bias = &d->bias.device, .act = d->s->act, .epsilon = 1e-5f };
    pk_tensor   part = d->residual;
    part.data = host_row(d->residual, first), part.rows = n;
    if (d->s->residual)
        fill_array(out, part), after.residual = rows_of(out->on, 0, n);
    else
        blank_again(out);
    if (d->s->norm && fused) after.gain = &d->gain.device, after.shift = &d->shift.device;
    if (d->s->stored) {
        blank_again(&d->pool);
        after.pool = d->pool.on, after.slot = d->slot + first;
        after.from = d->s->outputs - d->s->stored;
    }
    b->linear(b->self, rows_of(out->on, 0, n), rows_of(d->dx.on, first, n), &d->w.device, &after);
    if (d->s->norm && !fused)
        b->norm(b->self, rows_of(out->on, 0, n), rows_of(out->on, 0, n), &d->gain.device,
                &d->shift.device, 1e-5f);
    get_array(out);
    if (d->s->stored) get_array(&d->pool);
}

/* pool[slot[i]] has the last columns of row i, other slots are as they were */
static void check_pool(const size_data *d, const array *out, int32_t first, int32_t n) {
    const size_t   each = pk_dtype_bytes(out->on.type), bytes = (size_t)d->s->stored * each;
    const uint8_t *expected[SLOTS] = { 0 };
    for (int32_t i = 0; i < n; i++)
        expected[d->host_slot[first + i]] =
            out->raw + at_of(out, i, d->s->outputs - d->s->stored) * each;
    for (int32_t k = 0; k < SLOTS; k++) {
        const uint8_t *got = d->pool.raw + at_of(&d->pool, k, 0) * each;
        size_t         c = 0;
        while (c < bytes && got[c] == (expected[k] ? expected[k][c] : 0xff)) c++;
        if (c < bytes)
            COMPLAIN("slot %d of the pool: column %d is %.9g, %s", k, (int)(c / each),
                     (double)number(&d->pool, k, (int32_t)(c / each)),
                     expected[k] ? "not what the product has" : "and should be untouched");
    }
    check_gaps(&d->pool, "pool");
}

static void check_size(size_data *d, const char *name) {
    float *want = malloc((size_t)d->s->outputs * sizeof *want);
    NAME_CASE("%s, %d rows", name, MOST_ROWS);
    linear_of_size(d, &d->all, 0, MOST_ROWS, true);
    for (int k = 0; k < COUNT(sampled_rows); k++) {
        expected_row(want, d, sampled_rows[k]);
        check_row(&d->all, sampled_rows[k], want, "linear");
    }
    if (d->s->stored) check_pool(d, &d->all, 0, MOST_ROWS);
    for (int k = 0; k < 2 * COUNT(row_counts); k++) {
        const int32_t n = row_counts[k / 2], first = k % 2 ? (MOST_ROWS - n) / 3 : 0;
        NAME_CASE("%s, rows %d to %d", name, first, first + n - 1);
        linear_of_size(d, &d->out, first, n, true);
        for (int32_t i = 0; i < n; i++)
            check_same(&d->out, i, &d->all, first + i, "another number of rows");
        if (d->s->stored) check_pool(d, &d->out, first, n);
        if (!d->s->norm || k % 2) continue;
        linear_of_size(d, &d->out, first, n, false);
        for (int32_t i = 0; i < n; i++)
            check_same(&d->out, i, &d->all, first + i, "product, then norm");
    }
    free(want);
}

static void test_linear_sizes(void **state) {
    (void)state;
    NEED_GPU();
    size_data *d = malloc(sizeof *d);
    for (int a = 0; a < ARITHMETICS; a++)
        for (int i = 0; i < COUNT(linear_sizes); i++)
            for (int t = 1; t < COUNT(types); t++) {
                char name[120];
                snprintf(name, sizeof name, "%s arithmetic, %s weights, linear %d -> %d%s%s",
                         type_names[arithmetics[a]], type_names[types[t]], linear_sizes[i].cols,
                         linear_sizes[i].outputs, linear_sizes[i].residual ? ", residual" : "",
                         linear_sizes[i].norm ? ", norm" : "");
                make_size(d, a, &linear_sizes[i], types[t]);
                check_size(d, name);
                free_size(d);
            }
    free(d);
    conclude();
}

/* ---- norm, embed, scatter ---- */

static void norm_on(int a, int32_t rows, int32_t cols, int32_t gap) {
    pk_backend    *b = &gpus[a];
    const pk_dtype t = arithmetics[a];
    NAME_CASE("%s, norm (%d, %d), gap %d", type_names[t], rows, cols, gap);
    reset_arena(a);
    seed = (uint64_t)(rows + cols);
    pk_tensor x = random_rows(rows, cols, t, 3), want = random_rows(rows, cols, PK_F32, 1);
    for (int32_t i = 0; i < rows; i++) /* a mean that is not 0 */
        for (int32_t c = 0; c < cols; c++)
            host_row(x, i)[c] = rounded(host_row(x, i)[c] + (float)(i % 3), t);
    matrix gain = random_plain(b, 1, cols), shift = random_plain(b, 1, cols);
    array  dx = array_of(a, x, gap, t), same = array_of(a, x, gap, t),
          out = blank_array(a, rows, cols, 2, t), alone = blank_array(a, rows, cols, 0, t);
    ref.norm(ref.self, want, x, &gain.wide, &shift.wide, 1e-5f);
    b->norm(b->self, out.on, dx.on, &gain.device, &shift.device, 1e-5f);
    b->norm(b->self, same.on, same.on, &gain.device, &shift.device, 1e-5f);
    for (int32_t i = 0; i < rows; i++)
        b->norm(b->self, rows_of(alone.on, i, 1), rows_of(dx.on, i, 1), &gain.device, &shift.device,
                1e-5f);
    get_array(&out), get_array(&same), get_array(&alone);
    check_rows(&out, want, "norm");
    check_gaps(&same, "in place");
    for (int32_t i = 0; i < rows; i++) {
        check_same(&same, i, &out, i, "in place");
        check_same(&alone, i, &out, i, "a row alone");
    }
    free(x.data), free(want.data), free_matrix(&gain), free_matrix(&shift);
    free(dx.raw), free(same.raw), free(out.raw), free(alone.raw);
}

static void test_norm(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++) {
        for (int i = 0; i < COUNT(norm_cases); i++)
            norm_on(a, norm_cases[i].rows, norm_cases[i].cols, 3);
        norm_on(a, 8, 512, 0), norm_on(a, 300, 1024, 0), norm_on(a, 4, 3000, 1);
    }
    conclude();
}

static void embed_on(int a, int32_t cols, pk_dtype type, bool positions) {
    enum { N = 70, VOCAB = 101, POSITIONS = 30 };
    pk_backend *b = &gpus[a];
    int32_t     token[N], pos[N];
    NAME_CASE("%s arithmetic, %s weights, embed %d columns%s", type_names[arithmetics[a]],
              type_names[type], cols, positions ? ", positions" : "");
    reset_arena(a);
    seed = (uint64_t)cols;
    matrix table = random_matrix(b, VOCAB, cols, type, NULL),
           position = random_plain(b, POSITIONS, cols);
    pk_tensor want = random_rows(N, cols, PK_F32, 1);
    array     out = blank_array(a, N, cols, 5, arithmetics[a]);
    for (int i = 0; i < N; i++) token[i] = i == 3 ? -1 : below(VOCAB), pos[i] = below(POSITIONS);
    ref.embed(ref.self, want, &table.wide, token, 22.6f, positions ? &position.wide : NULL, pos);
    b->embed(b->self, out.on, &table.device, upload_ints(a, token, N), 22.6f,
             positions ? &position.device : NULL, upload_ints(a, pos, N));
    get_array(&out);
    check_rows(&out, want, "embed");
    free(want.data), free(out.raw), free_matrix(&table), free_matrix(&position);
}

static void test_embed(void **state) {
    const int32_t cols[] = { 64, 257, 512, 1000 };
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (int t = 0; t < COUNT(types); t++)
            for (int c = 0; c < COUNT(cols); c++)
                for (int p = 0; p < 2; p++) embed_on(a, cols[c], types[t], p);
    conclude();
}

static void scatter_on(int a, int32_t cols, pk_dtype type) {
    enum { N = 90, POOL = 200 };
    pk_backend    *b = &gpus[a];
    const pk_dtype t = arithmetics[a];
    int32_t        slot[N], row[POOL];
    NAME_CASE("%s, scatter %d columns into a pool of %s", type_names[t], cols, type_names[type]);
    reset_arena(a);
    seed = (uint64_t)cols;
    pk_tensor x = random_rows(N, cols, t, 3);
    array     dx = array_of(a, x, 1, t), pool = blank_array(a, POOL, cols, 20, type);
    for (int k = 0; k < POOL; k++) row[k] = -1;
    for (int i = 0; i < N; i++) slot[i] = (i * 7 + 3) % POOL, row[slot[i]] = i;
    b->scatter(b->self, pool.on, dx.on, upload_ints(a, slot, N));
    get_array(&pool);
    for (int k = 0; k < POOL; k++)
        for (int32_t c = 0; c < cols; c++) {
            const float got = number(&pool, k, c), want = row[k] < 0 ? 0 : host_row(x, row[k])[c];
            if (row[k] < 0 ? isnan(got) : got == want) continue;
            COMPLAIN("slot %d column %d: %.9g is not %.9g", k, c, (double)got, (double)want);
            break;
        }
    check_gaps(&pool, "pool");
    free(x.data), free(dx.raw), free(pool.raw);
}

static void test_place(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++) {
        scatter_on(a, 301, arithmetics[a]), scatter_on(a, 301, PK_F32);
        scatter_on(a, 1024, arithmetics[a]);
    }
    conclude();
}

/* ---- attend ---- */

/* lists longer than a chunk, and more queries than fit the GPU at once, for every width with its
 * own kernel */
static const attend_case real_attends[] = {
    { 28, 8, 64, 28, 28, false, false, 0 }, { 8, 8, 64, 33, 1, true, false, 0 },
    { 120, 8, 64, 700, 1, true, true, 0 },  { 200, 4, 32, 600, 2, true, false, 0 },
    { 150, 4, 128, 300, 1, true, true, 0 }, { 20, 4, 64, 150, 2, true, false, 3 },
    { 9, 2, 32, 90, 1, false, true, 1 },    { 6, 2, 128, 70, 1, true, false, 5 },
    { 5, 2, 300, 40, 1, true, false, 0 },
};

typedef struct attend_data {
    const attend_case *c;
    pk_tensor          q, k, v;
    int32_t           *first, *count, *index, n_index; /* the host's */
} attend_data;

static attend_data make_attend(const attend_case *c, pk_dtype t) {
    attend_data   d = { .c = c };
    const int32_t cols = c->heads * c->width;
    seed = (uint64_t)(c->queries * 7 + c->keys);
    d.first = calloc((size_t)c->queries, 4), d.count = calloc((size_t)c->queries, 4);
    d.index = calloc((size_t)(c->queries + 1) * (size_t)c->keys, 4);
    d.q = random_rows(c->queries, cols, t, 5); /* choosy */
    d.k = random_rows(c->keys, cols, t, 1), d.v = random_rows(c->keys, cols, t, 1);
    for (int32_t i = 0; i < c->queries; i++) {
        if (i % c->shared) {
            d.first[i] = d.first[i - 1], d.count[i] = d.count[i - 1];
            continue;
        }
        d.count[i] = i == 2 ? 0 : i == 1 ? c->keys : 1 + below(c->keys);
        d.first[i] = c->indexed ? d.n_index : below(c->keys - d.count[i] + 1);
        for (int32_t j = 0; c->indexed && j < d.count[i]; j++)
            d.index[d.n_index++] = below(c->keys);
    }
    return d;
}

static void free_attend(attend_data *d) {
    free(d->q.data), free(d->k.data), free(d->v.data);
    free(d->first), free(d->count), free(d->index);
}

static pk_attention attention_on_device(int a, const attend_data *d) {
    const int32_t n = d->c->queries;
    return (pk_attention){ .heads = d->c->heads,
                           .first = upload_ints(a, d->first, n),
                           .count = upload_ints(a, d->count, n),
                           .index = d->c->indexed ? upload_ints(a, d->index, d->n_index) : NULL,
                           .weights_stride = d->c->keys };
}

/* all queries (with weights, where the case asks for them), each alone, all with other strides */
static void attend_of(int a, const attend_data *d, array out[3], array *weights) {
    pk_backend    *b = &gpus[a];
    const pk_dtype t = arithmetics[a];
    pk_attention   see = attention_on_device(a, d);
    const int32_t  other = d->c->gap ? 0 : 3;
    array          q[2], k[2], v[2];
    for (int g = 0; g < 2; g++) {
        const int32_t gap = g ? other : d->c->gap;
        q[g] = array_of(a, d->q, gap, t), k[g] = array_of(a, d->k, gap, t);
        v[g] = array_of(a, d->v, g ? other : d->c->gap + 8, t);
    }
    if (d->c->weights) see.weights = weights->on.data;
    b->attend(b->self, out[0].on, q[0].on, k[0].on, v[0].on, &see);
    see.weights = NULL;
    for (int32_t i = 0; i < d->c->queries; i++) {
        pk_attention one = see;
        one.first += i, one.count += i;
        b->attend(b->self, rows_of(out[1].on, i, 1), rows_of(q[0].on, i, 1), k[0].on, v[0].on,
                  &one);
    }
    b->attend(b->self, out[2].on, q[1].on, k[1].on, v[1].on, &see);
    settle(b);
    for (int g = 0; g < 2; g++) free(q[g].raw), free(k[g].raw), free(v[g].raw);
}

static void attend_on(int a, const attend_case *c) {
    const pk_dtype t = arithmetics[a];
    NAME_CASE("%s, attend: %d queries, %d heads of %d, %d keys, shared %d%s, gap %d", type_names[t],
              c->queries, c->heads, c->width, c->keys, c->shared, c->indexed ? ", index" : "",
              c->gap);
    reset_arena(a);
    attend_data d = make_attend(c, t);
    pk_tensor   want = random_rows(c->queries, d.q.cols, PK_F32, 1),
              want_weights = random_rows(c->queries, c->keys, PK_F32, 1);
    array        out[3], weights = blank_array(a, c->queries, c->keys, 0, PK_F32);
    pk_attention see = { c->heads,          d.first, d.count, c->indexed ? d.index : NULL,
                         want_weights.data, c->keys };
    for (int k = 0; k < 3; k++)
        out[k] = blank_array(a, c->queries, d.q.cols, k ? 0 : 4 * c->gap, t);
    ref.attend(ref.self, want, d.q, d.k, d.v, &see);
    attend_of(a, &d, out, &weights);
    for (int k = 0; k < 3; k++) get_array(&out[k]);
    get_array(&weights);
    check_rows(&out[0], want, "attend");
    if (c->weights) check_rows(&weights, want_weights, "attention weights");
    for (int32_t i = 0; i < c->queries; i++) {
        check_same(&out[1], i, &out[0], i, "a query alone");
        check_same(&out[2], i, &out[0], i, "other strides");
    }
    for (int k = 0; k < 3; k++) free(out[k].raw);
    free(want.data), free(want_weights.data), free(weights.raw);
    free_attend(&d);
}

static void test_attend(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++) {
        for (int i = 0; i < COUNT(attend_cases); i++) attend_on(a, &attend_cases[i]);
        for (int i = 0; i < COUNT(real_attends); i++) attend_on(a, &real_attends[i]);
    }
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed),        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_place),        cmocka_unit_test(test_attend),
        cmocka_unit_test(test_linear),       cmocka_unit_test(test_linear_norm),
        cmocka_unit_test(test_linear_sizes),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
