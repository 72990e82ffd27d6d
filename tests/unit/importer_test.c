/* importer_test.c - what a path may be: a .pronk file, the folder of a training, a Hugging Face
 * folder; and what is said of everything else. */
#include <sys/stat.h>

#include "checkpoint_help.h"
#include "model/model_file.h"

#define MODEL "tests/data/models/marian-relu"

static char folder[256];

static const char *within(char path[400], const char *name) {
    snprintf(path, 400, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    temporary(folder, "importers");
    return mkdir(folder, 0777);
}

static int remove_folder(void **state) {
    static const char *const names[] = {
        "model.pronk", "config.json", "log.jsonl", "best.pronk", "checkpoint-7.safetensors", "pipe"
    };
    char path[400];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(within(path, names[i]));
    return rmdir(folder);
}

static void refuse(const char *path, pk_status want, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_model_data   m;
    const pk_status status = pk_model_data_open(path, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    const char *first = strstr(pk_last_error(), path);
    assert_non_null(first);
    assert_null(strstr(first + 1, path)); /* once is enough */
    assert_int_equal(pk_memory_alive(), alive);
}

static void a_trainings_folder_is_its_model(void **state) {
    char          path[400];
    pk_model_data m;
    (void)state;
    write_bytes(within(path, "config.json"), "{}", 2); /* its own model comes first */
    assert_int_equal(pk_model_convert(MODEL, within(path, "model.pronk"), NULL), PK_OK);
    assert_int_equal(pk_model_data_open(folder, -1, &m), PK_OK);
    assert_int_equal(m.type, PK_F32);
    pk_model_data_close(&m);
    assert_int_equal(pk_model_data_open(folder, PK_I8, &m), PK_OK);
    assert_int_equal(m.type, PK_I8);
    pk_model_data_close(&m);
    write_bytes(within(path, "model.pronk"), "damaged", 7);
    refuse(folder, PK_FORMAT, "model.pronk: not a safetensors file");
}

static void an_unfinished_training_says_what_to_do(void **state) {
    char path[400];
    (void)state;
    write_bytes(within(path, "log.jsonl"), "{}\n", 3);
    refuse(folder, PK_IO, "pronk average");
}

static void a_checkpoint_is_no_model(void **state) {
    char path[400];
    (void)state;
    within(path, "checkpoint-7.safetensors");
    assert_int_equal(pk_safetensors_write(path, "{\"format\":\"pronk-checkpoint\"}", NULL, 0),
                     PK_OK);
    refuse(path, PK_FORMAT, "pronk average");
}

static void what_is_no_model_is_told_what_there_is(void **state) {
    char path[400];
    (void)state;
    refuse(folder, PK_IO, "a .pronk file");
    refuse(folder, PK_IO, "model.pronk");
    refuse(folder, PK_IO, "config.json");
    refuse(within(path, "nothing"), PK_IO, "No such file");
    assert_int_equal(mkfifo(within(path, "pipe"), 0666), 0);
    alarm(20); /* opening it would wait for a writer */
    refuse(path, PK_IO, "a .pronk file");
    alarm(0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_trainings_folder_is_its_model),
        TEST(an_unfinished_training_says_what_to_do),
        TEST(a_checkpoint_is_no_model),
        TEST(what_is_no_model_is_told_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
