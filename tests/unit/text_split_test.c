/* text_split_test.c - the public face of splitting: spans as a translator would cut the text. */
#include "check.h"

#include <string.h>

/* the law: spans cover the text in order, and no two that are alike touch unless they are sentences */
static void spans_cover_the_text(void **state) {
    static const char *const texts[] = {
        "", " ", "One. Two.", "  One.\n\nTwo? ", "Dr. Smith came. He left.", "\xF0\x9F\x98\x80 Yes!"
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pk_span *span;
        size_t   n, at = 0;
        ASSERT_OK(pk_text_split(text_of(texts[i]), "en", &span, &n));
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(span[k].begin, at);
            assert_true(span[k].size > 0);
            if (k) assert_true(span[k].sentence || span[k - 1].sentence);
            at += span[k].size;
        }
        assert_int_equal(at, strlen(texts[i]));
        pk_free(span);
    }
}

static size_t sentences(const char *text, const char *language) {
    pk_span *span;
    size_t   n, found = 0;
    ASSERT_OK(pk_text_split(text_of(text), language, &span, &n));
    for (size_t i = 0; i < n; i++) found += span[i].sentence == 1;
    pk_free(span);
    return found;
}

static void sentences_are_those_of_the_language(void **state) {
    (void)state;
    assert_int_equal(sentences("Dr. Smith came. He left.", "en"), 2);
    assert_int_equal(sentences("Dr. Smith came. He left.", NULL), 2);
    assert_int_equal(sentences("One\nTwo\n\nThree", "de"), 3);
    assert_int_equal(sentences(" \n ", "de"), 0);
    assert_int_equal(sentences("One. Two.", "nonsense"), 2);
}

static void wrong_arguments_are_refused(void **state) {
    pk_span *span = (pk_span *)&state;
    size_t   n = 7;
    (void)state;
    ASSERT_STATUS(PK_ARGUMENT, pk_text_split(text_of("\xFF"), "en", &span, &n));
    assert_null(span);
    assert_int_equal(n, 0);
    ASSERT_STATUS(PK_ARGUMENT, pk_text_split((pk_text){ NULL, 3 }, "en", &span, &n));
    ASSERT_STATUS(PK_ARGUMENT, pk_text_split(text_of("a"), "en", NULL, &n));
    ASSERT_STATUS(PK_ARGUMENT, pk_text_split(text_of("a"), "en", &span, NULL));
}

static pk_status attempt(void *user) {
    pk_span  *span;
    size_t    n;
    pk_status status = pk_text_split(text_of("One. Two.\nThree."), "en", &span, &n);
    (void)user;
    pk_free(span);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    assert_true(check_every_allocation(attempt, NULL) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_cover_the_text),
        cmocka_unit_test(sentences_are_those_of_the_language),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
