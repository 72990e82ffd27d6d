/* not_finite_test.c - models whose file was damaged so that a weight is not a number: vectors are
 * refused when the model is opened, matrices where they spoil an answer, and both where a model is
 * written from them. */
#include <math.h>

#include "checkpoint_help.h"
#include "pronk.h"

#define MODEL "tests/data/models/marian-relu"

/* a converted model, with `value` in the middle of one of its tensors */
static const char *damage(char path[256], const char *type, const char *tensor, float value) {
    pk_stored s;
    temporary(path, "damaged.pronk");
    const pk_status made =
        pk_model_convert(MODEL, path, PK_OPTIONS(pk_convert_options, .type = type));
    if (made != PK_OK) fail_msg("%s", pk_last_error());
    assert_int_equal(pk_safetensors_open(path, &s), PK_OK);
    const pk_stored_tensor *t = pk_stored_find(&s, tensor);
    assert_non_null(t);
    uint16_t     half = isnan(value) ? 0x7E00 : 0x7C00;
    const bool   wide = t->type == PK_STORED_F32;
    const size_t each = wide ? sizeof value : sizeof half;
    const long   at =
        (long)((const unsigned char *)t->data - s.map.data) + (long)(t->bytes / each / 2 * each);
    pk_stored_close(&s);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(wide ? (void *)&value : (void *)&half, each, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void expect(pk_status status, const char *says) {
    if (status != PK_FORMAT || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
}

/* opening looks at what is small: biases, norms, scales */
static void vectors_are_refused_when_opened(void **state) {
    static const struct {
        const char *type, *tensor;
        float       value;
    } cases[] = { { "f32", "encoder.0.up.b", NAN },
                  { "f16", "decoder.1.ffn_norm.gain", INFINITY },
                  { "i8", "output_bias", -INFINITY },
                  { "i8", "decoder.0.qkv.w.scale", NAN } };
    char      path[256];
    pk_model *m;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        damage(path, cases[i].type, cases[i].tensor, cases[i].value);
        expect(pk_model_open(path, NULL, &m), cases[i].tensor);
        assert_non_null(strstr(pk_last_error(), path));
    }
    unlink(path);
}

static void translate_damaged(const char *path, const char *decode, int32_t scores) {
    static const pk_text text[] = { { "the cat sees a house", 20 }, { "a small dog", 11 } };
    pk_model            *m;
    pk_translator       *t;
    pk_result           *r = NULL;
    assert_int_equal(pk_model_open(path, NULL, &m), PK_OK);
    assert_int_equal(pk_translator_open(m,
                                        PK_OPTIONS(pk_translator_options, .decode = decode,
                                                   .scores = scores, .threads = 1),
                                        &t),
                     PK_OK);
    expect(pk_translate(t, text, 2, NULL, &r), "not finite");
    expect(pk_score(t, text, text, 2, NULL, &r), "not finite");
    pk_translator_close(t);
    pk_model_close(m);
}

static void matrices_are_noticed_in_the_answers(void **state) {
    /* not "up": rectifying turns what is no number into 0 */
    static const char *const tensors[] = { "encoder.0.qkv.w", "decoder.1.cross_out.w" };
    static const char *const ways[] = { "greedy", "beam:size=3", "jacobi" };
    char                     path[256];
    (void)state;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        damage(path, i ? "f16" : "f32", tensors[i], NAN);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            translate_damaged(path, ways[k], 0);
            translate_damaged(path, ways[k], 1);
        }
    }
    unlink(path);
}

/* whoever writes a model reads all of it: then the weight can be named */
static void writing_names_the_weight(void **state) {
    static const char *const tensors[] = { "encoder.0.up.w", "source_positions" };
    char                     path[256], to[256];
    const char              *one[] = { path };
    (void)state;
    temporary(to, "written.pronk");
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        for (int half = 0; half < 2; half++) {
            damage(path, half ? "f16" : "f32", tensors[i], half ? INFINITY : NAN);
            expect(pk_model_convert(path, to, NULL), tensors[i]);
            expect(pk_model_convert(path, to, PK_OPTIONS(pk_convert_options, .type = "i8")),
                   tensors[i]);
            expect(pk_model_average(one, 1, to, NULL), tensors[i]);
            assert_int_equal(access(to, F_OK), -1);
        }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_refused_when_opened),
        cmocka_unit_test(matrices_are_noticed_in_the_answers),
        cmocka_unit_test(writing_names_the_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
