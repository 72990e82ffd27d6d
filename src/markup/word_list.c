/* word_list.c - cutting a text into words. Letters, digits and combining marks are Unicode's. */
#include "markup/word_list.h"

#include <string.h>
#include <unicode/uchar.h>

#include "text/utf8.h"

bool pk_is_word_sign(int32_t c) {
    const uint32_t mask = U_GC_L_MASK | U_GC_N_MASK | U_GC_M_MASK;
    return c == '_' || (U_MASK(u_charType(c)) & mask) != 0;
}

bool pk_text_has_letters(const char *text, size_t size) {
    int32_t c;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &c);
        if (pk_is_word_sign(c) && c != '_') return true;
    }
    return false;
}

pk_status pk_word_list_add(pk_word_list *l, pk_word word) {
    return pk_word_list_insert(l, l->n, word);
}

pk_status pk_word_list_insert(pk_word_list *l, size_t at, pk_word word) {
    PK_TRY(PK_RESERVE(&l->word, l->n + 1, &l->room));
    memmove(l->word + at + 1, l->word + at, (l->n - at) * sizeof *l->word);
    l->word[at] = word;
    l->n++;
    return PK_OK;
}

void pk_word_list_remove(pk_word_list *l, size_t at, size_t n) {
    if (!n) return;
    memmove(l->word + at, l->word + at + n, (l->n - at - n) * sizeof *l->word);
    l->n -= n;
}

void pk_word_list_free(pk_word_list *l) {
    pk_memory_give(l->word);
    *l = (pk_word_list){ 0 };
}

/* an apostrophe or a hyphen between letters belongs to the word: "don't", "well-known" */
static bool joins(const char *text, size_t size, size_t at, size_t n, int32_t c) {
    int32_t next;
    if (c != '\'' && c != 0x2019 && c != '-') return false;
    if (at + n >= size) return false;
    pk_utf8_next(text + at + n, size - at - n, &next);
    return pk_is_word_sign(next);
}

/* bytes of the word at the beginning of the text, which is not white space */
static size_t word_size(const char *text, size_t size, bool *letters) {
    int32_t c;
    size_t  at = pk_utf8_next(text, size, &c);
    *letters = pk_is_word_sign(c);
    while (*letters && at < size) {
        const size_t n = pk_utf8_next(text + at, size - at, &c);
        if (!pk_is_word_sign(c) && !joins(text, size, at, n, c)) break;
        at += n;
    }
    return at;
}

static size_t gap_size(const char *text, size_t size) {
    int32_t c;
    for (size_t at = 0, n; at < size; at += n) {
        n = pk_utf8_next(text + at, size - at, &c);
        if (!pk_utf8_is_space(c)) return at;
    }
    return size;
}

pk_status pk_word_list_cut(pk_word_list *l, const char *text, size_t size, size_t offset,
                           const pk_kept *kept, size_t n_kept, int32_t first) {
    size_t at = 0, k = 0;
    for (;;) {
        const size_t gap = at;
        at += gap_size(text + at, (k < n_kept ? kept[k].begin : size) - at);
        pk_word word = {
            .gap = { text + gap, at - gap }, .begin = offset + at, .kept = -1, .source = -1
        };
        if (at == size) {
            l->tail = word.gap;
            return PK_OK;
        }
        if (k < n_kept && kept[k].begin == at) {
            word.text = (pk_text){ text + at, kept[k].size };
            word.kept = first + (int32_t)k++;
            word.letters = true;
        } else {
            word.text.data = text + at;
            word.text.size =
                word_size(text + at, (k < n_kept ? kept[k].begin : size) - at, &word.letters);
        }
        PK_TRY(pk_word_list_add(l, word));
        at += word.text.size;
    }
}

int32_t pk_word_list_find(const pk_word_list *l, size_t byte) {
    size_t low = 0, high = l->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->word[middle].begin <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)low - 1;
}
