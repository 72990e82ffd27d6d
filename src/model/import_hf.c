/* import_hf.c - a Hugging Face folder as downloaded (MarianMT or mBART-50) as model data.
 *
 * Given config.json, the checkpoint (safetensors or PyTorch, in one file or in shards) and the
 * vocabulary files, gives a network in panels of the wanted type. Every tensor of the checkpoint
 * must be needed, or be known as a harmless duplicate. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "model/import_hf.h"
#include "model/importer.h"

#define SHARED "model.shared.weight"
/* the tables' own names, in the order of PK_HF_SOURCE, PK_HF_TARGET, PK_HF_OUTPUT */
static const char *const table_names[PK_HF_TABLES] = { "model.encoder.embed_tokens.weight",
                                                       "model.decoder.embed_tokens.weight",
                                                       "lm_head.weight" };

pk_status pk_hf_path(const pk_hf_folder *f, const char *name, char path[PK_HF_PATH]) {
    if (snprintf(path, PK_HF_PATH, "%s/%s", f->path, name) >= PK_HF_PATH)
        PK_FAIL(PK_ARGUMENT, "%.100s...: path too long", f->path);
    return PK_OK;
}

pk_status pk_hf_file(const pk_hf_folder *f, const char *name, char path[PK_HF_PATH]) {
    PK_TRY(pk_hf_path(f, name, path));
    return pk_file_ids_add(f->files, path);
}

bool pk_hf_has(const pk_hf_folder *f, const char *name) { return pk_path_has(f->path, name); }

/* A tensor that was looked for counts as used; check_rest() refuses those that never were. */
const pk_stored_tensor *pk_hf_find(pk_hf_folder *f, const char *name) {
    for (size_t i = 0; i < f->n_shards; i++) {
        const pk_stored_tensor *t = pk_stored_find(&f->shard[i], name);
        if (!t) continue;
        f->used[i][t - f->shard[i].tensor] = true;
        return t;
    }
    return NULL;
}

/* ---- Which tensors are the embeddings ---- */

/* Tied tables may be stored under any one of their names, and transformers looks at all of them. A
 * table's own name comes first: where both are stored and differ, they are not tied after all. */
static const pk_stored_tensor *find_table(pk_hf_folder *f, int table, bool share, bool tie) {
    static const int        others[] = { PK_HF_TARGET, PK_HF_SOURCE, PK_HF_OUTPUT };
    const pk_stored_tensor *t = pk_hf_find(f, table_names[table]);
    if (!t && share && (tie || table != PK_HF_OUTPUT)) t = pk_hf_find(f, SHARED);
    for (size_t i = 0; !t && tie && i < PK_HF_TABLES; i++)
        if (share || (table != PK_HF_SOURCE && others[i] != PK_HF_SOURCE))
            t = pk_hf_find(f, table_names[others[i]]);
    return t;
}

/* one tensor, two views of one storage (torch), or two copies (safetensors) */
static bool same_table(const pk_stored_tensor *a, const pk_stored_tensor *b) {
    return a == b || (a->type == b->type && a->bytes == b->bytes &&
                      (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0));
}

pk_status pk_hf_find_tables(pk_hf_folder *f, pk_config *c) {
    for (int i = 0; i < PK_HF_TABLES; i++) {
        f->table[i] = find_table(f, i, f->share, f->tie);
        if (!f->table[i])
            PK_FAIL(PK_FORMAT, "%s: tensor \"%s\" is missing", f->path, table_names[i]);
    }
    pk_hf_find(f, SHARED); /* may be stored beside the others: counts as used */
    c->share_embeddings = c->source_vocab == c->target_vocab &&
                          same_table(f->table[PK_HF_SOURCE], f->table[PK_HF_TARGET]);
    c->tie_output = same_table(f->table[PK_HF_TARGET], f->table[PK_HF_OUTPUT]);
    return PK_OK;
}

/* ---- Opening the checkpoint ---- */

/* maps one file of the checkpoint, by its ending */
static pk_status open_shard(pk_hf_folder *f, const char *name) {
    char        path[PK_HF_PATH];
    struct stat info;
    const char *dot = strrchr(name, '.');
    if (f->n_shards == PK_HF_MAX_SHARDS)
        PK_FAIL(PK_UNSUPPORTED, "%s: more than %d checkpoint files", f->path, PK_HF_MAX_SHARDS);
    if (strchr(name, '/')) PK_FAIL(PK_FORMAT, "%s: a checkpoint file in another folder", f->path);
    PK_TRY(pk_hf_file(f, name, path));
    pk_stored *s = &f->shard[f->n_shards];
    if (dot && strcmp(dot, ".bin") == 0)
        PK_TRY(pk_torch_open(path, s));
    else
        PK_TRY(pk_safetensors_open(path, s));
    f->n_shards++; /* from here on closed with the folder */
    f->weight_bytes += s->map.size;
    if (f->n_shards == 1) {
        snprintf(f->weight_file, sizeof f->weight_file, "%s", name);
        struct tm day;
        if (stat(path, &info) == 0 && gmtime_r(&info.st_mtime, &day))
            strftime(f->weight_date, sizeof f->weight_date, "%Y-%m-%d", &day);
    }
    return PK_TAKE(&f->used[f->n_shards - 1], s->n);
}

/* opens each file that the index's "weight_map" (tensor -> file) names, once */
static pk_status open_mapped(pk_hf_folder *f, const json_t *index) {
    const char *tensor, *opened[PK_HF_MAX_SHARDS];
    json_t     *file;
    size_t      n = 0;
    json_t     *map = json_object_get(index, "weight_map");
    json_object_foreach(map, tensor, file) {
        const char *name = json_string_value(file);
        bool        known = false;
        if (!name) PK_FAIL(PK_FORMAT, "%s: a broken index of checkpoint files", f->path);
        for (size_t i = 0; i < n && !known; i++) known = strcmp(opened[i], name) == 0;
        if (known) continue;
        PK_TRY(open_shard(f, name));
        opened[n++] = name;
    }
    return PK_OK;
}

/* a checkpoint in shards: the index says which tensor is in which file */
static pk_status open_index(pk_hf_folder *f, const char *name) {
    char    path[PK_HF_PATH];
    json_t *index;
    PK_TRY(pk_hf_file(f, name, path));
    PK_TRY(pk_json_open(path, &index));
    const pk_status status = open_mapped(f, index);
    json_decref(index);
    return status;
}

/* the order in which transformers looks */
static pk_status open_checkpoint(pk_hf_folder *f) {
    if (pk_hf_has(f, "model.safetensors")) return open_shard(f, "model.safetensors");
    if (pk_hf_has(f, "model.safetensors.index.json"))
        return open_index(f, "model.safetensors.index.json");
    if (pk_hf_has(f, "pytorch_model.bin")) return open_shard(f, "pytorch_model.bin");
    if (pk_hf_has(f, "pytorch_model.bin.index.json"))
        return open_index(f, "pytorch_model.bin.index.json");
    PK_FAIL(PK_IO, "%s: neither model.safetensors nor pytorch_model.bin is there", f->path);
}

static pk_status open_json(const pk_hf_folder *f, const char *name, bool needed, json_t **out) {
    char path[PK_HF_PATH];
    if (!needed && !pk_hf_has(f, name)) return PK_OK;
    PK_TRY(pk_hf_file(f, name, path));
    return pk_json_open(path, out);
}

/* only config.json must be there */
static pk_status open_folder(pk_hf_folder *f) {
    PK_TRY(open_json(f, "config.json", true, &f->config));
    PK_TRY(open_json(f, "generation_config.json", false, &f->generation));
    return open_json(f, "tokenizer_config.json", false, &f->tokenizer);
}

static void close_folder(pk_hf_folder *f) {
    json_decref(f->config);
    json_decref(f->generation);
    json_decref(f->tokenizer);
    for (size_t i = 0; i < f->n_shards; i++) {
        pk_stored_close(&f->shard[i]);
        pk_memory_give(f->used[i]);
    }
}

/* ---- The type, the rest ---- */

/* F16 only where nothing is lost or it was asked for */
static pk_dtype choose_type(const pk_hf_folder *f, int wanted) {
    bool all_half = true;
    for (size_t i = 0; i < f->n_shards; i++)
        for (size_t k = 0; k < f->shard[i].n; k++) {
            const pk_stored_tensor *t = &f->shard[i].tensor[k];
            if (t->n_dims == 2 && t->dim[0] > 1 && t->type != PK_STORED_F16) all_half = false;
        }
    if (wanted == PK_F16 || wanted == PK_I8) return (pk_dtype)wanted;
    return all_half ? PK_F16 : PK_F32;
}

/* every tensor must have been of use, but for the names of tied tables and a leftover of fairseq */
static pk_status check_rest(pk_hf_folder *f) {
    for (int i = 0; i < PK_HF_TABLES; i++) pk_hf_find(f, table_names[i]);
    pk_hf_find(f, "model.encoder.version");
    pk_hf_find(f, "model.decoder.version");
    for (size_t i = 0; i < f->n_shards; i++)
        for (size_t k = 0; k < f->shard[i].n; k++)
            if (!f->used[i][k])
                PK_FAIL(PK_UNSUPPORTED, "%s: unexpected tensor \"%s\": not a plain %s model",
                        f->path, f->shard[i].tensor[k].name, "MarianMT or mBART-50");
    return PK_OK;
}

/* Order matters: tables decide what is shared, the vocabulary knows <unk>, and only then is the
 * configuration whole and can be checked before anything large is taken. */
static pk_status import(pk_hf_folder *f, int type, pk_model_data *out) {
    pk_config *c = &out->network.config;
    PK_TRY(open_folder(f));
    PK_TRY(pk_hf_read_config(f, c));
    PK_TRY(open_checkpoint(f));
    PK_TRY(pk_hf_find_tables(f, c));
    PK_TRY(pk_hf_read_vocab(f, out));
    pk_status status = pk_config_check(c);
    if (status == PK_OK) status = pk_network_init(&out->network);
    out->type = choose_type(f, type);
    if (status == PK_OK) status = pk_hf_read_weights(f, out);
    if (status != PK_OK) {
        pk_fail_context("%s", f->path);
        return status;
    }
    PK_TRY(check_rest(f));
    return pk_model_data_set_provenance(out, &(pk_provenance){ .path = f->path,
                                                               .format = "huggingface",
                                                               .weights = f->weight_file,
                                                               .date = f->weight_date,
                                                               .files = f->n_shards,
                                                               .bytes = f->weight_bytes });
}

/* every Hugging Face model folder has one */
static bool recognises(const char *path) { return pk_path_has(path, "config.json"); }

static pk_status open_model(const char *path, int type, pk_model_data *out) {
    pk_hf_folder *f;
    *out = (pk_model_data){ 0 };
    PK_TRY(PK_TAKE(&f, 1));
    f->path = path;
    f->files = &out->files;
    const pk_status status = import(f, type, out);
    close_folder(f);
    pk_memory_give(f);
    if (status != PK_OK) pk_model_data_close(out);
    return status;
}

const pk_importer pk_importer_hf = {
    .what = "a Hugging Face folder of a MarianMT or mBART-50 model (with config.json)",
    .recognises = recognises,
    .open = open_model,
};
