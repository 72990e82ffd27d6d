/* plain_text.h - what happens to texts before they are translated: lines, characters, emoji; and a hash. */
#ifndef PK_SERVER_PLAIN_TEXT_H
#define PK_SERVER_PLAIN_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the next code point, U+FFFD for bytes that are not UTF-8; *at moves on by one to four bytes, over a
   broken character as far as it could have been one */
uint32_t pk_text_next(const char *text, size_t n, size_t *at);
/* characters, as limits count them: code points */
size_t pk_text_characters(const char *text, size_t n);
/* the same text in UTF-8, each broken character as U+FFFD; the caller frees; NULL: no memory */
char *pk_text_repair(const char *text, size_t n, size_t *size);
/* every line end, of any kind, becomes one \n and a last one goes; in place; the new size */
size_t pk_text_unify_lines(char *text, size_t n);
/* false: nothing but emoji and spaces, which nobody can translate */
bool     pk_text_is_translatable(const char *text, size_t n);
uint64_t pk_text_hash(const char *text); /* FNV-1a; up to a zero */
#endif
