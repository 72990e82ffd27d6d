/* fuzz_help.h - what fuzz targets share: a law that stops the program when broken, the law of every
 * error, and a folder of files to be opened by path. */
#ifndef PK_TESTS_FUZZ_HELP_H
#define PK_TESTS_FUZZ_HELP_H
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LAW(holds) ((holds) ? (void)0 : abort())

/* a failure leaves one line; everything that was taken has been given back */
static inline void fuzz_check_end(pk_status status) {
    LAW(status == PK_OK || (*pk_last_error() && !strchr(pk_last_error(), '\n')));
    LAW(pk_memory_alive() == 0);
}

/* a folder that lives as long as the program; whoever set TMPDIR removes it */
static inline const char *fuzz_folder(void) {
    static char folder[128];
    if (*folder) return folder;
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.100s/pronk-fuzz-XXXXXX", where ? where : "/tmp");
    LAW(mkdtemp(folder));
    return folder;
}

/* the path of a file in that folder; valid until the next call */
static inline const char *fuzz_path(const char *name) {
    static char path[192];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

/* a file of that folder with these bytes */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size) {
    const char *path = fuzz_path(name);
    unlink(path); /* a link to a fixture must not be written through */
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    LAW(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    return path;
}

/* the file of that name in the folder is a link to the one of a model of the tests */
static inline void fuzz_link(const char *model, const char *name) {
    char wanted[96], whole[PATH_MAX];
    snprintf(wanted, sizeof wanted, "%s/%s", model, name);
    LAW(realpath(wanted, whole));
    unlink(fuzz_path(name));
    LAW(symlink(whole, fuzz_path(name)) == 0);
}
#endif
