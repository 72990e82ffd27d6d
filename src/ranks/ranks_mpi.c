/* ranks_mpi.c - gradients summed over the ranks of an mpirun.
 *
 * On the host MPI sums them where they lie. GPUs sum among themselves where the backend can link
 * them (NCCL), MPI only shares the id they need to connect; else sums go through the host. Slices
 * come from the end of the gradient to its beginning; small ones are put together, alike on all
 * ranks, as each sum costs its message. */
#include "ranks/ranks_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "ranks/ranks_plugin.h"
#include "tensor/training.h"

enum { SLICE = 1 << 18 }; /* floats of a message, at least */

typedef struct mpi_ranks {
    const pk_ranks_plugin *mpi;
    const pk_backend      *on;
    int32_t                rank, n;
    bool                   linked; /* GPUs sum among themselves */
    float                 *first;  /* what was asked for and not begun yet */
    size_t                 count;
    float                 *here;   /* a copy, where a GPU's sums go through the host */
    size_t                 room;   /* of here */
    pk_status              status; /* sticks until wait */
} mpi_ranks;

/* ---- the plugin ---- */

bool pk_ranks_mpi_wanted(void) {
    static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "MV2_COMM_WORLD_SIZE" };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = getenv(sizes[i]);
        if (size) return atoi(size) > 1;
    }
    return getenv("PMIX_RANK") != NULL; /* does not say how many there are */
}

/* the file that this code is in: the library, or the program, whose name may be without a folder */
static bool find_self(char *path, size_t room) {
    Dl_info self;
    if (dladdr((const void *)(uintptr_t)pk_ranks_mpi_open, &self) && self.dli_fname &&
        strchr(self.dli_fname, '/'))
        return (size_t)snprintf(path, room, "%s", self.dli_fname) < room;
    const ssize_t n = readlink("/proc/self/exe", path, room - 1);
    if (n > 0) path[n] = '\0';
    return n > 0;
}

/* beside that file, or in the lib beside its bin */
static void *load_beside(const char *below) {
    char self[PATH_MAX], path[PATH_MAX + 64];
    if (!find_self(self, sizeof self)) return NULL;
    *(strrchr(self, '/') + 1) = '\0';
    snprintf(path, sizeof path, "%s%s" PK_RANKS_PLUGIN_FILE, self, below);
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own plugins look for it */
}

/* beside the library, in ../lib, or where the system looks for libraries */
static pk_status load(const pk_ranks_plugin **out) {
    char        why[256] = "";
    void       *file = load_beside("");
    const char *reason = file ? NULL : dlerror();
    if (reason) snprintf(why, sizeof why, "%s", reason);
    if (!file) file = load_beside("../lib/");
    if (!file) file = dlopen(PK_RANKS_PLUGIN_FILE, RTLD_NOW | RTLD_GLOBAL);
    if (!file)
        PK_FAIL(PK_UNSUPPORTED,
                "started by mpirun, but " PK_RANKS_PLUGIN_FILE
                " cannot be loaded (%s): install MPI (Debian: libopenmpi-dev) and build again, or "
                "start without mpirun",
                why);
    void *entry = dlsym(file, PK_RANKS_PLUGIN_ENTRY);
    const pk_ranks_plugin *(*get)(void);
    if (!entry) PK_FAIL(PK_UNSUPPORTED, PK_RANKS_PLUGIN_FILE " is not one of Pronk's");
    memcpy(&get, &entry, sizeof get); /* POSIX lets a function pointer travel like this */
    *out = get();
    if ((*out)->version != PK_RANKS_PLUGIN_VERSION)
        PK_FAIL(PK_UNSUPPORTED, PK_RANKS_PLUGIN_FILE " is of another version: build it again");
    return PK_OK; /* it stays loaded: MPI cannot be begun twice */
}

static pk_status checked(const mpi_ranks *m, int failed) {
    if (failed) PK_FAIL(PK_DEVICE, "rank %d: MPI: %s", m->rank, m->mpi->error());
    return PK_OK;
}

/* ---- gradients ---- */

/* what a GPU cannot sum itself: down, summed, up again */
static pk_status sum_through_host(mpi_ranks *m, float *x, size_t count) {
    const pk_backend *on = m->on;
    if (m->room < count) {
        PK_TRY(PK_GROW(&m->here, count));
        m->room = count;
    }
    on->get(on->self, m->here, x, count * sizeof *x);
    PK_TRY(on->status(on->self));
    PK_TRY(checked(m, m->mpi->begin_sum(m->here, count)));
    PK_TRY(checked(m, m->mpi->end_sums()));
    on->put(on->self, x, m->here, count * sizeof *x);
    return on->status(on->self); /* here[] may change again */
}

static bool through_host(const mpi_ranks *m) { return m->on->remote && !m->linked; }

/* begins the sum of what was collected */
static void flush(mpi_ranks *m) {
    const size_t count = m->count;
    m->count = 0;
    if (count == 0 || m->status != PK_OK) return;
    if (m->linked)
        m->on->train->sum_linked(m->on->self, m->first, count);
    else if (through_host(m))
        m->status = sum_through_host(m, m->first, count);
    else
        m->status = checked(m, m->mpi->begin_sum(m->first, count));
}

/* through the host there is nothing to overlap: all goes at once, in the end */
static void sum_gradients(void *self, float *x, size_t count) {
    mpi_ranks *m = self;
    if (m->count && x + count != m->first) flush(m); /* not the part in front of it */
    m->first = x;
    m->count += count;
    if (m->count >= SLICE && !through_host(m)) flush(m);
}

static pk_status wait_sums(void *self) {
    mpi_ranks *m = self;
    flush(m);
    if (m->status == PK_OK && m->linked) m->on->train->wait_linked(m->on->self);
    if (m->status == PK_OK && !m->linked) m->status = checked(m, m->mpi->end_sums());
    const pk_status status = m->status;
    m->status = PK_OK;
    return status;
}

static pk_status sum(void *self, double *x, size_t count) {
    mpi_ranks *m = self;
    return checked(m, m->mpi->sum(x, count));
}

/* ---- opening ---- */

/* how many ranks can; the same number for all */
static pk_status count_able(const mpi_ranks *m, bool able, int32_t *out) {
    double sum_of = able;
    PK_TRY(checked(m, m->mpi->sum(&sum_of, 1)));
    *out = (int32_t)sum_of;
    return PK_OK;
}

/* All GPUs link or none does: a rank that cannot says so before anyone waits for it. */
static pk_status link_all(mpi_ranks *m) {
    const pk_backend  *on = m->on;
    const pk_training *train = on->train;
    unsigned char      id[PK_LINK_BYTES] = { 0 };
    int32_t            able;
    PK_TRY(count_able(m, train && train->link && train->link_id(on->self, id) == PK_OK, &able));
    if (able < m->n) return PK_OK;
    PK_TRY(checked(m, m->mpi->share(id, sizeof id)));
    const bool linked = train->link(on->self, m->n, m->rank, id) == PK_OK;
    if (!linked) on->status(on->self); /* clears the failure: sums go through the host instead */
    PK_TRY(count_able(m, linked, &able));
    m->linked = able == m->n;
    return PK_OK;
}

static pk_status attach(pk_ranks *r, const pk_backend *on) {
    mpi_ranks *m = r->self;
    m->on = on;
    r->how = "gradients are summed by MPI";
    if (!on->remote) return PK_OK;
    PK_TRY(link_all(m));
    r->how = m->linked ? "gradients are summed by NCCL"
                       : "gradients are summed by MPI, through the host, which is slow: NCCL "
                         "(libnccl.so.2) is not there or cannot link these GPUs";
    return PK_OK;
}

static void close_ranks(void *self, bool well) {
    mpi_ranks *m = self;
    m->mpi->end(well);
    pk_memory_give(m->here);
    pk_memory_give(m);
}

pk_status pk_ranks_mpi_open(pk_ranks *out) {
    const pk_ranks_plugin *mpi;
    mpi_ranks             *m;
    int32_t                local = 0;
    PK_TRY(load(&mpi));
    PK_TRY(PK_TAKE(&m, 1));
    m->mpi = mpi;
    const pk_status status = checked(m, mpi->begin(&m->rank, &m->n, &local));
    if (status != PK_OK) {
        pk_memory_give(m);
        return status;
    }
    *out = (pk_ranks){ .rank = m->rank,
                       .n = m->n,
                       .local = local,
                       .self = m,
                       .attach = attach,
                       .sum_gradients = sum_gradients,
                       .wait = wait_sums,
                       .sum = sum,
                       .close = close_ranks };
    return PK_OK;
}
