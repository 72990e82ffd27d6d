/* edges_test.c - the edges of lattices on the cpu backend: logits with the bits of answer(), sums
 * like those of `ref`, and the law: a position's scores do not depend on other positions or on
 * threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "tensor/panel.h"

enum { ROWS = 90, MOST_COLS = 300, MOST_TOKENS = 70, BLOCKS = 5, SCORES = ROWS * MOST_TOKENS };
static const pk_limits limits = { ROWS, MOST_COLS, 8, ROWS, 1, 1000, MOST_TOKENS };

typedef struct setting {
    int32_t       cols, n_tokens;
    float         hidden[ROWS * MOST_COLS], bias[1000], sums[ROWS];
    pk_weight     table, bias_weight;
    pk_edge_block block[BLOCKS];
    int32_t       tokens[BLOCKS * MOST_TOKENS];
} setting;

static uint64_t seed;

static float uniform(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}
static int32_t below(int32_t n) { return (int32_t)((uniform() + 1) * 0.5f * (float)n) % n; }

/* blocks of any sizes: one row, one token, more than a panel, none */
static void make_blocks(setting *s, int32_t vocab) {
    static const int32_t rows[BLOCKS] = { 1, 40, 0, 33, 16 };
    static const int32_t tokens[BLOCKS] = { MOST_TOKENS, 17, 5, 64, 1 };
    int32_t              row = 0, score = 0;
    for (int b = 0; b < BLOCKS; b++) {
        s->block[b] = (pk_edge_block){ row, rows[b], s->n_tokens, tokens[b], score };
        for (int32_t i = 0; i < tokens[b]; i++) s->tokens[s->n_tokens++] = below(vocab);
        row += rows[b];
        score += rows[b] * tokens[b];
    }
}

static setting *make(int32_t vocab, int32_t cols, pk_dtype type) {
    setting *s = calloc(1, sizeof *s);
    seed = (uint64_t)(vocab + cols);
    float *values = calloc((size_t)vocab * (size_t)cols, 4), *scale = calloc((size_t)vocab, 4);
    void  *data = calloc(pk_panel_bytes(vocab, cols, type), 1);
    for (int32_t i = 0; i < vocab * cols; i++) values[i] = pk_f16_to_f32(pk_f32_to_f16(uniform()));
    pk_panel_pack(data, scale, cols, type, 0, vocab, values);
    for (int i = 0; i < ROWS * cols; i++) s->hidden[i] = uniform();
    for (int32_t i = 0; i < vocab; i++) s->bias[i] = uniform();
    for (int32_t i = 0; i < ROWS; i++) s->sums[i] = 3 * uniform();
    s->cols = cols;
    s->table = (pk_weight){ data, scale, vocab, cols, type, false };
    s->bias_weight = (pk_weight){ s->bias, NULL, 1, vocab, PK_F32, true };
    make_blocks(s, vocab);
    free(values);
    return s;
}

static void release(setting *s) {
    free((void *)(uintptr_t)s->table.data), free((void *)(uintptr_t)s->table.scale);
    free(s);
}

/* scores of some of the blocks; sums: of each row, or NULL */
static void run(pk_backend *b, const setting *s, const float *sums, int first, int n, bool biased,
                float *out) {
    const pk_tensor hidden = { (float *)(uintptr_t)s->hidden, ROWS, s->cols, s->cols, PK_F32, 0 };
    const pk_edging e = { n, 40, MOST_TOKENS, s->block + first, s->tokens, sums, out };
    b->edges(b->self, hidden, &s->table, biased ? &s->bias_weight : NULL, &e);
    assert_int_equal(b->status(b->self), PK_OK);
}

static pk_backend open_backend(const char *isa, int32_t threads) {
    pk_backend b;
    if (isa) setenv("PRONK_ISA", isa, 1);
    assert_int_equal(pk_backend_open(isa ? "cpu" : "ref", threads, PK_F32, &b), PK_OK);
    unsetenv("PRONK_ISA");
    assert_int_equal(b.reserve(b.self, &limits), PK_OK);
    return b;
}

/* where a block's scores are, all of them */
static size_t scores_of(const pk_edge_block *b) { return (size_t)b->n_rows * (size_t)b->n_tokens; }

static void assert_near(const setting *s, const float *got, const float *want, float room) {
    for (int b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < scores_of(&s->block[b]); i++) {
            const float x = got[(size_t)s->block[b].score + i],
                        y = want[(size_t)s->block[b].score + i];
            if (!(fabsf(x - y) <= room))
                fail_msg("type %d, block %d, score %zu: %.9g is not %.9g", s->table.type, b, i,
                         (double)x, (double)y);
        }
}

/* each block by itself has the bits that it has among the others */
static void assert_alone(pk_backend *b, const setting *s, const float *sums, const float *all) {
    float one[SCORES];
    for (int i = 0; i < BLOCKS; i++) {
        memset(one, 0, sizeof one);
        run(b, s, sums, i, 1, true, one);
        assert_memory_equal(one + s->block[i].score, all + s->block[i].score,
                            scores_of(&s->block[i]) * sizeof *one);
    }
}

/* without a sum a score is a logit, and that is bitwise answer()'s */
static void assert_logits(pk_backend *b, const setting *s) {
    const float     zeros[ROWS] = { 0 };
    const pk_tensor hidden = { (float *)(uintptr_t)s->hidden, ROWS, s->cols, s->cols, PK_F32, 0 };
    float           got[SCORES] = { 0 }, want[BLOCKS * MOST_TOKENS];
    run(b, s, zeros, 0, BLOCKS, true, got);
    for (int i = 0; i < BLOCKS; i++)
        for (int32_t r = 0; r < s->block[i].n_rows; r++) {
            const pk_question  q = { .row = s->block[i].row + r,
                                     .target = s->block[i].token,
                                     .n_target = s->block[i].n_tokens };
            pk_scored          top;
            float              sum;
            const pk_answering a = { 1, 0, false, &q, s->tokens, 1, &top, &sum, want };
            b->answer(b->self, hidden, &s->table, &s->bias_weight, &a);
            assert_int_equal(b->status(b->self), PK_OK);
            assert_memory_equal(got + s->block[i].score + r * q.n_target, want + q.target,
                                (size_t)q.n_target * sizeof *want);
        }
}

static void check(const char *isa, int32_t vocab, int32_t cols, pk_dtype type) {
    setting   *s = make(vocab, cols, type);
    pk_backend ref = open_backend(NULL, 1), one = open_backend(isa, 1),
               three = open_backend(isa, 3);
    float want[SCORES] = { 0 }, got[SCORES] = { 0 }, shared[SCORES] = { 0 };
    for (int full = 0; full < 2; full++) {
        const float *sums = full ? s->sums : NULL;
        run(&ref, s, sums, 0, BLOCKS, true, want);
        run(&one, s, sums, 0, BLOCKS, true, got);
        run(&three, s, sums, 0, BLOCKS, true, shared);
        assert_near(s, got, want, 1e-4f);
        assert_memory_equal(got, shared, sizeof got);
        assert_alone(&three, s, sums, got);
    }
    run(&ref, s, NULL, 0, BLOCKS, false, want);
    run(&one, s, NULL, 0, BLOCKS, false, got);
    assert_near(s, got, want, 1e-4f);
    assert_logits(&one, s);
    assert_logits(&ref, s);
    pk_backend_close(&ref), pk_backend_close(&one), pk_backend_close(&three);
    release(s);
}

static void test_edges(void **state) {
    static const char *const isas[] = { "generic", "avx2", "avx512" };
    const pk_cpu_kernels    *kernels;
    (void)state;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (pk_isa_choose(isas[i], &kernels) != PK_OK) continue; /* this machine has it not */
        for (int type = PK_F32; type <= PK_I8; type++) {
            check(isas[i], 1000, 64, (pk_dtype)type);
            check(isas[i], 77, 33, (pk_dtype)type);
            check(isas[i], 500, MOST_COLS, (pk_dtype)type);
        }
    }
}

/* log-probabilities over a row's own tokens, where these are different, sum to one */
static void test_sums_to_one(void **state) {
    setting   *s = make(200, 64, PK_F32);
    pk_backend b = open_backend("generic", 2);
    float      got[SCORES] = { 0 };
    (void)state;
    run(&b, s, NULL, 0, BLOCKS, true, got);
    for (int i = 0; i < BLOCKS; i++)
        for (int32_t r = 0; r < s->block[i].n_rows; r++) {
            double sum = 0;
            for (int32_t j = 0; j < s->block[i].n_tokens; j++)
                sum += exp((double)got[s->block[i].score + r * s->block[i].n_tokens + j]);
            assert_true(fabs(sum - 1) < 1e-5);
        }
    pk_backend_close(&b);
    release(s);
}

static void test_too_many(void **state) {
    setting   *s = make(200, 64, PK_F32);
    pk_backend b = open_backend("generic", 1);
    float      got[SCORES];
    (void)state;
    s->block[0].n_tokens = MOST_TOKENS + 1;
    const pk_tensor hidden = { s->hidden, ROWS, s->cols, s->cols, PK_F32, 0 };
    const pk_edging e = { 1, 40, MOST_TOKENS + 1, s->block, s->tokens, NULL, got };
    b.edges(b.self, hidden, &s->table, NULL, &e);
    assert_int_equal(b.status(b.self), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "edges"));
    pk_backend_close(&b);
    release(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_sums_to_one),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
