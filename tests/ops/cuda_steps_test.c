/* cuda_steps_test.c - the cuda backend where rows follow their own best tokens: advance, repeat.
 *
 * Steps that follow one another must give the same one by one, recorded, and replayed with other
 * contents. */
#include "cuda_help.h"

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
        cmocka_unit_test(test_advance),
        cmocka_unit_test(test_repeat),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
