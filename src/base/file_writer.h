/* file_writer.h - writes whole files: the old file stays until the new one is complete on disk.
 *
 * A regular file, or one that is not there yet, is written beside, with the mode of the old one,
 * and renamed over it when it is on disk; symbolic links are followed, so they stay. Into a pipe, a
 * device or a socket it is written in place. The caller must make sure that it is no input. */
#ifndef PK_BASE_FILE_WRITER_H
#define PK_BASE_FILE_WRITER_H
#include "base/status.h"

/* finish() makes the file appear, abandon() removes what was written. The first failure sticks
 * until finish(). */
typedef struct pk_file_writer {
    int       fd;
    char     *path;      /* as given, for messages */
    char     *target;    /* what is renamed over; links followed. NULL: written in place */
    char     *temporary; /* beside it */
    size_t    size;      /* bytes written so far */
    pk_status status;
} pk_file_writer;
pk_status pk_file_writer_open(const char *path, pk_file_writer *out);
void      pk_file_writer_add(pk_file_writer *w, const void *bytes, size_t n);
pk_status pk_file_writer_finish(pk_file_writer *w);
void      pk_file_writer_abandon(pk_file_writer *w); /* after finish: does nothing */
#endif
