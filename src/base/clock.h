/* clock.h - seconds on a clock that never jumps. */
#ifndef PK_BASE_CLOCK_H
#define PK_BASE_CLOCK_H
#include <time.h>

static inline double pk_clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
