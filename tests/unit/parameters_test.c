/* parameters_test.c - where learned weights lie, what they begin as, and the way from a model to
 * weights and back. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/list.h"
#include "tensor/panel.h"
#include "tiny_network.h"
#include "train/parameters.h"

static pk_backend open_ref(void) {
    pk_backend on;
    ASSERT_OK(pk_backend_open("ref", 1, PK_F32, &on));
    return on;
}

static const pk_parameter *find(const pk_parameters *p, const char *name) {
    for (size_t i = 0; i < p->n_list; i++)
        if (strcmp(p->list[i].name, name) == 0) return &p->list[i];
    fail_msg("no weight \"%s\"", name);
    return NULL;
}

static const float *at(const pk_parameters *p, const char *name) {
    return p->master + find(p, name)->first;
}

/* ---- layout ---- */

static void weights_lie_in_order(void **state) {
    pk_backend                  on = open_ref();
    pk_parameters               p;
    const pk_parameters_options o = { .average = true, .seed = 1 };
    pk_config                   c = tiny_config();
    (void)state;
    c.pre_norm = c.final_norm = 1;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &p));
    size_t learned_end = 0, frozen_end = p.n;
    for (size_t i = 0; i < p.n_list; i++) {
        const pk_parameter *one = &p.list[i];
        size_t             *end = one->learned ? &learned_end : &frozen_end;
        assert_int_equal(one->first % 64, 0);
        assert_true(one->first >= *end && one->first < *end + 64);
        *end = one->first + (size_t)one->room_rows * (size_t)one->cols;
    }
    assert_true(learned_end <= p.n && frozen_end <= p.n_all);
    assert_int_equal(find(&p, "source_embed")->room_rows, (c.source_vocab + 63) / 64 * 64);
    assert_false(find(&p, "source_positions")->learned);
    assert_false(find(&p, "output_bias")->learned);
    assert_true(find(&p, "encoder_norm.gain")->learned);
    assert_ptr_equal(p.net.output.data, p.net.source_embed.data); /* shared */
    assert_ptr_equal(p.net.source_embed.data, at(&p, "source_embed"));
    assert_ptr_equal(p.net.decoder[1].up.w.data, at(&p, "decoder.1.up.w"));
    assert_true(p.net.decoder[1].up.w.plain);
    assert_ptr_equal(p.learned.weights, p.master);
    assert_int_equal(p.learned.n, p.n);
    assert_memory_equal(p.average, p.master, p.n * sizeof(float));
    pk_parameters_close(&p);
    pk_backend_close(&on);
}

static void names_can_be_frozen(void **state) {
    pk_backend            on = open_ref();
    pk_parameters         p;
    const char *const     patterns[] = { "encoder.*", "source_embed" };
    pk_parameters_options o = { .freeze = patterns, .n_freeze = 2, .learn_positions = true };
    const pk_config       c = tiny_config();
    (void)state;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &p));
    for (size_t i = 0; i < p.n_list; i++) {
        const char *name = p.list[i].name;
        const bool  frozen = strncmp(name, "encoder.", 8) == 0 ||
                            strcmp(name, "source_embed") == 0 || strcmp(name, "output_bias") == 0;
        assert_int_equal(p.list[i].learned, !frozen);
        assert_int_equal(p.list[i].first < p.n, !frozen);
    }
    pk_parameters_close(&p);
    const char *const nothing[] = { "encoder.9.qkv.w" };
    o.freeze = nothing, o.n_freeze = 1;
    ASSERT_STATUS(PK_ARGUMENT, pk_parameters_open(&on, &c, &o, &p));
    assert_non_null(strstr(pk_last_error(), "encoder.9.qkv.w"));
    const char *const everything[] = { "*" };
    o.freeze = everything;
    ASSERT_STATUS(PK_ARGUMENT, pk_parameters_open(&on, &c, &o, &p));
    pk_backend_close(&on);
}

/* ---- first weights ---- */

static void measure(const float *x, size_t n, double *mean, double *deviation, double *most) {
    double sum = 0, squares = 0;
    *most = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        *most = fmax(*most, fabs((double)x[i]));
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

static pk_config wide_config(void) {
    pk_config c = tiny_config();
    c.dim = 64, c.encoder_ffn = c.decoder_ffn = 128;
    c.encoder_heads = c.decoder_heads = 4;
    c.source_vocab = c.target_vocab = 100;
    c.pad = 3;
    return c;
}

static void first_weights_are_as_promised(void **state) {
    pk_backend                  on = open_ref();
    pk_parameters               p;
    const pk_parameters_options o = { .seed = 5 };
    const pk_config             c = wide_config();
    double                      mean, deviation, most;
    (void)state;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &p));
    measure(at(&p, "encoder.0.up.w"), 128 * 64, &mean, &deviation, &most);
    const double bound = sqrt(6.0 / (128 + 64));
    assert_true(fabs(mean) < 0.01 && most <= bound && most > 0.99 * bound);
    assert_true(fabs(deviation - bound / sqrt(3)) < 0.01 * bound);
    measure(at(&p, "decoder.1.qkv.w"), 192 * 64, &mean, &deviation, &most);
    assert_true(most <= sqrt(0.5 * 6.0 / 128) && most > 0.99 * sqrt(0.5 * 6.0 / 128));
    measure(at(&p, "source_embed"), 3 * 64, &mean, &deviation, &most);
    assert_true(fabs(deviation - 0.125) < 0.02);
    for (int i = 0; i < 64; i++) assert_true(at(&p, "source_embed")[3 * 64 + i] == 0); /* pad */
    for (int i = 100 * 64; i < 128 * 64; i++) assert_true(at(&p, "source_embed")[i] == 0);
    for (int i = 0; i < 64; i++) {
        assert_true(at(&p, "encoder.0.ffn_norm.gain")[i] == 1);
        assert_true(at(&p, "encoder.0.ffn_norm.bias")[i] == 0);
        assert_true(at(&p, "encoder.0.out.b")[i] == 0);
    }
    pk_parameters_close(&p);
    pk_backend_close(&on);
}

/* a number depends on seed, name and index, not on what lies before it */
static void first_weights_do_not_depend_on_order(void **state) {
    pk_backend            on = open_ref();
    pk_parameters         a, b;
    const char *const     patterns[] = { "encoder.0.*" };
    pk_parameters_options o = { .seed = 5 };
    const pk_config       c = wide_config();
    (void)state;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &a));
    o.freeze = patterns, o.n_freeze = 1;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &b));
    for (size_t i = 0; i < a.n_list; i++)
        assert_memory_equal(a.master + a.list[i].first, b.master + b.list[i].first,
                            (size_t)a.list[i].rows * (size_t)a.list[i].cols * sizeof(float));
    pk_parameters_close(&b);
    o.seed = 6;
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &b));
    assert_memory_not_equal(at(&a, "source_embed"), at(&b, "source_embed"), 64);
    pk_parameters_close(&a);
    pk_parameters_close(&b);
    pk_backend_close(&on);
}

/* ---- models ---- */

static void assert_same_weights(const pk_weight *a, const pk_weight *b, double tolerance) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    for (int32_t row = 0; row < a->rows; row++)
        for (int32_t col = 0; col < a->cols; col++) {
            const double x = (double)pk_weight_get(a, row, col);
            const double y = (double)pk_weight_get(b, row, col);
            assert_true(fabs(x - y) <= tolerance);
        }
}

static void there_and_back(const char *path, int type, double tolerance) {
    pk_backend                  on = open_ref();
    pk_parameters               p;
    pk_model_data               m, back;
    const pk_parameters_options o = { .average = true };
    ASSERT_OK(pk_model_data_open(path, type, &m));
    ASSERT_OK(pk_parameters_open(&on, &m.network.config, &o, &p));
    ASSERT_OK(pk_parameters_load(&p, &m));
    ASSERT_OK(pk_parameters_model(&p, &m, false, m.type, &back));
    assert_int_equal(back.type, m.type);
    assert_same_weights(&m.network.source_embed, &back.network.source_embed, tolerance);
    assert_same_weights(&m.network.output, &back.network.output, tolerance);
    assert_same_weights(&m.network.output_bias, &back.network.output_bias, 0);
    assert_same_weights(&m.network.source_positions, &back.network.source_positions, 0);
    assert_same_weights(&m.network.decoder[0].cross_kv.w, &back.network.decoder[0].cross_kv.w,
                        tolerance);
    assert_same_weights(&m.network.encoder[0].down.b, &back.network.encoder[0].down.b, 0);
    assert_string_equal(m.provenance, back.provenance);
    pk_model_data_close(&back);
    p.average[find(&p, "encoder.0.down.b")->first] += 1; /* the average is another model */
    ASSERT_OK(pk_parameters_model(&p, &m, true, PK_F32, &back));
    const float shifted = pk_weight_get(&back.network.encoder[0].down.b, 0, 0);
    assert_true(fabs((double)(shifted - pk_weight_get(&m.network.encoder[0].down.b, 0, 0)) - 1) <
                1e-6);
    p.master[find(&p, "encoder.0.out.w")->first] = INFINITY;
    pk_model_data_close(&back);
    ASSERT_STATUS(PK_FORMAT, pk_parameters_model(&p, &m, false, PK_F32, &back));
    pk_parameters_close(&p);
    pk_model_data_close(&m);
    pk_backend_close(&on);
}

static void models_of_every_type(void **state) {
    (void)state;
    there_and_back("tests/data/models/marian-relu", -1, 0);
    there_and_back("tests/data/models/marian-swish-f16", -1, 0);
    there_and_back("tests/data/models/marian-swish-untied", -1, 0);
    there_and_back("tests/data/models/marian-gelu-separate", -1, 0);
    there_and_back("tests/data/models/marian-relu", PK_I8, 1e-6); /* scales are found anew */
    there_and_back("tests/data/models/mbart-relu", -1, 0);
}

/* sinusoids are those of models people have */
static void positions_are_marians(void **state) {
    pk_backend                  on = open_ref();
    pk_parameters               p;
    pk_model_data               m;
    const pk_parameters_options o = { 0 };
    (void)state;
    ASSERT_OK(pk_model_data_open("tests/data/models/marian-relu", -1, &m));
    ASSERT_OK(pk_parameters_open(&on, &m.network.config, &o, &p));
    assert_same_weights(&p.net.source_positions, &m.network.source_positions, 1e-6);
    pk_parameters_close(&p);
    pk_model_data_close(&m);
    pk_backend_close(&on);
}

static void another_shape_is_refused(void **state) {
    pk_backend                  on = open_ref();
    pk_parameters               p;
    pk_model_data               m;
    const pk_parameters_options o = { 0 };
    const pk_config             c = tiny_config();
    (void)state;
    ASSERT_OK(pk_model_data_open("tests/data/models/marian-relu", -1, &m));
    ASSERT_OK(pk_parameters_open(&on, &c, &o, &p));
    ASSERT_STATUS(PK_FORMAT, pk_parameters_load(&p, &m));
    pk_parameters_close(&p);
    pk_model_data_close(&m);
    pk_backend_close(&on);
}

static pk_status open_and_load(void *user) {
    pk_model_data              *m = user, out;
    pk_backend                  on;
    pk_parameters               p = { 0 };
    const pk_parameters_options o = { .average = true };
    pk_status                   status = pk_backend_open("ref", 1, PK_F32, &on);
    if (status == PK_OK) status = pk_parameters_open(&on, &m->network.config, &o, &p);
    if (status == PK_OK) status = pk_parameters_load(&p, m);
    if (status == PK_OK) {
        status = pk_parameters_model(&p, m, true, PK_I8, &out);
        if (status == PK_OK) pk_model_data_close(&out);
    }
    pk_parameters_close(&p);
    pk_backend_close(&on);
    return status;
}

static void failed_allocations(void **state) {
    pk_model_data m;
    (void)state;
    ASSERT_OK(pk_model_data_open("tests/data/models/marian-relu", -1, &m));
    assert_true(check_every_allocation(open_and_load, &m) > 10);
    pk_model_data_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_lie_in_order),
        cmocka_unit_test(names_can_be_frozen),
        cmocka_unit_test(first_weights_are_as_promised),
        cmocka_unit_test(first_weights_do_not_depend_on_order),
        cmocka_unit_test(models_of_every_type),
        cmocka_unit_test(positions_are_marians),
        cmocka_unit_test(another_shape_is_refused),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
