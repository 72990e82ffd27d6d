/* text_reader_test.c - lines of plain and compressed files; and files that are no good. */
#include "base/text_reader.h"

#include "data_help.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

enum { PLAIN, GZIP, XZ, ZSTD, N_KINDS };
static const char *const kind_name[N_KINDS] = { "plain", "gzip", "xz", "zstd" };

/* appends one compressed stream */
static void compress_to(int kind, const char *text, size_t size, pk_buffer *out) {
    const size_t room = size + size / 2 + 4096;
    uint8_t     *to = malloc(room);
    size_t       n = 0;
    if (kind == PLAIN) memcpy(to, text, n = size);
    if (kind == GZIP) {
        z_stream z = { .next_in = (unsigned char *)text,
                       .avail_in = (uInt)size,
                       .next_out = to,
                       .avail_out = (uInt)room };
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        n = z.total_out;
        deflateEnd(&z);
    }
    if (kind == XZ)
        assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text,
                                                 size, to, &n, room),
                         LZMA_OK);
    if (kind == ZSTD) {
        ZSTD_CCtx *c = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
        n = ZSTD_compress2(c, to, room, text, size);
        assert_false(ZSTD_isError(n));
        ZSTD_freeCCtx(c);
    }
    pk_buffer_add(out, to, n);
    free(to);
}

/* every line with "|" behind it */
static pk_status read_all(const char *path, pk_buffer *out) {
    pk_text_reader *r;
    const char     *line;
    size_t          size;
    PK_TRY(pk_text_reader_open(path, &r));
    pk_status status;
    while ((status = pk_text_reader_next(r, &line, &size)) == PK_OK && line) {
        pk_buffer_add(out, line, size);
        pk_buffer_add(out, "|", 1);
    }
    pk_text_reader_close(r);
    return status == PK_OK ? pk_buffer_status(out) : status;
}

static void assert_lines(const char *path, const char *expected) {
    pk_buffer found = { 0 };
    pk_buffer_add(&found, "", 0);
    ASSERT_OK(read_all(path, &found));
    assert_string_equal(found.data, expected);
    pk_buffer_free(&found);
}

static void test_lines_of_every_kind(void **state) {
    (void)state;
    static const char text[] = "one\ntwo words\r\n\n\r\n\xC3\xA4 last";
    for (int kind = 0; kind < N_KINDS; kind++) {
        pk_buffer file = { 0 };
        compress_to(kind, text, sizeof text - 1, &file);
        assert_lines(write_file(kind_name[kind], file.data, file.size),
                     "one|two words|||\xC3\xA4 last|");
        pk_buffer_free(&file);
    }
}

static void test_ends_and_marks(void **state) {
    (void)state;
    assert_lines(write_text("empty", ""), "");
    assert_lines(write_text("newline", "\n"), "|");
    assert_lines(write_text("ended", "a\nb\n"), "a|b|");
    assert_lines(write_text("return", "a\r\r\nb\r"), "a\r|b|");
    assert_lines(write_text("mark", "\xEF\xBB\xBF"
                                    "a\n\xEF\xBB\xBF"
                                    "b\n"),
                 "a|\xEF\xBB\xBF"
                 "b|");
    assert_lines(write_text("mark_alone", "\xEF\xBB\xBF"), "|");
}

static void test_streams_end_to_end(void **state) {
    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        pk_buffer file = { 0 };
        compress_to(kind, "first, cut ", 11, &file);
        compress_to(kind, "in two\nsecond\n", 14, &file);
        compress_to(kind, "", 0, &file);
        assert_lines(write_file(kind_name[kind], file.data, file.size),
                     "first, cut in two|second|");
        pk_buffer_free(&file);
    }
}

/* lines far longer than any buffer, and many */
static void test_large_files(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    uint64_t  seed = 1;
    for (int i = 0; i < 3000; i++) {
        const uint32_t n = i % 1000 == 500 ? 400000 : next_random(&seed) % 200;
        for (uint32_t k = 0; k < n; k++)
            pk_buffer_add(&text, &(char){ (char)('a' + next_random(&seed) % 20) }, 1);
        pk_buffer_add(&text, "\n", 1);
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        pk_buffer file = { 0 }, found = { 0 };
        compress_to(kind, text.data, text.size, &file);
        ASSERT_OK(read_all(write_file("large", file.data, file.size), &found));
        assert_int_equal(found.size, text.size);
        for (size_t i = 0; i < text.size; i++)
            if (found.data[i] != (text.data[i] == '\n' ? '|' : text.data[i])) fail_msg("at %zu", i);
        pk_buffer_free(&file);
        pk_buffer_free(&found);
    }
    pk_buffer_free(&text);
}

static void assert_refused(const char *path) {
    pk_buffer found = { 0 };
    ASSERT_STATUS(PK_FORMAT, read_all(path, &found));
    assert_non_null(strstr(pk_last_error(), path));
    pk_buffer_free(&found);
}

/* behind its first bytes, every cut and every changed byte is noticed */
static void test_damaged_files(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int i = 0; i < 300; i++) pk_buffer_print(&text, "line %d of %d\n", i * i, 77 * i);
    for (int kind = GZIP; kind < N_KINDS; kind++) {
        pk_buffer file = { 0 };
        compress_to(kind, text.data, text.size, &file);
        for (size_t n = 6; n < file.size; n += 7) assert_refused(write_file("cut", file.data, n));
        for (size_t i = 12; i < file.size; i += 11) {
            file.data[i] = (char)(file.data[i] ^ 0x55);
            const char *path = write_file("damaged", file.data, file.size);
            pk_buffer   found = { 0 };
            if (read_all(path, &found) == PK_OK) fail_msg("%s, byte %zu", kind_name[kind], i);
            pk_buffer_free(&found);
            file.data[i] = (char)(file.data[i] ^ 0x55);
        }
        pk_buffer_add(&file, "what is this?", 13);
        assert_refused(write_file("garbage", file.data, file.size));
        pk_buffer_free(&file);
    }
    pk_buffer_free(&text);
}

static void test_no_text_at_all(void **state) {
    (void)state;
    pk_buffer file = { 0 }, found = { 0 };
    char     *zeros = calloc(1, 3u << 24);
    compress_to(ZSTD, zeros, 3u << 24, &file);
    free(zeros);
    assert_refused(write_file("one_line", file.data, file.size));
    assert_non_null(strstr(pk_last_error(), "line 1 "));
    ASSERT_STATUS(PK_IO, read_all(in_scratch("nowhere"), &found));
    assert_non_null(strstr(pk_last_error(), "nowhere"));
    ASSERT_STATUS(PK_IO, read_all(scratch, &found));
    pk_buffer_free(&file);
    pk_buffer_free(&found);
}

static pk_status read_attempt(void *user) {
    pk_buffer       found = { 0 };
    const pk_status status = read_all(user, &found);
    pk_buffer_free(&found);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int i = 0; i < 300000; i++) pk_buffer_add(&text, "x", 1);
    for (int kind = 0; kind < N_KINDS; kind++) {
        pk_buffer file = { 0 };
        compress_to(kind, text.data, text.size, &file);
        const char *path = write_file(kind_name[kind], file.data, file.size);
        assert_true(check_every_allocation(read_attempt, (void *)path) >= 5);
        pk_buffer_free(&file);
    }
    pk_buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_every_kind),
        cmocka_unit_test(test_ends_and_marks),
        cmocka_unit_test(test_streams_end_to_end),
        cmocka_unit_test(test_large_files),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_no_text_at_all),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
