/* split_test.c - sentences, the white space between them, and where to cut what is too long.
 *
 * Cases are written with '|' between sentences; the text of a case is what is left without them. */
#include "text/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "text/language.h"
#include "text/utf8.h"

/* the law: pieces cover the text in order, copies are white space, sentences begin and end visibly
 */
static void check_cover(const char *text, size_t size, const pk_pieces *p) {
    size_t at = 0;
    for (size_t i = 0; i < p->n; i++) {
        const pk_piece *piece = &p->piece[i];
        assert_int_equal(piece->begin, at);
        assert_true(piece->size > 0);
        if (!piece->sentence && i > 0) assert_true(p->piece[i - 1].sentence);
        for (size_t end = at + piece->size, n; at < end; at += n) {
            int32_t c;
            n = pk_utf8_next(text + at, size - at, &c);
            const bool edge = at == piece->begin || at + n == end;
            if (!piece->sentence)
                assert_true(pk_utf8_is_space(c));
            else if (edge)
                assert_false(pk_utf8_is_space(c));
        }
    }
    assert_int_equal(at, size);
}

/* what pk_split makes of the text, as sentences with '|' between them */
static void split_to(const char *language, const char *text, bool one, char *out, size_t room) {
    pk_splitter *s;
    pk_pieces    p = { 0 };
    size_t       n = 0;
    assert_int_equal(pk_splitter_open(language, &s), PK_OK);
    assert_int_equal(pk_split(s, text, strlen(text), one, &p), PK_OK);
    check_cover(text, strlen(text), &p);
    out[0] = '\0';
    for (size_t i = 0; i < p.n; i++) {
        if (!p.piece[i].sentence) continue;
        n += (size_t)snprintf(out + n, room - n, "%s%.*s", n ? "|" : "", (int)p.piece[i].size,
                              text + p.piece[i].begin);
        assert_true(n < room);
    }
    pk_pieces_free(&p);
    pk_splitter_close(s);
}

static const struct {
    const char *language, *sentences; /* joined by a space where there is "|" */
} cases[] = {
    { "en", "Hello.|How are you?|Fine!" },
    { "en", "Dr. Smith met Mr. Jones and Mrs. Brown.|They talked." },
    { "en", "Use tools, e.g. Emacs or vi.|Then i.e. This works." },
    { "en", "J. Smith and J. R. R. Tolkien wrote it.|Nobody else did." },
    { "en", "George W. Bush spoke.|So do I.|The rest listened." },
    { "en", "He lives in the U.S. Army base.|She lives in the U.S.|They never meet." },
    { "en", "It began at 5 p.m. Monday.|It ended at 7 p.m.|The hall was empty." },
    { "en", "See No. 5 and p. 7 and Fig. 3.|No.|That is wrong." },
    { "en", "It costs 3.50 dollars.|Version 2.1 is out." },
    { "en", "\"Really?\" he asked.|\"Yes!\" she said." },
    { "en", "He said \"Stop.\"|Then he left (at last.)|Nobody cared." },
    { "en", "\xE2\x80\x9CStop.\xE2\x80\x9D|\xE2\x80\x9CWhy?\xE2\x80\x9D|\xE2\x80\x98Just "
            "so.\xE2\x80\x99|Fine." },
    { "en", "It was winter.|\xE2\x80\x99Tis so no more." },
    { "en", "Well ... maybe.|Wait... what?|Really...|He was gone." },
    { "en", "Visit http://x.org/?q=A and Yahoo!Mail now.|Thanks!!!|What?!|Yes." },
    { "en", "1. The first point.|It has two parts." },
    { "en", "II. The second.|More of it." },
    { "en", "etc. and so on.|A, B, etc.|Done." },
    { "en", "..." },
    { "en", "!!!" },
    { "en", ".|Hello." },
    { "de", "Wir treffen uns am 3. Mai im 2. Stock.|Dann gehen wir." },
    { "de", "Das 20. Jahrhundert war lang.|Ludwig XIV. K\xC3\xB6nig von Frankreich schlief." },
    { "de", "Er wurde 30.|Das war 1990.|Danach nichts." },
    { "de", "Obst, z. B. \xC3\x84pfel, d. h. Kernobst, kostet ca. 3 Euro.|Gut." },
    { "de", "Obst, z.B. \xC3\x84pfel, steht in Nr. 5 und Abs. 3.|Die Nr. 6 fehlt." },
    { "de", "\xE2\x80\x9EKomm!\xE2\x80\x9C|\xE2\x80\x9EWohin?\xE2\x80\x9C, fragte er.|\xC2\xBBNach "
            "Haus.\xC2\xAB|Gut." },
    { "de", "Prof. Dr. Weber kam bzw. Frau Dr. Maier ging.|Ende." },
    { "de", "Es stieg von 32,7 Mrd. Pfund auf 42,6 Mrd. Pfund, Mr. President.|Gut." },
    { "de_DE", "Am 3. Mai.|Gut." },
    { "deu", "Am 3. Mai.|Gut." },
    { "fr", "M. Dupont et Mme. Durand partent.|Ils reviennent." },
    { "fr", "\xC2\xAB Bonjour ! \xC2\xBB|Il partit.|Pourquoi ?|Parce que." },
    { "es", "El Sr. L\xC3\xB3pez vive en EE.UU. Ahora no.|\xC2\xBFQu\xC3\xA9?|\xC2\xA1No!" },
    { "it", "Il sig. Rossi e la dott. Bianchi.|Ciao." },
    { "pt", "O Sr. Silva e a Dra. Costa.|Sim." },
    { "nl", "Dhr. Jansen komt, bijv. Maandag.|Goed." },
    { "ru", "\xD0\x9F\xD1\x80\xD0\xBE\xD1\x84. \xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD\xD0\xBE\xD0\xB2 "
            "\xD0\xB7\xD0\xB4\xD0\xB5\xD1\x81\xD1\x8C.|\xD0\x94\xD0\xB0." },
    { NULL, "Dr. No came.|He left." },
    { "xx", "Dr. No came.|He left." },
    { "not a language at all, and far too long to be one", "One.|Two." },
    { "hi", "\xE0\xA4\xB9\xE0\xA4\xBE\xE0\xA4\x81\xE0\xA5\xA4|"
            "\xE0\xA4\xA8\xE0\xA4\xB9\xE0\xA5\x80\xE0\xA4\x82\xE0\xA5\xA4" },
};

static void sentences_end_where_people_end_them(void **state) {
    (void)state;
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], found[1024];
        snprintf(text, sizeof text, "%s", cases[i].sentences);
        for (char *c = text; (c = strchr(c, '|')) != NULL;) *c = ' ';
        split_to(cases[i].language, text, false, found, sizeof found);
        if (strcmp(found, cases[i].sentences) == 0) continue;
        print_error("%s: expected %s\n        found %s\n",
                    cases[i].language ? cases[i].language : "-", cases[i].sentences, found);
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
}

static void scripts_without_spaces_are_split(void **state) {
    (void)state;
    char found[256];
    split_to("zh",
             "\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82\xE5\x86\x8D\xE8\xA7\x81\xEF\xBC\x81"
             "abc",
             false, found, sizeof found);
    assert_string_equal(
        found, "\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82|\xE5\x86\x8D\xE8\xA7\x81\xEF\xBC\x81|abc");
    split_to("ja",
             "\xE3\x80\x8C\xE3\x81\xAF\xE3\x81\x84\xE3\x80\x82\xE3\x80\x8D\xE3\x81\xA8\xE3\x80\x82",
             false, found, sizeof found);
    assert_string_equal(
        found,
        "\xE3\x80\x8C\xE3\x81\xAF\xE3\x81\x84\xE3\x80\x82\xE3\x80\x8D|\xE3\x81\xA8\xE3\x80\x82");
}

static void lines_and_spacing_are_copied(void **state) {
    (void)state;
    const char *text = "  One.\t Two. \r\n\r\n \t\nThree\rFour\xE2\x80\xA8"
                       "Five\xE2\x80\xA9"
                       "Six\n";
    char        found[256];
    split_to("en", text, false, found, sizeof found);
    assert_string_equal(found, "One.|Two.|Three|Four|Five|Six");
    split_to("en", text, true, found, sizeof found);
    assert_string_equal(found, "One.\t Two.|Three|Four|Five|Six");
    split_to("en", "a  b.  C  d.", true, found, sizeof found);
    assert_string_equal(found, "a  b.  C  d.");
}

static void white_space_alone_has_no_sentence(void **state) {
    (void)state;
    static const char *const blank[] = {
        "", " ", "\n", "\r\n\r\n", "\t \xC2\xA0\xE3\x80\x80", "\xC2\x85"
    };
    pk_splitter *s;
    pk_pieces    p = { 0 };
    assert_int_equal(pk_splitter_open("en", &s), PK_OK);
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
        for (int one = 0; one < 2; one++) {
            assert_int_equal(pk_split(s, blank[i], strlen(blank[i]), one != 0, &p), PK_OK);
            assert_int_equal(p.n, strlen(blank[i]) > 0);
            check_cover(blank[i], strlen(blank[i]), &p);
        }
    pk_pieces_free(&p);
    pk_splitter_close(s);
}

static void zero_bytes_are_characters(void **state) {
    (void)state;
    const char   text[] = "One\0two. Three\0. \0";
    const size_t size = sizeof text - 1;
    pk_splitter *s;
    pk_pieces    p = { 0 };
    assert_int_equal(pk_splitter_open("en", &s), PK_OK);
    for (int one = 0; one < 2; one++) {
        assert_int_equal(pk_split(s, text, size, one != 0, &p), PK_OK);
        check_cover(text, size, &p);
        assert_true(p.piece[0].sentence);
        assert_int_equal(p.piece[0].size, one ? size : 8);
    }
    pk_pieces_free(&p);
    pk_splitter_close(s);
}

/* a million characters of one kind after another; far from linear would take minutes */
static void long_lines_take_linear_time(void **state) {
    (void)state;
    static const char *const unit[] = { "x",     ".",           ". ",           "a. ",      "A. ",
                                        "1. ",   "\"",          "( ",           "\xC3\xA4", "? ",
                                        "Dr. ",  "! \xC2\xBB ", "\xE3\x80\x82", " ",        "a\n",
                                        "U.S. ", ". 1" };
    enum { SIZE = 1000000 };
    char *text;
    assert_int_equal(PK_TAKE(&text, SIZE), PK_OK);
    pk_splitter *s;
    pk_pieces    p = { 0 };
    assert_int_equal(pk_splitter_open("de", &s), PK_OK);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        const size_t n = strlen(unit[i]), size = SIZE / n * n;
        for (size_t at = 0; at < size; at += n) memcpy(text + at, unit[i], n);
        const clock_t start = clock(); /* of this process: others may be busy */
        assert_int_equal(pk_split(s, text, size, false, &p), PK_OK);
        const double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (took > 5) print_error("%zu bytes of \"%s\" took %.2f s\n", size, unit[i], took);
        assert_true(took < 5); /* under half a second as built for use */
        check_cover(text, size, &p);
    }
    pk_pieces_free(&p);
    pk_splitter_close(s);
    pk_memory_give(text);
}

static size_t cut(const char *text, size_t most) {
    return pk_split_point(text, strlen(text), most);
}

static void cuts_fall_at_the_best_place(void **state) {
    (void)state;
    assert_int_equal(cut("one two, three four", 100), 19); /* fits */
    assert_int_equal(cut("one two, three four", 19), 19);
    assert_int_equal(cut("one two, three four", 16), 9); /* behind the clause */
    assert_int_equal(cut("a, bbb ccc ddd eee", 15), 15); /* the clause is too far to the left */
    assert_int_equal(cut("a, bbb ccc ddd eee", 14), 11);
    assert_int_equal(cut("1,000,000 and more", 12), 10); /* a comma without a space is none */
    assert_int_equal(cut("abcdefghij", 4), 4);
    assert_int_equal(cut("    abcdefghij", 6), 6); /* never white space alone */
    assert_int_equal(cut("\xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xE5\x86\x8D\xE8\xA7\x81", 13), 9);
    assert_int_equal(cut("\xE4\xBD\xA0\xE5\xA5\xBD\xE5\x86\x8D", 8), 6); /* whole code points */
    assert_int_equal(cut("aae\xCC\x81xx", 3), 2); /* accent stays with its letter */
    assert_int_equal(cut("aae\xCC\x81xx", 4), 2);
    assert_int_equal(cut("aae\xCC\x81xx", 5), 5);
    assert_int_equal(cut("e\xCC\x81\xCC\x81\xCC\x81", 4),
                     3);                              /* unavoidable: a code point, at least */
    assert_int_equal(cut("\xF0\x9F\x98\x80x", 1), 4); /* never 0, even when nothing fits */
    assert_int_equal(cut("abc", 0), 1);
    assert_int_equal(pk_split_point("", 0, 5), 0);
}

static void cuts_obey_their_law(void **state) {
    (void)state;
    const char  *text = "Ein s\xC3\xB6hr langer, e\xCC\x81"
                        "cht (sehr) langer Satz; \xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x81 "
                        "und   Schlu\xC3\x9F - \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC.";
    const size_t size = strlen(text);
    for (size_t from = 0; from < size; from++) {
        if (!pk_utf8_valid(text + from, size - from)) continue;
        for (size_t most = 0; most <= size + 1; most++) {
            const size_t at = pk_split_point(text + from, size - from, most);
            assert_in_range(at, 1, size - from);
            assert_true(at <= most || at <= 4);
            assert_true(pk_utf8_valid(text + from, at));
        }
    }
}

static void lists_hold_whole_words(void **state) {
    (void)state;
    const pk_language_rules *en = pk_language_rules_find("en"), *de = pk_language_rules_find("de");
    assert_true(pk_language_has(en->always, "mr", 2));
    assert_true(pk_language_has(en->always, "e.g", 3));
    assert_false(pk_language_has(en->always, "m", 1));
    assert_false(pk_language_has(en->always, "", 0));
    assert_false(pk_language_has(en->always, "r dr", 4));
    assert_false(pk_language_has(NULL, "mr", 2));
    assert_true(de->ordinals && !en->ordinals);
    assert_ptr_equal(pk_language_rules_find("tlh"), en);
}

static void no_memory_is_reported(void **state) {
    (void)state;
    const int64_t before = pk_memory_alive();
    int           n_failed = 0;
    for (int64_t fail = 1; fail < 20; fail++) {
        pk_splitter *s = NULL;
        pk_pieces    p = { 0 };
        pk_memory_fail_after(fail);
        pk_status   status = pk_splitter_open("en", &s);
        const char *text =
            "A. B.\nC\nD\nE\nF\nG\nH\nI\nJ\nK\nL\nM\nN\nO\nP\nQ\nR\nS\nT\nU\nV\nW\nX";
        if (status == PK_OK) status = pk_split(s, text, strlen(text), false, &p);
        pk_memory_fail_after(0);
        if (status != PK_OK) {
            assert_int_equal(status, PK_NO_MEMORY);
            n_failed++;
        }
        pk_pieces_free(&p);
        pk_splitter_close(s);
        assert_int_equal(pk_memory_alive(), before);
    }
    assert_int_equal(n_failed, 4); /* the splitter, and room for 16, 32, 64 pieces */
    pk_splitter_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_end_where_people_end_them),
        cmocka_unit_test(scripts_without_spaces_are_split),
        cmocka_unit_test(lines_and_spacing_are_copied),
        cmocka_unit_test(white_space_alone_has_no_sentence),
        cmocka_unit_test(zero_bytes_are_characters),
        cmocka_unit_test(long_lines_take_linear_time),
        cmocka_unit_test(cuts_fall_at_the_best_place),
        cmocka_unit_test(cuts_obey_their_law),
        cmocka_unit_test(lists_hold_whole_words),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
