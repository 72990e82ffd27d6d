/* import_argos_test.c - .argosmodel packages and the folders they are unpacked to; what is said of
 * those that are of another kind, damaged or hostile. */
#include <sys/stat.h>

#include "check.h"
#include "model/model_file.h"
#include "zip_help.h"

#define DATA     "tests/data/ct2/"
#define MODEL    DATA "opennmt"
#define METADATA "{\"from_code\":\"en\",\"to_code\":\"de\",\"target_prefix\":\"\\u2581der\"}"

/* what a package is made of: data NULL: a file of MODEL */
typedef struct part {
    const char *name, *data;
} part;
#define MODEL_PARTS                                                 \
    { "p/model/model.bin", NULL }, { "p/model/config.json", NULL }, \
        { "p/model/source_vocabulary.json", NULL }, {               \
        "p/model/target_vocabulary.json", NULL                      \
    }
#define METADATA_PART \
    { "p/metadata.json", METADATA }
#define SPM_PART \
    { "p/sentencepiece.model", NULL }

static char path[256];

static void add_part(made *z, const part *p) {
    char        from[128];
    pk_buffer   file = { 0 };
    const char *slash = strrchr(p->name, '/');
    snprintf(from, sizeof from, MODEL "/%s", slash ? slash + 1 : p->name);
    if (!p->data) file = read_bytes(from);
    add_deflated(z, p->name, p->data ? p->data : file.data, p->data ? strlen(p->data) : file.size);
    pk_buffer_free(&file);
}

static void write_package(const part *parts, size_t n) {
    made z = { 0 };
    temporary(path, "p.argosmodel");
    for (size_t i = 0; i < n; i++) add_part(&z, &parts[i]);
    end_archive(&z);
    write_bytes(path, z.file.data, z.file.size);
    free_archive(&z);
}
#define WRITE(...)                               \
    write_package((const part[]){ __VA_ARGS__ }, \
                  sizeof((const part[]){ __VA_ARGS__ }) / sizeof(part))

static void refuse(pk_status want, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_model_data   m;
    const pk_status status = pk_model_data_open(path, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    const char *first = strstr(pk_last_error(), path);
    assert_non_null(first);
    assert_null(strstr(first + 1, path)); /* once is enough */
    assert_int_equal(pk_memory_alive(), alive);
    unlink(path);
}

static void check_package(const char *where) {
    pk_model_data m;
    ASSERT_OK(pk_model_data_open(where, -1, &m));
    const pk_config *c = &m.network.config;
    assert_string_equal(c->source_language, "en");
    assert_string_equal(c->target_language, "de");
    assert_true(c->forced_bos == 4 && c->beams == 4 && c->length_penalty == 0.2f);
    assert_true(c->bare_source && c->dim == 16);
    pk_model_data_close(&m);
}

static void a_package_is_a_model(void **state) {
    (void)state;
    check_package(DATA "en-de.argosmodel");
    WRITE(METADATA_PART, SPM_PART, MODEL_PARTS, { "p/stanza/", "" }, { "p/stanza/x", "y" });
    check_package(path);
    unlink(path);
    WRITE({ "metadata.json", METADATA }, { "sentencepiece.model", NULL }, /* without a top folder */
          { "model/model.bin", NULL }, { "model/config.json", NULL },
          { "model/source_vocabulary.json", NULL }, { "model/target_vocabulary.json", NULL });
    check_package(path);
    unlink(path);
}

/* those programs unpack packages before they use them */
static void so_is_its_folder(void **state) {
    static const char *const files[] = { "model.bin", "config.json", "source_vocabulary.json",
                                         "target_vocabulary.json" };
    char                     folder[300], name[700], real[4096];
    (void)state;
    temporary(folder, "unpacked");
    mkdir(folder, 0777);
    snprintf(name, sizeof name, "%s/model", folder);
    mkdir(name, 0777);
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, MODEL "/%s", files[i]);
        assert_non_null(realpath(name, real));
        snprintf(name, sizeof name, "%s/model/%s", folder, files[i]);
        assert_int_equal(symlink(real, name), 0);
    }
    assert_non_null(realpath(MODEL "/sentencepiece.model", real));
    snprintf(name, sizeof name, "%s/sentencepiece.model", folder);
    assert_int_equal(symlink(real, name), 0);
    snprintf(name, sizeof name, "%s/metadata.json", folder);
    write_bytes(name, METADATA, strlen(METADATA));
    check_package(folder);
    snprintf(name, sizeof name, "rm -r %s", folder);
    assert_int_equal(system(name), 0);
}

static void packages_with_bpe_are_refused_by_name(void **state) {
    (void)state;
    WRITE(METADATA_PART, { "p/bpe.model", "#version: 0.2" }, MODEL_PARTS);
    refuse(PK_UNSUPPORTED, "bpe.model");
    WRITE(METADATA_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "without sentencepiece.model");
}

static void metadata_must_make_sense(void **state) {
    (void)state;
    WRITE({ "p/metadata.json", "{" }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "metadata.json: not valid JSON");
    WRITE({ "p/metadata.json", "{\"type\":\"sbd\"}" }, SPM_PART, MODEL_PARTS);
    refuse(PK_UNSUPPORTED, "a package of type \"sbd\"");
    WRITE({ "p/metadata.json", "{\"target_prefix\":\"__de__\"}" }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "target_prefix \"__de__\" is no token of the model");
    WRITE({ "p/metadata.json", "{\"from_code\":7}" }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "\"from_code\" must be a text");
    WRITE({ "p/metadata.json", "{\"from_code\":\"abcdefghijklmnopqr\"}" }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "\"from_code\" is no language's code");
    WRITE(SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "it has no metadata.json");
    WRITE(METADATA_PART, { "q/metadata.json", METADATA }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "more than one metadata.json");
    WRITE({ "p/q/metadata.json", METADATA }, SPM_PART, MODEL_PARTS);
    refuse(PK_FORMAT, "it has no metadata.json");
}

static void damaged_packages_are_refused(void **state) {
    (void)state;
    temporary(path, "p.argosmodel");
    write_bytes(path, "no zip", 6);
    refuse(PK_FORMAT, "zip archive without its directory");
    write_bytes(path, "", 0);
    refuse(PK_FORMAT, "zip archive without its directory");
    WRITE(METADATA_PART, SPM_PART);
    refuse(PK_FORMAT, "/model/model.bin: it is missing");
    WRITE(METADATA_PART, SPM_PART, { "p/model/model.bin", "\6" });
    refuse(PK_FORMAT, "/model/model.bin: cut short");
    WRITE(METADATA_PART, SPM_PART, { "p/model/model.bin", NULL });
    refuse(PK_FORMAT, "no vocabulary");
}

/* a small file that unpacks to much, or says so */
static void bombs_take_no_memory(void **state) {
    const size_t size = 64 << 20;
    char        *zeros = calloc(size, 1);
    made         z = { 0 };
    (void)state;
    temporary(path, "p.argosmodel");
    add_deflated(&z, "metadata.json", METADATA, strlen(METADATA));
    add_deflated(&z, "sentencepiece.model", "spm", 3);
    add_deflated(&z, "model/model.bin", zeros, size);
    end_archive(&z);
    write_bytes(path, z.file.data, z.file.size);
    free_archive(&z);
    const int64_t count = pk_memory_count();
    refuse(PK_FORMAT, "model.bin: ");
    assert_non_null(strstr(pk_last_error(), "not what a model is made of"));
    assert_true(pk_memory_count() - count < 20);
    z.wide = true, z.size = (uint64_t)1 << 60;
    add_deflated(&z, "metadata.json", METADATA, strlen(METADATA));
    end_archive(&z);
    write_bytes(path, z.file.data, z.file.size);
    free_archive(&z);
    refuse(PK_FORMAT, "metadata.json: 1152921504606846976 bytes when unpacked: more than");
    free(zeros);
}

static pk_status try_open(void *user) {
    pk_model_data   m;
    const pk_status status = pk_model_data_open(user, -1, &m);
    if (status == PK_OK) pk_model_data_close(&m);
    return status;
}

static void memory_may_be_short(void **state) {
    (void)state;
    assert_true(check_every_allocation(try_open, DATA "en-de.argosmodel") > 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_package_is_a_model),
        cmocka_unit_test(so_is_its_folder),
        cmocka_unit_test(packages_with_bpe_are_refused_by_name),
        cmocka_unit_test(metadata_must_make_sense),
        cmocka_unit_test(damaged_packages_are_refused),
        cmocka_unit_test(bombs_take_no_memory),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
