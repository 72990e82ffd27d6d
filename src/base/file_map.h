/* file_map.h - whole files: mapped for reading, replaced atomically for writing. */
#ifndef PK_BASE_FILE_MAP_H
#define PK_BASE_FILE_MAP_H
#include "base/status.h"

typedef struct pk_file_map {
    const unsigned char *data; /* NULL when the file is empty */
    size_t               size;
} pk_file_map;

pk_status pk_file_map_open(const char *path, pk_file_map *out);
void      pk_file_map_close(pk_file_map *map); /* accepts a zeroed map */

/* A file that appears under its name only when it is whole and on disk: writes go to a neighbour,
 * finish() syncs and renames it, abandon() removes it. The first failure sticks until finish(). */
typedef struct pk_file_writer {
    int       fd;
    char     *path, *temporary;
    size_t    size; /* bytes written so far */
    pk_status status;
} pk_file_writer;
pk_status pk_file_writer_open(const char *path, pk_file_writer *out);
void      pk_file_writer_add(pk_file_writer *w, const void *bytes, size_t n);
pk_status pk_file_writer_finish(pk_file_writer *w);
void      pk_file_writer_abandon(pk_file_writer *w); /* after finish: does nothing */
#endif
