/* status.c - the thread's last error line.
 *
 * The only global state of the library, one for each thread: a call that fails in one thread does
 * not change what another one reads. */
#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512 };
static _Thread_local char last_error[LINE];

/* The text is formatted into a fixed array: failing must not need memory. */
pk_status pk_fail_with(pk_status code, const char *format, ...) {
    va_list args;
    assert(code != PK_OK); /* callers take the result for a failure */
    va_start(args, format);
    vsnprintf(last_error, LINE, format, args);
    va_end(args);
    for (char *c = last_error; *c; c++) /* one line, whatever a file name or a key may hold */
        if ((unsigned char)*c < ' ') *c = ' ';
    return code;
}

/* "PATH: why", "PATH/file: why" and "PATH, line 7: why" say PATH already */
static bool begins_with(const char *text, const char *context) {
    const size_t n = strlen(context);
    return strncmp(text, context, n) == 0 && text[n] && strchr(":/,", text[n]);
}

void pk_fail_context(const char *format, ...) {
    char    text[LINE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, LINE, format, args);
    va_end(args);
    if (n < 0 || n >= LINE - 3 || begins_with(last_error, text)) return;
    snprintf(text + n, (size_t)(LINE - n), ": %.*s", LINE - n - 3, last_error);
    memcpy(last_error, text, LINE);
}

const char *pk_last_error(void) { return last_error; }

const char *pk_status_text(pk_status s) {
    switch (s) {
#define CASE(name, code, text) \
    case PK_##name: return text;
        PK_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown status";
}

uint32_t pk_version(void) { return PK_VERSION; }
