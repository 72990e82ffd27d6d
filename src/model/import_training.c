/* import_training.c - the output folder of a training as a model: its finished model.
 *
 * While a training runs, or after it was stopped, there is no finished model yet: the error then
 * says how to make one of the checkpoints. */
#include "base/memory.h"
#include "base/path.h"
#include "model/importer.h"

static bool recognises(const char *path) {
    return pk_path_has(path, PK_TRAINED_MODEL) || pk_path_has(path, PK_TRAINING_LOG);
}

static pk_status open_folder(const char *path, int type, pk_model_data *out) {
    char *file;
    if (!pk_path_has(path, PK_TRAINED_MODEL))
        PK_FAIL(PK_IO,
                "%s: this training has not written its " PK_TRAINED_MODEL
                " yet; `pronk average` makes a model of its checkpoints",
                path);
    PK_TRY(pk_path_in(path, PK_TRAINED_MODEL, &file));
    const pk_status status = pk_importer_pronk.open(file, type, out);
    pk_memory_give(file);
    return status;
}

const pk_importer pk_importer_training = {
    .what = "the output folder of a training (with " PK_TRAINED_MODEL ")",
    .recognises = recognises,
    .open = open_folder,
};
