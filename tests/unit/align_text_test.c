/* align_text_test.c - what pk_align() takes: two files or one, compressed, empty sides, long lines;
 * and what it refuses, by name and number. */
#include "align_help.h"

static void assert_refused(pk_status status, pk_align_options o, const char *text) {
    pk_buffer lines = { 0 };
    ASSERT_STATUS(status, align_to(o, NULL, &lines));
    if (!strstr(pk_last_error(), text)) fail_msg("no '%s' in: %s", text, pk_last_error());
    assert_int_equal(lines.size, 0);
    pk_buffer_free(&lines);
}

static void test_options(void **state) {
    (void)state;
    ASSERT_STATUS(PK_ARGUMENT, pk_align(NULL, NULL));
    ASSERT_STATUS(PK_ARGUMENT, pk_align(&(pk_align_options){ .size = 0 }, NULL));
    const char *pairs = write_text("pairs", "a ||| b\n");
    assert_refused(PK_ARGUMENT, (pk_align_options){ .source = NULL }, "source");
    assert_refused(PK_ARGUMENT, (pk_align_options){ .source = pairs, .threads = -1 }, "threads");
    assert_refused(PK_ARGUMENT, (pk_align_options){ .source = pairs, .iterations = -1 },
                   "iterations");
    assert_refused(PK_ARGUMENT, (pk_align_options){ .source = pairs, .symmetrise = "all" },
                   "union");
    assert_refused(PK_ARGUMENT,
                   (pk_align_options){ .source = pairs, .symmetrise = "union", .reverse = 1 },
                   "both");
    assert_refused(PK_IO, (pk_align_options){ .source = in_scratch("none") }, "none");
    assert_refused(PK_IO, (pk_align_options){ .source = pairs, .save = "/no/folder/model" },
                   "/no/folder");
    assert_refused(PK_IO, (pk_align_options){ .source = pairs, .table = "/no/folder/t" },
                   "/no/folder");
}

/* an older program's shorter options */
static void test_shorter_options(void **state) {
    pk_align_options o = { .size = offsetof(pk_align_options, vocab),
                           .source = write_text("pairs", "a ||| b\n"),
                           .vocab = "not read" };
    (void)state;
    ASSERT_OK(pk_align(&o, NULL));
}

static void test_two_files_or_one(void **state) {
    pk_buffer       one = { 0 }, two = { 0 };
    pk_align_report r;
    (void)state;
    const char *pairs = write_text("pairs", "a b ||| x y\na|||b c ||| x ||| z\nb\t|||\ty\n");
    const char *source = write_text("s", "a b\r\na|||b c\r\nb"),
               *target = write_text("t", "x y\nx ||| z\n y\n");
    ASSERT_OK(align_to((pk_align_options){ .source = pairs }, &r, &one));
    assert_int_equal(r.pairs, 3);
    assert_int_equal(r.words[0], 5);
    assert_int_equal(r.words[1], 6); /* a second ||| is a word */
    assert_int_equal(r.vocabulary[0], 4);
    assert_int_equal(r.vocabulary[1], 4);
    ASSERT_OK(align_to((pk_align_options){ .source = source, .target = target }, &r, &two));
    assert_int_equal(r.words[0], 5);
    assert_string_equal(one.data, two.data);
    pk_buffer_free(&one);
    pk_buffer_free(&two);
}

static void test_empty_sides(void **state) {
    pk_buffer       lines = { 0 }, loaded = { 0 };
    pk_align_report r;
    (void)state;
    const char *pairs = write_text("pairs", "a ||| x\n||| y\n b |||\n|||\na ||| x\n");
    const char *model = in_scratch("model");
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .save = model }, &r, &lines));
    assert_string_equal(lines.data, "0-0\n\n\n\n0-0\n");
    assert_int_equal(r.pairs, 5);
    assert_int_equal(r.empty, 3);
    assert_int_equal(r.words[0], 2);
    assert_int_equal(r.vocabulary[0], 1); /* b is in no pair that counts */
    assert_int_equal(r.links, 2);
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .load = model }, &r, &loaded));
    assert_string_equal(lines.data, loaded.data);
    assert_int_equal(r.empty, 3);
    pk_buffer_free(&lines);
    pk_buffer_free(&loaded);
}

/* 1,000 words are aligned, more than 10,000 are not: each line is there, and counted */
static void test_long_lines(void **state) {
    pk_buffer       text = { 0 }, lines = { 0 };
    pk_align_report r;
    (void)state;
    for (int i = 0; i < 1000; i++) pk_buffer_print(&text, "w%d ", i);
    pk_buffer_add_text(&text, "|||");
    for (int i = 0; i < 1000; i++) pk_buffer_print(&text, " v%d", i);
    pk_buffer_add_text(&text, "\n");
    for (int i = 0; i < 10001; i++) pk_buffer_add_text(&text, "w1 ");
    pk_buffer_add_text(&text, "||| v1\nw0 ||| v0\n");
    ASSERT_OK(align_to((pk_align_options){ .source = write_text("long", text.data) }, &r, &lines));
    assert_int_equal(r.pairs, 3);
    assert_int_equal(r.too_long, 1);
    assert_int_equal(r.empty, 0);
    const char *second = strchr(lines.data, '\n');
    assert_non_null(second);
    assert_true(second > lines.data);
    assert_string_equal(second, "\n\n0-0\n");
    pk_buffer_free(&text);
    pk_buffer_free(&lines);
}

static void test_files_that_do_not_fit(void **state) {
    pk_buffer lines = { 0 };
    (void)state;
    const char *s = write_text("s", "a\nb\nc\n"), *t = write_text("t", "x\ny\n");
    const char *pairs = write_text("pairs", "a ||| x\n"), *model = in_scratch("model");
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .save = model }, NULL, &lines));
    for (int loaded = 0; loaded < 2; loaded++) {
        pk_align_options o = { .source = s, .target = t, .load = loaded ? model : NULL };
        assert_refused(PK_FORMAT, o, "s has 3 lines and ");
        assert_refused(PK_FORMAT, o, "t has 2");
        o = (pk_align_options){ .source = t, .target = s, .load = o.load };
        assert_refused(PK_FORMAT, o, "t has 2 lines and ");
        assert_refused(PK_FORMAT, o, "s has 3");
    }
    pk_buffer_free(&lines);
}

static void test_no_bars(void **state) {
    (void)state;
    assert_refused(PK_FORMAT, (pk_align_options){ .source = write_text("p", "a ||| x\na||| x\n") },
                   "line 2 ");
    assert_refused(PK_FORMAT, (pk_align_options){ .source = write_text("p", "a ||| x\n\n") },
                   "line 2 ");
    assert_refused(PK_FORMAT, (pk_align_options){ .source = write_text("p", "a |||| x\n") },
                   "line 1 ");
}

static void test_nothing_to_learn(void **state) {
    (void)state;
    assert_refused(PK_FORMAT, (pk_align_options){ .source = write_text("p", "") },
                   "nothing to learn");
    assert_refused(PK_FORMAT, (pk_align_options){ .source = write_text("p", "a |||\n||| b\n") },
                   "nothing to learn");
}

/* bytes that are no text are words like any other */
static void test_any_bytes(void **state) {
    static const char bytes[] = "\xFF\xFE \x01 ||| \0\0 \xC3\na ||| b\n";
    pk_buffer         lines = { 0 };
    pk_align_report   r;
    (void)state;
    ASSERT_OK(align_to((pk_align_options){ .source = write_file("bytes", bytes, sizeof bytes - 1) },
                       &r, &lines));
    assert_int_equal(r.words[0], 3);
    assert_int_equal(r.words[1], 3);
    pk_buffer_free(&lines);
}

/* given TAB generated TAB logarithm; null first; both directions parted by an empty line */
static void test_table(void **state) {
    pk_buffer   lines = { 0 };
    pk_file_map map;
    (void)state;
    const char *pairs = write_text("pairs", "a b ||| x y\na ||| x\na c ||| x z\n");
    const char *table = in_scratch("table");
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .table = table, .symmetrise = "union" },
                       NULL, &lines));
    ASSERT_OK(pk_file_map_open(table, &map));
    char *text = strndup((const char *)map.data, map.size), *second = strstr(text, "\n\n");
    assert_non_null(second);
    assert_memory_equal(text, "<eps>\tx\t-", 9);
    assert_non_null(strstr(text, "\na\tx\t-0."));
    assert_true(strstr(text, "\na\tx\t") < second);
    assert_true(strstr(text, "\nx\ta\t-0.") > second);
    assert_null(strstr(text, "\tnan"));
    free(text);
    pk_file_map_close(&map);
    pk_buffer_free(&lines);
}

static void test_symmetrise_files(void **state) {
    pk_buffer lines = { 0 };
    (void)state;
    const char *f = write_text("f", "0-0 1-1\n\n0-1\n"),
               *r = write_text("r", "0-0\n2-2\n0-1 1-0\n");
    ASSERT_OK(pk_align_symmetrise_files(f, r, "intersect", keep_lines, &lines));
    assert_string_equal(lines.data, "0-0\n\n0-1\n");
    pk_buffer_clear(&lines);
    const char *bad = write_text("bad", "0-0\n1:1\n0-0\n"), *few = write_text("few", "0-0\n");
    ASSERT_STATUS(PK_FORMAT, pk_align_symmetrise_files(f, bad, "union", keep_lines, &lines));
    assert_non_null(strstr(pk_last_error(), "bad: line 2"));
    pk_buffer_clear(&lines);
    ASSERT_STATUS(PK_FORMAT, pk_align_symmetrise_files(f, few, "union", keep_lines, &lines));
    assert_non_null(strstr(pk_last_error(), "f has 3 lines and "));
    assert_int_equal(lines.size, 0);
    ASSERT_STATUS(PK_ARGUMENT, pk_align_symmetrise_files(f, r, "some", keep_lines, &lines));
    ASSERT_STATUS(PK_ARGUMENT, pk_align_symmetrise_files(f, NULL, "union", keep_lines, &lines));
    pk_buffer_free(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),          cmocka_unit_test(test_shorter_options),
        cmocka_unit_test(test_two_files_or_one), cmocka_unit_test(test_empty_sides),
        cmocka_unit_test(test_long_lines),       cmocka_unit_test(test_files_that_do_not_fit),
        cmocka_unit_test(test_no_bars),          cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_any_bytes),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_symmetrise_files),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
