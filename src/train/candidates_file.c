/* candidates_file.c - candidates in a file of the output folder: what goes on from a checkpoint, or
 * makes a model of one, need not count again. */
#include <string.h>

#include "base/file_map.h"
#include "base/file_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "model/model_data.h"
#include "train/candidates.h"

pk_status pk_candidates_write(const pk_model_data *m, const char *folder) {
    pk_file_writer w;
    char          *path;
    PK_TRY(pk_path_in(folder, PK_CANDIDATES, &path));
    pk_status status = pk_file_writer_open(path, &w);
    if (status == PK_OK) {
        pk_file_writer_add(&w, m->lexicon_bytes.data, m->lexicon_bytes.size);
        status = pk_file_writer_finish(&w);
    }
    pk_memory_give(path);
    return status;
}

pk_status pk_candidates_read(pk_model_data *m, const char *folder) {
    pk_file_map map = { 0 };
    char       *path;
    PK_TRY(pk_path_in(folder, PK_CANDIDATES, &path));
    pk_status status = pk_file_map_open(path, &map);
    if (status == PK_OK) status = pk_model_data_copy(m, map.data, map.size, &m->lexicon_bytes);
    if (status == PK_OK) status = pk_model_data_read_lexicon(m);
    if (status != PK_OK) {
        m->lexicon_bytes = (pk_blob){ 0 };
        if (status == PK_FORMAT) pk_fail_context("%s", path);
    }
    pk_file_map_close(&map);
    pk_memory_give(path);
    return status;
}

pk_status pk_candidates_read_beside(pk_model_data *m, const char *file) {
    const char *slash = strrchr(file, '/');
    char       *folder;
    PK_TRY(slash ? pk_memory_copy_text(file, (size_t)(slash - file) + 1, &folder)
                 : pk_memory_copy_text(".", 1, &folder));
    const pk_status status = pk_candidates_read(m, folder);
    pk_memory_give(folder);
    return status;
}
