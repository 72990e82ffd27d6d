/* model_ensemble.c - whether several models mean the same by the same tokens, and then as one.
 *
 * Sources must be cut into the same tokens for all, and a token id must be the same word for all:
 * so the segmentation of sources and both token lists are compared byte by byte. */
#include <string.h>

#include "engine/model.h"

static bool same(pk_blob a, pk_blob b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* the target's own list, or the one that both sides share */
static pk_blob target_tokens(const pk_model *m) {
    return m->data.target_tokens.size ? m->data.target_tokens : m->data.source_tokens;
}

/* Sizes alone are not enough: the same id must be the same token in all of them, on both sides. */
static pk_status check(const pk_model *first, const pk_model *other, size_t number) {
    if (!other) PK_FAIL(PK_ARGUMENT, "model %zu of the ensemble is missing", number);
    if (!same(target_tokens(first), target_tokens(other)))
        PK_FAIL(PK_UNSUPPORTED,
                "model %zu of the ensemble has another target vocabulary than the first: only "
                "models with the same one can decode together",
                number);
    if (!same(first->data.source_tokens, other->data.source_tokens) ||
        !same(first->data.source_spm, other->data.source_spm))
        PK_FAIL(PK_UNSUPPORTED,
                "model %zu of the ensemble reads other source tokens than the first: only models "
                "with the same source vocabulary can decode together",
                number);
    return PK_OK;
}

pk_status pk_models_ensemble(const pk_model *first, const pk_model *const *more, size_t n_more,
                             pk_ensemble *out) {
    const pk_network *net[PK_MOST_NETWORKS] = { &first->data.network };
    *out = (pk_ensemble){ 0 };
    if (n_more >= PK_MOST_NETWORKS)
        PK_FAIL(PK_ARGUMENT, "an ensemble has at most %d models, not %zu", PK_MOST_NETWORKS,
                n_more + 1);
    for (size_t i = 0; i < n_more; i++) {
        PK_TRY(check(first, more ? more[i] : NULL, i + 2));
        net[i + 1] = &more[i]->data.network;
    }
    return pk_ensemble_open(net, (int32_t)n_more + 1, out);
}

pk_status pk_model_check_whole(const pk_model *m) {
    if (!m->data.network.config.shares_encoder) return PK_OK;
    PK_FAIL(PK_UNSUPPORTED,
            "%s is a drafter and no model: give it with --drafter, beside the model whose encoder "
            "it shares",
            m->path);
}

/* one without encoder, tables and vocabulary of its own */
static pk_status join(const pk_model *model, const pk_model *drafter, pk_joined *joined,
                      pk_ensemble *out) {
    const pk_status status = pk_drafter_join(&model->data, &drafter->data, joined);
    if (status != PK_OK) pk_fail_context("%s", drafter->path);
    PK_TRY(status);
    *out = pk_ensemble_alone(&joined->net);
    return PK_OK;
}

pk_status pk_models_drafter(const pk_model *model, const pk_model *drafter, pk_joined *joined,
                            pk_ensemble *out) {
    *out = (pk_ensemble){ 0 };
    *joined = (pk_joined){ 0 };
    if (drafter->data.network.config.shares_encoder) return join(model, drafter, joined, out);
    if (!pk_blob_begins_with(target_tokens(drafter), target_tokens(model)))
        PK_FAIL(PK_UNSUPPORTED,
                "the drafter %s has another target vocabulary than the model: it must be the same, "
                "or begin with the model's",
                drafter->path);
    if (!pk_blob_begins_with(drafter->data.source_tokens, model->data.source_tokens) ||
        !same(drafter->data.source_spm, model->data.source_spm))
        PK_FAIL(PK_UNSUPPORTED, "the drafter %s reads other source tokens than the model",
                drafter->path);
    *out = pk_ensemble_alone(&drafter->data.network);
    return PK_OK;
}
