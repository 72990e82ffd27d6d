/* model_file.c - the .pronk file: one safetensors file with weights, configuration and vocabulary.
 *
 * docs/format.md describes it. Opening checks every name, type and shape against the configuration
 * and that vectors are finite. It touches no page of matrices and tables: they are used where they
 * are mapped. Writing checks that all weights are finite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "checkpoint/json.h"
#include "model/importer.h"
#include "model/model_data.h"
#include "tensor/panel.h"

#define FORMAT_VERSION "1"
enum { MAX_NAME = 128 };

typedef struct shape {
    pk_stored_type type;
    int32_t        n_dims;
    int64_t        dim[4];
} shape;

/* How a weight lies in the file. Matrices lie in panels of PK_PANEL rows: F16 and F32 column by
 * column of a panel, I8 in groups of PK_QUAD columns. Vectors and tables of positions are plain
 * F32. */
static shape stored_shape(const pk_weight_spec *spec, pk_dtype type) {
    const int32_t cols = spec->cols;
    if (!spec->matrix) return (shape){ PK_STORED_F32, 2, { spec->rows, cols } };
    const int64_t panels = (int64_t)pk_panel_count(spec->rows);
    const int64_t quads = (cols + PK_QUAD - 1) / PK_QUAD;
    if (type == PK_I8) return (shape){ PK_STORED_I8, 4, { panels, quads, PK_PANEL, PK_QUAD } };
    return (shape){ type == PK_F16 ? PK_STORED_F16 : PK_STORED_F32, 3, { panels, cols, PK_PANEL } };
}

/* the four blobs of a vocabulary, and what models may have besides, by name */
typedef struct blob_name {
    const char *name;
    pk_blob    *blob;
} blob_name;

#define BLOB_NAMES(m)                                                                             \
    {                                                                                             \
        { "vocab.source.spm", &(m)->source_spm }, { "vocab.source.tokens", &(m)->source_tokens }, \
            { "vocab.target.spm", &(m)->target_spm },                                             \
            { "vocab.target.tokens", &(m)->target_tokens }, {                                     \
            "lexicon", &(m)->lexicon_bytes                                                        \
        }                                                                                         \
    }

/* ---- Opening ---- */

typedef struct binding {
    pk_model_data *m;
    size_t         n_bound; /* tensors of the file that are in use */
} binding;

/* type, shape and alignment must be what the configuration implies; kernels trust them */
static pk_status find_tensor(binding *b, const char *name, shape want, const void **data) {
    const pk_stored_tensor *t = pk_stored_find(&b->m->stored, name);
    if (!t) PK_FAIL(PK_FORMAT, "tensor \"%s\" is missing", name);
    if (t->type != want.type || t->n_dims != want.n_dims ||
        memcmp(t->dim, want.dim, (size_t)want.n_dims * sizeof *want.dim) != 0)
        PK_FAIL(PK_FORMAT, "tensor \"%s\" is not what the configuration says (type or shape)",
                name);
    if ((uintptr_t)t->data % 16) /* our own writer gives 64 */
        PK_FAIL(PK_FORMAT, "tensor \"%s\" is not aligned: convert the model anew", name);
    *data = t->data;
    b->n_bound++;
    return PK_OK;
}

/* points a weight at its data in the mapping */
static pk_status bind_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    binding       *b = user;
    const pk_dtype type = spec->matrix ? b->m->type : PK_F32;
    const void    *scale = NULL;
    char           scale_name[MAX_NAME];
    *w =
        (pk_weight){ .rows = spec->rows, .cols = spec->cols, .type = type, .plain = !spec->matrix };
    PK_TRY(find_tensor(b, spec->name, stored_shape(spec, type), &w->data));
    if (!spec->matrix && spec->role != PK_ROLE_POSITIONS) /* a vector: that is quick */
        return pk_weight_check_finite(w, spec->name);
    if (type != PK_I8) return PK_OK;
    snprintf(scale_name, sizeof scale_name, "%s.scale", spec->name);
    PK_TRY(find_tensor(b, scale_name, (shape){ PK_STORED_F32, 1, { spec->rows } }, &scale));
    w->scale = scale;
    return pk_weight_check_finite(w, scale_name);
}

/* which of them must be there is checked with the vocabulary */
static pk_status bind_blobs(binding *b) {
    const blob_name blobs[] = BLOB_NAMES(b->m);
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++) {
        const pk_stored_tensor *t = pk_stored_find(&b->m->stored, blobs[i].name);
        if (!t) continue;
        if (t->type != PK_STORED_U8) PK_FAIL(PK_FORMAT, "tensor \"%s\" must be U8", blobs[i].name);
        *blobs[i].blob = (pk_blob){ t->data, t->bytes };
        b->n_bound++;
    }
    return PK_OK;
}

/* a tensor too many means that the file and its configuration do not belong together */
static pk_status check_rest(const binding *b) {
    if (b->n_bound != b->m->stored.n)
        PK_FAIL(PK_FORMAT, "%zu tensors do not belong to this model", b->m->stored.n - b->n_bound);
    return PK_OK;
}

static pk_status read_type(const char *text, pk_dtype *out) {
    const int32_t type = pk_word_find(PK_WORDS(PK_STORED_DTYPE_MAP), text);
    if (type < 0) PK_FAIL(PK_FORMAT, "weights of unknown type");
    *out = (pk_dtype)type;
    return PK_OK;
}

/* format, version, type, configuration and provenance */
static pk_status read_metadata(const json_t *metadata, pk_model_data *m) {
    const char *format = json_string_value(json_object_get(metadata, "format"));
    const char *version = json_string_value(json_object_get(metadata, "version"));
    const char *config = json_string_value(json_object_get(metadata, "config"));
    const char *provenance = json_string_value(json_object_get(metadata, "provenance"));
    if (format && strcmp(format, PK_CHECKPOINT_FORMAT) == 0)
        PK_FAIL(PK_FORMAT,
                "a checkpoint of a training, not a model: `pronk average` makes one of it");
    if (!format || strcmp(format, "pronk") != 0)
        PK_FAIL(PK_FORMAT, "not a Pronk model: convert it first (pronk convert)");
    if (!version || strcmp(version, FORMAT_VERSION) != 0)
        PK_FAIL(PK_UNSUPPORTED,
                "written in version %.20s of the format, this reads " FORMAT_VERSION,
                version ? version : "?");
    if (!config || !provenance) PK_FAIL(PK_FORMAT, "no configuration in the file");
    PK_TRY(read_type(json_string_value(json_object_get(metadata, "type")), &m->type));
    PK_TRY(pk_memory_copy_text(provenance, strlen(provenance), &m->provenance));
    return pk_config_read(config, strlen(config), &m->network.config);
}

/* metadata first: it says what to expect of the tensors */
static pk_status read_file(const char *path, pk_model_data *m) {
    json_t *metadata;
    binding b = { .m = m };
    PK_TRY(pk_file_ids_add(&m->files, path));
    PK_TRY(pk_safetensors_open(path, &m->stored));
    if (!m->stored.metadata)
        PK_FAIL(PK_FORMAT, "not a Pronk model: convert its folder first (pronk convert)");
    PK_TRY(pk_json_parse(m->stored.metadata, strlen(m->stored.metadata), "metadata", &metadata));
    const pk_status status = read_metadata(metadata, m);
    json_decref(metadata);
    PK_TRY(status);
    PK_TRY(pk_network_init(&m->network));
    PK_TRY(pk_network_walk(&m->network, bind_weight, &b));
    pk_network_share(&m->network);
    PK_TRY(bind_blobs(&b));
    PK_TRY(check_rest(&b));
    PK_TRY(pk_model_data_check_vocab(m));
    return pk_model_data_read_lexicon(m);
}

/* any regular file; read_file() says what is wrong with one that is no model */
static bool recognises(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* errors name the path, once */
static pk_status open_file(const char *path, int type, pk_model_data *out) {
    *out = (pk_model_data){ 0 };
    pk_status status = read_file(path, out);
    if (status == PK_OK) status = pk_model_data_convert(out, type);
    if (status == PK_OK) status = pk_model_data_check_file(out);
    if (status == PK_OK) return PK_OK;
    if (strncmp(pk_last_error(), path, strlen(path)) != 0) pk_fail_context("%s", path);
    pk_model_data_close(out);
    return status;
}

const pk_importer pk_importer_pronk = {
    .what = "a .pronk file (as `pronk convert` makes it)",
    .recognises = recognises,
    .open = open_file,
};

/* ---- Saving ---- */

typedef struct listing {
    pk_dtype          type;
    pk_stored_tensor *tensor; /* their names are owned */
    size_t            n, room;
} listing;

/* names are made up during the walk, so the list keeps copies of them */
static pk_status list_tensor(listing *l, const char *name, shape as, const void *data) {
    char *copy;
    PK_TRY(PK_RESERVE(&l->tensor, l->n + 1, &l->room));
    pk_stored_tensor t = {
        .type = as.type, .n_dims = as.n_dims, .data = data, .bytes = pk_stored_type_bytes(as.type)
    };
    PK_TRY(pk_memory_copy_text(name, strlen(name), &copy));
    t.name = copy;
    for (int32_t i = 0; i < as.n_dims; i++) {
        t.dim[i] = as.dim[i];
        t.bytes *= (size_t)as.dim[i];
    }
    l->tensor[l->n++] = t;
    return PK_OK;
}

/* one weight; an I8 matrix also has a tensor of scales */
static pk_status list_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    listing *l = user;
    char     scale_name[MAX_NAME];
    PK_TRY(pk_weight_check_finite(w, spec->name));
    PK_TRY(list_tensor(l, spec->name, stored_shape(spec, l->type), w->data));
    if (!spec->matrix || l->type != PK_I8) return PK_OK;
    snprintf(scale_name, sizeof scale_name, "%s.scale", spec->name);
    return list_tensor(l, scale_name, (shape){ PK_STORED_F32, 1, { spec->rows } }, w->scale);
}

static pk_status list_model(const pk_model_data *m, listing *l) {
    pk_model_data   view = *m; /* walking wants to write; listing does not */
    const blob_name blobs[] = BLOB_NAMES(&view);
    PK_TRY(pk_network_walk(&view.network, list_weight, l));
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++) {
        const pk_blob *b = blobs[i].blob;
        if (b->size == 0) continue;
        PK_TRY(list_tensor(l, blobs[i].name, (shape){ PK_STORED_U8, 1, { (int64_t)b->size } },
                           b->data));
    }
    return PK_OK;
}

/* a JSON object whose values are texts, as safetensors demands; config is JSON inside a text */
static pk_status build_metadata(const pk_model_data *m, pk_buffer *out) {
    pk_buffer config = { 0 };
    pk_config_write(&m->network.config, &config);
    pk_buffer_print(out, "{\"format\":\"pronk\",\"version\":\"" FORMAT_VERSION "\",\"type\":\"%s\"",
                    pk_dtype_name(m->type));
    pk_buffer_add_text(out, ",\"config\":");
    pk_json_add_string(out, config.data ? config.data : "");
    pk_buffer_add_text(out, ",\"provenance\":");
    pk_json_add_string(out, m->provenance ? m->provenance : "{}");
    pk_buffer_add_text(out, "}");
    const pk_status status = pk_buffer_status(config.failed ? &config : out);
    pk_buffer_free(&config);
    return status;
}

pk_status pk_model_data_save(const pk_model_data *m, const char *path) {
    listing   l = { .type = m->type };
    pk_buffer metadata = { 0 };
    pk_status status = list_model(m, &l);
    if (status == PK_OK) status = build_metadata(m, &metadata);
    if (status == PK_OK) status = pk_safetensors_write(path, metadata.data, l.tensor, l.n);
    for (size_t i = 0; i < l.n; i++) pk_memory_give((char *)l.tensor[i].name);
    pk_memory_give(l.tensor);
    pk_buffer_free(&metadata);
    return status;
}
