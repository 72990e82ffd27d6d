/* utf8.c - UTF-8 as the Unicode standard has it (table 3-7), with the usual way of replacing
 * faults.
 *
 * Given bytes, gives code points; whatever is not UTF-8 becomes U+FFFD, once for each "maximal
 * subpart": the longest start of a valid sequence, or else a single byte. Python and the browsers
 * replace the same way. Invariant: pk_utf8_next always moves on, by 1 to 4 bytes. */
#include "text/utf8.h"

#include <string.h>
#include <unicode/uchar.h>

/* What a first byte says: how many bytes follow, and the range of the first of them. The range
 * excludes overlong forms (E0, F0), surrogates (ED) and code points beyond U+10FFFF (F4).
 */
typedef struct lead {
    int           n_more; /* -1: no sequence begins with this byte */
    unsigned char lowest, highest;
} lead;

/* Rows of the table, most frequent first; ASCII never comes here. */
static lead lead_of(unsigned char byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return (lead){ 1, 0x80, 0xBF };
    if (byte == 0xE0) return (lead){ 2, 0xA0, 0xBF };
    if (byte == 0xED) return (lead){ 2, 0x80, 0x9F };
    if (byte >= 0xE1 && byte <= 0xEF) return (lead){ 2, 0x80, 0xBF };
    if (byte == 0xF0) return (lead){ 3, 0x90, 0xBF };
    if (byte >= 0xF1 && byte <= 0xF3) return (lead){ 3, 0x80, 0xBF };
    if (byte == 0xF4) return (lead){ 3, 0x80, 0x8F };
    return (lead){ -1, 0, 0 };
}

/* Decodes one code point; false when it is not valid. *length is set in either case. */
static bool decode_one(const unsigned char *text, size_t size, int32_t *code_point,
                       size_t *length) {
    const lead l = lead_of(text[0]);
    *length = 1;
    if (l.n_more < 0) return false;
    int32_t value = text[0] & (0x3F >> l.n_more); /* payload of the first byte */
    for (int i = 1; i <= l.n_more; i++) {
        const unsigned char lowest = i == 1 ? l.lowest : 0x80, highest = i == 1 ? l.highest : 0xBF;
        if ((size_t)i >= size || text[i] < lowest || text[i] > highest) return false;
        value = value << 6 | (text[i] & 0x3F);
        *length = (size_t)i + 1;
    }
    *code_point = value;
    return true;
}

/* bytes of plain ASCII that the text begins with; eight at a time, since most text is made of it */
static size_t ascii_length(const char *text, size_t size) {
    size_t n = 0;
    for (uint64_t eight; n + 8 <= size; n += 8) {
        memcpy(&eight, text + n, 8);
        if (eight & 0x8080808080808080u) break;
    }
    while (n < size && (unsigned char)text[n] < 0x80) n++;
    return n;
}

/* bytes of valid UTF-8 that the text begins with */
static size_t valid_length(const char *text, size_t size) {
    size_t at = 0;
    while (at < size) {
        at += ascii_length(text + at, size - at);
        if (at == size) break;
        int32_t code_point;
        size_t  length;
        if (!decode_one((const unsigned char *)text + at, size - at, &code_point, &length)) break;
        at += length;
    }
    return at;
}

size_t pk_utf8_next(const char *text, size_t size, int32_t *code_point) {
    if ((unsigned char)text[0] < 0x80) {
        *code_point = text[0];
        return 1;
    }
    size_t length;
    if (!decode_one((const unsigned char *)text, size, code_point, &length))
        *code_point = PK_UTF8_REPLACEMENT;
    return length;
}

/* Surrogates and what lies beyond U+10FFFF have no UTF-8; U+FFFD is written for them. */
void pk_utf8_add(pk_buffer *out, int32_t code_point) {
    const bool     surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    const bool     good = code_point >= 0 && code_point <= 0x10FFFF && !surrogate;
    const uint32_t c = good ? (uint32_t)code_point : PK_UTF8_REPLACEMENT;
    unsigned char  b[4];
    size_t         n = 0;
    if (c < 0x80) {
        b[n++] = (unsigned char)c;
    } else if (c < 0x800) {
        b[n++] = (unsigned char)(0xC0 | c >> 6);
        b[n++] = (unsigned char)(0x80 | (c & 0x3F));
    } else {
        if (c < 0x10000) {
            b[n++] = (unsigned char)(0xE0 | c >> 12);
        } else {
            b[n++] = (unsigned char)(0xF0 | c >> 18);
            b[n++] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        }
        b[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        b[n++] = (unsigned char)(0x80 | (c & 0x3F));
    }
    pk_buffer_add(out, b, n);
}

bool pk_utf8_valid(const char *text, size_t size) { return valid_length(text, size) == size; }

void pk_utf8_repair(const char *text, size_t size, pk_buffer *out) {
    /* valid text is copied in whole stretches, so repairing good text takes one pass over it */
    for (size_t at = 0; at < size;) {
        const size_t good = valid_length(text + at, size - at);
        pk_buffer_add(out, text + at, good);
        at += good;
        if (at == size) break;
        int32_t code_point;
        at += pk_utf8_next(text + at, size - at, &code_point);
        pk_utf8_add(out, PK_UTF8_REPLACEMENT);
    }
}

bool pk_utf8_is_space(int32_t c) {
    if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t pk_utf8_length(const char *text, size_t size) {
    size_t n = 0;
    for (size_t at = 0; at < size; n++) {
        int32_t code_point;
        at += pk_utf8_next(text + at, size - at, &code_point);
    }
    return n;
}

bool pk_utf8_has_letter(const char *text, size_t size) {
    int32_t code_point;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &code_point);
        if (u_isalpha(code_point)) return true;
    }
    return false;
}
