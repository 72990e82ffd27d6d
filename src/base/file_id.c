/* file_id.c - a list of files by device and inode. */
#include "base/file_id.h"

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
