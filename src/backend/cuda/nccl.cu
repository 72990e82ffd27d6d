/* nccl.cu - GPUs that sum gradients among themselves, one rank each, through NCCL.
 *
 * The library is found when ranks link, and needed only then. Sums have a stream of their own,
 * beside the ops of the backward pass: each waits for what the ops have written by then, and ops
 * after wait_linked wait for all sums. */
#include <dlfcn.h>
#include <string.h>

#include "backend/cuda/parts.cuh"
#include "backend/cuda/train.cuh"

extern "C" {
#include "base/memory.h"
}

/* NCCL's interface, as far as it goes here; it has not changed since version 2 */
struct nccl_id {
    char bytes[PK_LINK_BYTES];
};
enum { NCCL_FLOAT = 7, NCCL_SUM = 0 };

struct nccl_calls {
    int (*get_id)(nccl_id *out);
    int (*init)(void **comm, int n, nccl_id id, int rank);
    int (*sum)(const void *from, void *to, size_t n, int type, int op, void *comm,
               cudaStream_t stream);
    int (*destroy)(void *comm);
    const char *(*text)(int code);
};

struct pk_cuda_link {
    nccl_calls   call;
    void        *comm;
    cudaStream_t stream;
    cudaEvent_t  written, summed; /* by the ops; by the sums */
};

template <typename Call> static bool find_call(void *library, const char *name, Call *out) {
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

/* the calls of the library that are used here */
static pk_status find_library(nccl_calls *out) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) PK_FAIL(PK_UNSUPPORTED, "libnccl.so.2 cannot be loaded: %s", dlerror());
    const bool all = find_call(library, "ncclGetUniqueId", &out->get_id) &&
                     find_call(library, "ncclCommInitRank", &out->init) &&
                     find_call(library, "ncclAllReduce", &out->sum) &&
                     find_call(library, "ncclCommDestroy", &out->destroy) &&
                     find_call(library, "ncclGetErrorString", &out->text);
    if (!all) PK_FAIL(PK_UNSUPPORTED, "libnccl.so.2 lacks a function that every version 2 has");
    return PK_OK;
}

static bool good(pk_cuda *c, const nccl_calls &call, int code) {
    if (code != 0) pk_cuda_fail(c, PK_DEVICE, "NCCL: %s", call.text(code));
    return code == 0;
}

pk_status pk_cuda_link_id(void *self, unsigned char id[PK_LINK_BYTES]) {
    nccl_calls call;
    nccl_id    made;
    (void)self;
    PK_TRY(find_library(&call));
    const int code = call.get_id(&made);
    if (code) PK_FAIL(PK_DEVICE, "NCCL: %s", call.text(code));
    memcpy(id, made.bytes, sizeof made.bytes);
    return PK_OK;
}

/* Sums have a stream of their own, so that they go on beside the way back. Two events order the
 * streams: `written`, when gradients are there, and `summed`, before they are used. */
static pk_status open_link(pk_cuda *c, int32_t n, int32_t rank, const nccl_id &id) {
    pk_cuda_link *l = c->link;
    PK_TRY(find_library(&l->call));
    const bool opened =
        pk_cuda_good(c, cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), "linking") &&
        pk_cuda_good(c, cudaEventCreateWithFlags(&l->written, cudaEventDisableTiming), "linking") &&
        pk_cuda_good(c, cudaEventCreateWithFlags(&l->summed, cudaEventDisableTiming), "linking") &&
        good(c, l->call, l->call.init(&l->comm, n, id, rank));
    if (!opened) PK_FAIL(c->status, "%s", c->message);
    return PK_OK;
}

pk_status pk_cuda_link_ranks(void *self, int32_t n, int32_t rank,
                             const unsigned char id[PK_LINK_BYTES]) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    nccl_id  made;
    memcpy(made.bytes, id, sizeof made.bytes);
    pk_cuda_use(c);
    if (!c->link) PK_TRY(pk_memory_take(1, sizeof(pk_cuda_link), (void **)&c->link));
    const pk_status status = open_link(c, n, rank, made);
    if (status != PK_OK) pk_cuda_close_link(c);
    return status;
}

void pk_cuda_close_link(pk_cuda *c) {
    pk_cuda_link *l = c->link;
    if (!l) return;
    if (l->stream) cudaStreamSynchronize(l->stream);
    if (l->comm) l->call.destroy(l->comm);
    if (l->written) cudaEventDestroy(l->written);
    if (l->summed) cudaEventDestroy(l->summed);
    if (l->stream) cudaStreamDestroy(l->stream);
    pk_memory_give(l);
    c->link = NULL;
}

void pk_cuda_sum_linked(void *self, float *x, size_t n) {
    pk_cuda      *c = static_cast<pk_cuda *>(self);
    pk_cuda_link *l = c->link;
    if (c->status != PK_OK || n == 0) return;
    if (pk_cuda_good(c, cudaEventRecord(l->written, c->stream), "a sum over ranks") &&
        pk_cuda_good(c, cudaStreamWaitEvent(l->stream, l->written, 0), "a sum over ranks"))
        good(c, l->call, l->call.sum(x, x, n, NCCL_FLOAT, NCCL_SUM, l->comm, l->stream));
}

void pk_cuda_wait_linked(void *self) {
    pk_cuda      *c = static_cast<pk_cuda *>(self);
    pk_cuda_link *l = c->link;
    if (c->status != PK_OK) return;
    if (pk_cuda_good(c, cudaEventRecord(l->summed, l->stream), "a sum over ranks"))
        pk_cuda_good(c, cudaStreamWaitEvent(c->stream, l->summed, 0), "a sum over ranks");
}
