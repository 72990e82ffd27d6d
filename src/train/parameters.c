/* parameters.c - where the weights of a learning network lie, and moving them.
 *
 * The network's own walk gives the list; each weight begins at a multiple of 64 numbers, so that
 * rows are aligned in any type. The gaps hold zeros and learn nothing: no op writes there. */
#include "train/parameters.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/panel.h"
#include "train/initial.h"

enum { ALIGN = 64 };

static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- memory on the device ---- */

pk_status pk_device_take(const pk_backend *on, size_t bytes, void **out) {
    return on->take(on->self, bytes, out);
}

void pk_device_give(const pk_backend *on, void *memory) { on->give(on->self, memory); }

pk_status pk_parameters_get(const pk_parameters *p, const float *from, float *to, size_t n) {
    p->on->get(p->on->self, to, from, n * sizeof *to);
    return p->on->status(p->on->self);
}

pk_status pk_parameters_put(pk_parameters *p, float *to, const float *from, size_t n) {
    p->on->put(p->on->self, to, from, n * sizeof *to);
    return p->on->status(p->on->self); /* `from` may go after this */
}

void pk_parameters_round(pk_parameters *p) {
    if (p->weights != (void *)p->master)
        p->on->train->round_weights(p->on->self, p->weights, p->master, p->n_all);
}

/* ---- the list ---- */

/* the network is walked twice: to list the weights, and to point them at the block */
typedef struct listing {
    pk_parameters               *p;
    const pk_parameters_options *o;
    size_t                       room, at;
} listing;

static bool freezes_text(const pk_parameters_options *o) {
    if (o->drafter) return true;
    for (size_t i = 0; i < o->n_freeze; i++)
        if (strcmp(o->freeze[i], PK_FREEZE_TEXT) == 0) return true;
    return false;
}

/* Where text is frozen: how many rows, or numbers of the output's bias, that is. A source has no
 * other tokens, so its own table is frozen as a whole. */
static int32_t text_rows(const listing *l, const pk_weight_spec *spec) {
    const pk_config *c = &l->p->net.config;
    const bool       bias = spec->role == PK_ROLE_OUTPUT_BIAS;
    const bool       source = spec->stack == PK_ENCODER && !c->share_embeddings;
    const int32_t    all = bias ? spec->cols : spec->rows;
    if (!freezes_text(l->o) || (!pk_role_is_table(spec->role) && !bias)) return 0;
    return source || !c->n_text ? all : (c->n_text + PK_PANEL - 1) / PK_PANEL * PK_PANEL;
}

/* what a drafter takes from its model; of tables, its own rows are left to learn */
static bool is_shared(const pk_weight_spec *spec) {
    if (spec->role == PK_ROLE_EMBEDDING) return false;
    return spec->stack == PK_ENCODER || spec->role == PK_ROLE_POSITIONS ||
           spec->role == PK_ROLE_OUTPUT || spec->role == PK_ROLE_OUTPUT_BIAS;
}

/* sinusoidal positions and a missing output bias are constants; so is what a freeze pattern
 * names */
static bool is_learned(const listing *l, const pk_weight_spec *spec) {
    if (l->o->drafter && is_shared(spec)) return false;
    if (!l->o->learn_positions && spec->role == PK_ROLE_POSITIONS) return false;
    if (!l->o->learn_output_bias && spec->role == PK_ROLE_OUTPUT_BIAS) return false;
    for (size_t i = 0; i < l->o->n_freeze; i++)
        if (fnmatch(l->o->freeze[i], spec->name, 0) == 0) return false;
    return text_rows(l, spec) < (spec->role == PK_ROLE_OUTPUT_BIAS ? spec->cols : spec->rows);
}

static pk_status list_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    listing       *l = user;
    pk_parameters *p = l->p;
    PK_TRY(PK_RESERVE(&p->list, p->n_list + 1, &l->room));
    pk_parameter *one = &p->list[p->n_list++];
    (void)w;
    *one = (pk_parameter){ .rows = spec->rows,
                           .cols = spec->cols,
                           .room_rows = spec->rows,
                           .role = spec->role,
                           .learned = is_learned(l, spec) };
    const size_t each = spec->role == PK_ROLE_OUTPUT_BIAS ? 1 : (size_t)spec->cols;
    if (one->learned) one->frozen = (size_t)text_rows(l, spec) * each;
    /* products read tables row by row: whole 64 rows suit them */
    if (pk_role_is_table(spec->role)) one->room_rows = (int32_t)aligned((size_t)spec->rows);
    assert(strlen(spec->name) < sizeof one->name);
    snprintf(one->name, sizeof one->name, "%s", spec->name);
    return PK_OK;
}

/* gives each weight its offset in the block: those that learn first, then the others */
static void set_offsets(pk_parameters *p) {
    size_t at = 0;
    for (int learned = 1; learned >= 0; learned--) {
        for (size_t i = 0; i < p->n_list; i++) {
            pk_parameter *one = &p->list[i];
            if (one->learned != learned) continue;
            one->first = at;
            at += aligned((size_t)one->room_rows * (size_t)one->cols);
        }
        if (learned) p->n = at;
    }
    p->n_all = at;
}

/* what an update changes: all that learns, but for what is frozen at the beginning of a weight */
static void find_ranges(pk_parameters *p) {
    pk_range at = { 0 };
    for (size_t i = 0; i < p->n_list; i++) {
        const pk_parameter *one = &p->list[i];
        if (!one->learned || !one->frozen) continue;
        at.n = one->first - at.first;
        assert(p->n_ranges + 1 < sizeof p->range / sizeof *p->range);
        if (at.n) p->range[p->n_ranges++] = at;
        at.first = one->first + one->frozen;
    }
    at.n = p->n - at.first;
    p->range[p->n_ranges++] = at;
}

/* a pattern that matches no weight is an error: it is probably misspelt */
static pk_status check_patterns(const pk_parameters *p, const pk_parameters_options *o) {
    for (size_t k = 0; k < o->n_freeze; k++) {
        bool found = strcmp(o->freeze[k], PK_FREEZE_TEXT) == 0;
        for (size_t i = 0; i < p->n_list && !found; i++)
            found = fnmatch(o->freeze[k], p->list[i].name, 0) == 0;
        if (!found)
            PK_FAIL(PK_ARGUMENT,
                    "freeze: no weight is named \"%s\"; names are like source_embed, "
                    "encoder.0.qkv.w, decoder.*, and " PK_FREEZE_TEXT,
                    o->freeze[k]);
    }
    if (p->n == 0) PK_FAIL(PK_ARGUMENT, "freeze: nothing is left to learn");
    return PK_OK;
}

/* points the network's weight at its offset in the block */
static pk_status bind_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    listing *l = user;
    assert(l->at < l->p->n_list); /* both walks visit the same weights in the same order */
    const pk_parameter *one = &l->p->list[l->at++];
    assert(strcmp(one->name, spec->name) == 0 && one->cols == spec->cols);
    const pk_dtype type = l->p->on->activations;
    *w = (pk_weight){ .data = (char *)l->p->weights + one->first * pk_dtype_bytes(type),
                      .rows = one->room_rows,
                      .cols = spec->cols,
                      .type = type,
                      .plain = true };
    return PK_OK;
}

/* ---- opening ---- */

static pk_status take_floats(const pk_backend *on, size_t n, float **out) {
    void           *block = NULL;
    const pk_status status = pk_device_take(on, n * sizeof(float), &block);
    *out = block;
    return status;
}

/* where the backend computes in F32, weights and master weights are the same memory */
static pk_status take_memory(pk_parameters *p, bool average) {
    const pk_dtype type = p->on->activations;
    PK_TRY(take_floats(p->on, p->n_all, &p->master));
    p->weights = p->master;
    if (type != PK_F32) {
        p->weights = NULL;
        PK_TRY(pk_device_take(p->on, p->n_all * pk_dtype_bytes(type), &p->weights));
    }
    PK_TRY(take_floats(p->on, p->n, &p->grad));
    PK_TRY(take_floats(p->on, p->n, &p->m));
    PK_TRY(take_floats(p->on, p->n, &p->v));
    if (average) PK_TRY(take_floats(p->on, p->n, &p->average));
    p->learned = (pk_gradients){ .weights = p->weights, .grad = p->grad, .n = p->n, .type = type };
    return PK_OK;
}

/* every weight has its own random numbers, by its name: adding one changes no other */
static pk_status set_first_weights(pk_parameters *p, const pk_parameters_options *o) {
    float *host;
    PK_TRY(PK_TAKE(&host, p->n_all));
    for (size_t i = 0; i < p->n_list; i++)
        pk_initial_weights(&p->list[i], &p->net.config, o->seed, host + p->list[i].first);
    const pk_status status = pk_parameters_begin(p, host);
    pk_memory_give(host);
    return status;
}

/* Weights are walked twice: first they are counted, which gives each its place in one block; then the
 * network's pointers are set into that block. */
static pk_status open_parts(pk_parameters *p, const pk_parameters_options *o) {
    listing l = { .p = p, .o = o };
    if (!p->on->train) PK_FAIL(PK_UNSUPPORTED, "the device \"%s\" cannot train", p->on->name);
    PK_TRY(pk_config_check(&p->net.config));
    PK_TRY(pk_network_init(&p->net));
    PK_TRY(pk_network_walk(&p->net, list_weight, &l));
    set_offsets(p);
    find_ranges(p);
    PK_TRY(check_patterns(p, o));
    PK_TRY(take_memory(p, o->average));
    if (freezes_text(o)) p->learned.constant = &p->net.source_embed;
    PK_TRY(pk_network_walk(&p->net, bind_weight, &l));
    pk_network_share(&p->net);
    return set_first_weights(p, o);
}

pk_status pk_parameters_open(const pk_backend *on, const pk_config *config,
                             const pk_parameters_options *o, pk_parameters *out) {
    *out = (pk_parameters){ .on = on, .net = { .config = *config } };
    const pk_status status = open_parts(out, o);
    if (status != PK_OK) pk_parameters_close(out);
    return status;
}

void pk_parameters_close(pk_parameters *p) {
    void *const blocks[] = { p->grad, p->m, p->v, p->average, p->master };
    for (size_t i = 0; p->on && i < sizeof blocks / sizeof *blocks; i++)
        pk_device_give(p->on, blocks[i]);
    if (p->on && p->weights != (void *)p->master) pk_device_give(p->on, p->weights);
    pk_memory_give(p->list);
    pk_network_free(&p->net);
    *p = (pk_parameters){ 0 };
}

/* ---- all weights at once ---- */

pk_status pk_parameters_begin(pk_parameters *p, const float *host) {
    const pk_training *train = p->on->train;
    PK_TRY(pk_parameters_put(p, p->master, host, p->n_all));
    pk_parameters_round(p);
    if (p->average) PK_TRY(pk_parameters_put(p, p->average, host, p->n));
    train->clear(p->on->self, p->m, p->n * sizeof *p->m);
    train->clear(p->on->self, p->v, p->n * sizeof *p->v);
    train->clear(p->on->self, p->grad, p->n * sizeof *p->grad);
    return p->on->status(p->on->self);
}
