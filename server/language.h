/* language.h - codes and names of languages.
 *
 * Inside, languages have the codes of models: "pb" is Brazilian Portuguese, "zh" simplified and "zt"
 * traditional Chinese. Outside these are pt-BR, zh-Hans and zh-Hant. */
#ifndef PK_SERVER_LANGUAGE_H
#define PK_SERVER_LANGUAGE_H
#include <stdbool.h>
#include <stddef.h>

enum { PK_CODE_ROOM = 16, PK_NAME_ROOM = 96 };

/* "PT-br" -> "pb"; lower case */
void pk_language_code(const char *text, char out[PK_CODE_ROOM]);
/* "pb" -> "pt-BR"; anything else stays; not owned */
const char *pk_language_outside(const char *code);
/* "de" in English: "German"; in the language of `locale` ("fr") otherwise; the code where it has none */
void pk_language_name(const char *code, const char *locale, char out[PK_NAME_ROOM]);
bool pk_language_exists(const char *code);
/* the two languages in a file's name: "opus-mt-en-de", "translate-en_de-1_9.argosmodel" */
bool pk_language_pair_of(const char *name, char from[PK_CODE_ROOM], char to[PK_CODE_ROOM]);
/* the first language of an Accept-Language header that has names here, or "en" */
void pk_language_accepted(const char *header, char out[PK_CODE_ROOM]);
#endif
