/* lines.h - text in and out, line by line.
 *
 * A reader gives chunks of whole lines: as many as the limits allow, fewer when no more input is
 * waiting, so that a program that writes slowly gets answers at once. Line ends are kept apart from
 * the text. A writer says at close, and not before, that everything arrived. What is opened here
 * for reading is known to be an input (inputs.h). */
#ifndef PK_CLI_LINES_H
#define PK_CLI_LINES_H
#include "cli.h"

enum { PK_CHUNK_LINES = 2000, PK_CHUNK_BYTES = 1 << 20 };

typedef struct pk_line_reader {
    const char  *name; /* of the file, for messages */
    int          file;
    char        *data; /* lines given out lie before `start` */
    size_t       start, scanned, size, room;
    bool         ended;
    pk_text     *line;   /* the chunk: n lines without their ends */
    const char **ending; /* of each: "\n", "\r\n" or "" */
    size_t       n, n_room;
    uint64_t     lines, bytes; /* given out so far */
    uint64_t     file_bytes;   /* size of a plain file, else 0 */
} pk_line_reader;

/* path NULL or "-": standard input. 0 or an exit code, as below */
int pk_lines_open(const pk_cli *c, const char *path, pk_line_reader *out);
/* the next chunk; n == 0 at the end of the input */
int pk_lines_next(const pk_cli *c, pk_line_reader *r);
/* the next `most` lines whatever their size, waiting for them; fewer only at the end */
int  pk_lines_take(const pk_cli *c, pk_line_reader *r, size_t most);
void pk_lines_close(pk_line_reader *r);
/* lines of a plain file that was not read yet; false for pipes and the like */
bool pk_lines_count(const pk_line_reader *r, uint64_t *lines);

typedef struct pk_line_writer {
    const char *name;
    int         file;  /* -1: a whole file, written when it is closed */
    bool        fresh; /* a plain file whose old lines are still there */
    char       *data;
    size_t      size, room;
} pk_line_writer;

/* Path NULL or "-": standard output. Refuses a file that was opened for reading. What the file held
 * goes when the first line comes, or at the end: a verb that fails before has changed nothing. */
int pk_writer_open(const pk_cli *c, const char *path, pk_line_writer *out);
/* the same for what is one thing and not lines: kept in memory, and written when all went well */
int  pk_writer_open_whole(const pk_cli *c, const char *path, pk_line_writer *out);
void pk_writer_add(pk_line_writer *w, const char *bytes, size_t n);
void pk_writer_print(pk_line_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int pk_writer_flush(const pk_cli *c, pk_line_writer *w);
/* `code` is how it went so far: the first failure is what counts, and only it is reported */
int pk_writer_close(const pk_cli *c, pk_line_writer *w, int code);
#endif
