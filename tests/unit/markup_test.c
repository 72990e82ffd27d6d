/* markup_test.c - pk_translate with markup, terms and spans, on a model that writes nonsense: the
 * laws must hold whatever it writes. Tags are the input's and well nested, protected spans come out
 * byte for byte and as often as they went in, terms appear, wrong options are refused. */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/models/marian-relu"

typedef struct world {
    pk_model      *model;
    pk_translator *t;
} world;

static world open_world(void) {
    world w;
    ASSERT_OK(pk_model_open(MODEL, NULL, &w.model));
    ASSERT_OK(pk_translator_open(
        w.model, PK_OPTIONS(pk_translator_options, .alignment = 1, .threads = 1), &w.t));
    return w;
}

static void close_world(world *w) {
    pk_translator_close(w->t);
    pk_model_close(w->model);
}

/* the translation of one text, to be freed */
static char *translate(const world *w, const char *text, const pk_call_options *o) {
    pk_result *r;
    pk_text    t = text_of(text);
    ASSERT_OK(pk_translate(w->t, &t, 1, o, &r));
    char *out = strdup(pk_result_text(r, 0));
    pk_result_free(r);
    return out;
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

/* all tags of an HTML text in the order of the alphabet; checks that they are well nested */
static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted_tags(const char *html) {
    char  *tag[256], *stack[256];
    size_t n = 0, depth = 0;
    for (const char *at = html; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>') + 1;
        tag[n] = strndup(at, (size_t)(end - at));
        if (tag[n][1] == '/') {
            assert_true(depth > 0);
            const size_t size = strcspn(stack[depth - 1], " >") - 1;
            assert_int_equal(strncmp(tag[n] + 2, stack[--depth] + 1, size), 0);
        } else if (!strstr("<br><img>", tag[n])) {
            stack[depth++] = tag[n];
        }
        n++;
    }
    assert_int_equal(depth, 0);
    qsort(tag, n, sizeof *tag, by_text);
    char *all = calloc(1, strlen(html) + 1);
    for (size_t i = 0; i < n; i++) strcat(all, tag[i]), free(tag[i]);
    return all;
}

static const char *const spans[] = { "https://a.org/x?y=1&amp;z",
                                     "bob@example.org",
                                     "%1$s",
                                     "{name}",
                                     "{{x}}",
                                     "${y}",
                                     "`a b`",
                                     "&lt;x id=\"1\"/&gt;",
                                     "#cats" };
enum { N_SPANS = sizeof spans / sizeof *spans };

/* random text with inline tags, never crossing, and spans; a function of the seed */
static void make_html(uint32_t seed, char *out) {
    static const char *const words[] = {
        "the", "cat", "sees", "a", "house", "old", "dog", "river"
    };
    static const char *const names[] = { "b", "i", "span class=x", "a href='y'" };
    int                      open[8], depth = 0;
    *out = '\0';
    for (int i = 0; i < 30; i++) {
        seed = seed * 1664525 + 1013904223;
        const uint32_t r = seed >> 16;
        if (r % 7 == 0 && depth < 8) {
            open[depth++] = (int)(r / 7 % 4);
            sprintf(out + strlen(out), "<%s>", names[open[depth - 1]]);
        } else if (r % 7 == 1 && depth) {
            const char *name = names[open[--depth]];
            sprintf(out + strlen(out), "</%.*s> ", (int)strcspn(name, " "), name);
        } else if (r % 7 == 2) {
            sprintf(out + strlen(out), "%s%s", spans[r / 7 % N_SPANS], r & 1 ? " " : ", ");
        } else if (r % 29 == 3) {
            strcat(out, r & 64 ? "<img>" : ". <br>");
        } else {
            sprintf(out + strlen(out), "%s ", words[r / 7 % 8]);
        }
    }
    while (depth) {
        const char *name = names[open[--depth]];
        sprintf(out + strlen(out), "</%.*s>", (int)strcspn(name, " "), name);
    }
}

static void tags_and_spans_survive_any_model(void **state) {
    (void)state;
    world w = open_world();
    char  html[4096];
    for (uint32_t seed = 0; seed < 300; seed++) {
        make_html(seed, html);
        char *out = translate(&w, html, PK_OPTIONS(pk_call_options, .format = "html"));
        char *before = sorted_tags(html), *after = sorted_tags(out);
        assert_string_equal(before, after);
        for (int i = 0; i < N_SPANS; i++)
            if (count(html, spans[i]) != count(out, spans[i]))
                fail_msg("%s: %s became %s", spans[i], html, out);
        free(before);
        free(after);
        free(out);
    }
    close_world(&w);
}

static void plain_text_keeps_spans_and_lines(void **state) {
    (void)state;
    world       w = open_world();
    const char *text = "  the cat %s\n\nsees {a} and {b}. The old ACME-7 dog.\n";
    const char *pattern = "ACME-\\d";
    char       *out =
        translate(&w, text, PK_OPTIONS(pk_call_options, .protect = &pattern, .n_protect = 1));
    assert_int_equal(count(out, "%s"), 1);
    assert_int_equal(count(out, "{a}"), 1);
    assert_int_equal(count(out, "{b}"), 1);
    assert_int_equal(count(out, "ACME-7"), 1);
    assert_int_equal(count(out, "\n"), 3);
    assert_int_equal(strncmp(out, "  ", 2), 0);
    free(out);
    close_world(&w);
}

/* inline tags do not change the words: without them the output is that of plain text */
static void words_are_those_of_plain_text(void **state) {
    (void)state;
    world       w = open_world();
    const char *html = "<p>the <b>old</b> cat sees <i>a <u>house</u></i></p>";
    char       *plain = translate(&w, "the old cat sees a house", NULL);
    char       *out = translate(&w, html, PK_OPTIONS(pk_call_options, .format = "html"));
    char       *to = out;
    for (const char *at = out; *at; at++) { /* tags go */
        if (*at == '<')
            at = strchr(at, '>');
        else
            *to++ = *at;
    }
    *to = '\0';
    assert_string_equal(out, plain);
    free(out);
    free(plain);
    close_world(&w);
}

static void terms_appear(void **state) {
    (void)state;
    world        w = open_world();
    pk_glossary *g;
    ASSERT_OK(pk_glossary_open(text_of("cat\tSchnurrtier\nold house\taltes Gem\xC3\xA4uer\n"), &g));
    static const char *const texts[] = { "the cat sees a dog", "cats", "we see the old houses" };
    static const char *const terms[] = { "Schnurrtier", "Schnurrtier", "altes Gem\xC3\xA4uer" };
    for (int i = 0; i < 3; i++) {
        char *out = translate(&w, texts[i], PK_OPTIONS(pk_call_options, .glossary = g));
        assert_int_equal(count(out, terms[i]), 1);
        free(out);
    }
    pk_glossary_close(g);
    close_world(&w);
}

/* links go through the output in order and lie inside both texts */
static void links_lie_in_both_texts(void **state) {
    (void)state;
    world              w = open_world();
    pk_result         *r;
    pk_hypothesis_view h;
    const pk_text      text = text_of("  the cat sees a house.  The old dog goes to the river. ");
    ASSERT_OK(pk_translate(w.t, &text, 1, NULL, &r));
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &h));
    size_t behind = 0;
    bool   second = false;
    assert_true(h.n_links > 4);
    for (size_t i = 0; i < h.n_links; i++) {
        const pk_link *l = &h.link[i];
        assert_true(l->target_begin >= behind && l->target_size > 0 && l->source_size > 0);
        behind = l->target_begin + l->target_size;
        assert_true(h.text[l->target_begin] != ' ' && text.data[l->source_begin] != ' ');
        assert_true(l->source_begin >= 2 && l->source_begin + l->source_size <= text.size - 1);
        if (l->source_begin > 24) second = true; /* of the second sentence, and no way back */
        assert_true(!second || l->source_begin > 24);
    }
    assert_true(second);
    assert_true(behind <= h.text_size);
    pk_result_free(r);
    close_world(&w);
}

static void subtitles_keep_their_times(void **state) {
    (void)state;
    world       w = open_world();
    const char *srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\nthe cat\r\n\r\n2\r\n00:00:03,000 --> "
                      "00:00:04,000\r\n<i>sees a dog.</i>\r\n";
    char       *out = translate(&w, srt, PK_OPTIONS(pk_call_options, .format = "srt"));
    assert_non_null(strstr(out, "1\r\n00:00:01,000 --> 00:00:02,000\r\n"));
    assert_non_null(strstr(out, "\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n<i>"));
    assert_non_null(strstr(out, "</i>\r\n"));
    free(out);
    close_world(&w);
}

static void several_texts_and_hypotheses(void **state) {
    (void)state;
    world          w = open_world();
    pk_translator *t;
    pk_result     *r;
    pk_text        text[3] = { text_of("<p>the cat</p>"), text_of(""), text_of("<b>a</b> dog %s") };
    ASSERT_OK(pk_translator_open(w.model,
                                 PK_OPTIONS(pk_translator_options, .alignment = 1, .threads = 1,
                                            .decode = "beam:size=3", .n_best = 3),
                                 &t));
    ASSERT_OK(pk_translate(t, text, 3, PK_OPTIONS(pk_call_options, .format = "html"), &r));
    assert_int_equal(pk_result_count(r), 3);
    assert_string_equal(pk_result_text(r, 1), "");
    assert_int_equal(pk_result_hypotheses(r, 2), 3);
    for (int32_t k = 0; k < 3; k++) {
        pk_hypothesis_view h;
        ASSERT_OK(pk_result_hypothesis(r, 2, k, &h));
        assert_int_equal(count(h.text, "%s"), 1);
        assert_int_equal(count(h.text, "<b>"), 1);
        assert_true(h.n_tokens > 0);
        assert_true(h.score < 0);
    }
    pk_result_free(r);
    pk_translator_close(t);
    close_world(&w);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    world          w = open_world();
    pk_translator *plain;
    pk_result     *r;
    pk_text        text = text_of("the cat");
    const char    *bad = "(";
    ASSERT_OK(pk_translator_open(w.model, NULL, &plain));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(plain, &text, 1, PK_OPTIONS(pk_call_options, .format = "html"), &r));
    assert_non_null(strstr(pk_last_error(), "alignment = 1"));
    pk_translator_close(plain);
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(w.t, &text, 1, PK_OPTIONS(pk_call_options, .format = "pdf"), &r));
    assert_non_null(strstr(pk_last_error(), "pdf"));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(w.t, &text, 1,
                               PK_OPTIONS(pk_call_options, .format = "html", .prefix = &text), &r));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(w.t, &text, 1,
                               PK_OPTIONS(pk_call_options, .protect = &bad, .n_protect = 1), &r));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(w.t, &text, 1, PK_OPTIONS(pk_call_options, .format = "srt"), &r));
    pk_text two[2] = { text_of(""), { NULL, 3 } };
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(w.t, two, 2, PK_OPTIONS(pk_call_options, .format = "html"), &r));
    assert_non_null(strstr(pk_last_error(), "text 2"));
    assert_null(r);
    close_world(&w);
}

static int stop_at_once(void *user, size_t done, size_t all) {
    (void)user, (void)done, (void)all;
    return 1;
}

static void a_call_can_be_cancelled(void **state) {
    (void)state;
    world      w = open_world();
    pk_result *r;
    pk_text    text = text_of("<p>the cat sees a dog</p>");
    ASSERT_STATUS(
        PK_CANCELLED,
        pk_translate(w.t, &text, 1,
                     PK_OPTIONS(pk_call_options, .format = "html", .progress = stop_at_once), &r));
    close_world(&w);
}

static pk_status translate_once(void *user) {
    const world *w = user;
    pk_text      text = text_of("<p>the <b>cat</b> %s &amp; house<br>A</p>");
    pk_result   *r = NULL;
    pk_glossary *g = NULL;
    pk_status    status = pk_glossary_open(text_of("house\tHaus\n"), &g);
    if (status == PK_OK)
        status = pk_translate(w->t, &text, 1,
                              PK_OPTIONS(pk_call_options, .format = "html", .glossary = g), &r);
    pk_result_free(r);
    pk_glossary_close(g);
    return status;
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    world w = open_world();
    ASSERT_OK(translate_once(&w)); /* what is loaded late is loaded */
    assert_true(check_every_allocation(translate_once, &w) > 50);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_and_spans_survive_any_model),
        cmocka_unit_test(plain_text_keeps_spans_and_lines),
        cmocka_unit_test(words_are_those_of_plain_text),
        cmocka_unit_test(terms_appear),
        cmocka_unit_test(links_lie_in_both_texts),
        cmocka_unit_test(subtitles_keep_their_times),
        cmocka_unit_test(several_texts_and_hypotheses),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_call_can_be_cancelled),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
