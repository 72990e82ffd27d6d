/* package.c - files by name, mapped from a folder or unpacked from an archive.
 *
 * Whoever reads a model asks for files by name and does not know which of the two it is. Every file
 * has a largest size, which is checked before memory is taken. */
#include "model/package.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"

void pk_package_of_folder(const char *path, pk_file_ids *files, pk_package *out) {
    *out = (pk_package){ .path = path, .files = files, .top = "" };
}

/* ---- Archives ---- */

/* the entry "main_file" or "folder/main_file", whose folder all others must share with it */
static pk_status find_top(pk_package *p, const char *main_file) {
    const size_t n = strlen(main_file);
    for (size_t i = 0; i < p->zip.n; i++) {
        const pk_zip_entry *e = &p->zip.entry[i];
        if (e->name_size < n || memcmp(e->name + e->name_size - n, main_file, n) != 0) continue;
        const size_t top = e->name_size - n;
        const char  *slash = memchr(e->name, '/', e->name_size);
        if (top && slash != e->name + top - 1) continue; /* deeper, or only ends like it */
        if (p->top)
            PK_FAIL(PK_FORMAT, "it has more than one %s: one package, one model", main_file);
        p->top = e->name;
        p->top_size = top;
    }
    if (!p->top) PK_FAIL(PK_FORMAT, "it has no %s", main_file);
    return PK_OK;
}

pk_status pk_package_of_zip(const char *path, const char *main_file, pk_file_ids *files,
                            pk_package *out) {
    *out = (pk_package){ .path = path, .files = files };
    PK_TRY(pk_file_ids_add(files, path));
    PK_TRY(pk_file_map_open(path, &out->map));
    pk_status status = pk_zip_open(out->map.data, out->map.size, &out->zip);
    if (status == PK_OK) status = find_top(out, main_file);
    if (status == PK_OK) return PK_OK;
    pk_fail_context("%s", path);
    pk_package_close(out);
    return status;
}

void pk_package_close(pk_package *p) {
    pk_zip_close(&p->zip);
    pk_file_map_close(&p->map);
}

static const pk_zip_entry *find_entry(const pk_package *p, const char *name) {
    char         full[PK_PACKAGE_PATH];
    const size_t n = strlen(name);
    if (p->top_size + n > sizeof full) return NULL;
    memcpy(full, p->top, p->top_size);
    memcpy(full + p->top_size, name, n);
    return pk_zip_find(&p->zip, full, p->top_size + n);
}

static pk_status unpack(const pk_package *p, const char *name, size_t most, pk_package_file *out) {
    const pk_zip_entry *e = find_entry(p, name);
    if (!e) PK_FAIL(PK_FORMAT, "it is missing");
    PK_TRY(pk_zip_unpack(e, most, &out->block));
    out->data = out->block;
    out->size = e->size;
    return PK_OK;
}

/* ---- Both ---- */

bool pk_package_has(const pk_package *p, const char *name) {
    return p->map.data ? find_entry(p, name) != NULL : pk_path_has(p->path, name);
}

void pk_package_blame(const pk_package *p, const char *name) {
    pk_fail_context("%s/%s", p->path, name);
}

/* a file of a folder is used where it is mapped; the size is known before a page is read */
static pk_status map(const pk_package *p, const char *name, size_t most, pk_package_file *out) {
    char *path;
    PK_TRY(pk_path_in(p->path, name, &path));
    pk_status status = pk_file_ids_add(p->files, path);
    if (status == PK_OK) status = pk_file_map_open(path, &out->map);
    pk_memory_give(path);
    PK_TRY(status);
    out->data = out->map.data;
    out->size = out->map.size;
    if (out->size > most)
        PK_FAIL(PK_FORMAT, "%zu bytes: more than the %zu there may be", out->size, most);
    return PK_OK;
}

pk_status pk_package_read(const pk_package *p, const char *name, size_t most,
                          pk_package_file *out) {
    *out = (pk_package_file){ 0 };
    const pk_status status = p->map.data ? unpack(p, name, most, out) : map(p, name, most, out);
    if (status == PK_OK) return PK_OK;
    pk_package_blame(p, name);
    pk_package_file_close(out);
    return status;
}

void pk_package_file_close(pk_package_file *f) {
    pk_file_map_close(&f->map);
    pk_memory_give(f->block);
    *f = (pk_package_file){ 0 };
}
