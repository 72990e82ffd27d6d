/* protect_test.c - which spans come out as they are; how they lie to tags; placeholders. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "markup/html.h"
#include "markup/kept_spans.h"
#include "markup/unit.h"

/* the usual spans of a text, with | between them */
static const char *usual(const char *text) {
    static char    out[512];
    pk_byte_ranges r = { 0 };
    *out = '\0';
    ASSERT_OK(pk_protect_usual(text, strlen(text), &r));
    for (size_t i = 0; i < r.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", i ? "|" : "",
                 (int)(r.range[i].end - r.range[i].begin), text + r.range[i].begin);
    pk_byte_ranges_free(&r);
    return out;
}

static void usual_spans_are_found(void **state) {
    (void)state;
    assert_string_equal(usual("See https://a.org/x?y=1&z=(2), or www.b.de."),
                        "https://a.org/x?y=1&z=(2)|www.b.de");
    assert_string_equal(usual("(http://a.b/c_(d)) \"ftp://x.y/z\""),
                        "http://a.b/c_(d)|ftp://x.y/z");
    assert_string_equal(usual("Mail bob.x+y@mail.example.org, mailto:a@b.c!"),
                        "bob.x+y@mail.example.org|mailto:a@b.c");
    assert_string_equal(usual("Hi @bob and @al_x@m.social: #cats #2b #1"),
                        "@bob|@al_x@m.social|#cats|#2b");
    assert_string_equal(usual("%s %1$s %d, %-5.2f %lu %(name)s %1 of %@"),
                        "%s|%1$s|%d|%-5.2f|%lu|%(name)s|%1|%@");
    assert_string_equal(usual("50% discount, 100%, 5 % of it, %discount"), "");
    assert_string_equal(usual("{name} {0} {{ x }} ${y} #{z} {a b} { }"),
                        "{name}|{0}|{{ x }}|${y}|#{z}");
    assert_string_equal(usual("<x id=\"1\"/> <g> </g> a < b > c"), "<x id=\"1\"/>|<g>|</g>");
    assert_string_equal(usual("run `make test` or ``a ` b`` it's ` alone"),
                        "`make test`|``a ` b``");
    assert_string_equal(usual("fine \xF0\x9F\x8E\x89 \xE2\x98\x80\xEF\xB8\x8F"),
                        "\xF0\x9F\x8E\x89|\xE2\x98\x80\xEF\xB8\x8F");
    assert_string_equal(usual("Nothing here: 10:30, a.b, C#, x@y, and/or."), "");
}

static void patterns_are_the_users(void **state) {
    (void)state;
    const char *const two[] = { "ACME-\\d+", "\\bfoo\\b" };
    const char       *bad = "(";
    pk_patterns      *p;
    pk_byte_ranges    r = { 0 };
    const char        text[] = "\xC3\xA4 ACME-12 foo food";
    ASSERT_OK(pk_patterns_open(two, 2, &p));
    ASSERT_OK(pk_patterns_find(p, text, strlen(text), &r));
    pk_byte_ranges_tidy(&r);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.range[0].begin, 3);
    assert_int_equal(r.range[1].end, 14);
    pk_byte_ranges_free(&r);
    pk_patterns_close(p);
    ASSERT_STATUS(PK_ARGUMENT, pk_patterns_open(&bad, 1, &p));
    assert_non_null(strstr(pk_last_error(), "'('"));
}

/* a pattern that would take for ever is refused */
static void a_slow_pattern_ends(void **state) {
    (void)state;
    const char    *slow = "(a+)+b";
    pk_patterns   *p;
    pk_byte_ranges r = { 0 };
    const char     text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac";
    ASSERT_OK(pk_patterns_open(&slow, 1, &p));
    ASSERT_STATUS(PK_ARGUMENT, pk_patterns_find(p, text, strlen(text), &r));
    pk_byte_ranges_free(&r);
    pk_patterns_close(p);
}

/* the kept spans' bytes, with | between them, and how many tags are inside one */
static const char *kept(const char *html, int *inside) {
    static char    out[512];
    pk_markup      m = { 0 };
    pk_byte_ranges r = { 0 };
    *out = '\0';
    *inside = 0;
    ASSERT_OK(pk_html_read((pk_text){ html, strlen(html) }, &m));
    assert_int_equal(m.n, 1);
    pk_passage *p = &m.passage[0];
    ASSERT_OK(pk_protect_usual(p->text.data, p->text.size, &r));
    ASSERT_OK(pk_passage_keep(p, &r));
    for (size_t i = 0; i < p->n_kept; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", i ? "|" : "",
                 (int)p->kept[i].bytes.size, p->kept[i].bytes.data);
    for (size_t i = 0; i < p->n_tags; i++) *inside += p->tag[i].inside;
    pk_byte_ranges_free(&r);
    pk_markup_free(&m);
    return out;
}

static void spans_have_the_inputs_bytes(void **state) {
    (void)state;
    int inside;
    assert_string_equal(kept("see http://a.b/?x&amp;y=&#49; now", &inside),
                        "http://a.b/?x&amp;y=&#49;");
    assert_string_equal(kept("a <a href=x>#<span>cats</span></a> b", &inside),
                        "#<span>cats</span>");
    assert_int_equal(inside, 1);
    assert_string_equal(kept("a <a><i>http://</i>b.c/<i>d</i></a> e", &inside),
                        "<i>http://</i>b.c/<i>d</i>");
    assert_int_equal(inside, 2);
    assert_string_equal(kept("a #<a>bc</i></a> d", &inside), "#<a>bc</i></a>");
    assert_int_equal(inside, 2);
    assert_string_equal(kept("a <b>see http://b</b>.c/d now", &inside), "http://b|.c/d");
    assert_int_equal(inside, 0);
    assert_string_equal(kept("a <b>http://b.c/d</b> now", &inside), "http://b.c/d");
    assert_int_equal(inside, 0);
}

static void placeholders_avoid_the_texts_own(void **state) {
    (void)state;
    pk_passage    p = { .lines = true };
    pk_mask       m;
    const pk_text text = { "%3 cats and {x} dogs", 20 };
    ASSERT_OK(pk_passage_add_text(&p, text, text));
    ASSERT_OK(pk_passage_add_kept(&p, (pk_kept){ 12, 3, { "{x}", 3 } }));
    ASSERT_OK(pk_mask_make(&p, 0, p.text.size, 0, &m));
    assert_string_equal(m.text.data, "%3 cats and %4 dogs");
    assert_int_equal(pk_mask_origin(&m, &p, 15, false), 16);
    assert_int_equal(pk_mask_origin(&m, &p, 13, false), 12);
    assert_int_equal(pk_mask_origin(&m, &p, 13, true), 15);
    assert_int_equal(pk_mask_lost(&m, "%3 %4", 5), 0);
    assert_int_equal(pk_mask_lost(&m, "%3 %44", 6), 1);
    assert_int_equal(pk_mask_lost(&m, "file%4.txt", 10), 0);
    assert_int_equal(pk_mask_lost(&m, "%4 %4", 5), 1);
    pk_mask_free(&m);
    pk_passage_free(&p);
}

static void long_texts_take_linear_time(void **state) {
    (void)state;
    static const char *const units[] = { "a.",       "a@", "%1",  "{",    "`",  "<a ",
                                         "http://a", "#1", "@a.", "a@b.", "%(", "``a`" };
    enum { SIZE = 1 << 20 };
    char *text;
    ASSERT_OK(PK_TAKE(&text, SIZE));
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t n = strlen(units[u]);
        for (size_t i = 0; i < SIZE; i++) text[i] = units[u][i % n];
        pk_byte_ranges r = { 0 };
        const double   from = pk_clock_now();
        ASSERT_OK(pk_protect_usual(text, SIZE, &r));
        assert_true(pk_clock_now() - from < 20);
        pk_byte_ranges_free(&r);
    }
    pk_memory_give(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_spans_are_found),
        cmocka_unit_test(patterns_are_the_users),
        cmocka_unit_test(a_slow_pattern_ends),
        cmocka_unit_test(spans_have_the_inputs_bytes),
        cmocka_unit_test(placeholders_avoid_the_texts_own),
        cmocka_unit_test(long_texts_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
