/* tape_test.c - the gradient of a whole network against finite differences of its own loss; the
 * same key gives the same numbers; gradients are final when the tape says so; what is frozen lies
 * behind what learns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "teach.h"
#include "tiny_network.h"

static const int32_t        a[] = { 5, 9, 33, 0 }, b[] = { 7, 0 }, c[] = { 12, 31, 8, 39, 21, 0 };
static const int32_t        a_in[] = { -1, 4, 8, 15 }, a_out[] = { 4, 8, 15, 0 };
static const int32_t        b_in[] = { -1, 11, 11, 30, 2 }, b_out[] = { 11, 11, 30, 2, 0 };
static const int32_t        c_in[] = { -1 }, c_out[] = { 0 };
static const teach_sentence sentences[] = { { a, a_in, a_out, 4, 4 },
                                            { b, b_in, b_out, 2, 5 },
                                            { c, c_in, c_out, 6, 1 } };
enum { N_SENTENCES = 3, N_TOKENS = 10 };

typedef struct shape { /* what differs from tiny_config() */
    const char           *name;
    int32_t               act;
    bool                  pre, embed_norm, share, tie;
    pk_parameters_options options;
    pk_dropout            dropout;
    float                 smoothing;
} shape;

static const shape shapes[] = {
    { "post, swish", PK_SWISH, false, false, true, true, { .seed = 1 }, { 0 }, 0.1f },
    { "pre, relu, apart, dropout",
      PK_RELU,
      true,
      false,
      false,
      false,
      { .seed = 2, .learn_output_bias = true },
      { 0.2f, 0.2f, 0.2f, 0.2f },
      0 },
    { "post, gelu, all norms, learned positions",
      PK_GELU,
      false,
      true,
      false,
      true,
      { .seed = 3, .learn_positions = true },
      { .residual = 0.1f },
      0.2f },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static pk_config config_of(const shape *s) {
    pk_config config = tiny_config();
    config.act = s->act;
    config.pre_norm = config.final_norm = s->pre;
    config.embed_norm = s->embed_norm;
    config.share_embeddings = s->share;
    config.tie_output = s->tie;
    return config;
}

static void open_on(const char *device, const shape *s, teach *t) {
    const pk_config config = config_of(s);
    if (teach_open(device, 1, PK_F32, &config, &s->options, t)) fail_msg("%s", pk_last_error());
}

static double loss_of(teach *t, const shape *s, bool learn) {
    const teach_how how = { s->dropout, 77, s->smoothing, learn, NULL, NULL };
    pk_loss_sums    sums;
    if (teach_run(t, sentences, N_SENTENCES, &how, &sums)) fail_msg("%s", pk_last_error());
    assert_true(sums.weight == N_TOKENS);
    return sums.loss;
}

/* the derivative of the loss in one weight, by moving it a little both ways */
static double slope(teach *t, const shape *s, size_t at) {
    const float step = 4e-3f, was = t->p.master[at];
    t->p.master[at] = was + step;
    const double up = loss_of(t, s, false);
    t->p.master[at] = was - step;
    const double down = loss_of(t, s, false);
    t->p.master[at] = was;
    return (up - down) / (2 * (double)step);
}

static void check_parameter(teach *t, const shape *s, const pk_parameter *p, uint64_t *seed) {
    for (int i = 0; i < 3; i++) {
        const size_t n = (size_t)p->rows * (size_t)p->cols;
        const size_t at = p->first + (size_t)((tiny_random(seed) + 1) / 2 * (float)n) % n;
        const double want = slope(t, s, at), got = t->p.grad[at];
        if (!(fabs(want - got) <= 0.02 + 0.02 * fabs(want)))
            fail_msg("%s, %s[%zu]: %g by the tape, %g by differences", s->name, p->name,
                     at - p->first, got, want);
    }
}

static void gradient_is_the_slope(void **state) {
    uint64_t seed = 5;
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        teach t;
        open_on("ref", &shapes[i], &t);
        loss_of(&t, &shapes[i], true);
        for (size_t j = 0; j < t.p.n_list; j++)
            if (t.p.list[j].learned) check_parameter(&t, &shapes[i], &t.p.list[j], &seed);
        teach_close(&t);
    }
}

static void cpu_as_ref(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        teach  t[2];
        double loss[2], most = 0;
        open_on("ref", &shapes[i], &t[0]);
        open_on("cpu", &shapes[i], &t[1]);
        assert_int_equal(t[0].p.n, t[1].p.n);
        for (size_t j = 0; j < 2; j++) loss[j] = loss_of(&t[j], &shapes[i], true);
        assert_true(fabs(loss[0] - loss[1]) < 1e-4 * loss[0]);
        for (size_t j = 0; j < t[0].p.n; j++) {
            const double off = fabs((double)t[0].p.grad[j] - (double)t[1].p.grad[j]);
            if (!(off <= most)) most = off;
        }
        assert_true(most < 1e-3);
        teach_close(&t[0]);
        teach_close(&t[1]);
    }
}

/* twice the same: the gradients add up, and dropout is a function of the key */
static void repeats(void **state) {
    teach t;
    (void)state;
    open_on("cpu", &shapes[1], &t);
    const double first = loss_of(&t, &shapes[1], true);
    float       *once = calloc(t.p.n, sizeof *once);
    memcpy(once, t.p.grad, t.p.n * sizeof *once);
    assert_true(first == loss_of(&t, &shapes[1], true));
    for (size_t i = 0; i < t.p.n; i++)
        assert_true(fabsf(t.p.grad[i] - 2 * once[i]) <= 1e-5f + 1e-4f * fabsf(once[i]));
    free(once);
    teach_close(&t);
}

typedef struct watch { /* gradients as they were when they were reported as final */
    const teach *t;
    float       *final;
    size_t       reported;
    int          calls;
} watch;

static void keep_final(void *user, size_t first) {
    watch *w = user;
    assert_true(first < w->reported);
    memcpy(w->final + first, w->t->p.grad + first, (w->reported - first) * sizeof *w->final);
    w->reported = first;
    w->calls++;
}

static void gradients_are_final_when_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        teach        t;
        pk_loss_sums sums;
        open_on("cpu", &shapes[i], &t);
        watch           w = { &t, calloc(t.p.n, sizeof(float)), t.p.n, 0 };
        const teach_how how = { shapes[i].dropout, 77, shapes[i].smoothing, true, keep_final, &w };
        assert_int_equal(teach_run(&t, sentences, N_SENTENCES, &how, &sums), PK_OK);
        assert_int_equal(w.reported, 0);
        assert_true(w.calls > 4); /* layer by layer, not all at the end */
        assert_memory_equal(w.final, t.p.grad, t.p.n * sizeof *w.final);
        free(w.final);
        teach_close(&t);
    }
}

static void frozen_weights_have_no_gradient(void **state) {
    static const char *const freeze[] = { "encoder.*", "source_embed" };
    const pk_config          config = config_of(&shapes[1]);
    teach                    t;
    (void)state;
    const pk_parameters_options options = { .freeze = freeze, .n_freeze = 2 };
    if (teach_open("cpu", 1, PK_F32, &config, &options, &t)) fail_msg("%s", pk_last_error());
    loss_of(&t, &shapes[1], true);
    double size = 0; /* what is left still learns */
    for (size_t i = 0; i < t.p.n; i++) size += fabs((double)t.p.grad[i]);
    assert_true(isfinite(size) && size > 0);
    for (size_t i = 0; i < t.p.n_list; i++) {
        const pk_parameter *p = &t.p.list[i];
        const bool wanted = strncmp(p->name, "encoder.", 8) != 0 && strcmp(p->name, "source_embed");
        if (!wanted) assert_false(p->learned);
        if (p->learned) assert_true(p->first + (size_t)p->rows * (size_t)p->cols <= t.p.n);
        if (!p->learned) assert_true(p->first >= t.p.n);
    }
    teach_close(&t);
}

/* ---- the way back ends where nothing learns ---- */

static const pk_training *counted; /* the device's own */
static int                n_back, n_unwanted, n_embedded;

static void count_product(void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias,
                          pk_tensor d_out, pk_tensor x, const pk_weight *w) {
    n_back++;
    n_unwanted += !d_x.data;
    counted->product_back(self, d_x, add, d_w, d_bias, d_out, x, w);
}

static void count_attend(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                         pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                         const pk_attention *see, pk_drop drop, const float *sums) {
    n_back++;
    counted->attend_back(self, d_q, d_k, d_v, d_out, out, q, k, v, see, drop, sums);
}

static void count_embed(void *self, pk_tensor d_out, float *d_table, const int32_t *token,
                        float scale, float *d_position, const int32_t *pos, pk_drop drop) {
    n_embedded++;
    counted->embed_back(self, d_out, d_table, token, scale, d_position, pos, drop);
}

/* opens with these frozen, and counts what a pass back calls */
static void learn_counted(teach *t, const pk_config *config, const char *const *freeze, size_t n) {
    const pk_parameters_options options = { .seed = 2, .freeze = freeze, .n_freeze = n };
    pk_training                 counting;
    if (teach_open("ref", 1, PK_F32, config, &options, t)) fail_msg("%s", pk_last_error());
    counted = t->on.train;
    counting = *counted;
    counting.product_back = count_product;
    counting.attend_back = count_attend;
    counting.embed_back = count_embed;
    t->on.train = &counting;
    n_back = n_unwanted = n_embedded = 0;
    loss_of(t, &shapes[1], true);
    t->on.train = counted;
}

/* the gradients of what learns are the same numbers, with fewer ops */
static void assert_same_gradients(const teach *all, const teach *some) {
    for (size_t i = 0; i < some->p.n_list; i++) {
        const pk_parameter *x = &some->p.list[i], *y = &all->p.list[i];
        const size_t        n = (size_t)x->rows * (size_t)x->cols - x->frozen;
        if (!x->learned) continue;
        assert_memory_equal(some->p.grad + x->first + x->frozen, all->p.grad + y->first + x->frozen,
                            n * sizeof(float));
    }
}

static void the_way_back_ends_where_nothing_learns(void **state) {
    static const char *const encoder[] = { "encoder*", "source_embed" };
    static const char *const lower[] = { "encoder*", "*_embed", "decoder.0.*" };
    static const char *const text[] = { "encoder*", "text_tokens" };
    pk_config                config = config_of(&shapes[1]);
    teach                    all, some;
    (void)state;
    learn_counted(&all, &config, NULL, 0); /* a layer: 4 and 1, 7 and 2 */
    assert_int_equal(n_back, 2 * 5 + 2 * 9);
    assert_int_equal(n_embedded, 2);
    learn_counted(&some, &config, encoder, 2);
    assert_int_equal(n_back, 2 * 9);
    assert_int_equal(n_unwanted, 2); /* keys and values of the source, in each layer */
    assert_int_equal(n_embedded, 1);
    assert_same_gradients(&all, &some);
    teach_close(&some);
    learn_counted(&some, &config, lower, 3);
    assert_int_equal(n_back, 9);
    assert_int_equal(n_embedded, 0);
    assert_same_gradients(&all, &some);
    teach_close(&some);
    teach_close(&all);
    config.share_embeddings = config.tie_output = 1; /* a source has text alone */
    config.source_vocab = config.target_vocab = 70, config.n_text = 40;
    learn_counted(&all, &config, NULL, 0);
    learn_counted(&some, &config, text, 2);
    assert_int_equal(n_back, 2 * 9);
    assert_int_equal(n_embedded, 1);
    assert_int_equal(some.p.n_ranges, 1);
    assert_int_equal(some.p.range[0].first, 48 * config.dim); /* where a task's tokens begin */
    assert_same_gradients(&all, &some);
    teach_close(&some);
    teach_close(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_the_slope),
        cmocka_unit_test(cpu_as_ref),
        cmocka_unit_test(repeats),
        cmocka_unit_test(gradients_are_final_when_reported),
        cmocka_unit_test(frozen_weights_have_no_gradient),
        cmocka_unit_test(the_way_back_ends_where_nothing_learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
