/* file_writer_test.c - whole files: what was there is lost only to what is whole, links stay, pipes
 * and devices are written in place; which file is which; whether a mapped file is as it was. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file_id.h"
#include "base/file_map.h"
#include "base/file_writer.h"

static char folder[64];

static int open_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/pronk-files-XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int close_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") || system(command);
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void holds(const char *path, const char *text) {
    char  found[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    found[fread(found, 1, sizeof found - 1, f)] = 0;
    fclose(f);
    assert_string_equal(found, text);
}

static mode_t mode_of(const char *path) {
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    return about.st_mode;
}

static int files_here(void) {
    FILE *list = popen("ls -A | wc -l", "r");
    int   n = -1;
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%d", &n), 1);
    pclose(list);
    return n;
}

static pk_status put_whole(const char *path, const char *text) {
    return pk_file_write(path, text, strlen(text));
}

static void the_mode_and_the_links_stay(void **state) {
    (void)state;
    put("real", "old");
    assert_int_equal(chmod("real", 0604), 0);
    assert_int_equal(symlink("real", "second"), 0);
    assert_int_equal(symlink("second", "first"), 0);
    ASSERT_OK(put_whole("first", "new"));
    holds("real", "new");
    assert_int_equal(mode_of("real") & 07777, 0604);
    assert_true(S_ISLNK(mode_of("first")) && S_ISLNK(mode_of("second")));
    assert_int_equal(symlink("nothing yet", "third"), 0);
    ASSERT_OK(put_whole("third", "made"));
    holds("nothing yet", "made");
    assert_true(S_ISLNK(mode_of("third")));
    assert_int_equal(symlink("loop", "loop"), 0);
    ASSERT_STATUS(PK_IO, put_whole("loop", "x"));
    assert_int_equal(files_here(), 6);
}

static void a_failure_leaves_what_was_there(void **state) {
    pk_file_writer w;
    (void)state;
    put("old", "old");
    ASSERT_OK(pk_file_writer_open("old", &w));
    pk_file_writer_add(&w, "half", 4);
    pk_file_writer_abandon(&w);
    holds("old", "old");
    ASSERT_OK(pk_file_writer_open("old", &w));
    pk_file_writer_add(&w, "half", 4);
    w.status = PK_IO; /* as a full disk leaves it */
    ASSERT_STATUS(PK_IO, pk_file_writer_finish(&w));
    holds("old", "old");
    ASSERT_STATUS(PK_IO, pk_file_writer_open(".", &w));
    assert_non_null(strstr(pk_last_error(), "directory"));
    assert_int_equal(files_here(), 1);
}

static void two_writers_do_not_share_a_name(void **state) {
    pk_file_writer a, b;
    (void)state;
    ASSERT_OK(pk_file_writer_open("same", &a));
    ASSERT_OK(pk_file_writer_open("same", &b));
    pk_file_writer_add(&a, "first", 5);
    pk_file_writer_add(&b, "second", 6);
    ASSERT_OK(pk_file_writer_finish(&a));
    holds("same", "first");
    ASSERT_OK(pk_file_writer_finish(&b));
    holds("same", "second");
    assert_int_equal(files_here(), 1);
}

static void *read_pipe(void *text) {
    FILE *f = fopen("pipe", "r");
    assert_non_null(f);
    ((char *)text)[fread(text, 1, 63, f)] = 0;
    fclose(f);
    return NULL;
}

static void a_pipe_is_written_in_place(void **state) {
    pthread_t reader;
    char      text[64];
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_pipe, text), 0);
    ASSERT_OK(put_whole("pipe", "through"));
    pthread_join(reader, NULL);
    assert_string_equal(text, "through");
    assert_true(S_ISFIFO(mode_of("pipe")));
    assert_int_equal(files_here(), 1);
}

static void a_device_is_written_in_place(void **state) {
    (void)state;
    if (mknod("null", S_IFCHR | 0600, makedev(1, 3)) != 0) skip();
    ASSERT_OK(put_whole("null", "gone"));
    assert_true(S_ISCHR(mode_of("null")));
    assert_int_equal(mknod("full", S_IFCHR | 0600, makedev(1, 7)), 0);
    ASSERT_STATUS(PK_IO, put_whole("full", "never"));
    assert_true(S_ISCHR(mode_of("full")));
    assert_int_equal(files_here(), 2);
}

static void files_are_known_by_any_name(void **state) {
    pk_file_ids list = { 0 };
    (void)state;
    put("a", "a");
    put("b", "b");
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(symlink("a", "soft"), 0);
    ASSERT_OK(pk_file_ids_add(&list, "a"));
    ASSERT_OK(pk_file_ids_add(&list, "not there"));
    ASSERT_OK(pk_file_ids_add(&list, "/dev/null"));
    assert_int_equal(list.n, 1); /* a device may be read and written */
    ASSERT_STATUS(PK_ARGUMENT, pk_file_ids_refuse(&list, "a"));
    ASSERT_STATUS(PK_ARGUMENT, pk_file_ids_refuse(&list, "./hard"));
    ASSERT_STATUS(PK_ARGUMENT, pk_file_ids_refuse(&list, "soft"));
    ASSERT_OK(pk_file_ids_refuse(&list, "b"));
    ASSERT_OK(pk_file_ids_refuse(&list, "new"));
    ASSERT_OK(pk_file_ids_refuse(&list, "/dev/null"));
    pk_file_ids_free(&list);
}

/* two outputs: one file by whatever names, whether it exists or not */
static void same_file(void **state) {
    (void)state;
    put("a", "1");
    put("b", "2");
    assert_int_equal(0, symlink("a", "soft-a"));
    assert_int_equal(0, symlink("new", "soft-new"));
    assert_true(pk_file_same("a", "a"));
    assert_true(pk_file_same("a", "./a"));
    assert_true(pk_file_same("soft-a", "a"));
    assert_false(pk_file_same("a", "b"));
    assert_false(pk_file_same("a", "new"));
    assert_false(pk_file_same("new", "a"));
    assert_true(pk_file_same("new", "./new"));
    assert_true(pk_file_same("soft-new", "new"));
    assert_false(pk_file_same("new", "newer"));
    assert_false(pk_file_same("/dev/null", "/dev/null")); /* nothing to lose */
}

static void a_mapped_file_that_is_written_to_is_noticed(void **state) {
    pk_file_map map, none = { 0 };
    (void)state;
    assert_true(pk_file_map_is_as_opened(&none));
    for (int how = 0; how < 4; how++) {
        put("mapped", "0123456789");
        ASSERT_OK(pk_file_map_open("mapped", &map));
        assert_true(pk_file_map_is_as_opened(&map));
        usleep(20000); /* file systems count time in ticks */
        if (how == 0) assert_int_equal(truncate("mapped", 4), 0);
        if (how == 1) put("mapped", "9876543210");
        if (how == 2) ASSERT_OK(put_whole("mapped", "another"));
        if (how == 3) assert_int_equal(unlink("mapped"), 0);
        assert_int_equal(pk_file_map_is_as_opened(&map), how >= 2);
        if (how >= 2) assert_memory_equal(map.data, "0123456789", 10);
        pk_file_map_close(&map);
    }
}

/* descriptors that the program closed, and gave to other files, say nothing */
static void a_lost_descriptor_says_nothing(void **state) {
    pk_file_map map;
    (void)state;
    put("mapped", "text");
    put("other", "longer than that");
    ASSERT_OK(pk_file_map_open("mapped", &map));
    const int other = open("other", O_RDONLY);
    assert_int_equal(dup2(other, map.fd), map.fd);
    assert_true(pk_file_map_is_as_opened(&map));
    close(other);
    pk_file_map_close(&map);
}

static void a_pipe_is_no_file_to_map(void **state) {
    pk_file_map map;
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    ASSERT_STATUS(PK_IO, pk_file_map_open("pipe", &map)); /* and does not wait */
    assert_non_null(strstr(pk_last_error(), "not a regular file"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_mode_and_the_links_stay),
        TEST(a_failure_leaves_what_was_there),
        TEST(two_writers_do_not_share_a_name),
        TEST(a_pipe_is_written_in_place),
        TEST(a_device_is_written_in_place),
        TEST(files_are_known_by_any_name),
        TEST(same_file),
        TEST(a_mapped_file_that_is_written_to_is_noticed),
        TEST(a_lost_descriptor_says_nothing),
        TEST(a_pipe_is_no_file_to_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
