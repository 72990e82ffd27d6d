/* points.h - one line of text as a growing list of Unicode code points.
 *
 * The metrics count code points as Python strings do, so a line is decoded once (what is not UTF-8
 * becomes U+FFFD) and every later step works on this list. */
#ifndef PK_METRIC_POINTS_H
#define PK_METRIC_POINTS_H
#include "base/status.h"

typedef struct pk_points {
    int32_t *point;
    size_t   n, room;
} pk_points;

/* room for `room` points in all; contents are kept */
pk_status pk_points_reserve(pk_points *p, size_t room);
/* replaces the contents by the text, repaired */
pk_status pk_points_read(pk_points *p, pk_text text);
/* lower case as Python's str.lower: full mappings, no language, final sigma */
pk_status pk_points_lower(pk_points *p);
void      pk_points_strip_end(pk_points *p); /* drops white space at the end */
void      pk_points_strip_start(pk_points *p);
void      pk_points_free(pk_points *p);
#endif
