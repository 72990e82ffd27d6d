/* list.h - the backends of this build, by name. */
#ifndef PK_BACKEND_LIST_H
#define PK_BACKEND_LIST_H
#include "tensor/backend.h"

/* name: "cpu", "ref", "cuda", "cuda:1"; threads: how many share the work of each op (>= 1);
 * arithmetic: PK_F32, or on a GPU also PK_F16 and PK_BF16 */
pk_status pk_backend_open(const char *name, int32_t threads, pk_dtype arithmetic, pk_backend *out);
void      pk_backend_close(pk_backend *b); /* accepts a zeroed one */
/* each backend's own opener, listed in list.c */
pk_status pk_ref_open(int32_t threads, pk_backend *out);
pk_status pk_cpu_open(int32_t threads, pk_backend *out);
pk_status pk_cuda_open(int32_t device, pk_dtype arithmetic, pk_backend *out);
#endif
