/* path.c - folders, and names of files in them. */
#include "base/path.h"

#include <errno.h>
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

/* like mkdir -p: each part of the path in turn; folders that exist are fine */
pk_status pk_path_make_folder(const char *path) {
    struct stat info;
    char       *copy;
    PK_TRY(pk_memory_copy_text(path, strlen(path), &copy));
    int failed = *path ? 0 : ENOENT;
    for (char *at = copy + 1; !failed && at[-1]; at++) {
        const char was = *at;
        if (was && was != '/') continue;
        *at = '\0'; /* the path so far */
        failed = mkdir(copy, 0777) == 0 || errno == EEXIST ? 0 : errno;
        *at = was;
    }
    pk_memory_give(copy);
    if (!failed && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))) failed = ENOTDIR;
    if (failed) PK_FAIL(PK_IO, "%s: cannot make this folder: %s", path, strerror(failed));
    return PK_OK;
}
