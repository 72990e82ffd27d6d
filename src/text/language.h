/* language.h - what the splitter knows about a language: abbreviations and habits of writing. */
#ifndef PK_TEXT_LANGUAGE_H
#define PK_TEXT_LANGUAGE_H
#include <stdbool.h>
#include <stddef.h>

/* Word lists are lower case, in one string, a space before and after each word, no final dots. */
typedef struct pk_language_rules {
    const char *code;          /* ISO 639-1 */
    const char *always;        /* never end a sentence: "dr", "e.g" */
    const char *before_number; /* do not end one when a number follows: "no" */
    const char *starters;      /* words that often begin a sentence: "the" */
    bool        ordinals;      /* "3." means third: "am 3. Mai" */
    bool        inward_quotes; /* quotations look like »this« */
} pk_language_rules;

const pk_language_rules *pk_language_rules_find(
    const char *code); /* English when unknown; never NULL */
bool pk_language_has(const char *list, const char *word, size_t size);
#endif
