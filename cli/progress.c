/* progress.c - draws the progress line: a bar where the size of the input is known, lines done,
 * lines a second, time left. Redrawn at most ten times a second. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double pk_cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void pk_progress_begin(pk_progress *p, const pk_cli *c, const pk_line_reader *input) {
    bool to_file = c->output && strcmp(c->output, "-");
    *p = (pk_progress){ .input = input, .begin = pk_cli_seconds() };
    p->shown = !c->quiet && isatty(STDERR_FILENO) && (to_file || !isatty(STDOUT_FILENO));
}

/* part: of the bytes of the input, 0 to 1; time left supposes that the rest goes as fast */
static void draw_bar(double part, double elapsed) {
    enum { CELLS = 24 };
    char     bar[CELLS + 1];
    int      full = (int)(part * CELLS);
    uint64_t left = part > 0 ? (uint64_t)(elapsed * (1 - part) / part + 0.5) : 0;
    for (int i = 0; i < CELLS; i++) bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[CELLS] = 0;
    fprintf(stderr, "[%s] %3.0f %%  ", bar, 100 * part);
    if (part > 0)
        fprintf(stderr, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left  ", left / 3600,
                left / 60 % 60, left % 60);
}

/* share: how much of the present chunk is done */
static void draw(pk_progress *p, double share) {
    double now = pk_cli_seconds(), elapsed = now - p->begin;
    if (!p->shown || now - p->last < 0.1) return;
    double lines = (double)p->lines + share * (double)(p->input->lines - p->lines);
    double bytes = (double)p->bytes + share * (double)(p->input->bytes - p->bytes);
    double part = p->input->file_bytes ? bytes / (double)p->input->file_bytes : 0;
    fputc('\r', stderr);
    if (p->input->file_bytes) draw_bar(part > 1 ? 1 : part, elapsed);
    fprintf(stderr, "%.0f lines, %.1f lines/s\033[K", lines, elapsed > 0 ? lines / elapsed : 0);
    fflush(stderr);
    p->last = now;
    p->drawn = true;
}

int pk_progress_report(void *user, size_t sentences_done, size_t sentences_in_all) {
    draw(user, sentences_in_all ? (double)sentences_done / (double)sentences_in_all : 0);
    return 0;
}

void pk_progress_chunk_done(pk_progress *p) {
    p->lines = p->input->lines;
    p->bytes = p->input->bytes;
    draw(p, 1);
}

void pk_progress_end(pk_progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = p->shown = false;
}
