/* on_device.h - memory of a device for benchmarks of single ops; a failure ends the program. */
#ifndef PK_BENCH_ON_DEVICE_H
#define PK_BENCH_ON_DEVICE_H
#include <stdio.h>
#include <stdlib.h>

#include "tensor/backend.h"

static inline void or_stop(pk_status status) {
    if (status == PK_OK) return;
    fprintf(stderr, "%s\n", pk_last_error());
    exit(1);
}

static inline void *take(const pk_backend *on, size_t bytes) {
    void *memory = NULL;
    or_stop(on->take(on->self, bytes, &memory));
    return memory;
}

static inline void put(const pk_backend *on, void *to, const void *from, size_t bytes) {
    on->put(on->self, to, from, bytes);
    or_stop(on->status(on->self));
}
#endif
