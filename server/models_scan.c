/* models_scan.c - a folder becomes a list of models and the languages they are for.
 *
 * A .pronk file says its languages itself, and opening one costs nothing. Others are opened only where
 * their name does not say: reading a whole package to learn what it is for would take long. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "problem.h"
#include "servable.h"

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static bool has_file(const char *folder, const char *name) {
    char      *path = NULL;
    const bool there = asprintf(&path, "%s/%s", folder, name) > 0 && access(path, F_OK) == 0;
    free(path);
    return there;
}

/* what may be a model: anything else in the folder is passed over in silence */
static bool is_candidate(const char *path, const struct stat *file) {
    if (S_ISREG(file->st_mode)) return ends_with(path, ".pronk") || ends_with(path, ".argosmodel");
    return S_ISDIR(file->st_mode) &&
           (has_file(path, "model.bin") || has_file(path, "config.json") ||
            has_file(path, "model.pronk") || has_file(path, "model/model.bin"));
}

bool pk_servable_ask_model(const pk_model *model, pk_language_pair *own) {
    char *text = NULL;
    if (pk_model_describe(model, &text) != PK_OK) return false;
    json_t     *json = json_loads(text, 0, NULL), *config = json_object_get(json, "config");
    const char *from = json_string_value(json_object_get(config, "source_language"));
    const char *to = json_string_value(json_object_get(config, "target_language"));
    const bool  known = from && to && *from && *to;
    if (known) {
        snprintf(own->from, sizeof own->from, "%s", from);
        snprintf(own->to, sizeof own->to, "%s", to);
    }
    json_decref(json);
    pk_free(text);
    return known;
}

static bool ask_file(const char *path, pk_language_pair *own, char *error) {
    pk_model       *model = NULL;
    const pk_status status = pk_model_open(path, NULL, &model);
    const bool      known = status == PK_OK && pk_servable_ask_model(model, own);
    pk_model_close(model);
    if (known) return true;
    if (status != PK_OK) return pk_problem(error, "%s", pk_last_error());
    return pk_problem(
        error, "%s: neither the model nor its name says its languages; call it en-de, say", path);
}

/* "en_XX" and "en" are one language */
static void set_code(const char *own, char code[PK_CODE_ROOM]) {
    char copy[PK_CODE_ROOM];
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(own, "_"), own);
    pk_language_code(copy, code);
}

static bool find_pair(const char *path, pk_servable *e, char *error) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool  by_name = pk_language_pair_of(name, e->own.from, e->own.to);
    if (!by_name || ends_with(path, ".pronk")) {
        pk_language_pair own;
        if (ask_file(path, &own, error))
            e->own = own;
        else if (!by_name)
            return false;
    }
    set_code(e->own.from, e->pair.from);
    set_code(e->own.to, e->pair.to);
    return true;
}

void pk_servable_free(pk_servable *e) {
    if (!e) return;
    free(e->path);
    free(e);
}

/* NULL: it is none; where it should be one, `error` says why */
static pk_servable *make(const char *path, char *error) {
    struct stat file;
    *error = '\0';
    if (stat(path, &file) != 0) return pk_problem(error, "%s: %s", path, strerror(errno)), NULL;
    pk_servable *e = calloc(1, sizeof *e);
    if (e) e->path = strdup(path);
    if (!e || !e->path) {
        pk_problem(error, "out of memory");
    } else {
        e->file = file;
        return e;
    }
    pk_servable_free(e);
    return NULL;
}

static pk_servable **scan_one(const pk_server_options *o, size_t *n, char *error) {
    pk_servable **list = calloc(1, sizeof *list);
    pk_servable  *e = list ? make(o->model, error) : NULL;
    bool          found = e != NULL;
    if (found && o->from && o->to) {
        e->chosen = true;
        snprintf(e->own.from, sizeof e->own.from, "%s", o->from);
        snprintf(e->own.to, sizeof e->own.to, "%s", o->to);
        set_code(o->from, e->pair.from);
        set_code(o->to, e->pair.to);
    } else if (found) {
        found = find_pair(o->model, e, error);
    }
    if (found) {
        *n = 1;
        list[0] = e;
        return list;
    }
    pk_servable_free(e);
    free(list);
    return NULL;
}

/* "en,de": is it one of them? NULL: all are */
static bool is_listed(const char *list, const char *code) {
    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        char copy[PK_CODE_ROOM], wanted[PK_CODE_ROOM];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(list, ","), list);
        pk_language_code(copy, wanted);
        if (!strcmp(wanted, code)) return true;
        if (!list[strcspn(list, ",")]) return false;
    }
    return !list || !*list;
}

/* of several models for a pair the last by name counts: the newest version of a package */
static void add(pk_servable **list, size_t *n, pk_servable *e) {
    for (size_t i = 0; i < *n; i++) {
        if (memcmp(&list[i]->pair, &e->pair, sizeof e->pair)) continue;
        pk_log("%s serves %s to %s in place of %s", e->path, e->pair.from, e->pair.to,
               list[i]->path);
        pk_servable_free(list[i]);
        list[i] = e;
        return;
    }
    list[(*n)++] = e;
}

/* looks at one entry of the folder */
static void consider(const pk_settings *s, const char *name, pk_servable **list, size_t *n) {
    char  error[PK_ERROR_ROOM] = "";
    char *path = NULL;
    if (asprintf(&path, "%s/%s", s->models, name) < 0) return;
    pk_servable *e = make(path, error);
    if (e && is_candidate(path, &e->file)) {
        if (!find_pair(path, e, error)) {
            pk_log("left out: %s", error);
        } else if (is_listed(s->load_only, e->pair.from) && is_listed(s->load_only, e->pair.to)) {
            add(list, n, e);
            e = NULL;
        }
    }
    pk_servable_free(e);
    free(path);
}

static int by_version(const struct dirent **a, const struct dirent **b) {
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

static pk_servable **scan_folder(const pk_server_options *o, size_t *n, char *error) {
    struct dirent **entry = NULL;
    const char     *folder = o->settings->models;
    const int       n_entries = scandir(folder, &entry, is_visible, by_version);
    if (n_entries < 0) return pk_problem(error, "%s: %s", folder, strerror(errno)), NULL;
    pk_servable **list = calloc((size_t)n_entries + 1, sizeof *list);
    for (int i = 0; i < n_entries; i++) {
        if (list) consider(o->settings, entry[i]->d_name, list, n);
        free(entry[i]);
    }
    free(entry);
    if (list && *n) return list;
    free(list);
    return pk_problem(error, "%s: there is no model that can be served", folder), NULL;
}

pk_servable **pk_models_scan(const pk_server_options *o, size_t *n, char *error) {
    *n = 0;
    pk_problem(error, "out of memory");
    return o->settings->models ? scan_folder(o, n, error) : scan_one(o, n, error);
}
