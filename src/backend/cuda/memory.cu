/* memory.cu - memory of the GPU and pinned memory of the host, in large blocks.
 *
 * Everything is taken while a model is opened and lives until it is closed. A block is filled
 * from the front, and parts of it are never given back. A caller that knows beforehand how much
 * it will take says so (expect), and gets one block for all of it. */
#include "backend/cuda/parts.cuh"

extern "C" {
#include "base/memory.h"
}

enum { ALIGNMENT = 256 };
static const size_t usual_block = (size_t)32 << 20;

enum kind { DEVICE, PINNED, ORDINARY /* instead of pinned memory, in a dry run */ };

struct pk_cuda_memory { /* one block; the newest of its kind is filled first */
    pk_cuda_memory *next;
    char           *base;
    size_t          size, used;
    kind            is;
};

/* says how much is needed and how much is free */
static pk_status no_memory(pk_cuda *c, size_t bytes, kind is, cudaError_t code) {
    size_t left = 0, all = 0;
    cudaGetLastError(); /* clears the error: it is reported here, later calls must not see it */
    if (is == PINNED)
        return pk_fail_with(PK_NO_MEMORY, "%zu bytes of pinned memory could not be had: %s", bytes,
                            cudaGetErrorString(code));
    cudaMemGetInfo(&left, &all);
    return pk_fail_with(
        PK_NO_MEMORY,
        "GPU %d has too little memory: %zu MB more are needed, %zu of its %zu MB are free; "
        "try a smaller batch",
        c->device, (bytes >> 20) + 1, left >> 20, all >> 20);
}

static pk_status take_block(pk_cuda *c, pk_cuda_memory *b) {
    if (b->is == ORDINARY) return pk_memory_take(b->size, 1, (void **)&b->base);
    const cudaError_t code = b->is == PINNED
                                 ? cudaHostAlloc((void **)&b->base, b->size, cudaHostAllocDefault)
                                 : cudaMalloc((void **)&b->base, b->size);
    return code == cudaSuccess ? PK_OK : no_memory(c, b->size, b->is, code);
}

static void give_block(pk_cuda_memory *b) {
    if (b->is == DEVICE)
        cudaFree(b->base);
    else if (b->is == PINNED)
        cudaFreeHost(b->base);
    else
        pk_memory_give(b->base);
    pk_memory_give(b);
}

/* a new block in front of the list, zeroed */
static pk_status add_block(pk_cuda *c, size_t bytes, kind is) {
    void *memory;
    PK_TRY(pk_memory_take(1, sizeof(pk_cuda_memory), &memory));
    pk_cuda_memory *b = (pk_cuda_memory *)memory;
    b->size = bytes;
    b->is = is;
    const pk_status status = take_block(c, b);
    if (status != PK_OK) {
        pk_memory_give(b);
        return status;
    }
    b->next = c->memory;
    c->memory = b;
    if (is == PINNED)
        for (size_t i = 0; i < b->size; i++) b->base[i] = 0;
    if (is == DEVICE) {
        c->device_bytes += b->size;
        pk_cuda_good(c, cudaMemsetAsync(b->base, 0, b->size, c->stream), "clearing memory");
    }
    return c->status == PK_OK ? PK_OK : pk_fail_with(c->status, "%s", c->message);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* A dry run takes nothing of the device: an address that is never read is enough. What the host
 * writes to gets ordinary memory. */
static pk_status count(pk_cuda *c, size_t bytes, bool host, void **out) {
    (host ? c->pinned_bytes : c->device_bytes) += bytes;
    *out = (void *)ALIGNMENT;
    if (!host) return PK_OK;
    PK_TRY(add_block(c, bytes, ORDINARY));
    *out = c->memory->base;
    return PK_OK;
}

/* from a block that has room, or from a new one */
pk_status pk_cuda_take(pk_cuda *c, size_t bytes, bool host, void **out) {
    const size_t    need = aligned(bytes);
    const kind      is = host ? PINNED : DEVICE;
    pk_cuda_memory *b = c->memory;
    if (c->counting) return count(c, need, host, out);
    while (b && (b->is != is || b->size - b->used < need)) b = b->next;
    if (!b) {
        PK_TRY(add_block(c, need > usual_block || host ? need : usual_block, is));
        b = c->memory;
    }
    *out = b->base + b->used;
    b->used += need;
    return PK_OK;
}

pk_status pk_cuda_expect(pk_cuda *c, size_t device_bytes, size_t pinned_bytes) {
    if (device_bytes) PK_TRY(add_block(c, device_bytes, DEVICE));
    if (pinned_bytes) PK_TRY(add_block(c, pinned_bytes, PINNED));
    return PK_OK;
}

void pk_cuda_give_all(pk_cuda *c) {
    while (c->memory) {
        pk_cuda_memory *b = c->memory;
        c->memory = b->next;
        give_block(b);
    }
}
