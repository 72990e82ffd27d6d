/* host_ops.c - what any backend on the host does alike: memory of the process, passes as they are,
 * steps in a loop. */
#include "tensor/host_ops.h"

#include <string.h>

#include "base/memory.h"

pk_status pk_host_take(void *self, size_t bytes, void **out) {
    (void)self;
    return pk_memory_take(bytes, 1, out);
}

pk_status pk_host_mirror(void *self, void *there, size_t bytes, void **out) {
    (void)self, (void)bytes;
    *out = there;
    return PK_OK;
}

void pk_host_give(void *self, void *memory) {
    (void)self;
    pk_memory_give(memory);
}

void pk_host_copy(void *self, void *to, const void *from, size_t bytes) {
    (void)self;
    if (to != from) memcpy(to, from, bytes);
}

pk_status pk_host_adopt(void *self, const pk_weight *host, pk_weight *out) {
    (void)self;
    *out = *host;
    return PK_OK;
}

int32_t pk_host_padded_rows(void *self, int32_t rows) {
    (void)self;
    return rows;
}

void pk_host_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                    void (*body)(void *context), void *context) {
    (void)self, (void)key;
    body(context);
    for (int32_t i = 1; live && i<steps && * live> 0; i++) body(context);
}

static pk_scored best_of(const pk_following *f, int32_t question) {
    return f->top[(size_t)question * (size_t)f->top_stride];
}

static bool ends(const pk_following *f, int32_t token) { return token < 0 || token == f->eos; }

/* records the best token of row i and, unless it is the last, makes it the input of the next
 * step */
static void advance_row(const pk_following *f, int32_t i) {
    const pk_follower *me = &f->follower[i];
    pk_scored          next = best_of(f, me->question);
    const int32_t      other = best_of(f, me->question + me->partner).token;
    if (me->log_sum) next.score -= f->log_sum[me->question];
    f->found[me->found + f->n_found[i]++] = next;
    f->left[i] = ends(f, next.token) || ends(f, other) ? 0 : f->left[i] - 1;
    if (f->left[i] == 0) return;
    f->token[i] = next.token;
    f->pos[i] += me->stride;
    f->slot[i] = f->index[f->first[i] + f->count[i] + (me->partner < 0)];
    f->count[i] += me->partner ? 2 : 1;
}

void pk_host_advance(void *self, const pk_following *f) {
    (void)self;
    *f->live = 0;
    for (int32_t i = 0; i < f->n; i++) {
        if (f->left[i] > 0) advance_row(f, i);
        *f->live += f->left[i] > 0;
    }
}
