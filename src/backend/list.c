/* list.c - the backends of this build: one line each. */
#include "backend/list.h"

#include <string.h>

static const struct {
    const char *name;
    pk_status (*open)(int32_t threads, pk_backend *out);
} backends[] = {
    { "cpu", pk_cpu_open },
    { "ref", pk_ref_open },
};

pk_status pk_backend_open(const char *name, int32_t threads, pk_backend *out) {
    *out = (pk_backend){ 0 };
    if (threads < 1) PK_FAIL(PK_ARGUMENT, "threads must be at least 1, not %d", threads);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(name, backends[i].name) == 0) return backends[i].open(threads, out);
    PK_FAIL(PK_ARGUMENT, "there is no backend \"%s\"; this build has: cpu, ref", name);
}

void pk_backend_close(pk_backend *b) {
    if (b && b->close) b->close(b->self);
    if (b) *b = (pk_backend){ 0 };
}
