/* tokenize_test.c - tokenizers and lower case against sacreBLEU and Python; each pass. */
#include "metric/tokenize.h"

#include "base/buffer.h"
#include "metric_golden.h"
#include "text/utf8.h"

/* tokens with single spaces between them, as UTF-8 */
static void concatenate(const pk_points *line, pk_buffer *out) {
    pk_buffer_clear(out);
    for (size_t i = 0; i < line->n;) {
        while (i < line->n && pk_utf8_is_space(line->point[i])) i++;
        if (i < line->n && out->size) pk_buffer_add(out, " ", 1);
        while (i < line->n && !pk_utf8_is_space(line->point[i])) pk_utf8_add(out, line->point[i++]);
    }
    pk_buffer_add(out, "", 0);
}

static void write_points(const pk_points *line, pk_buffer *out) {
    pk_buffer_clear(out);
    for (size_t i = 0; i < line->n; i++) pk_utf8_add(out, line->point[i]);
    pk_buffer_add(out, "", 0);
}

static void tokens_equal_sacrebleu(void **state) {
    (void)state;
    golden_table table = golden_open("tokens");
    pk_points    line = { 0 }, spare = { 0 };
    pk_buffer    found = { 0 };
    for (size_t i = 0; i < table.n; i++) {
        const pk_text name = table.row[i].field[0], expected = table.row[i].field[2];
        ASSERT_OK(pk_points_read(&line, table.row[i].field[1]));
        if (!strcmp(name.data, "lower")) {
            ASSERT_OK(pk_points_lower(&line));
            write_points(&line, &found);
        } else {
            pk_tokenizer run;
            ASSERT_OK(pk_tokenizer_find(name.data, &run));
            pk_points_strip_end(&line);
            ASSERT_OK(run(&line, &spare));
            concatenate(&line, &found);
        }
        if (found.size != expected.size || memcmp(found.data, expected.data, found.size)) {
            fail_msg("%s, row %zu: \"%s\", not \"%s\"", name.data, i + 1, found.data,
                     expected.data);
        }
    }
    pk_buffer_free(&found);
    pk_points_free(&line);
    pk_points_free(&spare);
    golden_close(&table);
}

static void check_pass(pk_status (*pass)(pk_points *, pk_points *), const char *text,
                       const char *expected) {
    pk_points line = { 0 }, spare = { 0 };
    pk_buffer found = { 0 };
    ASSERT_OK(pk_points_read(&line, (pk_text){ text, strlen(text) }));
    ASSERT_OK(pass(&line, &spare));
    write_points(&line, &found);
    assert_string_equal(found.data, expected);
    pk_buffer_free(&found);
    pk_points_free(&line);
    pk_points_free(&spare);
}

static bool      is_a(int32_t c) { return c == 'a'; }
static bool      is_a_or_b(int32_t c) { return c == 'a' || c == 'b'; }
static pk_status apart(pk_points *l, pk_points *s) { return pk_pass_apart(l, s, is_a); }
static pk_status after(pk_points *l, pk_points *s) {
    return pk_pass_split_after(l, s, is_a, is_a_or_b);
}
static pk_status before(pk_points *l, pk_points *s) {
    return pk_pass_split_before(l, s, is_a, is_a_or_b);
}
static pk_status shorten(pk_points *l, pk_points *s) {
    (void)s;
    pk_pass_replace(l, "aab", "b");
    return PK_OK;
}

static void passes_do_not_overlap(void **state) {
    (void)state;
    check_pass(apart, "", "");
    check_pass(apart, "axa", " a x a ");
    check_pass(after, "a", "a");
    check_pass(after, "aaa", "a a a"); /* the third has no neighbour left */
    check_pass(after, "xaba", "xa b a");
    check_pass(before, "aaab", " a a a b");
    check_pass(before, "", "");
    check_pass(shorten, "aaabaab", "abb"); /* what was written is not looked at again */
    check_pass(shorten, "aaaab", "aab");
    check_pass(shorten, "aa", "aa");
}

static void white_space_is_stripped(void **state) {
    (void)state;
    pk_points line = { 0 };
    ASSERT_OK(pk_points_read(&line, (pk_text){ "\xC2\xA0 x \x1F\n", 7 }));
    pk_points_strip_end(&line);
    assert_int_equal(line.n, 3);
    pk_points_strip_start(&line);
    assert_int_equal(line.n, 1);
    assert_int_equal(line.point[0], 'x');
    ASSERT_OK(pk_points_read(&line, (pk_text){ " \t ", 3 }));
    pk_points_strip_start(&line);
    assert_int_equal(line.n, 0);
    pk_points_strip_end(&line);
    assert_int_equal(line.n, 0);
    pk_points_free(&line);
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    pk_tokenizer run = NULL;
    ASSERT_STATUS(PK_ARGUMENT, pk_tokenizer_find("13b", &run));
    assert_non_null(strstr(pk_last_error(), "13a, none, char, intl or zh"));
    ASSERT_STATUS(PK_ARGUMENT, pk_tokenizer_find("", &run));
    ASSERT_OK(pk_tokenizer_find(NULL, &run));
    assert_ptr_equal(run, pk_tokenize_13a);
}

static void a_line_too_long_is_refused(void **state) {
    (void)state;
    pk_points line = { 0 };
    ASSERT_STATUS(PK_ARGUMENT, pk_points_read(&line, (pk_text){ "x", (size_t)INT32_MAX }));
    assert_int_equal(line.room, 0);
}

static pk_status lower_and_split(void *user) {
    pk_points line = { 0 }, spare = { 0 };
    pk_status status;
    PK_GOTO(pk_points_read(&line, *(const pk_text *)user));
    PK_GOTO(pk_points_lower(&line));
    PK_GOTO(pk_tokenize_13a(&line, &spare));
    PK_GOTO(pk_tokenize_zh(&line, &spare));
    PK_GOTO(pk_tokenize_intl(&line, &spare));
done:
    pk_points_free(&line);
    pk_points_free(&spare);
    return status;
}

static void out_of_memory_is_survived(void **state) {
    (void)state;
    pk_text text = { "\xC3\x84rger, 3.5!", 11 };
    assert_true(check_every_allocation(lower_and_split, &text) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_equal_sacrebleu),     cmocka_unit_test(passes_do_not_overlap),
        cmocka_unit_test(white_space_is_stripped),    cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(a_line_too_long_is_refused), cmocka_unit_test(out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
