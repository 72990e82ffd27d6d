/* trainer_outputs.c - checks the output files before the training starts: none may be a file that
 * is read, and none may be a pipe, since writing to a pipe waits until something reads it. */
#include <sys/stat.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "train/candidates.h"

/* every key that names files; folders are never equal to a file */
static pk_status add_paths(const pk_recipe *r, pk_file_ids *inputs) {
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        const void *field = (const char *)r + k->offset;
        if (k->kind == PK_OPTION_PATH) PK_TRY(pk_file_ids_add(inputs, *(char *const *)field));
        if (k->kind != PK_OPTION_PATHS) continue;
        const pk_texts *list = field;
        for (size_t i = 0; i < list->n; i++) PK_TRY(pk_file_ids_add(inputs, list->item[i]));
    }
    return PK_OK;
}

/* one file of the output folder */
static pk_status check(const pk_trainer *t, const pk_file_ids *inputs, const char *name) {
    struct stat about;
    char       *path;
    PK_TRY(pk_trainer_path(t, name, &path));
    pk_status status = pk_file_ids_refuse(inputs, path);
    if (status == PK_OK) status = pk_file_ids_refuse(&t->start.files, path);
    if (status == PK_OK && stat(path, &about) == 0 && S_ISFIFO(about.st_mode))
        status = pk_fail_with(PK_ARGUMENT, "%s is a pipe: a training writes files", path);
    pk_memory_give(path);
    return status;
}

pk_status pk_trainer_check_outputs(const pk_trainer *t, const char *recipe) {
    static const char *const written[] = { PK_TRAINING_LOG, PK_TRAIN_PLOT,    PK_BEST_MODEL,
                                           PK_VALID_MODEL,  PK_TRAINED_MODEL, PK_CANDIDATES };
    pk_file_ids              inputs = { 0 };
    pk_status                status = recipe ? pk_file_ids_add(&inputs, recipe) : PK_OK;
    if (status == PK_OK) status = add_paths(&t->recipe, &inputs);
    for (size_t i = 0; status == PK_OK && i < sizeof written / sizeof *written; i++)
        status = check(t, &inputs, written[i]);
    pk_file_ids_free(&inputs);
    return status;
}
