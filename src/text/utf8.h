/* utf8.h - bytes <-> code points; and repair of what is not UTF-8. */
#ifndef PK_TEXT_UTF8_H
#define PK_TEXT_UTF8_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum { PK_UTF8_REPLACEMENT = 0xFFFD };
/* Decodes one code point of a text of size > 0; returns its length in bytes. An invalid or cut
 * sequence, a surrogate or an overlong form gives U+FFFD and the length of its longest valid start.
 */
size_t pk_utf8_next(const char *text, size_t size, int32_t *code_point);
void   pk_utf8_add(pk_buffer *out, int32_t code_point);
bool   pk_utf8_valid(const char *text, size_t size); /* NUL bytes count as valid */
/* Appends the text with every invalid sequence replaced by U+FFFD. */
void   pk_utf8_repair(const char *text, size_t size, pk_buffer *out);
bool   pk_utf8_is_space(int32_t code_point);              /* as Python's str.isspace */
bool   pk_utf8_has_letter(const char *text, size_t size); /* of any script */
size_t pk_utf8_length(const char *text, size_t size);     /* code points */
#endif
