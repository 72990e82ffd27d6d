/* importer.c - opens a model from whatever the path is, by asking each importer in turn. */
#include "model/importer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"

#define ADDRESS(name) &pk_importer_##name,
static const pk_importer *const importers[] = { PK_IMPORTER_MAP(ADDRESS) };
enum { N_IMPORTERS = sizeof importers / sizeof *importers };

/* says what kinds of path there are, from the same list that was asked */
static pk_status refuse(const char *path) {
    pk_buffer known = { 0 };
    for (size_t i = 0; i < N_IMPORTERS; i++)
        pk_buffer_print(&known, "%s%s", i ? ", or " : "", importers[i]->what);
    const pk_status status = pk_fail_with(PK_IO, "%s: not a model; a model is %s", path,
                                          known.data ? known.data : "a file");
    pk_buffer_free(&known);
    return status;
}

pk_status pk_model_data_open(const char *path, int type, pk_model_data *out) {
    struct stat info;
    *out = (pk_model_data){ 0 };
    if (type < -1 || type >= PK_N_STORED_DTYPES)
        PK_FAIL(PK_ARGUMENT, "no such type of weights: %d", type);
    if (stat(path, &info) != 0) PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
    for (size_t i = 0; i < N_IMPORTERS; i++)
        if (importers[i]->recognises(path)) return importers[i]->open(path, type, out);
    return refuse(path);
}
