/* line_output.c - finds where the whole lines of a file end, and writes behind them.
 *
 * A program that was killed leaves half a line, a machine that lost its power also bytes of zero.
 * Opening only looks; pk_line_output_begin() cuts off what is not whole. */
#include "distill/line_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

/* Lines that are whole, and the bytes they take. A line holds no NUL: where there is one, the disk
 * never got what was written there. */
static pk_status find_end(pk_line_output *o) {
    char  block[BLOCK];
    off_t at = 0;
    for (;;) {
        const ssize_t n = pread(o->file, block, sizeof block, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) PK_FAIL(PK_IO, "%s: %s", o->path, strerror(errno));
        for (ssize_t i = 0; i < n; i++) {
            if (block[i] == 0) return PK_OK;
            if (block[i] != '\n') continue;
            o->end = at + i + 1;
            o->lines++;
        }
        if (n == 0) return PK_OK;
        at += n;
    }
}

/* A pipe is opened for writing alone. If it were also open for reading here, writing would never
 * fail when its reader has gone. */
static int open_file(const char *path) {
    struct stat about;
    const bool  plain = stat(path, &about) != 0 || S_ISREG(about.st_mode);
    return open(path, plain ? O_RDWR | O_CREAT | O_CLOEXEC : O_WRONLY | O_CLOEXEC, 0666);
}

pk_status pk_line_output_open(pk_line_output *o, const char *path, bool resume) {
    struct stat about;
    *o = (pk_line_output){ .path = path };
    o->file = open_file(path);
    if (o->file < 0 || fstat(o->file, &about))
        PK_FAIL(PK_IO, "%s: cannot write: %s", path, strerror(errno));
    o->plain = S_ISREG(about.st_mode);
    if (!o->plain && resume)
        PK_FAIL(PK_ARGUMENT, "%s is no plain file: it cannot be gone on with", path);
    if (!o->plain || about.st_size == 0) return PK_OK;
    if (!resume)
        PK_FAIL(PK_ARGUMENT, "%s is there already: go on with it (resume) or remove it first",
                path);
    return find_end(o);
}

pk_status pk_line_output_begin(pk_line_output *o) {
    if (o->plain && (ftruncate(o->file, o->end) || lseek(o->file, o->end, SEEK_SET) != o->end))
        PK_FAIL(PK_IO, "%s: cannot go on with it: %s", o->path, strerror(errno));
    return PK_OK;
}

/* A write may be partial or interrupted: repeated until all is written. */
pk_status pk_line_output_add(pk_line_output *o, const pk_buffer *whole_lines) {
    PK_TRY(pk_buffer_status(whole_lines));
    for (size_t done = 0; done < whole_lines->size;) {
        const ssize_t n = write(o->file, whole_lines->data + done, whole_lines->size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) PK_FAIL(PK_IO, "%s: cannot write: %s", o->path, strerror(errno));
        done += (size_t)n;
    }
    for (size_t i = 0; i < whole_lines->size; i++) o->lines += whole_lines->data[i] == '\n';
    return PK_OK;
}

pk_status pk_line_output_close(pk_line_output *o, pk_status status) {
    const int file = o->file;
    o->file = -1;
    if (file >= 0 && close(file) && status == PK_OK)
        PK_FAIL(PK_IO, "%s: cannot write: %s", o->path, strerror(errno));
    return status;
}
