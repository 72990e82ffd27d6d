/* far.h - a device that is not there: ref behind a wall, for the laws of sessions on GPUs.
 *
 * Its memory is one piece that the host cannot touch between two calls (a look at it is a fault),
 * and there is none beyond what was counted on its stand-in. Passes are filled up to whole eights,
 * so that they have rows that ask for nothing. */
#ifndef PK_TESTS_FAR_H
#define PK_TESTS_FAR_H
#include "tensor/backend.h"

pk_status far_open(pk_backend *out);
/* the same with no more than so many bytes */
pk_status far_open_small(size_t bytes, pk_backend *out);
/* as pk_backend_open, which also knows this one, by the name "far" */
pk_status backend_open(const char *name, int32_t threads, pk_dtype arithmetic, pk_backend *out);
/* bytes that were expected and never taken */
size_t far_left(const pk_backend *far);
#endif
