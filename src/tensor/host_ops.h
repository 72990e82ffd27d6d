/* host_ops.h - the parts of the op table that are the same for every backend on the host. */
#ifndef PK_TENSOR_HOST_OPS_H
#define PK_TENSOR_HOST_OPS_H
#include "tensor/backend.h"

int32_t pk_host_round(void *self, int32_t rows); /* rows: nothing is filled up */
void    pk_host_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                       void (*body)(void *context), void *context);
void    pk_host_advance(void *self, const pk_following *f);
#endif
