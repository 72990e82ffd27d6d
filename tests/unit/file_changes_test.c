/* file_changes_test.c - a model whose file changes while it is open: an error, never a translation;
 * one that is replaced by rename goes on. And which files are a model's: none may be an output. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "tests/data/models/marian-relu"

static char folder[] = "/tmp/pronk-changes-XXXXXX";
static char path[64], other[64];

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/model.pronk", folder);
    snprintf(other, sizeof other, "%s/other.pronk", folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    unlink(path), unlink(other);
    return rmdir(folder);
}

static const pk_text text = { "the cat", 7 };

static pk_status translate(pk_translator *t) {
    pk_result      *r = NULL;
    const pk_status status = pk_translate(t, &text, 1, NULL, &r);
    assert_int_equal(r != NULL, status == PK_OK);
    pk_result_free(r);
    return status;
}

static pk_status score(pk_translator *t) {
    pk_result      *r = NULL;
    const pk_status status = pk_score(t, &text, &text, 1, NULL, &r);
    pk_result_free(r);
    return status;
}

/* the last byte anew: the same size, another time */
static void write_in_place(void) {
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    usleep(20000); /* file systems count time in ticks */
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    fputc('x', f);
    fclose(f);
}

static void open_pair(pk_model **folder_model, pk_model **m, pk_translator **t) {
    const pk_model *more[1];
    ASSERT_OK(pk_model_convert(FOLDER, path, NULL));
    ASSERT_OK(pk_model_open(FOLDER, NULL, folder_model));
    ASSERT_OK(pk_model_open(path, NULL, m));
    more[0] = *m; /* any of an ensemble counts */
    ASSERT_OK(pk_translator_open(
        *folder_model,
        PK_OPTIONS(pk_translator_options, .ensemble = more, .n_ensemble = 1, .threads = 1), t));
}

static void a_file_that_is_written_to_is_an_error(void **state) {
    pk_model      *f, *m;
    pk_translator *t, *none;
    (void)state;
    open_pair(&f, &m, &t);
    ASSERT_OK(translate(t));
    ASSERT_OK(score(t));
    write_in_place();
    ASSERT_STATUS(PK_IO, translate(t));
    assert_non_null(strstr(pk_last_error(), path));
    assert_non_null(strstr(pk_last_error(), "rename"));
    ASSERT_STATUS(PK_IO, score(t));
    ASSERT_STATUS(PK_IO, pk_translator_open(m, NULL, &none));
    assert_null(none);
    pk_translator_close(t);
    pk_model_close(m);
    pk_model_close(f);
}

static int change(void *user, size_t done, size_t all) {
    (void)done, (void)all;
    if (!*(int *)user) write_in_place();
    *(int *)user = 1;
    return 0;
}

/* what was computed meanwhile is thrown away */
static void a_change_during_a_call_is_an_error(void **state) {
    pk_model      *f, *m;
    pk_translator *t;
    pk_result     *r;
    int            changed = 0;
    (void)state;
    open_pair(&f, &m, &t);
    const pk_call_options o = { .size = sizeof o, .progress = change, .user = &changed };
    ASSERT_STATUS(PK_IO, pk_translate(t, &text, 1, &o, &r));
    assert_true(changed);
    assert_null(r);
    pk_translator_close(t);
    pk_model_close(m);
    pk_model_close(f);
}

static void a_file_that_is_replaced_goes_on(void **state) {
    pk_model      *f, *m;
    pk_translator *t;
    (void)state;
    open_pair(&f, &m, &t);
    ASSERT_OK(pk_model_convert(FOLDER, path, PK_OPTIONS(pk_convert_options, .type = "i8")));
    ASSERT_OK(translate(t));
    assert_int_equal(unlink(path), 0);
    ASSERT_OK(translate(t));
    pk_translator_close(t);
    pk_model_close(m);
    pk_model_close(f);
}

static int32_t reads(const pk_model *m, const char *file) {
    struct stat about;
    assert_int_equal(stat(file, &about), 0);
    return pk_model_reads(m, (uint64_t)about.st_dev, (uint64_t)about.st_ino);
}

static void a_model_knows_its_files(void **state) {
    static const char *const files[] = { "config.json", "model.safetensors", "vocab.json",
                                         "source.spm", "target.spm" };
    pk_model                *m;
    char                     name[128];
    (void)state;
    ASSERT_OK(pk_model_convert(FOLDER, path, NULL));
    ASSERT_OK(pk_model_open(FOLDER, NULL, &m));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, FOLDER "/%s", files[i]);
        assert_int_equal(reads(m, name), 1);
        ASSERT_STATUS(PK_ARGUMENT, pk_model_convert(FOLDER, name, NULL));
    }
    assert_int_equal(reads(m, path), 0);
    pk_model_close(m);
    ASSERT_OK(pk_model_open(path, NULL, &m));
    assert_int_equal(reads(m, path), 1);
    pk_model_close(m);
    ASSERT_STATUS(PK_ARGUMENT, pk_model_convert(path, path, NULL));
    assert_int_equal(link(path, other), 0);
    ASSERT_STATUS(PK_ARGUMENT, pk_model_convert(path, other, NULL));
    assert_int_equal(unlink(other), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_written_to_is_an_error),
        cmocka_unit_test(a_change_during_a_call_is_an_error),
        cmocka_unit_test(a_file_that_is_replaced_goes_on),
        cmocka_unit_test(a_model_knows_its_files),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
