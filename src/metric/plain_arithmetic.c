/* plain_arithmetic.c - rounding to single precision, kept out of line on purpose.
 *
 * Where this conditional is inlined into a chain of additions, GCC 12 at -O3 (its straight-line
 * vectoriser) drops some of the roundings. A call it cannot look into keeps every one. */
#include "metric/plain_arithmetic.h"

__attribute__((noinline)) double pk_round_to(bool single, double x) {
    return single ? (double)(float)x : x;
}
