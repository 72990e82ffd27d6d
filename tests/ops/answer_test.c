/* answer_test.c - the output layer of the cpu backend: against `ref`, ties, bans, sums, and the
 * law.
 *
 * Tokens must be those of ref wherever two scores are not within 1e-4 of each other; I8 scores have
 * the bits of ref's. Log sums are compared with a sum in double, to 1e-5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "tensor/panel.h"

enum { MAX_QUESTIONS = 40, MAX_K = 50, COLS = 36, ROWS = 20 };
static const pk_limits limits = { 64, 64, 8, MAX_QUESTIONS, MAX_K, 3000 };

typedef struct answers {
    pk_scored top[MAX_QUESTIONS * MAX_K];
    float     log_sum[MAX_QUESTIONS], target[256];
} answers;

typedef struct setting {
    float       hidden[ROWS * COLS], *bias;
    pk_weight   table, bias_weight;
    pk_question question[MAX_QUESTIONS];
    int32_t     tokens[256];
    int32_t     n, n_tokens;
} setting;

static uint64_t seed;

static float uniform(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}
static int32_t below(int32_t n) { return (int32_t)((uniform() + 1) * 0.5f * (float)n) % n; }

static setting make(int32_t vocab, pk_dtype type) {
    setting s = { 0 };
    seed = (uint64_t)vocab;
    float *values = calloc((size_t)vocab * COLS, 4), *scale = calloc((size_t)vocab, 4);
    void  *data = calloc(pk_panel_bytes(vocab, COLS, type), 1);
    for (int32_t i = 0; i < vocab * COLS; i++) values[i] = pk_f16_to_f32(pk_f32_to_f16(uniform()));
    pk_panel_pack(data, scale, COLS, type, 0, vocab, values);
    for (int i = 0; i < ROWS * COLS; i++) s.hidden[i] = 2 * uniform();
    s.bias = calloc((size_t)vocab, 4);
    for (int32_t i = 0; i < vocab; i++) s.bias[i] = uniform();
    s.table = (pk_weight){ data, scale, vocab, COLS, type, false };
    s.bias_weight = (pk_weight){ s.bias, NULL, 1, vocab, PK_F32, true };
    free(values);
    return s;
}

static void release(setting *s) {
    free((void *)(uintptr_t)s->table.data), free((void *)(uintptr_t)s->table.scale), free(s->bias);
}

static void ask(setting *s, pk_question q, const int32_t *ban, const int32_t *target) {
    q.ban = s->n_tokens;
    for (int32_t i = 0; i < q.n_ban; i++) s->tokens[s->n_tokens++] = ban[i];
    q.target = s->n_tokens;
    for (int32_t i = 0; i < q.n_target; i++) s->tokens[s->n_tokens++] = target[i];
    s->question[s->n++] = q;
}

/* questions of every kind; several name the same row, side by side and apart */
static void ask_all(setting *s, int32_t count) {
    while (s->n < count) {
        int32_t ban[6], target[4];
        for (int i = 0; i < 6; i++) ban[i] = below(s->table.rows);
        for (int i = 0; i < 4; i++) target[i] = i == 0 ? ban[0] : below(s->table.rows);
        ask(s,
            (pk_question){ .row = s->n % 3 ? below(ROWS)
                                  : s->n   ? s->question[s->n - 1].row
                                           : 0,
                           .top_k = below(4) == 0 ? MAX_K : below(9),
                           .n_ban = below(4) ? 0 : 6,
                           .n_target = below(5),
                           .log_sum = below(2),
                           .renormalise = below(2) },
            ban, target);
    }
}

static answers answers_of(pk_backend *b, const setting *s, int32_t first, int32_t n) {
    answers      out = { 0 };
    pk_tensor    hidden = { (float *)(uintptr_t)s->hidden, ROWS, COLS, COLS };
    pk_answering a = { .n = n,
                       .most_top_k = MAX_K,
                       .any_log_sum = true,
                       .question = s->question + first,
                       .tokens = s->tokens,
                       .top_stride = MAX_K,
                       .top = out.top,
                       .log_sum = out.log_sum,
                       .target_score = out.target };
    b->answer(b->self, hidden, &s->table, &s->bias_weight, &a);
    assert_int_equal(b->status(b->self), PK_OK);
    return out;
}

static pk_backend open_backend(const char *isa, int32_t threads) {
    pk_backend b;
    if (isa) setenv("PRONK_ISA", isa, 1);
    assert_int_equal(pk_backend_open(isa ? "cpu" : "ref", threads, PK_F32, &b), PK_OK);
    unsetenv("PRONK_ISA");
    assert_int_equal(b.reserve(b.self, &limits), PK_OK);
    return b;
}

static void assert_like(const setting *s, const answers *got, const answers *want) {
    const float tolerance = s->table.type == PK_I8 ? 0 : 1e-4f;
    for (int32_t i = 0; i < s->n; i++) {
        const pk_question *q = &s->question[i];
        for (int32_t k = 0; k < q->top_k; k++) {
            const pk_scored a = got->top[i * MAX_K + k], b = want->top[i * MAX_K + k];
            if (a.token < 0 || b.token < 0)
                assert_int_equal(a.token, b.token);
            else if (!(fabsf(a.score - b.score) <= tolerance))
                fail_msg("type %d vocab %d question %d best %d: %d %.9g is not %d %.9g",
                         s->table.type, s->table.rows, i, k, a.token, (double)a.score, b.token,
                         (double)b.score);
            if (tolerance == 0) assert_int_equal(a.token, b.token);
        }
        if (q->log_sum)
            assert_true(fabsf(got->log_sum[i] - want->log_sum[i]) <
                        1e-5f * fabsf(want->log_sum[i]) + 1e-5f);
        for (int32_t j = q->target; j < q->target + q->n_target; j++)
            assert_true(fabsf(got->target[j] - want->target[j]) <= tolerance);
    }
}

/* every question by itself has the bits it has among the others */
static void assert_alone(pk_backend *b, const setting *s, const answers *all) {
    for (int32_t i = 0; i < s->n; i++) {
        const answers one = answers_of(b, s, i, 1);
        const size_t  bytes = (size_t)s->question[i].top_k * sizeof(pk_scored);
        assert_memory_equal(one.top, all->top + i * MAX_K, bytes);
        if (s->question[i].log_sum) assert_memory_equal(one.log_sum, all->log_sum + i, 4);
    }
}

static void check_setting(setting *s) {
    pk_backend    ref = open_backend(NULL, 1);
    const answers want = answers_of(&ref, s, 0, s->n);
    for (int32_t i = 0; pk_isa_available(i); i++) {
        answers first;
        for (int32_t threads = 1; threads <= 4; threads++) {
            pk_backend    b = open_backend(pk_isa_available(i)->name, threads);
            const answers got = answers_of(&b, s, 0, s->n);
            assert_like(s, &got, &want);
            if (threads == 1) first = got;
            assert_memory_equal(&got, &first, sizeof got);
            if (threads < 3) assert_alone(&b, s, &got);
            pk_backend_close(&b);
        }
    }
    pk_backend_close(&ref);
}

static void test_same(void **state) {
    const int32_t vocab[] = { 7, 60, 512, 1037, 3000 };
    (void)state;
    for (int v = 0; v < 5; v++)
        for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
            setting s = make(vocab[v], type);
            ask_all(&s, v == 4 ? 30 : 11);
            check_setting(&s);
            release(&s);
        }
}

/* equal logits: the lower id first, also across chunks and threads */
static void test_ties(void **state) {
    (void)state;
    setting s = make(2000, PK_F32);
    memset((void *)(uintptr_t)s.table.data, 0, pk_panel_bytes(2000, COLS, PK_F32));
    for (int32_t i = 0; i < 2000; i++) s.bias[i] = i == 1999 || i == 700 || i == 3 ? 5 : 1;
    ask(&s, (pk_question){ .top_k = 5, .n_ban = 1 }, &(int32_t){ 1 }, NULL);
    const int32_t expected[] = { 3, 700, 1999, 0, 2 };
    check_setting(&s);
    for (int32_t threads = 1; threads < 4; threads++) {
        pk_backend    b = open_backend("generic", threads);
        const answers got = answers_of(&b, &s, 0, 1);
        for (int k = 0; k < 5; k++) assert_int_equal(got.top[k].token, expected[k]);
        pk_backend_close(&b);
    }
    release(&s);
}

/* more asked for than is allowed: the list ends with -1; all banned: the sum is empty */
static void test_bans(void **state) {
    (void)state;
    const int32_t ban[] = { 0, 1, 2, 3, 4, 4, 6, 5 }, target[] = { 2 };
    setting       s = make(7, PK_I8);
    ask(&s, (pk_question){ .top_k = 6, .n_ban = 5, .n_target = 1, .log_sum = true }, ban, target);
    ask(&s, (pk_question){ .top_k = 2, .n_ban = 8, .log_sum = true, .renormalise = true }, ban,
        NULL);
    ask(&s, (pk_question){ .top_k = 7 }, NULL, NULL);
    for (int32_t i = 0; pk_isa_available(i); i++) {
        pk_backend    b = open_backend(pk_isa_available(i)->name, 2);
        const answers got = answers_of(&b, &s, 0, 3);
        assert_int_equal(got.top[0].token + got.top[1].token, 5 + 6);
        assert_int_equal(got.top[2].token, -1);
        assert_int_equal(got.top[MAX_K].token, -1);
        assert_true(got.log_sum[1] == -INFINITY);
        for (int k = 0; k < 7; k++)
            assert_true(got.top[2 * MAX_K + k].token >= 0); /* none banned here */
        for (int k = 0; k < 7; k++)
            if (got.top[2 * MAX_K + k].token == 2)
                assert_true(got.top[2 * MAX_K + k].score == got.target[5]);
        pk_backend_close(&b);
    }
    release(&s);
}

/* logits far apart and infinite ones: nothing overflows, minus infinity is never chosen */
static void test_extremes(void **state) {
    (void)state;
    setting s = make(600, PK_F32);
    memset((void *)(uintptr_t)s.table.data, 0, pk_panel_bytes(600, COLS, PK_F32));
    for (int32_t i = 0; i < 600; i++) s.bias[i] = i < 599 ? -INFINITY : 1e4f;
    s.bias[5] = -1e30f;
    ask(&s, (pk_question){ .top_k = 3, .log_sum = true }, NULL, NULL);
    for (int32_t i = 0; pk_isa_available(i); i++) {
        pk_backend    b = open_backend(pk_isa_available(i)->name, 2);
        const answers got = answers_of(&b, &s, 0, 1);
        assert_int_equal(got.top[0].token, 599);
        assert_int_equal(got.top[1].token, 5);
        assert_int_equal(got.top[2].token, -1);
        assert_true(got.log_sum[0] == 1e4f);
        pk_backend_close(&b);
    }
    release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same), cmocka_unit_test(test_ties),
                                        cmocka_unit_test(test_bans),
                                        cmocka_unit_test(test_extremes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
