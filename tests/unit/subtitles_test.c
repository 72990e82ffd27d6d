/* subtitles_test.c - cues as passages, and words shared out to cues and lines. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "markup/place.h"
#include "markup/subtitles.h"
#include "markup/tagged_write.h"

/* the texts of all passages with | between them */
static const char *passages(const char *text, bool vtt) {
    static char out[512];
    pk_markup   m = { 0 };
    *out = '\0';
    ASSERT_OK(pk_subtitles_read((pk_text){ text, strlen(text) }, vtt, &m));
    for (size_t i = 0; i < m.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "|" : "",
                 m.passage[i].text.data);
    pk_markup_free(&m);
    return out;
}

/* everything through and back, words unchanged */
static const char *back(const char *text, bool vtt) {
    static char out[1024];
    pk_markup   m = { 0 };
    pk_buffer   b = { 0 };
    ASSERT_OK(pk_subtitles_read((pk_text){ text, strlen(text) }, vtt, &m));
    const pk_subtitle_lines lines = pk_subtitles_lines(&m);
    for (size_t i = 0; i < m.n; i++) {
        pk_passage  *p = &m.passage[i];
        pk_word_list source = { 0 }, target = { 0 };
        ASSERT_OK(pk_word_list_cut(&source, p->text.data, p->text.size, 0, NULL, 0, 0));
        for (size_t w = 0; w < source.n; w++) {
            source.word[w].source = (int32_t)w;
            ASSERT_OK(pk_word_list_add(&target, source.word[w]));
        }
        pk_subtitles_share(p, lines, &target);
        ASSERT_OK(pk_place_tags(p, &source, &target));
        ASSERT_OK(pk_passage_write(p, &target, vtt, &b));
        pk_word_list_free(&source);
        pk_word_list_free(&target);
    }
    pk_buffer_add(&b, m.after.data, m.after.size);
    snprintf(out, sizeof out, "%s", b.data);
    pk_buffer_free(&b);
    pk_markup_free(&m);
    return out;
}

#define CUE(n, text) #n "\n00:00:0" #n ",000 --> 00:00:0" #n ",900\n" text "\n\n"

static void cues_are_joined_to_sentences(void **state) {
    (void)state;
    assert_string_equal(passages(CUE(1, "One.") CUE(2, "Two."), false), "One.|Two.");
    assert_string_equal(passages(CUE(1, "I have\nnever") CUE(2, "seen it.") CUE(3, "So."), false),
                        "I have\nnever seen it.|So.");
    assert_string_equal(passages(CUE(1, "and <i>then</i>") CUE(2, "- A!\n- B!"), false),
                        "and then|- A!\n- B!");
    assert_string_equal(passages(CUE(1, "{\\an8}Up") CUE(2, "[door]"), false), "Up|[door]");
    assert_string_equal(passages("WEBVTT\n\nNOTE a --b\n\nid\n00:01.000 --> 00:02.000 line:0\n"
                                 "<v Bob>Fish &amp; <b>chips</b>.\n",
                                 true),
                        "Fish & chips.");
}

static void all_but_words_is_the_inputs(void **state) {
    (void)state;
    static const char *const srt[] = {
        CUE(1, "One.") CUE(2, "Two three."),
        "\xEF\xBB\xBF"
        "1\r\n00:00:01,000 --> 00:00:02,000 X1:0\r\n<i>A b c.</i>\r\n\r\n\r\n",
        CUE(1, "{\\an8}Up <b>there</b>") CUE(2, "it is."),
        "rubbish\n\n" CUE(1, "- Who?\n- Me.") "1\n00:00:01,000 --> 00:00:02,000\n\nmore rubbish",
    };
    for (size_t i = 0; i < sizeof srt / sizeof *srt; i++)
        assert_string_equal(back(srt[i], false), srt[i]);
    static const char vtt[] = "WEBVTT - title\n\nSTYLE\n::cue { color: red }\n\nNOTE x\n\n"
                              "00:01.000 --> 00:02.000 align:start\n<v Bob>Fish &amp; "
                              "<00:01.500><c.x>chips</c>.</v>\n\n";
    assert_string_equal(back(vtt, true), vtt);
}

static void words_are_shared_in_proportion(void **state) {
    (void)state;
    assert_string_equal(
        back(CUE(1, "one two three four five six") CUE(2, "seven eight nine."), false),
        CUE(1, "one two three four five six") CUE(2, "seven eight nine."));
    /* lines are as long as the longest there was, and about equal */
    assert_string_equal(back(CUE(1, "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii\nj."), false),
                        CUE(1, "aaaa bbbb cccc dddd eeee\nffff gggg hhhh iiii j."));
}

static void what_is_none_is_refused(void **state) {
    (void)state;
    pk_markup m = { 0 };
    ASSERT_STATUS(PK_ARGUMENT, pk_subtitles_read((pk_text){ "Hello.\n", 7 }, false, &m));
    assert_non_null(strstr(pk_last_error(), "SubRip"));
    ASSERT_STATUS(PK_ARGUMENT, pk_subtitles_read((pk_text){ CUE(1, "a"), 34 }, true, &m));
    assert_non_null(strstr(pk_last_error(), "WEBVTT"));
    ASSERT_OK(pk_subtitles_read((pk_text){ " \n", 1 }, false, &m));
    pk_markup_free(&m);
}

static pk_status read_once(void *user) {
    pk_markup       m = { 0 };
    const pk_status status = pk_subtitles_read(*(pk_text *)user, false, &m);
    pk_markup_free(&m);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    static const char srt[] = CUE(1, "I have <i>never</i>") CUE(2, "seen it.") CUE(3, "So.");
    pk_text           text = { srt, sizeof srt - 1 };
    assert_true(check_every_allocation(read_once, &text) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cues_are_joined_to_sentences),
        cmocka_unit_test(all_but_words_is_the_inputs),
        cmocka_unit_test(words_are_shared_in_proportion),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
