/* split.c - sentences and what stands between them: ICU's boundaries, with corrections.
 *
 * Lines are cut first (a newline always ends a sentence), then white space at their ends is set
 * apart, then ICU proposes boundaries in what is left and boundary.c strikes out those that are
 * none. Invariant: pieces are added from left to right without a gap, and no two copy pieces touch.
 * Time is linear: every look back from a boundary is short or stays within white space. */
#include "text/split.h"

#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uloc.h>
#include <unicode/utext.h>

#include "text/boundary.h"
#include "text/utf8.h"

/* ICU's iterator holds its position in the text: each thread needs its own. */
struct pk_splitter {
    UBreakIterator          *iterator;
    const pk_language_rules *language;
};

/* ICU's codes as ours. Warnings (a fallback locale, say) are no failures. */
static pk_status icu_status(UErrorCode code, const char *doing) {
    if (U_SUCCESS(code)) return PK_OK;
    const pk_status status = code == U_MEMORY_ALLOCATION_ERROR ? PK_NO_MEMORY : PK_UNSUPPORTED;
    PK_FAIL(status, "ICU could not %s: %s", doing, u_errorName(code));
}

/* Adds the bytes from where the last piece ended up to `end`; neighbouring copies are merged. */
static pk_status add_piece(pk_pieces *out, size_t end, bool sentence) {
    pk_piece    *last = out->n ? &out->piece[out->n - 1] : NULL;
    const size_t begin = last ? last->begin + last->size : 0;
    if (end <= begin) return PK_OK;
    if (last && !sentence && !last->sentence) {
        last->size = end - last->begin;
        return PK_OK;
    }
    PK_TRY(PK_RESERVE(&out->piece, out->n + 1, &out->room));
    out->piece[out->n++] = (pk_piece){ begin, end - begin, sentence };
    return PK_OK;
}

/* Cuts text[begin, end), which begins and ends with something visible, at sentence boundaries. */
static pk_status cut_at_boundaries(pk_splitter *s, const char *text, size_t begin, size_t end,
                                   pk_pieces *out) {
    size_t sentence = begin; /* where the one being read begins */
    for (int32_t at; (at = ubrk_next(s->iterator)) != UBRK_DONE;) {
        pk_boundary b = {
            .text = text, .begin = sentence, .next = begin + (size_t)at, .limit = end
        };
        if (b.next <= sentence || b.next >= end) continue;
        if (!pk_boundary_check(&b, s->language)) continue;
        PK_TRY(add_piece(out, b.end, true));
        PK_TRY(add_piece(out, b.next, false));
        sentence = b.next;
    }
    return add_piece(out, end, true);
}

/* Hands text[begin, end) to ICU as UTF-8, by length: a NUL byte does not end it. */
static pk_status split_core(pk_splitter *s, const char *text, size_t begin, size_t end,
                            pk_pieces *out) {
    if (end - begin > INT32_MAX) /* ICU counts in 32 bits */
        PK_FAIL(PK_ARGUMENT, "a line of %zu bytes is too long; the limit is 2 GB", end - begin);
    UText      view = UTEXT_INITIALIZER;
    UErrorCode code = U_ZERO_ERROR;
    utext_openUTF8(&view, text + begin, (int64_t)(end - begin), &code);
    ubrk_setUText(s->iterator, &view, &code);
    pk_status status = icu_status(code, "read a line");
    if (status == PK_OK) status = cut_at_boundaries(s, text, begin, end, out);
    utext_close(&view);
    return status;
}

/* Bytes of the line end at text + at, 0 when there is none: \n, \r, \r\n, U+0085, U+2028, U+2029.
 */
static size_t line_end_size(const char *text, size_t size, size_t at) {
    if (text[at] == '\n') return 1;
    if (text[at] == '\r') return at + 1 < size && text[at + 1] == '\n' ? 2 : 1;
    if (size - at >= 2 && memcmp(text + at, "\xC2\x85", 2) == 0) return 2;
    if (size - at >= 3 && memcmp(text + at, "\xE2\x80\xA8", 3) == 0) return 3;
    if (size - at >= 3 && memcmp(text + at, "\xE2\x80\xA9", 3) == 0) return 3;
    return 0;
}

/* One line without its end: white space, what is visible, white space. */
static pk_status split_line(pk_splitter *s, const char *text, size_t begin, size_t end,
                            bool one_sentence, pk_pieces *out) {
    const size_t first = pk_skip_space(text, begin, end);
    const size_t last = pk_skip_space_back(text, first, end);
    PK_TRY(add_piece(out, first, false));
    if (first == last) return PK_OK;
    if (one_sentence)
        PK_TRY(add_piece(out, last, true));
    else
        PK_TRY(split_core(s, text, first, last, out));
    return add_piece(out, end, false);
}

pk_status pk_splitter_open(const char *language, pk_splitter **out) {
    char       code[ULOC_LANG_CAPACITY] = "";
    UErrorCode error = U_ZERO_ERROR;
    *out = NULL;
    /* "de_DE", "deu" and "de" are one; what is no language at all is treated as English */
    uloc_getLanguage(language && *language ? language : "en", code, sizeof code, &error);
    if (U_FAILURE(error) || error == U_STRING_NOT_TERMINATED_WARNING) strcpy(code, "en");
    pk_splitter *s;
    PK_TRY(PK_TAKE(&s, 1));
    s->language = pk_language_rules_find(code);
    error = U_ZERO_ERROR;
    s->iterator = ubrk_open(UBRK_SENTENCE, code, NULL, 0, &error);
    const pk_status status = icu_status(error, "open its sentence rules (is its data installed?)");
    if (status != PK_OK) {
        pk_splitter_close(s);
        return status;
    }
    *out = s;
    return PK_OK;
}

pk_status pk_splitter_copy(const pk_splitter *s, pk_splitter **out) {
    pk_splitter *copy;
    UErrorCode   error = U_ZERO_ERROR;
    *out = NULL;
    if (!s) return PK_OK;
    PK_TRY(PK_TAKE(&copy, 1));
    copy->language = s->language;
    copy->iterator = ubrk_clone(s->iterator, &error);
    const pk_status status = icu_status(error, "copy its sentence rules");
    if (status == PK_OK)
        *out = copy;
    else
        pk_splitter_close(copy);
    return status;
}

void pk_splitter_close(pk_splitter *s) {
    if (!s) return;
    if (s->iterator) ubrk_close(s->iterator);
    pk_memory_give(s);
}

pk_status pk_split(pk_splitter *s, const char *text, size_t size, bool one_sentence,
                   pk_pieces *out) {
    out->n = 0;
    for (size_t begin = 0, at = 0; begin < size; begin = at) {
        size_t end_size = 0;
        while (at < size && (end_size = line_end_size(text, size, at)) == 0) at++;
        PK_TRY(split_line(s, text, begin, at, one_sentence, out));
        at += end_size;
        PK_TRY(add_piece(out, at, false));
    }
    return PK_OK;
}

void pk_pieces_free(pk_pieces *p) {
    pk_memory_give(p->piece);
    *p = (pk_pieces){ 0 };
}
