/* log.c - lines for the operator, on standard error. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "routes.h"
#include "seconds.h"

/* set once, before there are threads */
static bool is_quiet, has_requests;

void pk_log_open(bool quiet, bool requests) {
    is_quiet = quiet;
    has_requests = requests;
}

/* one write a line: lines of several threads do not mix */
void pk_log(const char *format, ...) {
    char    line[1024];
    va_list arguments;
    if (is_quiet) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?'; /* file names may hold anything */
    fprintf(stderr, "pronk serve: %s\n", line);
}

/* a method is the client's own text, so only known ones are written */
static const char *known_method(const char *method) {
    static const char *const known[] = {
        "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(method, known[i])) return known[i];
    return "OTHER";
}

void pk_log_request(const pk_exchange *x, int status) {
    char            when[32];
    struct tm       utc;
    struct timespec now;
    if (!has_requests) return;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    fprintf(stderr, "%s.%03ldZ %s %s %s %d %zu bytes in, %zu out, %.1f ms\n", when,
            now.tv_nsec / 1000000, *x->address ? x->address : "-", known_method(x->method),
            x->route ? x->route->path : "-", status, x->request.body_size, x->answer.size,
            (pk_seconds() - x->began) * 1000);
}
