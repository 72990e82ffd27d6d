/* tagged_write.h - words and placed tags as bytes again. */
#ifndef PK_MARKUP_TAGGED_WRITE_H
#define PK_MARKUP_TAGGED_WRITE_H
#include "markup/word_list.h"

/* Appends the passage's target. escape: & < > become references, except in kept spans. */
pk_status pk_passage_write(const pk_passage *p, const pk_word_list *target, bool escape,
                           pk_buffer *out);
#endif
