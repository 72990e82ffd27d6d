/* kept_spans.h - stretches of a passage's text become kept spans, with the input's own bytes. */
#ifndef PK_MARKUP_KEPT_SPANS_H
#define PK_MARKUP_KEPT_SPANS_H
#include "markup/passage.h"
#include "markup/protect.h"

/* Adds the ranges, which are tidy. Tags inside one belong to its bytes; one that a tag only partly
 * covers is cut at the tags. What overlaps a span that is kept already is left out. */
pk_status pk_passage_keep(pk_passage *p, const pk_byte_ranges *ranges);
#endif
