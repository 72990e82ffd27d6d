/* seconds.h - seconds of a clock that never goes back. */
#ifndef PK_SERVER_SECONDS_H
#define PK_SERVER_SECONDS_H
#include <time.h>

static inline double pk_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#endif
