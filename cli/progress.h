/* progress.h - a line on the terminal that shows how much of a long job is done.
 *
 * Shown only where standard error is a terminal, the output is not, and --quiet was not given. It
 * never gets longer than the terminal is wide. */
#ifndef PK_CLI_PROGRESS_H
#define PK_CLI_PROGRESS_H
#include "lines.h"

typedef struct pk_progress {
    bool                  shown, drawn;
    const pk_line_reader *input;
    double                begin, last;  /* seconds */
    uint64_t              lines, bytes; /* done before the present chunk */
} pk_progress;

double pk_cli_seconds(void); /* a clock that never jumps */
void   pk_progress_begin(pk_progress *p, const pk_cli *c, const pk_line_reader *input);
/* for pk_call_options: `user` is the pk_progress; the chunk is what the input last gave out */
int  pk_progress_report(void *user, size_t sentences_done, size_t sentences_in_all);
void pk_progress_chunk_done(pk_progress *p);
void pk_progress_end(pk_progress *p); /* clears the line */

/* for what is not counted in lines: the same, where nothing else is written to the terminal */
void pk_progress_begin_alone(pk_progress *p, const pk_cli *c);
/* share: of the whole, 0 to 1, negative if not known; left: seconds, negative if not known */
void pk_progress_show(pk_progress *p, double share, double left, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void pk_progress_clear(pk_progress *p); /* before a line that stays */
/* "1:02:03"; text has room for 24 */
const char *pk_cli_duration(double seconds, char *text);
#endif
