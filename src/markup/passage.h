/* passage.h - running text to translate, and what was taken out of it.
 *
 * A reader (html.h, subtitles.h) makes a markup of a text: passages, and bytes between them that
 * are copied. A passage is plain text; tags are remembered by the bytes of it that they hold. What
 * must come out as it is (an address, code) is kept: it has bytes of its own. */
#ifndef PK_MARKUP_PASSAGE_H
#define PK_MARKUP_PASSAGE_H
#include <stdbool.h>

#include "base/buffer.h"
#include "base/memory.h"

typedef struct pk_kept {
    size_t  begin, size; /* in the passage's text */
    pk_text bytes;       /* what is written; borrowed from the input */
} pk_kept;

/* An element with its two tags; or a mark, which holds nothing: a void element, a comment, a tag
 * without its partner. */
typedef struct pk_tag {
    pk_text open, close; /* borrowed from the input; of a mark only open */
    size_t  begin, end;  /* what it holds, in bytes of the passage's text */
    int32_t parent;      /* index of the element around it; -1: none */
    bool    mark;
    bool    stray;       /* a mark that is one of two tags: they keep their order */
    bool    inside;      /* a kept span: its bytes have the tag too */
    bool    cue;         /* of subtitles: it gets its share of the words, in order */
    size_t  first, last; /* words of the target that it holds: set by place.c */
} pk_tag;

/* where text comes from: as many bytes of the input, or other bytes that stand for it ("&amp;") */
typedef struct pk_origin {
    size_t      text, size;
    const char *input;
    size_t      input_size;
} pk_origin;

typedef struct pk_passage {
    pk_text    before; /* bytes of the input between the passage before and this one */
    pk_text    raw;    /* its own bytes */
    pk_buffer  text;
    bool       lines; /* a line end in the text ends a sentence */
    pk_kept   *kept;  /* in order, not overlapping */
    size_t     n_kept, kept_room;
    pk_tag    *tag; /* as they open: an element stands before what it holds */
    size_t     n_tags, tag_room;
    pk_origin *origin; /* in order; they cover the text */
    size_t     n_origins, origin_room;
    size_t     first_unit, n_units; /* its sentences, in the call's list of them */
} pk_passage;

typedef struct pk_markup {
    pk_passage *passage;
    size_t      n, room;
    pk_text     after; /* bytes behind the last passage */
} pk_markup;

/* a new passage at the end; valid until the next one is added */
pk_status pk_markup_add(pk_markup *m, pk_passage **out);
void      pk_markup_free(pk_markup *m);
/* adds text that comes from these bytes of the input */
pk_status pk_passage_add_text(pk_passage *p, pk_text text, pk_text input);
void      pk_passage_free(pk_passage *p);
pk_status pk_passage_add_kept(pk_passage *p, pk_kept kept);
pk_status pk_passage_add_tag(pk_passage *p, pk_tag tag, int32_t *index);
/* whether there is a letter or a digit in it that is to be translated */
bool pk_passage_has_text(const pk_passage *p);
#endif
