/* number.c - reads and writes decimal numbers with a point, whatever the locale is. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 63 }; /* characters of a number */

bool pk_number_parse(const char *text, size_t size, double *out) {
    char number[LONGEST + 1], *end;
    if (size == 0 || size > LONGEST) return false;
    memcpy(number, text, size);
    number[size] = '\0';
    if (strspn(number, "0123456789+-.eE") != size) return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    *out = strtod_l(number, &end, plain);
    freelocale(plain);
    return !*end && isfinite(*out);
}

/* Tries 6 digits, then more: 17 are enough for every double. */
void pk_number_print(pk_buffer *out, double value) {
    char   text[40];
    double again = NAN;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        char *comma = strchr(text, ','); /* of the locale */
        if (comma) *comma = '.';
        if (pk_number_parse(text, strlen(text), &again) && again == value) break;
    }
    pk_buffer_add_text(out, text);
}
