/* runtime.cc - the run-time library of the emulated GPU; see cuda_runtime.h. */
#include "cuda_runtime.h"

#include <atomic>

static const size_t        all_bytes = (size_t)8 << 30;
static std::atomic<size_t> taken_bytes;

const char *cudaGetErrorString(cudaError_t code) {
    return code == cudaErrorMemoryAllocation ? "out of memory" : "no error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *n) {
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int) {
    *out = {};
    strcpy(out->name, "emulated GPU");
    out->major = 8, out->multiProcessorCount = 4;
    out->sharedMemPerBlockOptin = 163 << 10;
    return cudaSuccess;
}

/* ---- memory: its size stands before it ---- */

enum { HEAD = 256 };

cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    *all = all_bytes, *left = all_bytes - taken_bytes;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    void *block;
    if (bytes > all_bytes - taken_bytes || posix_memalign(&block, HEAD, bytes + HEAD))
        return cudaErrorMemoryAllocation;
    memset(block, 0xff, bytes + HEAD);
    *(size_t *)block = bytes;
    taken_bytes += bytes;
    *out = (char *)block + HEAD;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    if (!memory) return cudaSuccess;
    void *block = (char *)memory - HEAD;
    taken_bytes -= *(size_t *)block;
    free(block);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned) { return cudaMalloc(out, bytes); }
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }

/* ---- streams and events ---- */

void emulated_work(cudaStream_t stream, std::function<void()> work) {
    if (stream->captured)
        stream->captured->nodes.push_back({ work, NULL });
    else
        work();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    emulated_work(stream, [=] { memmove(to, from, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    emulated_work(stream, [=] { memset(to, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    emulated_work(stream, [=] {
        for (size_t i = 0; i < height; i++) memset((char *)to + i * pitch, value, width);
    });
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
    *out = new emulated_stream();
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
    *out = new int();
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *) {
    *out = {};
    out->binaryVersion = 80, out->maxDynamicSharedSizeBytes = 163 << 10;
    return cudaSuccess;
}

/* ---- graphs ---- */

void emulated_graph::play() {
    for (emulated_node &node : nodes) {
        if (!node.body) node.work();
        for (go_on = node.body != NULL; go_on;) node.body->play();
    }
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    stream->captured = new emulated_graph();
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const void *,
                                          const void *, size_t, cudaStreamCaptureMode) {
    stream->captured = graph;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
    *out = stream->captured;
    stream->captured = NULL;
    return cudaSuccess;
}
cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned) {
    *out = new emulated_graph();
    return cudaSuccess;
}
/* the graph itself becomes the one that can be launched, and is then destroyed as such */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned) {
    *out = graph;
    graph->launchable = true;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    if (!graph->launchable) cudaGraphExecDestroy(graph);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    for (emulated_node &node : graph->nodes) delete node.body;
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *out, cudaGraph_t graph,
                                             unsigned, unsigned) {
    *out = (cudaGraphConditionalHandle)(uintptr_t)graph;
    return cudaSuccess;
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t *, cudaGraph_t graph, const void *, const void *,
                             size_t, cudaGraphNodeParams   *node) {
    graph->nodes.push_back({ nullptr, new emulated_graph() });
    node->conditional.phGraph_out = &graph->nodes.back().body;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    emulated_work(stream, [=] { graph->play(); });
    return cudaSuccess;
}
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
    ((emulated_graph *)(uintptr_t)handle)->go_on = value;
}
