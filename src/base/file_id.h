/* file_id.h - which file it is, by whatever name: device and inode.
 *
 * Code that writes a file keeps a list of the files it reads, and refuses an output that is one of
 * them. Names are not enough: hard and symbolic links are other names of the same file. A terminal
 * or a socket may be both. */
#ifndef PK_BASE_FILE_ID_H
#define PK_BASE_FILE_ID_H
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_file_id {
    uint64_t device, inode;
} pk_file_id;

typedef struct pk_file_ids {
    pk_file_id *id;
    size_t      n, room;
} pk_file_ids;

/* false where there is no such file, or it is a terminal or socket, which holds nothing to lose */
bool pk_file_id_of(const char *path, pk_file_id *out);
/* a file that does not exist is left out; opening it will report that */
pk_status pk_file_ids_add(pk_file_ids *list, const char *path);
bool      pk_file_ids_have(const pk_file_ids *list, pk_file_id id);
void      pk_file_ids_free(pk_file_ids *list);
/* PK_ARGUMENT where the output is one of the list */
pk_status pk_file_ids_refuse(const pk_file_ids *inputs, const char *output);
/* true where both paths lead to one file, also to one that does not exist yet */
bool pk_file_same(const char *a, const char *b);
#endif
