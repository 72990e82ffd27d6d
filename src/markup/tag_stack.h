/* tag_stack.h - finds the partner of each tag in a passage, in time linear in their number. */
#ifndef PK_MARKUP_TAG_STACK_H
#define PK_MARKUP_TAG_STACK_H
#include "markup/html_scan.h"
#include "markup/passage.h"

enum { PK_TAG_BUCKETS = 64 };
typedef struct pk_open_tag {
    pk_text name;
    int32_t tag;
} pk_open_tag;

typedef struct pk_tag_stack {
    pk_open_tag *open;
    size_t       n, room;
    uint32_t     count[PK_TAG_BUCKETS]; /* open ones by a hash of their names */
} pk_tag_stack;

/* the tag at the end of the passage's text, as it is so far */
pk_status pk_tag_stack_add(pk_tag_stack *s, pk_passage *p, const pk_html_token *t);
/* The passage ends, or a part of it that began with tag `from`: what is open on the stack above the
 * first `keep` becomes a mark. */
void pk_tag_stack_end(pk_tag_stack *s, pk_passage *p, size_t keep, size_t from);
void pk_tag_stack_free(pk_tag_stack *s);
#endif
