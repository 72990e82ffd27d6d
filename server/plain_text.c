/* plain_text.c - what happens to texts before they are translated: lines, characters, emoji. */
#include "plain_text.h"

#include <stdlib.h>
#include <string.h>

enum { BROKEN = 0xFFFD };

/* how many bytes follow this first byte, and the least and most value of the next one (Unicode,
 * table 3-7); -1: no first byte */
static int follow(unsigned char first, unsigned char *least, unsigned char *most) {
    *least = 0x80, *most = 0xBF;
    if (first < 0x80) return 0;
    if (first < 0xC2 || first > 0xF4) return -1;
    if (first == 0xE0) *least = 0xA0;
    if (first == 0xED) *most = 0x9F;
    if (first == 0xF0) *least = 0x90;
    if (first == 0xF4) *most = 0x8F;
    return first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

uint32_t pk_text_next(const char *text, size_t n, size_t *at) {
    unsigned char       least, most;
    const unsigned char first = (unsigned char)text[(*at)++];
    const int           more = follow(first, &least, &most);
    if (more <= 0) return more ? BROKEN : first;
    uint32_t value = first & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        const unsigned char next = *at < n ? (unsigned char)text[*at] : 0;
        if (next < least || next > most) return BROKEN;
        value = value << 6 | (next & 0x3F);
        least = 0x80, most = 0xBF;
        ++*at;
    }
    return value;
}

size_t pk_text_characters(const char *text, size_t n) {
    size_t characters = 0;
    for (size_t at = 0; at < n; characters++) pk_text_next(text, n, &at);
    return characters;
}

/* one byte may become the three of U+FFFD */
char *pk_text_repair(const char *text, size_t n, size_t *size) {
    char  *copy = n < SIZE_MAX / 3 - 1 ? malloc(3 * n + 1) : NULL;
    size_t to = 0;
    for (size_t at = 0; copy && at < n;) {
        const size_t begin = at;
        const bool   replacement = n - at >= 3 && !memcmp(text + at, "\xEF\xBF\xBD", 3);
        if (pk_text_next(text, n, &at) == BROKEN && !replacement) {
            memcpy(copy + to, "\xEF\xBF\xBD", 3);
            to += 3;
        } else {
            memcpy(copy + to, text + begin, at - begin);
            to += at - begin;
        }
    }
    if (copy) copy[to] = '\0';
    *size = to;
    return copy;
}

/* what Python's splitlines() takes for the end of a line */
static bool ends_line(uint32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

size_t pk_text_unify_lines(char *text, size_t n) {
    size_t to = 0;
    for (size_t at = 0; at < n;) {
        const size_t   begin = at;
        const uint32_t c = pk_text_next(text, n, &at);
        if (ends_line(c)) {
            if (c == '\r' && at < n && text[at] == '\n') at++;
            if (at < n) text[to++] = '\n'; /* the last one goes */
        } else {
            memmove(text + to, text + begin, at - begin);
            to += at - begin;
        }
    }
    return to;
}

/* first and last of the ranges that LibreTranslate leaves alone */
static const uint32_t emoji[][2] = {
    { ' ', ' ' },         { 0x1F600, 0x1F64E }, { 0x1F300, 0x1F5FE }, { 0x1F680, 0x1F6FE },
    { 0x2600, 0x26FE },   { 0x2700, 0x27BE },   { 0xFE00, 0xFE0E },   { 0x1F900, 0x1F9FE },
    { 0x1F1E6, 0x1F1FE }, { 0x20D0, 0x20FE },
};

static bool is_emoji(uint32_t c) {
    for (size_t i = 0; i < sizeof emoji / sizeof *emoji; i++)
        if (c >= emoji[i][0] && c <= emoji[i][1]) return true;
    return false;
}

bool pk_text_is_translatable(const char *text, size_t n) {
    for (size_t at = 0; at < n;)
        if (!is_emoji(pk_text_next(text, n, &at))) return true;
    return false;
}

uint64_t pk_text_hash(const char *text) {
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return h;
}
