/* text_reader.h - the lines of a text file, plain or compressed (gzip, xz, zstd, by content).
 *
 * Memory does not grow with the file, only with its longest line. "\r\n" ends a line like "\n", a
 * last line without an end counts, and a byte order mark in front is left out. */
#ifndef PK_BASE_TEXT_READER_H
#define PK_BASE_TEXT_READER_H
#include "base/status.h"

enum { PK_LONGEST_LINE = 1 << 24 }; /* bytes; a file with a longer one is no text */

typedef struct pk_text_reader pk_text_reader;
pk_status                     pk_text_reader_open(const char *path, pk_text_reader **out);
void                          pk_text_reader_close(pk_text_reader *r); /* accepts NULL */
/* The next line, without its end and not NUL-terminated; valid until the next call. NULL behind the
 * last. A file that is cut off or damaged fails here, by name. */
pk_status pk_text_reader_next(pk_text_reader *r, const char **line, size_t *size);
#endif
