/* graphs.cu - ops recorded once and replayed: a pass becomes one launch, a sequence of steps
 * too.
 *
 * The first pass of a shape is launched op by op; the second is recorded: a shape that comes
 * once is not worth the recording. Steps that follow one another are a loop on the device (a
 * conditional node), which reads `live` after each step and goes on while it is not 0. The host
 * waits once, at the end. */
#include <cassert>

#include "backend/cuda/parts.cuh"

extern "C" {
#include "base/memory.h"
}

struct pk_cuda_graphs { /* one recorded shape; the list is short and the last used is in front */
    pk_cuda_graphs *next;
    uint64_t        key;
    const int32_t  *live; /* NULL: it does not loop */
    void (*body)(void *context);
    cudaGraphExec_t exec; /* NULL: seen once, not yet recorded */
};

/* the last kernel of a step: sets the condition of the loop */
static __global__ void go_on_while(cudaGraphConditionalHandle handle, const int32_t *live) {
    wait_for_previous();
    cudaGraphSetConditional(handle, *live > 0);
}

/* Finds the shape and moves it to the front; NULL: it is new. The assertion finds a key that is
 * used for two different passes: it would replay the wrong ops. */
static pk_cuda_graphs *find(pk_cuda *c, uint64_t key, const int32_t *live,
                            void (*body)(void *context)) {
    (void)body;
    for (pk_cuda_graphs **at = &c->graphs; *at; at = &(*at)->next) {
        pk_cuda_graphs *g = *at;
        if (g->key != key || !g->live != !live) continue;
        assert(g->live == live && g->body == body);
        *at = g->next;
        g->next = c->graphs;
        return c->graphs = g;
    }
    return NULL;
}

/* a shape seen for the first time */
static void remember(pk_cuda *c, uint64_t key, const int32_t *live, void (*body)(void *context)) {
    void *block;
    if (pk_memory_take(1, sizeof(pk_cuda_graphs), &block) != PK_OK)
        return; /* then never recorded */
    pk_cuda_graphs *g = (pk_cuda_graphs *)block;
    g->key = key, g->live = live, g->body = body, g->next = c->graphs;
    c->graphs = g;
}

/* the body's ops as a graph of their own */
static bool record_once(pk_cuda *c, cudaGraph_t *out, void (*body)(void *), void *context) {
    if (!pk_cuda_good(c, cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal),
                      "recording"))
        return false;
    body(context);
    return pk_cuda_good(c, cudaStreamEndCapture(c->stream, out), "recording");
}

/* the body's ops inside a loop that goes on while *live is not 0 */
static bool record_loop(pk_cuda *c, cudaGraph_t *out, const int32_t *live, void (*body)(void *),
                        void *context) {
    cudaGraphConditionalHandle handle;
    cudaGraphNodeParams        loop = {};
    cudaGraphNode_t            node;
    cudaGraph_t                inside;
    if (!pk_cuda_good(c, cudaGraphCreate(out, 0), "recording") ||
        !pk_cuda_good(
            c, cudaGraphConditionalHandleCreate(&handle, *out, 1, cudaGraphCondAssignDefault),
            "recording"))
        return false;
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = handle;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    if (!pk_cuda_good(c, cudaGraphAddNode(&node, *out, NULL, NULL, 0, &loop), "recording"))
        return false;
    inside = loop.conditional.phGraph_out[0];
    if (!pk_cuda_good(c,
                      cudaStreamBeginCaptureToGraph(c->stream, inside, NULL, NULL, 0,
                                                    cudaStreamCaptureModeThreadLocal),
                      "recording"))
        return false;
    body(context);
    launch(c, "a step", go_on_while, dim3(1), dim3(1), 0, 0, handle, live);
    return pk_cuda_good(c, cudaStreamEndCapture(c->stream, &inside), "recording");
}

/* the second time a shape comes: its ops become a graph that can be launched */
static void record(pk_cuda *c, pk_cuda_graphs *g, const int32_t *live, void (*body)(void *),
                   void *context) {
    cudaGraph_t graph = NULL;
    const bool  good = g->live ? record_loop(c, &graph, live, body, context)
                               : record_once(c, &graph, body, context);
    if (good) pk_cuda_good(c, cudaGraphInstantiate(&g->exec, graph, 0), "recording");
    if (graph) cudaGraphDestroy(graph);
}

/* without a graph: the host reads *live after every step */
static void launch_ops(pk_cuda *c, int32_t steps, const int32_t *live, void (*body)(void *),
                       void *context) {
    int32_t left = 1;
    for (int32_t i = 0; left > 0 && i < steps && c->status == PK_OK; i++) {
        body(context);
        if (!live) return;
        pk_cuda_good(c,
                     cudaMemcpyAsync(&left, live, sizeof left, cudaMemcpyDeviceToHost, c->stream),
                     "a download");
        pk_cuda_good(c, cudaStreamSynchronize(c->stream), "a step");
    }
}

void pk_cuda_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                    void (*body)(void *context), void *context) {
    pk_cuda *c = (pk_cuda *)self;
    pk_cuda_use(c);
    if (c->status != PK_OK) return;
    pk_cuda_graphs *g = find(c, key, live, body);
    if (!g) {
        remember(c, key, live, body);
        launch_ops(c, live ? steps : 1, live, body, context);
        return;
    }
    if (!g->exec) record(c, g, live, body, context);
    if (g->exec && c->status == PK_OK)
        pk_cuda_good(c, cudaGraphLaunch(g->exec, c->stream), "a pass");
}

void pk_cuda_forget_graphs(pk_cuda *c) {
    while (c->graphs) {
        pk_cuda_graphs *g = c->graphs;
        c->graphs = g->next;
        if (g->exec) cudaGraphExecDestroy(g->exec);
        pk_memory_give(g);
    }
}
