/* cuda_cases.h - how a test on a GPU goes through its cases: a difference is printed and counted,
 * the test goes on to the next case and fails at its end. Where there is no GPU it is skipped. */
#ifndef PK_TESTS_CUDA_CASES_H
#define PK_TESTS_CUDA_CASES_H
#include <stdio.h>

#include "check.h"

enum { MOST_PRINTED = 12 };
static bool gpu_there;
static char label[200]; /* the case at hand */
static int  failures;

/* begins a test */
#define NEED_GPU()              \
    do {                        \
        failures = 0;           \
        if (!gpu_there) skip(); \
    } while (0)

#define NAME_CASE(...) snprintf(label, sizeof label, __VA_ARGS__)

#define COMPLAIN(...)                          \
    do {                                       \
        if (failures++ >= MOST_PRINTED) break; \
        print_error("%s: ", label);            \
        print_error(__VA_ARGS__);              \
        print_error("\n");                     \
    } while (0)

/* ends a test */
static inline void conclude(void) {
    if (failures) fail_msg("%d differences", failures);
}
#endif
