/* detect_words.h - a text as words of one script each, and words as n-grams: what is counted to
 * distinguish languages.
 *
 * The trainer of the table (tools/train_detect.c) reads its text through here too, so that both
 * see the same n-grams. Invariant: a change here needs a table that is learned anew. */
#ifndef PK_DETECT_WORDS_H
#define PK_DETECT_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { PK_WORD_LETTERS = 32 }; /* longer words, and runs of Chinese, are cut there */

typedef struct pk_detect_word {
    int32_t script;  /* ICU's UScriptCode; Han for all of Chinese and Japanese */
    int32_t longest; /* n-gram: 5 letters, or 2 characters of Chinese or Japanese */
    int32_t n;       /* letters, the spaces at both ends not counted */
    int32_t letter[PK_WORD_LETTERS + 2]; /* small, composed; a space first and last */
} pk_detect_word;

/* Calls `take` for each word in order. What looks like a name of machines (with digits, slashes, @
 * and the like: addresses, paths, options) is passed over, unless `names` is set. */
void pk_detect_words(const char *text, size_t size, bool names,
                     void (*take)(void *user, const pk_detect_word *word), void *user);

/* Calls `use(user, hash)` for each n-gram of a word, from 1 letter to the longest. */
static inline void pk_detect_ngrams(const pk_detect_word *word,
                                    void (*use)(void *user, uint64_t hash), void *user) {
    const int32_t end = word->n + 2;
    for (int32_t i = 0; i < end; i++) {
        uint64_t sum = 0;
        for (int32_t k = i; k < end && k < i + word->longest; k++) {
            sum = (sum + (uint64_t)(uint32_t)word->letter[k] + 1) * PK_GOLDEN;
            if (k > i || word->letter[i] != ' ') use(user, pk_mix(sum));
        }
    }
}
#endif
