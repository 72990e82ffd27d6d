/* pronk_mpi.c - the plugin pronk-mpi.so: sums over the ranks of an mpirun, see
 * ranks/ranks_plugin.h.
 *
 * Gradients go out slice by slice with MPI_Iallreduce while the backward pass computes the rest;
 * each new slice also moves those before it on. Which numbers are added to which depends on their
 * count and on the number of ranks, never on time, and all ranks get the same bits. */
#include "ranks/ranks_plugin.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Most sums under way, and most floats of one: MPI counts in ints. */
enum { MOST_BEGUN = 256, MOST_AT_ONCE = 1 << 28 };

static char        reason[512];
static MPI_Request begun[MOST_BEGUN];
static int         n_begun;
static enum { IDLE, ACTIVE, FAILED } state;

static int check(int code) {
    int n = 0;
    if (code == MPI_SUCCESS) return 0;
    if (MPI_Error_string(code, reason, &n) != MPI_SUCCESS)
        snprintf(reason, sizeof reason, "MPI error %d", code);
    return 1;
}

/* When the process exits: all is well, or the others wait for us in vain and are ended too; what
 * went wrong here was reported by now. */
static void leave(void) {
    if (state == IDLE)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* the number of this rank among those of its machine, by which it chooses a GPU */
static int find_local(int32_t *local) {
    MPI_Comm machine;
    int      rank = 0;
    if (check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                  &machine)) ||
        check(MPI_Comm_rank(machine, &rank)))
        return 1;
    *local = rank;
    return check(MPI_Comm_free(&machine));
}

/* MPI may have been started by the host program; then ending it is left to that program */
static int begin(int32_t *rank, int32_t *n, int32_t *local) {
    int ready = 0, level, me = 0, all = 1;
    MPI_Initialized(&ready);
    if (!ready && check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level))) return 1;
    if (!ready) atexit(leave);
    state = ACTIVE;
    if (check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) ||
        check(MPI_Comm_rank(MPI_COMM_WORLD, &me)) || check(MPI_Comm_size(MPI_COMM_WORLD, &all)))
        return 1;
    *rank = me;
    *n = all;
    return find_local(local);
}

static int end_sums(void) {
    const int n = n_begun;
    n_begun = 0;
    return check(MPI_Waitall(n, begun, MPI_STATUSES_IGNORE));
}

/* MPI_Testall also moves earlier sums on: many MPIs do nothing between calls */
static int begin_sum(float *x, size_t count) {
    int all_done;
    for (size_t at = 0; at < count; at += MOST_AT_ONCE) {
        const size_t n = count - at < MOST_AT_ONCE ? count - at : MOST_AT_ONCE;
        if (n_begun == MOST_BEGUN && end_sums()) return 1;
        if (check(MPI_Iallreduce(MPI_IN_PLACE, x + at, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                 &begun[n_begun])))
            return 1;
        n_begun++;
    }
    return check(MPI_Testall(n_begun, begun, &all_done, MPI_STATUSES_IGNORE));
}

/* waits; all ranks get the same bits */
static int sum(double *x, size_t count) {
    return check(MPI_Allreduce(MPI_IN_PLACE, x, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

static int share(void *bytes, size_t count) {
    return check(MPI_Bcast(bytes, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD));
}

static void end(int well) { state = well ? IDLE : FAILED; }

static const char *error(void) { return reason; }

__attribute__((visibility("default"))) const pk_ranks_plugin *pk_ranks_plugin_open(void);

const pk_ranks_plugin *pk_ranks_plugin_open(void) {
    static const pk_ranks_plugin table = {
        PK_RANKS_PLUGIN_VERSION, begin, begin_sum, end_sums, sum, share, end, error
    };
    return &table;
}
