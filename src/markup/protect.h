/* protect.h - spans of a text that must come out as they are: addresses, placeholders of programs,
 * code, and what the user's own patterns match. */
#ifndef PK_MARKUP_PROTECT_H
#define PK_MARKUP_PROTECT_H
#include "base/memory.h"

typedef struct pk_byte_range {
    size_t begin, end;
} pk_byte_range;

typedef struct pk_byte_ranges {
    pk_byte_range *range;
    size_t         n, room;
} pk_byte_ranges;

pk_status pk_byte_ranges_add(pk_byte_ranges *r, size_t begin, size_t end);
/* in order of their beginnings, the longer first; then only those that begin behind the last one */
void pk_byte_ranges_tidy(pk_byte_ranges *r);
void pk_byte_ranges_free(pk_byte_ranges *r);

/* adds the usual spans; time is linear in the text */
pk_status pk_protect_usual(const char *text, size_t size, pk_byte_ranges *out);

/* the user's patterns: ICU regular expressions */
typedef struct pk_patterns pk_patterns;
pk_status pk_patterns_open(const char *const *pattern, size_t n, pk_patterns **out);
/* adds all matches that are not empty; a pattern that takes too long is PK_ARGUMENT */
pk_status pk_patterns_find(pk_patterns *p, const char *text, size_t size, pk_byte_ranges *out);
void      pk_patterns_close(pk_patterns *p);
#endif
