/* plain_arithmetic.h - every operation is rounded on its own, as in Python.
 *
 * Include it before any code whose doubles must equal sacreBLEU's to the last bit: on machines with
 * fused multiply-add the compiler would otherwise round a product and a sum only once. */
#ifndef PK_METRIC_PLAIN_ARITHMETIC_H
#define PK_METRIC_PLAIN_ARITHMETIC_H
#include <stdbool.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

/* The result of one operation as single precision would give it, if `single`. Exact: rounding a
 * sum, product or quotient of two floats first to double and then to float changes nothing, since
 * 53 >= 2 * 24 + 2 bits (Figueroa 1995). */
double pk_round_to(bool single, double x);
#endif
