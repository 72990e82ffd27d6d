/* cuda_train_test.c - every op of training of the cuda backend against `ref`, case by case.
 *
 * A trial (train_trials.h) is computed by ref on the host and by the GPU on a mirror of its
 * memory: each number lies in one of two areas, that of the arithmetic's type or that of floats
 * (gradients of weights, moments, sums). Once all arrays start on 256 bytes, once one number
 * behind, so that the vector and the scalar form of every kernel are met. What an op may not
 * change must have the same bits. Skipped where there is no GPU. */
#include "cuda_train_help.h"

enum { MOST_ARRAYS = 3 * TRIAL_PARTS };

typedef struct mirror {
    int            a;
    size_t         n_arrays, first[MOST_ARRAYS], end[MOST_ARRAYS], at[MOST_ARRAYS], room;
    bool          *wide;    /* (TRIAL_FLOATS) by the host's number: lies with floats */
    unsigned char *sent[2]; /* the areas as they went: of the type; floats */
    char          *area[2]; /* on the device */
    int32_t       *ints[5]; /* on the device */
    float         *weights;
    pk_loss_sums  *sums;
    int32_t        best[TRIAL_INTS]; /* came back */
    double         found[4];
} mirror;

static bool is_weight(const char *name) {
    static const char *const names[] = { "table", "positions", "w", "bias", "gain", "shift" };
    for (int i = 0; i < COUNT(names); i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* ---- where things lie ---- */

static void add_range(mirror *m, const trial *t, pk_tensor x, bool wide) {
    if (!x.data || x.rows == 0) return;
    const size_t first = (size_t)(x.data - t->memory);
    const size_t end = first + (size_t)(x.rows - 1) * (size_t)x.stride + (size_t)x.cols;
    for (size_t i = first; i < end; i++) m->wide[i] = wide;
    for (size_t i = 0; i < m->n_arrays; i++) { /* views of one matrix are one array */
        if (first >= m->end[i] || end <= m->first[i]) continue;
        if (first < m->first[i]) m->first[i] = first;
        if (end > m->end[i]) m->end[i] = end;
        return;
    }
    m->first[m->n_arrays] = first, m->end[m->n_arrays++] = end;
}

static void find_ranges(mirror *m, const trial *t) {
    for (int32_t i = 0; i < t->n_in; i++) {
        add_range(m, t, t->in[i].t, false);
        add_range(m, t, t->d_in[i], is_weight(t->in[i].name));
    }
    for (int i = 0; i < 2; i++)
        if (t->out[i].name) add_range(m, t, t->out[i].t, false);
    add_range(m, t, t->d_out, false);
    add_range(m, t, t->kept, true);
}

static size_t offset_of(const mirror *m, size_t number) {
    for (size_t i = 0; i < m->n_arrays; i++)
        if (number >= m->first[i] && number < m->end[i]) return m->at[i] + number - m->first[i];
    fail_msg("%s: number %zu is in no array", label, number);
    return 0;
}

static pk_tensor there(const mirror *m, const trial *t, pk_tensor x) {
    if (!x.data) return (pk_tensor){ 0 };
    const size_t number = (size_t)(x.data - t->memory);
    const bool   wide = m->wide[number];
    x.type = wide ? PK_F32 : arithmetics[m->a];
    x.data = (float *)(void *)(m->area[wide] + offset_of(m, number) * pk_dtype_bytes(x.type));
    return x;
}

static pk_dtype area_type(const mirror *m, int area) { return area ? PK_F32 : arithmetics[m->a]; }

static void send_trial(mirror *m, const trial *t) {
    for (int area = 0; area < 2; area++) {
        const pk_dtype type = area_type(m, area);
        const size_t   bytes = m->room * pk_dtype_bytes(type);
        m->sent[area] = malloc(bytes);
        memset(m->sent[area], 0xff, bytes);
        for (size_t k = 0; k < m->n_arrays; k++)
            for (size_t i = m->first[k]; i < m->end[k]; i++)
                if (m->wide[i] == (bool)area)
                    write_numbers(m->sent[area] + offset_of(m, i) * pk_dtype_bytes(type),
                                  &t->start[i], 1, type);
        m->area[area] = upload(m->a, m->sent[area], bytes);
    }
    for (int i = 0; i < 5; i++) m->ints[i] = upload(m->a, t->ints[i], sizeof t->ints[i]);
    m->weights = upload(m->a, t->weights, sizeof t->weights);
    m->sums = zeros(m->a, sizeof *m->sums);
}

/* a mirror of the trial on a GPU, its arrays `behind` numbers behind an aligned address */
static mirror open_mirror(int a, const trial *t, size_t behind) {
    mirror m = { .a = a };
    arena_used = 0;
    m.wide = calloc(TRIAL_FLOATS, 1);
    find_ranges(&m, t);
    for (size_t i = 0; i < m.n_arrays; i++) {
        m.at[i] = m.room + behind;
        m.room += (m.end[i] - m.first[i] + behind + 127) / 64 * 64;
    }
    send_trial(&m, t);
    return m;
}

static void close_mirror(mirror *m) { free(m->wide), free(m->sent[0]), free(m->sent[1]); }

/* ---- the ops ---- */

/* the trial with its arrays on the device; its lists of integers stay the host's */
static trial trial_there(const mirror *m, const trial *t) {
    trial g = *t;
    for (int32_t i = 0; i < t->n_in; i++) {
        g.in[i].t = there(m, t, t->in[i].t);
        g.d_in[i] = there(m, t, t->d_in[i]);
    }
    for (int i = 0; i < 2; i++) g.out[i].t = there(m, t, t->out[i].t);
    g.d_out = there(m, t, t->d_out), g.kept = there(m, t, t->kept);
    if (t->see.heads) {
        g.see.query_segment = m->ints[0], g.see.key_segment = m->ints[1];
        g.see.first = m->ints[2], g.see.count = m->ints[3];
    }
    return g;
}

static void embed_on_device(const mirror *m, const trial *g) {
    const train_embed_case *c = g->c;
    const pk_training      *train = gpus[m->a].train;
    void                   *self = gpus[m->a].self;
    const pk_weight         table = trial_weight(g->in[0].t), position = trial_weight(g->in[1].t);
    train->embed(self, g->out[0].t, &table, m->ints[0], c->scale, c->positions ? &position : NULL,
                 m->ints[1], g->drop);
    train->embed_back(self, g->d_out, g->d_in[0].data, m->ints[0], c->scale, g->d_in[1].data,
                      m->ints[1], g->drop);
}

static void loss_on_device(mirror *m, const trial *g) {
    const train_loss_case *c = g->c;
    const pk_training     *train = gpus[m->a].train;
    void                  *self = gpus[m->a].self;
    const pk_weight        table = trial_weight(g->in[1].t), bias = trial_weight(g->in[2].t);
    pk_lesson_questions    q = g->questions;
    void *work = fresh(m->a, train->loss_bytes(self, c->questions, c->dim, c->table_rows));
    q.row = q.row ? m->ints[0] : NULL, q.target = m->ints[1];
    q.weight = q.weight ? m->weights : NULL;
    train->loss(self, g->in[0].t, &table, c->bias ? &bias : NULL, &q, m->sums,
                c->best ? m->ints[4] : NULL, g->d_in[0], g->d_in[1].data, g->d_in[2].data, work);
    gpus[m->a].get(self, m->found, m->sums, sizeof m->found);
    gpus[m->a].get(self, m->best, m->ints[4], sizeof m->best);
    settle(m->a);
}

/* ---- comparing ---- */

static double largest_of(const mirror *m, const trial *t, size_t k) {
    double most = 0;
    for (size_t i = m->first[k]; i < m->end[k]; i++)
        if (t->may_change[i] && isfinite(t->memory[i]))
            most = fmax(most, fabs((double)t->memory[i]));
    return most;
}

/* The numbers of array k; those that may change are compared and then made what was sent, so that
 * afterwards all must be as sent. */
static void check_changed(const mirror *m, const trial *t, size_t k, unsigned char *const came[2]) {
    const double near = tolerances[m->a] * (largest_of(m, t, k) + 0.1);
    bool         good = true;
    for (size_t i = m->first[k]; i < m->end[k]; i++) {
        const int    area = m->wide[i];
        const size_t each = pk_dtype_bytes(area_type(m, area)), at = offset_of(m, i) * each;
        float        got;
        if (!t->may_change[i]) continue;
        read_numbers(&got, came[area] + at, 1, area_type(m, area));
        memcpy(came[area] + at, m->sent[area] + at, each);
        if (!isfinite(t->memory[i]) && isfinite(got)) continue; /* the sum of nothing */
        if (good && !(fabs((double)got - (double)t->memory[i]) <= near))
            COMPLAIN("array %zu, number %zu: %.9g is not %.9g", k, i - m->first[k], (double)got,
                     (double)t->memory[i]);
        good = good && fabs((double)got - (double)t->memory[i]) <= near;
    }
}

static void check_mirror(const mirror *m, const trial *t) {
    unsigned char *came[2];
    for (int area = 0; area < 2; area++) {
        const size_t bytes = m->room * pk_dtype_bytes(area_type(m, area));
        came[area] = malloc(bytes);
        gpus[m->a].get(gpus[m->a].self, came[area], m->area[area], bytes);
    }
    settle(m->a);
    for (size_t k = 0; k < m->n_arrays; k++) check_changed(m, t, k, came);
    for (int area = 0; area < 2; area++) {
        const size_t bytes = m->room * pk_dtype_bytes(area_type(m, area));
        if (memcmp(came[area], m->sent[area], bytes))
            COMPLAIN("numbers changed that are none of the op's (%s)", area ? "floats" : "type");
        free(came[area]);
    }
}

/* what ref thinks of a token as an answer */
static double logit_of(const trial *t, int32_t question, int32_t token) {
    const train_loss_case *c = t->c;
    const int32_t          row = t->questions.row ? t->questions.row[question] : question;
    double                 sum = c->bias ? (double)*trial_at(t->in[2].t, 0, token) : 0;
    for (int32_t i = 0; i < c->dim; i++)
        sum += (double)*trial_at(t->in[0].t, row, i) * (double)*trial_at(t->in[1].t, token, i);
    return sum;
}

static void check_loss(const mirror *m, const trial *t) {
    const train_loss_case *c = t->c;
    for (int i = 0; i < (m->a ? 3 : 4); i++) /* 16-bit logits have other ties: correct may differ */
        if (!(fabs(m->found[i] - t->sums[i]) <= tolerances[m->a] * (fabs(t->sums[i]) + 1)))
            COMPLAIN("sum %d: %.9g is not %.9g", i, m->found[i], t->sums[i]);
    for (int32_t i = 0; c->best && i < c->questions; i++) {
        const int32_t got = m->best[i], want = t->ints[4][i];
        if (got == want) continue;
        if (got < 0 || got >= c->vocab || got == c->never ||
            logit_of(t, i, got) < logit_of(t, i, want) - (m->a ? 0.1 : 1e-5)) {
            COMPLAIN("question %d: the best token is %d, not %d", i, want, got);
            return;
        }
    }
}

/* ---- tests ---- */

/* a row of few numbers may be all but constant, and then its norm shows their rounding alone */
static bool too_coarse(int a, const struct trial_kind *kind, const trial *t) {
    return arithmetics[a] == PK_BF16 && strstr(kind->name, "norm") && t->in[0].t.cols < 16;
}

static void check_on(int a, const struct trial_kind *kind, trial *t, int number, size_t behind) {
    NAME_CASE("%s, %s, case %d%s", type_names[a], kind->name, number, behind ? ", unaligned" : "");
    mirror m = open_mirror(a, t, behind);
    trial  g = trial_there(&m, t);
    if (!strcmp(kind->name, "embed")) {
        embed_on_device(&m, &g);
    } else if (!strcmp(kind->name, "loss")) {
        loss_on_device(&m, &g);
        check_loss(&m, t);
    } else {
        g.forward(&g, &gpus[a]);
        g.backward(&g, &gpus[a]);
    }
    settle(a);
    check_mirror(&m, t);
    close_mirror(&m);
}

static void check_kind(const char *name) {
    trial t;
    trial_open(&t);
    for (int k = 0; k < COUNT(trial_kinds); k++) {
        if (strcmp(trial_kinds[k].name, name)) continue;
        for (int number = 0; number < trial_kinds[k].n; number++)
            for (int a = 0; a < ARITHMETICS; a++) {
                trial_kinds[k].make(&t, number);
                if (too_coarse(a, &trial_kinds[k], &t)) continue;
                for (size_t i = 0; i < t.used; i++)
                    t.start[i] = rounded(t.start[i], arithmetics[a]);
                trial_run(&t, &ref);
                for (size_t behind = 0; behind < 2; behind++)
                    check_on(a, &trial_kinds[k], &t, number, behind);
            }
    }
    trial_close(&t);
    conclude();
}

#define TEST_KIND(function, name)        \
    static void function(void **state) { \
        (void)state;                     \
        NEED_GPU();                      \
        check_kind(name);                \
    }
TEST_KIND(test_embed, "embed")
TEST_KIND(test_product, "product")
TEST_KIND(test_activate, "activate")
TEST_KIND(test_add, "add")
TEST_KIND(test_add_and_norm, "add and norm")
TEST_KIND(test_norm, "norm")
TEST_KIND(test_attend, "attend")
TEST_KIND(test_loss, "loss")

/* ---- squares and update ---- */

typedef struct step_arrays { /* master, gradient, m, v, average */
    float *host[5], *device[5];
} step_arrays;

static void check_update_on(int a, const train_update_case *c, step_arrays *s, pk_update *u) {
    const pk_training *train = gpus[a].train;
    void              *self = gpus[a].self;
    const bool         same = arithmetics[a] == PK_F32;
    pk_update          g = *u;
    int64_t            skipped = -1;
    NAME_CASE("%s, update of %zu, step %lld", type_names[a], c->n, (long long)c->step);
    double *squares = zeros(a, 2 * sizeof *squares);
    g.squares = squares, g.skipped = (int64_t *)(void *)(squares + 1);
    g.master = s->device[0], g.grad = s->device[1], g.m = s->device[2], g.v = s->device[3];
    g.average = c->average ? s->device[4] : NULL;
    g.weights = same ? (void *)g.master : upload_numbers(a, s->host[0], c->n, PK_BF16);
    if (!same) train->round_weights(self, g.weights, g.master, c->n);
    train->squares(self, g.grad, c->n, squares);
    train->update(self, &g);
    gpus[a].get(self, &skipped, g.skipped, sizeof skipped);
    settle(a);
    ref.train->squares(ref.self, u->grad, c->n, (double *)(uintptr_t)u->squares);
    ref.train->update(ref.self, u);
    if (skipped != *u->skipped) COMPLAIN("%lld were skipped", (long long)skipped);
    for (int i = 0; i < 5; i++) { /* steps are small: what matters is their own size */
        float *got = download(a, s->device[i], c->n, PK_F32);
        for (size_t k = 0; k < c->n; k++)
            if (!(fabsf(got[k] - s->host[i][k]) <= 1e-6f + 1e-5f * fabsf(s->host[i][k]))) {
                COMPLAIN("array %d: number %zu: %.9g is not %.9g", i, k, (double)got[k],
                         (double)s->host[i][k]);
                break;
            }
        free(got);
    }
    if (!same) check_array(a, g.weights, PK_BF16, s->host[0], c->n, "weights");
}

static void check_update(int a, const train_update_case *c) {
    step_arrays s;
    double      squares = 0;
    int64_t     skipped = 0;
    arena_used = 0;
    trial_seed = c->n;
    for (int i = 0; i < 5; i++) {
        s.host[i] = random_numbers(c->n, 1);
        for (size_t k = 0; i == 3 && k < c->n; k++) s.host[i][k] = fabsf(s.host[i][k]);
    }
    if (!c->finite) s.host[1][c->n / 2] = NAN;
    for (int i = 0; i < 5; i++) s.device[i] = upload_numbers(a, s.host[i], c->n, PK_F32);
    pk_update u = { .n = c->n,
                    .master = s.host[0],
                    .grad = s.host[1],
                    .m = s.host[2],
                    .v = s.host[3],
                    .average = c->average ? s.host[4] : NULL,
                    .weights = s.host[0],
                    .squares = &squares,
                    .skipped = &skipped,
                    .total = c->total,
                    .rate = 1e-2f,
                    .beta1 = 0.9f,
                    .beta2 = 0.98f,
                    .epsilon = 1e-9f,
                    .decay = c->decay,
                    .clip = c->clip,
                    .average_keep = 0.99f,
                    .step = c->step };
    check_update_on(a, c, &s, &u);
    for (int i = 0; i < 5; i++) free(s.host[i]);
}

static void test_update(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (int i = 0; i < COUNT(train_update_cases); i++) check_update(a, &train_update_cases[i]);
    conclude();
}

/* One rank linked with itself, as far as one GPU goes: sums of several slices leave the numbers as
 * they are, wait for the op before them, and are waited for by the op after them. */
static void test_link(void **state) {
    enum { N = 3000000, SLICE = 1 << 20 };
    const pk_training *train = gpus[0].train;
    void              *self = gpus[0].self;
    unsigned char      id[PK_LINK_BYTES];
    double             squares = -1;
    (void)state;
    NEED_GPU();
    NAME_CASE("a rank linked with itself");
    arena_used = 0;
    if (train->link_id(self, id) == PK_UNSUPPORTED) {
        print_message("no NCCL to test: %s\n", pk_last_error());
        skip();
    }
    if (train->link(self, 1, 0, id) != PK_OK) fail_msg("%s", pk_last_error());
    float  *x = zeros(0, N * sizeof *x);
    float  *ones = malloc(N * sizeof *ones);
    double *sum = zeros(0, sizeof *sum);
    for (size_t i = 0; i < N; i++) ones[i] = i % 2 ? 1 : -1;
    gpus[0].put(self, x, ones, N * sizeof *ones);
    for (size_t i = 0; i < N; i += SLICE)
        train->sum_linked(self, x + i, i + SLICE < N ? SLICE : N - i);
    train->wait_linked(self);
    train->squares(self, x, N, sum);
    gpus[0].get(self, &squares, sum, sizeof squares);
    settle(0);
    if (squares != N) COMPLAIN("the squares add up to %.17g", squares);
    check_array(0, x, PK_F32, ones, N, "summed over one rank");
    free(ones);
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed),        cmocka_unit_test(test_product),
        cmocka_unit_test(test_activate),     cmocka_unit_test(test_add),
        cmocka_unit_test(test_add_and_norm), cmocka_unit_test(test_norm),
        cmocka_unit_test(test_attend),       cmocka_unit_test(test_loss),
        cmocka_unit_test(test_update),       cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
