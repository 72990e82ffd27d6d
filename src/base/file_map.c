/* file_map.c - mmap for reading, and whether what was mapped is still what the file holds. */
#include "base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kind of file is checked before it is opened, since opening a pipe waits for its writer and
 * opening a device may do anything. It is checked again afterwards: the path may have changed in
 * between. */
static pk_status open_regular(const char *path, int *fd, struct stat *about) {
    *fd = -1;
    if (stat(path, about) != 0) PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
    if (S_ISREG(about->st_mode)) {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (*fd < 0) PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
        if (fstat(*fd, about) == 0 && S_ISREG(about->st_mode)) return PK_OK;
        close(*fd);
    }
    PK_FAIL(PK_IO, "%s: not a regular file", path);
}

pk_status pk_file_map_open(const char *path, pk_file_map *out) {
    struct stat about;
    int         fd;
    *out = (pk_file_map){ 0 };
    PK_TRY(open_regular(path, &fd, &about));
    if (about.st_size == 0) {
        close(fd);
        return PK_OK;
    }
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        const int why = errno;
        close(fd);
        PK_FAIL(PK_IO, "%s: cannot map: %s", path, strerror(why));
    }
    *out = (pk_file_map){ .data = data,
                          .size = (size_t)about.st_size,
                          .fd = fd,
                          .device = (uint64_t)about.st_dev,
                          .inode = (uint64_t)about.st_ino,
                          .changed = about.st_mtim };
    return PK_OK;
}

void pk_file_map_close(pk_file_map *map) {
    if (map->data) {
        munmap((void *)map->data, map->size);
        close(map->fd);
    }
    *map = (pk_file_map){ 0 };
}

/* A program that closes all descriptors, as daemons do, has closed ours too. Nothing is known then:
 * the answer is yes. */
bool pk_file_map_is_as_opened(const pk_file_map *map) {
    struct stat now;
    if (!map->data || fstat(map->fd, &now) != 0 || (uint64_t)now.st_dev != map->device ||
        (uint64_t)now.st_ino != map->inode)
        return true;
    return (uint64_t)now.st_size == map->size && now.st_mtim.tv_sec == map->changed.tv_sec &&
           now.st_mtim.tv_nsec == map->changed.tv_nsec;
}
