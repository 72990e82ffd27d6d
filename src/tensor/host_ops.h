/* host_ops.h - the parts of the op table that are the same for every backend on the host. */
#ifndef PK_TENSOR_HOST_OPS_H
#define PK_TENSOR_HOST_OPS_H
#include "tensor/backend.h"

enum { PK_HOST_ENCODE = 1024 }; /* source tokens that are worth reading at once */

/* memory is the process's own: a mirror is what it mirrors, and copies to itself are none */
pk_status pk_host_take(void *self, size_t bytes, void **out);
pk_status pk_host_mirror(void *self, void *there, size_t bytes, void **out);
void      pk_host_give(void *self, void *memory);
void      pk_host_copy(void *self, void *to, const void *from, size_t bytes);
pk_status pk_host_adopt(void *self, const pk_weight *host, pk_weight *out);

int32_t pk_host_padded_rows(void *self, int32_t rows); /* rows: nothing is filled up */
void    pk_host_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                       void (*body)(void *context), void *context);
void    pk_host_advance(void *self, const pk_following *f);
#endif
