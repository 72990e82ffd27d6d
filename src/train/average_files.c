/* average_files.c - the mean of models in files: .pronk files, model folders, and checkpoints as a
 * training leaves them.
 *
 * A checkpoint holds weights and a recipe; shape and vocabulary come from that recipe. Where it has
 * a moving average, that is what counts, as it does when a training writes its model. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/json.h"
#include "model/average.h"
#include "model/drafter.h"
#include "model/model_data.h"
#include "recipe/recipe_parts.h"
#include "task/task_list.h"
#include "train/candidates.h"
#include "train/start_model.h"

/* ---- A checkpoint as a model ---- */

/* all models that are averaged */
typedef struct opened {
    pk_model_data *model; /* n of each; a file is mapped only where it is a checkpoint */
    pk_stored     *file;
    size_t         n;
} opened;

/* the recipe that a checkpoint was made with; its paths are absolute */
static pk_status read_recipe(const pk_stored *file, pk_recipe *out) {
    json_t          *metadata = NULL;
    char             root[] = "/";
    const char      *text = file->metadata ? file->metadata : "{}";
    pk_recipe_reader reader = { .recipe = out, .file = "its recipe", .folder = root };
    PK_TRY(pk_recipe_read(NULL, NULL, 0, out));
    pk_status   status = pk_json_parse(text, strlen(text), "metadata", &metadata);
    const char *yaml = json_string_value(json_object_get(metadata, "recipe"));
    if (status == PK_OK && !yaml)
        status = pk_fail_with(PK_FORMAT, "neither a model nor a checkpoint of a training");
    if (status == PK_OK) status = pk_recipe_read_yaml(&reader, yaml, strlen(yaml));
    json_decref(metadata);
    if (status != PK_OK) pk_recipe_free(out);
    return status;
}

/* "average.NAME" where the checkpoint has it, else "weight.NAME"; points into the mapping */
static pk_status bind_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    const pk_stored *file = user;
    char             full[128];
    snprintf(full, sizeof full, "average.%s", spec->name);
    const pk_stored_tensor *t = pk_stored_find(file, full);
    snprintf(full, sizeof full, "weight.%s", spec->name);
    if (!t) t = pk_stored_find(file, full);
    if (!t || t->type != PK_STORED_F32 || t->n_dims != 2 || t->dim[0] != spec->rows ||
        t->dim[1] != spec->cols)
        PK_FAIL(PK_FORMAT, "\"%s\" is missing, or not of the shape that its recipe says", full);
    *w = (pk_weight){
        .data = t->data, .rows = spec->rows, .cols = spec->cols, .type = PK_F32, .plain = true
    };
    return PK_OK;
}

/* shape and vocabulary from the recipe, weights from the file, candidates from beside it */
static pk_status fill_model(const pk_recipe *r, const char *path, const pk_stored *file,
                            pk_model_data *m) {
    const pk_task *task;
    void          *options;
    pk_status      status = pk_task_parse(r->task, &task, &options);
    if (status != PK_OK)
        PK_FAIL(PK_UNSUPPORTED, "it was made by a task that is not known here, %s", r->task);
    status = pk_start_model_open(r, task, options, m);
    pk_memory_give(options);
    PK_TRY(status);
    m->type = (pk_dtype)r->save_type;
    if (!m->network.encoder) PK_TRY(pk_network_init(&m->network));
    PK_TRY(pk_network_walk(&m->network, bind_weight, (void *)file));
    pk_network_share(&m->network);
    if (task->lexicon) PK_TRY(pk_candidates_read_beside(m, path));
    return *m->verifier ? pk_drafter_cut(m, m->n_shared, m->verifier) : PK_OK;
}

/* errors name the file, once */
static pk_status open_checkpoint(const char *path, pk_stored *file, pk_model_data *m) {
    pk_recipe r;
    PK_TRY(pk_safetensors_open(path, file));
    pk_status status = read_recipe(file, &r);
    if (status == PK_OK) {
        status = fill_model(&r, path, file, m);
        pk_recipe_free(&r);
    }
    if (status == PK_OK) status = pk_file_ids_add(&m->files, path);
    if (status != PK_OK && strncmp(pk_last_error(), path, strlen(path)) != 0)
        pk_fail_context("%s", path);
    return status;
}

/* ---- All files ---- */

static bool is_checkpoint(const char *path) {
    static const char ending[] = ".safetensors";
    const size_t      n = strlen(path), end = sizeof ending - 1;
    return n > end && !strcmp(path + n - end, ending);
}

/* -1: in the type that the model is stored in */
static pk_status open_all(const char *const *paths, opened *o) {
    PK_TRY(PK_TAKE(&o->model, o->n));
    PK_TRY(PK_TAKE(&o->file, o->n));
    for (size_t i = 0; i < o->n; i++) {
        if (is_checkpoint(paths[i]))
            PK_TRY(open_checkpoint(paths[i], &o->file[i], &o->model[i]));
        else
            PK_TRY(pk_model_data_open(paths[i], -1, &o->model[i]));
    }
    return PK_OK;
}

static void close_all(opened *o) {
    for (size_t i = 0; o->model && i < o->n; i++) pk_model_data_close(&o->model[i]);
    for (size_t i = 0; o->file && i < o->n; i++) pk_stored_close(&o->file[i]);
    pk_memory_give(o->model);
    pk_memory_give(o->file);
}

pk_status pk_model_average(const char *const *paths, size_t n, const char *out, const char *type) {
    opened o = { .n = n };
    int    stored;
    if (!paths || n == 0 || !out) PK_FAIL(PK_ARGUMENT, "average needs models and a file to write");
    for (size_t i = 0; i < n; i++) PK_NEED(paths[i]);
    PK_TRY(pk_dtype_parse(type, true, &stored));
    pk_status status = open_all(paths, &o);
    for (size_t i = 0; status == PK_OK && i < n; i++)
        status = pk_file_ids_refuse(&o.model[i].files, out);
    if (status == PK_OK)
        status = pk_model_data_average(o.model, paths, n,
                                       stored < 0 ? o.model[0].type : (pk_dtype)stored, out);
    close_all(&o);
    return status;
}
