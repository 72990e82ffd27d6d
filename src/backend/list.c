/* list.c - the backends of this build: one line each.
 *
 * cuda is there where it was compiled in; without a GPU, or its driver, opening it fails with a
 * sentence and nothing else changes. */
#include "backend/list.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    pk_status (*open)(int32_t threads, pk_backend *out);
} backends[] = {
    { "cpu", pk_cpu_open },
    { "ref", pk_ref_open },
};

/* "cuda" or "cuda:2" -> which GPU; -1: it is neither */
static int32_t gpu_of(const char *name) {
    char *end;
    if (strncmp(name, "cuda", 4) != 0) return -1;
    if (!name[4]) return 0;
    const long n = name[4] == ':' && name[5] ? strtol(name + 5, &end, 10) : -1;
    return n >= 0 && n < 1024 && !*end ? (int32_t)n : -1;
}

static pk_status open_gpu(int32_t device, pk_dtype arithmetic, pk_backend *out) {
#ifdef PK_CUDA
    return pk_cuda_open(device, arithmetic, out);
#else
    (void)device, (void)arithmetic, (void)out;
    PK_FAIL(PK_UNSUPPORTED, "this build has no CUDA: build with 'make CUDA=1' (needs nvcc)");
#endif
}

pk_status pk_backend_open(const char *name, int32_t threads, pk_dtype arithmetic, pk_backend *out) {
    *out = (pk_backend){ 0 };
    if (threads < 1) PK_FAIL(PK_ARGUMENT, "threads must be at least 1, not %d", threads);
    if (gpu_of(name) >= 0) return open_gpu(gpu_of(name), arithmetic, out);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strcmp(name, backends[i].name) != 0) continue;
        if (arithmetic != PK_F32)
            PK_FAIL(PK_UNSUPPORTED, "%s computes in f32 and i8; f16 and bf16 need a GPU", name);
        return backends[i].open(threads, out);
    }
    PK_FAIL(PK_ARGUMENT, "there is no device \"%s\"; there are: cpu, ref, cuda, cuda:N", name);
}

void pk_backend_close(pk_backend *b) {
    if (b && b->close) b->close(b->self);
    if (b) *b = (pk_backend){ 0 };
}
