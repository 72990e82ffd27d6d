/* tagging_test.c - words with known origins and tags become bytes: runs, siblings, nesting, marks;
 * what a model lost is mended; deep nesting in linear time. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "markup/html.h"
#include "markup/mend.h"
#include "markup/place.h"
#include "markup/tagged_write.h"

/* The target as HTML, for a source and a target whose words have numbers: "0:Das 1:Haus" comes from
 * source words 0 and 1, "-:so" from none. A word that begins with & has no space before it. */
static const char *tagged(const char *html, const char *target) {
    static char  out[1024];
    pk_markup    m = { 0 };
    pk_word_list source = { 0 }, words = { 0 };
    pk_buffer    b = { 0 };
    ASSERT_OK(pk_html_read((pk_text){ html, strlen(html) }, &m));
    assert_int_equal(m.n, 1);
    pk_passage *p = &m.passage[0];
    ASSERT_OK(pk_word_list_cut(&source, p->text.data, p->text.size, 0, NULL, 0, 0));
    for (const char *at = target; *at;) {
        char         *end;
        const int32_t from = *at == '-' ? -1 : (int32_t)strtol(at, NULL, 10);
        const char   *word = strchr(at, ':') + 1;
        const bool    glued = *word == '&';
        end = strchr(word, ' ');
        const char *stop = end ? end : word + strlen(word);
        const bool  sign = strchr(".,!?", word[glued]) != NULL;
        ASSERT_OK(pk_word_list_add(
            &words, (pk_word){ .gap = { " ", words.n && !glued },
                               .text = { word + glued, (size_t)(stop - word) - glued },
                               .kept = -1,
                               .source = from,
                               .letters = !sign }));
        at = *stop ? stop + 1 : stop;
    }
    ASSERT_OK(pk_place_tags(p, &source, &words));
    ASSERT_OK(pk_passage_write(p, &words, true, &b));
    snprintf(out, sizeof out, "%s", b.data);
    pk_buffer_free(&b);
    pk_word_list_free(&source);
    pk_word_list_free(&words);
    pk_markup_free(&m);
    return out;
}

static void tags_follow_their_words(void **state) {
    (void)state;
    assert_string_equal(tagged("the <b>old</b> house", "0:das 1:alte 2:Haus"),
                        "das <b>alte</b> Haus");
    assert_string_equal(tagged("the <b>house</b>.", "0:das 1:Haus 2:&."), "das <b>Haus</b>.");
    assert_string_equal(tagged("<b>Stop!</b> now", "2:jetzt 0:halt 1:&!"), "jetzt <b>halt!</b>");
    /* order changes, and a word in between is bridged */
    assert_string_equal(tagged("<i>a b c</i> d", "3:D 2:C -:x 0:A 1:B"), "D <i>C x A B</i>");
    /* what is far away is not */
    assert_string_equal(tagged("x <i>a</i> y z", "1:A 0:X 2:Y 3:Z 1:A"), "<i>A</i> X Y Z A");
    assert_string_equal(tagged("<b>a b</b>", "0:A 1:B -:C"), "<b>A B C</b>");
    assert_string_equal(tagged("un<b>bel</b>iev", "0:ung"), "<b>ung</b>");
}

static void siblings_and_children_keep_apart(void **state) {
    (void)state;
    assert_string_equal(tagged("<b>a</b> <i>b</i>", "1:B 0:A"), "<i>B</i> <b>A</b>");
    assert_string_equal(tagged("<b>a <i>b</i></b> c", "2:C 1:B 0:A"), "C <b><i>B</i> A</b>");
    assert_string_equal(tagged("<a><b>x</b></a> y", "0:X 1:Y"), "<a><b>X</b></a> Y");
    /* two elements for one word: the second borrows, or is empty */
    assert_string_equal(tagged("<b>a</b> <i>b</i>", "0:AB"), "<b>AB</b><i></i>");
    assert_string_equal(tagged("<b>a</b> <i>b</i> c", "0:A 2:X 2:Y"), "<b>A</b> X <i>Y</i>");
}

static void marks_stay_between_words(void **state) {
    (void)state;
    assert_string_equal(tagged("a <img> b", "0:A 1:B"), "A <img> B");
    assert_string_equal(tagged("a<img> b", "0:A 1:B"), "A<img> B");
    assert_string_equal(tagged("a <img>b", "0:A 1:B"), "A <img>B");
    assert_string_equal(tagged("<img>a b<hr/>", "0:A 1:B"), "<img>A B");
    assert_string_equal(tagged("<i><img></i> a", "0:A"), "<i><img></i>A");
    assert_string_equal(tagged("a <b>b <br>c</b>", "2:C 1:B 0:A"), "<b><br>C B</b> A");
    assert_string_equal(tagged("<i></i>a", "0:A"), "<i></i>A");
    assert_string_equal(tagged("a & b", "0:A 1:<&> 2:B"), "A &lt;&amp;&gt; B");
}

/* Everything of the source's tags is there, whatever the words are. */
static void no_tag_is_lost_without_words(void **state) {
    (void)state;
    assert_string_equal(tagged("<b>a</b> <i>b<img></i>", ""), "<b></b><i><img></i>");
}

static void deep_nesting_takes_linear_time(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    static const char *const opens[] = { "<b>", "<b>w ", "<i></i>w ", "w<br>" };
    static const char *const closes[] = { "</b>", "</b>", "", "" };
    for (int kind = 0; kind < 4; kind++) {
        pk_markup    m = { 0 };
        pk_word_list words = { 0 };
        pk_buffer    html = { 0 }, out = { 0 };
        for (int i = 0; i < DEPTH; i++) pk_buffer_add_text(&html, opens[kind]);
        pk_buffer_add_text(&html, "x");
        for (int i = 0; i < DEPTH; i++) pk_buffer_add_text(&html, closes[kind]);
        const double from = pk_clock_now();
        ASSERT_OK(pk_html_read((pk_text){ html.data, html.size }, &m));
        pk_passage *p = &m.passage[0];
        ASSERT_OK(pk_word_list_cut(&words, p->text.data, p->text.size, 0, NULL, 0, 0));
        for (size_t i = 0; i < words.n; i++) words.word[i].source = (int32_t)i;
        ASSERT_OK(pk_place_tags(p, &words, &words));
        ASSERT_OK(pk_passage_write(p, &words, true, &out));
        assert_true(pk_clock_now() - from < 20);
        if (kind == 0) assert_string_equal(out.data, html.data);
        assert_int_equal(out.size, html.size);
        pk_buffer_free(&html);
        pk_buffer_free(&out);
        pk_word_list_free(&words);
        pk_markup_free(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_follow_their_words),
        cmocka_unit_test(siblings_and_children_keep_apart),
        cmocka_unit_test(marks_stay_between_words),
        cmocka_unit_test(no_tag_is_lost_without_words),
        cmocka_unit_test(deep_nesting_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
