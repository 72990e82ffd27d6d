/* detect.c - which of the served languages a text is in.
 *
 * TO BE REPLACED by the library's detection: this placeholder only tells English from others by a few
 * words that are in nearly every sentence. */
#include "detect.h"

#include <string.h>
#include <strings.h>

static int count_words(const char *text, size_t n, const char *const *word) {
    int found = 0;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && !strchr(" \t\n.,!?", text[end])) end++;
        for (size_t i = 0; word[i]; i++)
            found += end - at == strlen(word[i]) && !strncasecmp(text + at, word[i], end - at);
        at = end + 1;
    }
    return found;
}

int detect_best(const char *text, size_t n, const char *const *languages, size_t n_languages,
                double *confidence) {
    static const char *const english[] = {
        "the", "is", "and", "of", "a", "to", "in", "hello", NULL
    };
    static const char *const german[] = { "der", "die",  "das",   "ist",   "und",
                                          "ein", "eine", "guten", "nicht", NULL };
    size_t                   letters = 0;
    for (size_t i = 0; i < n; i++) letters += (text[i] | 0x20) >= 'a' || text[i] < 0;
    if (!letters) return -1;
    const int   is_german = count_words(text, n, german) > count_words(text, n, english);
    const char *wanted = is_german ? "de" : "en";
    *confidence = 90;
    for (size_t i = 0; i < n_languages; i++)
        if (!strcmp(languages[i], wanted)) return (int)i;
    return n_languages ? 0 : -1;
}
