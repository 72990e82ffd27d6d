/* bare_source_test.c - models whose sources have no end symbol (OpenNMT's): the last piece is a
 * word's, tags are text, and a text of no tokens is translated all the same. */
#include "tiny_translator.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MODEL "tests/data/ct2/opennmt"

static uint64_t source_tokens(opened *b, const char *text) {
    const pk_text source = text_of(text);
    pk_result    *r;
    pk_stats      before, after;
    pk_translator_stats(b->t, &before);
    ASSERT_OK(pk_translate(b->t, &source, 1, NULL, &r));
    pk_result_free(r);
    pk_translator_stats(b->t, &after);
    return after.source_tokens - before.source_tokens;
}

static void a_source_is_its_pieces_alone(void **state) {
    opened b = open_both(MODEL, PK_OPTIONS(pk_translator_options, .threads = 1));
    (void)state;
    const uint64_t one = source_tokens(&b, "a"), two = source_tokens(&b, "a a");
    assert_int_equal(two, 2 * one);
    assert_true(source_tokens(&b, ">>a<< a") > 1 + one); /* a tag would be one token */
    assert_int_equal(source_tokens(&b, "\xC2\xAD"), 1);  /* a soft hyphen is no piece */
    close_both(&b);
}

/* one word in the source: every word of the translation belongs to it */
static void the_last_piece_is_a_word_s(void **state) {
    const pk_text source = text_of("identity");
    opened b = open_both(MODEL, PK_OPTIONS(pk_translator_options, .threads = 1, .alignment = 1));
    pk_result         *r;
    pk_hypothesis_view h;
    char               expected[1024] = "";
    int                words = 0;
    (void)state;
    ASSERT_OK(pk_translate(b.t, &source, 1, NULL, &r));
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &h));
    for (const char *at = h.text; *at; words++) {
        const size_t n = strlen(expected);
        snprintf(expected + n, sizeof expected - n, "%s0-%d", n ? " " : "", words);
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    assert_true(words > 0);
    assert_string_equal(h.alignment, expected);
    pk_result_free(r);
    close_both(&b);
}

/* U+4F60 is unknown, and the only piece of the source is looked at */
static void unknown_tokens_are_replaced(void **state) {
    const pk_text source = text_of("a"), prefix = text_of("\xE4\xBD\xA0");
    opened        b =
        open_both(MODEL, PK_OPTIONS(pk_translator_options, .threads = 1, .replace_unknowns = 1));
    pk_result *r;
    (void)state;
    ASSERT_OK(pk_translate(b.t, &source, 1, PK_OPTIONS(pk_call_options, .prefix = &prefix), &r));
    assert_true(pk_result_unknowns(r, 0, 0) > 0);
    assert_null(strstr(pk_result_text(r, 0), "\xE2\x81\x87")); /* no U+2047 is left */
    assert_memory_equal(pk_result_text(r, 0), "a", 1);
    pk_result_free(r);
    close_both(&b);
}

/* the convention is kept in .pronk files */
static void a_file_remembers(void **state) {
    char      path[64], *json;
    pk_model *m;
    (void)state;
    snprintf(path, sizeof path, "/tmp/pronk_bare_%ld.pronk", (long)getpid());
    ASSERT_OK(pk_model_convert(MODEL, path, NULL));
    ASSERT_OK(pk_model_open(path, NULL, &m));
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"bare_source\":1"));
    pk_free(json);
    pk_model_close(m);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_is_its_pieces_alone),
        cmocka_unit_test(the_last_piece_is_a_word_s),
        cmocka_unit_test(unknown_tokens_are_replaced),
        cmocka_unit_test(a_file_remembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
