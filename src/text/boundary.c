/* boundary.c - rejects those of ICU's boundaries that do not end a sentence.
 *
 * ICU (Unicode's standard annex 29) knows letters, dots and closing marks, but no words. Here are
 * the words: abbreviations, initials, acronyms, ordinals and list numbers; and two habits of
 * writing it does not know: "Really?" he asked - and spaces inside quotation marks, as in French.
 * Where it cannot be known, the sentence goes on: two sentences translated as one lose little, half
 * a sentence translated alone loses much. */
#include "text/boundary.h"

#include <string.h>
#include <unicode/uchar.h>

#include "text/utf8.h"

enum { WORD_ROOM = 46, CJK_FIRST = 0x2E80 };

/* A word before a dot or after a boundary, in small letters. */
typedef struct word {
    char    text[WORD_ROOM];
    size_t  size, begin;            /* bytes; where it begins in the text */
    int32_t n, n_digits, n_letters; /* code points */
    int32_t first;                  /* as written */
    bool    roman;                  /* I, V, X, L, C only */
} word;

size_t pk_skip_space(const char *text, size_t at, size_t limit) {
    while (at < limit) {
        int32_t      c;
        const size_t n = pk_utf8_next(text + at, limit - at, &c);
        if (!pk_utf8_is_space(c)) break;
        at += n;
    }
    return at;
}

size_t pk_before(const char *text, size_t begin, size_t at, int32_t *code_point) {
    size_t from = at - 1;
    while (from > begin && at - from < 4 && ((unsigned char)text[from] & 0xC0) == 0x80) from--;
    pk_utf8_next(text + from, at - from, code_point);
    return from;
}

size_t pk_skip_space_back(const char *text, size_t begin, size_t at) {
    while (at > begin) {
        int32_t      c;
        const size_t from = pk_before(text, begin, at, &c);
        if (!pk_utf8_is_space(c)) break;
        at = from;
    }
    return at;
}

/* quotation marks and brackets, opening ones too: Unicode's property has one class for all */
static bool is_close(int32_t c) {
    return u_getIntPropertyValue(c, UCHAR_SENTENCE_BREAK) == U_SB_CLOSE;
}

/* Marks that can only close, also when a space stands before them. */
static bool closes_only(int32_t c, const pk_language_rules *language) {
    if (c == 0xBB) return !language->inward_quotes;
    if (c == 0xAB) return language->inward_quotes;
    if (c == 0x201C || c == 0x2018) return false;
    const int8_t type = u_charType(c);
    return type == U_END_PUNCTUATION || type == U_FINAL_PUNCTUATION;
}

/* takes code point c, which stands before or after what the word has */
static void word_take(word *w, int32_t c) {
    w->n++;
    w->n_digits += u_isdigit(c) != 0;
    w->n_letters += u_isalpha(c) != 0;
    w->first = c;
    w->roman = w->roman && c < 0x80 && c > 0 && strchr("IVXLC", (int)c) != NULL;
}

static void word_lower(word *w, const char *text, size_t begin, size_t end) {
    w->begin = begin;
    for (size_t at = begin; at < end;) {
        int32_t   c;
        pk_buffer no_growth = { .data = w->text, .size = w->size, .room = WORD_ROOM };
        at += pk_utf8_next(text + at, end - at, &c);
        c = u_tolower(c);
        if (w->size + 5 > WORD_ROOM) return; /* a letter may get longer; it still has to fit */
        pk_utf8_add(&no_growth, c);
        w->size = no_growth.size;
    }
}

/* The word that ends at `end`, back to white space or an opening mark. n is 0 when it is too long.
 */
static word word_before(const char *text, size_t begin, size_t end) {
    word   w = { .roman = true };
    size_t at = end;
    while (at > begin) {
        int32_t      c;
        const size_t from = pk_before(text, begin, at, &c);
        if (pk_utf8_is_space(c) || is_close(c)) break;
        if (end - from > WORD_ROOM - 6) return (word){ .begin = from };
        word_take(&w, c);
        at = from;
    }
    word_lower(&w, text, at, end);
    return w;
}

/* The word at `at`: letters only, opening marks before it left out. */
static word word_after(const char *text, size_t at, size_t limit) {
    word   w = { .roman = true };
    size_t begin = at;
    while (at < limit && at - begin < WORD_ROOM - 6) {
        int32_t      c;
        const size_t n = pk_utf8_next(text + at, limit - at, &c);
        if (u_isalpha(c))
            word_take(&w, c);
        else if (w.n > 0)
            break;
        else if (is_close(c))
            begin = at + n;
        else
            return w;
        at += n;
    }
    word_lower(&w, text, begin, at);
    return w;
}

/* "U.S", "z.B", "p.m": single letters with dots between them */
static bool is_acronym(const word *w) {
    const int32_t n_dots = w->n - w->n_letters;
    if (n_dots < 1 || w->n_letters != n_dots + 1) return false;
    int32_t letters = 0; /* since the last dot */
    for (size_t at = 0; at < w->size;) {
        int32_t c;
        at += pk_utf8_next(w->text + at, w->size - at, &c);
        letters = c == '.' ? 0 : letters + 1;
        if (letters > 1) return false;
    }
    return true;
}

/* "So do I. The rest ..." ends; "I. Newton" does not */
static bool is_pronoun(const word *w, const pk_boundary *b, const pk_language_rules *language) {
    if (w->first != 'I' || strcmp(language->code, "en") != 0) return false;
    const size_t at = pk_skip_space_back(b->text, b->begin, w->begin);
    int32_t      c = 0;
    if (at > b->begin) pk_before(b->text, b->begin, at, &c);
    return u_islower(c);
}

/* Whether the dot at `dot` belongs to the word before it, rather than to the sentence. */
static bool dot_is_of_word(const pk_boundary *b, size_t dot, const pk_language_rules *language) {
    const word w = word_before(b->text, b->begin, dot);
    if (w.n == 0 || b->text[dot - 1] == '.') return false; /* no such word, or an ellipsis */
    if (w.begin == b->begin && w.n <= 3 && (w.n_digits == w.n || w.roman))
        return true; /* "1. The" */
    if (w.n == 1 && w.n_letters == 1) return !is_pronoun(&w, b, language);
    if (pk_language_has(language->always, w.text, w.size)) return true;
    int32_t follower;
    pk_utf8_next(b->text + b->next, b->limit - b->next, &follower);
    if (pk_language_has(language->before_number, w.text, w.size)) return u_isdigit(follower) != 0;
    const bool number = w.n_digits == w.n ? w.n <= 3 : w.roman && w.n <= 5;
    if (!is_acronym(&w) && !(language->ordinals && number)) return false;
    const word after = word_after(b->text, b->next, b->limit);
    return !pk_language_has(language->starters, after.text, after.size);
}

/* "Bonjour ! » Il ...": marks between spaces that can only close go to the sentence before them. */
static void take_closing(pk_boundary *b, const pk_language_rules *language) {
    size_t at = b->next;
    while (at < b->limit) {
        int32_t      c;
        const size_t n = pk_utf8_next(b->text + at, b->limit - at, &c);
        if (!closes_only(c, language)) break;
        at += n;
    }
    const size_t next = pk_skip_space(b->text, at, b->limit);
    if (at == b->next || (next == at && at < b->limit)) return; /* none, or as in: 'Tis */
    b->end = at;
    b->next = next;
}

/* In order: closing marks, the mark that ends the sentence, what follows it, the word before a
 * dot. */
bool pk_boundary_check(pk_boundary *b, const pk_language_rules *language) {
    b->end = pk_skip_space_back(b->text, b->begin, b->next);
    b->next = pk_skip_space(b->text, b->next, b->limit);
    size_t  at = b->end; /* just behind the mark that ends the sentence */
    int32_t mark = 0, follower;
    take_closing(b, language);
    if (b->next >= b->limit) return false; /* what is left is closing marks: no new sentence */
    while (at > b->begin) {
        const size_t from = pk_before(b->text, b->begin, at, &mark);
        if (!is_close(mark)) break;
        at = from;
    }
    if (mark >= CJK_FIRST) return true; /* these scripts put no space after a full stop */
    if (b->end == b->next && mark < 0x80) return false; /* "Yahoo!Mail", "x.org/?q=1" */
    pk_utf8_next(b->text + b->next, b->limit - b->next, &follower);
    if (u_islower(follower)) return false; /* "Really?" he asked */
    return mark != '.' || at <= b->begin + 1 || !dot_is_of_word(b, at - 1, language);
}
