/* characters.c - rules of normalisation, and how much of a text a vocabulary covers.
 *
 * The rules name each code point that is changed; there are fewer than a hundred. U+2581 is how
 * SentencePiece writes a space, so it cannot be anything else. NUL cannot be named in a rule: it
 * stays, as a byte. Invariant: a character is counted exactly when the rules leave it as it is. */
#include "vocab/characters.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/utf8.h"

enum { N_CODE_POINTS = 0x110000, VISIBLE_SPACE = 0x2581 };

/* what becomes a space in training text */
static bool is_space(int32_t c) { return pk_utf8_is_space(c) || c == VISIBLE_SPACE; }

bool pk_characters_is_control(int32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

/* neither a space nor gone */
static bool counts(int32_t c) { return !is_space(c) && !pk_characters_is_control(c); }

bool pk_characters_any(const char *text, size_t size) {
    int32_t code;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &code);
        if (counts(code)) return true;
    }
    return false;
}

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
        if (counts(code)) c->count[code]++;
    }
}

typedef struct counted {
    uint64_t count;
    int32_t  code;
} counted;

/* most frequent first, then by code point */
static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->code < y->code ? -1 : x->code > y->code;
}

/* what counts most stands first: what is wanted more than anything else */
static size_t list_counted(const pk_characters *c, const char *wanted, counted *list) {
    const size_t size = strlen(wanted);
    size_t       n = 0;
    int32_t      code;
    for (int32_t i = 0; i < N_CODE_POINTS; i++) list[i] = (counted){ c->count[i], i };
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(wanted + at, size - at, &code);
        if (!is_space(code)) list[code].count = UINT64_MAX;
    }
    for (int32_t i = 0; i < N_CODE_POINTS; i++)
        if (list[i].count) list[n++] = list[i];
    qsort(list, n, sizeof *list, by_count);
    return n;
}

pk_status pk_characters_pick(const pk_characters *c, double coverage, const char *wanted,
                             pk_buffer *out) {
    counted *list;
    double   all = 0, covered = 0;
    PK_TRY(PK_TAKE(&list, N_CODE_POINTS));
    const size_t n = list_counted(c, wanted, list);
    for (size_t i = 0; i < n; i++) all += (double)c->count[list[i].code];
    for (size_t i = 0; i < n; i++) {
        if (list[i].count < UINT64_MAX && covered >= coverage * all) break;
        pk_utf8_add(out, list[i].code);
        covered += (double)c->count[list[i].code];
    }
    pk_memory_give(list);
    return pk_buffer_status(out);
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
