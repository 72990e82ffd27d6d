/* cuda.cu - opening and closing the cuda backend, its failures, and its row of the table.
 *
 * One backend is one stream of one GPU. Ops are launched on it in order; only status() waits.
 * The runtime is linked statically and finds the driver when it is first called. So the same
 * binary works on machines without a GPU, and reports that none is there when one is asked for. */
#include <cstdarg>
#include <cstdio>
#include <new>

#include "backend/cuda/parts.cuh"
#include "backend/cuda/train.cuh"

extern "C" {
#include "backend/list.h"
#include "base/memory.h"
}

void pk_cuda_fail(pk_cuda *c, pk_status why, const char *format, ...) {
    va_list arguments;
    if (c->status != PK_OK) return;
    c->status = why;
    va_start(arguments, format);
    vsnprintf(c->message, sizeof c->message, format, arguments);
    va_end(arguments);
}

bool pk_cuda_good(pk_cuda *c, cudaError_t code, const char *what) {
    if (code == cudaSuccess) return c->status == PK_OK;
    pk_cuda_fail(c, PK_DEVICE, "%s on GPU %d failed: %s", what, c->device,
                 cudaGetErrorString(code));
    return false;
}

void pk_cuda_use(const pk_cuda *c) { cudaSetDevice(c->device); }

/* waits for everything; the first failure since the last call */
static pk_status take_status(void *self) {
    pk_cuda *c = (pk_cuda *)self;
    pk_cuda_use(c);
    pk_cuda_good(c, cudaStreamSynchronize(c->stream), "a pass");
    const pk_status status = c->status;
    c->status = PK_OK;
    return status == PK_OK ? PK_OK : pk_fail_with(status, "%s", c->message);
}

static_assert(sizeof(pk_cuda::events) / sizeof(cudaEvent_t) == PK_EVENTS, "one handle per event");

/* all ops launched so far are before the event */
static void record_event(void *self, int32_t which) {
    pk_cuda     *c = static_cast<pk_cuda *>(self);
    cudaEvent_t *at = &c->events[which];
    if (!*at &&
        !pk_cuda_good(c, cudaEventCreateWithFlags(at, cudaEventDisableTiming), "making an event"))
        return;
    pk_cuda_good(c, cudaEventRecord(*at, c->stream), "recording an event");
}

static void wait_event(void *self, int32_t which) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (c->events[which])
        pk_cuda_good(c, cudaEventSynchronize(c->events[which]), "waiting for an event");
}

/* only answer() has scratch memory; its bounds must begin as zeros, see answer.cuh */
static pk_status reserve(void *self, const pk_limits *max) {
    pk_cuda     *c = (pk_cuda *)self;
    const size_t bytes = pk_cuda_answer_bytes(max);
    pk_cuda_use(c);
    if (bytes > c->answer_bytes) {
        PK_TRY(pk_cuda_take(c, bytes, false, &c->answer_scratch));
        c->answer_bytes = bytes;
    }
    if (c->counting) return PK_OK;
    pk_cuda_good(c, cudaMemsetAsync(c->answer_scratch, 0, c->answer_bytes, c->stream), "reserving");
    c->max = *max;
    return c->status == PK_OK ? PK_OK : pk_fail_with(c->status, "%s", c->message);
}

static void limit(void *self, int32_t threads) { (void)self, (void)threads; }

/* Rows that a pass is filled up to: few shapes, so that a few recorded graphs serve all passes.
 * One, two and four rows are shapes of their own: a single sentence is what a user waits for,
 * and unused rows cost time there. */
static int32_t padded_rows(void *self, int32_t rows) {
    const int32_t step = rows <= 2      ? 1
                         : rows <= 4    ? 4
                         : rows <= 64   ? 8
                         : rows <= 256  ? 32
                         : rows <= 1024 ? 64
                                        : 256;
    (void)self;
    return (rows + step - 1) / step * step;
}

static pk_status take(void *self, size_t bytes, void **out) {
    pk_cuda_use((pk_cuda *)self);
    return pk_cuda_take((pk_cuda *)self, bytes, false, out);
}

static pk_status mirror(void *self, void *there, size_t bytes, void **out) {
    (void)there;
    pk_cuda_use((pk_cuda *)self);
    return pk_cuda_take((pk_cuda *)self, bytes, true, out);
}

/* blocks are given back whole, by close() */
static void give(void *self, void *memory) { (void)self, (void)memory; }

static uint64_t held(void *self) { return ((pk_cuda *)self)->device_bytes; }

static void put(void *self, void *to, const void *from, size_t bytes) {
    pk_cuda *c = (pk_cuda *)self;
    if (c->counting) return;
    pk_cuda_use(c);
    pk_cuda_good(c, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream),
                 "an upload");
}

static void get(void *self, void *to, const void *from, size_t bytes) {
    pk_cuda *c = (pk_cuda *)self;
    pk_cuda_use(c);
    pk_cuda_good(c, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, c->stream),
                 "a download");
}

static pk_status adopt(void *self, const pk_weight *host, pk_weight *out) {
    pk_cuda_use((pk_cuda *)self);
    return pk_cuda_adopt((pk_cuda *)self, host, out);
}

/* work that is under way ends first: it uses what is given back here */
static void close(void *self) {
    pk_cuda *c = (pk_cuda *)self;
    pk_cuda_use(c);
    if (c->stream) cudaStreamSynchronize(c->stream);
    pk_cuda_forget_graphs(c);
    pk_cuda_close_products(c);
    pk_cuda_close_link(c);
    pk_cuda_give_all(c);
    for (cudaEvent_t event : c->events)
        if (event) cudaEventDestroy(event);
    if (c->stream) cudaStreamDestroy(c->stream);
    pk_memory_give(c);
}

static pk_backend table_of(pk_cuda *c);

/* starts with the byte counts of the real backend, but holds nothing of the device: not even a
 * stream */
static pk_status dry_run(void *self, pk_backend *out) {
    const pk_cuda *model = (const pk_cuda *)self;
    void          *block;
    PK_TRY(pk_memory_take(1, sizeof(pk_cuda), &block));
    pk_cuda *c = new (block) pk_cuda();
    c->device = model->device;
    c->arithmetic = model->arithmetic;
    c->answer_bytes = model->answer_bytes;
    c->staging_bytes = model->staging_bytes;
    c->counting = true;
    *out = table_of(c);
    return PK_OK;
}

static pk_status expect(void *self, const pk_backend *counted) {
    const pk_cuda *sum = (const pk_cuda *)counted->self;
    pk_cuda_use((pk_cuda *)self);
    return pk_cuda_expect((pk_cuda *)self, sum->device_bytes, sum->pinned_bytes);
}

/* ---- opening ---- */

/* refuses what cannot work, with the reason in words */
static pk_status find_device(int32_t device, cudaDeviceProp *properties) {
    int               n = 0;
    const cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaErrorInsufficientDriver)
        return pk_fail_with(PK_UNSUPPORTED,
                            "no usable NVIDIA driver: this build needs one for CUDA %d.%d "
                            "or newer",
                            CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (code != cudaSuccess || n == 0)
        return pk_fail_with(PK_UNSUPPORTED, "no GPU: %s",
                            code ? cudaGetErrorString(code) : "none is there");
    if (device >= n)
        return pk_fail_with(PK_ARGUMENT, "there is no GPU %d: there are %d", device, n);
    if (cudaGetDeviceProperties(properties, device) != cudaSuccess)
        return pk_fail_with(PK_DEVICE, "GPU %d does not answer", device);
    if (properties->major < 8)
        return pk_fail_with(PK_UNSUPPORTED,
                            "%s is too old: compute capability 8.0 is needed, it has %d.%d",
                            properties->name, properties->major, properties->minor);
    return PK_OK;
}

static pk_status open_parts(pk_cuda *c) {
    pk_cuda_use(c);
    pk_cuda_good(c, cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking), "opening");
    c->wgmma = pk_cuda_wgmma_there();
    return c->status == PK_OK ? PK_OK : pk_fail_with(c->status, "%s", c->message);
}

static pk_backend table_of(pk_cuda *c) {
    pk_backend b = {};
    b.name = "cuda", b.self = c, b.activations = c->arithmetic, b.remote = true, b.follow = 16;
    b.encode = 8192; /* with fewer tokens a GPU is not busy */
    b.close = close, b.status = take_status, b.reserve = reserve, b.limit = limit;
    b.record_event = record_event, b.wait_event = wait_event;
    b.padded_rows = padded_rows, b.take = take, b.mirror = mirror, b.give = give;
    b.put = put, b.get = get, b.adopt = adopt;
    b.held = held, b.dry_run = dry_run, b.expect = expect;
    b.repeat = pk_cuda_repeat;
    b.embed = pk_cuda_embed, b.linear = pk_cuda_linear, b.norm = pk_cuda_norm;
    b.attend = pk_cuda_attend, b.scatter = pk_cuda_scatter, b.answer = pk_cuda_answer;
    b.edges = pk_cuda_edges;
    b.advance = pk_cuda_advance;
    b.train = c->arithmetic == PK_F16 ? NULL : &pk_cuda_training;
    return b;
}

extern "C" pk_status pk_cuda_open(int32_t device, pk_dtype arithmetic, pk_backend *out) {
    cudaDeviceProp properties;
    void          *block;
    PK_TRY(find_device(device, &properties));
    PK_TRY(pk_memory_take(1, sizeof(pk_cuda), &block));
    pk_cuda *c = new (block) pk_cuda();
    c->device = device;
    c->processors = properties.multiProcessorCount;
    c->shared_limit = properties.sharedMemPerBlockOptin;
    c->hopper = properties.major >= 9;
    c->arithmetic = arithmetic;
    const pk_status status = open_parts(c);
    if (status != PK_OK) {
        close(c);
        return status;
    }
    *out = table_of(c);
    return PK_OK;
}
