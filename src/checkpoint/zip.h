/* zip.h - finds the files inside a zip archive that lies in memory. Only what torch.save writes:
 * entries stored as they are, not compressed, not encrypted; archives beyond 4 GB (zip64) included.
 */
#ifndef PK_CHECKPOINT_ZIP_H
#define PK_CHECKPOINT_ZIP_H
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_zip_entry {
    const char          *name; /* borrowed from the archive, not NUL-terminated */
    size_t               name_size;
    const unsigned char *data; /* inside the archive */
    size_t               size;
} pk_zip_entry;

typedef struct pk_zip {
    pk_zip_entry *entry; /* sorted by name */
    size_t        n;
} pk_zip;

bool                pk_zip_is(const unsigned char *data, size_t size);
pk_status           pk_zip_open(const unsigned char *data, size_t size, pk_zip *out);
void                pk_zip_close(pk_zip *z);
const pk_zip_entry *pk_zip_find(const pk_zip *z, const char *name,
                                size_t name_size); /* NULL: none */
#endif
