/* capitals_test.c - text in capitals as a sentence, and back: letters change, positions do not. */
#include "text/capitals.h"

#include <string.h>

#include "check.h"

static bool are(const char *text) { return pk_capitals_are(text, strlen(text)); }

static void which_texts_are_in_capitals(void **state) {
    (void)state;
    assert_true(are("PLEASE CLOSE THE DOOR."));
    assert_true(are("OPEN"));
    assert_true(are("20 % \xC3\x96STERREICH"));
    assert_true(are("WARNING: {FILE} 42"));
    assert_false(are("USA")); /* an abbreviation */
    assert_false(are(""));
    assert_false(are("123 456 789"));
    assert_false(are("NASA is large"));
    assert_false(are("FILE %s NOT FOUND"));
    assert_false(are("\xE6\x9D\xB1\xE4\xBA\xAC\xE6\x9D\xB1\xE4\xBA\xAC")); /* has no case */
}

static void check_fold(const char *from, bool english, const char *to) {
    char text[128];
    strcpy(text, from);
    pk_capitals_fold(text, strlen(text), english);
    assert_string_equal(text, to);
}

static void capitals_become_a_sentence(void **state) {
    (void)state;
    check_fold("PLEASE CLOSE THE DOOR.", true, "Please close the door.");
    check_fold("\"NO!\" I SAID. I'M I", true, "\"No!\" I said. I'm I");
    check_fold("ICH BIN I", false, "Ich bin i");
    check_fold("1. \xC3\x84PFEL UND \xC3\x96L", false, "1. \xC3\x84pfel und \xC3\xB6l");
    check_fold("\xD0\x9C\xD0\x9E\xD0\xA1\xD0\x9A", false, "\xD0\x9C\xD0\xBE\xD1\x81\xD0\xBA");
    check_fold("A \xC4\xB0 B", false,
               "A \xC4\xB0 b"); /* a dotted I: its small one is of one byte */
    check_fold("", true, "");
}

static void check_write(const char *from, const char *to) {
    char text[128];
    strcpy(text, from);
    pk_capitals_write(text, strlen(text));
    assert_string_equal(text, to);
    assert_int_equal(strlen(from), strlen(to));
}

static void a_sentence_becomes_capitals(void **state) {
    (void)state;
    check_write("Bitte \xC3\xB6"
                "ffne die T\xC3\xBCr.",
                "BITTE \xC3\x96"
                "FFNE DIE T\xC3\x9CR.");
    check_write("Die Stra\xC3\x9F"
                "e ist gro\xC3\x9F.",
                "DIE STRASSE IST GROSS.");
    check_write("\xE1\xBA\x9E {name} \xF0\x9F\x98\x8D 1", "\xE1\xBA\x9E {NAME} \xF0\x9F\x98\x8D 1");
    check_write("", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_texts_are_in_capitals),
        cmocka_unit_test(capitals_become_a_sentence),
        cmocka_unit_test(a_sentence_becomes_capitals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
