/* characters.c - rules of normalisation, and how much of a text a vocabulary covers.
 *
 * The rules name each code point that is changed; there are fewer than a hundred. U+2581 is how
 * SentencePiece writes a space, so it cannot be anything else. NUL cannot be named in a rule: it
 * stays, as a byte. Invariant: a character is counted exactly when the rules leave it as it is. */
#include "vocab/characters.h"

#include "base/memory.h"
#include "text/utf8.h"

enum { N_CODE_POINTS = 0x110000, VISIBLE_SPACE = 0x2581 };

/* what becomes a space in training text */
static bool is_space(int32_t c) { return pk_utf8_is_space(c) || c == VISIBLE_SPACE; }

bool pk_characters_is_control(int32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

void pk_characters_rules(pk_buffer *out) {
    for (int32_t c = 1; c < N_CODE_POINTS; c++) {
        if (is_space(c) && c != ' ')
            pk_buffer_print(out, "%X\t20\n", (unsigned)c);
        else if (pk_characters_is_control(c))
            pk_buffer_print(out, "%X\t\n", (unsigned)c);
    }
}

pk_status pk_characters_open(pk_characters *c) { return PK_TAKE(&c->count, N_CODE_POINTS); }

void pk_characters_close(pk_characters *c) { pk_memory_give(c->count); }

void pk_characters_add(pk_characters *c, const char *text, size_t size) {
    int32_t code;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &code);
        if (!is_space(code) && !pk_characters_is_control(code)) c->count[code]++;
    }
}

void pk_characters_report(const pk_characters *c, const char *pieces, size_t size,
                          pk_vocab_train_report *out) {
    int32_t code;
    for (int32_t i = 0; i < N_CODE_POINTS; i++) {
        out->characters += c->count[i];
        out->kinds += c->count[i] > 0;
    }
    /* a character is covered when it is a piece by itself */
    for (const char *piece = pieces, *end = pieces + size; piece < end; piece++) {
        const char *begin = piece;
        while (*piece) piece++;
        const size_t n = (size_t)(piece - begin);
        if (n == 0 || pk_utf8_next(begin, n, &code) != n) continue; /* has several characters */
        out->covered += c->count[code];
        out->kinds_covered += c->count[code] > 0;
    }
}
