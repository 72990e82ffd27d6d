/* progress.c - draws the progress line: a bar where the size of the whole is known, time left, and
 * what the caller says. Redrawn at most ten times a second. */
#include "progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { CELLS = 16, LINE = 512 };

double pk_cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

const char *pk_cli_duration(double seconds, char *text) {
    uint64_t whole = seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds + 0.5) : 0;
    snprintf(text, 24, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / 3600, whole / 60 % 60,
             whole % 60);
    return text;
}

/* The line is cleared before a signal ends the program, as it would have. */
static void clear_and_end(int number) {
    static const char clear[] = "\r\033[K";
    if (write(STDERR_FILENO, clear, sizeof clear - 1) < 0) { /* nothing can be done about it */
    }
    raise(number); /* now with its default action: SA_RESETHAND */
}

/* only what would end the program: what is ignored or handled stays so */
static void watch(bool on) {
    static const int list[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction now, then = { .sa_handler = on ? clear_and_end : SIG_DFL };
    then.sa_flags = on ? (int)SA_RESETHAND : 0;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!sigaction(list[i], NULL, &now) && now.sa_handler == (on ? SIG_DFL : clear_and_end))
            sigaction(list[i], &then, NULL);
}

/* not shown where translations go to the same terminal */
void pk_progress_begin(pk_progress *p, const pk_cli *c, const pk_line_reader *input) {
    bool to_file = c->output && strcmp(c->output, "-");
    *p = (pk_progress){ .input = input, .begin = pk_cli_seconds() };
    p->shown = !c->quiet && isatty(STDERR_FILENO) && (to_file || !isatty(STDOUT_FILENO));
    if (p->shown) watch(true);
}

void pk_progress_begin_alone(pk_progress *p, const pk_cli *c) {
    *p = (pk_progress){ .begin = pk_cli_seconds() };
    p->shown = !c->quiet && isatty(STDERR_FILENO);
    if (p->shown) watch(true);
}

/* "[====>           ]  25 %  0:01:02 left  "; share: 0 to 1. Returns how many columns it took. */
static int draw_bar(char *out, size_t room, double share, double left) {
    char bar[CELLS + 1], time[24];
    int  full = (int)(share * CELLS);
    for (int i = 0; i < CELLS; i++) bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[CELLS] = 0;
    if (left < 0) return snprintf(out, room, "[%s] %3.0f %%  ", bar, 100 * share);
    return snprintf(out, room, "[%s] %3.0f %%  %s left  ", bar, 100 * share,
                    pk_cli_duration(left, time));
}

/* what the terminal shows in one line; a longer one would not be redrawn but repeated */
static int columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2) return 79;
    return size.ws_col - 1;
}

void pk_progress_show(pk_progress *p, double share, double left, const char *format, ...) {
    double  now = pk_cli_seconds();
    char    line[LINE];
    int     n = 0;
    va_list arguments;
    if (!p->shown || now - p->last < 0.1) return;
    if (share >= 0) n = draw_bar(line, sizeof line, share < 1 ? share : 1, left);
    va_start(arguments, format);
    vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r%.*s\033[K", columns(), line);
    fflush(stderr);
    p->last = now;
    p->drawn = true;
}

/* share: how much of the present chunk is done; time left supposes that the rest goes as fast */
static void draw(pk_progress *p, double share) {
    double elapsed = pk_cli_seconds() - p->begin;
    double lines = (double)p->lines + share * (double)(p->input->lines - p->lines);
    double bytes = (double)p->bytes + share * (double)(p->input->bytes - p->bytes);
    double part = p->input->file_bytes ? bytes / (double)p->input->file_bytes : -1;
    double left = part > 0 && part < 1 ? elapsed * (1 - part) / part : part >= 1 ? 0 : -1;
    pk_progress_show(p, part, left, "%.0f lines, %.1f lines/s", lines,
                     elapsed > 0 ? lines / elapsed : 0);
}

int pk_progress_report(void *user, size_t sentences_done, size_t sentences_in_all) {
    if (!sentences_in_all) return pk_progress_show(user, 0, -1, "reading"), 0;
    draw(user, (double)sentences_done / (double)sentences_in_all);
    return 0;
}

void pk_progress_chunk_done(pk_progress *p) {
    p->lines = p->input->lines;
    p->bytes = p->input->bytes;
    draw(p, 1);
}

void pk_progress_clear(pk_progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
    p->last = 0;
}

void pk_progress_end(pk_progress *p) {
    pk_progress_clear(p);
    if (p->shown) watch(false);
    p->shown = false;
}
