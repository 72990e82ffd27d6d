/* lines.c - reads lines in bounded chunks and writes text whole or says that it could not.
 *
 * Plain read() and write(): the program must know whether more input is waiting right now, and
 * must see every failure of the disk, which buffered streams hide until the end. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs.h"

enum {
    READ_BYTES = 1 << 16,
    FLUSH_BYTES = 1 << 16,
    PATIENCE_MS = 2 /* a pipe being filled needs less to refill */
};

static bool is_standard(const char *path) { return !path || !strcmp(path, "-"); }

int pk_lines_open(const pk_cli *c, const char *path, pk_line_reader *out) {
    struct stat about;
    bool        standard = is_standard(path);
    *out = (pk_line_reader){ .name = standard ? "standard input" : path };
    out->file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (out->file < 0 || fstat(out->file, &about))
        return pk_cli_fail(c, "cannot open %s: %s", out->name, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return pk_cli_fail(c, "cannot read %s: it is a folder, not a file", out->name);
    if (S_ISREG(about.st_mode)) out->file_bytes = (uint64_t)about.st_size;
    pk_inputs_add_file(c, &about);
    return 0;
}

void pk_lines_close(pk_line_reader *r) {
    if (r->file > STDERR_FILENO) close(r->file);
    free(r->data);
    free(r->line);
    free(r->ending);
    *r = (pk_line_reader){ .file = -1 };
}

bool pk_lines_count(const pk_line_reader *r, uint64_t *lines) {
    char    block[READ_BYTES], last = '\n';
    ssize_t got;
    off_t   at = 0;
    *lines = 0;
    if (r->file < 0 || !r->file_bytes || lseek(r->file, 0, SEEK_CUR) != 0) return false;
    while ((got = pread(r->file, block, sizeof block, at)) > 0) {
        for (ssize_t i = 0; i < got; i++) *lines += block[i] == '\n';
        last = block[got - 1];
        at += got;
    }
    *lines += last != '\n'; /* a last line without its newline */
    return got == 0;
}

/* one read(); the buffer holds the longest line and little more */
static int read_more(const pk_cli *c, pk_line_reader *r) {
    if (r->room - r->size < READ_BYTES) {
        r->room += r->room / 2 + READ_BYTES;
        r->data = pk_cli_grow(r->data, r->room, 1);
    }
    for (;;) {
        ssize_t got = read(r->file, r->data + r->size, READ_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pk_cli_fail(c, "cannot read %s: %s", r->name, strerror(errno));
        r->size += (size_t)got;
        r->ended = got == 0;
        return 0;
    }
}

/* whether input is waiting or comes within PATIENCE_MS */
static bool more_waits(const pk_line_reader *r) {
    struct pollfd ask = { .fd = r->file, .events = POLLIN };
    return poll(&ask, 1, PATIENCE_MS) != 0; /* also at the end, which read() then finds */
}

/* the line from `start` to `end`; offsets for now, as `data` may still move */
static void add_line(pk_line_reader *r, size_t end, bool newline) {
    if (r->n == r->n_room) {
        r->n_room += r->n_room / 2 + 64;
        r->line = pk_cli_grow(r->line, r->n_room, sizeof *r->line);
        r->ending = pk_cli_grow(r->ending, r->n_room, sizeof *r->ending);
    }
    size_t n = end - r->start;
    bool   carriage = newline && n > 0 && r->data[end - 1] == '\r';
    r->line[r->n].size = n - carriage;
    r->ending[r->n++] = carriage ? "\r\n" : newline ? "\n" : "";
    r->start = end + newline;
}

/* finds the lines in what was read but not scanned, until there are `most` */
static void scan(pk_line_reader *r, size_t most) {
    while (r->n < most) {
        char *end =
            r->scanned < r->size ? memchr(r->data + r->scanned, '\n', r->size - r->scanned) : NULL;
        r->scanned = end ? (size_t)(end - r->data) + 1 : r->size;
        if (!end) break;
        add_line(r, (size_t)(end - r->data), true);
    }
    if (r->ended && r->n < most && r->start < r->size) add_line(r, r->size, false);
}

/* Fills the chunk. `wait`: for all of `most` lines; else for the first whole line only, and then
 * for what comes without delay. Pointers are set at the end, when the buffer no longer moves. */
static int next(const pk_cli *c, pk_line_reader *r, size_t most, size_t bytes, bool wait) {
    /* what was given out makes room for what comes */
    if (r->start) memmove(r->data, r->data + r->start, r->size - r->start);
    r->size -= r->start;
    r->scanned -= r->start;
    r->start = r->n = 0;
    for (scan(r, most); r->n < most && !r->ended; scan(r, most)) {
        if (r->n && (r->size >= bytes || (!wait && !more_waits(r)))) break;
        int code = read_more(c, r);
        if (code) return code;
    }
    const char *at = r->data;
    for (size_t i = 0; i < r->n; i++) {
        r->line[i].data = at;
        at += r->line[i].size + strlen(r->ending[i]);
    }
    r->lines += r->n;
    r->bytes += r->start;
    return 0;
}

int pk_lines_next(const pk_cli *c, pk_line_reader *r) {
    return next(c, r, PK_CHUNK_LINES, PK_CHUNK_BYTES, false);
}

int pk_lines_take(const pk_cli *c, pk_line_reader *r, size_t most) {
    return next(c, r, most, SIZE_MAX, true);
}

/* O_TRUNC is not used: the old content stays until there is something to write */
int pk_writer_open(const pk_cli *c, const char *path, pk_line_writer *out) {
    bool        standard = is_standard(path);
    struct stat about;
    *out = (pk_line_writer){ .name = standard ? "standard output" : path, .file = -1 };
    int code = pk_inputs_refuse(c, path);
    if (code) return code;
    out->file = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (out->file < 0) return pk_cli_fail(c, "cannot write %s: %s", out->name, strerror(errno));
    out->fresh = !standard && !fstat(out->file, &about) && S_ISREG(about.st_mode);
    return 0;
}

int pk_writer_open_whole(const pk_cli *c, const char *path, pk_line_writer *out) {
    if (is_standard(path)) return pk_writer_open(c, path, out);
    *out = (pk_line_writer){ .name = path, .file = -1 };
    return pk_inputs_refuse(c, path);
}

void pk_writer_add(pk_line_writer *w, const char *bytes, size_t n) {
    if (!n) return;
    if (w->room - w->size < n) {
        w->room += w->room / 2 + n + FLUSH_BYTES;
        w->data = pk_cli_grow(w->data, w->room, 1);
    }
    memcpy(w->data + w->size, bytes, n);
    w->size += n;
}

void pk_writer_print(pk_line_writer *w, const char *format, ...) {
    char    text[128]; /* numbers and separators only */
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0) pk_writer_add(w, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* no message where the reader of a pipe has gone: `pronk ... | head` */
static int write_failed(const pk_cli *c, const pk_line_writer *w) {
    if (errno == EPIPE) return PK_EXIT_FAILED;
    return pk_cli_fail(c, "cannot write %s: %s", w->name, strerror(errno));
}

/* a `fresh` file loses its old contents only now, when there is something to write */
int pk_writer_flush(const pk_cli *c, pk_line_writer *w) {
    if (w->fresh && ftruncate(w->file, 0)) {
        w->size = 0;
        return write_failed(c, w);
    }
    w->fresh = false;
    for (size_t done = 0; done < w->size;) {
        ssize_t put = write(w->file, w->data + done, w->size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            w->size = 0;
            return write_failed(c, w);
        }
        done += (size_t)put;
    }
    w->size = 0;
    return 0;
}

/* close() can report a failed write too, on network file systems above all */
int pk_writer_close(const pk_cli *c, pk_line_writer *w, int code) {
    if (!code && w->file >= 0) code = pk_writer_flush(c, w);
    if (!code && w->file < 0 && w->name) {
        pk_status status = pk_file_write(w->name, w->data, w->size);
        if (status != PK_OK) code = pk_cli_fail_status(c, status);
    }
    if (w->file >= 0 && close(w->file) && !code) code = write_failed(c, w);
    free(w->data);
    *w = (pk_line_writer){ .file = -1 };
    return code;
}
