/* split_point.c - where to cut a sentence that is too long for the model.
 *
 * Looks at the first `most` bytes once, from left to right, and remembers the last position of each
 * kind: behind a clause, behind a space, between characters as people see them, between code
 * points. A cut behind white space leaves it with the first part. Invariant: 0 < cut <= size, at a
 * code point. */
#include <unicode/uchar.h>

#include "text/split.h"
#include "text/utf8.h"

/* the last position of each kind, 0 when there is none */
typedef struct points {
    size_t clause, space, character, code_point;
} points;

/* marks that end a clause when a space follows */
static bool ends_clause(int32_t c) {
    switch (c) {
    case ',':
    case ';':
    case ':':
    case '.':
    case '!':
    case '?':
    case ')':
    case ']':
    case '-':
    case 0x2013:
    case 0x2014:
    case 0x2026: /* dashes, ellipsis */
    case 0x060C:
    case 0x061B:
    case 0x061F:
    case 0x0964: /* Arabic and Devanagari */ return true;
    default: return false;
    }
}

/* marks that end a clause by themselves: full-width and ideographic punctuation */
static bool ends_clause_alone(int32_t c) {
    switch (c) {
    case 0x3001:
    case 0x3002:
    case 0xFF0C:
    case 0xFF0E:
    case 0xFF1A:
    case 0xFF1B:
    case 0xFF01:
    case 0xFF1F:
    case 0xFF09:
    case 0x300D:
    case 0x300F: return true;
    default: return false;
    }
}

/* whether c combines with the character before it (accents, emoji), so that no cut may separate
 * them */
static bool adds_back(int32_t before, int32_t c) {
    enum { ZERO_WIDTH_JOINER = 0x200D };
    return (U_GET_GC_MASK(c) & U_GC_M_MASK) || c == ZERO_WIDTH_JOINER ||
           before == ZERO_WIDTH_JOINER || (c >= 0x1F3FB && c <= 0x1F3FF); /* skin tones */
}

static void add_point(points *p, size_t at, int32_t before_space, int32_t last, int32_t next) {
    p->code_point = at;
    if (!adds_back(last, next)) p->character = at;
    if (ends_clause_alone(last)) p->clause = at;
    if (!pk_utf8_is_space(last) || before_space < 0)
        return; /* a part of white space only is none */
    p->space = at;
    if (ends_clause(before_space) || ends_clause_alone(before_space)) p->clause = at;
}

/* A clause counts only in the second half: otherwise the first part would be very short. */
size_t pk_split_point(const char *text, size_t size, size_t most) {
    if (size <= most) return size;
    points       p = { 0 };
    int32_t      last, visible = -1, next; /* visible: the last one that was no space */
    size_t       at = pk_utf8_next(text, size, &last);
    const size_t shortest = at;
    while (at < size && at <= most) {
        const size_t n = pk_utf8_next(text + at, size - at, &next);
        add_point(&p, at, visible, last, next);
        if (!pk_utf8_is_space(last)) visible = last;
        last = next;
        at += n;
    }
    if (p.clause > most / 2) return p.clause;
    if (p.space) return p.space;
    if (p.character) return p.character;
    return p.code_point ? p.code_point : shortest;
}
