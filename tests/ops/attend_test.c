/* attend_test.c - attention of the cpu backend against `ref`, and pools of 16-bit numbers.
 *
 * Floats: within 2e-5 of ref's. Bitwise: a query alone = among others; 16-bit keys and values = the
 * same numbers in 32 bits. */
#include "ops_help.h"

/* ---- attend ---- */

typedef struct attend_data {
    const attend_case *c;
    pk_tensor          q, k, v, expected, weights;
    pk_attention       see;
} attend_data;

static attend_data make_attend(const attend_case *c) {
    attend_data   d = { .c = c };
    const int32_t cols = c->heads * c->width;
    int32_t      *first = calloc((size_t)c->queries, 4), *count = calloc((size_t)c->queries, 4);
    int32_t      *index = c->indexed ? calloc((size_t)(c->queries + 1) * (size_t)c->keys, 4) : NULL;
    seed = (uint64_t)(c->queries * 7 + c->keys);
    d.q = random_tensor(c->queries, cols, c->gap);
    d.k = random_tensor(c->keys, cols, c->gap), d.v = random_tensor(c->keys, cols, c->gap + 4);
    for (int i = 0; i < c->queries * (cols + c->gap); i++) d.q.data[i] *= 5; /* make it choosy */
    for (int32_t i = 0, used = 0; i < c->queries; i++) {
        if (i % c->shared) {
            first[i] = first[i - 1], count[i] = count[i - 1];
            continue;
        }
        count[i] = i == 2 ? 0 : 1 + below(c->keys);
        first[i] = c->indexed ? used : below(c->keys - count[i] + 1);
        for (int32_t j = 0; c->indexed && j < count[i]; j++) index[used++] = below(c->keys);
    }
    if (c->weights) d.weights = random_tensor(c->queries, c->keys, 0);
    d.see = (pk_attention){ c->heads, first, count, index, d.weights.data, c->keys };
    d.expected = random_tensor(c->queries, cols, 0);
    return d;
}

static void free_attend(attend_data *d) {
    free(d->q.data), free(d->k.data), free(d->v.data), free(d->expected.data),
        free(d->weights.data);
    free((void *)(uintptr_t)d->see.first), free((void *)(uintptr_t)d->see.count);
    free((void *)(uintptr_t)d->see.index);
}

/* one query by itself gives the bits it has among the others */
static void attend_alone(pk_backend *b, const attend_data *d, pk_tensor all) {
    pk_tensor one = random_tensor(1, all.cols, 0);
    for (int32_t i = 0; i < d->c->queries; i++) {
        pk_attention see = d->see;
        pk_tensor    q = d->q, row = all;
        see.first += i, see.count += i, see.weights = NULL;
        q.data += (size_t)i * (size_t)q.stride, row.data += (size_t)i * (size_t)row.stride;
        q.rows = row.rows = 1;
        b->attend(b->self, one, q, d->k, d->v, &see);
        assert_close(one, row, 0, "a query alone");
    }
    free(one.data);
}

static void attend_like_ref(pk_backend *b, void *context) {
    const attend_data *d = context;
    pk_attention       see = d->see;
    pk_tensor          out = random_tensor(d->c->queries, d->q.cols, 4), weights = d->weights;
    if (weights.data)
        weights = random_tensor(d->c->queries, d->c->keys, 0), see.weights = weights.data;
    b->attend(b->self, out, d->q, d->k, d->v, &see);
    assert_close(out, d->expected, 2e-5f, "attend");
    if (weights.data) assert_close(weights, d->weights, 1e-5f, "attention weights");
    attend_alone(b, d, out);
    if (weights.data) free(weights.data);
    free(out.data);
}

static void test_attend(void **state) {
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    for (int i = 0; i < COUNT(attend_cases); i++) {
        attend_data d = make_attend(&attend_cases[i]);
        ref.attend(ref.self, d.expected, d.q, d.k, d.v, &d.see);
        on_every_backend(attend_like_ref, &d);
        free_attend(&d);
    }
    pk_backend_close(&ref);
}

/* ---- pools of 16-bit numbers ---- */

/* the same rows rounded to 16 bits; `wide` also gets the rounded values */
static pk_tensor halves_of(pk_tensor wide) {
    const size_t n = (size_t)wide.rows * (size_t)wide.stride;
    uint16_t    *half = malloc(n * sizeof *half);
    for (size_t i = 0; i < n; i++) {
        half[i] = pk_f32_to_f16(wide.data[i]);
        wide.data[i] = pk_f16_to_f32(half[i]);
    }
    wide.data = (float *)(void *)half;
    wide.type = PK_F16;
    return wide;
}

/* 16-bit keys and values give the bits of the same numbers in 32 bits */
static void attend_halves(pk_backend *b, void *context) {
    const attend_data *d = context;
    pk_attention       see = d->see;
    pk_tensor       wide = random_tensor(d->c->queries, d->q.cols, 0), narrow = copy_tensor(wide);
    const pk_tensor k = halves_of(d->k), v = halves_of(d->v);
    see.weights = NULL;
    b->attend(b->self, wide, d->q, d->k, d->v, &see);
    b->attend(b->self, narrow, d->q, k, v, &see);
    assert_close(narrow, wide, 0, "16-bit keys");
    free(wide.data), free(narrow.data), free(k.data), free(v.data);
}

static void test_attend_halves(void **state) {
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    for (int i = 0; i < COUNT(attend_cases); i++) {
        attend_data d = make_attend(&attend_cases[i]);
        on_every_backend(attend_halves, &d);
        attend_halves(&ref, &d);
        free_attend(&d);
    }
    pk_backend_close(&ref);
}

/* every row lands in its slot, rounded as pk_f32_to_f16 rounds; nothing else changes */
static void scatter_halves(pk_backend *b, void *context) {
    enum { N = 90, SLOTS = 200, COLS = 301, STRIDE = 320 };
    uint16_t *pool = malloc(SLOTS * STRIDE * sizeof *pool),
             *expected = malloc(SLOTS * STRIDE * sizeof *pool);
    pk_tensor rows = random_tensor(N, COLS, 1);
    int32_t   slot[N];
    (void)context;
    for (int i = 0; i < N * (COLS + 1); i++) rows.data[i] *= i % 5 ? 3 : i % 3 ? 1e-6f : 1e6f;
    memset(pool, 0x11, SLOTS * STRIDE * sizeof *pool);
    memcpy(expected, pool, SLOTS * STRIDE * sizeof *pool);
    for (int i = 0; i < N; i++) {
        slot[i] = (i * 7 + 3) % SLOTS;
        for (int c = 0; c < COLS; c++)
            expected[slot[i] * STRIDE + c] = pk_f32_to_f16(rows.data[i * rows.stride + c]);
    }
    b->scatter(b->self, (pk_tensor){ (float *)(void *)pool, SLOTS, COLS, STRIDE, PK_F16 }, rows,
               slot);
    assert_memory_equal(pool, expected, SLOTS * STRIDE * sizeof *pool);
    free(pool), free(expected), free(rows.data);
}

static void test_scatter_halves(void **state) {
    (void)state;
    on_every_backend(scatter_halves, NULL);
    pk_backend ref = open_backend(NULL, 1);
    scatter_halves(&ref, NULL);
    pk_backend_close(&ref);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attend),
        cmocka_unit_test(test_attend_halves),
        cmocka_unit_test(test_scatter_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
