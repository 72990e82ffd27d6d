/* ops_test.c - the ops of the cpu backend against `ref`, and the law of exactness; attention and
 * the output layer have tests of their own (attend_test.c, answer_test.c).
 *
 * Mode same: each case on every instruction set of this machine with 1, 2 and 3 threads.
 *   I8 linear with a piecewise linear activation: equal bits, also with ref.
 *   Floats: within 2e-5 of the largest magnitude involved (sums in another order).
 * Mode law: bitwise: rows alone = rows in a batch; 1 thread = N threads; F16 = F32. */
#include "ops_help.h"

#include "base/memory.h"

static const pk_dtype types[] = { PK_F32, PK_F16, PK_I8 };
static const pk_after nothing;

/* ---- linear ---- */

typedef struct linear_data {
    const linear_case *c;
    pk_tensor          x, residual, expected; /* residual.data NULL when there is none */
    pk_weight          w, bias;
} linear_data;

static linear_data make_linear(const linear_case *c, pk_dtype type) {
    linear_data d = { .c = c };
    seed = (uint64_t)(c->rows * 131 + c->outputs * 17 + c->cols);
    d.x = random_tensor(c->rows, c->cols, c->gap);
    d.w = random_weight(c->outputs, c->cols, type);
    d.bias = random_vector(1, c->outputs);
    if (c->residual != NO_RESIDUAL) d.residual = random_tensor(c->rows, c->outputs, c->gap + 1);
    return d;
}

static void free_linear(linear_data *d) {
    free(d->x.data), free(d->residual.data), free(d->expected.data);
    free_weight(d->w), free_weight(d->bias);
}

/* rows [first, first + n) of the case; the result is a tensor of its own */
static pk_tensor run_linear(pk_backend *b, const linear_data *d, int32_t first, int32_t n) {
    pk_tensor x = d->x, residual = d->residual, out;
    x.data += (size_t)first * (size_t)x.stride;
    x.rows = residual.rows = n;
    if (residual.data) residual.data += (size_t)first * (size_t)residual.stride;
    if (d->c->residual == SAME_RESIDUAL)
        out = residual = copy_tensor(residual);
    else
        out = random_tensor(n, d->c->outputs, d->c->gap);
    pk_tensor      before = copy_tensor(out);
    const pk_after after = { .bias = d->c->bias ? &d->bias : NULL,
                             .act = d->c->act,
                             .residual = residual };
    b->linear(b->self, out, x, &d->w, &after);
    before.data += out.cols, out.data += out.cols; /* what lies between rows stays */
    pk_tensor gap = out, old = before;
    gap.cols = old.cols = out.stride - out.cols;
    gap.rows = old.rows = n - 1;
    assert_close(gap, old, 0, "between rows");
    out.data -= out.cols, free(before.data - out.cols);
    return out;
}

static void linear_like_ref(pk_backend *b, void *context) {
    const linear_data *d = context;
    const bool exact = d->w.type == PK_I8 && (d->c->act == PK_LINEAR || d->c->act == PK_RELU);
    pk_tensor  out = run_linear(b, d, 0, d->c->rows);
    assert_close(out, d->expected, exact ? 0 : 2e-6f * (float)d->c->cols + 2e-6f, "linear");
    free(out.data);
}

static void test_linear_same(void **state) {
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    for (int i = 0; i < COUNT(linear_cases); i++)
        for (int t = 0; t < COUNT(types); t++) {
            linear_data d = make_linear(&linear_cases[i], types[t]);
            d.expected = run_linear(&ref, &d, 0, d.c->rows);
            on_every_backend(linear_like_ref, &d);
            free_linear(&d);
        }
    pk_backend_close(&ref);
}

/* the law of exactness: a row has the same bits alone and among others */
static void linear_alone(pk_backend *b, void *context) {
    linear_data *d = context;
    pk_tensor    all = run_linear(b, d, 0, d->c->rows);
    for (int32_t i = 0; i < d->c->rows; i++) {
        pk_tensor one = run_linear(b, d, i, 1), row = all;
        row.data += (size_t)i * (size_t)all.stride;
        row.rows = 1;
        assert_close(one, row, 0, "a row alone");
        free(one.data);
    }
    free(all.data);
}

static void test_linear_law(void **state) {
    (void)state;
    for (int i = 0; i < COUNT(linear_cases); i++)
        for (int t = 0; t < COUNT(types); t++) {
            linear_data d = make_linear(&linear_cases[i], types[t]);
            on_every_backend(linear_alone, &d);
            free_linear(&d);
        }
}

/* same numbers with any number of threads, and from 16-bit storage */
static void test_linear_threads_and_f16(void **state) {
    (void)state;
    for (int32_t k = 0; pk_isa_available(k); k++) {
        pk_backend one = open_backend(pk_isa_available(k)->name, 1);
        pk_backend many = open_backend(pk_isa_available(k)->name, 3);
        for (int i = 0; i < COUNT(linear_cases); i++) {
            linear_data wide = make_linear(&linear_cases[i], PK_F32),
                        half = make_linear(&linear_cases[i], PK_F16);
            linear_data bytes = make_linear(&linear_cases[i], PK_I8);
            pk_tensor   a = run_linear(&one, &wide, 0, wide.c->rows),
                      b = run_linear(&many, &half, 0, wide.c->rows);
            pk_tensor c = run_linear(&one, &bytes, 0, wide.c->rows),
                      e = run_linear(&many, &bytes, 0, wide.c->rows);
            assert_close(a, b, 0, "F16 on three threads");
            assert_close(c, e, 0, "I8 on three threads");
            free(a.data), free(b.data), free(c.data), free(e.data);
            free_linear(&wide), free_linear(&half), free_linear(&bytes);
        }
        pk_backend_close(&one), pk_backend_close(&many);
    }
}

/* a row of zeros; activations against their formulas */
static void zeros_and_activations(pk_backend *b, void *context) {
    (void)context;
    enum { N = 64 };
    float     x[N] = { 0 }, out[N], line[N];
    pk_weight w = random_weight(N, N, PK_I8);
    b->linear(b->self, (pk_tensor){ out, 1, N, N }, (pk_tensor){ x, 1, N, N }, &w, &nothing);
    for (int i = 0; i < N; i++) assert_true(out[i] == 0); /* a row of zeros has no scale */
    free_weight(w);
    /* bias alone goes through the activation: a sweep from -12 to 12 */
    for (int i = 0; i < N; i++) line[i] = -12 + 24 * (float)i / (N - 1);
    pk_weight none = random_weight(N, N, PK_F32), bias = { line, NULL, 1, N, PK_F32, true };
    for (pk_act act = PK_RELU; act <= PK_SWISH; act++) {
        const pk_after after = { .bias = &bias, .act = act };
        b->linear(b->self, (pk_tensor){ out, 1, N, N }, (pk_tensor){ x, 1, N, N }, &none, &after);
        for (int i = 0; i < N; i++) {
            const double v = (double)line[i], relu = v > 0 ? v : 0;
            const double gelu = 0.5 * v * (1 + erf(v * M_SQRT1_2)), swish = v / (1 + exp(-v));
            const double want = act == PK_RELU ? relu : act == PK_GELU ? gelu : swish;
            assert_true(fabs((double)out[i] - want) < 1e-6);
        }
    }
    free_weight(none);
}

static void test_linear_special(void **state) {
    (void)state;
    on_every_backend(zeros_and_activations, NULL);
}

/* What follows a product: the norm and the placing are those of their own ops. Few rows are shared
 * out by outputs, many by rows; with the most there are two blocks of them. */
static void rows_finished(pk_backend *b, void *context) {
    enum { MOST = 200, OUT = 48, FROM = 16, SLOTS = 211 };
    const int32_t     rows = *(const int32_t *)context;
    const linear_case c = { rows, OUT, 601, PK_RELU, OTHER_RESIDUAL, true, 2 };
    int32_t           slot[MOST];
    for (int32_t i = 0; i < rows; i++) slot[i] = 7 * (i + 1) % SLOTS; /* each of them once */
    linear_data d = make_linear(&c, PK_F32);
    pk_weight   gain = random_vector(1, OUT), shift = random_vector(1, OUT);
    pk_tensor   plain = run_linear(b, &d, 0, rows), out = random_tensor(rows, OUT, 1);
    pk_tensor   pool = random_tensor(SLOTS, OUT - FROM, 0), expected = copy_tensor(pool);
    pk_after    after = { .bias = &d.bias,
                          .act = PK_RELU,
                          .residual = d.residual,
                          .pool = pool,
                          .slot = slot,
                          .from = FROM };
    b->linear(b->self, out, d.x, &d.w, &after);
    assert_close(out, plain, 0, "placing changes nothing");
    pk_tensor stored = plain;
    stored.data += FROM, stored.cols -= FROM;
    b->scatter(b->self, expected, stored, slot);
    assert_close(pool, expected, 0, "stored in the pool");
    after.gain = &gain, after.shift = &shift, after.epsilon = 1e-5f;
    b->linear(b->self, out, d.x, &d.w, &after);
    b->norm(b->self, plain, plain, &gain, &shift, 1e-5f);
    assert_close(out, plain, 0, "normalised");
    free(plain.data), free(out.data), free(pool.data), free(expected.data);
    free_weight(gain), free_weight(shift), free_linear(&d);
}

static void test_linear_after(void **state) {
    static int32_t rows[] = { 5, 53, 200 };
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    for (int i = 0; i < COUNT(rows); i++) {
        rows_finished(&ref, &rows[i]);
        on_every_backend(rows_finished, &rows[i]);
    }
    pk_backend_close(&ref);
}

/* three rows: one goes on, one finds the end, one has used its steps up; the fourth is finished */
static void test_advance(void **state) {
    (void)state;
    pk_backend      b = open_backend("generic", 1);
    int32_t         token[] = { 5, 6, 7, 8 }, pos[] = { 0, 3, 1, 2 }, slot[] = { 10, 20, 30, 40 };
    int32_t         count[] = { 1, 1, 2, 1 }, left[] = { 3, 2, 1, 0 }, found_n[] = { 0, 1, 0, 2 };
    const int32_t   first[] = { 0, 3, 5, 8 }, list[] = { 10, 11, 12, 20, 21, 29, 30, 31, 40 };
    const pk_scored top[] = { { 9, 2.5f }, { -7, 0 }, { 0, 1.5f }, { -7, 0 },
                              { 4, 0.5f }, { -7, 0 }, { 3, 9.0f }, { -7, 0 } };
    const float     log_sum[] = { 0.5f, 0.25f, 1, 7 };
    pk_scored       found[4 * 3] = { { 0 } };
    int32_t         live = -1;
    /* question, partner, stride, where its tokens begin, log-probabilities */
    const pk_follower follower[] = {
        { 0, 0, 3, 0, 1 }, { 1, 0, 1, 3, 1 }, { 2, 0, 1, 6, 1 }, { 0 }
    };
    b.advance(b.self, &(pk_following){ .n = 4,
                                       .token = token,
                                       .pos = pos,
                                       .slot = slot,
                                       .count = count,
                                       .first = first,
                                       .index = list,
                                       .follower = follower,
                                       .left = left,
                                       .top = top,
                                       .top_stride = 2,
                                       .log_sum = log_sum,
                                       .n_found = found_n,
                                       .found = found,
                                       .live = &live });
    assert_int_equal(live, 1);
    const int32_t tokens[] = { 9, 6, 7, 8 }, positions[] = { 3, 3, 1, 2 },
                  slots[] = { 11, 20, 30, 40 };
    const int32_t counts[] = { 2, 1, 2, 1 }, lefts[] = { 2, 0, 0, 0 }, founds[] = { 1, 2, 1, 2 };
    assert_memory_equal(token, tokens, sizeof token);
    assert_memory_equal(pos, positions, sizeof pos);
    assert_memory_equal(slot, slots, sizeof slot);
    assert_memory_equal(count, counts, sizeof count);
    assert_memory_equal(left, lefts, sizeof left);
    assert_memory_equal(found_n, founds, sizeof found_n);
    assert_true(found[0].token == 9 && found[0].score == 2.0f);
    assert_true(found[4].token == 0 && found[4].score == 1.25f); /* behind the one it had */
    assert_true(found[6].token == 4 && found[6].score == -0.5f);
    pk_backend_close(&b);
}

/* one row that does not follow and has no question; a pair that goes on; a pair of which one finds
 * the end */
static void test_advance_pairs(void **state) {
    (void)state;
    pk_backend        b = open_backend("generic", 1);
    int32_t           token[] = { 5, 6, 7, 8, 9 }, pos[] = { 4, 0, 1, 6, 3 };
    int32_t           slot[] = { 50, 11, 12, 21, 22 }, count[] = { 1, 3, 3, 2, 2 };
    int32_t           left[] = { 0, 4, 4, 4, 4 }, n_found[5] = { 0 }, live = -1;
    const int32_t     first[] = { 9, 0, 0, 5, 5 };
    const int32_t     list[] = { 10, 11, 12, 13, 14, 21, 22, 23, 24, 50 };
    const pk_scored   top[] = { { 31, 3 }, { 32, 4 }, { 33, 5 }, { 0, 6 } };
    const float       log_sum[] = { 1, NAN, 1, 1 };
    pk_scored         found[4] = { { 0 } };
    const pk_follower follower[] = {
        { 0 }, { 0, 1, 2, 0, 1 }, { 1, -1, 4, 1, 0 }, { 2, 1, 2, 2, 1 }, { 3, -1, 2, 3, 1 }
    };
    b.advance(b.self, &(pk_following){ .n = 5,
                                       .token = token,
                                       .pos = pos,
                                       .slot = slot,
                                       .count = count,
                                       .first = first,
                                       .index = list,
                                       .follower = follower,
                                       .left = left,
                                       .top = top,
                                       .top_stride = 1,
                                       .log_sum = log_sum,
                                       .n_found = n_found,
                                       .found = found,
                                       .live = &live });
    assert_int_equal(live, 2);
    assert_memory_equal(token, ((int32_t[]){ 5, 31, 32, 8, 9 }), sizeof token);
    assert_memory_equal(pos, ((int32_t[]){ 4, 2, 5, 6, 3 }), sizeof pos);
    assert_memory_equal(slot, ((int32_t[]){ 50, 13, 14, 21, 22 }), sizeof slot);
    assert_memory_equal(count, ((int32_t[]){ 1, 5, 5, 2, 2 }), sizeof count);
    assert_memory_equal(left, ((int32_t[]){ 0, 3, 3, 0, 0 }), sizeof left);
    assert_memory_equal(n_found, ((int32_t[]){ 0, 1, 1, 1, 1 }), sizeof n_found);
    const pk_scored want[] = { { 31, 2 }, { 32, 4 }, { 33, 4 }, { 0, 5 } };
    assert_memory_equal(found, want, sizeof found);
    pk_backend_close(&b);
}

static void count_down(void *context) { --*(int32_t *)context; }

static void test_repeat(void **state) {
    (void)state;
    pk_backend b = open_backend("generic", 1);
    int32_t    live = 3;
    b.repeat(b.self, 1, 10, &live, count_down, &live);
    assert_int_equal(live, 0);
    live = 10;
    b.repeat(b.self, 1, 4, &live, count_down, &live);
    assert_int_equal(live, 6);
    b.repeat(b.self, 1, 4, NULL, count_down, &live); /* once */
    assert_int_equal(live, 5);
    assert_int_equal(b.padded_rows(b.self, 13), 13);
    pk_backend_close(&b);
}

/* memory of the host: a mirror is what it mirrors, a weight stays where it is */
static void test_memory(void **state) {
    (void)state;
    static const char *const names[] = { "ref", "cpu" };
    for (size_t i = 0; i < COUNT(names); i++) {
        pk_backend      b;
        const pk_weight host = { .data = names, .rows = 1, .cols = 2, .plain = true };
        pk_weight       own;
        void           *block = NULL, *here = NULL;
        int32_t         out[2] = { 0 };
        ASSERT_OK(pk_backend_open(names[i], 1, PK_F32, &b));
        const int64_t alive = pk_memory_alive(), count = pk_memory_count();
        assert_true(!b.remote && !b.dry_run && b.encode > 0);
        ASSERT_OK(b.take(b.self, sizeof out, &block));
        ASSERT_OK(b.mirror(b.self, block, sizeof out, &here));
        assert_ptr_equal(here, block);
        assert_memory_equal(here, out, sizeof out);
        ((int32_t *)here)[1] = 7;
        b.put(b.self, block, here, sizeof out);
        b.get(b.self, out, block, sizeof out);
        assert_true(out[0] == 0 && out[1] == 7);
        ASSERT_OK(b.adopt(b.self, &host, &own));
        assert_ptr_equal(own.data, host.data);
        b.give(b.self, block);
        b.give(b.self, NULL);
        assert_int_equal(pk_memory_alive(), alive);
        assert_int_equal(pk_memory_count(), count + 1);
        pk_backend_close(&b);
    }
}

/* ---- norm, embed, scatter ---- */

typedef struct norm_data {
    pk_tensor x, expected;
    pk_weight gain, bias;
} norm_data;

/* against ref, in place, and row by row */
static void norm_like_ref(pk_backend *b, void *context) {
    norm_data *d = context;
    pk_tensor  out = random_tensor(d->x.rows, d->x.cols, 2), same = copy_tensor(d->x);
    b->norm(b->self, out, d->x, &d->gain, &d->bias, 1e-5f);
    assert_close(out, d->expected, 5e-6f, "norm");
    b->norm(b->self, same, same, &d->gain, &d->bias, 1e-5f); /* in place */
    assert_close(same, out, 0, "norm in place");
    for (int32_t i = 0; i < d->x.rows; i++) {
        pk_tensor one = d->x, row = out;
        one.data += (size_t)i * (size_t)one.stride, row.data += (size_t)i * (size_t)row.stride;
        one.rows = row.rows = 1;
        pk_tensor alone = random_tensor(1, d->x.cols, 0);
        b->norm(b->self, alone, one, &d->gain, &d->bias, 1e-5f);
        assert_close(alone, row, 0, "a norm alone");
        free(alone.data);
    }
    free(out.data), free(same.data);
}

static void test_norm(void **state) {
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    for (int i = 0; i < COUNT(norm_cases); i++) {
        const int32_t rows = norm_cases[i].rows, cols = norm_cases[i].cols;
        norm_data     d = { random_tensor(rows, cols, 3), random_tensor(rows, cols, 0),
                            random_vector(1, cols), random_vector(1, cols) };
        ref.norm(ref.self, d.expected, d.x, &d.gain, &d.bias, 1e-5f);
        on_every_backend(norm_like_ref, &d);
        free(d.x.data), free(d.expected.data), free_weight(d.gain), free_weight(d.bias);
    }
    pk_backend_close(&ref);
}

typedef struct embed_data {
    pk_weight table, position;
    int32_t  *token, *pos;
    pk_tensor expected;
    bool      positions;
} embed_data;

static void embed_like_ref(pk_backend *b, void *context) {
    embed_data *d = context;
    pk_tensor   out = random_tensor(d->expected.rows, d->expected.cols, 5);
    b->embed(b->self, out, &d->table, d->token, 22.6f, d->positions ? &d->position : NULL, d->pos);
    assert_close(out, d->expected, 0, "embed");
    free(out.data);
}

static void test_embed(void **state) {
    (void)state;
    enum { N = 70, VOCAB = 101, POSITIONS = 30 };
    int32_t    token[N], pos[N];
    pk_backend ref = open_backend(NULL, 1);
    for (int t = 0; t < 2 * COUNT(types); t++) {
        const int32_t cols = t % 2 ? 257 : 64;
        embed_data    d = { random_weight(VOCAB, cols, types[t / 2]),
                            random_vector(POSITIONS, cols),
                            token,
                            pos,
                            random_tensor(N, cols, 0),
                            t % 3 != 0 };
        for (int i = 0; i < N; i++)
            token[i] = i == 3 ? -1 : below(VOCAB), pos[i] = below(POSITIONS);
        ref.embed(ref.self, d.expected, &d.table, token, 22.6f, d.positions ? &d.position : NULL,
                  pos);
        on_every_backend(embed_like_ref, &d);
        free(d.expected.data), free_weight(d.table), free_weight(d.position);
    }
    pk_backend_close(&ref);
}

static void place_everywhere(pk_backend *b, void *context) {
    enum { N = 90, SLOTS = 200, COLS = 300 };
    int32_t   slot[N];
    pk_tensor pool = random_tensor(SLOTS, COLS, 20), before = copy_tensor(pool),
              rows = random_tensor(N, COLS, 1);
    (void)context;
    for (int i = 0; i < N; i++) slot[i] = (i * 7 + 3) % SLOTS;
    b->scatter(b->self, pool, rows, slot);
    for (int i = 0; i < N; i++) {
        memcpy(before.data + slot[i] * before.stride, rows.data + i * rows.stride,
               COLS * sizeof(float));
    }
    assert_memory_equal(pool.data, before.data, SLOTS * (COLS + 20) * sizeof(float));
    free(pool.data), free(before.data), free(rows.data);
}

static void test_place(void **state) {
    (void)state;
    on_every_backend(place_everywhere, NULL);
    pk_backend ref = open_backend(NULL, 1);
    place_everywhere(&ref, NULL);
    pk_backend_close(&ref);
}

/* ---- limits ---- */

static void beyond_limits(pk_backend *b, void *context) {
    const pk_limits little = { 2, 16, 4, 1, 1, 32 };
    float           x[512] = { 1 }, y[512];
    const pk_tensor in = { x, 3, 16, 16 }, out = { y, 3, 16, 16 };
    pk_weight       w = random_weight(16, 16, PK_F32);
    int32_t         first[3] = { 0 }, count[3] = { 5, 5, 5 };
    pk_attention    see = { 1, first, count, NULL, NULL, 0 };
    pk_question     question[2] = { { .top_k = 1 }, { .top_k = 1 } };
    pk_scored       top[2];
    pk_answering    a = { .n = 2, .question = question, .top_stride = 1, .top = top };
    (void)context;
    assert_int_equal(b->reserve(b->self, &little), PK_OK);
    b->linear(b->self, out, in, &w, &nothing);
    b->attend(b->self, out, in, in, in, &see); /* does nothing: the failure sticks */
    assert_int_equal(b->status(b->self), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "linear"));
    assert_int_equal(b->status(b->self), PK_OK);
    b->attend(b->self, out, in, in, in, &see);
    assert_int_equal(b->status(b->self), PK_ARGUMENT);
    b->answer(b->self, in, &w, NULL, &a);
    assert_int_equal(b->status(b->self), PK_ARGUMENT);
    free_weight(w);
}

static void test_limits(void **state) {
    (void)state;
    on_every_backend(beyond_limits, NULL);
    pk_backend b = open_backend("generic", 1);
    assert_int_equal(b.reserve(b.self, &(pk_limits){ .rows = -1 }), PK_ARGUMENT);
    pk_backend_close(&b);
}

static void no_allocation(pk_backend *b, void *context) {
    linear_data  *d = context;
    pk_tensor     out = random_tensor(d->c->rows, d->c->outputs, 0);
    const int64_t before = pk_memory_count();
    b->linear(b->self, out, d->x, &d->w, &nothing);
    assert_int_equal(pk_memory_count(), before);
    free(out.data);
}

static void test_no_allocation(void **state) {
    (void)state;
    linear_data d = make_linear(&linear_cases[COUNT(linear_cases) - 2], PK_I8);
    on_every_backend(no_allocation, &d);
    free_linear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_same),
        cmocka_unit_test(test_linear_law),
        cmocka_unit_test(test_linear_threads_and_f16),
        cmocka_unit_test(test_linear_special),
        cmocka_unit_test(test_linear_after),
        cmocka_unit_test(test_advance),
        cmocka_unit_test(test_advance_pairs),
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
