/* isa_test.c - what has the same bits on which instruction sets, which is what ARCHITECTURE.md
 * promises; ops_test.c has the laws of each by itself.
 *
 * On all of them, `ref` included: embeddings; I8 products with bias, residual and a linear or RELU
 * activation; the best tokens and the logits of an I8 output layer. On avx2 and avx512 besides:
 * everything but attention, whose sums over a head are folded in another order. */
#include "ops_help.h"

enum { ROWS = 20, COLS = 333, OUTPUTS = 301, VOCAB = 1000, TOP = 5 };

static pk_tensor output(void) { return random_tensor(ROWS, OUTPUTS, 0); }

static bool available(const char *name) {
    const pk_cpu_kernels *kernels;
    return pk_isa_choose(name, &kernels) == PK_OK;
}

/* ---- what is compared ---- */

typedef struct trial {
    pk_dtype type;
    pk_act   act;
} trial;

static pk_tensor linear(pk_backend *b, trial how) {
    seed = 7;
    pk_tensor      x = random_tensor(ROWS, COLS, 1), residual = output(), out = output();
    pk_weight      w = random_weight(OUTPUTS, COLS, how.type), bias = random_vector(1, OUTPUTS);
    const pk_after after = { .bias = &bias, .act = how.act, .residual = residual };
    b->linear(b->self, out, x, &w, &after);
    free(x.data), free(residual.data), free_weight(w), free_weight(bias);
    return out;
}

static pk_tensor norm(pk_backend *b) {
    seed = 11;
    pk_tensor x = random_tensor(ROWS, OUTPUTS, 2), out = output();
    pk_weight gain = random_vector(1, OUTPUTS), shift = random_vector(1, OUTPUTS);
    b->norm(b->self, out, x, &gain, &shift, 1e-5f);
    free(x.data), free_weight(gain), free_weight(shift);
    return out;
}

/* the best tokens and their logits as one row of numbers a question, the log-sum behind them */
static pk_tensor answer(pk_backend *b, pk_dtype type) {
    pk_question  question[ROWS];
    pk_scored    top[ROWS * TOP];
    float        log_sum[ROWS];
    pk_answering a = { .n = ROWS,
                       .most_top_k = TOP,
                       .any_log_sum = true,
                       .question = question,
                       .top_stride = TOP,
                       .top = top,
                       .log_sum = log_sum };
    seed = 13;
    pk_tensor x = random_tensor(ROWS, COLS, 0), out = random_tensor(ROWS, 2 * TOP + 1, 0);
    pk_weight table = random_weight(VOCAB, COLS, type), bias = random_vector(1, VOCAB);
    for (int32_t i = 0; i < ROWS; i++)
        question[i] = (pk_question){ .row = i, .top_k = TOP, .log_sum = true };
    b->answer(b->self, x, &table, &bias, &a);
    for (int32_t i = 0; i < ROWS; i++) {
        float *row = out.data + i * out.stride;
        for (int32_t k = 0; k < TOP; k++) {
            row[2 * k] = (float)top[i * TOP + k].token;
            row[2 * k + 1] = top[i * TOP + k].score;
        }
        row[2 * TOP] = log_sum[i];
    }
    free(x.data), free_weight(table), free_weight(bias);
    return out;
}

static void assert_same(pk_tensor a, pk_tensor b, const char *what) {
    assert_close(a, b, 0, what);
    free(b.data);
}

/* ---- the promises ---- */

static void same_as_ref(pk_backend *b, void *context) {
    static const trial exact[] = { { PK_I8, PK_LINEAR }, { PK_I8, PK_RELU } };
    pk_backend        *ref = context;
    for (int i = 0; i < COUNT(exact); i++) {
        pk_tensor expected = linear(ref, exact[i]);
        assert_same(expected, linear(b, exact[i]), "I8 product");
        free(expected.data);
    }
    pk_tensor expected = answer(ref, PK_I8), found = answer(b, PK_I8);
    expected.cols = found.cols = 2 * TOP; /* the log-sum is a sum of floats */
    assert_same(expected, found, "I8 answers");
    free(expected.data);
}

static void test_i8_everywhere(void **state) {
    (void)state;
    pk_backend ref = open_backend(NULL, 1);
    on_every_backend(same_as_ref, &ref);
    pk_backend_close(&ref);
}

static void test_avx2_and_avx512(void **state) {
    (void)state;
    if (!available("avx2") || !available("avx512")) skip();
    pk_backend a = open_backend("avx2", 1), b = open_backend("avx512", 1);
    for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
        for (pk_act act = PK_LINEAR; act <= PK_SWISH; act++) {
            pk_tensor one = linear(&a, (trial){ type, act });
            assert_same(one, linear(&b, (trial){ type, act }), "a product");
            free(one.data);
        }
        pk_tensor one = answer(&a, type);
        assert_same(one, answer(&b, type), "answers");
        free(one.data);
    }
    pk_tensor one = norm(&a);
    assert_same(one, norm(&b), "a norm");
    free(one.data);
    pk_backend_close(&a), pk_backend_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_i8_everywhere),
        cmocka_unit_test(test_avx2_and_avx512),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
