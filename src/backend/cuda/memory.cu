/* memory.cu - memory of the GPU and pinned memory of the host, in large blocks.
 *
 * Everything is taken while a model is opened and lives until it is closed: a block is filled from
 * the front and nothing is given back singly. So a handful of allocations serve hundreds of
 * weights, and none is made in a pass. */
#include "backend/cuda/parts.cuh"

extern "C" {
#include "base/memory.h"
}

enum { ALIGNMENT = 256 };
static const size_t usual_block = (size_t)32 << 20;

struct pk_cuda_memory { /* one block; the newest of its kind is filled first */
    pk_cuda_memory *next;
    char           *base;
    size_t          size, used;
    bool            host;
};

static pk_status no_memory(pk_cuda *c, size_t bytes, bool host, cudaError_t code) {
    size_t left = 0, all = 0;
    cudaGetLastError(); /* it is told; later calls start afresh */
    if (host)
        return pk_fail_with(PK_NO_MEMORY, "%zu bytes of pinned memory could not be had: %s", bytes,
                            cudaGetErrorString(code));
    cudaMemGetInfo(&left, &all);
    return pk_fail_with(
        PK_NO_MEMORY,
        "GPU %d has too little memory: %zu MB more are needed, %zu of its %zu MB are free; "
        "try a smaller batch",
        c->device, (bytes >> 20) + 1, left >> 20, all >> 20);
}

static pk_status add_block(pk_cuda *c, size_t bytes, bool host) {
    void *memory;
    PK_TRY(pk_memory_take(1, sizeof(pk_cuda_memory), &memory));
    pk_cuda_memory *b = (pk_cuda_memory *)memory;
    b->size = bytes > usual_block || host ? bytes : usual_block;
    b->host = host;
    const cudaError_t code = host ? cudaHostAlloc((void **)&b->base, b->size, cudaHostAllocDefault)
                                  : cudaMalloc((void **)&b->base, b->size);
    if (code != cudaSuccess) {
        const pk_status status = no_memory(c, b->size, host, code);
        pk_memory_give(b);
        return status;
    }
    b->next = c->memory;
    c->memory = b;
    if (host)
        for (size_t i = 0; i < b->size; i++) b->base[i] = 0;
    else
        pk_cuda_good(c, cudaMemsetAsync(b->base, 0, b->size, c->stream), "clearing memory");
    if (!host) c->device_bytes += b->size;
    return c->status == PK_OK ? PK_OK : pk_fail_with(c->status, "%s", c->message);
}

pk_status pk_cuda_take(pk_cuda *c, size_t bytes, bool host, void **out) {
    const size_t    need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pk_cuda_memory *b = c->memory;
    while (b && (b->host != host || b->size - b->used < need)) b = b->next;
    if (!b) {
        PK_TRY(add_block(c, need, host));
        b = c->memory;
    }
    *out = b->base + b->used;
    b->used += need;
    return PK_OK;
}

pk_status pk_cuda_take_forever(pk_cuda *c, size_t bytes, void **out) {
    return pk_cuda_take(c, bytes, false, out);
}

void pk_cuda_give_all(pk_cuda *c) {
    while (c->memory) {
        pk_cuda_memory *b = c->memory;
        c->memory = b->next;
        if (b->host)
            cudaFreeHost(b->base);
        else
            cudaFree(b->base);
        pk_memory_give(b);
    }
}
