/* far.c - see far.h. */
#include "far.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/list.h"
#include "base/memory.h"
#include "tensor/panel.h"

enum { ALIGNMENT = 64, MOST_HOST = 16 };

typedef struct far_device {
    pk_backend near; /* computes */
    bool       counting;
    char      *base; /* one mapping of `size` bytes, closed to the host between two ops */
    size_t     size, used, most;
    void      *host[MOST_HOST];
    int        n_host;
} far_device;

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* opens the memory for one op; leave() closes it again */
static pk_backend *enter(void *self) {
    far_device *f = self;
    if (f->base) mprotect(f->base, f->size, PROT_READ | PROT_WRITE);
    return &f->near;
}

static void leave(void *self) {
    const far_device *f = self;
    if (f->base) mprotect(f->base, f->size, PROT_NONE);
}

/* ---- memory ---- */

static pk_status mirror(void *self, void *there, size_t bytes, void **out) {
    far_device *f = self;
    (void)there;
    if (f->n_host == MOST_HOST) PK_FAIL(PK_NO_MEMORY, "more than %d blocks", MOST_HOST);
    PK_TRY(pk_memory_take(bytes, 1, &f->host[f->n_host]));
    *out = f->host[f->n_host++];
    return PK_OK;
}

/* all of it goes with the device */
static void give(void *self, void *memory) { (void)self, (void)memory; }

static pk_status take(void *self, size_t bytes, void **out) {
    far_device *f = self;
    if (!f->counting && f->size - f->used < aligned(bytes))
        PK_FAIL(PK_NO_MEMORY, "%zu bytes that were not expected", bytes);
    *out = f->counting ? (char *)(uintptr_t)ALIGNMENT : f->base + f->used;
    f->used += aligned(bytes);
    return PK_OK;
}

static uint64_t held(void *self) {
    const far_device *f = self;
    return f->counting ? f->used : f->size;
}

static pk_status expect(void *self, const pk_backend *dry_run) {
    far_device  *f = self;
    const size_t bytes = (size_t)dry_run->held(dry_run->self);
    if (f->base) PK_FAIL(PK_ARGUMENT, "one session for each far device");
    if (bytes > f->most) PK_FAIL(PK_NO_MEMORY, "%zu bytes of %zu", bytes, f->most);
    f->base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->base == MAP_FAILED) {
        f->base = NULL;
        PK_FAIL(PK_NO_MEMORY, "no mapping of %zu bytes", bytes);
    }
    f->size = bytes;
    return PK_OK;
}

static void put(void *self, void *to, const void *from, size_t bytes) {
    if (((const far_device *)self)->counting) return;
    enter(self);
    memcpy(to, from, bytes);
    leave(self);
}

static void get(void *self, void *to, const void *from, size_t bytes) {
    put(self, to, from, bytes); /* both sides are memory of this process */
}

static pk_status copy_over(void *self, const void *from, size_t bytes, const void **out) {
    void *to = NULL;
    PK_TRY(take(self, bytes, &to));
    put(self, to, from, bytes);
    *out = to;
    return PK_OK;
}

static pk_status adopt(void *self, const pk_weight *host, pk_weight *out) {
    const size_t numbers = (size_t)host->rows * (size_t)host->cols;
    const size_t bytes =
        host->plain ? numbers * sizeof(float) : pk_panel_bytes(host->rows, host->cols, host->type);
    *out = *host;
    PK_TRY(copy_over(self, host->data, bytes, &out->data));
    if (!host->scale) return PK_OK;
    return copy_over(self, host->scale, (size_t)host->rows * sizeof(float),
                     (const void **)&out->scale);
}

/* ---- all ops are ref's, with the memory open while they compute ---- */

static void close(void *self) {
    far_device *f = self;
    for (int i = 0; i < f->n_host; i++) pk_memory_give(f->host[i]);
    if (f->base) munmap(f->base, f->size);
    pk_backend_close(&f->near);
    pk_memory_give(f);
}

static pk_status take_status(void *self) {
    const pk_backend *near = &((far_device *)self)->near;
    return near->status(near->self);
}

static pk_status reserve(void *self, const pk_limits *max) {
    void *scratch = NULL;
    return take(self, (size_t)max->questions * sizeof(float), &scratch);
}

static void    limit(void *self, int32_t threads) { (void)self, (void)threads; }
static int32_t padded_rows(void *self, int32_t rows) {
    (void)self;
    return (rows + 7) / 8 * 8;
}

static void repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                   void (*body)(void *context), void *context) {
    (void)key;
    for (int32_t i = 0; i < steps; i++) {
        body(context);
        enter(self);
        const bool done = live && !*live;
        leave(self);
        if (done) return;
    }
}

static void embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                  float scale, const pk_weight *position, const int32_t *pos) {
    const pk_backend *near = enter(self);
    near->embed(near->self, out, table, token, scale, position, pos);
    leave(self);
}

static void linear(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after) {
    const pk_backend *near = enter(self);
    near->linear(near->self, out, x, w, after);
    leave(self);
}

static void norm(void *self, pk_tensor out, pk_tensor x, const pk_weight *gain,
                 const pk_weight *shift, float epsilon) {
    const pk_backend *near = enter(self);
    near->norm(near->self, out, x, gain, shift, epsilon);
    leave(self);
}

static void attend(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                   const pk_attention *see) {
    const pk_backend *near = enter(self);
    near->attend(near->self, out, q, k, v, see);
    leave(self);
}

static void scatter(void *self, pk_tensor pool, pk_tensor rows, const int32_t *slot) {
    const pk_backend *near = enter(self);
    near->scatter(near->self, pool, rows, slot);
    leave(self);
}

static void answer(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                   const pk_answering *a) {
    const pk_backend *near = enter(self);
    near->answer(near->self, hidden, table, bias, a);
    leave(self);
}

static void edges(void *self, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_edging *e) {
    const pk_backend *near = enter(self);
    near->edges(near->self, hidden, table, bias, e);
    leave(self);
}

static void advance(void *self, const pk_following *f) {
    const pk_backend *near = enter(self);
    near->advance(near->self, f);
    leave(self);
}

/* ---- opening ---- */

static pk_status open_device(far_device **out, pk_backend *table);

static pk_status dry_run(void *self, pk_backend *out) {
    far_device *f;
    (void)self;
    PK_TRY(open_device(&f, out));
    f->counting = true;
    return PK_OK;
}

static pk_status open_device(far_device **out, pk_backend *table) {
    far_device *f;
    PK_TRY(PK_TAKE(&f, 1));
    const pk_status status = pk_backend_open("ref", 1, PK_F32, &f->near);
    if (status != PK_OK) {
        close(f);
        return status;
    }
    *out = f;
    *table = (pk_backend){ .name = "far",
                           .self = f,
                           .activations = PK_F32,
                           .remote = true,
                           .follow = 4,
                           .encode = 8192,
                           .close = close,
                           .status = take_status,
                           .reserve = reserve,
                           .limit = limit,
                           .padded_rows = padded_rows,
                           .take = take,
                           .mirror = mirror,
                           .give = give,
                           .held = held,
                           .dry_run = dry_run,
                           .expect = expect,
                           .put = put,
                           .get = get,
                           .adopt = adopt,
                           .repeat = repeat,
                           .embed = embed,
                           .linear = linear,
                           .norm = norm,
                           .attend = attend,
                           .scatter = scatter,
                           .answer = answer,
                           .edges = edges,
                           .advance = advance };
    return PK_OK;
}

pk_status far_open_small(size_t bytes, pk_backend *out) {
    far_device *f;
    *out = (pk_backend){ 0 };
    PK_TRY(open_device(&f, out));
    f->most = bytes;
    return PK_OK;
}

pk_status far_open(pk_backend *out) { return far_open_small(SIZE_MAX, out); }

pk_status backend_open(const char *name, int32_t threads, pk_dtype arithmetic, pk_backend *out) {
    if (strcmp(name, "far") == 0) return far_open(out);
    return pk_backend_open(name, threads, arithmetic, out);
}

size_t far_left(const pk_backend *far) {
    const far_device *f = far->self;
    return f->size - f->used;
}
