/* place.h - which words of the target each tag holds.
 *
 * Bergamot's idea: a target word is marked up as the source word that it comes from. Here an element
 * stays one element: it gets the run of words that has most of its own and least of others', inside
 * the run of its parent and beside those of its siblings. So the tags of the target are those of the
 * source, and well nested where those are. */
#ifndef PK_MARKUP_PLACE_H
#define PK_MARKUP_PLACE_H
#include "markup/word_list.h"

/* sets `first` and `last` of every tag; cues have theirs already. Time is linear in words and tags,
 * but for elements nested deeper than PK_DEEPEST, which hold nothing. */
enum { PK_DEEPEST = 64 };
pk_status pk_place_tags(pk_passage *p, const pk_word_list *source, const pk_word_list *target);
#endif
