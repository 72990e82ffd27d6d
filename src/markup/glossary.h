/* glossary.h - terms and their translations, and where they stand in a text. */
#ifndef PK_MARKUP_GLOSSARY_H
#define PK_MARKUP_GLOSSARY_H
#include "markup/word_list.h"

typedef struct pk_term_match {
    size_t  first, n; /* words of the text */
    pk_text target;   /* owned by the glossary */
} pk_term_match;

typedef struct pk_term_matches {
    pk_term_match *match; /* in order, not overlapping */
    size_t         n, room;
} pk_term_matches;

/* Adds the terms in a text, the longest first where several begin with one word. A small letter of
 * a term matches a capital too, a capital only a capital; the last word may have an ending (-s,
 * -es, -'s where the term's has three letters or more; -e, -en, -er, -n ..., -ies for -y where it has
 * four). */
pk_status pk_glossary_match(const pk_glossary *g, const pk_word_list *text, pk_term_matches *out);
/* whether the word is the other, or has an ending that inflects it */
bool pk_glossary_inflects(pk_text word, pk_text of);
#endif
