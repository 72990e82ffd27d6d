/* html_test.c - HTML as tokens, passages and tags: what is text, what is kept, what ends a passage;
 * everything else is copied byte for byte; deep and broken markup in linear time. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "markup/html.h"
#include "markup/html_scan.h"

/* the kinds of all tokens as letters; checks that they cover the text */
static const char *kinds(const char *html) {
    static char     out[256];
    pk_html_scanner s = { .data = html, .size = strlen(html) };
    const char     *at = html;
    size_t          n = 0;
    for (;;) {
        const pk_html_token t = pk_html_next(&s);
        assert_ptr_equal(t.bytes.data, at);
        at += t.bytes.size;
        if (t.kind == PK_HTML_END) break;
        assert_true(t.bytes.size > 0);
        out[n++] = "tocvxr"[t.kind];
    }
    assert_true(*at == '\0');
    out[n] = '\0';
    return out;
}

static void tokens_are_the_standards(void **state) {
    (void)state;
    assert_string_equal(kinds("a<b>c</b>d"), "totct");
    assert_string_equal(kinds("a < b & c > d"), "t");
    assert_string_equal(kinds("<br><br/><x id='1'/><img src=a/b>"), "vvvv");
    assert_string_equal(kinds("<a title='>' x=\">\">y</a>"), "otc");
    assert_string_equal(kinds("<!-- <b> --><!DOCTYPE html><?xml?><!-->x<!--->y"), "xxxxtxt");
    assert_string_equal(kinds("<![CDATA[ a > b ]]>c"), "xt");
    assert_string_equal(kinds("<![CDATA[ a > b"), "xt");
    assert_string_equal(kinds("<script>a<b>c</script >d"), "orct");
    assert_string_equal(kinds("<style></style>x"), "oct");
    assert_string_equal(kinds("<script>no end"), "or");
    assert_string_equal(kinds("a<b class=\"never closed>c</b>"), "tx");
    assert_string_equal(kinds("</>x</ y>z"), "xtxt");
    assert_string_equal(kinds("<"), "t");
    assert_string_equal(kinds("a</"), "t");
}

static void attributes_say_what_stays(void **state) {
    (void)state;
    static const struct {
        const char *html;
        bool        no;
    } cases[] = { { "<p translate=no>", true },         { "<p Translate = \"NO\">", true },
                  { "<p translate='yes'>", false },     { "<p class='a notranslate b'>", true },
                  { "<p class=notranslated>", false },  { "<p data-translate=no>", false },
                  { "<p title='translate=no'>", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pk_html_scanner s = { .data = cases[i].html, .size = strlen(cases[i].html) };
        assert_int_equal(pk_html_next(&s).no_translate, cases[i].no);
    }
}

static void references_are_characters(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t      size;
        int32_t     code;
    } cases[] = { { "&amp;", 5, '&' },
                  { "&lt;x", 4, '<' },
                  { "&#65;", 5, 'A' },
                  { "&#x20AC;", 8, 0x20AC },
                  { "&nbsp;", 6, 0xA0 },
                  { "&yuml;", 6, 0xFF },
                  { "&hellip;", 8, 0x2026 },
                  { "&copy 2020", 5, 0xA9 },
                  { "&unknown;", 9, -1 },
                  { "&#0;", 4, -1 },
                  { "&#xD800;", 8, -1 },
                  { "& b", 0, 0 },
                  { "&T", 0, 0 },
                  { "&copy=1", 0, 0 },
                  { "&#;", 0, 0 },
                  { "&#99999999;", 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t code = 0;
        assert_int_equal(pk_html_reference(cases[i].text, strlen(cases[i].text), &code),
                         cases[i].size);
        if (cases[i].size) assert_int_equal(code, cases[i].code);
    }
}

/* the texts of all passages, with | between them; checks that they cover the input */
static const char *passages(const char *html) {
    static char out[512];
    pk_markup   m = { 0 };
    const char *at = html;
    *out = '\0';
    ASSERT_OK(pk_html_read(text_of(html), &m));
    for (size_t i = 0; i < m.n; i++) {
        const pk_passage *p = &m.passage[i];
        assert_ptr_equal(p->before.data, at);
        assert_ptr_equal(p->raw.data, at + p->before.size);
        at = p->raw.data + p->raw.size;
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "|" : "", p->text.data);
    }
    assert_ptr_equal(m.after.data, at);
    assert_int_equal(strlen(at), m.after.size);
    pk_markup_free(&m);
    return out;
}

#define KEPT "\xEF\xBF\xBC"

static void blocks_end_passages_and_inline_tags_do_not(void **state) {
    (void)state;
    assert_string_equal(passages("<p>a <b>b</b> c</p><p>d</p>"), "a b c|d");
    assert_string_equal(passages("<p> </p><div>&nbsp;</div>..."), "");
    assert_string_equal(passages("<td>x</td> <td>y</td>"), "x|y");
    assert_string_equal(passages("a<custom-x>b</custom-x>c"), "abc");
    assert_string_equal(passages("one<br>two<br>Three<br/><br/>four"), "one"
                                                                       "two|Three|four");
    assert_string_equal(passages("a<!-- b -->c<script>d</script>e<wbr>f"), "acef");
    assert_string_equal(passages("x &lt;y&gt; &amp; z"), "x <y> & z");
    assert_string_equal(passages("use <code>a <b>b</b></code> now"), "use " KEPT " now");
    assert_string_equal(passages("the <span translate=no>Foo <span>x</span></span> bar"),
                        "the " KEPT " bar");
    assert_string_equal(passages("a<div class=notranslate><p>b</p></div>c"), "a|c");
    assert_string_equal(passages("a<video>b</video>c<textarea>d</textarea>"), "a|c");
    assert_string_equal(passages("a &zzz; b"), "a " KEPT " b");
    assert_string_equal(passages("<code>never closed"), "");
    assert_string_equal(passages("text <b unclosed"), "text ");
}

/* begin-end of each tag, a mark in brackets, and its parent */
static const char *tags(const char *html) {
    static char out[512];
    pk_markup   m = { 0 };
    *out = '\0';
    ASSERT_OK(pk_html_read(text_of(html), &m));
    for (size_t i = 0; i < m.n; i++)
        for (size_t k = 0; k < m.passage[i].n_tags; k++) {
            const pk_tag *t = &m.passage[i].tag[k];
            snprintf(out + strlen(out), sizeof out - strlen(out),
                     t->mark ? "[%zu]%.0zu<%d " : "%zu-%zu<%d ", t->begin, t->mark ? 0 : t->end,
                     t->parent);
        }
    pk_markup_free(&m);
    return out;
}

static void tags_find_their_partners(void **state) {
    (void)state;
    assert_string_equal(tags("a<b>b<i>c</i></b>"), "1-3<-1 2-3<0 ");
    assert_string_equal(tags("a<br>b"), "[1]<-1 ");
    assert_string_equal(tags("a<b>b"), "[1]<-1 ");
    assert_string_equal(tags("a</b>b"), "[1]<-1 ");
    assert_string_equal(tags("a<b>b<i>c</b>d</i>e"), "1-3<-1 [2]<0 [4]<-1 ");
    assert_string_equal(tags("<B>x</b>"), "0-1<-1 ");
    assert_string_equal(tags("<b>x<p>y</p></b>"), "[0]<-1 ");
}

static void escaping_is_what_reading_undoes(void **state) {
    (void)state;
    pk_buffer out = { 0 };
    pk_html_escape(text_of("a < b & \"c\" > d"), &out);
    assert_string_equal(out.data, "a &lt; b &amp; \"c\" &gt; d");
    pk_buffer_free(&out);
}

/* a megabyte of each; what is quadratic takes minutes here */
static void deep_and_broken_markup_takes_linear_time(void **state) {
    (void)state;
    static const char *const units[] = { "<b>",     "<b>x",      "</b>",      "<a></b>",
                                         "<!--",    "<![CDATA[", "<br>",      "&amp",
                                         "<x y=\"", "<code>",    "<b><i></b>" };
    enum { SIZE = 1 << 20 };
    char *html;
    ASSERT_OK(PK_TAKE(&html, SIZE));
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t n = strlen(units[u]);
        for (size_t i = 0; i < SIZE; i++) html[i] = units[u][i % n];
        pk_markup    m = { 0 };
        const double from = pk_clock_now();
        ASSERT_OK(pk_html_read((pk_text){ html, SIZE }, &m));
        assert_true(pk_clock_now() - from < 20);
        pk_markup_free(&m);
    }
    pk_memory_give(html);
}

static pk_status read_once(void *user) {
    pk_markup       m = { 0 };
    const pk_status status = pk_html_read(*(pk_text *)user, &m);
    pk_markup_free(&m);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    pk_text text = text_of("<p>a <b>b &amp; <code>c</code></b><br>D<p>e <i>f");
    assert_true(check_every_allocation(read_once, &text) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_the_standards),
        cmocka_unit_test(attributes_say_what_stays),
        cmocka_unit_test(references_are_characters),
        cmocka_unit_test(blocks_end_passages_and_inline_tags_do_not),
        cmocka_unit_test(tags_find_their_partners),
        cmocka_unit_test(escaping_is_what_reading_undoes),
        cmocka_unit_test(deep_and_broken_markup_takes_linear_time),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
