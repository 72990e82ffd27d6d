/* list.h - the backends of this build, by name. */
#ifndef PK_BACKEND_LIST_H
#define PK_BACKEND_LIST_H
#include "tensor/backend.h"

/* name: "cpu", "ref"; threads: how many share the work of each op (>= 1) */
pk_status pk_backend_open(const char *name, int32_t threads, pk_backend *out);
void      pk_backend_close(pk_backend *b); /* accepts a zeroed one */
/* each backend's own opener, listed in list.c */
pk_status pk_ref_open(int32_t threads, pk_backend *out);
pk_status pk_cpu_open(int32_t threads, pk_backend *out);
#endif
