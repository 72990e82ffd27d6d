/* cuda_steps_test.c - the cuda backend where tokens are found: answer, advance, repeat.
 *
 * Answers are compared with logits in double: scores within a small part of the largest logit,
 * lists in order, ties to the lower id; and bitwise with the same question asked alone. Steps that
 * follow one another must give the same one by one, recorded, and replayed with other contents.
 */
#include "cuda_help.h"

/* ---- answer ---- */

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

static bool same_float(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }

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

/* ---- advance ---- */

enum { MOST_ROWS = 300, MOST_STEPS = 24, EOS = 2 };

/* all that rows following their best tokens have; the same struct on the host and on the device */
typedef struct rows_state {
    int32_t   token[MOST_ROWS], pos[MOST_ROWS], slot[MOST_ROWS], count[MOST_ROWS];
    int32_t   first[MOST_ROWS], left[MOST_ROWS], n_found[MOST_ROWS];
    int32_t   index[MOST_ROWS * MOST_STEPS], live;
    pk_scored top[MOST_ROWS * 2], found[MOST_ROWS * MOST_STEPS];
    float     log_sum[MOST_ROWS];

    pk_follower follower[MOST_ROWS];
} rows_state;

/* how they follow; MIXED: some in pairs, some alone, and some not at all, which have no question */
typedef enum way { ALONE, STRIDES, PAIRS, MIXED, WAYS } way;
static const char *const way_names[] = { "alone", "strides", "pairs", "mixed" };

static pk_following following_of(rows_state *s, int32_t n, int32_t eos) {
    return (pk_following){ .n = n,
                           .eos = eos,
                           .token = s->token,
                           .pos = s->pos,
                           .slot = s->slot,
                           .count = s->count,
                           .first = s->first,
                           .index = s->index,
                           .follower = s->follower,
                           .left = s->left,
                           .top = s->top,
                           .top_stride = 2,
                           .log_sum = s->log_sum,
                           .n_found = s->n_found,
                           .found = s->found,
                           .live = &s->live };
}

static int32_t partner_of(way how, int32_t i, int32_t n) {
    const int32_t at = how == PAIRS ? i % 2 : how == MIXED ? i % 5 : 2;
    return at == 0 && i + 1 < n ? 1 : at == 1 ? -1 : 0;
}

static void start_rows(rows_state *s, int32_t n, int32_t vocab, int32_t most_left, way how,
                       bool sums) {
    int32_t questions = 0;
    memset(s, 0xff, sizeof *s);
    memset(s->follower, 0, sizeof s->follower);
    for (int32_t i = 0; i < MOST_ROWS * MOST_STEPS; i++) s->index[i] = below(5000);
    for (int32_t i = 0; i < n; i++) {
        const int32_t partner = partner_of(how, i, n);
        s->token[i] = below(vocab), s->pos[i] = below(4), s->slot[i] = below(100);
        s->first[i] = (partner < 0 ? i - 1 : i) * MOST_STEPS; /* a pair has one list */
        s->count[i] = partner ? 2 : 1, s->n_found[i] = 0;
        s->left[i] = (how == MIXED ? i % 5 == 3 : i % 7 == 6) ? 0 : 1 + below(most_left);
        if (partner < 0) s->left[i] = s->left[i - 1];
        if (s->left[i] == 0) continue;
        s->follower[i] = (pk_follower){ .question = how == MIXED ? questions++ : i,
                                        .partner = partner,
                                        .stride = how == STRIDES ? 1 + i % 3
                                                  : partner      ? 2
                                                                 : 1,
                                        .found = i * MOST_STEPS,
                                        .log_sum = how == MIXED ? i % 2 : sums };
    }
}

static void find_tokens(rows_state *s, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        s->top[2 * i] = (pk_scored){ below(12) - 1, uniform() }; /* -1: nothing was left */
        s->log_sum[i] = uniform();
    }
}

static void advance_on(int a, int32_t n, way how, bool sums) {
    pk_backend  *b = &gpus[a];
    rows_state  *host = malloc(sizeof *host), *back = malloc(sizeof *back);
    rows_state  *device = from_arena(a, sizeof *device);
    pk_following on_host = following_of(host, n, EOS), on_device = following_of(device, n, EOS);
    seed = (uint64_t)n;
    start_rows(host, n, 1000, MOST_STEPS - 4, how, sums);
    b->put(b->self, device, host, sizeof *host);
    settle(b);
    for (int step = 0; step < MOST_STEPS; step++) {
        NAME_CASE("%s, advance %d rows, %s, step %d", type_names[arithmetics[a]], n, way_names[how],
                  step);
        find_tokens(host, n);
        b->put(b->self, device->top, host->top, sizeof host->top);
        b->put(b->self, device->log_sum, host->log_sum, sizeof host->log_sum);
        ref.advance(ref.self, &on_host);
        b->advance(b->self, &on_device);
        b->get(b->self, back, device, sizeof *back);
        settle(b);
        if (back->live != host->live) COMPLAIN("live: %d is not %d", back->live, host->live);
        for (int32_t i = 0; i < n; i++)
            if (back->left[i] != host->left[i] || back->token[i] != host->token[i])
                COMPLAIN("row %d: left %d token %d, expected %d and %d", i, back->left[i],
                         back->token[i], host->left[i], host->token[i]);
        if (memcmp(back, host, sizeof *host)) COMPLAIN("the states differ");
    }
    free(host), free(back);
}

static void test_advance(void **state) {
    const int32_t counts[] = { 1, 8, 256, 300 };
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (int k = 0; k < COUNT(counts); k++)
            for (way how = ALONE; how < WAYS; how++) {
                reset_arena(a);
                advance_on(a, counts[k], how, k % 2), advance_on(a, counts[k], how, !(k % 2));
            }
    conclude();
}

/* ---- repeat ---- */

enum { FOLLOWERS = 8, FOLLOW_COLS = 64, FOLLOW_VOCAB = 1000, FOLLOW_STEPS = 20 };

typedef struct loop {
    int          a;
    rows_state  *state; /* the device's */
    array        hidden, counter, ones;
    matrix       table, position, bias, add;
    pk_following following;
    pk_answering answering;
} loop;

/* one step: feed, answer, move on; and one more is added to every column of the counter */
static void step(void *context) {
    loop          *l = context;
    pk_backend    *b = &gpus[l->a];
    const pk_after after = { .residual = l->counter.on };
    b->embed(b->self, l->hidden.on, &l->table.device, l->state->token, 2, &l->position.device,
             l->state->pos);
    b->linear(b->self, l->counter.on, l->ones.on, &l->add.device, &after);
    b->answer(b->self, l->hidden.on, &l->table.device, &l->bias.device, &l->answering);
    b->advance(b->self, &l->following);
}

static loop *make_loop(int a) {
    loop         *l = calloc(1, sizeof *l);
    pk_backend   *b = &gpus[a];
    pk_question   question[FOLLOWERS];
    float        *sixteenth = malloc(16 * 16 * sizeof *sixteenth);
    const int32_t none = 0;
    seed = 5;
    for (int i = 0; i < 16 * 16; i++) sixteenth[i] = 1 / 16.0f;
    for (int32_t i = 0; i < FOLLOWERS; i++)
        question[i] = (pk_question){ .row = i, .top_k = 1, .log_sum = true };
    l->a = a;
    l->table = random_matrix(b, FOLLOW_VOCAB, FOLLOW_COLS, PK_F16, NULL);
    l->position = random_plain(b, 64, FOLLOW_COLS), l->bias = random_plain(b, 1, FOLLOW_VOCAB);
    l->add = matrix_of(b, 16, 16, PK_F16, sixteenth);
    l->state = from_arena(a, sizeof *l->state);
    l->hidden = blank_array(a, FOLLOWERS, FOLLOW_COLS, 0, arithmetics[a]);
    l->counter = blank_array(a, 1, 16, 0, arithmetics[a]);
    for (int i = 0; i < 16; i++) sixteenth[i] = 1;
    l->ones = array_of(a, (pk_tensor){ sixteenth, 1, 16, 16, PK_F32 }, 0, arithmetics[a]);
    l->answering = (pk_answering){ .n = FOLLOWERS,
                                   .most_top_k = 1,
                                   .any_log_sum = true,
                                   .question = upload(a, question, sizeof question),
                                   .tokens = upload_ints(a, &none, 1),
                                   .top_stride = 2,
                                   .top = l->state->top,
                                   .log_sum = l->state->log_sum,
                                   .target_score = from_arena(a, 64) };
    free(sixteenth);
    return l;
}

static void free_loop(loop *l) {
    free(l->hidden.raw), free(l->counter.raw), free(l->ones.raw);
    free_matrix(&l->table), free_matrix(&l->position), free_matrix(&l->bias), free_matrix(&l->add);
    free(l);
}

/* uploads the start, computes (key 0: step by step from here), fetches the end; steps taken */
static int32_t run_loop(loop *l, const rows_state *start, uint64_t key, bool once,
                        rows_state *end) {
    pk_backend *b = &gpus[l->a];
    float       zeros[16] = { 0 };
    int32_t     live = 1;
    fill_array(&l->counter, (pk_tensor){ zeros, 1, 16, 16, PK_F32 });
    b->put(b->self, l->state, start, sizeof *start);
    if (key) b->repeat(b->self, key, FOLLOW_STEPS, once ? NULL : &l->state->live, step, l);
    for (int i = 0; !key && live > 0 && i < FOLLOW_STEPS; i++) {
        step(l);
        b->get(b->self, &live, &l->state->live, sizeof live);
        settle(b);
    }
    b->get(b->self, end, l->state, sizeof *end);
    settle(b);
    get_array(&l->counter);
    for (int32_t c = 1; c < 16; c++)
        if (number(&l->counter, 0, c) != number(&l->counter, 0, 0))
            COMPLAIN("the counter: %.9g is not %.9g", (double)number(&l->counter, 0, c),
                     (double)number(&l->counter, 0, 0));
    return (int32_t)number(&l->counter, 0, 0);
}

static void check_states(const rows_state *got, const rows_state *want, const char *what) {
    if (got->live != want->live) COMPLAIN("%s: live %d is not %d", what, got->live, want->live);
    for (int32_t i = 0; i < FOLLOWERS; i++) {
        const pk_scored *x = got->found + i * MOST_STEPS, *y = want->found + i * MOST_STEPS;
        if (got->n_found[i] != want->n_found[i] || got->slot[i] != want->slot[i] ||
            got->pos[i] != want->pos[i] || got->count[i] != want->count[i])
            COMPLAIN("%s: row %d: found %d slot %d pos %d count %d; expected %d, %d, %d, %d", what,
                     i, got->n_found[i], got->slot[i], got->pos[i], got->count[i], want->n_found[i],
                     want->slot[i], want->pos[i], want->count[i]);
        for (int32_t k = 0; k < want->n_found[i]; k++)
            if (x[k].token != y[k].token || !same_float(x[k].score, y[k].score)) {
                COMPLAIN("%s: row %d, step %d: %d %.9g is not %d %.9g", what, i, k, x[k].token,
                         (double)x[k].score, y[k].token, (double)y[k].score);
                break;
            }
    }
}

static void repeat_on(int a, way how) {
    rows_state *start = malloc(sizeof *start), *want = malloc(sizeof *want),
               *got = malloc(sizeof *got);
    NAME_CASE("%s, %s, the first steps", type_names[arithmetics[a]], way_names[how]);
    reset_arena(a);
    loop *l = make_loop(a);
    seed = 11;
    start_rows(start, FOLLOWERS, FOLLOW_VOCAB, 12, how, true);
    start->left[0] = start->left[1] = 12; /* they may be a pair */
    l->following = following_of(l->state, FOLLOWERS, -9);
    run_loop(l, start, 0, false, want);
    if (want->n_found[0] != 12) COMPLAIN("row 0 found %d tokens, not 12", want->n_found[0]);
    const int32_t eos = want->found[2].token; /* so row 0 will stop at the latest after 3 */
    l->following.eos = eos;
    for (int turn = 0; turn < 5; turn++) { /* as it is, recorded, replayed */
        NAME_CASE("%s, %s, repeat, repetition %d", type_names[arithmetics[a]], way_names[how],
                  turn);
        if (turn) start_rows(start, FOLLOWERS, FOLLOW_VOCAB, 3 * turn, how, true);
        const int32_t steps = run_loop(l, start, 0, false, want);
        const int32_t taken = run_loop(l, start, 77, false, got);
        if (turn == 0 && want->n_found[0] > 3) COMPLAIN("row 0 did not stop at its end");
        if (want->live != 0) COMPLAIN("%d rows still live", want->live);
        if (taken != steps) COMPLAIN("%d steps were taken, not %d", taken, steps);
        check_states(got, want, "repeat");
    }
    for (int turn = 0; turn < 4; turn++) {
        NAME_CASE("%s, once, repetition %d", type_names[arithmetics[a]], turn);
        start_rows(start, FOLLOWERS, FOLLOW_VOCAB, 5, how, true);
        const int32_t taken = run_loop(l, start, 78, true, got);
        if (taken != 1) COMPLAIN("%d steps were taken, not 1", taken);
        for (int32_t i = 0; i < FOLLOWERS; i++)
            if (got->n_found[i] != (start->left[i] > 0))
                COMPLAIN("row %d found %d tokens", i, got->n_found[i]);
    }
    free_loop(l), free(start), free(want), free(got);
}

static void test_repeat(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (way how = ALONE; how < MIXED; how++) repeat_on(a, how);
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advance),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_few_left), cmocka_unit_test(test_answer),
        cmocka_unit_test(test_repeat),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
