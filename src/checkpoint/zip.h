/* zip.h - finds the files inside a zip archive that lies in memory, and unpacks them in memory.
 * Entries are stored as they are or deflated, not encrypted; archives beyond 4 GB (zip64) included.
 * Nothing is ever written to a disk, so names may be anything. */
#ifndef PK_CHECKPOINT_ZIP_H
#define PK_CHECKPOINT_ZIP_H
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_zip_entry {
    const char          *name; /* borrowed from the archive, not NUL-terminated */
    size_t               name_size;
    const unsigned char *data;         /* inside the archive: `packed` bytes */
    size_t               packed, size; /* the same unless deflated */
    bool                 deflated;
    uint32_t             checksum;
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
/* The bytes of an entry in a block that the caller gives back. What has more than `most` bytes, or
 * is blown up beyond what weights and texts can be (a zip bomb), is refused before memory is
 * taken. */
pk_status pk_zip_unpack(const pk_zip_entry *e, size_t most, void **out);
#endif
