/* number.h - decimal numbers as text, whatever the locale of the host program is. */
#ifndef PK_BASE_NUMBER_H
#define PK_BASE_NUMBER_H
#include "base/buffer.h"

/* digits, sign, point and exponent, nothing else; false: no such number, or not a finite one */
bool pk_number_parse(const char *text, size_t size, double *out);
/* with as few digits as read back the same */
void pk_number_print(pk_buffer *out, double value);
#endif
