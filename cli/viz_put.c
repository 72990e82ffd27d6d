/* viz_put.c - text from outside, made fit to stand in HTML, SVG, DOT and JSON.
 *
 * Every character goes through next_char(), which lets nothing pass that XML would not take: bytes
 * that are no UTF-8, controls, surrogates and non-characters come out as U+FFFD. */
#include <stdlib.h>
#include <string.h>

#include "viz.h"

enum { REPLACEMENT = 0xFFFD, WORD_BEGINS = 0x2581, MIDDLE_DOT = 0xB7 };

/* what XML 1.0 allows, less the C1 controls */
static bool allowed(uint32_t c) {
    if (c < 0x20) return c == '\t' || c == '\n';
    if (c >= 0x7F && c < 0xA0) return false;
    if (c >= 0xD800 && c < 0xE000) return false;
    return c <= 0x10FFFF && (c & 0xFFFE) != 0xFFFE;
}

/* the character at *at, which moves on by it, or by one byte where there is none */
static uint32_t next_char(const char **at) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char  *s = (const unsigned char *)*at;
    const int             n = s[0] < 0x80       ? 1
                              : s[0] >> 5 == 6  ? 2
                              : s[0] >> 4 == 14 ? 3
                              : s[0] >> 3 == 30 ? 4
                                                : 0;
    uint32_t              c = n == 1 ? s[0] : n ? s[0] & (0x7Fu >> n) : 0;
    *at += 1;
    if (!n) return REPLACEMENT;
    for (int i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) return REPLACEMENT;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[n]) return REPLACEMENT;
    *at += n - 1;
    return allowed(c) ? c : REPLACEMENT;
}

/* c as UTF-8; returns how many bytes */
static size_t encode(uint32_t c, char out[4]) {
    if (c < 0x80) return out[0] = (char)c, 1;
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> n & 0xF0) | c);
    return n;
}

static void put_char(pk_line_writer *w, uint32_t c) {
    char bytes[4];
    pk_writer_add(w, bytes, encode(c, bytes));
}

void pk_viz_put(pk_line_writer *w, const char *text) { pk_writer_add(w, text, strlen(text)); }

/* the five characters that XML reserves, in text and in attributes */
void pk_viz_put_xml(pk_line_writer *w, const char *text) {
    while (*text) {
        const uint32_t c = next_char(&text);
        switch (c) {
        case '&': pk_viz_put(w, "&amp;"); break;
        case '<': pk_viz_put(w, "&lt;"); break;
        case '>': pk_viz_put(w, "&gt;"); break;
        case '"': pk_viz_put(w, "&quot;"); break;
        case '\'': pk_viz_put(w, "&#39;"); break;
        default: put_char(w, c);
        }
    }
}

/* Graphviz reads backslashes and HTML's entities in labels */
void pk_viz_put_dot(pk_line_writer *w, const char *text) {
    while (*text) {
        const uint32_t c = next_char(&text);
        switch (c) {
        case '&': pk_viz_put(w, "&amp;"); break;
        case '"': pk_viz_put(w, "\\\""); break;
        case '\\': pk_viz_put(w, "\\\\"); break;
        case '\n': pk_viz_put(w, " "); break;
        default: put_char(w, c);
        }
    }
}

/* `dot`: what replaces U+2581, SentencePiece's symbol for the beginning of a word */
static char *cleaned(const char *text, uint32_t dot) {
    char  *clean = pk_cli_grow(NULL, 3 * strlen(text) + 1, 1); /* a bad byte becomes three */
    size_t n = 0;
    while (*text) {
        const uint32_t c = next_char(&text);
        n += encode(c == WORD_BEGINS ? dot : c, clean + n);
    }
    clean[n] = 0;
    return clean;
}

char *pk_viz_clean(const char *text) { return cleaned(text, WORD_BEGINS); }

char *pk_viz_piece(const pk_viz *v, int32_t id) {
    return cleaned(v->name(v->names, id), MIDDLE_DOT);
}

/* A guess by classes of letters; wide scripts count 13 pixels. */
double pk_viz_text_width(const char *text) {
    double width = 0;
    while (*text) {
        const uint32_t c = next_char(&text);
        const bool     narrow = c < 0x80 && strchr("iljft.,:;'|!()[]", (int)c);
        const bool     broad = c < 0x80 && strchr("mwMW@%", (int)c);
        width += c >= 0x1100 ? 13 : c == MIDDLE_DOT || narrow ? 4.5 : broad ? 11 : 7.4;
    }
    return width;
}
