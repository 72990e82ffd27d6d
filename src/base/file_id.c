/* file_id.c - a list of files by device and inode. */
#include "base/file_id.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

bool pk_file_id_of(const char *path, pk_file_id *out) {
    struct stat about;
    if (stat(path, &about) != 0 || S_ISCHR(about.st_mode) || S_ISSOCK(about.st_mode)) return false;
    *out = (pk_file_id){ (uint64_t)about.st_dev, (uint64_t)about.st_ino };
    return true;
}

pk_status pk_file_ids_add(pk_file_ids *list, const char *path) {
    pk_file_id id;
    if (!pk_file_id_of(path, &id)) return PK_OK;
    PK_TRY(PK_RESERVE(&list->id, list->n + 1, &list->room));
    list->id[list->n++] = id;
    return PK_OK;
}

bool pk_file_ids_have(const pk_file_ids *list, pk_file_id id) {
    for (size_t i = 0; i < list->n; i++)
        if (list->id[i].device == id.device && list->id[i].inode == id.inode) return true;
    return false;
}

void pk_file_ids_free(pk_file_ids *list) {
    pk_memory_give(list->id);
    *list = (pk_file_ids){ 0 };
}

pk_status pk_file_ids_refuse(const pk_file_ids *inputs, const char *output) {
    pk_file_id id;
    if (pk_file_id_of(output, &id) && pk_file_ids_have(inputs, id))
        PK_FAIL(PK_ARGUMENT, "%s is also an input: write to another file", output);
    return PK_OK;
}

/* Links are followed. Where the last part of a path does not exist, glibc's realpath() fails and
 * has still resolved all of it. */
static const char *resolve(const char *path, char whole[PATH_MAX]) {
    whole[0] = '\0';
    return realpath(path, whole) || whole[0] ? whole : path;
}

bool pk_file_same(const char *a, const char *b) {
    struct stat about[2];
    pk_file_id  one, other;
    char        whole[2][PATH_MAX];
    const bool  there = stat(a, &about[0]) == 0;
    if (there != (stat(b, &about[1]) == 0)) return false;
    if (!there) return strcmp(resolve(a, whole[0]), resolve(b, whole[1])) == 0;
    return pk_file_id_of(a, &one) && pk_file_id_of(b, &other) && one.device == other.device &&
           one.inode == other.inode;
}
