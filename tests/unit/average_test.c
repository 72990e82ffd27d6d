/* average_test.c - means of models: right in every type, atomic, and refused where shapes or
 * vocabularies differ. */
#include <math.h>

#include "check.h"
#include "checkpoint_help.h"
#include "model/model_data.h"
#include "tensor/panel.h"

enum { MODELS = 3 };
static char file[MODELS][256], out[256];

static pk_config small_config(void) {
    pk_config c;
    pk_config_defaults(&c);
    c.source_vocab = c.target_vocab = 21;
    c.dim = 6;
    c.encoder_layers = 2;
    c.decoder_layers = 1;
    c.encoder_heads = c.decoder_heads = 2;
    c.encoder_ffn = c.decoder_ffn = 18;
    c.act = PK_RELU;
    c.max_source = c.max_target = 4;
    return c;
}

/* eighths, so that sums and means of a few are exact in F16 as well */
static float value_of(const char *name, int32_t row, int32_t col, int which) {
    const int n = (int)strlen(name) * 5 + row * 7 + col * 3 + which * 3 * ((row + col) % 5);
    return (float)(n % 61 - 30) / 8;
}

typedef struct filling {
    pk_model_data *m;
    int            which; /* number of the model; -1: check for the mean of the first `n` */
    int            n;
    float          room; /* error allowed, as a share of the largest value */
} filling;

static pk_status fill_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    filling *f = user;
    float   *plain, *scale, row_values[64];
    void    *data;
    if (spec->matrix)
        PK_TRY(
            pk_model_data_take_matrix(f->m, spec->rows, spec->cols, f->m->type, w, &data, &scale));
    else
        PK_TRY(pk_model_data_take_plain(f->m, spec->rows, spec->cols, w, &plain));
    for (int32_t row = 0; row < spec->rows; row++) {
        for (int32_t col = 0; col < spec->cols; col++)
            row_values[col] = value_of(spec->name, row, col, f->which);
        if (spec->matrix)
            pk_panel_pack(data, scale, spec->cols, f->m->type, row, 1, row_values);
        else
            memcpy(plain + row * spec->cols, row_values, (size_t)spec->cols * sizeof *plain);
    }
    return PK_OK;
}

static void make_model(int which, pk_dtype type, pk_model_data *m) {
    filling f = { .m = m, .which = which };
    *m = (pk_model_data){ .type = type };
    m->network.config = small_config();
    ASSERT_OK(pk_network_init(&m->network));
    ASSERT_OK(pk_network_walk(&m->network, fill_weight, &f));
    pk_network_share(&m->network);
    m->source_spm = (pk_blob){ "spm", 3 };
    m->source_tokens = (pk_blob){ "0\0001\0002\0003\0004\0005\0006\0007\0008\0009\0a\0b\0c\0d\0"
                                  "e\0f\0g\0h\0i\0j\0k",
                                  42 };
    ASSERT_OK(pk_memory_copy_text("{\"source\":\"a test\"}", 19, &m->provenance));
}

static void save_model(int which, pk_dtype type) {
    pk_model_data m;
    char          name[32];
    make_model(which, type, &m);
    snprintf(name, sizeof name, "average-%d.pronk", which);
    ASSERT_OK(pk_model_data_save(&m, temporary(file[which], name)));
    pk_model_data_close(&m);
}

static const char *const *paths(void) {
    static const char *list[MODELS];
    for (int i = 0; i < MODELS; i++) list[i] = file[i];
    return list;
}

static pk_status check_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    const filling *f = user;
    for (int32_t row = 0; row < spec->rows; row++)
        for (int32_t col = 0; col < spec->cols; col++) {
            double sum = 0;
            for (int i = 0; i < f->n; i++) sum += (double)value_of(spec->name, row, col, i);
            const double want = (double)(float)(sum / f->n),
                         got = (double)pk_weight_get(w, row, col);
            const double room = spec->matrix ? (double)f->room * 4 : 0;
            if (got < want - room || got > want + room)
                fail_msg("%s %d %d: %g instead of %g", spec->name, row, col, got, want);
        }
    return PK_OK;
}

static void check_mean(int n, pk_dtype type, float room) {
    pk_model_data m;
    filling       f = { .m = &m, .n = n, .room = room };
    ASSERT_OK(pk_model_data_open(out, -1, &m));
    assert_int_equal(m.type, type);
    ASSERT_OK(pk_network_walk(&m.network, check_weight, &f));
    assert_int_equal(m.source_spm.size, 3);
    assert_non_null(strstr(m.provenance, "\"source\":\"a test\""));
    assert_non_null(strstr(m.provenance, "\"averaged\":[\"pronk_test_"));
    assert_non_null(strstr(m.provenance, "average-0.pronk"));
    pk_model_data_close(&m);
}

static void means_are_right(void **state) {
    static const char *const names[] = { "f32", "f16", "i8" };
    (void)state;
    temporary(out, "average-out.pronk");
    for (int stored = PK_F32; stored <= PK_I8; stored++) {
        for (int i = 0; i < MODELS; i++) save_model(i, (pk_dtype)stored);
        const float error = stored == PK_I8 ? 0.5f / 127 : 0;
        ASSERT_OK(pk_model_average(paths(), MODELS, out, NULL));
        check_mean(MODELS, (pk_dtype)stored,
                   error + (stored == PK_I8    ? 0.5f / 127
                            : stored == PK_F16 ? 0x1p-11f
                                               : 0));
        for (int to = PK_F32; to <= PK_I8; to++) {
            ASSERT_OK(pk_model_average(paths(), 2, out, names[to]));
            check_mean(2, (pk_dtype)to, error + (to == PK_I8 ? 0.5f / 127 : 0));
        }
    }
}

/* types may be mixed; the first one's counts */
static void types_may_be_mixed(void **state) {
    (void)state;
    save_model(0, PK_F32);
    save_model(1, PK_I8);
    save_model(2, PK_F16);
    ASSERT_OK(pk_model_average(paths(), MODELS, out, NULL));
    check_mean(MODELS, PK_F32, 0.5f / 127);
}

/* one model is its own mean, and it is not written over one that is read */
static void one_is_its_own_mean(void **state) {
    (void)state;
    save_model(0, PK_F32);
    ASSERT_OK(pk_model_average(paths(), 1, out, NULL));
    check_mean(1, PK_F32, 0);
    save_model(1, PK_F32);
    ASSERT_STATUS(PK_ARGUMENT, pk_model_average(paths(), 2, file[0], NULL));
    assert_non_null(strstr(pk_last_error(), "also an input"));
    ASSERT_OK(pk_model_average(paths(), 2, out, NULL)); /* they are as they were */
    check_mean(2, PK_F32, 0);
}

static void refused(size_t n, pk_status code, const char *says) {
    const int64_t alive = pk_memory_alive();
    unlink(out);
    assert_int_equal(pk_model_average(paths(), n, out, NULL), code);
    if (!strstr(pk_last_error(), says)) fail_msg("'%s' instead of '%s'", pk_last_error(), says);
    assert_int_equal(access(out, F_OK), -1); /* nothing half-written */
    assert_int_equal(pk_memory_alive(), alive);
}

static void differences_are_named(void **state) {
    pk_model_data m;
    (void)state;
    save_model(0, PK_F32);
    make_model(1, PK_F32, &m);
    m.network.config.act = PK_SWISH;
    ASSERT_OK(pk_model_data_save(&m, file[1]));
    refused(2, PK_ARGUMENT, "they differ in act");
    assert_non_null(strstr(pk_last_error(), file[1]));
    m.network.config.act = PK_RELU;
    strcpy(m.network.config.target_language, "de");
    ASSERT_OK(pk_model_data_save(&m, file[1]));
    refused(2, PK_ARGUMENT, "they differ in languages");
    m.network.config.target_language[0] = 0;
    m.source_spm = (pk_blob){ "psm", 3 };
    ASSERT_OK(pk_model_data_save(&m, file[1]));
    refused(2, PK_ARGUMENT, "do not have the same vocabulary");
    m.source_spm = (pk_blob){ "spm", 3 };
    ((float *)m.network.encoder[1].up.w.data)[0] = 1e5f; /* fits f32, but not f16 */
    ASSERT_OK(pk_model_data_save(&m, file[1]));
    assert_int_equal(pk_model_average((const char *[]){ file[1] }, 1, out, "f16"), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "encoder.1.up.w"));
    pk_model_data_close(&m);
    unlink(file[1]);
    refused(2, PK_IO, file[1]);
    write_bytes(file[1], "hello", 5);
    refused(2, PK_FORMAT, file[1]);
}

static void arguments_are_checked(void **state) {
    (void)state;
    save_model(0, PK_F32);
    refused(0, PK_ARGUMENT, "average needs models");
    assert_int_equal(pk_model_average(NULL, 1, out, NULL), PK_ARGUMENT);
    assert_int_equal(pk_model_average(paths(), 1, NULL, NULL), PK_ARGUMENT);
    assert_int_equal(pk_model_average(paths(), 1, out, "f64"), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "f32|f16|i8, not 'f64'"));
    assert_int_equal(pk_model_average(paths(), 1, "/nowhere/at/all", NULL), PK_IO);
}

/* a checkpoint names its recipe; shape and vocabulary come from there */
static void broken_checkpoint(const char *metadata, pk_status code, const char *says) {
    const pk_stored_tensor one = { .name = "weight.source_embed",
                                   .type = PK_STORED_F32,
                                   .n_dims = 2,
                                   .dim = { 1, 1 },
                                   .data = &(const float){ 1 },
                                   .bytes = sizeof(float) };
    char                   path[256];
    const int64_t          alive = pk_memory_alive();
    ASSERT_OK(pk_safetensors_write(temporary(path, "checkpoint.safetensors"), metadata, &one, 1));
    assert_int_equal(pk_model_average(&(const char *){ path }, 1, out, NULL), code);
    if (!strstr(pk_last_error(), says)) fail_msg("'%s' instead of '%s'", pk_last_error(), says);
    assert_int_equal(pk_memory_alive(), alive);
    unlink(path);
}

static void broken_checkpoints_are_refused(void **state) {
    (void)state;
    broken_checkpoint(NULL, PK_FORMAT, "checkpoint.safetensors: neither a model nor a checkpoint");
    broken_checkpoint("{\"a\":\"b\"}", PK_FORMAT, "neither a model nor a checkpoint");
    broken_checkpoint("{\"recipe\":\"task: [1\"}", PK_FORMAT, "not valid YAML");
    broken_checkpoint("{\"recipe\":\"task: nonsense\"}", PK_UNSUPPORTED, "nonsense");
    broken_checkpoint("{\"recipe\":\"vocab: /nowhere.spm\"}", PK_IO, "/nowhere.spm");
    broken_checkpoint("{\"recipe\":\"vocab: /dev/null\"}", PK_IO, "/dev/null");
    broken_checkpoint("{\"recipe\":\"init: /nowhere.pronk\"}", PK_IO, "/nowhere.pronk");
    save_model(0, PK_F32);
    char recipe[512];
    snprintf(recipe, sizeof recipe, "{\"recipe\":\"init: %s\"}", file[0]);
    broken_checkpoint(recipe, PK_FORMAT, "\"weight.source_embed\" is missing, or not of the shape");
}

static pk_status attempt(void *user) {
    (void)user;
    return pk_model_average(paths(), 2, out, "i8");
}

static void memory_may_fail(void **state) {
    (void)state;
    save_model(0, PK_F32);
    save_model(1, PK_F16);
    assert_true(check_every_allocation(attempt, NULL) > 20);
    check_mean(2, PK_I8, 0.5f / 127);
}

static int remove_files(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) unlink(file[i]);
    unlink(out);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_right),       cmocka_unit_test(types_may_be_mixed),
        cmocka_unit_test(one_is_its_own_mean),   cmocka_unit_test(differences_are_named),
        cmocka_unit_test(arguments_are_checked), cmocka_unit_test(broken_checkpoints_are_refused),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
