/* train_trials.h - one case of an op of training, ready to be computed: inputs, outputs and
 * gradients in one block of memory, the op forwards, the op backwards.
 *
 * may_change says which numbers the op may write. Everything else (inputs, gaps between rows,
 * gradients that are not wanted) must have the same bits afterwards. Memory that an op sets
 * begins as NaN, gradients that it adds to begin with random numbers. */
#ifndef PK_TESTS_TRAIN_TRIALS_H
#define PK_TESTS_TRAIN_TRIALS_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "train_cases.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
enum { TRIAL_FLOATS = 2 << 20, TRIAL_INTS = 400, TRIAL_PARTS = 6 };
enum trial_fill { FILL_RANDOM, FILL_NAN };

static uint64_t     trial_seed;
static inline float uniform(void) { /* in [-1, 1) */
    trial_seed = trial_seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(trial_seed >> 32) * 0x1p-31f;
}

typedef struct trial_part { /* a tensor by name */
    const char *name;
    pk_tensor   t;
} trial_part;

typedef struct trial {
    float  *memory, *start; /* (TRIAL_FLOATS) now; before the op */
    bool   *may_change;     /* (TRIAL_FLOATS) */
    size_t  used;
    int32_t ints[5][TRIAL_INTS];
    float   weights[TRIAL_INTS];
    /* inputs whose gradients are checked; a gradient without data is not wanted */
    trial_part          in[TRIAL_PARTS];
    pk_tensor           d_in[TRIAL_PARTS];
    int32_t             n_in;
    trial_part          out[2]; /* what the op gives; the second may lack */
    pk_tensor           d_out, kept;
    const void         *c; /* the case */
    bool                with_gain;
    pk_drop             drop;
    pk_attention        see;
    pk_lesson_questions questions;
    double              sums[4]; /* of the loss */
    void (*forward)(struct trial *t, pk_backend *b);
    void (*backward)(struct trial *t, pk_backend *b);
} trial;

static inline float *trial_at(pk_tensor t, int32_t row, int32_t col) {
    return t.data + (size_t)row * (size_t)t.stride + (size_t)col;
}

static inline void trial_open(trial *t) {
    memset(t, 0, sizeof *t);
    t->memory = malloc(TRIAL_FLOATS * sizeof(float));
    t->start = malloc(TRIAL_FLOATS * sizeof(float));
    t->may_change = malloc(TRIAL_FLOATS);
}
static inline void trial_close(trial *t) { free(t->memory), free(t->start), free(t->may_change); }

/* forgets the last case; the next one has random numbers of its own */
static inline void trial_begin(trial *t, const void *c, int number, float drop) {
    trial empty = { .memory = t->memory, .start = t->start, .may_change = t->may_change };
    *t = empty;
    t->c = c;
    t->drop = (pk_drop){ drop, train_key + (uint64_t)number };
    trial_seed = (uint64_t)number * 7919 + 1;
}

static inline pk_tensor trial_take(trial *t, int32_t rows, int32_t cols, int32_t gap,
                                   enum trial_fill fill, bool may_change) {
    pk_tensor    m = { t->memory + t->used, rows, cols, cols + gap, PK_F32, 0 };
    const size_t n = (size_t)rows * (size_t)(cols + gap);
    assert_true(t->used + n <= TRIAL_FLOATS);
    memset(t->start + t->used, 0xff, n * sizeof(float));
    memset(t->may_change + t->used, 0, n);
    for (int32_t i = 0; i < rows; i++) {
        for (int32_t c = 0; c < cols; c++) {
            const size_t at = t->used + (size_t)i * (size_t)m.stride + (size_t)c;
            if (fill == FILL_RANDOM) t->start[at] = uniform();
            t->may_change[at] = may_change;
        }
    }
    t->used += n;
    return m;
}

/* a view of some columns */
static inline pk_tensor trial_columns(pk_tensor m, int32_t first, int32_t cols) {
    if (m.data) m.data += first;
    m.cols = cols;
    return m;
}

/* an input, and room for its gradient if that is wanted; added: the gradient has a value before */
static inline pk_tensor trial_input(trial *t, const char *name, int32_t rows, int32_t cols,
                                    int32_t gap, bool wanted, bool added) {
    const int32_t i = t->n_in++;
    t->in[i] = (trial_part){ name, trial_take(t, rows, cols, gap, FILL_RANDOM, false) };
    if (wanted) t->d_in[i] = trial_take(t, rows, cols, gap, added ? FILL_RANDOM : FILL_NAN, true);
    return t->in[i].t;
}

/* an output, and what its gradient is supposed to be */
static inline void trial_output(trial *t, const char *name, int32_t rows, int32_t cols,
                                int32_t gap) {
    t->out[0] = (trial_part){ name, trial_take(t, rows, cols, gap, FILL_NAN, true) };
    t->d_out = trial_take(t, rows, cols, gap ? gap + 1 : 0, FILL_RANDOM, false);
}

static inline pk_weight trial_weight(pk_tensor m) {
    return (pk_weight){ m.data, NULL, m.rows, m.cols, PK_F32, true };
}

/* both ops on one backend; fails where a number changed that the op may not write */
static inline void trial_run(trial *t, pk_backend *b) {
    memcpy(t->memory, t->start, t->used * sizeof(float));
    memset(t->sums, 0, sizeof t->sums);
    t->forward(t, b);
    t->backward(t, b);
    ASSERT_OK(b->status(b->self));
    for (size_t i = 0; i < t->used; i++)
        if (!t->may_change[i] && memcmp(&t->memory[i], &t->start[i], sizeof(float)))
            fail_msg("number %zu changed that is none of the op's", i);
}

/* ---- embed ---- */

static inline void embed_forward(trial *t, pk_backend *b) {
    const train_embed_case *c = t->c;
    const pk_weight         table = trial_weight(t->in[0].t), position = trial_weight(t->in[1].t);
    b->train->embed(b->self, t->out[0].t, &table, t->ints[0], c->scale,
                    c->positions ? &position : NULL, t->ints[1], t->drop);
}

static inline void embed_backward(trial *t, pk_backend *b) {
    const train_embed_case *c = t->c;
    b->train->embed_back(b->self, t->d_out, t->d_in[0].data, t->ints[0], c->scale, t->d_in[1].data,
                         t->ints[1], t->drop);
}

static inline void make_embed(trial *t, int number) {
    const train_embed_case *c = &train_embed_cases[number];
    trial_begin(t, c, number, c->drop);
    trial_input(t, "table", c->vocab, c->cols, 0, c->wants & WANT_FIRST, true);
    if (c->positions)
        trial_input(t, "positions", c->positions, c->cols, 0, c->wants & WANT_SECOND, true);
    for (int32_t i = 0; i < c->rows; i++) {
        t->ints[0][i] = i < 9 && i % 3 == 2 ? -1 : i * 5 % c->vocab;
        t->ints[1][i] = c->positions ? i % c->positions : 0;
    }
    trial_output(t, "embed", c->rows, c->cols, c->gap);
    t->forward = embed_forward, t->backward = embed_backward;
}

/* ---- product ---- */

static inline void product_forward(trial *t, pk_backend *b) {
    const train_product_case *c = t->c;
    const pk_weight           w = trial_weight(t->in[1].t), bias = trial_weight(t->in[2].t);
    b->train->product(b->self, t->out[0].t, t->in[0].t, &w, c->bias ? &bias : NULL);
}

static inline void product_backward(trial *t, pk_backend *b) {
    const train_product_case *c = t->c;
    const pk_weight           w = trial_weight(t->in[1].t);
    b->train->product_back(b->self, t->d_in[0], c->add, t->d_in[1].data, t->d_in[2].data, t->d_out,
                           t->in[0].t, &w);
}

static inline void make_product(trial *t, int number) {
    const train_product_case *c = &train_product_cases[number];
    trial_begin(t, c, number, 0);
    trial_input(t, "x", c->rows, c->cols, c->gap, c->wants & WANT_FIRST, c->add);
    trial_input(t, "w", c->outputs, c->cols, 0, c->wants & WANT_SECOND, true);
    if (c->bias) trial_input(t, "bias", 1, c->outputs, 0, c->wants & WANT_THIRD, true);
    trial_output(t, "product", c->rows, c->outputs, c->gap);
    t->forward = product_forward, t->backward = product_backward;
}

/* ---- activate ---- */

static inline void activate_forward(trial *t, pk_backend *b) {
    const train_activate_case *c = t->c;
    b->train->activate(b->self, t->out[0].t, t->in[0].t, c->act, t->drop);
}

static inline void activate_backward(trial *t, pk_backend *b) {
    const train_activate_case *c = t->c;
    b->train->activate_back(b->self, t->d_in[0], t->d_out, t->in[0].t, c->act, t->drop);
}

static inline void make_activate(trial *t, int number) {
    const train_activate_case *c = &train_activate_cases[number];
    trial_begin(t, c, number, c->drop);
    const pk_tensor x = trial_input(t, "x", c->rows, c->cols, c->gap, true, false);
    for (float *v = t->start + (x.data - t->memory), *end = t->start + t->used; v < end; v++)
        *v = fabsf(*v) < 0.05f ? 0.05f : 4 * *v; /* no finite difference across the bend of relu */
    trial_output(t, "activate", c->rows, c->cols, c->gap);
    t->forward = activate_forward, t->backward = activate_backward;
}

/* ---- add and norm ---- */

static inline void add_norm_forward(trial *t, pk_backend *b) {
    const pk_weight gain = trial_weight(t->in[2].t), shift = trial_weight(t->in[3].t);
    const bool      g = t->with_gain;
    b->train->add_norm(b->self, g ? t->out[1].t : t->out[0].t, g ? t->out[0].t : (pk_tensor){ 0 },
                       t->in[0].t, t->in[1].t, t->drop, g ? &gain : NULL, g ? &shift : NULL, 1e-5f,
                       t->kept.data);
}

static inline void add_norm_backward(trial *t, pk_backend *b) {
    const train_norm_case *c = t->c;
    const pk_weight        gain = trial_weight(t->in[2].t);
    b->train->add_norm_back(b->self, t->d_in[0], t->d_in[1], c->add, t->d_in[2].data,
                            t->d_in[3].data, t->d_out, t->with_gain ? t->out[1].t : t->out[0].t,
                            t->with_gain ? &gain : NULL, t->kept.data, t->drop);
}

static inline void make_add_or_norm(trial *t, int number, bool with_gain) {
    const train_norm_case *c = &train_norm_cases[number];
    trial_begin(t, c, number, c->drop);
    t->with_gain = with_gain;
    trial_input(t, "x", c->rows, c->cols, c->gap, c->wants & WANT_FIRST, false);
    trial_input(t, "residual", c->rows, c->cols, c->gap, c->wants & WANT_SECOND, c->add);
    if (with_gain) {
        trial_input(t, "gain", 1, c->cols, 0, c->wants & WANT_THIRD, true);
        trial_input(t, "shift", 1, c->cols, 0, c->wants & WANT_THIRD, true);
        t->kept = trial_take(t, c->rows, 2, 0, FILL_NAN, true);
        t->out[1] = (trial_part){ "sum", trial_take(t, c->rows, c->cols, c->gap, FILL_NAN, true) };
    }
    trial_output(t, with_gain ? "add and norm" : "add", c->rows, c->cols, c->gap);
    t->forward = add_norm_forward, t->backward = add_norm_backward;
}
static inline void make_add(trial *t, int number) { make_add_or_norm(t, number, false); }
static inline void make_add_norm(trial *t, int number) { make_add_or_norm(t, number, true); }

static inline void norm_forward(trial *t, pk_backend *b) {
    const pk_weight gain = trial_weight(t->in[1].t), shift = trial_weight(t->in[2].t);
    b->train->norm(b->self, t->out[0].t, t->in[0].t, &gain, &shift, 1e-5f, t->kept.data);
}

static inline void norm_backward(trial *t, pk_backend *b) {
    const train_norm_case *c = t->c;
    const pk_weight        gain = trial_weight(t->in[1].t);
    b->train->norm_back(b->self, t->d_in[0], c->add, t->d_in[1].data, t->d_in[2].data, t->d_out,
                        t->in[0].t, &gain, t->kept.data);
}

static inline void make_norm(trial *t, int number) {
    const train_norm_case *c = &train_norm_cases[number];
    trial_begin(t, c, number, 0);
    trial_input(t, "x", c->rows, c->cols, c->gap, c->wants & WANT_FIRST, c->add);
    trial_input(t, "gain", 1, c->cols, 0, c->wants & WANT_SECOND, true);
    trial_input(t, "shift", 1, c->cols, 0, c->wants & WANT_THIRD, true);
    t->kept = trial_take(t, c->rows, 2, 0, FILL_NAN, true);
    trial_output(t, "norm", c->rows, c->cols, c->gap);
    t->forward = norm_forward, t->backward = norm_backward;
}

/* ---- attend ---- */

static inline void attend_forward(trial *t, pk_backend *b) {
    b->train->attend(b->self, t->out[0].t, t->in[0].t, t->in[1].t, t->in[2].t, &t->see, t->drop,
                     t->kept.data);
}

static inline void attend_backward(trial *t, pk_backend *b) {
    b->train->attend_back(b->self, t->d_in[0], t->d_in[1], t->d_in[2], t->d_out, t->out[0].t,
                          t->in[0].t, t->in[1].t, t->in[2].t, &t->see, t->drop, t->kept.data);
}

static inline void make_attend(trial *t, int number) {
    static const char *const names[] = { "q", "k", "v" };
    const train_attend_case *c = &train_attend_cases[number];
    const int32_t            cols = c->heads * c->width;
    trial_begin(t, c, number, c->drop);
    train_see(c, t->ints[0], t->ints[1], t->ints[2], t->ints[3]);
    t->see = train_attention(c, t->ints[0], t->ints[1], t->ints[2], t->ints[3]);
    const int32_t queries = t->ints[0][c->n_segments], keys = t->ints[1][c->n_segments];
    if (c->fused) {
        const pk_tensor all = trial_take(t, queries, 3 * cols, 0, FILL_RANDOM, false);
        const pk_tensor d_all = trial_take(t, queries, 3 * cols, 0, FILL_NAN, true);
        for (t->n_in = 0; t->n_in < 3; t->n_in++) {
            t->in[t->n_in] =
                (trial_part){ names[t->n_in], trial_columns(all, t->n_in * cols, cols) };
            t->d_in[t->n_in] = trial_columns(d_all, t->n_in * cols, cols);
        }
    }
    for (int32_t i = t->n_in; i < 3; i++)
        trial_input(t, names[i], i ? keys : queries, cols, c->gap, c->wants >> i & 1, false);
    t->kept = trial_take(t, queries, c->heads, 0, FILL_NAN, true);
    trial_output(t, "attend", queries, cols, c->gap);
    t->forward = attend_forward, t->backward = attend_backward;
}

/* ---- loss ---- */

static inline void compute_loss(trial *t, pk_backend *b, bool learn) {
    const train_loss_case *c = t->c;
    const pk_weight        table = trial_weight(t->in[1].t), bias = trial_weight(t->in[2].t);
    pk_loss_sums           sums = { 0 };
    void *work = malloc(b->train->loss_bytes(b->self, c->questions, c->dim, c->table_rows));
    b->train->loss(b->self, t->in[0].t, &table, c->bias ? &bias : NULL, &t->questions, &sums,
                   c->best ? t->ints[4] : NULL, learn ? t->d_in[0] : (pk_tensor){ 0 },
                   learn ? t->d_in[1].data : NULL, learn ? t->d_in[2].data : NULL, work);
    free(work);
    const double all[4] = { sums.loss, sums.nll, sums.weight, sums.correct };
    memcpy(t->sums, all, sizeof all);
}
static inline void loss_forward(trial *t, pk_backend *b) { compute_loss(t, b, false); }
static inline void loss_backward(trial *t, pk_backend *b) { compute_loss(t, b, true); }

static inline void make_loss(trial *t, int number) {
    const train_loss_case *c = &train_loss_cases[number];
    trial_begin(t, c, number, 0);
    trial_input(t, "hidden", c->rows, c->dim, c->gap, c->wants & WANT_FIRST, false);
    trial_input(t, "table", c->table_rows, c->dim, 0, c->wants & WANT_SECOND, true);
    if (c->bias) trial_input(t, "bias", 1, c->table_rows, 0, c->wants & WANT_THIRD, true);
    for (int32_t i = 0; i < c->questions; i++) {
        t->ints[0][i] = train_question_row(c, i), t->ints[1][i] = train_target(c, i);
        t->weights[i] = train_weight(i);
    }
    t->questions =
        (pk_lesson_questions){ c->questions, c->rows == c->questions ? NULL : t->ints[0],
                               t->ints[1],   c->weights == WEIGHTS_NONE ? NULL : t->weights,
                               c->smoothing, c->vocab,
                               c->never };
    t->forward = loss_forward, t->backward = loss_backward;
}

/* every kind of op and how many cases it has */
static const struct trial_kind {
    const char *name;
    void (*make)(trial *t, int number);
    int n;
} trial_kinds[] = {
    { "embed", make_embed, COUNT(train_embed_cases) },
    { "product", make_product, COUNT(train_product_cases) },
    { "activate", make_activate, COUNT(train_activate_cases) },
    { "add", make_add, COUNT(train_norm_cases) },
    { "add and norm", make_add_norm, COUNT(train_norm_cases) },
    { "norm", make_norm, COUNT(train_norm_cases) },
    { "attend", make_attend, COUNT(train_attend_cases) },
    { "loss", make_loss, COUNT(train_loss_cases) },
};
#endif
