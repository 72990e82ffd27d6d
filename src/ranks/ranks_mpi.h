/* ranks_mpi.h - the ranks of an mpirun, through the plugin pronk-mpi.so. */
#ifndef PK_RANKS_RANKS_MPI_H
#define PK_RANKS_RANKS_MPI_H
#include <stdbool.h>

#include "ranks/ranks.h"

/* whether the environment says that this process was started by mpirun, as one of several */
bool pk_ranks_mpi_wanted(void);
/* loads the plugin and asks it for our rank */
pk_status pk_ranks_mpi_open(pk_ranks *out);
#endif
