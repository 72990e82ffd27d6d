/* file_writer.c - temporary file, fsync and rename; or in place where there is nothing to
 * rename. */
#include "base/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { MOST_LINKS = 40, MOST_NAMES = 100, SUFFIX = 40 };

static pk_status cannot_write(const pk_file_writer *w, int why) {
    return pk_fail_with(PK_IO, "%s: cannot write: %s", w->path, strerror(why));
}

/* ---- Where it goes ---- */

/* One step along a link: `path` becomes what it points to. 0, or why not. */
static int follow_link(char path[PATH_MAX]) {
    char          target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target);
    const char   *slash = strrchr(path, '/');
    const size_t  folder = slash && n > 0 && target[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    if (n < 0) return errno;
    if (folder + (size_t)n >= PATH_MAX) return ENAMETOOLONG;
    memcpy(path + folder, target, (size_t)n);
    path[folder + (size_t)n] = '\0';
    return 0;
}

/* what a name that leads nowhere yet would make: links to what is not there are followed as well */
static int follow_links(const char *name, char path[PATH_MAX]) {
    struct stat about;
    const int   n = snprintf(path, PATH_MAX, "%s", name);
    if (n < 0 || n >= PATH_MAX) return ENAMETOOLONG;
    for (int i = 0; i < MOST_LINKS; i++) {
        if (lstat(path, &about) != 0 || !S_ISLNK(about.st_mode)) return 0;
        const int why = follow_link(path);
        if (why) return why;
    }
    return ELOOP;
}

/* links of the kernel (/dev/stdout) lead to names that only realpath() understands */
static int find_target(const char *name, bool there, char path[PATH_MAX]) {
    if (!there) return follow_links(name, path);
    if (!realpath(name, path)) return errno;
    return access(path, W_OK) == 0 ? 0 : errno; /* protected, though its folder is not */
}

/* ---- Opening ---- */

/* A name that no file has yet: an existing file may be the user's. */
static pk_status open_temporary(pk_file_writer *w) {
    const size_t room = strlen(w->target) + SUFFIX;
    PK_TRY(PK_TAKE(&w->temporary, room));
    for (int i = 0; i < MOST_NAMES; i++) {
        snprintf(w->temporary, room, "%s.%ld-%d.part", w->target, (long)getpid(), i);
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0 || errno != EEXIST) break;
    }
    if (w->fd >= 0) return PK_OK;
    w->temporary[0] = '\0'; /* not ours to remove */
    return cannot_write(w, errno);
}

/* Owner first, as changing it may take away bits of the mode. No failure is worth giving up for:
 * only root may give files away, and some file systems keep no modes. */
static void keep_mode(const pk_file_writer *w, const struct stat *old) {
    const bool owner = fchown(w->fd, old->st_uid, old->st_gid) == 0;
    const bool mode = fchmod(w->fd, old->st_mode & 0777) == 0;
    (void)owner, (void)mode;
}

/* folders are refused, pipes and devices opened as they are, files written beside and renamed */
static pk_status open_target(pk_file_writer *w, const char *path) {
    struct stat about;
    char        target[PATH_MAX];
    PK_TRY(pk_memory_copy_text(path, strlen(path), &w->path));
    const bool there = stat(path, &about) == 0;
    if (there && S_ISDIR(about.st_mode)) return cannot_write(w, EISDIR);
    if (there && !S_ISREG(about.st_mode)) {
        w->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return w->fd >= 0 ? PK_OK : cannot_write(w, errno);
    }
    const int why = find_target(path, there, target);
    if (why) return cannot_write(w, why);
    PK_TRY(pk_memory_copy_text(target, strlen(target), &w->target));
    PK_TRY(open_temporary(w));
    if (there) keep_mode(w, &about);
    return PK_OK;
}

pk_status pk_file_writer_open(const char *path, pk_file_writer *out) {
    *out = (pk_file_writer){ .fd = -1 };
    const pk_status status = open_target(out, path);
    if (status != PK_OK) pk_file_writer_abandon(out);
    return status;
}

/* ---- Writing ---- */

void pk_file_writer_add(pk_file_writer *w, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n && w->status == PK_OK) {
        const ssize_t done = write(w->fd, from, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            w->status = cannot_write(w, done < 0 ? errno : ENOSPC);
            return;
        }
        from += done;
        n -= (size_t)done;
        w->size += (size_t)done;
    }
}

/* on disk and under its name; 0, or why not */
static int put_into_effect(pk_file_writer *w) {
    const int fd = w->fd;
    const int why = w->target && fsync(fd) != 0 ? errno : 0;
    w->fd = -1;
    if (close(fd) != 0 && !why) return errno;
    if (why || !w->target) return why;
    if (rename(w->temporary, w->target) != 0) return errno;
    w->temporary[0] = '\0'; /* nothing is left to remove */
    return 0;
}

pk_status pk_file_writer_finish(pk_file_writer *w) {
    if (w->status == PK_OK) {
        const int why = put_into_effect(w);
        if (why) w->status = cannot_write(w, why);
    }
    const pk_status status = w->status;
    pk_file_writer_abandon(w);
    return status;
}

void pk_file_writer_abandon(pk_file_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->temporary && w->temporary[0]) unlink(w->temporary);
    pk_memory_give(w->temporary);
    pk_memory_give(w->target);
    pk_memory_give(w->path);
    *w = (pk_file_writer){ .fd = -1 };
}

pk_status pk_file_write(const char *path, const void *data, size_t size) {
    pk_file_writer w;
    if (!path || !*path || (size && !data)) PK_FAIL(PK_ARGUMENT, "no file to write, or no data");
    PK_TRY(pk_file_writer_open(path, &w));
    pk_file_writer_add(&w, data, size);
    return pk_file_writer_finish(&w);
}
