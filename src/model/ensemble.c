/* ensemble.c - checks that networks fit together, and lays their output layers side by side.
 *
 * Side by side means that hidden states of all members, one behind the other, times one wide matrix
 * give the sum of the members' logits: no op has to know of ensembles. */
#include "model/ensemble.h"

#include <string.h>

#include "base/memory.h"
#include "model/forward.h"
#include "tensor/panel.h"

pk_ensemble pk_ensemble_alone(const pk_network *net) {
    return (pk_ensemble){ .n = 1,
                          .net = { net },
                          .config = net->config,
                          .width = net->config.dim,
                          .output = net->output,
                          .output_bias = net->output_bias };
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* Limits of the ensemble are the smallest of all members. */
static pk_status add_member(pk_ensemble *e, const pk_network *net) {
    pk_config       *all = &e->config;
    const pk_config *c = &net->config;
    if (c->target_vocab != all->target_vocab || c->source_vocab != all->source_vocab)
        PK_FAIL(PK_UNSUPPORTED,
                "model %d of the ensemble has another vocabulary than the first (%d and %d "
                "tokens, not %d and %d): use models trained with the same vocabulary",
                e->n + 1, c->source_vocab, c->target_vocab, all->source_vocab, all->target_vocab);
    if (c->n_text != all->n_text || c->n_groups != all->n_groups ||
        memcmp(c->group, all->group, sizeof c->group) != 0)
        PK_FAIL(PK_UNSUPPORTED,
                "model %d of the ensemble has other tokens of tasks than the first: use models "
                "trained with the same tasks",
                e->n + 1);
    if (strcmp(c->tasks, all->tasks) != 0)
        PK_FAIL(
            PK_UNSUPPORTED,
            "model %d of the ensemble was trained with task %s and the first with %s: use models "
            "trained with the same task",
            e->n + 1, pk_config_tasks(c), pk_config_tasks(all));
    if (c->start != all->start || c->eos != all->eos || c->family != all->family ||
        c->bare_source != all->bare_source)
        PK_FAIL(PK_UNSUPPORTED,
                "model %d of the ensemble begins or ends sentences in another way than the first",
                e->n + 1);
    if (c->right_to_left != all->right_to_left)
        PK_FAIL(PK_UNSUPPORTED,
                "model %d of the ensemble writes in the other direction than the first", e->n + 1);
    all->max_source = smaller(all->max_source, c->max_source);
    all->max_target = smaller(all->max_target, c->max_target);
    e->width += c->dim;
    e->net[e->n++] = net;
    return PK_OK;
}

/* what all tables are stored in; where they differ, F32 holds them all */
static pk_dtype common_type(const pk_ensemble *e) {
    const pk_dtype type = e->net[0]->output.type;
    for (int32_t i = 1; i < e->n; i++)
        if (e->net[i]->output.type != type) return PK_F32;
    return type;
}

/* the output rows of a token in all networks, side by side */
static void read_row(const pk_ensemble *e, int32_t token, float *row) {
    int32_t at = 0;
    for (int32_t i = 0; i < e->n; i++) {
        const pk_weight *w = &e->net[i]->output;
        for (int32_t col = 0; col < w->cols; col++) row[at++] = pk_weight_get(w, token, col);
    }
}

/* (V, D1 + D2 + ...), repacked */
static pk_status concatenate_outputs(pk_ensemble *e) {
    const int32_t  vocab = e->config.target_vocab;
    const pk_dtype type = common_type(e);
    float         *row;
    PK_TRY(pk_memory_take(pk_panel_bytes(vocab, e->width, type), 1, &e->data));
    if (type == PK_I8) PK_TRY(PK_TAKE(&e->scale, (size_t)vocab));
    PK_TRY(PK_TAKE(&row, (size_t)e->width));
    for (int32_t token = 0; token < vocab; token++) {
        read_row(e, token, row);
        pk_panel_pack(e->data, e->scale, e->width, type, token, 1, row);
    }
    pk_memory_give(row);
    e->output = (pk_weight){ e->data, e->scale, vocab, e->width, type, false };
    return PK_OK;
}

/* logits are summed, so biases are too */
static pk_status add_biases(pk_ensemble *e) {
    const int32_t vocab = e->config.target_vocab;
    PK_TRY(PK_TAKE(&e->bias, (size_t)vocab));
    for (int32_t i = 0; i < e->n; i++) {
        const pk_weight *b = &e->net[i]->output_bias;
        for (int32_t token = 0; b->data && token < vocab; token++)
            e->bias[token] += pk_weight_get(b, 0, token);
    }
    e->output_bias = (pk_weight){ e->bias, NULL, 1, vocab, PK_F32, true };
    return PK_OK;
}

pk_status pk_ensemble_open(const pk_network *const *net, int32_t n, pk_ensemble *out) {
    *out = (pk_ensemble){ 0 };
    if (n < 1 || n > PK_MOST_NETWORKS)
        PK_FAIL(PK_ARGUMENT, "an ensemble has 1 to %d models, not %d", PK_MOST_NETWORKS, n);
    *out = pk_ensemble_alone(net[0]);
    pk_status status = PK_OK;
    for (int32_t i = 1; status == PK_OK && i < n; i++) status = add_member(out, net[i]);
    if (status == PK_OK && n > 1) status = concatenate_outputs(out);
    if (status == PK_OK && n > 1) status = add_biases(out);
    if (status != PK_OK) pk_ensemble_close(out);
    return status;
}

void pk_ensemble_close(pk_ensemble *e) {
    pk_memory_give(e->data);
    pk_memory_give(e->scale);
    pk_memory_give(e->bias);
    *e = (pk_ensemble){ 0 };
}

uint64_t pk_ensemble_decoder_bytes(const pk_ensemble *e) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < e->n; i++) bytes += pk_decoder_bytes(e->net[i]);
    if (e->n > 1) bytes += pk_panel_bytes(e->output.rows, e->output.cols, e->output.type);
    return bytes;
}
