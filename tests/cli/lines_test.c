/* lines_test.c - reading in chunks and writing without loss. */
#include "cli_stubs.h"

#include <signal.h>

#include "../../cli/inputs.c"
#include "../../cli/lines.c"

int pk_cli_fail_status(const pk_cli *c, pk_status status) {
    return (void)status, pk_cli_fail(c, "%s", pk_last_error());
}

static pk_cli_opened opened;
static const pk_cli  nobody = { .opened = &opened };

/* a reader on a pipe that holds the bytes; *writer is its other end */
static void from_pipe(pk_line_reader *r, const char *bytes, size_t n, int *writer) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, n), (ssize_t)n);
    *r = (pk_line_reader){ .name = "pipe", .file = ends[0] };
    *writer = ends[1];
}

static void line_is(const pk_line_reader *r, size_t i, const char *text, const char *ending) {
    assert_int_equal(r->line[i].size, strlen(text));
    assert_memory_equal(r->line[i].data, text, strlen(text));
    assert_string_equal(r->ending[i], ending);
}

static void line_ends_are_kept_apart(void **state) {
    pk_line_reader r;
    int            writer;
    (void)state;
    from_pipe(&r, "a\n\nb\r\n\r\nc\rd", 11, &writer);
    close(writer);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 5);
    line_is(&r, 0, "a", "\n");
    line_is(&r, 1, "", "\n");
    line_is(&r, 2, "b", "\r\n");
    line_is(&r, 3, "", "\r\n");
    line_is(&r, 4, "c\rd", "");
    assert_int_equal(r.bytes, 11);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 0);
    pk_lines_close(&r);
}

static void nothing_gives_nothing(void **state) {
    pk_line_reader r;
    int            writer;
    (void)state;
    from_pipe(&r, "", 0, &writer);
    close(writer);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 0);
    pk_lines_close(&r);
}

/* half a line waits for its rest; whole lines do not wait for more */
static void slow_input_is_given_out_at_once(void **state) {
    pk_line_reader r;
    int            writer;
    (void)state;
    from_pipe(&r, "one\ntw", 6, &writer);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 1);
    line_is(&r, 0, "one", "\n");
    assert_int_equal(write(writer, "o\nthree", 7), 7);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 1);
    line_is(&r, 0, "two", "\n");
    close(writer);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 1);
    line_is(&r, 0, "three", "");
    pk_lines_close(&r);
}

/* a file of n lines "number\n", written under build or /tmp and removed by the caller */
static void make_file(char *path, size_t n) {
    opened.n = 0; /* files of other tests are gone, and their inodes are free again */
    strcpy(path, "/tmp/pronk_lines_XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++) fprintf(file, "%zu\n", i);
    fclose(file);
}

static void chunks_are_bounded_and_complete(void **state) {
    char           path[64], text[32];
    size_t         n = 0, chunks = 0;
    pk_line_reader r;
    (void)state;
    make_file(path, 2 * PK_CHUNK_LINES + 5);
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_true(r.file_bytes > 0);
    for (;; chunks++) {
        assert_int_equal(pk_lines_next(&nobody, &r), 0);
        if (!r.n) break;
        assert_true(r.n <= PK_CHUNK_LINES);
        for (size_t i = 0; i < r.n; i++, n++) {
            snprintf(text, sizeof text, "%zu", n);
            line_is(&r, i, text, "\n");
        }
    }
    assert_int_equal(n, 2 * PK_CHUNK_LINES + 5);
    assert_int_equal(chunks, 3);
    assert_int_equal(r.lines, n);
    assert_int_equal(r.bytes, r.file_bytes);
    pk_lines_close(&r);
    unlink(path);
}

static void take_gives_exactly_what_is_asked(void **state) {
    char           path[64];
    pk_line_reader r;
    (void)state;
    make_file(path, 10);
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_int_equal(pk_lines_take(&nobody, &r, 3), 0);
    assert_int_equal(r.n, 3);
    assert_int_equal(pk_lines_take(&nobody, &r, 4), 0);
    assert_int_equal(r.n, 4);
    line_is(&r, 0, "3", "\n");
    assert_int_equal(pk_lines_take(&nobody, &r, SIZE_MAX), 0);
    assert_int_equal(r.n, 3);
    pk_lines_close(&r);
    unlink(path);
}

static void a_long_line_is_one_line(void **state) {
    enum { LONG = 5 << 20 };
    char           path[] = "/tmp/pronk_lines_XXXXXX";
    FILE          *file = fdopen(mkstemp(path), "w");
    pk_line_reader r;
    (void)state;
    assert_non_null(file);
    for (int i = 0; i < LONG; i++) fputc('a' + i % 26, file);
    fputs("\nnext\n", file);
    fclose(file);
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.line[0].size, LONG);
    for (int i = 0; i < LONG; i += 4099) assert_int_equal(r.line[0].data[i], 'a' + i % 26);
    pk_lines_close(&r);
    unlink(path);
}

static void files_that_cannot_be_read(void **state) {
    pk_line_reader r;
    (void)state;
    assert_int_equal(pk_lines_open(&nobody, "/nonexistent/file", &r), PK_EXIT_FAILED);
    assert_non_null(strstr(message, "cannot open /nonexistent/file"));
    assert_int_equal(pk_lines_open(&nobody, "/", &r), PK_EXIT_FAILED);
    assert_non_null(strstr(message, "folder"));
    pk_lines_close(&r);
}

static void writing_over_the_input_is_refused(void **state) {
    char           path[64];
    pk_line_reader r;
    pk_line_writer w;
    (void)state;
    make_file(path, 3);
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_int_equal(pk_writer_open(&nobody, path, &w), PK_EXIT_FAILED);
    assert_non_null(strstr(message, "is also an input"));
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    assert_int_equal(r.n, 3); /* and it was not emptied */
    pk_lines_close(&r);
    unlink(path);
}

static void what_is_written_arrives(void **state) {
    char           path[64];
    pk_line_reader r;
    pk_line_writer w;
    (void)state;
    make_file(path, 100); /* longer than what replaces it */
    assert_int_equal(pk_writer_open(&nobody, path, &w), 0);
    pk_writer_add(&w, "one", 3);
    pk_writer_print(&w, " %.2f\n", 2.5);
    assert_int_equal(pk_writer_flush(&nobody, &w), 0);
    pk_writer_add(&w, "a\0b", 3);
    assert_int_equal(pk_writer_close(&nobody, &w, 0), 0);
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_int_equal(r.file_bytes, 12);
    assert_int_equal(pk_lines_next(&nobody, &r), 0);
    line_is(&r, 0, "one 2.50", "\n");
    assert_memory_equal(r.line[1].data, "a\0b", 3);
    pk_lines_close(&r);
    unlink(path);
}

static size_t size_of(const char *path) {
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return (size_t)about.st_size;
}

/* a verb that fails before its first line leaves the file as it was */
static void what_was_there_stays_until_a_line_comes(void **state) {
    char           path[64];
    pk_line_writer w;
    (void)state;
    make_file(path, 10);
    assert_int_equal(pk_writer_open(&nobody, path, &w), 0);
    pk_writer_add(&w, "x", 1);
    assert_int_equal(pk_writer_close(&nobody, &w, PK_EXIT_FAILED), PK_EXIT_FAILED);
    assert_int_equal(size_of(path), 20);
    assert_int_equal(pk_writer_open(&nobody, path, &w), 0);
    assert_int_equal(pk_writer_close(&nobody, &w, 0), 0); /* no lines are an answer too */
    assert_int_equal(size_of(path), 0);
    unlink(path);
}

static void a_whole_file_is_written_at_the_end_or_not_at_all(void **state) {
    char           path[64];
    pk_line_reader r;
    pk_line_writer w;
    (void)state;
    make_file(path, 10);
    for (int code = PK_EXIT_FAILED; code >= 0; code--) {
        assert_int_equal(pk_writer_open_whole(&nobody, path, &w), 0);
        pk_writer_add(&w, "page", 4);
        assert_int_equal(size_of(path), 20);
        assert_int_equal(pk_writer_close(&nobody, &w, code), code);
        assert_int_equal(size_of(path), code ? 20 : 4);
    }
    assert_int_equal(pk_lines_open(&nobody, path, &r), 0);
    assert_int_equal(pk_writer_open_whole(&nobody, path, &w), PK_EXIT_FAILED);
    pk_lines_close(&r);
    assert_int_equal(pk_writer_open_whole(&nobody, "/nonexistent/file", &w), 0);
    assert_int_equal(pk_writer_close(&nobody, &w, 0), PK_EXIT_FAILED);
    assert_non_null(strstr(message, "cannot write"));
    unlink(path);
}

static void a_full_disk_is_reported_once(void **state) {
    pk_line_writer w;
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    assert_int_equal(pk_writer_open(&nobody, "/dev/full", &w), 0);
    pk_writer_add(&w, "lost", 4);
    assert_int_equal(pk_writer_flush(&nobody, &w), PK_EXIT_FAILED);
    assert_non_null(strstr(message, "cannot write /dev/full"));
    message[0] = 0;
    assert_int_equal(pk_writer_close(&nobody, &w, PK_EXIT_FAILED), PK_EXIT_FAILED);
    assert_string_equal(message, "");
}

static void a_closed_pipe_is_quiet(void **state) {
    int ends[2];
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    pk_line_writer w = { .name = "pipe", .file = ends[1] };
    message[0] = 0;
    pk_writer_add(&w, "lost", 4);
    assert_int_equal(pk_writer_close(&nobody, &w, 0), PK_EXIT_FAILED);
    assert_string_equal(message, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends_are_kept_apart),
        cmocka_unit_test(nothing_gives_nothing),
        cmocka_unit_test(slow_input_is_given_out_at_once),
        cmocka_unit_test(chunks_are_bounded_and_complete),
        cmocka_unit_test(take_gives_exactly_what_is_asked),
        cmocka_unit_test(a_long_line_is_one_line),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(writing_over_the_input_is_refused),
        cmocka_unit_test(what_is_written_arrives),
        cmocka_unit_test(what_was_there_stays_until_a_line_comes),
        cmocka_unit_test(a_whole_file_is_written_at_the_end_or_not_at_all),
        cmocka_unit_test(a_full_disk_is_reported_once),
        cmocka_unit_test(a_closed_pipe_is_quiet),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_inputs_free(&opened);
    return failed;
}
