/* average.c - several models of one shape become one: each weight is the mean of theirs.
 *
 * Sums are in double and weights of any type count as the numbers they stand for, so the mean of
 * equal models is that model. Configuration and vocabulary must be the same in all, but the first
 * one's vocabulary may go on where another's ends: a row that only some have is the mean of theirs. */
#include "model/average.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/json.h"
#include "model/model_data.h"
#include "tensor/panel.h"

typedef struct averaging {
    const char *const   *name;
    const pk_model_data *model; /* n of them */
    size_t               n;
    pk_weight           *weight; /* (n, each): those of every model in the order of the walk */
    size_t               each, at;
    pk_model_data       *out;
    float               *row;
} averaging;

/* ---- What must agree ---- */

/* the message names the first field that differs */
static pk_status check_field(const averaging *a, size_t i, const char *field, bool same) {
    if (same) return PK_OK;
    PK_FAIL(PK_ARGUMENT, "%s and %s are not of the same shape: they differ in %s", a->name[0],
            a->name[i], field);
}

/* sizes of vocabularies are compared with them; how text is read does not touch weights */
static bool may_differ(const char *field) {
    return !strcmp(field, "source_vocab") || !strcmp(field, "target_vocab") ||
           !strcmp(field, "capitals");
}

/* every field of the configuration, by its name */
static pk_status check_config(const averaging *a, size_t i) {
    const pk_config *x = &a->model[0].network.config, *y = &a->model[i].network.config;
#define CHECK(kind, field, normal) \
    PK_TRY(check_field(a, i, #field, x->field == y->field || may_differ(#field)));
    PK_CONFIG_MAP(CHECK)
#undef CHECK
    PK_TRY(check_field(a, i, "suppressed tokens",
                       x->n_suppressed == y->n_suppressed &&
                           !memcmp(x->suppressed, y->suppressed, sizeof x->suppressed)));
    PK_TRY(check_field(a, i, "verifier", !strcmp(x->verifier, y->verifier)));
    return check_field(a, i, "languages",
                       !strcmp(x->source_language, y->source_language) &&
                           !strcmp(x->target_language, y->target_language));
}

static bool same_blob(const pk_blob *x, const pk_blob *y) {
    return x->size == y->size && (x->size == 0 || !memcmp(x->data, y->data, x->size));
}

/* one vocabulary for both sides, and the other model's with more behind it (`pronk vocab -m`) */
static bool extends(const pk_model_data *x, const pk_model_data *y) {
    const size_t apart =
        x->target_spm.size + x->target_tokens.size + y->target_spm.size + y->target_tokens.size;
    return !apart && pk_blob_begins_with(x->source_spm, y->source_spm) &&
           pk_blob_begins_with(x->source_tokens, y->source_tokens);
}

static pk_status check_vocab(const averaging *a, size_t i) {
    const pk_model_data *x = &a->model[0], *y = &a->model[i];
    if (extends(x, y)) return PK_OK;
    if (same_blob(&x->source_spm, &y->source_spm) && same_blob(&x->target_spm, &y->target_spm) &&
        same_blob(&x->source_tokens, &y->source_tokens) &&
        same_blob(&x->target_tokens, &y->target_tokens))
        return PK_OK;
    PK_FAIL(PK_ARGUMENT, "%s and %s do not have the same vocabulary", a->name[0], a->name[i]);
}

/* ---- Weights ---- */

/* first walk: how many weights there are, and the longest row */
static pk_status count_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    averaging *a = user;
    (void)w;
    a->each++;
    if ((size_t)spec->cols > a->at) a->at = (size_t)spec->cols; /* the longest row, for now */
    return PK_OK;
}

static pk_status list_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    averaging *a = user;
    (void)spec;
    a->weight[a->at++] = *w;
    return PK_OK;
}

/* all weights of all models in one list, and room for a row */
static pk_status list_weights(averaging *a) {
    pk_network view = a->model[0].network; /* walking wants to write; listing does not */
    PK_TRY(pk_network_walk(&view, count_weight, a));
    PK_TRY(PK_TAKE(&a->row, a->at));
    PK_TRY(PK_TAKE(&a->weight, a->n * a->each));
    a->at = 0;
    for (size_t i = 0; i < a->n; i++) {
        view = a->model[i].network;
        PK_TRY(pk_network_walk(&view, list_weight, a));
    }
    a->at = 0;
    return PK_OK;
}

/* of one number of weight number `at`, over the models that have it: the first does */
static float mean(const averaging *a, int32_t row, int32_t col) {
    double sum = 0;
    int    n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const pk_weight *w = &a->weight[i * a->each + a->at];
        if (row >= w->rows || col >= w->cols) continue;
        sum += (double)pk_weight_get(w, row, col);
        n++;
    }
    return (float)(sum / n);
}

/* row by row, so that no whole matrix of doubles is needed */
static pk_status average_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    averaging     *a = user;
    float         *plain = NULL, *scale = NULL;
    void          *data = NULL;
    const pk_dtype type = spec->matrix ? a->out->type : PK_F32;
    if (spec->matrix)
        PK_TRY(pk_model_data_take_matrix(a->out, spec->rows, spec->cols, type, w, &data, &scale));
    else
        PK_TRY(pk_model_data_take_plain(a->out, spec->rows, spec->cols, w, &plain));
    for (int32_t row = 0; row < spec->rows; row++) {
        for (int32_t col = 0; col < spec->cols; col++) a->row[col] = mean(a, row, col);
        if (!pk_values_fit(a->row, (size_t)spec->cols, type))
            PK_FAIL(PK_FORMAT, "the mean of \"%s\" is not finite or too large for %s", spec->name,
                    pk_dtype_name(type));
        if (spec->matrix)
            pk_panel_pack(data, scale, spec->cols, type, row, 1, a->row);
        else
            memcpy(plain + (size_t)row * (size_t)spec->cols, a->row,
                   (size_t)spec->cols * sizeof *plain);
    }
    a->at++;
    return PK_OK;
}

/* ---- The model that is written ---- */

/* what the first says of itself, and the files that were averaged; NULL: out of memory */
static char *describe(const averaging *a) {
    const char *before = a->model[0].provenance ? a->model[0].provenance : "{}";
    json_t     *about = NULL, *files = json_array();
    char       *text = NULL;
    if (pk_json_parse(before, strlen(before), "", &about) != PK_OK) about = json_object();
    for (size_t i = 0; files && i < a->n; i++) {
        const char *slash = strrchr(a->name[i], '/');
        json_t     *name = json_string(slash ? slash + 1 : a->name[i]);
        json_array_append_new(files, name ? name : json_string("?"));
    }
    if (about && files && !json_object_set(about, "averaged", files))
        text = json_dumps(about, JSON_COMPACT);
    json_decref(files);
    json_decref(about);
    return text;
}

static pk_status make_provenance(averaging *a) {
    char *text = describe(a);
    if (!text) PK_FAIL(PK_NO_MEMORY, "out of memory");
    const pk_status status = pk_memory_copy_text(text, strlen(text), &a->out->provenance);
    free(text); /* jansson's own allocation */
    return status;
}

/* The first model gives configuration and vocabulary. Files are checked for changes at the end. */
static pk_status average(averaging *a, const char *to) {
    const pk_model_data *first = &a->model[0];
    for (size_t i = 1; i < a->n; i++) {
        PK_TRY(check_config(a, i));
        PK_TRY(check_vocab(a, i));
    }
    a->out->network.config = first->network.config;
    a->out->source_spm = first->source_spm;
    a->out->target_spm = first->target_spm;
    a->out->source_tokens = first->source_tokens;
    a->out->target_tokens = first->target_tokens;
    a->out->lexicon_bytes = first->lexicon_bytes;
    PK_TRY(make_provenance(a));
    PK_TRY(pk_network_init(&a->out->network));
    PK_TRY(list_weights(a));
    PK_TRY(pk_network_walk(&a->out->network, average_weight, a));
    pk_network_share(&a->out->network);
    for (size_t i = 0; i < a->n; i++) {
        const pk_status status = pk_model_data_check_file(&a->model[i]);
        if (status != PK_OK) pk_fail_context("%s", a->name[i]);
        PK_TRY(status);
    }
    return pk_model_data_save(a->out, to);
}

pk_status pk_model_data_average(const pk_model_data *model, const char *const *name, size_t n,
                                pk_dtype type, const char *to) {
    pk_model_data   result = { .type = type };
    averaging       a = { .name = name, .model = model, .n = n, .out = &result };
    const pk_status status = average(&a, to);
    pk_model_data_close(&result);
    pk_memory_give(a.weight);
    pk_memory_give(a.row);
    return status;
}
