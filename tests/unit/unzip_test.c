/* unzip_test.c - entries of zip archives, unpacked in memory: what they hold, how much they may
 * hold, and what is said of damaged ones. */
#include "checkpoint/zip.h"

#include "check.h"
#include "zip_help.h"

static const char text[] = "rain, rain, rain, rain and again rain";

/* unpacks the only entry; *out is the caller's */
static pk_status unpack(made *z, size_t most, void **out, size_t *size) {
    pk_zip zip;
    end_archive(z);
    *out = NULL;
    pk_status status = pk_zip_open((const unsigned char *)z->file.data, z->file.size, &zip);
    if (status == PK_OK) {
        assert_int_equal(zip.n, 1);
        *size = zip.entry[0].size;
        status = pk_zip_unpack(&zip.entry[0], most, out);
    }
    pk_zip_close(&zip);
    free_archive(z);
    return status;
}

static void refuse(made *z, size_t most, const char *says) {
    void  *out;
    size_t size;
    assert_int_equal(unpack(z, most, &out, &size), PK_FORMAT);
    if (!strstr(pk_last_error(), says)) fail_msg("\"%s\"", pk_last_error());
    assert_null(out);
    assert_int_equal(pk_memory_alive(), 0);
}

static void what_went_in_comes_out(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        made   z = { .wide = i & 1 };
        void  *out;
        size_t size;
        if (i & 2)
            add_deflated(&z, "a/b", text, sizeof text);
        else
            add_entry(&z, "a/b", text, sizeof text);
        assert_int_equal(unpack(&z, sizeof text, &out, &size), PK_OK);
        assert_int_equal(size, sizeof text);
        assert_memory_equal(out, text, sizeof text);
        pk_memory_give(out);
    }
}

static void nothing_is_something_too(void **state) {
    made   z = { 0 };
    void  *out;
    size_t size;
    (void)state;
    add_deflated(&z, "empty", "", 0);
    assert_int_equal(unpack(&z, 0, &out, &size), PK_OK);
    assert_int_equal(size, 0);
    pk_memory_give(out);
}

static void more_than_there_may_be_is_refused(void **state) {
    made z = { 0 };
    (void)state;
    add_deflated(&z, "a", text, sizeof text);
    refuse(&z, sizeof text - 1, "more than");
    z = (made){ .wide = true, .size = (uint64_t)1 << 50 };
    add_deflated(&z, "a", text, sizeof text);
    refuse(&z, (size_t)1 << 40, "more than");
}

/* 32 MB of zeros are 32 kB deflated; no memory is taken for them */
static void bombs_are_refused(void **state) {
    const size_t size = 32 << 20;
    char        *zeros = calloc(size, 1);
    made         z = { 0 };
    (void)state;
    add_deflated(&z, "bomb", zeros, size);
    refuse(&z, 2 * size, "not what a model is made of");
    free(zeros);
}

static void sizes_and_checksums_must_be_true(void **state) {
    made z = { .checksum = 7 };
    (void)state;
    add_deflated(&z, "a", text, sizeof text);
    refuse(&z, 1000, "checksum");
    z.checksum = 7;
    add_entry(&z, "a", text, sizeof text);
    refuse(&z, 1000, "checksum");
    z.size = sizeof text + 1; /* more than there is */
    add_deflated(&z, "a", text, sizeof text);
    refuse(&z, 1000, "does not unpack");
    z.size = sizeof text - 1; /* less */
    add_deflated(&z, "a", text, sizeof text);
    refuse(&z, 1000, "does not unpack");
    z.method = 8, z.size = 100; /* not deflated at all */
    add_entry(&z, "a", text, sizeof text);
    refuse(&z, 1000, "does not unpack");
}

static void other_methods_are_refused(void **state) {
    made   z = { .method = 12 };
    void  *out;
    size_t size;
    (void)state;
    add_entry(&z, "a", text, sizeof text);
    assert_int_equal(unpack(&z, 1000, &out, &size), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "deflate"));
}

static pk_status try_unpack(void *user) {
    const pk_zip_entry *e = user;
    void               *out;
    const pk_status     status = pk_zip_unpack(e, 1000, &out);
    pk_memory_give(out);
    return status;
}

static void memory_may_be_short(void **state) {
    made   z = { 0 };
    pk_zip zip;
    (void)state;
    add_deflated(&z, "a", text, sizeof text);
    end_archive(&z);
    assert_int_equal(pk_zip_open((const unsigned char *)z.file.data, z.file.size, &zip), PK_OK);
    assert_int_equal(check_every_allocation(try_unpack, &zip.entry[0]), 1);
    pk_zip_close(&zip);
    free_archive(&z);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_went_in_comes_out),
        cmocka_unit_test(nothing_is_something_too),
        cmocka_unit_test(more_than_there_may_be_is_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(sizes_and_checksums_must_be_true),
        cmocka_unit_test(other_methods_are_refused),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
