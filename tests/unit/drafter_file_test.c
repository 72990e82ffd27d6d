/* drafter_file_test.c - drafters that share their model's encoder: the file holds their own part
 * alone, is known by the model's fingerprint whatever numbers that is in, and is joined to it
 * again. What does not fit is refused. */
#include "drafter_help.h"

#include "engine/model.h"
#include "pronk.h"

#define MODEL DRAFTED_MODEL
#define OTHER "tests/data/models/marian-gelu-legacy"

/* ---- tests ---- */

static void the_file_holds_its_own_part_alone(void **state) {
    char path[256];
    (void)state;
    for (int type = PK_F32; type <= PK_I8; type++) {
        pk_model_data m;
        save_drafter((pk_dtype)type, path);
        ASSERT_OK(pk_model_data_open(path, -1, &m));
        for (size_t i = 0; i < m.stored.n; i++) {
            const char *name = m.stored.tensor[i].name;
            assert_true(strncmp(name, "decoder.0.", 10) == 0 ||
                        strncmp(name, "own_embed", 9) == 0 ||
                        strcmp(name, "vocab.target.tokens") == 0);
        }
        assert_int_equal(m.network.own_embed.rows, OWN);
        assert_int_equal(m.network.config.first_own, TEXT);
        assert_string_equal((const char *)m.target_tokens.data, "<unused:234>");
        pk_model_data_close(&m);
    }
    unlink(path);
}

static void a_model_is_known_in_all_number_types(void **state) {
    static const char *const types[] = { "f32", "f16", "i8" };
    char                     path[256], original[PK_FINGERPRINT], converted[PK_FINGERPRINT];
    pk_model_data            m;
    (void)state;
    ASSERT_OK(pk_model_data_open(MODEL, -1, &m));
    pk_fingerprint(&m, original);
    pk_model_data_close(&m);
    temporary(path, "converted.pronk");
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(pk_model_convert(MODEL, path, PK_OPTIONS(pk_convert_options, .type = types[i])));
        ASSERT_OK(pk_model_data_open(path, -1, &m));
        pk_fingerprint(&m, converted);
        assert_string_equal(converted, original);
        float *bias = NULL; /* one number changed is another model */
        ASSERT_OK(pk_model_data_take_plain(&m, 1, 32, &m.network.decoder[1].out.b, &bias));
        pk_fingerprint(&m, converted);
        assert_string_not_equal(converted, original);
        pk_model_data_close(&m);
    }
    unlink(path);
}

/* the text's rows are the model's, those behind them the drafter's */
static void check_joined(const pk_joined *j, const pk_model_data *model,
                         const pk_model_data *drafter) {
    const pk_weight *table = &j->net.target_embed, *text = &model->network.target_embed;
    const float      room = table->type == PK_I8 ? 0.5f / 127 : 0;
    assert_ptr_equal(j->net.output.data, model->network.output.data);
    assert_ptr_equal(j->net.output_bias.data, model->network.output_bias.data);
    assert_ptr_equal(j->net.decoder[0].up.w.data, drafter->network.decoder[0].up.w.data);
    assert_int_equal(table->rows, TEXT + OWN);
    for (int32_t row = 0; row < table->rows; row++)
        for (int32_t col = 0; col < table->cols; col++) {
            const float want = row < TEXT
                                   ? pk_weight_get(text, row, col)
                                   : pk_weight_get(&drafter->network.own_embed, row - TEXT, col);
            const float got = pk_weight_get(table, row, col);
            assert_true(got >= want - room && got <= want + room);
            if (row < TEXT / PK_PANEL * PK_PANEL) assert_true(got == want);
        }
}

static void a_drafter_joins_its_model_in_any_type(void **state) {
    char path[256];
    (void)state;
    for (int type = PK_F32; type <= PK_I8; type++)
        for (int of_model = PK_F32; of_model <= PK_I8; of_model += 2) {
            pk_model_data model, drafter;
            pk_joined     j;
            save_drafter(PK_F32, path);
            ASSERT_OK(pk_model_data_open(MODEL, of_model, &model));
            ASSERT_OK(pk_model_data_open(path, type, &drafter));
            ASSERT_OK(pk_drafter_join(&model, &drafter, &j));
            check_joined(&j, &model, &drafter);
            pk_joined_close(&j);
            pk_model_data_close(&drafter);
            pk_model_data_close(&model);
        }
    unlink(path);
}

static void what_does_not_fit_is_refused(void **state) {
    pk_model_data  model, other, drafter;
    pk_joined      j;
    pk_model      *alone, *whole;
    pk_translator *t;
    char           path[256];
    (void)state;
    save_drafter(PK_F32, path);
    ASSERT_OK(pk_model_data_open(MODEL, -1, &model));
    ASSERT_OK(pk_model_data_open(OTHER, -1, &other));
    ASSERT_OK(pk_model_data_open(path, -1, &drafter));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_drafter_join(&other, &drafter, &j));
    assert_non_null(strstr(pk_last_error(), "another model"));
    int32_t *const fields[] = { &drafter.network.config.dim, &drafter.network.config.first_own,
                                &drafter.network.config.n_text,
                                &drafter.network.config.embed_norm };
    for (int i = 0; i < 4; i++) { /* a file that lies about itself */
        ++*fields[i];
        ASSERT_STATUS(PK_FORMAT, pk_drafter_join(&model, &drafter, &j));
        --*fields[i];
    }
    pk_model_data_close(&drafter);
    pk_model_data_close(&other);
    pk_model_data_close(&model);
    ASSERT_OK(pk_model_open(path, NULL, &alone));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_translator_open(alone, NULL, &t));
    assert_non_null(strstr(pk_last_error(), "--drafter"));
    assert_string_equal(pk_model_target_token(alone, 0), "?");
    ASSERT_OK(pk_model_open(MODEL, NULL, &whole));
    const pk_model *const more[] = { alone };
    ASSERT_STATUS(
        PK_UNSUPPORTED,
        pk_translator_open(
            whole, PK_OPTIONS(pk_translator_options, .ensemble = more, .n_ensemble = 1), &t));
    assert_non_null(strstr(pk_last_error(), "--drafter"));
    pk_model_close(whole);
    pk_model_close(alone);
    unlink(path);
}

static void a_drafter_says_what_it_is(void **state) {
    pk_model *m;
    char     *json, path[256];
    (void)state;
    save_drafter(PK_F16, path);
    ASSERT_OK(pk_model_open(path, NULL, &m));
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"tasks\": \"gad\", \"special_tokens\": [\"<mask>\"]"));
    assert_string_equal(pk_model_target_token(m, TEXT + OWN - 1), "<mask>");
    assert_string_equal(pk_model_target_token(m, TEXT + OWN), "?");
    assert_string_equal(pk_model_target_token(m, TEXT - 1), "?"); /* its model knows */
    assert_non_null(strstr(json, "\"shares_encoder\":1"));
    pk_free(json);
    pk_model_close(m);
    unlink(path);
}

typedef struct attempt {
    pk_model_data model;
    const char   *path;
} attempt;

static pk_status make_save_and_join(void *user) {
    attempt      *a = user;
    pk_model_data made, opened;
    pk_joined     j;
    PK_TRY(make_drafter(&a->model, PK_I8, &made));
    pk_status status = pk_model_data_save(&made, a->path);
    pk_model_data_close(&made);
    PK_TRY(status);
    PK_TRY(pk_model_data_open(a->path, -1, &opened));
    status = pk_drafter_join(&a->model, &opened, &j);
    pk_joined_close(&j);
    pk_model_data_close(&opened);
    return status;
}

static void every_failed_allocation_is_survived(void **state) {
    attempt a;
    char    path[256];
    (void)state;
    a.path = temporary(path, "failing.pronk");
    ASSERT_OK(pk_model_data_open(MODEL, PK_I8, &a.model));
    assert_true(check_every_allocation(make_save_and_join, &a) > 50);
    pk_model_data_close(&a.model);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_holds_its_own_part_alone),
        cmocka_unit_test(a_model_is_known_in_all_number_types),
        cmocka_unit_test(a_drafter_joins_its_model_in_any_type),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_drafter_says_what_it_is),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
