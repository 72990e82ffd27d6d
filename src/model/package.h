/* package.h - within model/: the files of a model by name, whether they lie in a folder or in a zip
 * archive. An archive is never extracted: what is asked for is unpacked in memory, up to a size. */
#ifndef PK_MODEL_PACKAGE_H
#define PK_MODEL_PACKAGE_H
#include "base/file_id.h"
#include "base/file_map.h"
#include "checkpoint/zip.h"

enum { PK_PACKAGE_PATH = 4096 };

typedef struct pk_package {
    const char  *path;  /* of the folder or the archive */
    pk_file_ids *files; /* those that were read */
    pk_file_map  map;   /* the archive, or nothing */
    pk_zip       zip;
    const char  *top; /* the folder inside the archive that all names begin with; not closed */
    size_t       top_size;
} pk_package;

typedef struct pk_package_file {
    const unsigned char *data;
    size_t               size;
    pk_file_map          map; /* either of these is behind the data */
    void                *block;
} pk_package_file;

/* a folder opens nothing; of an archive the directory is read, and `main_file` names a file whose
 * folder is the top one */
void      pk_package_of_folder(const char *path, pk_file_ids *files, pk_package *out);
pk_status pk_package_of_zip(const char *path, const char *main_file, pk_file_ids *files,
                            pk_package *out);
void      pk_package_close(pk_package *p);

bool pk_package_has(const pk_package *p, const char *name);
/* a whole file of at most so many bytes; errors name it */
pk_status pk_package_read(const pk_package *p, const char *name, size_t most, pk_package_file *out);
void      pk_package_file_close(pk_package_file *f);
/* "path/name: " before what went wrong */
void pk_package_blame(const pk_package *p, const char *name);
#endif
