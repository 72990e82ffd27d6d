/* align_links.h - alignment links of one pair, as Pharaoh writes them: "0-0 1-2", source-target,
 * counted from 0. */
#ifndef PK_ALIGN_LINKS_H
#define PK_ALIGN_LINKS_H
#include <stdint.h>

#include "base/buffer.h"

enum { PK_ALIGN_MOST_POSITIONS = 1 << 20 }; /* what a link may name */

typedef struct pk_align_link {
    uint32_t source, target;
} pk_align_link;

typedef struct pk_align_links {
    pk_align_link *link;
    size_t         n, room;
} pk_align_links;

pk_status pk_align_links_add(pk_align_links *l, uint32_t source, uint32_t target);
void      pk_align_links_free(pk_align_links *l);
/* replaces the links by those of a line; PK_FORMAT where it is not one of links */
pk_status pk_align_links_parse(pk_text line, pk_align_links *l);
void      pk_align_links_print(const pk_align_links *l, pk_buffer *out); /* without a line end */
#endif
