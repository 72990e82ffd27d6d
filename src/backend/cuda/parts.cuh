/* parts.cuh - the host side of the cuda backend, shared by its own files: memory and recordings. */
#ifndef PK_BACKEND_CUDA_PARTS_CUH
#define PK_BACKEND_CUDA_PARTS_CUH
#include "backend/cuda/common.cuh"

/* makes the backend's GPU the current one of this thread */
void pk_cuda_use(const pk_cuda *c);

/* memory.cu: from large blocks, all given back at once; host: pinned memory of the host */
pk_status pk_cuda_take(pk_cuda *c, size_t bytes, bool host, void **out);
/* so much in one piece, for all that is taken from now on */
pk_status pk_cuda_expect(pk_cuda *c, size_t device_bytes, size_t pinned_bytes);
void      pk_cuda_give_all(pk_cuda *c);

/* graphs.cu: records the ops of a body and replays them; see pk_backend.repeat */
void pk_cuda_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                    void (*body)(void *context), void *context);
void pk_cuda_forget_graphs(pk_cuda *c);
#endif
