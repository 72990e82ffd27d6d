/* file_map.h - whole files, mapped for reading.
 *
 * What is mapped changes when the file is written in place, and a page that is cut off can no
 * longer be read at all (SIGBUS). Code that keeps a mapping checks now and then whether the file
 * was changed. Replacing a file by rename is no change: the mapping is still of the old file. */
#ifndef PK_BASE_FILE_MAP_H
#define PK_BASE_FILE_MAP_H
#include <stdbool.h>
#include <time.h>

#include "base/status.h"

typedef struct pk_file_map {
    const unsigned char *data; /* NULL when the file is empty */
    size_t               size;
    int                  fd; /* of what is mapped, where there is data */
    uint64_t             device, inode;
    struct timespec      changed; /* when the file was last written to */
} pk_file_map;

/* regular files only; never waits for the writer of a pipe */
pk_status pk_file_map_open(const char *path, pk_file_map *out);
void      pk_file_map_close(pk_file_map *map); /* accepts a zeroed map */
/* false: written to or cut off since it was opened */
bool pk_file_map_is_as_opened(const pk_file_map *map);
#endif
