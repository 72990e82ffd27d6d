/* text_reader.c - read, decompress, cut into lines.
 *
 * Given a path, gives lines that point into one buffer. Invariant: text[begin .. end) is what has
 * been decompressed and not yet been given out, and text[begin .. seen) holds no newline. */
#include "base/text_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/decompress.h"
#include "base/memory.h"

enum { INPUT = 1 << 16, FIRST_ROOM = 1 << 17 };

struct pk_text_reader {
    char            *path;
    int              fd;
    bool             input_ended, ended; /* the file; the text */
    pk_decompressor *decompressor;
    size_t           at, n_input; /* input[at .. n_input) is still compressed */
    char            *text;
    size_t           room, begin, seen, end;
    uint64_t         line;
    unsigned char    input[INPUT];
};

/* at least `least` bytes of input, or all there is */
static pk_status read_input(pk_text_reader *r, size_t least) {
    r->at = r->n_input = 0;
    while (r->n_input < least && !r->input_ended) {
        const ssize_t n = read(r->fd, r->input + r->n_input, INPUT - r->n_input);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) PK_FAIL(PK_IO, "%s: %s", r->path, strerror(errno));
        if (n == 0) r->input_ended = true;
        r->n_input += (size_t)n;
    }
    return PK_OK;
}

/* the first bytes decide how the file is read */
static pk_status open_parts(pk_text_reader *r, const char *path) {
    PK_TRY(pk_memory_copy_text(path, strlen(path), &r->path));
    PK_TRY(PK_TAKE(&r->text, FIRST_ROOM));
    r->room = FIRST_ROOM;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
    PK_TRY(read_input(r, PK_DECOMPRESS_HEAD));
    return pk_decompressor_open(r->input, r->n_input, &r->decompressor);
}

pk_status pk_text_reader_open(const char *path, pk_text_reader **out) {
    pk_text_reader *r;
    *out = NULL;
    PK_TRY(PK_TAKE(&r, 1));
    r->fd = -1;
    const pk_status status = open_parts(r, path);
    if (status != PK_OK)
        pk_text_reader_close(r);
    else
        *out = r;
    return status;
}

void pk_text_reader_close(pk_text_reader *r) {
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    pk_decompressor_close(r->decompressor);
    pk_memory_give(r->text);
    pk_memory_give(r->path);
    pk_memory_give(r);
}

/* room behind the text: what was given out goes, then the buffer grows */
static pk_status make_room(pk_text_reader *r) {
    if (r->begin) {
        memmove(r->text, r->text + r->begin, r->end - r->begin);
        r->end -= r->begin, r->seen -= r->begin, r->begin = 0;
    }
    if (r->end < r->room) return PK_OK;
    if (r->room > PK_LONGEST_LINE)
        PK_FAIL(PK_FORMAT, "%s: line %llu is longer than %d MiB: is this text?", r->path,
                (unsigned long long)r->line + 1, PK_LONGEST_LINE >> 20);
    PK_TRY(PK_GROW(&r->text, 2 * r->room));
    r->room *= 2;
    return PK_OK;
}

/* moves bytes from the input to the end of the text */
static pk_status decompress(pk_text_reader *r) {
    pk_flow         f = { r->input + r->at, r->n_input - r->at, (unsigned char *)r->text + r->end,
                          r->room - r->end };
    const pk_status status = pk_decompressor_feed(r->decompressor, &f, r->input_ended);
    if (status != PK_OK) {
        pk_fail_context("%s", r->path);
        return status;
    }
    r->at = r->n_input - f.n_in;
    r->end = r->room - f.room;
    return PK_OK;
}

/* more text, or `ended` */
static pk_status fill(pk_text_reader *r) {
    PK_TRY(make_room(r));
    assert(r->begin <= r->seen && r->seen <= r->end && r->end < r->room);
    const size_t had = r->end;
    while (r->end == had && !r->ended) {
        if (r->at == r->n_input && !r->input_ended) PK_TRY(read_input(r, 1));
        PK_TRY(decompress(r));
        if (r->end != had || r->at < r->n_input || !r->input_ended) continue;
        if (!pk_decompressor_whole(r->decompressor))
            PK_FAIL(PK_FORMAT, "%s: the compressed file is cut off: get it again", r->path);
        r->ended = true;
    }
    return PK_OK;
}

/* text[begin .. stop) is a line, `next` where the following one begins */
static void give_line(pk_text_reader *r, size_t stop, size_t next, const char **line,
                      size_t *size) {
    static const char bom[3] = "\xEF\xBB\xBF"; /* byte order mark, U+FEFF */
    if (r->line == 0 && stop - r->begin >= sizeof bom &&
        memcmp(r->text + r->begin, bom, sizeof bom) == 0)
        r->begin += sizeof bom;
    if (stop > r->begin && r->text[stop - 1] == '\r') stop--;
    *line = r->text + r->begin;
    *size = stop - r->begin;
    r->begin = r->seen = next;
    r->line++;
}

pk_status pk_text_reader_next(pk_text_reader *r, const char **line, size_t *size) {
    *line = NULL;
    *size = 0;
    for (;;) {
        const char *stop = memchr(r->text + r->seen, '\n', r->end - r->seen);
        if (stop) {
            const size_t at = (size_t)(stop - r->text);
            give_line(r, at, at + 1, line, size);
            return PK_OK;
        }
        r->seen = r->end;
        if (r->ended) break;
        PK_TRY(fill(r));
    }
    if (r->begin < r->end) give_line(r, r->end, r->end, line, size);
    return PK_OK;
}
