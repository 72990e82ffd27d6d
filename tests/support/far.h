/* far.h - a simulated remote device: ref with memory of its own, to test sessions as on a GPU.
 *
 * Its memory is one piece that the host cannot touch between two ops (reading it is a fault),
 * and there is no more than its dry run counted. Passes are filled up to whole eights, so that
 * they have rows that are not used. */
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
