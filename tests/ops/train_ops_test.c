/* train_ops_test.c - the ops of training on the host.
 *
 * Mode grad: every gradient of `ref` against central finite differences of its own forward op: the
 *   inputs are moved by 1/128, J is a random linear functional of the output (or the loss itself),
 *   summed in double. Agreement within 5e-4 of the largest gradient of that input, plus 3e-5.
 * Mode same: the cpu backend, every instruction set, 1, 2 and 3 threads, against `ref` within 3e-5
 *   of the largest number of that array, plus 1e-6 (sums in another order), and with the same
 *   bits for any number of threads. */
#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "train_trials.h"

static pk_backend open_backend(const char *isa, int32_t threads) {
    pk_backend b;
    if (isa) setenv("PRONK_ISA", isa, 1);
    ASSERT_OK(pk_backend_open(isa ? "cpu" : "ref", threads, PK_F32, &b));
    unsetenv("PRONK_ISA");
    assert_non_null(b.train);
    ASSERT_OK(b.train->reserve(b.self, 400, 15000, 128));
    return b;
}

typedef void each_backend(pk_backend *b, int32_t threads, void *context);

static void on_every_backend(each_backend *call, void *context) {
    for (int32_t i = 0; pk_isa_available(i); i++) {
        for (int32_t threads = 1; threads <= 3; threads++) {
            pk_backend b = open_backend(pk_isa_available(i)->name, threads);
            call(&b, threads, context);
            pk_backend_close(&b);
        }
    }
}

/* ---- grad ---- */

/* J: the output times d_out, or the loss */
static double objective(const trial *t) {
    double sum = t->sums[0];
    if (!t->out[0].name) return sum;
    for (int32_t i = 0; i < t->d_out.rows; i++)
        for (int32_t c = 0; c < t->d_out.cols; c++)
            sum += (double)*trial_at(t->out[0].t, i, c) * *trial_at(t->d_out, i, c);
    return sum;
}

/* d J / d number */
static double difference(trial *t, pk_backend *ref, float *number) {
    const float before = *number, step = 0x1p-7f;
    *number = before + step;
    t->forward(t, ref);
    const double more = objective(t);
    *number = before - step;
    t->forward(t, ref);
    const double less = objective(t);
    *number = before;
    return (more - less) / (2 * (double)step);
}

static double largest(pk_tensor m) {
    double most = 0;
    for (int32_t i = 0; i < m.rows; i++)
        for (int32_t c = 0; c < m.cols; c++) most = fmax(most, fabs((double)*trial_at(m, i, c)));
    return most;
}

/* what the op added to number `at` of a gradient, or set it to */
static double gradient(const trial *t, const float *at) {
    const float before = t->start[at - t->memory];
    return (double)*at - (isnan(before) ? 0 : (double)before);
}

static void check_gradient(trial *t, pk_backend *ref, int32_t in, const char *kind, int number) {
    const pk_tensor x = t->in[in].t, d = t->d_in[in];
    const double    tolerance = 5e-4 * largest(d) + 3e-5;
    for (int32_t i = 0; i < x.rows; i++) {
        for (int32_t c = 0; c < x.cols; c++) {
            const double want = difference(t, ref, trial_at(x, i, c));
            const double got = gradient(t, trial_at(d, i, c));
            if (!(fabs(want - got) <= tolerance))
                fail_msg("%s, case %d: gradient of %s (%d, %d): %g is not %g", kind, number,
                         t->in[in].name, i, c, got, want);
        }
    }
}

static void test_gradients(void **state) {
    pk_backend ref = open_backend(NULL, 1);
    trial      t;
    (void)state;
    trial_open(&t);
    for (int k = 0; k < COUNT(trial_kinds); k++) {
        for (int number = 0; number < trial_kinds[k].n; number++) {
            size_t numbers = 0;
            trial_kinds[k].make(&t, number);
            for (int32_t i = 0; i < t.n_in; i++)
                numbers += (size_t)t.in[i].t.rows * (size_t)t.in[i].t.cols;
            if (numbers > TRAIN_SMALL) continue;
            trial_run(&t, &ref);
            for (int32_t i = 0; i < t.n_in; i++)
                if (t.d_in[i].data) check_gradient(&t, &ref, i, trial_kinds[k].name, number);
        }
    }
    trial_close(&t);
    pk_backend_close(&ref);
}

/* ---- same ---- */

typedef struct comparison {
    trial       t;
    float      *expected, *one; /* the memory after ref's ops, and after one thread's */
    double      sums[4], one_sums[4];
    int32_t     best[TRIAL_INTS];
    const char *kind;
    int         number;
} comparison;

static void check_part(const comparison *c, const pk_backend *b, pk_tensor got, const char *name,
                       const char *of) {
    pk_tensor want = got;
    if (!got.data) return;
    want.data = c->expected + (got.data - c->t.memory);
    const double tolerance = 3e-5 * largest(want) + 1e-6;
    for (int32_t i = 0; i < got.rows; i++) {
        for (int32_t col = 0; col < got.cols; col++) {
            const double x = (double)*trial_at(got, i, col), y = (double)*trial_at(want, i, col);
            if (x == y || fabs(x - y) <= tolerance) continue; /* both may be infinite */
            fail_msg("%s, case %d on %s: %s%s (%d, %d): %.9g is not %.9g", c->kind, c->number,
                     b->name, of, name, i, col, x, y);
        }
    }
}

static void like_ref(pk_backend *b, int32_t threads, void *context) {
    comparison  *c = context;
    trial       *t = &c->t;
    const size_t bytes = t->used * sizeof(float);
    trial_run(t, b);
    for (int i = 0; i < 2; i++) check_part(c, b, t->out[i].t, t->out[i].name, "");
    for (int32_t i = 0; i < t->n_in; i++)
        check_part(c, b, t->d_in[i], t->in[i].name, "gradient of ");
    check_part(c, b, t->kept, "what is kept", "");
    for (int i = 0; i < 4; i++)
        assert_true(fabs(t->sums[i] - c->sums[i]) <= 3e-5 * fabs(c->sums[i]) + 1e-6);
    assert_memory_equal(t->ints[4], c->best, sizeof c->best);
    if (threads == 1) {
        memcpy(c->one, t->memory, bytes);
        memcpy(c->one_sums, t->sums, sizeof t->sums);
    }
    if (memcmp(c->one, t->memory, bytes) || memcmp(c->one_sums, t->sums, sizeof t->sums))
        fail_msg("%s, case %d: %d threads give other bits than one", c->kind, c->number, threads);
}

static void test_same(void **state) {
    static comparison c;
    pk_backend        ref = open_backend(NULL, 1);
    (void)state;
    trial_open(&c.t);
    c.expected = malloc(TRIAL_FLOATS * sizeof(float)), c.one = malloc(TRIAL_FLOATS * sizeof(float));
    for (int k = 0; k < COUNT(trial_kinds); k++) {
        c.kind = trial_kinds[k].name;
        for (c.number = 0; c.number < trial_kinds[k].n; c.number++) {
            trial_kinds[k].make(&c.t, c.number);
            trial_run(&c.t, &ref);
            memcpy(c.expected, c.t.memory, c.t.used * sizeof(float));
            memcpy(c.sums, c.t.sums, sizeof c.sums);
            memcpy(c.best, c.t.ints[4], sizeof c.best);
            on_every_backend(like_ref, &c);
        }
    }
    free(c.expected), free(c.one), trial_close(&c.t);
    pk_backend_close(&ref);
}

/* ---- in place ---- */

/* the sum may overwrite x, and d_x may overwrite d_out */
static void add_norm_in_place(pk_backend *b, int32_t threads, void *context) {
    enum { ROWS = 70, COLS = 300, N = ROWS * COLS };
    float *block = malloc(5 * N * sizeof *block), moments[2 * ROWS], other[2 * ROWS], gains[COLS];
    pk_tensor       m[5];
    const pk_drop   drop = { 0.3f, train_key };
    const pk_weight gain = { gains, NULL, 1, COLS, PK_F32, true };
    (void)threads, (void)context;
    for (int i = 0; i < 5; i++) m[i] = (pk_tensor){ block + i * N, ROWS, COLS, COLS, PK_F32, 0 };
    for (int i = 0; i < N; i++) block[i] = uniform(), block[N + i] = uniform();
    for (int i = 0; i < COLS; i++) gains[i] = uniform();
    b->train->add_norm(b->self, m[2], m[3], m[0], m[1], drop, &gain, &gain, 1e-5f, moments);
    b->train->add_norm(b->self, m[0], m[4], m[0], m[1], drop, &gain, &gain, 1e-5f, other);
    assert_memory_equal(m[0].data, m[2].data, N * sizeof(float));
    assert_memory_equal(m[4].data, m[3].data, N * sizeof(float));
    assert_memory_equal(moments, other, sizeof moments);
    b->train->add_norm_back(b->self, m[4], m[0], false, NULL, NULL, m[3], m[2], &gain, moments,
                            drop);
    b->train->add_norm_back(b->self, m[3], m[1], false, NULL, NULL, m[3], m[2], &gain, moments,
                            drop);
    assert_memory_equal(m[4].data, m[3].data, N * sizeof(float));
    assert_memory_equal(m[0].data, m[1].data, N * sizeof(float));
    free(block);
}

static void test_in_place(void **state) {
    pk_backend ref = open_backend(NULL, 1);
    (void)state;
    add_norm_in_place(&ref, 1, NULL);
    pk_backend_close(&ref);
    on_every_backend(add_norm_in_place, NULL);
}

/* ---- the optimiser ---- */

typedef struct step_data { /* before and after one step */
    const train_update_case *c;
    float                   *master, *grad, *m, *v, *average, *one;
} step_data;

static step_data make_step(const train_update_case *c) {
    step_data d = { .c = c, .one = malloc(c->n * sizeof(float)) };
    float   **arrays[] = { &d.master, &d.grad, &d.m, &d.v, &d.average };
    trial_seed = c->n;
    for (int a = 0; a < COUNT(arrays); a++) {
        *arrays[a] = malloc(c->n * sizeof(float));
        for (size_t i = 0; i < c->n; i++) (*arrays[a])[i] = uniform();
    }
    for (size_t i = 0; i < c->n; i++) d.v[i] = fabsf(d.v[i]) + 0.01f;
    if (!c->finite) d.grad[c->n / 2] = NAN;
    return d;
}

static void free_step(step_data *d) {
    free(d->master), free(d->grad), free(d->m), free(d->v), free(d->average), free(d->one);
}

/* one number by the formula: Adam, decoupled decay, moving average */
static void check_number(const step_data *d, const pk_update *u, size_t i, double scale) {
    const double b1 = (double)u->beta1, b2 = (double)u->beta2, g = (double)d->grad[i] * scale;
    const double keep = (double)u->average_keep, w = (double)d->master[i];
    const double m = b1 * (double)d->m[i] + (1 - b1) * g;
    const double v = b2 * (double)d->v[i] + (1 - b2) * g * g;
    const double up = m / (1 - pow(b1, (double)u->step));
    const double down = sqrt(v / (1 - pow(b2, (double)u->step))) + (double)u->epsilon;
    const double next = w - (double)u->rate * ((double)u->decay * w + up / down);
    assert_true(fabs((double)u->m[i] - m) <= 1e-6);
    assert_true(fabs((double)u->v[i] - v) <= 1e-6);
    assert_true(fabs((double)u->master[i] - next) <= 1e-6);
    if (u->average)
        assert_true(
            fabs((double)u->average[i] - keep * (double)d->average[i] - (1 - keep) * next) <= 1e-6);
}

static float *copy_floats(const float *x, size_t n) {
    float *copy = malloc(n * sizeof *copy);
    memcpy(copy, x, n * sizeof *copy);
    return copy;
}

static void check_step(const step_data *d, const pk_update *u, int64_t skipped, int32_t threads) {
    const size_t bytes = u->n * sizeof(float);
    const double length = sqrt(*u->squares) / (double)u->total, clip = (double)u->clip;
    const double scale = (clip > 0 && length > clip ? clip / length : 1) / (double)u->total;
    assert_int_equal(skipped, d->c->finite ? 5 : 6);
    for (size_t i = 0; i < u->n; i++) {
        assert_true(u->grad[i] == 0);
        if (d->c->finite) check_number(d, u, i, scale);
    }
    if (!d->c->finite) {
        assert_memory_equal(u->master, d->master, bytes);
        assert_memory_equal(u->m, d->m, bytes);
        assert_memory_equal(u->v, d->v, bytes);
        assert_memory_equal(u->average, d->average, bytes);
    }
    if (threads == 1) memcpy(d->one, u->master, bytes);
    assert_memory_equal(d->one, u->master, bytes);
}

static void take_step(pk_backend *b, int32_t threads, void *context) {
    const step_data *d = context;
    const size_t     n = d->c->n;
    double           squares = 0, expected = 0;
    int64_t          skipped = 5;
    pk_update        u = { .n = n, .total = d->c->total, .clip = d->c->clip, .decay = d->c->decay };
    u.master = copy_floats(d->master, n), u.grad = copy_floats(d->grad, n);
    u.m = copy_floats(d->m, n), u.v = copy_floats(d->v, n);
    float *average = copy_floats(d->average, n);
    u.average = d->c->average ? average : NULL;
    u.weights = u.master, u.squares = &squares, u.skipped = &skipped;
    u.rate = 0.01f, u.beta1 = 0.9f, u.beta2 = 0.98f, u.epsilon = 1e-6f, u.average_keep = 0.9f;
    u.step = d->c->step;
    b->train->squares(b->self, u.grad, n, &squares);
    for (size_t i = 0; i < n; i++) expected += (double)d->grad[i] * (double)d->grad[i];
    if (d->c->finite) assert_true(fabs(squares - expected) <= 1e-6 * expected);
    b->train->update(b->self, &u);
    check_step(d, &u, skipped, threads);
    free(u.master), free(u.grad), free(u.m), free(u.v), free(average);
}

static void test_update(void **state) {
    pk_backend ref = open_backend(NULL, 1);
    (void)state;
    for (int i = 0; i < COUNT(train_update_cases); i++) {
        step_data d = make_step(&train_update_cases[i]);
        take_step(&ref, 1, &d);
        on_every_backend(take_step, &d);
        free_step(&d);
    }
    pk_backend_close(&ref);
}

/* Two steps of one number computed by hand: gradients 2 and 4 (of total 2: 1 and 2), rate 0.5. */
static void steps_by_hand(pk_backend *b, int32_t threads, void *context) {
    float     w = 1, g = 2, m = 0, v = 0, average = 1;
    double    squares = 4;
    int64_t   skipped = 0;
    pk_update u = { .n = 1, .master = &w, .grad = &g, .m = &m, .v = &v, .average = &average };
    (void)threads, (void)context;
    u.weights = &w, u.squares = &squares, u.skipped = &skipped, u.total = 2, u.rate = 0.5f;
    u.beta1 = 0.5f, u.beta2 = 0.75f, u.average_keep = 0.5f, u.step = 1;
    b->train->update(b->self, &u); /* both corrections give back 1: a whole step */
    assert_true(fabsf(m - 0.5f) < 1e-6f && fabsf(v - 0.25f) < 1e-6f && fabsf(w - 0.5f) < 1e-6f);
    assert_true(fabsf(average - 0.75f) < 1e-6f && g == 0);
    g = 4, squares = 16, u.clip = 1, u.step = 2, u.decay = 0.2f; /* clipped from 2 to 1 */
    b->train->update(b->self, &u);
    /* m = 0.75, v = 0.4375; corrected 1 and 1; 0.5 - 0.05 - 0.5 = -0.05 */
    assert_true(fabsf(m - 0.75f) < 1e-6f && fabsf(v - 0.4375f) < 1e-6f);
    assert_true(fabsf(w + 0.05f) < 1e-6f && fabsf(average - 0.35f) < 1e-6f);
    squares = INFINITY, g = 1;
    b->train->update(b->self, &u);
    assert_true(skipped == 1 && g == 0 && fabsf(w + 0.05f) < 1e-6f && fabsf(m - 0.75f) < 1e-6f);
    float copy = 9;
    b->train->round_weights(b->self, &copy, &w, 1);
    assert_true(copy == w);
    b->train->round_weights(b->self, &w, &w, 1);
    b->train->clear(b->self, &copy, sizeof copy);
    assert_true(copy == 0);
}

static void test_by_hand(void **state) {
    pk_backend ref = open_backend(NULL, 1);
    (void)state;
    steps_by_hand(&ref, 1, NULL);
    pk_backend_close(&ref);
    on_every_backend(steps_by_hand, NULL);
}

/* ---- limits ---- */

static pk_status open_and_reserve(void *user) {
    pk_backend b;
    (void)user;
    PK_TRY(pk_backend_open("cpu", 2, PK_F32, &b));
    const pk_status status = b.train->reserve(b.self, 10, 10, 10);
    pk_backend_close(&b);
    return status;
}

/* an op that asks for more than was reserved does nothing, and says so */
static void test_limits(void **state) {
    pk_backend b;
    trial      t;
    (void)state;
    assert_true(check_every_allocation(open_and_reserve, NULL) > 0);
    ASSERT_OK(pk_backend_open("cpu", 1, PK_F32, &b));
    trial_open(&t);
    make_product(&t, 1);
    memcpy(t.memory, t.start, t.used * sizeof(float));
    t.forward(&t, &b);
    ASSERT_STATUS(PK_ARGUMENT, b.status(b.self));
    assert_non_null(strstr(pk_last_error(), "reserved"));
    ASSERT_OK(b.train->reserve(b.self, 10, 10, 4));
    make_attend(&t, 1);
    memcpy(t.memory, t.start, t.used * sizeof(float));
    t.forward(&t, &b);
    assert_memory_equal(t.memory, t.start, t.used * sizeof(float));
    ASSERT_STATUS(PK_ARGUMENT, b.status(b.self));
    trial_close(&t);
    pk_backend_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_same),
        cmocka_unit_test(test_in_place),  cmocka_unit_test(test_update),
        cmocka_unit_test(test_by_hand),   cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
