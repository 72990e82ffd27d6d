/* word_list.h - a text as words: runs of letters and digits, and every other sign by itself.
 *
 * Tags and terms are moved by words; signs are apart, so that "house." with a tag around "house"
 * does not take the full stop in. A kept span is one word whatever it holds. */
#ifndef PK_MARKUP_WORD_LIST_H
#define PK_MARKUP_WORD_LIST_H
#include "markup/passage.h"

typedef struct pk_word {
    pk_text gap, text; /* gap: what stands before it and behind the word before */
    size_t  begin;     /* of the text in what was cut into words */
    int32_t kept;      /* index of the kept span; -1: none */
    int32_t source;    /* of a target word: the source word that it comes from; -1: none */
    int32_t unit;      /* the sentence that it belongs to; set for both sides */
    bool    letters;   /* letters or digits, or kept; not a sign */
} pk_word;

typedef struct pk_word_list {
    pk_word *word;
    size_t   n, room;
    pk_text  tail; /* the gap behind the last word */
} pk_word_list;

pk_status pk_word_list_add(pk_word_list *l, pk_word word);
/* moves the words from `at` on by one to make room there */
pk_status pk_word_list_insert(pk_word_list *l, size_t at, pk_word word);
void      pk_word_list_remove(pk_word_list *l, size_t at, size_t n);
void      pk_word_list_free(pk_word_list *l);
/* Adds the words of text[0, size). kept: spans of it that are one word each, in order, their
 * indices counted from `first`. begin is counted from `offset`. */
pk_status pk_word_list_cut(pk_word_list *l, const char *text, size_t size, size_t offset,
                           const pk_kept *kept, size_t n_kept, int32_t first);
/* the last word that begins at or before the byte; -1: none */
int32_t pk_word_list_find(const pk_word_list *l, size_t byte);

bool pk_text_has_letters(const char *text, size_t size); /* or digits */
bool pk_is_word_sign(int32_t code_point);                /* a letter, a digit or a mark of one */
#endif
