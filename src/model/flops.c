/* flops.c - what a token costs is read from the one list of weights: every matrix of a layer is
 * multiplied with every token once. But keys and values of the source are computed when a sentence
 * is read, not when a target token is. */
#include "model/flops.h"

static pk_status add_matrix(void *user, const pk_weight_spec *spec, pk_weight *w) {
    pk_flops *f = user;
    (void)w;
    if (spec->matrix && spec->layer >= 0)
        *(spec->stack == PK_ENCODER ? &f->source_token : &f->target_token) +=
            (uint64_t)spec->rows * pk_flops_output(spec->cols);
    return PK_OK;
}

pk_flops pk_flops_of(const pk_network *net) {
    const pk_config *c = &net->config;
    const uint64_t   dim = (uint64_t)c->dim, layers = (uint64_t)c->decoder_layers;
    /* a query times a key, and a probability times a value: each over all heads together */
    const uint64_t pair = 2 * pk_flops_output(c->dim);
    pk_network     copy = *net; /* walk() takes a network it may change; ours is const */
    pk_flops       f = { .source_pair = (uint64_t)c->encoder_layers * pair,
                         .remembered = layers * 2 * dim * pk_flops_output(c->dim),
                         .target_pair = layers * pair };
    pk_network_walk(&copy, add_matrix, &f);
    f.target_token -= f.remembered;
    /* of the last layer only queries, keys and values are computed */
    f.silent_token = f.target_token / layers - 3 * dim * pk_flops_output(c->dim);
    f.silent_pair = pair;
    return f;
}
