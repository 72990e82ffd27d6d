/* base_test.c - status lines, buffers, mapped files and files that appear whole or not at all. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file_map.h"
#include "base/file_writer.h"
#include "base/hash.h"
#include "base/ids.h"

static pk_status fails(void) { PK_FAIL(PK_FORMAT, "line one\nand %d", 7); }

static void an_error_is_one_line_and_can_gain_context(void **state) {
    (void)state;
    ASSERT_STATUS(PK_FORMAT, fails());
    assert_string_equal(pk_last_error(), "line one and 7");
    pk_fail_context("file %s", "x.bin");
    assert_string_equal(pk_last_error(), "file x.bin: line one and 7");
    char longer[2000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    pk_fail_with(PK_IO, "%s", longer);
    assert_true(strlen(pk_last_error()) < 512);
    pk_fail_context("%s", "who");
    assert_memory_equal(pk_last_error(), "who: aaa", 8);
}

static void every_status_has_a_text(void **state) {
    (void)state;
#define TEXT(name, code, text) assert_string_equal(pk_status_text(PK_##name), text);
    PK_STATUS_MAP(TEXT)
    assert_string_equal(pk_status_text((pk_status)99), "unknown status");
    assert_int_equal(pk_version(), PK_VERSION);
}

static void a_buffer_grows_and_stays_terminated(void **state) {
    pk_buffer b = { 0 };
    char     *text;
    size_t    size;
    (void)state;
    for (int i = 0; i < 1000; i++) pk_buffer_print(&b, "%d,", i);
    pk_buffer_add(&b, "a\0b", 3);
    pk_buffer_add_text(&b, "end");
    assert_int_equal(b.size, strlen(b.data) + 5);
    ASSERT_OK(pk_buffer_take(&b, &text, &size));
    assert_int_equal(size, 3890 + 6);
    assert_memory_equal(text, "0,1,2,", 6);
    assert_null(b.data);
    pk_free(text);
    ASSERT_OK(pk_buffer_take(&b, &text, NULL));
    assert_string_equal(text, "");
    pk_free(text);
}

static void a_buffer_without_memory_says_so_once(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    pk_buffer_add_text(&b, "kept");
    pk_memory_fail_after(1);
    for (int i = 0; i < 50; i++) pk_buffer_add_text(&b, "0123456789");
    pk_memory_fail_after(0);
    ASSERT_STATUS(PK_NO_MEMORY, pk_buffer_status(&b));
    pk_buffer_free(&b);
    assert_false(b.failed);
}

static void ids_grow(void **state) {
    pk_ids list = { 0 };
    (void)state;
    for (int32_t i = 0; i < 1000; i++) ASSERT_OK(pk_ids_add(&list, i * 3));
    for (size_t i = 0; i < 1000; i++) assert_int_equal(list.id[i], 3 * (int32_t)i);
    pk_ids_free(&list);
}

static const char *scratch_path(const char *name) {
    static char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/pronk-%ld-%s", folder ? folder : "/tmp", (long)getpid(), name);
    return path;
}

static void a_file_is_mapped_as_it_is(void **state) {
    pk_file_map map;
    (void)state;
    const char *path = scratch_path("map");
    FILE       *f = fopen(path, "w");
    fwrite("some\0bytes", 1, 10, f);
    fclose(f);
    ASSERT_OK(pk_file_map_open(path, &map));
    assert_int_equal(map.size, 10);
    assert_memory_equal(map.data, "some\0bytes", 10);
    pk_file_map_close(&map);
    assert_int_equal(truncate(path, 0), 0);
    ASSERT_OK(pk_file_map_open(path, &map));
    assert_int_equal(map.size, 0);
    pk_file_map_close(&map);
    unlink(path);
    ASSERT_STATUS(PK_IO, pk_file_map_open(path, &map));
    ASSERT_STATUS(PK_IO, pk_file_map_open("/", &map));
}

static void a_written_file_appears_only_when_it_is_whole(void **state) {
    pk_file_writer w;
    struct stat    info;
    (void)state;
    const char *path = scratch_path("writer");
    ASSERT_OK(pk_file_writer_open(path, &w));
    pk_file_writer_add(&w, "half", 4);
    assert_int_not_equal(stat(path, &info), 0);
    pk_file_writer_abandon(&w);
    assert_int_not_equal(stat(path, &info), 0);
    ASSERT_OK(pk_file_writer_open(path, &w));
    pk_file_writer_add(&w, "whole", 5);
    ASSERT_OK(pk_file_writer_finish(&w));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 5);
    unlink(path);
    ASSERT_STATUS(PK_IO, pk_file_writer_open("/no/such/folder/file", &w));
}

static void a_full_disk_is_noticed_and_the_old_file_stays(void **state) {
    pk_file_writer w;
    (void)state;
    const char *path = scratch_path("full");
    ASSERT_OK(pk_file_writer_open(path, &w));
    close(w.fd);
    w.fd = open("/dev/full", O_WRONLY);
    if (w.fd < 0) skip();
    pk_file_writer_add(&w, "lost", 4);
    ASSERT_STATUS(PK_IO, pk_file_writer_finish(&w));
    assert_non_null(strstr(pk_last_error(), "No space"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static pk_status write_small_file(void *user) {
    pk_file_writer w;
    PK_TRY(pk_file_writer_open(user, &w));
    pk_file_writer_add(&w, "x", 1);
    return pk_file_writer_finish(&w);
}

static void writing_survives_every_failed_allocation(void **state) {
    (void)state;
    char *path = strdup(scratch_path("oom"));
    assert_int_equal(check_every_allocation(write_small_file, path), 3);
    unlink(path);
    free(path);
}

/* caches, checkpoints and what is drawn in training depend on these */
static void hashes_never_change(void **state) {
    (void)state;
    assert_true(pk_hash("", 0) == 0x4d0a2bbe78b92ab1u);
    assert_true(pk_hash("Pronk", 5) == 0xaea2c79d41b95f3du);
    assert_true(pk_hash("eight bytes and more", 20) == 0x404073db27d57507u);
    assert_true(pk_mix(1) == 0x5692161d100b05e5u);
    assert_true(pk_mix(PK_GOLDEN) == 0xe220a8397b1dcdafu);
    assert_true(pk_checksum_add(7, "eight bytes and more", 20) == 0x68b0e62bc1692753u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_one_line_and_can_gain_context),
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(hashes_never_change),
        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
        cmocka_unit_test(a_buffer_without_memory_says_so_once),
        cmocka_unit_test(ids_grow),
        cmocka_unit_test(a_file_is_mapped_as_it_is),
        cmocka_unit_test(a_written_file_appears_only_when_it_is_whole),
        cmocka_unit_test(a_full_disk_is_noticed_and_the_old_file_stays),
        cmocka_unit_test(writing_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
