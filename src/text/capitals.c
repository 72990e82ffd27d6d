/* capitals.c - letters change their case in place. */
#include "text/capitals.h"

#include <string.h>
#include <unicode/uchar.h>

#include "text/utf8.h"

enum { LEAST_CAPITALS = 4, SHARP_S = 0xDF };

bool pk_capitals_are(const char *text, size_t size) {
    int     capitals = 0;
    int32_t code;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &code);
        if (u_islower(code)) return false;
        capitals += u_isupper(code) != 0;
    }
    return capitals >= LEAST_CAPITALS;
}

/* writes a character over another one of n bytes, if it has as many */
static void replace(char *at, size_t n, int32_t code) {
    const size_t needed = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (needed != n) return;
    if (n == 1) {
        *at = (char)code;
        return;
    }
    for (size_t i = n - 1; i > 0; i--, code >>= 6) at[i] = (char)(0x80 | (code & 0x3F));
    *at = (char)((0xF00 >> n & 0xFF) | code);
}

static bool is_letter_at(const char *text, size_t size, size_t at) {
    int32_t code;
    if (at >= size) return false;
    pk_utf8_next(text + at, size - at, &code);
    return u_isalpha(code) != 0;
}

void pk_capitals_fold(char *text, size_t size, bool english) {
    int32_t code;
    bool    before = false, first = true; /* a letter stood before; none was seen yet */
    for (size_t at = 0, n; at < size; at += n) {
        n = pk_utf8_next(text + at, size - at, &code);
        const bool letter = u_isalpha(code) != 0;
        const bool word_i = english && code == 'I' && !before && !is_letter_at(text, size, at + n);
        if (letter && !first && !word_i) replace(text + at, n, u_tolower(code));
        if (letter) first = false;
        before = letter;
    }
}

void pk_capitals_write(char *text, size_t size) {
    int32_t code;
    for (size_t at = 0, n; at < size; at += n) {
        n = pk_utf8_next(text + at, size - at, &code);
        if (code == SHARP_S)
            memcpy(text + at, "SS", 2); /* both are two bytes */
        else
            replace(text + at, n, u_toupper(code));
    }
}
