/* problem.h - one line that says what went wrong, for the operator. */
#ifndef PK_SERVER_PROBLEM_H
#define PK_SERVER_PROBLEM_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "server.h"

/* fills `error` in and is false, to be returned */
__attribute__((format(printf, 2, 3))) static inline bool pk_problem(char *error, const char *format,
                                                                    ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, PK_ERROR_ROOM, format, arguments);
    va_end(arguments);
    return false;
}
#endif
