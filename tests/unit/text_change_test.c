/* text_change_test.c - lines as people also write them. */
#include "text/text_change.h"

#include "check.h"

#include <string.h>

static void changed(pk_text_change change, int side, const char *line, const char *expected) {
    pk_buffer out = { 0 };
    pk_text_change_add(change, side, line, strlen(line), &out);
    ASSERT_OK(pk_buffer_status(&out));
    assert_int_equal(out.size, strlen(expected));
    if (out.size) assert_memory_equal(out.data, expected, out.size);
    pk_buffer_free(&out);
}

static void capitals(void **state) {
    (void)state;
    changed(PK_TEXT_UPPER, 0, "It's 5 o'clock, caf\u00e9!", "IT'S 5 O'CLOCK, CAF\u00c9!");
    changed(PK_TEXT_UPPER, 1, "Die Stra\u00dfe f\u00fcr Anna", "DIE STRASSE F\u00dcR ANNA");
    changed(PK_TEXT_UPPER, 0, "", "");
    changed(PK_TEXT_UPPER, 0, "\u6771\u4eac \U0001F600 1", "\u6771\u4eac \U0001F600 1");
}

static void other_letters_change_the_source_alone(void **state) {
    (void)state;
    changed(PK_TEXT_TITLE, 0, "don't (really) look at well-known \u00e9tudes",
            "Don't (Really) Look At Well-Known \u00c9tudes");
    changed(PK_TEXT_TITLE, 1, "die kleine Frau", "die kleine Frau");
    changed(PK_TEXT_LOWER, 0, "I live in BERLIN, \u00d6sterreich",
            "i live in berlin, \u00f6sterreich");
    changed(PK_TEXT_LOWER, 1, "Ich wohne in Berlin", "Ich wohne in Berlin");
}

static void full_stops(void **state) {
    (void)state;
    changed(PK_TEXT_BARE, 0, "Good.", "Good");
    changed(PK_TEXT_BARE, 1, "Gut. ", "Gut");
    changed(PK_TEXT_BARE, 0, "And so on ...", "And so on ...");
    changed(PK_TEXT_BARE, 0, "Really?", "Really?");
    changed(PK_TEXT_BARE, 0, ".", ".");
    changed(PK_TEXT_BARE, 0, "", "");
    changed(PK_TEXT_KEEP, 0, "Good.", "Good.");
}

static void invalid_bytes_stay_apart(void **state) {
    (void)state;
    changed(PK_TEXT_KEEP, 0, "a\xff", "a\xff");
    changed(PK_TEXT_UPPER, 0, "a\xff", "A\xEF\xBF\xBD");
}

static void words_are_found(void **state) {
    (void)state;
    pk_text_change change;
    for (int i = 0; i < PK_N_TEXT_CHANGES; i++) {
        ASSERT_OK(pk_text_change_find(pk_text_change_word((pk_text_change)i), &change));
        assert_int_equal(change, i);
    }
    ASSERT_STATUS(PK_ARGUMENT, pk_text_change_find("shout", &change));
    assert_string_equal(pk_last_error(), "no change of text is called \"shout\": keep, upper, "
                                         "title, lower, bare, join");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capitals),        cmocka_unit_test(other_letters_change_the_source_alone),
        cmocka_unit_test(full_stops),      cmocka_unit_test(invalid_bytes_stay_apart),
        cmocka_unit_test(words_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
