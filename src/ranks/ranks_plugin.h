/* ranks_plugin.h - between the library and pronk-mpi.so, the one file that knows MPI.
 *
 * The library itself needs no MPI: it loads the plugin when it was started by mpirun. Functions
 * return 0, or another number with the reason in error(). All are called by one thread. */
#ifndef PK_RANKS_RANKS_PLUGIN_H
#define PK_RANKS_RANKS_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#define PK_RANKS_PLUGIN_FILE  "pronk-mpi.so"
#define PK_RANKS_PLUGIN_ENTRY "pk_ranks_plugin_open" /* const pk_ranks_plugin *(*)(void) */
enum { PK_RANKS_PLUGIN_VERSION = 1 };

typedef struct pk_ranks_plugin {
    int32_t version;
    /* who we are: of n ranks, and among those of this machine */
    int (*begin)(int32_t *rank, int32_t *n, int32_t *local);
    /* begins to sum floats over all ranks, in place; every rank the same sums in the same order */
    int (*begin_sum)(float *x, size_t count);
    int (*end_sums)(void); /* waits for all that were begun */
    int (*sum)(double *x, size_t count);
    int (*share)(void *bytes, size_t count); /* everyone gets what rank 0 has */
    /* well: all ranks end together. Otherwise nothing is waited for, and when this process exits
     * the others are ended too. */
    void (*end)(int well);
    const char *(*error)(void);
} pk_ranks_plugin;
#endif
