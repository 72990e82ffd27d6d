/* utf8_test.c - every valid code point, every way of being invalid, and repair. */
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void every_code_point_survives(void **state) {
    (void)state;
    pk_buffer b = { 0 };
    size_t    n = 0;
    for (int32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        pk_buffer_clear(&b);
        pk_utf8_add(&b, c);
        const size_t expected = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        int32_t      back;
        assert_int_equal(b.size, expected);
        assert_int_equal(pk_utf8_next(b.data, b.size, &back), expected);
        assert_int_equal(back, c);
        assert_true(pk_utf8_valid(b.data, b.size));
        for (size_t cut = 1; cut < expected; cut++) { /* cut short: one fault, all of it */
            assert_int_equal(pk_utf8_next(b.data, cut, &back), cut);
            assert_int_equal(back, PK_UTF8_REPLACEMENT);
        }
        n++;
    }
    assert_int_equal(n, 0x110000 - 0x800);
    pk_buffer_free(&b);
}

static void what_cannot_be_written_becomes_replacement(void **state) {
    (void)state;
    const int32_t bad[] = { -1, 0xD800, 0xDFFF, 0x110000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pk_buffer b = { 0 };
        pk_utf8_add(&b, bad[i]);
        assert_string_equal(b.data, "\xEF\xBF\xBD");
        pk_buffer_free(&b);
    }
}

#define R "\xEF\xBF\xBD"
/* The repaired forms are those of Python's bytes.decode("utf-8", "replace"). */
static const struct {
    const char *bytes, *repaired;
} faults[] = {
    { "\xC0\xAF", R R }, /* overlong */
    { "\xC1\xBF", R R },
    { "\xE0\x80\x80", R R R },
    { "\xE0\x9F\xBF", R R R },
    { "\xF0\x80\x80\x80", R R R R },
    { "\xED\xA0\x80", R R R }, /* surrogate */
    { "\xED\xBF\xBF", R R R },
    { "\xF4\x90\x80\x80", R R R R }, /* beyond U+10FFFF */
    { "\xF5\x80\x80\x80", R R R R },
    { "\xF8\x88", R R }, /* never a first byte */
    { "\xFF\xFE", R R },
    { "\x80", R }, /* lone continuation */
    { "a\xBFz", "a" R "z" },
    { "\xF0\x9F\x98", R }, /* cut: one replacement */
    { "\xF0\x9F\x98x", R "x" },
    { "\xE2\x82"
      "A",
      R "A" },
    { "\xE2\x28\xA1", R "(" R },
    { "\xC3", R },
    { "\xC3\xC3\xA4", R "\xC3\xA4" },
    { "12345678\xC3\xA4"
      "12345678\xC3",
      "12345678\xC3\xA4"
      "12345678" R },
};

static void faults_are_replaced_as_elsewhere(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        pk_buffer b = { 0 };
        assert_false(pk_utf8_valid(faults[i].bytes, strlen(faults[i].bytes)));
        pk_utf8_repair(faults[i].bytes, strlen(faults[i].bytes), &b);
        assert_string_equal(b.data, faults[i].repaired);
        assert_true(pk_utf8_valid(b.data, b.size));
        pk_buffer_free(&b);
    }
}

static void any_three_bytes_are_repaired(void **state) {
    (void)state;
    pk_buffer b = { 0 };
    for (unsigned a = 0x7F; a < 256; a++)
        for (unsigned c = 0x70; c < 256; c += 3)
            for (unsigned d = 0x70; d < 256; d += 5) {
                const char bytes[] = { (char)a, (char)c, (char)d };
                pk_buffer_clear(&b);
                pk_utf8_repair(bytes, 3, &b);
                assert_true(pk_utf8_valid(b.data, b.size));
                if (pk_utf8_valid(bytes, 3)) assert_memory_equal(b.data, bytes, 3);
                assert_int_equal(pk_utf8_length(bytes, 3), pk_utf8_length(b.data, b.size));
            }
    pk_buffer_free(&b);
}

static void valid_text_is_untouched(void **state) {
    (void)state;
    const char   text[] = "Gr\xC3\xBC\xC3\x9F"
                          "e \0 \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80";
    const size_t size = sizeof text - 1;
    pk_buffer    b = { 0 };
    assert_true(pk_utf8_valid(text, size));
    assert_true(pk_utf8_valid("", 0));
    pk_utf8_repair(text, size, &b);
    assert_int_equal(b.size, size);
    assert_memory_equal(b.data, text, size);
    assert_int_equal(pk_utf8_length(text, size), 12);
    assert_int_equal(pk_utf8_length("", 0), 0);
    pk_buffer_free(&b);
}

static void spaces_are_those_of_python(void **state) {
    (void)state;
    static const int32_t spaces[] = {
        0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,   0x1D,   0x1E,   0x1F,   0x20,
        0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
        0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
    };
    size_t next = 0;
    for (int32_t c = 0; c <= 0x10FFFF; c++) {
        const bool expected = next < sizeof spaces / sizeof *spaces && spaces[next] == c;
        assert_int_equal(pk_utf8_is_space(c), expected);
        next += expected;
    }
    assert_int_equal(next, sizeof spaces / sizeof *spaces);
    assert_false(pk_utf8_is_space(-1));
}

static void repair_reports_no_memory(void **state) {
    (void)state;
    const int64_t before = pk_memory_alive();
    pk_buffer     b = { 0 };
    pk_memory_fail_after(1);
    pk_utf8_repair("\xFF", 1, &b);
    pk_memory_fail_after(0);
    assert_int_equal(pk_buffer_status(&b), PK_NO_MEMORY);
    pk_buffer_free(&b);
    assert_int_equal(pk_memory_alive(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives),
        cmocka_unit_test(what_cannot_be_written_becomes_replacement),
        cmocka_unit_test(faults_are_replaced_as_elsewhere),
        cmocka_unit_test(any_three_bytes_are_repaired),
        cmocka_unit_test(valid_text_is_untouched),
        cmocka_unit_test(spaces_are_those_of_python),
        cmocka_unit_test(repair_reports_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
