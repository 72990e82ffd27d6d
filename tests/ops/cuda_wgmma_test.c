/* cuda_wgmma_test.c - large products of the cuda backend give the bits that small ones give.
 *
 * On Hopper many rows and many questions go to kernels of their own (backend/cuda/wgmma.cuh). Here
 * the same rows go through linear and answer in large calls and in small ones, and every bit must
 * agree; that the small ones are right is checked in cuda_test.c and cuda_steps_test.c. Sizes are
 * such that blocks are cut off at every end. Skipped where there is no GPU. */
#include "cuda_help.h"

enum { ROWS = 1000, TOP = 12, BANS = 3, TARGETS = 2, LISTED = BANS + TARGETS };
static const pk_dtype stored[] = { PK_F16, PK_I8 };

/* ---- linear ---- */

typedef struct part {
    int32_t first, n;
} part;
static const part parts[] = { { 0, 1 },    { 500, 4 },   { 997, 3 },
                              { 128, 64 }, { 870, 130 }, { 0, 999 } };

typedef struct linear_size {
    int32_t outputs, cols, gap; /* gap: of x */
    pk_act  act;
    bool    residual;
} linear_size;
static const linear_size linear_sizes[] = {
    { 2048, 512, 0, PK_RELU, false }, { 1999, 512, 8, PK_LINEAR, true },
    { 3000, 512, 0, PK_SWISH, true }, { 2040, 1024, 16, PK_LINEAR, false },
    { 2048, 2048, 0, PK_GELU, true },
};

static void linear_on(int a, const linear_size *s, pk_dtype type) {
    pk_backend    *b = &gpus[a];
    const pk_dtype t = arithmetics[a];
    NAME_CASE("%s arithmetic, %s weights, linear %d -> %d", type_names[t], type_names[type],
              s->cols, s->outputs);
    reset_arena(a);
    seed = (uint64_t)(s->outputs + s->cols);
    pk_tensor x = random_rows(ROWS, s->cols, t, 1), more = random_rows(ROWS, s->outputs, t, 1);
    matrix    w = random_matrix(b, s->outputs, s->cols, type, NULL),
           bias = random_plain(b, 1, s->outputs);
    array    dx = array_of(a, x, s->gap, t), residual = array_of(a, more, 0, t);
    array    all = blank_array(a, ROWS, s->outputs, 3, t);
    pk_after after = { .bias = &bias.device, .act = s->act };
    if (s->residual) after.residual = residual.on;
    b->linear(b->self, all.on, dx.on, &w.device, &after);
    get_array(&all);
    check_gaps(&all, "all rows");
    for (int k = 0; k < COUNT(parts); k++) {
        const part p = parts[k];
        array      some = blank_array(a, p.n, s->outputs, 3, t);
        if (s->residual) after.residual = rows_of(residual.on, p.first, p.n);
        b->linear(b->self, some.on, rows_of(dx.on, p.first, p.n), &w.device, &after);
        get_array(&some);
        for (int32_t i = 0; i < p.n; i++)
            check_same(&some, i, &all, p.first + i, "another number of rows");
        free(some.raw);
    }
    free(x.data), free(more.data), free(dx.raw), free(residual.raw), free(all.raw);
    free_matrix(&w), free_matrix(&bias);
}

static void test_linear(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 1; a < ARITHMETICS; a++)
        for (int i = 0; i < COUNT(linear_sizes); i++)
            for (int t = 0; t < COUNT(stored); t++) linear_on(a, &linear_sizes[i], stored[t]);
    conclude();
}

/* ---- answer ---- */

typedef struct answer_size {
    int32_t n, vocab, cols, top_k;
    bool    level; /* many equal logits, and some that are minus infinity */
} answer_size;
static const answer_size answer_sizes[] = {
    { 1000, 32000, 512, 8, false }, { 257, 16001, 512, 1, false }, { 513, 1000, 512, 12, true },
    { 1000, 5003, 512, 5, true },   { 640, 700, 512, 8, false },   { 200, 4000, 1024, 5, false },
};

typedef struct answers {
    pk_scored top[ROWS * TOP];
    float     log_sum[ROWS], target[ROWS * LISTED];
} answers;

typedef struct asking {
    const answer_size *s;
    array              hidden;
    matrix             table, bias;
    const pk_question *on_question;
    const int32_t     *on_tokens;
    int32_t            tokens[ROWS * LISTED];
    pk_question        question[ROWS];
} asking;

/* every kind of question; the lists of question i are tokens[i * LISTED ..] */
static void make_questions(asking *k) {
    const answer_size *s = k->s;
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < LISTED; j++) k->tokens[i * LISTED + j] = below(s->vocab);
        k->question[i] = (pk_question){ .row = i % 7 == 6 ? i - 1 : i,
                                        .top_k = i % 5 == 4 ? below(s->top_k + 1) : s->top_k,
                                        .ban = i * LISTED,
                                        .n_ban = i % 3 ? 0 : BANS,
                                        .target = i * LISTED + BANS,
                                        .n_target = i % 4 ? 0 : TARGETS,
                                        .log_sum = i % 6 != 5,
                                        .renormalise = i % 2 };
    }
}

static void make_asking(asking *k, int a, const answer_size *s, pk_dtype type) {
    pk_tensor hidden = random_rows(s->n, s->cols, arithmetics[a], s->level ? 0 : 1);
    k->s = s;
    k->hidden = array_of(a, hidden, 8, arithmetics[a]);
    k->table = random_matrix(&gpus[a], s->vocab, s->cols, type, NULL);
    k->bias = random_plain(&gpus[a], 1, s->vocab);
    if (s->level) {
        float *bias = (float *)(uintptr_t)k->bias.wide.data;
        for (int32_t t = 0; t < s->vocab; t++) bias[t] = t % 50 ? (float)(t % 4) : -INFINITY;
        ASSERT_OK(gpus[a].adopt(gpus[a].self, &k->bias.wide, &k->bias.device));
    }
    make_questions(k);
    k->on_question = upload(a, k->question, (size_t)s->n * sizeof *k->question);
    k->on_tokens = upload_ints(a, k->tokens, s->n * LISTED);
    free(hidden.data);
}

/* `each` questions at a time */
static void run_answer(int a, const asking *k, answers *out, int32_t each) {
    pk_backend  *b = &gpus[a];
    pk_answering all = { .question = k->on_question, .tokens = k->on_tokens, .top_stride = TOP };
    memset(out, 0xff, sizeof *out);
    pk_scored *top = upload(a, out->top, sizeof out->top);
    float     *log_sum = upload(a, out->log_sum, sizeof out->log_sum);
    all.most_top_k = k->s->top_k, all.any_log_sum = true;
    all.target_score = upload(a, out->target, sizeof out->target);
    for (int32_t i = 0; i < k->s->n; i += each) {
        all.n = k->s->n - i < each ? k->s->n - i : each;
        all.question = k->on_question + i, all.top = top + i * TOP, all.log_sum = log_sum + i;
        b->answer(b->self, k->hidden.on, &k->table.device, &k->bias.device, &all);
    }
    b->get(b->self, out->top, top, sizeof out->top);
    b->get(b->self, out->log_sum, log_sum, sizeof out->log_sum);
    b->get(b->self, out->target, all.target_score, sizeof out->target);
    settle(b);
}

static void compare(const asking *k, const answers *x, const answers *y, int32_t each) {
    for (int32_t i = 0; i < k->s->n; i++) {
        const pk_question *q = &k->question[i];
        for (int32_t j = 0; j < q->top_k; j++) {
            const pk_scored *p = &x->top[i * TOP + j], *r = &y->top[i * TOP + j];
            if (memcmp(p, r, sizeof *p) == 0) continue;
            COMPLAIN("question %d of %d at a time, best %d: %d %.9g is not %d %.9g", i, each, j,
                     p->token, (double)p->score, r->token, (double)r->score);
            break;
        }
        if (memcmp(&x->log_sum[i], &y->log_sum[i], sizeof(float)) != 0)
            COMPLAIN("question %d of %d at a time: log sum %.9g is not %.9g", i, each,
                     (double)x->log_sum[i], (double)y->log_sum[i]);
        for (int32_t j = i * LISTED; j < (i + 1) * LISTED; j++)
            if (memcmp(&x->target[j], &y->target[j], sizeof(float)) != 0)
                COMPLAIN("question %d of %d at a time: target %d: %.9g is not %.9g", i, each,
                         k->tokens[j], (double)x->target[j], (double)y->target[j]);
    }
}

static void answer_on(int a, const answer_size *s, pk_dtype type) {
    static const int32_t sizes[] = { 3, 64, 500 };
    asking              *k = calloc(1, sizeof *k);
    answers             *all = malloc(sizeof *all), *some = malloc(sizeof *some);
    NAME_CASE("%s arithmetic, %s weights, answer: %d questions, vocabulary %d, best %d",
              type_names[arithmetics[a]], type_names[type], s->n, s->vocab, s->top_k);
    reset_arena(a);
    seed = (uint64_t)(s->vocab + s->n);
    make_asking(k, a, s, type);
    run_answer(a, k, all, s->n);
    for (int i = 0; i < COUNT(sizes); i++) {
        run_answer(a, k, some, sizes[i]);
        compare(k, some, all, sizes[i]);
    }
    run_answer(a, k, some, s->n); /* what one call leaves behind must not change the next */
    compare(k, some, all, s->n);
    free(k->hidden.raw), free_matrix(&k->table), free_matrix(&k->bias);
    free(k), free(all), free(some);
}

static void test_answer(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 1; a < ARITHMETICS; a++)
        for (int i = 0; i < COUNT(answer_sizes); i++)
            for (int t = 0; t < COUNT(stored); t++) answer_on(a, &answer_sizes[i], stored[t]);
    conclude();
}

static int open_for_many(void **state) {
    const pk_limits limits = { ROWS, 2304, 1024, ROWS, 32, 32000 };
    const int       opened = open_all(state);
    for (int a = 0; gpu_there && a < ARITHMETICS; a++)
        if (gpus[a].reserve(gpus[a].self, &limits) != PK_OK) return -1;
    return opened;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_answer),
    };
    return cmocka_run_group_tests(tests, open_for_many, close_all);
}
