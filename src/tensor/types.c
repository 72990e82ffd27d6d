/* types.c - names of number types and activations, from the lists in types.h. */
#include "tensor/types.h"

const char *pk_dtype_name(pk_dtype type) {
    static const char *const words[] = { PK_DTYPE_MAP(PK_CHOICE_WORD) };
    return (size_t)type < sizeof words / sizeof *words ? words[type] : "?";
}

const char *pk_act_name(pk_act act) {
    static const char *const words[] = { PK_ACT_MAP(PK_CHOICE_WORD) };
    return (size_t)act < PK_N_ACTS ? words[act] : "?";
}

pk_status pk_dtype_parse(const char *word, bool stored, int *out) {
    const char *const words = stored ? PK_WORDS(PK_STORED_DTYPE_MAP) : PK_WORDS(PK_DTYPE_MAP);
    *out = pk_word_find(words, word);
    if (word && *out < 0) PK_FAIL(PK_ARGUMENT, "type must be one of %s, not '%.20s'", words, word);
    return PK_OK;
}

int pk_act_find(const char *word) {
#define OTHER(constant, word_, other) other,
    static const char *const others[] = { PK_ACT_MAP(OTHER) };
    for (int i = 0; i < PK_N_ACTS; i++)
        if (others[i] && strcmp(others[i], word) == 0) return i;
    return pk_word_find(PK_WORDS(PK_ACT_MAP), word);
}
