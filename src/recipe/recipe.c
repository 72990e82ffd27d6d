/* recipe.c - reads recipes: defaults, then a file, then the list of --set.
 *
 * The table is made from the list in recipe.h; nothing here knows a key by name except the checks
 * at the end, of settings that must fit each other. Numbers are read whatever the locale. */
#include "recipe/recipe.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_map.h"
#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "text/text_change.h"

enum { MOST_BYTES = 1 << 20 }; /* of a recipe; more is another kind of file */

void pk_recipe_free(pk_recipe *r) { pk_options_free(pk_recipe_keys, r); }

/* ---- From a file ---- */

/* the folder that holds a file, absolute */
static pk_status folder_of(const char *path, char **out) {
    const char *slash = strrchr(path, '/');
    char       *folder = NULL;
    if (!slash)
        PK_TRY(pk_memory_copy_text(".", 1, &folder));
    else
        PK_TRY(pk_memory_copy_text(path, slash == path ? 1 : (size_t)(slash - path), &folder));
    char     *whole = realpath(folder, NULL); /* the C library's own block */
    pk_status status = whole ? pk_memory_copy_text(whole, strlen(whole), out)
                             : pk_fail_with(PK_IO, "%s: %s", folder, strerror(errno));
    free(whole);
    pk_memory_give(folder);
    return status;
}

/* a large file is probably not a recipe: refused before it is parsed */
static pk_status read_file(pk_recipe *recipe, const char *path) {
    pk_recipe_reader r = { .recipe = recipe, .file = path };
    pk_file_map      map;
    PK_TRY(pk_file_map_open(path, &map));
    pk_status status = PK_OK;
    if (map.size > MOST_BYTES)
        status = pk_fail_with(PK_FORMAT, "%s: %zu bytes are too many for a recipe", path, map.size);
    if (status == PK_OK) status = folder_of(path, &r.folder);
    if (status == PK_OK)
        status = pk_recipe_read_yaml(&r, map.data ? (const char *)map.data : "", map.size);
    pk_memory_give(r.folder);
    pk_file_map_close(&map);
    return status;
}

/* ---- From --set ---- */

/* the value as it is, or, for a list, what stands between commas */
static pk_status split_value(const char *text, bool list, pk_texts *out) {
    if (!list) return pk_texts_add(out, text, strlen(text));
    while (*text) {
        const size_t n = strcspn(text, ",");
        PK_TRY(pk_texts_add(out, text, n));
        text += n + (text[n] != 0);
    }
    return PK_OK;
}

/* one "key=value" */
static pk_status apply(pk_recipe_reader *r, const char *set) {
    const char *equals = strchr(set, '=');
    char       *name;
    pk_texts    value = { 0 };
    if (!equals)
        return pk_recipe_fail(r, PK_ARGUMENT, 0, "'%s' has no value: write key=value", set);
    PK_TRY(pk_memory_copy_text(set, (size_t)(equals - set), &name));
    const bool list = pk_recipe_takes_list(name);
    pk_status  status = split_value(equals + 1, list, &value);
    if (status == PK_OK) status = pk_recipe_give(r, name, 0, &value, list);
    pk_texts_free(&value);
    pk_memory_give(name);
    return status;
}

/* paths in --set count from the current folder */
static pk_status read_set(pk_recipe *recipe, const char *const *set, size_t n) {
    pk_recipe_reader r = { .recipe = recipe };
    if (n == 0) return PK_OK;
    PK_TRY(folder_of("./", &r.folder));
    pk_status status = PK_OK;
    for (size_t i = 0; i < n && status == PK_OK; i++) status = apply(&r, set[i]);
    pk_memory_give(r.folder);
    return status;
}

pk_status pk_recipe_read(const char *path, const char *const *set, size_t n_set, pk_recipe *out) {
    *out = (pk_recipe){ 0 };
    pk_status status = pk_options_defaults(pk_recipe_keys, out);
    if (status == PK_OK && path) status = read_file(out, path);
    if (status == PK_OK) status = read_set(out, set, n_set);
    if (status != PK_OK) pk_recipe_free(out);
    return status;
}

/* ---- Settings that must fit each other ---- */

/* a list that has one item for each corpus, or none at all */
static pk_status check_list(const char *name, const pk_texts *list, size_t n_corpora) {
    if (list->n && list->n != n_corpora)
        PK_FAIL(PK_ARGUMENT, "%s has %zu items for %zu corpora", name, list->n, n_corpora);
    return PK_OK;
}

/* lists that go together, and both sides of the validation text */
static pk_status check_data(const pk_recipe *r) {
    if (r->source.n == 0)
        PK_FAIL(PK_ARGUMENT, "no data to train on: give data.source and data.target");
    if (r->source.n != r->target.n)
        PK_FAIL(PK_ARGUMENT,
                "data.source has %zu files and data.target has %zu: they go together in pairs",
                r->source.n, r->target.n);
    PK_TRY(check_list("data.weight", &r->weight, r->source.n));
    PK_TRY(check_list("data.change", &r->change, r->source.n));
    PK_TRY(check_list("data.to", &r->data_to, r->source.n));
    for (size_t i = 0; i < r->change.n; i++) {
        pk_text_change change;
        PK_TRY(pk_text_change_find(r->change.item[i], &change));
    }
    if (!*r->valid_source != !*r->valid_target)
        PK_FAIL(PK_ARGUMENT, "%s is missing: validation needs valid.source and valid.target",
                *r->valid_source ? "valid.target" : "valid.source");
    if (r->data_to.n && !*r->target_language)
        PK_FAIL(PK_ARGUMENT,
                "data.to needs the language that is meant when nothing is said: give to");
    if (r->data_to.n && r->check_language)
        PK_FAIL(PK_ARGUMENT,
                "data.check_language knows one direction only: leave it out with data.to");
    if (r->check_language && (!*r->source_language || !*r->target_language))
        PK_FAIL(PK_ARGUMENT, "data.check_language needs to know the languages: give from and to");
    return PK_OK;
}

/* the shape of a new model */
static pk_status check_model(const pk_recipe *r) {
    if (*r->init && *r->verifier)
        PK_FAIL(PK_ARGUMENT, "init and verifier: a drafter begins with its model, so give one");
    if (*r->verifier && strcmp(r->task, "gad") != 0 && strncmp(r->task, "gad:", 4) != 0)
        PK_FAIL(PK_ARGUMENT, "verifier is for drafters: set task to gad, not %.60s", r->task);
    if (*r->verifier && r->valid_metric == PK_METRIC_BLEU)
        PK_FAIL(PK_ARGUMENT, "a drafter has no BLEU of its own: set valid.metric to loss");
    if (*r->init || *r->verifier) return PK_OK; /* its shape counts */
    if (!*r->vocab)
        PK_FAIL(PK_ARGUMENT, "no vocabulary: make one with `pronk vocab` and give it as vocab");
    if (r->dim % r->heads)
        PK_FAIL(PK_ARGUMENT, "model.dim must be a multiple of model.heads; %lld is not one of %lld",
                (long long)r->dim, (long long)r->heads);
    if (r->dim % 2) PK_FAIL(PK_ARGUMENT, "model.dim must be even, %lld is not", (long long)r->dim);
    if (r->max_length >= r->max_positions)
        PK_FAIL(PK_ARGUMENT,
                "model.max_positions must be more than data.max_length, the end symbol needs a "
                "position; %lld is not more than %lld",
                (long long)r->max_positions, (long long)r->max_length);
    if (*r->target_vocab && r->tie == PK_TIE_ALL)
        PK_FAIL(PK_ARGUMENT, "with vocab_target, model.tie must be decoder or none: two "
                             "vocabularies cannot share a table");
    return PK_OK;
}

pk_status pk_recipe_check(const pk_recipe *r) {
    if (!*r->output) PK_FAIL(PK_ARGUMENT, "no folder for results: give output");
    if (strlen(r->source_language) > 15 || strlen(r->target_language) > 15)
        PK_FAIL(PK_ARGUMENT, "from and to are codes such as en or de, of at most 15 letters");
    PK_TRY(check_data(r));
    PK_TRY(check_model(r));
    const bool falls = r->schedule == PK_LINEAR_FALL || r->schedule == PK_COSINE;
    if (r->updates == 0 && r->minutes <= 0 && (falls || r->cooldown > 0))
        PK_FAIL(PK_ARGUMENT, "%s needs an end: give train.updates or train.minutes",
                falls ? "this train.schedule" : "train.cooldown");
    return PK_OK;
}
