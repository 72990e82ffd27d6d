/* types_test.c - the lists of number types and activations: words, sizes and the order that files
 * and recipes depend on. */
#include "tensor/types.h"

#include "check.h"

static void words_and_values_agree(void **state) {
    (void)state;
    assert_string_equal(PK_WORDS(PK_STORED_DTYPE_MAP), "f32|f16|i8");
    assert_string_equal(PK_WORDS(PK_DTYPE_MAP), "f32|f16|i8|bf16");
    assert_string_equal(PK_WORDS(PK_ACT_MAP), "linear|relu|gelu|swish");
    for (int i = 0; i < PK_N_ACTS; i++) assert_int_equal(pk_act_find(pk_act_name((pk_act)i)), i);
    assert_int_equal(pk_act_find("silu"), PK_SWISH);
    assert_int_equal(pk_act_find("gel"), -1);
    assert_int_equal(pk_act_find(""), -1);
    assert_int_equal(pk_word_find("a|bc|d", "bc"), 1);
    assert_int_equal(pk_word_find("a|bc|d", "a|bc"), -1);
    assert_int_equal(pk_word_find("a|bc|d", NULL), -1);
}

static void types_are_found_by_their_words(void **state) {
    static const size_t bytes[] = { 4, 2, 1, 2 };
    int                 type;
    (void)state;
    for (int i = 0; i <= PK_BF16; i++) {
        ASSERT_OK(pk_dtype_parse(pk_dtype_name((pk_dtype)i), false, &type));
        assert_int_equal(type, i);
        assert_int_equal(pk_dtype_bytes((pk_dtype)i), bytes[i]);
    }
    ASSERT_OK(pk_dtype_parse(NULL, true, &type));
    assert_int_equal(type, -1);
    ASSERT_STATUS(PK_ARGUMENT, pk_dtype_parse("bf16", true, &type));
    assert_non_null(strstr(pk_last_error(), "f32|f16|i8, not 'bf16'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_values_agree),
        cmocka_unit_test(types_are_found_by_their_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
