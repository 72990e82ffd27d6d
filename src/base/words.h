/* words.h - an enum and the words that name its values, from one list.
 *
 * #define PK_X_MAP(X) X(PK_X_ONE, "one") X(PK_X_TWO, "two")
 * typedef enum pk_x { PK_X_MAP(PK_CHOICE_CONSTANT) } pk_x;
 * const char *const pk_x_names[] = { PK_X_MAP(PK_CHOICE_WORD) NULL };
 * PK_WORDS(PK_X_MAP) is the text "one|two". What else stands in a line is the list's own. */
#ifndef PK_BASE_WORDS_H
#define PK_BASE_WORDS_H
#include <stdint.h>
#include <string.h>

#define PK_CHOICE_CONSTANT(constant, word, ...) constant,
#define PK_CHOICE_WORD(constant, word, ...)     word,
#define PK_CHOICE_COUNT(...)                    +1
#define PK_CHOICE_TEXT(constant, word, ...)     "|" word
#define PK_WORDS(MAP)                           (&("" MAP(PK_CHOICE_TEXT))[1])

/* where a word is in "one|two", which is its value; -1: nowhere. Also for NULL. */
static inline int32_t pk_word_find(const char *words, const char *word) {
    const size_t n = word ? strlen(word) : 0;
    for (int32_t i = 0; word; i++) {
        const size_t length = strcspn(words, "|");
        if (length == n && memcmp(words, word, n) == 0) return i;
        if (!words[length]) break;
        words += length + 1;
    }
    return -1;
}
#endif
