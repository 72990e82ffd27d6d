/* line_output.h - a file of lines that is written over hours and may be resumed.
 *
 * What is added is whole lines, a block at a time, so after a crash the file is whole but for its
 * end. Resuming keeps the whole lines that are there and cuts off the rest. */
#ifndef PK_DISTILL_LINE_OUTPUT_H
#define PK_DISTILL_LINE_OUTPUT_H
#include <stdbool.h>
#include <sys/types.h>

#include "base/buffer.h"

typedef struct pk_line_output {
    const char *path; /* borrowed */
    int         file; /* -1: not open */
    bool        plain;
    off_t       end; /* of the whole lines of a plain file */
    uint64_t    lines;
} pk_line_output;

/* resume: goes on behind the whole lines of the file, if there is one, and says how many those are.
 * Otherwise a file that holds anything is refused: it may be hours of work. Changes nothing yet. */
pk_status pk_line_output_open(pk_line_output *o, const char *path, bool resume);
/* cuts off what comes behind the whole lines: when all else is known to be in order */
pk_status pk_line_output_begin(pk_line_output *o);
pk_status pk_line_output_add(pk_line_output *o, const pk_buffer *whole_lines);
pk_status pk_line_output_close(pk_line_output *o, pk_status status); /* the first failure counts */
#endif
