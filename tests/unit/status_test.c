/* status_test.c - the line of the last error: one line, and what it happened to said once. */
#include "check.h"

#include <string.h>

static const char *with_context(const char *text, const char *context) {
    pk_fail_with(PK_IO, "%s", text);
    pk_fail_context("%s", context);
    return pk_last_error();
}

static void a_context_is_said_once(void **state) {
    (void)state;
    assert_string_equal(with_context("no such file", "a/b"), "a/b: no such file");
    assert_string_equal(with_context("a/b: no such file", "a/b"), "a/b: no such file");
    assert_string_equal(with_context("a/b/c: empty", "a/b"), "a/b/c: empty");
    assert_string_equal(with_context("a/b, line 3: why", "a/b"), "a/b, line 3: why");
    assert_string_equal(with_context("text 12: why", "text 1"), "text 1: text 12: why");
    assert_string_equal(with_context("a/bc: why", "a/b"), "a/b: a/bc: why");
    assert_string_equal(with_context("a/b", "a/b"), "a/b: a/b");
}

static void an_error_is_one_line(void **state) {
    (void)state;
    assert_int_equal(pk_fail_with(PK_FORMAT, "one\ntwo\tthree"), PK_FORMAT);
    assert_string_equal(pk_last_error(), "one two three");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_is_said_once),
        cmocka_unit_test(an_error_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
