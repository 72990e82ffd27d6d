/* cuda_answer_test.c - the cuda backend where tokens are found: answer.
 *
 * Answers are compared with logits in double: scores within a small part of the largest logit,
 * lists in order, ties to the lower id; and bitwise with the same question asked alone. */
#include "cuda_help.h"

enum { TOP = 32, COLS_SMALL = 36, COLS_REAL = 512, MOST_TOKENS = 8000 };

typedef struct asking {
    pk_tensor   hidden;
    matrix      table, bias;
    float      *values; /* (vocab, cols), as the table has them */
    int32_t     n, n_tokens;
    pk_question question[256];
    int32_t     tokens[MOST_TOKENS];
} asking;

typedef struct answers { /* the device's, and on the host */
    pk_scored *top, *on_top;
    float     *log_sum, *on_log_sum, *target, *on_target;
} answers;

static void ask(asking *s, pk_question q, const int32_t *ban, const int32_t *target) {
    q.ban = s->n_tokens;
    for (int32_t i = 0; i < q.n_ban; i++) s->tokens[s->n_tokens++] = ban[i];
    q.target = s->n_tokens;
    for (int32_t i = 0; i < q.n_target; i++) s->tokens[s->n_tokens++] = target[i];
    s->question[s->n++] = q;
}

/* questions of every kind; several name the same row */
static void ask_all(asking *s, int32_t count) {
    const int32_t top_k[] = { 1, 0, 2, 10, 32, 1, 5 };
    while (s->n < count) {
        int32_t    ban[6], target[4];
        const bool bans = below(3) == 0;
        for (int i = 0; i < 6; i++) ban[i] = below(s->table.host.rows);
        for (int i = 0; i < 4; i++) target[i] = i == 0 ? ban[0] : below(s->table.host.rows);
        ask(s,
            (pk_question){ .row = s->n % 5 == 4 ? s->question[s->n - 1].row : s->n,
                           .top_k = top_k[below(COUNT(top_k))],
                           .n_ban = bans ? 6 : 0,
                           .n_target = below(5),
                           .log_sum = below(2),
                           .renormalise = below(2) },
            ban, target);
    }
}

static asking *make_asking(int a, int32_t vocab, int32_t cols, pk_dtype type, int32_t rows) {
    asking *s = calloc(1, sizeof *s);
    seed = (uint64_t)(vocab + cols + rows);
    s->table = random_matrix(&gpus[a], vocab, cols, type, &s->values);
    s->bias = random_plain(&gpus[a], 1, vocab);
    s->hidden = random_rows(rows, cols, arithmetics[a], 2);
    return s;
}

static void free_asking(asking *s) {
    free(s->hidden.data), free(s->values), free_matrix(&s->table), free_matrix(&s->bias);
    free(s);
}

static answers make_answers(int a, const asking *s) {
    const size_t tops = (size_t)s->n * TOP, sums = (size_t)s->n, targets = (size_t)s->n_tokens + 1;
    answers      r = { malloc(tops * sizeof *r.top),    NULL, malloc(sums * sizeof(float)), NULL,
                       malloc(targets * sizeof(float)), NULL };
    memset(r.top, 0xff, tops * sizeof *r.top), memset(r.log_sum, 0xff, sums * sizeof(float));
    memset(r.target, 0xff, targets * sizeof(float));
    r.on_top = upload(a, r.top, tops * sizeof *r.top);
    r.on_log_sum = upload(a, r.log_sum, sums * sizeof(float));
    r.on_target = upload(a, r.target, targets * sizeof(float));
    return r;
}

static void get_answers(int a, const asking *s, answers *r) {
    pk_backend  *b = &gpus[a];
    const size_t sums = (size_t)s->n;
    b->get(b->self, r->top, r->on_top, sums * TOP * sizeof *r->top);
    b->get(b->self, r->log_sum, r->on_log_sum, sums * sizeof(float));
    b->get(b->self, r->target, r->on_target, ((size_t)s->n_tokens + 1) * sizeof(float));
    settle(b);
}

static void free_answers(answers *r) { free(r->top), free(r->log_sum), free(r->target); }

/* questions [first, first + n) */
static void run_answer(int a, const asking *s, pk_tensor hidden, const pk_question *question,
                       const int32_t *tokens, const answers *r, int32_t first, int32_t n) {
    pk_answering all = { .n = n,
                         .question = question + first,
                         .tokens = tokens,
                         .top_stride = TOP,
                         .top = r->on_top + (size_t)first * TOP,
                         .log_sum = r->on_log_sum + first,
                         .target_score = r->on_target };
    for (int32_t i = first; i < first + n; i++) {
        if (s->question[i].top_k > all.most_top_k) all.most_top_k = s->question[i].top_k;
        all.any_log_sum |= s->question[i].log_sum;
    }
    gpus[a].answer(gpus[a].self, hidden, &s->table.device, &s->bias.device, &all);
}

/* all questions at once, then one by one; both come back */
static void answer_twice(int a, const asking *s, answers *all, answers *alone) {
    array              hidden = array_of(a, s->hidden, 0, arithmetics[a]);
    const pk_question *question = upload(a, s->question, (size_t)s->n * sizeof *question);
    const int32_t     *tokens = upload_ints(a, s->tokens, s->n_tokens);
    *all = make_answers(a, s), *alone = make_answers(a, s);
    run_answer(a, s, hidden.on, question, tokens, all, 0, s->n);
    for (int32_t i = 0; i < s->n; i++) run_answer(a, s, hidden.on, question, tokens, alone, i, 1);
    settle(&gpus[a]);
    get_answers(a, s, all), get_answers(a, s, alone);
    free(hidden.raw);
}

static void check_alone(const asking *s, const answers *all, const answers *alone) {
    for (int32_t i = 0; i < s->n; i++) {
        const pk_question *q = &s->question[i];
        for (int32_t k = 0; k < q->top_k; k++) {
            const pk_scored x = alone->top[i * TOP + k], y = all->top[i * TOP + k];
            if (x.token == y.token && (x.token < 0 || same_float(x.score, y.score))) continue;
            COMPLAIN("question %d alone, best %d: %d %.9g is not %d %.9g", i, k, x.token,
                     (double)x.score, y.token, (double)y.score);
            break;
        }
        if (q->log_sum && !same_float(alone->log_sum[i], all->log_sum[i]))
            COMPLAIN("question %d alone: log sum %.9g is not %.9g", i, (double)alone->log_sum[i],
                     (double)all->log_sum[i]);
        for (int32_t j = q->target; j < q->target + q->n_target; j++)
            if (!same_float(alone->target[j], all->target[j]))
                COMPLAIN("question %d alone: target %d: %.9g is not %.9g", i, s->tokens[j],
                         (double)alone->target[j], (double)all->target[j]);
    }
}

static bool listed(const int32_t *tokens, int32_t n, int32_t token) {
    for (int32_t i = 0; i < n; i++)
        if (tokens[i] == token) return true;
    return false;
}

static void logits_of(const asking *s, int32_t row, double *logits) {
    const int32_t cols = s->hidden.cols;
    const float  *x = host_row(s->hidden, row), *bias = s->bias.wide.data;
    for (int32_t t = 0; t < s->table.host.rows; t++) {
        const float *w = s->values + (size_t)t * (size_t)cols;
        double       sum = 0;
        for (int32_t c = 0; c < cols; c++) sum += (double)x[c] * (double)w[c];
        logits[t] = sum + (double)bias[t];
    }
}

/* the best token behind `last` in the order (score falling, id rising) that is not banned */
static int32_t next_best(const double *logits, int32_t n, int32_t last, const int32_t *ban,
                         int32_t n_ban) {
    int32_t best = -1;
    for (int32_t t = 0; t < n; t++) {
        const bool after =
            last < 0 || logits[t] < logits[last] || (logits[t] == logits[last] && t > last);
        if (after && logits[t] > (best < 0 ? (double)-INFINITY : logits[best]) &&
            !listed(ban, n_ban, t))
            best = t;
    }
    return best;
}

static double log_sum_of(const double *logits, int32_t n, const int32_t *without,
                         int32_t n_without) {
    double most = (double)-INFINITY, sum = 0;
    for (int32_t t = 0; t < n; t++)
        if (!listed(without, n_without, t)) most = fmax(most, logits[t]);
    for (int32_t t = 0; t < n; t++)
        if (!listed(without, n_without, t)) sum += exp(logits[t] - most);
    return most + log(sum);
}

static bool near(float x, double want, double allowed) {
    return isinf(want) ? (double)x == want : fabs((double)x - want) <= allowed;
}

/* the list of a question: right scores, in order, none banned, -1 past the end */
static void check_list(const asking *s, int32_t i, const pk_scored *top, const double *logits,
                       double allowed) {
    const pk_question *q = &s->question[i];
    const int32_t     *ban = s->tokens + q->ban, vocab = s->table.host.rows;
    int32_t            best = -1;
    for (int32_t k = 0; k < q->top_k; k++) {
        if (k == 0 || best >= 0) best = next_best(logits, vocab, best, ban, q->n_ban);
        const pk_scored x = top[k], before = k ? top[k - 1] : (pk_scored){ -1, INFINITY };
        const bool      ordered =
            x.score < before.score || (x.score == before.score && x.token > before.token);
        if (best < 0 && x.token == -1) continue;
        if (best >= 0 && x.token >= 0 && x.token < vocab && ordered &&
            !listed(ban, q->n_ban, x.token) && near(x.score, logits[x.token], allowed) &&
            near(x.score, logits[best], allowed))
            continue;
        COMPLAIN("question %d, best %d of %d: %d %.9g; expected %d %.9g; before it %d %.9g", i, k,
                 q->top_k, x.token, (double)x.score, best, best < 0 ? 0 : logits[best],
                 before.token, (double)before.score);
        return;
    }
}

static void check_question(int a, const asking *s, int32_t i, const answers *r, double *logits) {
    const pk_question *q = &s->question[i];
    const int32_t      vocab = s->table.host.rows;
    double             most = 1;
    logits_of(s, q->row, logits);
    for (int32_t t = 0; t < vocab; t++)
        if (isfinite(logits[t])) most = fmax(most, fabs(logits[t]));
    const double allowed = (arithmetics[a] == PK_F32 ? 2e-5 : 1e-4) * most;
    check_list(s, i, r->top + i * TOP, logits, allowed);
    if (q->log_sum) {
        const double want =
            log_sum_of(logits, vocab, s->tokens + q->ban, q->renormalise ? q->n_ban : 0);
        if (!near(r->log_sum[i], want, allowed))
            COMPLAIN("question %d: log sum %.9g is not %.9g", i, (double)r->log_sum[i], want);
    }
    for (int32_t j = q->target; j < q->target + q->n_target; j++)
        if (!near(r->target[j], logits[s->tokens[j]], allowed))
            COMPLAIN("question %d: target %d: %.9g is not %.9g", i, s->tokens[j],
                     (double)r->target[j], logits[s->tokens[j]]);
}

static void answer_on(int a, int32_t vocab, int32_t cols, pk_dtype type, int32_t n) {
    NAME_CASE("%s arithmetic, %s weights, answer: %d questions, %d columns, vocabulary %d",
              type_names[arithmetics[a]], type_names[type], n, cols, vocab);
    reset_arena(a);
    asking *s = make_asking(a, vocab, cols, type, n);
    answers all, alone;
    double *logits = malloc((size_t)vocab * sizeof *logits);
    ask_all(s, n);
    answer_twice(a, s, &all, &alone);
    check_alone(s, &all, &alone);
    const int32_t step = vocab < 2000 ? 1 : n / 4 + 1;
    for (int32_t i = 0; i < n; i += step) check_question(a, s, i, &all, logits);
    free(logits), free_answers(&all), free_answers(&alone), free_asking(s);
}

static void test_answer(void **state) {
    const int32_t counts[] = { 1, 8, 40, 256 };
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++) {
        for (int k = 0; k < COUNT(counts); k++)
            for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
                answer_on(a, 40, COLS_SMALL, type, counts[k]);
                answer_on(a, 1000, COLS_SMALL, type, counts[k]);
            }
        answer_on(a, 16001, COLS_REAL, PK_F16, 1), answer_on(a, 16001, COLS_REAL, PK_I8, 40);
        answer_on(a, 32000, COLS_REAL, PK_F16, 8), answer_on(a, 32000, COLS_REAL, PK_F16, 256);
        answer_on(a, 32000, COLS_REAL, PK_I8, 5), answer_on(a, 4000, 1000, PK_F16, 70);
    }
    conclude();
}

/* a table of zeros, so that the bias alone decides */
static asking *only_bias(int a, int32_t vocab, int32_t rows, float (*bias_of)(int32_t token)) {
    asking *s = calloc(1, sizeof *s);
    s->values = calloc((size_t)vocab * COLS_SMALL, sizeof(float));
    s->table = matrix_of(&gpus[a], vocab, COLS_SMALL, PK_F16, s->values);
    seed = 1;
    s->hidden = random_rows(rows, COLS_SMALL, arithmetics[a], 2);
    float *bias = malloc((size_t)vocab * sizeof *bias);
    for (int32_t t = 0; t < vocab; t++) bias[t] = bias_of(t);
    s->bias.wide = (pk_weight){ bias, NULL, 1, vocab, PK_F32, true };
    ASSERT_OK(gpus[a].adopt(gpus[a].self, &s->bias.wide, &s->bias.device));
    return s;
}

static float tied(int32_t t) { return t == 3 || t == 700 || t == 16000 || t == 31999 ? 5 : 1; }
static float level(int32_t t) { return (float)(t % 3); }
static float extreme(int32_t t) { return t == 599 ? 1e4f : t == 5 ? -1e30f : -INFINITY; }

static void check_all(int a, asking *s) {
    answers all, alone;
    double *logits = malloc((size_t)s->table.host.rows * sizeof *logits);
    answer_twice(a, s, &all, &alone);
    check_alone(s, &all, &alone);
    for (int32_t i = 0; i < s->n; i++) check_question(a, s, i, &all, logits);
    /* the order of equal scores is part of the answer: here the tokens must be the very ones */
    for (int32_t i = 0; i < s->n; i++) {
        const pk_question *q = &s->question[i];
        int32_t            best = -1;
        logits_of(s, q->row, logits);
        for (int32_t k = 0; k < q->top_k; k++) {
            if (k == 0 || best >= 0)
                best = next_best(logits, s->table.host.rows, best, s->tokens + q->ban, q->n_ban);
            if (all.top[i * TOP + k].token == best) continue;
            COMPLAIN("question %d, best %d: token %d is not %d", i, k, all.top[i * TOP + k].token,
                     best);
            break;
        }
    }
    free(logits), free_answers(&all), free_answers(&alone), free_asking(s);
}

static void test_ties(void **state) {
    const int32_t ban[] = { 1, 31999 };
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (int32_t n = 1; n <= 40; n += 13) {
            NAME_CASE("%s, equal scores, %d questions", type_names[arithmetics[a]], n);
            reset_arena(a);
            asking *s = only_bias(a, 32000, n, tied);
            for (int32_t i = 0; i < n; i++)
                ask(s, (pk_question){ .row = i, .top_k = i % 2 ? 32 : 5, .n_ban = i % 3 }, ban,
                    NULL);
            check_all(a, s);
            reset_arena(a);
            s = only_bias(a, 1000, n, level);
            for (int32_t i = 0; i < n; i++)
                ask(s, (pk_question){ .row = i, .top_k = i % 4 ? 1 : 10, .n_ban = i % 2 }, ban,
                    NULL);
            check_all(a, s);
        }
    conclude();
}

/* more asked for than is allowed, everything banned, infinite logits */
static void test_few_left(void **state) {
    int32_t ban[40];
    (void)state;
    NEED_GPU();
    for (int32_t t = 0; t < 40; t++) ban[t] = t;
    for (int a = 0; a < ARITHMETICS; a++) {
        NAME_CASE("%s, few tokens left", type_names[arithmetics[a]]);
        reset_arena(a);
        asking *s = only_bias(a, 40, 3, level);
        ask(s, (pk_question){ .row = 0, .top_k = 10, .n_ban = 35, .n_target = 2, .log_sum = true },
            ban, ban);
        ask(s,
            (pk_question){
                .row = 1, .top_k = 2, .n_ban = 40, .log_sum = true, .renormalise = true },
            ban, NULL);
        ask(s,
            (pk_question){
                .row = 2, .top_k = 32, .n_ban = 35, .log_sum = true, .renormalise = true },
            ban, NULL);
        check_all(a, s);
        NAME_CASE("%s, infinite logits", type_names[arithmetics[a]]);
        reset_arena(a);
        s = only_bias(a, 600, 2, extreme);
        ask(s, (pk_question){ .row = 0, .top_k = 3, .log_sum = true }, NULL, NULL);
        ask(s, (pk_question){ .row = 1, .top_k = 1, .n_ban = 40 }, ban, NULL);
        check_all(a, s);
    }
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_few_left),
        cmocka_unit_test(test_answer),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
