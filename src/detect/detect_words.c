/* detect_words.c - letters from ICU: their script, small forms and composition.
 *
 * A word is a run of letters and marks of one script. Letters that belong to no script, such as the
 * long vowel of Katakana, go with the word they stand in. Bytes that are no UTF-8 end a word. */
#include "detect/detect_words.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>

#include "text/utf8.h"

typedef struct reader {
    const UNormalizer2 *composer; /* NULL: ICU has none; letters stay as they are */
    pk_detect_word      word;
    void (*take)(void *user, const pk_detect_word *word);
    void *user;
} reader;

static void end_word(reader *r) {
    if (r->word.n > 0) {
        r->word.longest = r->word.script == USCRIPT_HAN ? 2 : 5;
        r->word.letter[0] = r->word.letter[r->word.n + 1] = ' ';
        r->take(r->user, &r->word);
    }
    r->word.n = 0;
}

/* Japanese mixes three scripts within words, Chinese may have a fourth: all count as one */
static int32_t script_of(int32_t letter) {
    UErrorCode error = U_ZERO_ERROR;
    if (letter < 0x80) return USCRIPT_LATIN;
    const UScriptCode script = uscript_getScript(letter, &error);
    if (U_FAILURE(error)) return USCRIPT_COMMON;
    switch (script) {
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_KATAKANA_OR_HIRAGANA:
    case USCRIPT_BOPOMOFO: return USCRIPT_HAN;
    case USCRIPT_INHERITED: return USCRIPT_COMMON;
    default: return script;
    }
}

/* an accent that was written apart from its letter becomes one with it, where there is such a
 * letter */
static bool compose(reader *r, int32_t mark) {
    if (!r->composer || r->word.n == 0) return false;
    int32_t      *last = &r->word.letter[r->word.n];
    const int32_t both = unorm2_composePair(r->composer, *last, mark);
    if (both >= 0) *last = both;
    return both >= 0;
}

static void add_letter(reader *r, int32_t letter) {
    const int32_t script = script_of(letter);
    if (script == USCRIPT_COMMON && r->word.n == 0) return;
    if (script == USCRIPT_COMMON && compose(r, letter)) return;
    if (r->word.n == PK_WORD_LETTERS || (script != USCRIPT_COMMON && script != r->word.script))
        end_word(r);
    if (script != USCRIPT_COMMON) r->word.script = script;
    r->word.letter[++r->word.n] = letter;
}

static bool is_letter(int32_t c) {
    if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z';
    return (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_M_MASK)) != 0;
}

static int32_t small(int32_t c) { return c < 0x80 ? c | 32 : u_tolower(c); }

/* no word of a language has these in it */
static bool is_technical(int32_t c) {
    return c < 0x80 && c != '\0' && strchr("0123456789/\\@_=<>{}[]|$#~^+*&", c);
}

/* How far the characters up to the next white space go; whether they are for machines. Those are
 * ASCII: scripts that do without spaces have digits in the midst of words. */
static size_t find_space(const char *text, size_t size, bool *technical) {
    size_t at = 0;
    bool   plain = true;
    *technical = size > 1 && text[0] == '-';
    while (at < size) {
        int32_t      c;
        const size_t n = pk_utf8_next(text + at, size - at, &c);
        if (pk_utf8_is_space(c)) break;
        *technical |= is_technical(c);
        plain &= c < 0x80;
        at += n;
    }
    *technical &= plain;
    return at;
}

static void read_letters(reader *r, const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        int32_t c;
        at += pk_utf8_next(text + at, size - at, &c);
        if (is_letter(c))
            add_letter(r, small(c));
        else
            end_word(r);
    }
    end_word(r);
}

void pk_detect_words(const char *text, size_t size, bool names,
                     void (*take)(void *user, const pk_detect_word *word), void *user) {
    UErrorCode error = U_ZERO_ERROR;
    reader     r = { .take = take, .user = user };
    r.composer = unorm2_getNFCInstance(&error);
    if (U_FAILURE(error)) r.composer = NULL;
    for (size_t at = 0; at < size;) {
        bool         technical;
        int32_t      c;
        const size_t n = find_space(text + at, size - at, &technical);
        if (names || !technical) read_letters(&r, text + at, n);
        at += n;
        if (at < size) at += pk_utf8_next(text + at, size - at, &c);
    }
}
