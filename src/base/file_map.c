/* file_map.c - mmap for reading; temporary file, fsync and rename for writing. */
#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

pk_status pk_file_map_open(const char *path, pk_file_map *out) {
    struct stat info;
    *out = (pk_file_map){ 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        PK_FAIL(PK_IO, "%s: not a regular file", path);
    }
    void *data = NULL;
    if (info.st_size > 0) data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int why = errno;
    close(fd);
    if (data == MAP_FAILED) PK_FAIL(PK_IO, "%s: cannot map: %s", path, strerror(why));
    *out = (pk_file_map){ data, (size_t)info.st_size };
    return PK_OK;
}

void pk_file_map_close(pk_file_map *map) {
    if (map->data) munmap((void *)map->data, map->size);
    *map = (pk_file_map){ 0 };
}

pk_status pk_file_writer_open(const char *path, pk_file_writer *out) {
    const size_t n = strlen(path);
    *out = (pk_file_writer){ .fd = -1 };
    PK_TRY(pk_memory_copy_text(path, n, &out->path));
    pk_status status = PK_TAKE(&out->temporary, n + 32);
    if (status == PK_OK) {
        snprintf(out->temporary, n + 32, "%s.%ld.part", path, (long)getpid());
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (out->fd < 0)
            status = pk_fail_with(PK_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    if (status != PK_OK) pk_file_writer_abandon(out);
    return status;
}

void pk_file_writer_add(pk_file_writer *w, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n && w->status == PK_OK) {
        const ssize_t done = write(w->fd, from, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            w->status = PK_IO;
            pk_fail_with(PK_IO, "%s: cannot write: %s", w->path,
                         strerror(done < 0 ? errno : ENOSPC));
            return;
        }
        from += done;
        n -= (size_t)done;
        w->size += (size_t)done;
    }
}

pk_status pk_file_writer_finish(pk_file_writer *w) {
    if (w->status == PK_OK && (fsync(w->fd) != 0 || close(w->fd) != 0))
        w->status = PK_IO;
    else if (w->status != PK_OK)
        close(w->fd);
    w->fd = -1;
    if (w->status == PK_OK && rename(w->temporary, w->path) != 0) w->status = PK_IO;
    if (w->status == PK_IO && errno)
        pk_fail_with(PK_IO, "%s: cannot write: %s", w->path, strerror(errno));
    const pk_status status = w->status;
    if (status == PK_OK) w->temporary[0] = '\0';
    pk_file_writer_abandon(w);
    return status;
}

void pk_file_writer_abandon(pk_file_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->temporary && w->temporary[0]) unlink(w->temporary);
    pk_memory_give(w->temporary);
    pk_memory_give(w->path);
    *w = (pk_file_writer){ .fd = -1 };
}
