/* status.h - the one way to fail. Host code returns a status; device ops never do (see
 * tensor/ops.h). The text of the last failure lives in the thread that met it: pk_last_error(). */
#ifndef PK_BASE_STATUS_H
#define PK_BASE_STATUS_H
#include "pronk.h"

/* stores the text, returns code */
pk_status pk_fail_with(pk_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* puts "prefix: " before the last failure's text, unless it begins so: what was being worked on */
void pk_fail_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define PK_FAIL(code, ...) return pk_fail_with(code, __VA_ARGS__)
/* for public functions: a pointer that must not be NULL */
#define PK_NEED(pointer)                                                            \
    do {                                                                            \
        if (!(pointer)) PK_FAIL(PK_ARGUMENT, "%s: %s is NULL", __func__, #pointer); \
    } while (0)
#define PK_TRY(call)                          \
    do {                                      \
        pk_status pk_try_ = (call);           \
        if (pk_try_ != PK_OK) return pk_try_; \
    } while (0)
/* the same for functions that must clean up: sets `status` and jumps to `done` */
#define PK_GOTO(call)                   \
    do {                                \
        status = (call);                \
        if (status != PK_OK) goto done; \
    } while (0)
#endif
