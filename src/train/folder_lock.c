/* folder_lock.c - a lock of the kernel on a file of the folder.
 *
 * The kernel releases it when the process ends, also when it is killed, so nothing has to be
 * cleaned up. The file stays: if it were removed while another process opens it, two processes
 * could each hold a lock on a file of that name. */
#include "train/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

/* Over NFS Linux turns flock() into a lock of the server, which other machines see too; other
 * systems keep it to the machine, and some file systems have none. Training goes on without. */
static pk_status lock(const char *folder, int fd, bool *held) {
    int failed;
    do failed = flock(fd, LOCK_EX | LOCK_NB);
    while (failed && errno == EINTR);
    *held = !failed;
    if (failed && errno == EWOULDBLOCK)
        PK_FAIL(PK_IO,
                "%s: another training is at work in this folder: wait until it is done, stop it, "
                "or give another output folder",
                folder);
    return PK_OK;
}

pk_status pk_folder_lock(const char *folder, int *fd) {
    char *path;
    bool  held = false;
    *fd = -1;
    PK_TRY(pk_path_in(folder, "lock", &path));
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    pk_status status = file < 0 ? pk_fail_with(PK_IO, "%s: cannot write: %s", path, strerror(errno))
                                : lock(folder, file, &held);
    pk_memory_give(path);
    if (held)
        *fd = file;
    else if (file >= 0)
        close(file);
    return status;
}

void pk_folder_unlock(int fd) {
    if (fd >= 0) close(fd);
}
