/* parameters_model.c - learned weights as a model that can be saved, and a model as weights to go
 * on from. Matrices are unpacked from panels and packed again; the rest is copied. */
#include <string.h>

#include "base/memory.h"
#include "model/model_data.h"
#include "tensor/panel.h"
#include "train/parameters.h"

typedef struct mover {
    const pk_parameters *p;
    float               *host; /* all weights, as they lie on the device */
    pk_model_data       *model;
    size_t               at;
} mover;

/* ---- a model becomes weights ---- */

/* tables and the output's bias may have grown since: what is new stays as it is */
static bool may_load(const pk_weight_spec *spec, const pk_weight *w) {
    const bool tokens = pk_role_is_table(spec->role), bias = spec->role == PK_ROLE_OUTPUT_BIAS;
    return (w->rows == spec->rows || (tokens && w->rows < spec->rows)) &&
           (w->cols == spec->cols || (bias && w->cols < spec->cols));
}

/* one weight of the model to its offset in `host`, row by row */
static pk_status unpack_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    mover              *k = user;
    const pk_parameter *one = k->at < k->p->n_list ? &k->p->list[k->at++] : NULL;
    if (!one || strcmp(one->name, spec->name) != 0 || one->rows != spec->rows ||
        one->cols != spec->cols || !may_load(spec, w))
        PK_FAIL(PK_FORMAT, "the model's \"%s\" is not of the shape that is trained", spec->name);
    PK_TRY(pk_weight_check_finite(w, spec->name));
    float *to = k->host + one->first;
    if (!spec->matrix) {
        memcpy(to, w->data, (size_t)w->rows * (size_t)w->cols * sizeof *to);
        return PK_OK;
    }
    for (int32_t row = 0; row < w->rows; row++)
        for (int32_t col = 0; col < spec->cols; col++) *to++ = pk_weight_get(w, row, col);
    return PK_OK;
}

pk_status pk_parameters_load(pk_parameters *p, const pk_model_data *model) {
    pk_network net = model->network; /* walking wants to write; unpacking does not */
    mover      k = { .p = p };
    PK_TRY(PK_TAKE(&k.host, p->n_all));
    pk_status status = pk_parameters_get(p, p->master, k.host, p->n_all);
    if (status == PK_OK) status = pk_network_walk(&net, unpack_weight, &k);
    if (status == PK_OK) status = pk_parameters_begin(p, k.host);
    pk_memory_give(k.host);
    return status;
}

/* ---- weights become a model ---- */

/* one matrix in panels of PK_PANEL rows, in the model's number type */
static pk_status pack_matrix(mover *k, const pk_parameter *one, const float *from, pk_weight *w) {
    void        *data;
    float       *scale;
    const size_t cols = (size_t)one->cols;
    PK_TRY(pk_model_data_take_matrix(k->model, one->rows, one->cols, k->model->type, w, &data,
                                     &scale));
    for (int32_t row = 0; row < one->rows; row += PK_PANEL) {
        const int32_t n = one->rows - row < PK_PANEL ? one->rows - row : PK_PANEL;
        const float  *rows = from + (size_t)row * cols;
        if (!pk_values_fit(rows, (size_t)n * cols, k->model->type))
            PK_FAIL(PK_FORMAT, "\"%s\" has values that are not finite or too large for %s",
                    one->name, pk_dtype_name(k->model->type));
        pk_panel_pack(data, scale, one->cols, k->model->type, row, n, rows);
    }
    return PK_OK;
}

/* one weight from `host`: matrices in panels, the rest copied */
static pk_status pack_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    mover              *k = user;
    const pk_parameter *one = &k->p->list[k->at++];
    const float        *from = k->host + one->first;
    const size_t        n = (size_t)spec->rows * (size_t)spec->cols;
    float              *data;
    if (spec->matrix) return pack_matrix(k, one, from, w);
    PK_TRY(pk_model_data_take_plain(k->model, spec->rows, spec->cols, w, &data));
    memcpy(data, from, n * sizeof *data);
    if (!pk_values_fit(data, n, PK_F32))
        PK_FAIL(PK_FORMAT, "\"%s\" has values that are not finite", spec->name);
    return PK_OK;
}

/* averaged: the average of what learns; frozen weights have none and are taken as they are */
static pk_status pack_all(mover *k, bool averaged) {
    const pk_parameters *p = k->p;
    pk_network          *net = &k->model->network;
    PK_TRY(pk_parameters_get(p, p->master, k->host, p->n_all));
    if (averaged && p->average) PK_TRY(pk_parameters_get(p, p->average, k->host, p->n));
    PK_TRY(pk_network_init(net));
    PK_TRY(pk_network_walk(net, pack_weight, k));
    pk_network_share(net);
    return PK_OK;
}

pk_status pk_parameters_model(const pk_parameters *p, const pk_model_data *like, bool averaged,
                              pk_dtype type, pk_model_data *out) {
    mover k = { .p = p, .model = out };
    *out = (pk_model_data){ .network = { .config = p->net.config },
                            .type = type,
                            .source_spm = like->source_spm,
                            .target_spm = like->target_spm,
                            .source_tokens = like->source_tokens,
                            .target_tokens = like->target_tokens,
                            .lexicon_bytes = like->lexicon_bytes,

                            .n_shared = like->n_shared };
    memcpy(out->verifier, like->verifier, sizeof out->verifier);
    const char *provenance = like->provenance ? like->provenance : "{}";
    pk_status   status = pk_memory_copy_text(provenance, strlen(provenance), &out->provenance);
    if (status == PK_OK) status = PK_TAKE(&k.host, p->n_all);
    if (status == PK_OK) status = pack_all(&k, averaged);
    pk_memory_give(k.host);
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}
