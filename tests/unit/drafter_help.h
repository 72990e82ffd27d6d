/* drafter_help.h - a drafter that shares the encoder of a small model, made in memory: one random
 * layer, three tokens behind the model's text, the last of them <mask>. What it drafts is garbage. */
#ifndef PK_TESTS_DRAFTER_HELP_H
#define PK_TESTS_DRAFTER_HELP_H
#include "check.h"
#include "checkpoint_help.h"
#include "model/drafter.h"
#include "model/model_data.h"
#include "tensor/panel.h"

#define DRAFTED_MODEL "tests/data/models/marian-relu"
enum { OWN = 3, TEXT = 234 };

static inline pk_status fill_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    pk_model_data *m = user;
    float         *plain, *scale, row[128];
    void          *data;
    uint32_t       x = (uint32_t)strlen(spec->name);
    if (!spec->matrix) {
        PK_TRY(pk_model_data_take_plain(m, spec->rows, spec->cols, w, &plain));
        for (int32_t i = 0; i < spec->rows * spec->cols; i++)
            plain[i] = (float)((i + spec->cols) % 9) / 8;
        return PK_OK;
    }
    PK_TRY(pk_model_data_take_matrix(m, spec->rows, spec->cols, m->type, w, &data, &scale));
    for (int32_t i = 0; i < spec->rows; i++) {
        for (int32_t col = 0; col < spec->cols; col++)
            row[col] = (float)((x = x * 1664525u + 1013904223u) >> 24) / 256 - 0.5f;
        pk_panel_pack(data, scale, spec->cols, m->type, i, 1, row);
    }
    return PK_OK;
}

/* the whole network that a drafter is cut off; its text rows would be the model's */
static inline pk_status make_whole(const pk_model_data *model, pk_dtype type, pk_model_data *out) {
    static const char own[] = "<unused:234>\0<unused:235>\0<mask>";
    pk_buffer         names = { 0 };
    *out = (pk_model_data){ .type = type, .network.config = model->network.config };
    pk_config *c = &out->network.config;
    c->decoder_layers = 1;
    c->n_text = c->target_vocab;
    c->source_vocab = c->target_vocab += OWN;
    snprintf(c->tasks, sizeof c->tasks, "gad");
    out->source_spm = model->source_spm;
    out->target_spm = model->target_spm;
    pk_buffer_add(&names, model->source_tokens.data, model->source_tokens.size);
    pk_buffer_add(&names, own, sizeof own);
    pk_status status = pk_buffer_status(&names);
    if (status == PK_OK)
        status = pk_model_data_copy(out, names.data, names.size, &out->source_tokens);
    pk_buffer_free(&names);
    if (status == PK_OK) status = pk_network_init(&out->network);
    if (status == PK_OK) status = pk_network_walk(&out->network, fill_weight, out);
    pk_network_share(&out->network);
    return status;
}

static inline pk_status make_drafter(const pk_model_data *model, pk_dtype type,
                                     pk_model_data *out) {
    char            fingerprint[PK_FINGERPRINT];
    const pk_config c = model->network.config;
    pk_fingerprint(model, fingerprint);
    pk_status status = make_whole(model, type, out);
    if (status == PK_OK) status = pk_drafter_cut(out, c.target_vocab, fingerprint);
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}

/* of the model of tests, into a file of this process's own */
static inline void save_drafter(pk_dtype type, char path[256]) {
    pk_model_data model, drafter;
    ASSERT_OK(pk_model_data_open(DRAFTED_MODEL, -1, &model));
    ASSERT_OK(make_drafter(&model, type, &drafter));
    temporary(path, "drafter.pronk");
    ASSERT_OK(pk_model_data_save(&drafter, path));
    pk_model_data_close(&drafter);
    pk_model_data_close(&model);
}
#endif
