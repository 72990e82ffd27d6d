/* gradient_test.c - the gradients of whole models against PyTorch's (tools/make_gradients.py), and
 * the loss: on every backend that is here. */
#include "golden_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include "model/model_file.h"
#include "teach.h"
#include "tensor/panel.h"

static const char *const fixtures[] = { "marian-relu", "marian-gelu-separate",
                                        "marian-swish-untied", "mbart-gelu-f16" };
static const int         chosen[] = { 1, 7, 10 }; /* sentences, as the script has it */
enum { N_CHOSEN = sizeof chosen / sizeof *chosen };

/* The gradients are stored as a checkpoint stores weights: read them as one. */
static void open_gradients(const char *fixture, pk_model_data *out) {
    static const char *const borrowed[] = { "config.json",
                                            "generation_config.json",
                                            "source.spm",
                                            "target.spm",
                                            "vocab.json",
                                            "target_vocab.json",
                                            "tokenizer_config.json",
                                            "sentencepiece.bpe.model" };
    char folder[] = "/tmp/pronk-gradients-XXXXXX", from[2 * GOLDEN_PATH], to[GOLDEN_PATH],
         here[GOLDEN_PATH];
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    for (size_t i = 0; i <= sizeof borrowed / sizeof *borrowed; i++) {
        const bool  last = i == sizeof borrowed / sizeof *borrowed;
        const char *file = last ? "gradients.safetensors" : borrowed[i];
        snprintf(from, sizeof from, "%s/%s/%s/%s", here, GOLDEN_FOLDER, fixture, file);
        snprintf(to, sizeof to, "%s/%s", folder, last ? "model.safetensors" : file);
        if (access(from, R_OK) == 0) assert_int_equal(symlink(from, to), 0);
    }
    if (pk_model_data_open(folder, PK_F32, out) != PK_OK) fail_msg("%s", pk_last_error());
    for (size_t i = 0; i <= sizeof borrowed / sizeof *borrowed; i++) {
        snprintf(to, sizeof to, "%s/%s", folder,
                 i < sizeof borrowed / sizeof *borrowed ? borrowed[i] : "model.safetensors");
        unlink(to);
    }
    rmdir(folder);
}

typedef struct comparison {
    const teach *t;
    const float *grad; /* ours, on the host */
    double       most;
    char         where[96];
    int          compared;
} comparison;

/* Largest distance of a weight's gradient, beside its largest number. PyTorch passes over the
 * embedding of the padding, which starts our sentences: that row is left out. */
static pk_status compare(void *user, const pk_weight_spec *spec, pk_weight *w) {
    comparison         *c = user;
    const pk_parameter *p = NULL;
    double              largest = 1e-3, distance = 0;
    for (size_t i = 0; i < c->t->p.n_list; i++)
        if (strcmp(c->t->p.list[i].name, spec->name) == 0) p = &c->t->p.list[i];
    assert_non_null(p);
    if (!p->learned) return PK_OK;
    for (int32_t row = 0; row < spec->rows; row++) {
        if (strstr(spec->name, "embed") && row == c->t->p.net.config.pad) continue;
        for (int32_t col = 0; col < spec->cols; col++) {
            const double want = pk_weight_get(w, row, col);
            const double got = c->grad[p->first + (size_t)row * (size_t)spec->cols + (size_t)col];
            if (fabs(want) > largest) largest = fabs(want);
            if (!(fabs(want - got) <= distance)) distance = fabs(want - got);
        }
    }
    c->compared++;
    if (distance / largest > c->most) {
        c->most = distance / largest;
        snprintf(c->where, sizeof c->where, "%s", spec->name);
    }
    return PK_OK;
}

static double loss_in(const char *fixture, const char *key) {
    char      path[GOLDEN_PATH];
    pk_stored stored;
    golden_path(path, fixture, "gradients.safetensors");
    assert_int_equal(pk_safetensors_open(path, &stored), PK_OK);
    json_t      *about = json_loads(stored.metadata, 0, NULL);
    const double value = atof(json_string_value(golden_get(about, key)));
    json_decref(about);
    pk_stored_close(&stored);
    return value;
}

static void learn(teach *t, const char *fixture, pk_loss_sums *sums) {
    json_t        *root = golden_open(fixture);
    golden_ids     source[N_CHOSEN], target[N_CHOSEN], input[N_CHOSEN];
    teach_sentence sentence[N_CHOSEN];
    for (size_t i = 0; i < N_CHOSEN; i++) {
        const size_t at = (size_t)chosen[i];
        source[i] = golden_read_ids(json_array_get(golden_get(root, "source_ids"), at));
        target[i] = golden_read_ids(json_array_get(golden_get(root, "targets"), at));
        input[i] = target[i];
        memmove(input[i].id + 1, input[i].id, (size_t)(input[i].n - 1) * sizeof(int32_t));
        input[i].id[0] = t->p.net.config.start;
        sentence[i] =
            (teach_sentence){ source[i].id, input[i].id, target[i].id, source[i].n, target[i].n };
    }
    if (teach_run(t, sentence, N_CHOSEN, &(teach_how){ .smoothing = 0.1f, .learn = true }, sums))
        fail_msg("%s", pk_last_error());
    json_decref(root);
}

static void check_fixture(const char *fixture, const char *device, int32_t threads) {
    char          path[GOLDEN_PATH];
    pk_model_data model, golden;
    pk_loss_sums  sums;
    teach         t;
    golden_path(path, fixture, "");
    if (pk_model_data_open(path, PK_F32, &model) != PK_OK) fail_msg("%s", pk_last_error());
    open_gradients(fixture, &golden);
    const pk_parameters_options options = { .learn_positions =
                                                model.network.config.family == PK_MBART };
    const pk_status             status =
        teach_open(device, threads, PK_F32, &model.network.config, &options, &t);
    if (status == PK_OK) {
        assert_int_equal(pk_parameters_load(&t.p, &model), PK_OK);
        learn(&t, fixture, &sums);
        assert_true(fabs(sums.loss - loss_in(fixture, "loss")) < 1e-4 * sums.loss);
        assert_true(fabs(sums.nll - loss_in(fixture, "nll")) < 1e-4 * sums.nll);
        float     *grad = calloc(t.p.n, sizeof *grad);
        comparison c = { .t = &t, .grad = grad };
        assert_int_equal(pk_parameters_get(&t.p, t.p.grad, grad, t.p.n), PK_OK);
        assert_int_equal(pk_network_walk(&golden.network, compare, &c), PK_OK);
        if (!(c.most < 2e-4))
            fail_msg("%s on %s: %s is off by %g", fixture, device, c.where, c.most);
        assert_true(c.compared > 30);
        free(grad);
    }
    teach_close(&t);
    pk_model_data_close(&model);
    pk_model_data_close(&golden);
    if (status != PK_OK && strcmp(device, "cuda") == 0) skip();
    assert_int_equal(status, PK_OK);
}

static void ref_as_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
        check_fixture(fixtures[i], "ref", 1);
}

static void cpu_as_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
        check_fixture(fixtures[i], "cpu", 2);
}

static void cuda_as_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
        check_fixture(fixtures[i], "cuda", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_as_pytorch),
        cmocka_unit_test(cpu_as_pytorch),
        cmocka_unit_test(cuda_as_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
