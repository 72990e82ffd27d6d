/* glossary_test.c - reading terms, finding them in a text, and wrong lines. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "markup/glossary.h"

static pk_glossary *open_glossary(const char *tsv) {
    pk_glossary *g;
    ASSERT_OK(pk_glossary_open(text_of(tsv), &g));
    return g;
}

/* the targets of all matches with the word that each begins at: "1:Haus 4:Park" */
static const char *matches(const pk_glossary *g, const char *text) {
    static char     out[256];
    pk_word_list    words = { 0 };
    pk_term_matches found = { 0 };
    *out = '\0';
    ASSERT_OK(pk_word_list_cut(&words, text, strlen(text), 0, NULL, 0, 0));
    ASSERT_OK(pk_glossary_match(g, &words, &found));
    for (size_t i = 0; i < found.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%zu:%.*s", i ? " " : "",
                 found.match[i].first, (int)found.match[i].target.size, found.match[i].target.data);
    pk_memory_give(found.match);
    pk_word_list_free(&words);
    return out;
}

static void terms_are_found_by_word(void **state) {
    (void)state;
    pk_glossary *g = open_glossary("\xEF\xBB\xBFhouse\tHaus\r\n\nneural machine translation\tNMT\n"
                                   "machine\tMaschine\ncompany\tFirma\n US \t USA \nhouse\tBude\n");
    assert_int_equal(pk_glossary_count(g), 6);
    assert_string_equal(matches(g, "The house."), "1:Haus");
    assert_string_equal(matches(g, "HOUSE Houses house's"), "0:Haus 1:Haus 2:Haus");
    assert_string_equal(matches(g, "household greenhouse"), "");
    assert_string_equal(matches(g, "neural machine translations"), "0:NMT");
    assert_string_equal(matches(g, "neural machines"), "1:Maschine");
    assert_string_equal(matches(g, "two companies"), "1:Firma");
    assert_string_equal(matches(g, "the US and us"), "1:USA");
    pk_glossary_close(g);
}

static void short_words_take_no_endings(void **state) {
    (void)state;
    pk_glossary *g = open_glossary("on\tan\n\xC3\xA4pfel\tapples\n#1\tNummer 1\n");
    assert_string_equal(matches(g, "one on"), "1:an");
    assert_string_equal(matches(g, "\xC3\x84pfeln"), "0:apples");
    assert_string_equal(matches(g, "is #1 now"), "1:Nummer 1");
    pk_glossary_close(g);
}

static void wrong_lines_are_refused_by_number(void **state) {
    (void)state;
    static const struct {
        const char *tsv, *says;
    } cases[] = { { "a\tb\nno tab\n", "line 2" },
                  { "a\tb\tc\n", "more than two" },
                  { "a\t \n", "empty" },
                  { "\tb\n", "empty" },
                  { "\xFF\tb\n", "UTF-8" } };
    pk_glossary *g;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ASSERT_STATUS(PK_ARGUMENT, pk_glossary_open(text_of(cases[i].tsv), &g));
        assert_non_null(strstr(pk_last_error(), cases[i].says));
        assert_null(g);
    }
    ASSERT_STATUS(PK_ARGUMENT, pk_glossary_open((pk_text){ "a\tb\0", 4 }, &g));
    ASSERT_STATUS(PK_ARGUMENT, pk_glossary_open((pk_text){ NULL, 4 }, &g));
    ASSERT_STATUS(PK_ARGUMENT, pk_glossary_open(text_of(""), NULL));
    ASSERT_OK(pk_glossary_open((pk_text){ 0 }, &g));
    assert_int_equal(pk_glossary_count(g), 0);
    pk_glossary_close(g);
    pk_glossary_close(NULL);
}

static pk_status open_once(void *user) {
    pk_glossary    *g = NULL;
    const pk_status status = pk_glossary_open(*(pk_text *)user, &g);
    pk_glossary_close(g);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    pk_text tsv = text_of("house\tHaus\ngarden fence\tZaun\n");
    assert_true(check_every_allocation(open_once, &tsv) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_found_by_word),
        cmocka_unit_test(short_words_take_no_endings),
        cmocka_unit_test(wrong_lines_are_refused_by_number),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
