/* api_test.c - every public function with NULL, zero and options of a wrong size: an error that
 * says what is wrong, or an empty answer, never a crash.
 *
 * The list below must be that of include/pronk.h, which is read and compared: a new function fails
 * here until it is tried. */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "tests/data/models/marian-relu"

// clang-format off
#define FUNCTIONS(X) \
    X(pk_version) X(pk_status_text) X(pk_last_error) X(pk_free) X(pk_model_open) \
    X(pk_model_close) X(pk_model_describe) X(pk_model_target_token) \
    X(pk_model_source_token) X(pk_model_sentencepiece) X(pk_model_convert) X(pk_file_write) X(pk_model_reads) \
    X(pk_translator_open) X(pk_translator_close) X(pk_translate) X(pk_score) \
    X(pk_submit) X(pk_call_cancel) X(pk_call_end) X(pk_text_split) X(pk_detect) \
    X(pk_result_free) X(pk_result_count) X(pk_result_text) X(pk_result_score) \
    X(pk_result_hypotheses) X(pk_result_unknowns) X(pk_result_hypothesis) X(pk_translator_stats) \
    X(pk_strategies_describe) X(pk_trainer_open) X(pk_trainer_step) \
    X(pk_trainer_report_text) X(pk_trainer_output) X(pk_trainer_save) X(pk_trainer_rank) \
    X(pk_trainer_close) X(pk_recipe_text) X(pk_model_average) X(pk_vocab_train) \
    X(pk_distill) X(pk_evaluate) X(pk_eval_signature) X(pk_align) \
    X(pk_align_symmetrise_files) X(pk_aligner_open) X(pk_aligner_align) \
    X(pk_aligner_close) X(pk_glossary_open) X(pk_glossary_close) X(pk_glossary_count)
// clang-format on

typedef struct fixture { /* what is valid, for the arguments that are not being tried */
    pk_model      *model;
    pk_translator *translator;
    pk_result     *result;
} fixture;

static const pk_text one = { "the cat", 7 };

/* refused with a line of its own */
#define REFUSED(call)                                      \
    do {                                                   \
        pk_model *none_;                                   \
        pk_model_open("/no/such/model", NULL, &none_);     \
        char *before_ = strdup(pk_last_error());           \
        ASSERT_STATUS(PK_ARGUMENT, call);                  \
        assert_true(*pk_last_error());                     \
        assert_string_not_equal(before_, pk_last_error()); \
        free(before_);                                     \
    } while (0)

/* Options of sizes that no struct of options ever had, and of a later version that sets something
 * which this library does not know: refused. A later version that sets nothing new is fine. */
static const size_t wrong_sizes[] = {
    0, 1, sizeof(size_t) - 1, sizeof(size_t) + 1, 4104, SIZE_MAX
};
enum { N_WRONG_SIZES = sizeof wrong_sizes / sizeof *wrong_sizes };
#define SIZES_REFUSED(type, call)                            \
    do {                                                     \
        union {                                              \
            type o;                                          \
            char bytes[sizeof(type) + 64];                   \
        } u;                                                 \
        const type *opt = &u.o;                              \
        for (int i_ = 0; i_ < N_WRONG_SIZES; i_++) {         \
            memset(&u, 0, sizeof u);                         \
            u.o.size = wrong_sizes[i_];                      \
            REFUSED(call);                                   \
            assert_non_null(strstr(pk_last_error(), #type)); \
        }                                                    \
        memset(&u, 0, sizeof u);                             \
        u.o.size = sizeof u;                                 \
        u.bytes[sizeof u - 1] = 1;                           \
        REFUSED(call);                                       \
    } while (0)

static void try_pk_version(fixture *f) {
    (void)f;
    assert_int_equal(pk_version(), PK_VERSION);
}

static void try_pk_status_text(fixture *f) {
    (void)f;
    assert_true(*pk_status_text((pk_status)0));
    assert_true(*pk_status_text((pk_status)-1000));
    assert_true(*pk_status_text((pk_status)INT32_MAX));
}

static void try_pk_last_error(fixture *f) {
    (void)f;
    assert_non_null(pk_last_error());
}

static void try_pk_free(fixture *f) {
    (void)f;
    pk_free(NULL);
}

static void try_pk_model_open(fixture *f) {
    pk_model *m = f->model;
    REFUSED(pk_model_open(NULL, NULL, &m));
    assert_null(m);
    REFUSED(pk_model_open("", NULL, &m));
    REFUSED(pk_model_open(MODEL, NULL, NULL));
    SIZES_REFUSED(pk_model_options, pk_model_open(MODEL, opt, &m));
    assert_null(m);
}

static void try_pk_model_close(fixture *f) {
    (void)f;
    pk_model_close(NULL);
}

static void try_pk_model_describe(fixture *f) {
    char *json = (char *)f;
    REFUSED(pk_model_describe(NULL, &json));
    assert_null(json);
    REFUSED(pk_model_describe(f->model, NULL));
}

static void try_pk_model_target_token(fixture *f) {
    assert_string_equal(pk_model_target_token(NULL, 0), "?");
    assert_string_equal(pk_model_target_token(f->model, -1), "?");
    assert_string_equal(pk_model_target_token(f->model, INT32_MAX), "?");
}

static void try_pk_model_source_token(fixture *f) {
    assert_string_equal(pk_model_source_token(NULL, 0), "?");
    assert_string_equal(pk_model_source_token(f->model, INT32_MIN), "?");
    assert_string_equal(pk_model_source_token(f->model, INT32_MAX), "?");
}

static void try_pk_file_write(fixture *f) {
    (void)f;
    ASSERT_STATUS(PK_ARGUMENT, pk_file_write(NULL, "", 0));
    ASSERT_STATUS(PK_ARGUMENT, pk_file_write("", "", 0));
    ASSERT_STATUS(PK_ARGUMENT, pk_file_write("nowhere", NULL, 1));
}

static void try_pk_model_sentencepiece(fixture *f) {
    const void *data = f;
    size_t      size = 7;
    REFUSED(pk_model_sentencepiece(NULL, 0, &data, &size));
    REFUSED(pk_model_sentencepiece(f->model, 0, NULL, &size));
    REFUSED(pk_model_sentencepiece(f->model, 0, &data, NULL));
    for (int32_t target = 0; target < 2; target++) {
        ASSERT_OK(pk_model_sentencepiece(f->model, target, &data, &size));
        assert_true(data && size > 100);
    }
}

static void try_pk_model_reads(fixture *f) {
    assert_int_equal(pk_model_reads(NULL, 0, 0), 0);
    assert_int_equal(pk_model_reads(f->model, 0, 0), 0);
}

static void try_pk_model_convert(fixture *f) {
    (void)f;
    REFUSED(pk_model_convert(NULL, "/no/such/folder/x", NULL));
    REFUSED(pk_model_convert(MODEL, NULL, NULL));
    SIZES_REFUSED(pk_convert_options, pk_model_convert(MODEL, "/no/such/folder/x", opt));
}

static void try_pk_translator_open(fixture *f) {
    pk_translator  *t = f->translator;
    const pk_model *none[2] = { NULL, NULL };
    REFUSED(pk_translator_open(NULL, NULL, &t));
    assert_null(t);
    REFUSED(pk_translator_open(f->model, NULL, NULL));
    REFUSED(pk_translator_open(
        f->model, PK_OPTIONS(pk_translator_options, .ensemble = none, .n_ensemble = 2), &t));
    REFUSED(pk_translator_open(f->model, PK_OPTIONS(pk_translator_options, .n_ensemble = 1), &t));
    SIZES_REFUSED(pk_translator_options, pk_translator_open(f->model, opt, &t));
    assert_null(t);
}

static void try_pk_translator_close(fixture *f) {
    (void)f;
    pk_translator_close(NULL);
}

static void try_pk_submit(fixture *f) {
    pk_call      *c = (pk_call *)f;
    const pk_text none = { NULL, 3 };
    REFUSED(pk_submit(NULL, &one, 1, NULL, &c));
    assert_null(c);
    REFUSED(pk_submit(f->translator, NULL, 1, NULL, &c));
    REFUSED(pk_submit(f->translator, &one, 1, NULL, NULL));
    REFUSED(pk_submit(f->translator, &none, 1, NULL, &c));
    REFUSED(pk_submit(f->translator, &one, 1, PK_OPTIONS(pk_call_options, .deadline = -1), &c));
    SIZES_REFUSED(pk_call_options, pk_submit(f->translator, &one, 1, opt, &c));
    assert_null(c);
}

static void try_pk_text_split(fixture *f) {
    pk_span *span = (pk_span *)f;
    size_t   n = 7;
    REFUSED(pk_text_split((pk_text){ NULL, 3 }, "en", &span, &n));
    REFUSED(pk_text_split(one, "en", NULL, &n));
    REFUSED(pk_text_split(one, "en", &span, NULL));
    ASSERT_OK(pk_text_split(one, NULL, &span, &n)); /* a language that is not known is no error */
    assert_true(n > 0);
    pk_free(span);
    ASSERT_OK(pk_text_split((pk_text){ NULL, 0 }, "en", &span, &n));
    assert_int_equal(n, 0);
    pk_free(span);
}

static void try_pk_detect(fixture *f) {
    pk_detected best = { 0 };
    size_t      n = 7;
    (void)f;
    REFUSED(pk_detect((pk_text){ NULL, 3 }, NULL, &best, 1, &n));
    REFUSED(pk_detect(one, NULL, NULL, 1, &n));
    REFUSED(pk_detect(one, NULL, &best, 1, NULL));
    SIZES_REFUSED(pk_detect_options, pk_detect(one, opt, &best, 1, &n));
    ASSERT_OK(pk_detect((pk_text){ NULL, 0 }, NULL, &best, 1, &n));
    assert_true(best.confidence == 0);
}

static void try_pk_call_cancel(fixture *f) {
    (void)f;
    pk_call_cancel(NULL);
}

static void try_pk_call_end(fixture *f) {
    pk_result *r = (pk_result *)f;
    pk_call   *c;
    REFUSED(pk_call_end(NULL, &r));
    assert_null(r);
    REFUSED(pk_call_end(NULL, NULL));
    ASSERT_OK(pk_submit(f->translator, &one, 1, NULL, &c));
    ASSERT_OK(pk_call_end(c, NULL)); /* nobody wants its result */
}

static void try_pk_translate(fixture *f) {
    pk_result    *r = f->result;
    const pk_text none = { NULL, 3 };
    REFUSED(pk_translate(NULL, &one, 1, NULL, &r));
    assert_null(r);
    REFUSED(pk_translate(f->translator, NULL, 1, NULL, &r));
    REFUSED(pk_translate(f->translator, &one, 1, NULL, NULL));
    REFUSED(pk_translate(f->translator, &none, 1, NULL, &r));
    REFUSED(pk_translate(f->translator, &one, 1, PK_OPTIONS(pk_call_options, .prefix = &none), &r));
    REFUSED(pk_translate(f->translator, &one, 1, PK_OPTIONS(pk_call_options, .draft = &none), &r));
    SIZES_REFUSED(pk_call_options, pk_translate(f->translator, &one, 1, opt, &r));
    assert_null(r);
    ASSERT_OK(pk_translate(f->translator, NULL, 0, NULL, &r)); /* nothing to do is no error */
    pk_result_free(r);
    ASSERT_OK(pk_translate(f->translator, &(pk_text){ NULL, 0 }, 1, NULL, &r)); /* an empty text */
    assert_string_equal(pk_result_text(r, 0), "");
    pk_result_free(r);
}

static void try_pk_score(fixture *f) {
    pk_result    *r = f->result;
    const pk_text none = { NULL, 3 };
    REFUSED(pk_score(NULL, &one, &one, 1, NULL, &r));
    assert_null(r);
    REFUSED(pk_score(f->translator, NULL, &one, 1, NULL, &r));
    REFUSED(pk_score(f->translator, &one, NULL, 1, NULL, &r));
    REFUSED(pk_score(f->translator, &one, &none, 1, NULL, &r));
    REFUSED(pk_score(f->translator, &one, &one, 1, NULL, NULL));
    SIZES_REFUSED(pk_call_options, pk_score(f->translator, &one, &one, 1, opt, &r));
    ASSERT_OK(pk_score(f->translator, &one, &(pk_text){ NULL, 0 }, 1, NULL, &r));
    pk_result_free(r);
    ASSERT_OK(pk_score(f->translator, NULL, NULL, 0, NULL, &r));
    assert_int_equal(pk_result_count(r), 0);
    pk_result_free(r);
}

static void try_pk_result_free(fixture *f) {
    (void)f;
    pk_result_free(NULL);
}

static void try_pk_result_count(fixture *f) {
    (void)f;
    assert_int_equal(pk_result_count(NULL), 0);
}

static void try_pk_result_text(fixture *f) {
    assert_string_equal(pk_result_text(NULL, 0), "");
    assert_string_equal(pk_result_text(f->result, SIZE_MAX), "");
}

static void try_pk_result_score(fixture *f) {
    assert_true(pk_result_score(NULL, 0) == 0);
    assert_true(pk_result_score(f->result, SIZE_MAX) == 0);
}

static void try_pk_result_hypotheses(fixture *f) {
    assert_int_equal(pk_result_hypotheses(NULL, 0), 0);
    assert_int_equal(pk_result_hypotheses(f->result, SIZE_MAX), 0);
}

static void try_pk_result_unknowns(fixture *f) {
    assert_int_equal(pk_result_unknowns(NULL, 0, 0), 0);
    assert_int_equal(pk_result_unknowns(f->result, SIZE_MAX, 0), 0);
    assert_int_equal(pk_result_unknowns(f->result, 0, -1), 0);
    assert_int_equal(pk_result_unknowns(f->result, 0, INT32_MAX), 0);
}

static void try_pk_result_hypothesis(fixture *f) {
    pk_hypothesis_view h;
    REFUSED(pk_result_hypothesis(NULL, 0, 0, &h));
    REFUSED(pk_result_hypothesis(f->result, 0, 0, NULL));
    REFUSED(pk_result_hypothesis(f->result, SIZE_MAX, 0, &h));
    REFUSED(pk_result_hypothesis(f->result, 0, -1, &h));
    REFUSED(pk_result_hypothesis(f->result, 0, INT32_MAX, &h));
}

static void try_pk_translator_stats(fixture *f) {
    const pk_stats nothing = { 0 };
    pk_stats       stats;
    memset(&stats, 7, sizeof stats); /* all of it is written */
    pk_translator_stats(NULL, &stats);
    assert_memory_equal(&stats, &nothing, sizeof stats);
    pk_translator_stats(f->translator, NULL);
}

static void try_pk_strategies_describe(fixture *f) {
    (void)f;
    REFUSED(pk_strategies_describe(NULL));
}

static void try_pk_trainer_open(fixture *f) {
    pk_trainer *t = (pk_trainer *)f;
    REFUSED(pk_trainer_open(NULL, NULL, &t));
    assert_null(t);
    REFUSED(pk_trainer_open("recipes/tiny.yml", NULL, NULL));
    REFUSED(pk_trainer_open("recipes/tiny.yml", PK_OPTIONS(pk_trainer_options, .n_set = 1), &t));
    REFUSED(pk_trainer_open(
        "recipes/tiny.yml",
        PK_OPTIONS(pk_trainer_options, .set = (const char *[]){ NULL }, .n_set = 1), &t));
    SIZES_REFUSED(pk_trainer_options, pk_trainer_open("/no/such/recipe", opt, &t));
}

static void try_pk_trainer_step(fixture *f) {
    pk_train_report r;
    (void)f;
    REFUSED(pk_trainer_step(NULL, &r));
    REFUSED(pk_trainer_step(NULL, NULL));
}

static void try_pk_trainer_report_text(fixture *f) {
    (void)f;
    assert_string_equal(pk_trainer_report_text(NULL), "");
}

static void try_pk_trainer_output(fixture *f) {
    (void)f;
    assert_string_equal(pk_trainer_output(NULL), "");
}

static void try_pk_trainer_save(fixture *f) {
    (void)f;
    REFUSED(pk_trainer_save(NULL));
}

static void try_pk_trainer_rank(fixture *f) {
    (void)f;
    assert_int_equal(pk_trainer_rank(NULL), 0);
}

static void try_pk_trainer_close(fixture *f) {
    (void)f;
    pk_trainer_close(NULL);
}

static void try_pk_recipe_text(fixture *f) {
    (void)f;
    REFUSED(pk_recipe_text(NULL));
}

static void try_pk_model_average(fixture *f) {
    const char *none[] = { NULL }, *paths[] = { MODEL };
    (void)f;
    REFUSED(pk_model_average(NULL, 1, "/no/such/folder/x", NULL));
    REFUSED(pk_model_average(paths, 0, "/no/such/folder/x", NULL));
    REFUSED(pk_model_average(none, 1, "/no/such/folder/x", NULL));
    REFUSED(pk_model_average(paths, 1, NULL, NULL));
}

static void try_pk_vocab_train(fixture *f) {
    const char *none[] = { NULL };
    (void)f;
    REFUSED(pk_vocab_train(NULL));
    REFUSED(pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .output = "x")));
    REFUSED(pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .output = "x", .n_inputs = 1)));
    REFUSED(pk_vocab_train(
        PK_OPTIONS(pk_vocab_train_options, .output = "x", .inputs = none, .n_inputs = 1)));
    SIZES_REFUSED(pk_vocab_train_options, pk_vocab_train(opt));
}

static void try_pk_distill(fixture *f) {
    const char *path = "/no/such/folder/x";
    REFUSED(pk_distill(NULL, path, path, NULL, NULL));
    REFUSED(pk_distill(f->model, NULL, path, NULL, NULL));
    REFUSED(pk_distill(f->model, path, NULL, NULL, NULL));
    SIZES_REFUSED(pk_distill_options, pk_distill(f->model, path, path, opt, NULL));
    SIZES_REFUSED(
        pk_translator_options,
        pk_distill(f->model, path, path, PK_OPTIONS(pk_distill_options, .translator = opt), NULL));
}

static void try_pk_evaluate(fixture *f) {
    const pk_text       *systems[] = { &one }, *none[] = { NULL };
    const pk_text        wrong = { NULL, 3 }, *wrongs[] = { &wrong };
    pk_eval_scores       out;
    const pk_eval_scores zero = { 0 };
    (void)f;
    REFUSED(pk_evaluate(NULL, systems, 1, 1, NULL, &out));
    REFUSED(pk_evaluate(&one, NULL, 1, 1, NULL, &out));
    REFUSED(pk_evaluate(&one, none, 1, 1, NULL, &out));
    REFUSED(pk_evaluate(&one, systems, 0, 1, NULL, &out));
    REFUSED(pk_evaluate(&one, systems, 1, 0, NULL, &out));
    REFUSED(pk_evaluate(&one, systems, 1, 1, NULL, NULL));
    REFUSED(pk_evaluate(&wrong, systems, 1, 1, NULL, &out));
    REFUSED(pk_evaluate(&one, wrongs, 1, 1, NULL, &out));
    SIZES_REFUSED(pk_eval_options, pk_evaluate(&one, systems, 1, 1, opt, &out));
    ASSERT_OK(pk_evaluate(&one, systems, 1, 1, NULL, &out));
    assert_memory_not_equal(&out, &zero, sizeof out);
}

static void try_pk_eval_signature(fixture *f) {
    char *text = (char *)f;
    REFUSED(pk_eval_signature(NULL, NULL, &text));
    assert_null(text);
    REFUSED(pk_eval_signature(NULL, "bleu", NULL));
    SIZES_REFUSED(pk_eval_options, pk_eval_signature(opt, "bleu", &text));
}

static int write_nothing(void *user, const char *lines, size_t size) {
    return (void)user, (void)lines, (void)size, 0;
}

static void try_pk_align(fixture *f) {
    (void)f;
    REFUSED(pk_align(NULL, NULL));
    REFUSED(pk_align(PK_OPTIONS(pk_align_options, .target = "x"), NULL));
    SIZES_REFUSED(pk_align_options, pk_align(opt, NULL));
}

static void try_pk_align_symmetrise_files(fixture *f) {
    const char *path = "/no/such/file";
    (void)f;
    REFUSED(pk_align_symmetrise_files(NULL, path, "union", write_nothing, NULL));
    REFUSED(pk_align_symmetrise_files(path, NULL, "union", write_nothing, NULL));
    REFUSED(pk_align_symmetrise_files(path, path, NULL, write_nothing, NULL));
    REFUSED(pk_align_symmetrise_files(path, path, "union", NULL, NULL));
}

static void try_pk_aligner_open(fixture *f) {
    pk_aligner *a = (pk_aligner *)f;
    REFUSED(pk_aligner_open(NULL, &a));
    assert_null(a);
    REFUSED(pk_aligner_open("/no/such/file", NULL));
}

/* with an aligner that has learned something */
static void try_pk_aligner_align(fixture *f) {
    const pk_text none = { NULL, 3 }, empty = { NULL, 0 };
    const char   *links = (const char *)f;
    char          path[64];
    pk_aligner   *a;
    snprintf(path, sizeof path, "/tmp/pronk-api-%ld", (long)getpid());
    ASSERT_OK(pk_align(PK_OPTIONS(pk_align_options, .source = "recipes/data/tiny.valid.en",
                                  .target = "recipes/data/tiny.valid.de", .save = path),
                       NULL));
    ASSERT_OK(pk_aligner_open(path, &a));
    REFUSED(pk_aligner_align(NULL, one, one, &links));
    REFUSED(pk_aligner_align(a, one, one, NULL));
    REFUSED(pk_aligner_align(a, none, one, &links));
    assert_null(links);
    REFUSED(pk_aligner_align(a, one, none, &links));
    ASSERT_OK(pk_aligner_align(a, empty, one, &links));
    assert_string_equal(links, "");
    pk_aligner_close(a);
    unlink(path);
}

static void try_pk_aligner_close(fixture *f) {
    (void)f;
    pk_aligner_close(NULL);
}

static void try_pk_glossary_open(fixture *f) {
    pk_glossary *g = (pk_glossary *)f;
    REFUSED(pk_glossary_open((pk_text){ NULL, 3 }, &g));
    assert_null(g);
    REFUSED(pk_glossary_open((pk_text){ "no tab", 6 }, &g));
    REFUSED(pk_glossary_open((pk_text){ "a\tb", 3 }, NULL));
}

static void try_pk_glossary_close(fixture *f) {
    (void)f;
    pk_glossary_close(NULL);
}

static void try_pk_glossary_count(fixture *f) {
    (void)f;
    assert_int_equal(pk_glossary_count(NULL), 0);
}

/* ---- The list ---- */

#define ENTRY(name) { #name, try_##name },
static const struct entry {
    const char *name;
    void (*try)(fixture *f);
} functions[] = { FUNCTIONS(ENTRY) };
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static bool is_listed(const char *name, size_t n) {
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (strlen(functions[i].name) == n && !memcmp(functions[i].name, name, n)) return true;
    return false;
}

/* the name before the bracket of each declaration that begins with PK_API */
static void every_function_of_the_header_is_tried(void **state) {
    static char text[1 << 16];
    int         found = 0;
    FILE       *file = fopen("include/pronk.h", "r");
    (void)state;
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(size < sizeof text - 1);
    text[size] = 0;
    for (const char *at = text; (at = strstr(at, "\nPK_API "));) {
        at = strchr(at, '(');
        const char *name = at;
        while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z')) name--;
        if (!is_listed(name, (size_t)(at - name)))
            fail_msg("%.*s is in pronk.h and not tried here", (int)(at - name), name);
        found++;
    }
    assert_int_equal(found, N_FUNCTIONS);
}

static void null_and_zero_are_errors_and_no_crashes(void **state) {
    fixture f;
    (void)state;
    ASSERT_OK(pk_model_open(MODEL, NULL, &f.model));
    ASSERT_OK(pk_translator_open(f.model, NULL, &f.translator));
    ASSERT_OK(pk_translate(f.translator, &one, 1, NULL, &f.result));
    for (int i = 0; i < N_FUNCTIONS; i++) {
        print_message("%s\n", functions[i].name);
        functions[i].try(&f);
    }
    pk_result_free(f.result);
    pk_translator_close(f.translator);
    pk_model_close(f.model);
}

/* an option that came later, and was not set, does not trouble an older library; an older caller's
 * shorter struct has the defaults in what it lacks */
static void options_of_other_versions_are_read(void **state) {
    struct {
        pk_model_options o;
        int64_t          later[4];
    } newer = { .o = { .size = sizeof newer, .type = "i8" } };
    pk_model *m;
    char     *json;
    (void)state;
    ASSERT_OK(pk_model_open(MODEL, &newer.o, &m));
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"type\": \"i8\""));
    pk_free(json);
    pk_translator        *t;
    pk_translator_options older = { .size = offsetof(pk_translator_options, from), .from = "xx" };
    ASSERT_OK(pk_translator_open(m, &older, &t));
    pk_translator_close(t);
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_of_the_header_is_tried),
        cmocka_unit_test(null_and_zero_are_errors_and_no_crashes),
        cmocka_unit_test(options_of_other_versions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
