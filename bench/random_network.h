/* random_network.h - networks with random weights in memory, for benchmarks whose speed does not depend on what a
 * network has learned. */
#ifndef PK_BENCH_RANDOM_NETWORK_H
#define PK_BENCH_RANDOM_NETWORK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/network.h"
#include "tensor/panel.h"

typedef struct random_network {
    pk_network net;
    void     **block;
    size_t     n_blocks;
    uint64_t   seed;
    pk_dtype   stored;
} random_network;

#define OR_STOP(call) or_stop(call, pk_last_error())
static void or_stop(pk_status status, const char *why) {
    if (status == PK_OK) return;
    fflush(stdout);
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

/* near enough to a normal number: the sum of three uniform ones, variance 1 */
static float normal(uint64_t *seed) {
    const uint64_t bits = next_random(seed);
    const uint32_t sum =
        (uint32_t)(bits >> 48) + (uint32_t)(bits >> 32 & 0xffff) + (uint32_t)(bits >> 16 & 0xffff);
    return ((float)sum * 0x1p-16f - 1.5f) * 2.0f;
}

static pk_status take(random_network *t, size_t n, size_t each, void **out) {
    PK_TRY(PK_GROW(&t->block, t->n_blocks + 1));
    PK_TRY(pk_memory_take(n, each, out));
    t->block[t->n_blocks++] = *out;
    return PK_OK;
}

/* as training starts: embeddings 1 / sqrt(D), matrices after Glorot and Bengio (2010) */
static float spread(const pk_weight_spec *spec) {
    if (spec->role == PK_ROLE_EMBEDDING) return 1 / sqrtf((float)spec->cols);
    if (spec->matrix) return sqrtf(2.0f / (float)(spec->rows + spec->cols));
    return spec->role == PK_ROLE_POSITIONS ? 0.7f : 0.02f;
}

/* random numbers in the layout and type of the weight */
static pk_status fill_random(void *user, const pk_weight_spec *spec, pk_weight *w) {
    random_network *t = user;
    const size_t    n = (size_t)spec->rows * (size_t)spec->cols;
    const float     size = spread(spec), mean = spec->role == PK_ROLE_GAIN ? 1 : 0;
    float          *plain;
    void           *panels, *scale = NULL;
    PK_TRY(PK_TAKE(&plain, n));
    for (size_t i = 0; i < n; i++) plain[i] = mean + size * normal(&t->seed);
    if (!spec->matrix) {
        PK_TRY(PK_GROW(&t->block, t->n_blocks + 1));
        t->block[t->n_blocks++] = plain;
        *w = (pk_weight){ plain, NULL, spec->rows, spec->cols, PK_F32, true };
        return PK_OK;
    }
    PK_TRY(take(t, pk_panel_bytes(spec->rows, spec->cols, t->stored), 1, &panels));
    if (t->stored == PK_I8) PK_TRY(take(t, (size_t)spec->rows, sizeof(float), &scale));
    pk_panel_pack(panels, scale, spec->cols, t->stored, 0, spec->rows, plain);
    pk_memory_give(plain);
    *w = (pk_weight){ panels, scale, spec->rows, spec->cols, t->stored, false };
    return PK_OK;
}

/* of the shape that t->net.config says, its matrices in this type; t is all zeros but for that */
static pk_status open_random_network(random_network *t, pk_dtype stored) {
    t->seed = 7;
    t->stored = stored;
    PK_TRY(pk_config_check(&t->net.config));
    PK_TRY(pk_network_init(&t->net));
    PK_TRY(pk_network_walk(&t->net, fill_random, t));
    pk_network_share(&t->net);
    return PK_OK;
}

static void close_random_network(random_network *t) {
    for (size_t i = 0; i < t->n_blocks; i++) pk_memory_give(t->block[i]);
    pk_memory_give(t->block);
    pk_network_free(&t->net);
}
#endif
