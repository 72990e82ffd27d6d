/* emulator.cc - fibers, blocks and barriers of the emulated GPU; see emulator.h. */
#include "emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <vector>

#include "cuda_runtime.h"

/* Dynamic shared memory, under every name and type that kernels declare it with. */
enum { SHARED_BYTES = 164 << 10 };
alignas(1024) thread_local char memory[SHARED_BYTES];
alignas(1024) thread_local char edge_memory[SHARED_BYTES];
alignas(1024) thread_local char part[SHARED_BYTES];

thread_local uint3 blockIdx, blockDim, gridDim;

namespace emulator {

thread_local fiber *now;
thread_local int    counted;

enum { MOST_THREADS = 1024, STACK_BYTES = 128 << 10 };

/* a host thread's fibers, their stacks, and where it goes on when they wait */
struct machine {
    char                        *stacks;
    std::vector<fiber>           fibers;
    char                         exchange[MOST_THREADS / WARP][2 * WARP][EXCHANGE_BYTES];
    void                        *scheduler;
    const std::function<void()> *kernel;
    unsigned                     launches;
    machine() : fibers(MOST_THREADS), launches(0) {
        stacks = (char *)mmap(NULL, (size_t)MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) complain("no memory for stacks");
    }
    ~machine() { munmap(stacks, (size_t)MOST_THREADS * STACK_BYTES); }
};
static thread_local machine *own;

struct own_machine { /* goes with its thread */
    ~own_machine() { delete own; }
};
static thread_local own_machine keeper;

const char *shared_memory() { return memory; }

void complain(const char *what) {
    fprintf(stderr, "emulated GPU: %s\n", what);
    abort();
}

/* saves what a call must leave as it was, and goes on where another fiber did so */
extern "C" void emulator_switch(void **from, void *to);
asm(".text\n.globl emulator_switch\n.type emulator_switch, @function\nemulator_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emulator_switch, .-emulator_switch\n");

static void yield(state is) {
    fiber *f = now;
    f->is = is;
    emulator_switch(&f->stack, own->scheduler);
}

static void begin() {
    (*own->kernel)();
    yield(DONE);
}

void wait_for_warp() { yield(AT_WARP); }
void wait_for_block() { yield(AT_BLOCK); }

static void resume(fiber *f) {
    now = f;
    emulator_switch(&own->scheduler, f->stack);
}

/* a fiber that will call begin() as if somebody had called it */
static void prepare(fiber *f, int i) {
    void **top = (void **)(own->stacks + (size_t)(i + 1) * STACK_BYTES - 64);
    *top = (void *)begin;
    for (int k = 1; k <= 6; k++) top[-k] = NULL;
    f->stack = top - 6;
    f->thread.x = (unsigned)i % blockDim.x;
    f->thread.y = (unsigned)i / blockDim.x % blockDim.y;
    f->thread.z = (unsigned)i / blockDim.x / blockDim.y;
    f->lane = i % WARP, f->is = READY, f->turn = 0, f->count = 0;
    f->warp = own->exchange[i / WARP];
    f->n_copies = f->group = 0;
}

/* Runs a warp until all its lanes wait for the block or are done. Every collective call here is one
 * of the whole warp: a lane that is elsewhere is an error. */
static void run_warp(fiber *first, int lanes, bool downward) {
    for (;;) {
        int at_warp = 0;
        for (int k = 0; k < lanes; k++) {
            fiber *f = &first[downward ? lanes - 1 - k : k];
            if (f->is == READY) resume(f);
        }
        for (int k = 0; k < lanes; k++) at_warp += first[k].is == AT_WARP;
        if (at_warp == 0) return;
        if (at_warp != WARP) complain("not all lanes of a warp make a collective call");
        for (int k = 0; k < lanes; k++) {
            if (first[k].turn != first[0].turn) complain("lanes make different collective calls");
            first[k].is = READY;
        }
    }
}

static int with_state(int n, state is) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += own->fibers[(size_t)i].is == is;
    return sum;
}

/* a barrier: all that still run wait at it */
static void release(int n) {
    counted = 0;
    for (int i = 0; i < n; i++) {
        fiber *f = &own->fibers[(size_t)i];
        if (f->is != AT_BLOCK) continue;
        f->is = READY;
        counted += f->count;
    }
}

static void run_block(int n, bool downward) {
    const int warps = (n + WARP - 1) / WARP;
    for (int i = 0; i < n; i++) prepare(&own->fibers[(size_t)i], i);
    for (;;) {
        for (int k = 0; k < warps; k++) {
            const int w = downward ? warps - 1 - k : k;
            run_warp(&own->fibers[(size_t)(w * WARP)], n - w * WARP < WARP ? n - w * WARP : WARP,
                     downward);
        }
        if (with_state(n, AT_BLOCK) == 0) return;
        release(n);
    }
}

void run(uint3 blocks, uint3 each, size_t shared, const std::function<void()> &kernel) {
    const int n = (int)(each.x * each.y * each.z);
    if (!own) own = new machine;
    (void)&keeper;
    if (n < 1 || n > MOST_THREADS || shared > SHARED_BYTES) complain("a launch that no GPU takes");
    own->kernel = &kernel;
    gridDim = blocks, blockDim = each;
    const bool downward = own->launches++ % 2;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
                memset(memory, 0xff, shared), memset(edge_memory, 0xff, shared);
                memset(part, 0xff, shared);
                run_block(n, downward);
            }
}

} // namespace emulator
