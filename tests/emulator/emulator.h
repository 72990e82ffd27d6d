/* emulator.h - a GPU in an ordinary thread: kernels of the cuda backend run on a CPU, so that their
 * tests run where there is no GPU.
 *
 * A block's threads are fibers (stacks of their own, switched by hand), blocks come one after
 * another. A fiber runs until it has to wait for its warp or its block. So every order in which
 * threads may run is not seen, but one that a barrier's absence spoils often is: threads go upward
 * in one launch and downward in the next, shared memory begins as 0xff bytes, and copies that are
 * not waited for do not arrive. It has the features of compute capability 8.0: no clusters, no wgmma. */
#ifndef PK_TESTS_EMULATOR_H
#define PK_TESTS_EMULATOR_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>

struct uint3 {
    unsigned x, y, z;
};

namespace emulator {

enum { WARP = 32, EXCHANGE_BYTES = 64, MOST_COPIES = 256 };

/* a copy to shared memory that was begun */
struct copy {
    void       *to;
    const void *from;
    int         bytes, zeros; /* zeros follow the bytes */
    int         group;
};

enum state { READY, AT_WARP, AT_BLOCK, DONE };

struct fiber {
    void    *stack; /* where it goes on */
    uint3    thread;
    int      lane;
    state    is;
    unsigned turn;                /* collective calls of its warp so far */
    char (*warp)[EXCHANGE_BYTES]; /* [2 * WARP]: what the lanes of its warp say, in turns */
    int  count;                   /* what __syncthreads_count was given */
    copy copies[MOST_COPIES];
    int  n_copies, group;
};

extern thread_local fiber *now;     /* the fiber that runs */
extern thread_local int    counted; /* by the last __syncthreads_count */

void        run(uint3 grid, uint3 threads, size_t shared, const std::function<void()> &kernel);
void        wait_for_warp();
void        wait_for_block();
const char *shared_memory();            /* dynamic; addresses of shared memory count from it */
void        complain(const char *what); /* ends the program */

/* What this lane says, and then what all say: an array of T, by lane. It holds until the next
 * collective call but one. */
template <typename T> const T *exchanged(const T &mine) {
    static_assert(sizeof(T) <= EXCHANGE_BYTES, "too much to say");
    fiber *f = now;
    char  *room = f->warp[(f->turn++ & 1) * WARP];
    memcpy(room + (size_t)f->lane * sizeof(T), &mine, sizeof(T));
    wait_for_warp();
    return (const T *)room;
}

} // namespace emulator
#endif
