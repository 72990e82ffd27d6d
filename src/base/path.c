/* path.c - names of files in folders. */
#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

pk_status pk_path_in(const char *folder, const char *name, char **out) {
    const size_t n = strlen(folder) + strlen(name) + 2;
    PK_TRY(PK_TAKE(out, n));
    snprintf(*out, n, "%s/%s", folder, name);
    return PK_OK;
}

bool pk_path_has(const char *folder, const char *name) {
    char        path[PATH_MAX];
    struct stat info;
    const int   n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && n < (int)sizeof path && stat(path, &info) == 0;
}
