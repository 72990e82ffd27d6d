/* prefix_test.c - translations that begin as a prefix says: prefixes of one sentence and of several, and those
 * with more sentences than the text has. */
#include "tiny_translator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_prefix_is_kept(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *unforced, *forced;
    ASSERT_OK(pk_translator_open(m, PK_OPTIONS(pk_translator_options, .one_sentence = 1), &t));
    const pk_text text = text_of("the cat sees a house"), prefix = text_of("das");
    ASSERT_OK(pk_translate(t, &text, 1, NULL, &unforced));
    ASSERT_OK(pk_translate(t, &text, 1, PK_OPTIONS(pk_call_options, .prefix = &prefix), &forced));
    assert_memory_equal(pk_result_text(forced, 0), "das", 3);
    pk_result_free(unforced);
    pk_result_free(forced);
    pk_translator_close(t);
    pk_model_close(m);
}

/* what a translator that splits texts makes of the text, with a prefix; the caller frees */
static char *with_prefix(pk_translator *t, const char *text, const char *prefix) {
    pk_result    *r;
    const pk_text source = text_of(text), given = text_of(prefix);
    ASSERT_OK(pk_translate(t, &source, 1, PK_OPTIONS(pk_call_options, .prefix = &given), &r));
    char *out = strdup(pk_result_text(r, 0));
    pk_result_free(r);
    return out;
}

/* translating the whole with one prefix is translating each sentence with its own */
static void assert_prefixed(pk_translator *t, const char *const *text, const char *const *prefix,
                            const char *whole_prefix) {
    char whole[1024], expected[4096];
    snprintf(whole, sizeof whole, "%s  %s", text[0], text[1]);
    char *found = with_prefix(t, whole, whole_prefix), *free_of_it = with_prefix(t, whole, "");
    char *first = with_prefix(t, text[0], prefix[0]), *second = with_prefix(t, text[1], prefix[1]);
    snprintf(expected, sizeof expected, "%s  %s", first, second);
    assert_string_equal(found, expected);
    assert_string_not_equal(found, free_of_it);
    free(found), free(free_of_it), free(first), free(second);
}

static void a_prefix_belongs_to_sentences_one_by_one(void **state) {
    static const char *const text[] = { "The cat sees a house.", "A small dog." };
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    assert_prefixed(t, text, (const char *[]){ "Das haus.", "Ein hund" }, "Das haus. Ein hund");
    assert_prefixed(t, text, (const char *[]){ "Das haus.", "Ein hund." },
                    "Das haus.   Ein hund. ");
    assert_prefixed(t, text, (const char *[]){ "das", "" }, "das");
    pk_translator_close(t);
    /* a sentence that is cut is one sentence still: the next prefix is not for its second part */
    ASSERT_OK(pk_translator_open(m, PK_OPTIONS(pk_translator_options, .max_input = 8), &t));
    assert_prefixed(t,
                    (const char *[]){ "The cat sees a house and a dog and the old man.", "A dog." },
                    (const char *[]){ "Das haus.", "Ein" }, "Das haus. Ein");
    pk_translator_close(t);
    pk_model_close(m);
}

static void a_prefix_with_too_many_sentences_is_refused(void **state) {
    (void)state;
    pk_model      *m = open_model("f32");
    pk_translator *t;
    pk_result     *r;
    const pk_text  text[] = { text_of("The cat."), text_of("The cat. A dog.") };
    const pk_text  prefix[] = { text_of(""), text_of("Das. Ein. Der") };
    const pk_text  blank = text_of("  ");
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translate(t, text, 2, PK_OPTIONS(pk_call_options, .prefix = prefix), &r));
    assert_non_null(strstr(pk_last_error(), "text 2: "));
    assert_non_null(strstr(pk_last_error(), "3 sentences"));
    ASSERT_STATUS(
        PK_ARGUMENT,
        pk_translate(t, text, 2, PK_OPTIONS(pk_call_options, .prefix = prefix, .number = 41), &r));
    assert_non_null(strstr(pk_last_error(), "text 42: "));
    ASSERT_STATUS(PK_ARGUMENT, pk_translate(t, &blank, 1,
                                            PK_OPTIONS(pk_call_options, .prefix = &prefix[1]), &r));
    pk_translator_close(t);
    /* one sentence, by itself or because texts are not split: the prefix is for it, all of it */
    ASSERT_OK(pk_translator_open(m, PK_OPTIONS(pk_translator_options, .one_sentence = 1), &t));
    char *whole = with_prefix(t, "The cat.", "Das. Ein. Der");
    ASSERT_OK(pk_translate(t, text, 2, PK_OPTIONS(pk_call_options, .prefix = prefix), &r));
    pk_result_free(r);
    pk_translator_close(t);
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    char *split = with_prefix(t, "The cat.", "Das. Ein. Der");
    assert_string_equal(whole, split);
    free(whole), free(split);
    pk_translator_close(t);
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prefix_is_kept),
        cmocka_unit_test(a_prefix_belongs_to_sentences_one_by_one),
        cmocka_unit_test(a_prefix_with_too_many_sentences_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
