/* trained_model.c - writes the present model to a file, with its provenance: recipe, data, results.
 *
 * Provenance names files without their folders: models are passed on, and paths of the machine that
 * trained them may be private. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "checkpoint/json.h"
#include "model/drafter.h"
#include "recipe/recipe_parts.h"
#include "train/trainer.h"

pk_status pk_trainer_path(const pk_trainer *t, const char *name, char **out) {
    return pk_path_in(t->recipe.output, name, out);
}

pk_dtype pk_trainer_save_type(const pk_trainer *t) { return (pk_dtype)t->recipe.save_type; }

/* ---- provenance ---- */

/* the name of a file without its folder */
static char *last_part(char *path) {
    char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The recipe with files named by their last part. `view` borrows every text from the recipe; lists
 * of files are its own and given back with free_view(). */
static void free_view(pk_recipe *view) {
    for (const pk_option *k = pk_recipe_keys; k->name; k++)
        if (k->kind == PK_OPTION_PATHS)
            pk_memory_give(((pk_texts *)(void *)((char *)view + k->offset))->item);
}

static pk_status shorten_list(pk_texts *list, pk_status status) {
    char **item = NULL;
    if (status == PK_OK) status = PK_TAKE(&item, list->n);
    for (size_t i = 0; status == PK_OK && i < list->n; i++) item[i] = last_part(list->item[i]);
    list->item = item; /* never the recipe's: free_view() gives it back */
    return status;
}

/* goes through the table of keys: a new key with paths is handled without a change here */
static pk_status view_without_folders(const pk_recipe *r, pk_recipe *view) {
    pk_status status = PK_OK;
    *view = *r;
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        void *field = (char *)view + k->offset;
        if (k->kind == PK_OPTION_PATH) *(char **)field = last_part(*(char **)field);
        if (k->kind == PK_OPTION_PATHS) status = shorten_list(field, status);
    }
    if (status != PK_OK) free_view(view);
    return status;
}

/* the whole recipe as YAML, in a JSON text */
static pk_status add_recipe(pk_buffer *json, const pk_recipe *r) {
    pk_recipe view;
    pk_buffer yaml = { 0 };
    PK_TRY(view_without_folders(r, &view));
    pk_recipe_write(&view, &yaml);
    pk_buffer_add_text(json, ",\"recipe\":");
    pk_json_add_string(json, yaml.data ? yaml.data : "");
    const pk_status status = pk_buffer_status(&yaml);
    pk_buffer_free(&yaml);
    free_view(&view);
    return status;
}

/* what was read, with the folders left out of every word */
static pk_status add_data(pk_buffer *json, const char *report) {
    pk_buffer text = { 0 };
    for (const char *at = report; at && *at;) {
        const size_t space = strspn(at, " \n"), word = strcspn(at + space, " \n");
        const char  *slash = memrchr(at + space, '/', word);
        const char  *from = slash ? slash + 1 : at + space;
        pk_buffer_add(&text, at, space);
        pk_buffer_add(&text, from, (size_t)(at + space + word - from));
        at += space + word;
    }
    pk_buffer_add_text(json, ",\"data\":");
    pk_json_add_string(json, text.data ? text.data : "");
    const pk_status status = pk_buffer_status(&text);
    pk_buffer_free(&text);
    return status;
}

/* as the shortest text that reads back as the same float */
static void add_number(pk_buffer *json, const char *name, double value) {
    pk_buffer_print(json, ",\"%s\":", name);
    pk_json_add_float(json, (float)value);
}

/* A JSON object. began_with: the provenance of the model that this training started from. */
static pk_status build_provenance(const pk_trainer *t, pk_buffer *json) {
    const pk_train_state *s = &t->state;
    pk_buffer_add_text(json, "{\"trained_by\":\"pronk " PK_VERSION_TEXT "\"");
    pk_buffer_print(json, ",\"updates\":%lld,\"batches\":%lld", (long long)s->update,
                    (long long)s->batches);
    add_number(json, "seconds", s->seconds);
    if (s->validations) add_number(json, "valid_loss", s->valid_loss);
    if (s->validations && t->recipe.valid_bleu) {
        add_number(json, "valid_bleu", s->valid_bleu);
        add_number(json, "valid_chrf", s->valid_chrf);
    }
    PK_TRY(add_recipe(json, &t->recipe));
    PK_TRY(add_data(json, pk_loader_report(t->loader)));
    if (t->start.provenance) pk_buffer_print(json, ",\"began_with\":%s", t->start.provenance);
    pk_buffer_add_text(json, "}");
    return pk_buffer_status(json);
}

static pk_status write_provenance(const pk_trainer *t, pk_model_data *m) {
    pk_buffer json = { 0 };
    pk_memory_give(m->provenance);
    m->provenance = NULL;
    pk_status status = build_provenance(t, &json);
    if (status == PK_OK) status = pk_buffer_take(&json, &m->provenance, NULL);
    pk_buffer_free(&json);
    return status;
}

pk_status pk_trainer_write_model(pk_trainer *t, const char *name, pk_dtype type) {
    pk_model_data m;
    char         *path;
    PK_TRY(pk_trainer_path(t, name, &path));
    pk_status status = pk_model_data_check_file(&t->start); /* its vocabulary is mapped */
    if (status != PK_OK)
        pk_fail_context("%s", *t->recipe.init ? t->recipe.init : t->recipe.verifier);
    if (status == PK_OK) status = pk_parameters_model(&t->p, &t->start, true, type, &m);
    if (status == PK_OK) {
        status = write_provenance(t, &m);
        if (status == PK_OK && *m.verifier) status = pk_drafter_cut(&m, m.n_shared, m.verifier);
        if (status == PK_OK) status = pk_model_data_save(&m, path);
        pk_model_data_close(&m);
    }
    pk_memory_give(path);
    return status;
}
