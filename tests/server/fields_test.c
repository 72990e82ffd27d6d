/* fields_test.c - what requests say: JSON, forms, multipart, query strings, and odd bytes in all of them. */
#include "check.h"

#include <string.h>

#include "../../server/fields.h"
#include "../../server/plain_text.h"

#define FORM "application/x-www-form-urlencoded"

static pk_fields read_as(const char *type, const char *query, const char *body,
                         pk_fields_status want) {
    pk_fields f;
    assert_int_equal(pk_fields_read(&f, type, query, body, strlen(body)), want);
    return f;
}

static void check_text(pk_fields *f, const char *name, const char *text) {
    if (!text) return assert_null(pk_fields_get(f, name));
    assert_non_null(pk_fields_text(f, name));
    assert_string_equal(pk_fields_text(f, name), text);
}

static void forms_are_decoded(void **state) {
    (void)state;
    pk_fields f =
        read_as(FORM, NULL, "q=a+b%21&x=&&flag&caf%C3%A9=%e2%82%ac&bad=%zz%4&=v", PK_FIELDS_OK);
    check_text(&f, "q", "a b!");
    check_text(&f, "x", "");
    check_text(&f, "flag", "");
    check_text(&f, "caf\xC3\xA9", "\xE2\x82\xAC");
    check_text(&f, "bad", "%zz%4");
    check_text(&f, "", "v");
    check_text(&f, "none", NULL);
    pk_fields_free(&f);
}

static void the_query_comes_before_the_form(void **state) {
    (void)state;
    pk_fields f = read_as(FORM "; charset=utf-8", "q=query&t=1", "q=form&t=2&u=3", PK_FIELDS_OK);
    check_text(&f, "q", "query");
    check_text(&f, "u", "3");
    assert_int_equal(json_array_size(pk_fields_all(&f, "t")), 2);
    pk_fields_free(&f);
    f = read_as(NULL, "q=alone", "", PK_FIELDS_OK);
    check_text(&f, "q", "alone");
    pk_fields_free(&f);
    f = read_as("text/plain", NULL, "q=1", PK_FIELDS_OK); /* no kind of body that has fields */
    check_text(&f, "q", NULL);
    pk_fields_free(&f);
}

static void json_stands_alone(void **state) {
    (void)state;
    pk_fields f = read_as("Application/JSON; charset=x", "q=query", "{\"q\":[\"a\",\"b\"],\"n\":2}",
                          PK_FIELDS_OK);
    assert_int_equal(json_array_size(pk_fields_get(&f, "q")), 2);
    assert_int_equal(json_array_size(pk_fields_all(&f, "q")), 2);
    assert_null(pk_fields_all(&f, "n"));
    assert_null(pk_fields_text(&f, "n"));
    pk_fields_free(&f);
    f = read_as("application/vnd.x+json", NULL, "{\"q\":\"a\\u0000b\"}", PK_FIELDS_OK);
    assert_int_equal(json_string_length(pk_fields_get(&f, "q")), 3);
    pk_fields_free(&f);
}

static void broken_json_is_refused(void **state) {
    static const char *const broken[] = { "",     "{",           "{\"q\":}", "{\"q\":\"\xFF\"}",
                                          "{} x", "\xEF\xBB\xBF" };
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        pk_fields f = read_as("application/json", NULL, broken[i], PK_FIELDS_BROKEN);
        pk_fields_free(&f);
    }
    static const char *const other[] = { "[]", "\"q\"", "1", "null" };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        pk_fields f = read_as("application/json", NULL, other[i], PK_FIELDS_NOT_OBJECT);
        pk_fields_free(&f);
    }
}

#define PART(name, value) \
    "--B\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

static void multipart_is_read(void **state) {
    static const char type[] = "multipart/form-data; boundary=B",
                      quoted[] = "multipart/form-data; boundary=\"B\"";
    (void)state;
    pk_fields f = read_as(
        type, "z=1",
        "before\r\n" PART("q", "two\r\nlines --B not here")
            PART("empty", "") "--B\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; "
                              "name=\"file\"; filename=\"a;b.txt\"\r\n\r\nhidden\r\n--B--\r\nafter",
        PK_FIELDS_OK);
    check_text(&f, "q", "two\r\nlines --B not here");
    check_text(&f, "empty", "");
    check_text(&f, "file", NULL);
    check_text(&f, "z", "1");
    pk_fields_free(&f);
    f = read_as(quoted, NULL, "--B\nContent-Disposition: form-data; name=q\n\nplain\n--B--",
                PK_FIELDS_OK);
    check_text(&f, "q", "plain");
    pk_fields_free(&f);
}

static void broken_multipart_is_refused(void **state) {
    static const char        type[] = "multipart/form-data; boundary=B";
    static const char *const broken[] = { "x",
                                          "--B",
                                          "--B\r\n",
                                          PART("q", "1"),
                                          "--B\r\nno headers\r\n--B--",
                                          "--B x",
                                          "--B\r\n--B\r\n--B" };
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        pk_fields f = read_as(type, NULL, broken[i], PK_FIELDS_BROKEN);
        pk_fields_free(&f);
    }
    pk_fields f = read_as("multipart/form-data", NULL, PART("q", "1") "--B--", PK_FIELDS_BROKEN);
    pk_fields_free(&f);
}

static void too_many_fields_are_refused(void **state) {
    enum { N = 20000 };
    char *body = test_malloc(2 * N + 1);
    (void)state;
    for (int i = 0; i < N; i++) memcpy(body + 2 * i, "a&", 2);
    body[2 * N] = '\0';
    pk_fields f = read_as(FORM, NULL, body, PK_FIELDS_TOO_MANY);
    pk_fields_free(&f);
    test_free(body);
}

static void invalid_utf8_is_repaired(void **state) {
    /* as Python's "replace": one mark for each broken character, as far as it could have been one */
    static const char *const pair[][2] = {
        { "a%FFb", "a\xEF\xBF\xBD"
                   "b" },
        { "%E2%82", "\xEF\xBF\xBD" },
        { "%E2%82%41", "\xEF\xBF\xBD"
                       "A" },
        { "%ED%A0%80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "%F0%9F%98%80", "\xF0\x9F\x98\x80" },
        { "%C0%80", "\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "%EF%BF%BD", "\xEF\xBF\xBD" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        char body[64];
        snprintf(body, sizeof body, "q=%s", pair[i][0]);
        pk_fields f = read_as(FORM, NULL, body, PK_FIELDS_OK);
        check_text(&f, "q", pair[i][1]);
        pk_fields_free(&f);
    }
}

static void lines_become_one_kind(void **state) {
    static const char *const pair[][2] = {
        { "a\r\nb\rc\nd", "a\nb\nc\nd" },
        { "end\r\n", "end" },
        { "\n", "" },
        { "a\n\n", "a\n" },
        { "x\xE2\x80\xA8y\xC2\x85z", "x\ny\nz" },
        { "\v\f\x1C", "\n\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        char         text[64];
        const size_t n = (size_t)snprintf(text, sizeof text, "%s", pair[i][0]);
        text[pk_text_unify_lines(text, n)] = '\0';
        assert_string_equal(text, pair[i][1]);
    }
}

static void emoji_are_not_translated(void **state) {
    static const char *const no[] = { "", " ", "\xF0\x9F\x98\x80 \xE2\x9D\xA4\xEF\xB8\x8E" };
    static const char *const yes[] = { "a", "1", "\xF0\x9F\x98\x80!", "\n", "\xFF" };
    (void)state;
    for (size_t i = 0; i < 3; i++) assert_false(pk_text_is_translatable(no[i], strlen(no[i])));
    for (size_t i = 0; i < 5; i++) assert_true(pk_text_is_translatable(yes[i], strlen(yes[i])));
    assert_int_equal(pk_text_characters("a\xC3\xA4\xF0\x9F\x98\x80\xFF", 8), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_decoded),
        cmocka_unit_test(the_query_comes_before_the_form),
        cmocka_unit_test(json_stands_alone),
        cmocka_unit_test(broken_json_is_refused),
        cmocka_unit_test(multipart_is_read),
        cmocka_unit_test(broken_multipart_is_refused),
        cmocka_unit_test(too_many_fields_are_refused),
        cmocka_unit_test(invalid_utf8_is_repaired),
        cmocka_unit_test(lines_become_one_kind),
        cmocka_unit_test(emoji_are_not_translated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
