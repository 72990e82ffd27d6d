/* checkpoint.c - writing and reading one checkpoint.
 *
 * The file is a safetensors file. Every weight is a tensor of its own, F32 (rows, cols), named
 * weight.NAME; m.NAME and v.NAME are Adam's moments, average.NAME the moving average. So a
 * checkpoint does not depend on how weights lie on a device, and other tools can read it. The
 * metadata has format, version, the fields of PK_TRAIN_STATE_MAP, config (JSON), recipe (YAML) and
 * checksum (hex). Reading checks everything, down to the checksum, before anything is changed. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "checkpoint/json.h"
#include "checkpoint/stored.h"
#include "recipe/recipe_parts.h"
#include "train/checkpoint_files.h"

#define FORMAT  PK_CHECKPOINT_FORMAT
#define VERSION "1"

enum { N_KINDS = 4, MAX_NAME = 80 };

/* the arrays of a training, side by side; on the host while they are written or read */
typedef struct arrays {
    float *of[N_KINDS]; /* weights, two moments, average (may be NULL) */
    bool   copied;      /* ours to give back */
} arrays;

static const char *const kinds[N_KINDS] = { "weight", "m", "v", "average" };

static void free_arrays(arrays *a) {
    for (int k = 0; k < N_KINDS && a->copied; k++) pk_memory_give(a->of[k]);
}

/* the arrays on the device, in the order of `kinds` */
static void list_arrays(const pk_parameters *p, float *of[N_KINDS]) {
    of[0] = p->master, of[1] = p->m, of[2] = p->v, of[3] = p->average;
}

/* where the host can read them: in place, or a copy */
static pk_status fetch_arrays(const pk_parameters *p, arrays *a) {
    float *there[N_KINDS];
    list_arrays(p, there);
    *a = (arrays){ .copied = p->on->remote };
    for (int k = 0; k < N_KINDS; k++) {
        const size_t n = k == 0 ? p->n_all : p->n;
        if (!there[k]) continue;
        if (!a->copied) {
            a->of[k] = there[k];
            continue;
        }
        PK_TRY(PK_TAKE(&a->of[k], n));
        PK_TRY(pk_parameters_get(p, there[k], a->of[k], n));
    }
    return PK_OK;
}

/* whether kind k has a tensor for this weight: what is frozen has no moments */
static bool has_tensor(const float *array, int k, const pk_parameter *one) {
    return array && (k == 0 || one->learned);
}

static size_t size_of(const pk_parameter *one) { return (size_t)one->rows * (size_t)one->cols; }

/* ---- metadata ---- */

static void write_INT(pk_buffer *out, int64_t value) { pk_buffer_print(out, "%" PRId64, value); }
static void write_FLOAT(pk_buffer *out, double value) {
    pk_number_print(out, isfinite(value) ? value : 0);
}

/* ,"key":"text", and the checksum with it */
static void add_entry(pk_buffer *out, const char *key, const pk_buffer *text, uint64_t *sum) {
    const char *value = text->data ? text->data : "";
    pk_buffer_print(out, ",\"%s\":", key);
    pk_json_add_string(out, value);
    *sum = pk_checksum_add(*sum, value, strlen(value));
    out->failed = out->failed || text->failed;
}

/* a JSON object of texts; sum: the checksum of the tensors, to which the texts are added */
static pk_status build_metadata(const pk_parameters *p, const pk_train_state *s, const pk_recipe *r,
                                uint64_t sum, pk_buffer *out) {
    pk_buffer text = { 0 };
    pk_buffer_print(out, "{\"format\":\"" FORMAT "\",\"version\":\"" VERSION "\"");
#define ADD(kind, field)           \
    pk_buffer_clear(&text);        \
    write_##kind(&text, s->field); \
    add_entry(out, #field, &text, &sum);
    PK_TRAIN_STATE_MAP(ADD)
#undef ADD
    pk_buffer_clear(&text);
    pk_config_write(&p->net.config, &text);
    add_entry(out, "config", &text, &sum);
    pk_buffer_clear(&text);
    pk_recipe_write(r, &text);
    add_entry(out, "recipe", &text, &sum);
    pk_buffer_free(&text);
    pk_buffer_print(out, ",\"checksum\":\"%016" PRIx64 "\"}", sum);
    return pk_buffer_status(out);
}

/* ---- writing ---- */

/* the tensors of the file, with memory for their names */
typedef struct listing {
    pk_stored_tensor *tensor;
    char (*name)[MAX_NAME];
    size_t n;
} listing;

/* "weight.encoder.0.qkv.w" and so on */
static void list_tensor(listing *l, const char *kind, const pk_parameter *one, const float *data) {
    snprintf(l->name[l->n], MAX_NAME, "%s.%s", kind, one->name);
    l->tensor[l->n] = (pk_stored_tensor){ .name = l->name[l->n],
                                          .type = PK_STORED_F32,
                                          .n_dims = 2,
                                          .dim = { one->rows, one->cols },
                                          .data = data,
                                          .bytes = size_of(one) * sizeof *data };
    l->n++;
}

/* all tensors of all kinds; adds their bytes to the checksum */
static pk_status list_tensors(const pk_parameters *p, const arrays *a, listing *l, uint64_t *sum) {
    PK_TRY(PK_TAKE(&l->tensor, N_KINDS * p->n_list));
    PK_TRY(PK_TAKE(&l->name, N_KINDS * p->n_list));
    for (int k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < p->n_list; i++) {
            const pk_parameter *one = &p->list[i];
            if (!has_tensor(a->of[k], k, one)) continue;
            const float *data = a->of[k] + one->first;
            list_tensor(l, kinds[k], one, data);
            *sum = pk_checksum_add(*sum, data, size_of(one) * sizeof *data);
        }
    return PK_OK;
}

pk_status pk_checkpoint_write(const char *path, const pk_parameters *p, const pk_train_state *s,
                              const pk_recipe *r) {
    arrays    a;
    listing   l = { 0 };
    pk_buffer metadata = { 0 };
    uint64_t  sum = 0;
    pk_status status = fetch_arrays(p, &a);
    if (status == PK_OK) status = list_tensors(p, &a, &l, &sum);
    if (status == PK_OK) status = build_metadata(p, s, r, sum, &metadata);
    if (status == PK_OK) status = pk_safetensors_write(path, metadata.data, l.tensor, l.n);
    free_arrays(&a);
    pk_memory_give(l.tensor);
    pk_memory_give(l.name);
    pk_buffer_free(&metadata);
    return status;
}

/* ---- reading ---- */

/* "" where the key is missing or not a text */
static const char *text_of(const json_t *metadata, const char *key) {
    const char *text = json_string_value(json_object_get(metadata, key));
    return text ? text : "";
}

static pk_status broken(const char *what) {
    PK_FAIL(PK_FORMAT, "not a checkpoint, or a damaged one: %s", what);
}

static bool read_INT(const char *text, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return *text && !*end;
}

static bool read_FLOAT(const char *text, double *out) {
    return pk_number_parse(text, strlen(text), out);
}

/* every field of the map must be there; none has a default */
static pk_status read_state(const json_t *metadata, pk_train_state *s) {
#define READ(kind, field) \
    if (!read_##kind(text_of(metadata, #field), &s->field)) return broken(#field);
    PK_TRAIN_STATE_MAP(READ)
#undef READ
    return PK_OK;
}

/* the recipe it was made with must be able to go on as this one */
static pk_status check_recipe(const char *yaml, const pk_recipe *now) {
    pk_recipe        before;
    char             root[] = "/";
    pk_recipe_reader reader = { .recipe = &before, .file = "recipe", .folder = root };
    PK_TRY(pk_recipe_read(NULL, NULL, 0, &before));
    pk_status status = pk_recipe_read_yaml(&reader, yaml, strlen(yaml));
    if (status == PK_OK) status = pk_recipe_compatible(&before, now);
    pk_recipe_free(&before);
    return status;
}

/* the model must be the same to the last setting: compares the JSON texts */
static pk_status check_config(const char *json, const pk_parameters *p) {
    pk_buffer now = { 0 };
    pk_config_write(&p->net.config, &now);
    pk_status status = pk_buffer_status(&now);
    if (status == PK_OK && strcmp(json, now.data) != 0)
        status = pk_fail_with(PK_ARGUMENT, "the checkpoint is of a model of another shape or "
                                           "vocabulary: begin a new training in another folder");
    pk_buffer_free(&now);
    return status;
}

/* copies every tensor to its offset in the arrays; all must be there and of the right shape */
static pk_status find_tensors(const pk_stored *file, const pk_parameters *p, const arrays *a,
                              uint64_t *sum) {
    char   name[MAX_NAME];
    float *there[N_KINDS];
    list_arrays(p, there);
    for (int k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < p->n_list; i++) {
            const pk_parameter *one = &p->list[i];
            if (!has_tensor(there[k], k, one)) continue;
            snprintf(name, sizeof name, "%s.%s", kinds[k], one->name);
            const pk_stored_tensor *t = pk_stored_find(file, name);
            if (!t || t->type != PK_STORED_F32 || t->n_dims != 2 || t->dim[0] != one->rows ||
                t->dim[1] != one->cols)
                return broken(name);
            memcpy(a->of[k] + one->first, t->data, t->bytes);
            *sum = pk_checksum_add(*sum, t->data, t->bytes);
        }
    return PK_OK;
}

static uint64_t add_text(uint64_t sum, const json_t *metadata, const char *key) {
    return pk_checksum_add(sum, text_of(metadata, key), strlen(text_of(metadata, key)));
}

/* tensors first, then all that the metadata says, in the order in which it was written */
static pk_status check_sum(const json_t *metadata, uint64_t sum) {
    char text[24];
#define ADD(kind, field) sum = add_text(sum, metadata, #field);
    PK_TRAIN_STATE_MAP(ADD)
#undef ADD
    sum = add_text(sum, metadata, "config");
    sum = add_text(sum, metadata, "recipe");
    snprintf(text, sizeof text, "%016" PRIx64, sum);
    return strcmp(text, text_of(metadata, "checksum")) == 0 ? PK_OK
                                                            : broken("its checksum differs");
}

/* everything that can be wrong with a file, before the training is touched */
static pk_status read_all(const pk_stored *file, const json_t *metadata, const pk_parameters *p,
                          const arrays *a, pk_train_state *s, const pk_recipe *r) {
    uint64_t sum = 0;
    if (strcmp(text_of(metadata, "format"), FORMAT) != 0) return broken("format");
    if (strcmp(text_of(metadata, "version"), VERSION) != 0)
        PK_FAIL(PK_UNSUPPORTED, "a checkpoint of another version of Pronk");
    PK_TRY(read_state(metadata, s));
    PK_TRY(check_recipe(text_of(metadata, "recipe"), r));
    PK_TRY(check_config(text_of(metadata, "config"), p));
    PK_TRY(find_tensors(file, p, a, &sum));
    return check_sum(metadata, sum);
}

/* host memory for all arrays: the file is read in full before the device is changed */
static pk_status take_arrays(const pk_parameters *p, arrays *a) {
    float *there[N_KINDS];
    list_arrays(p, there);
    *a = (arrays){ .copied = true };
    for (int k = 0; k < N_KINDS; k++)
        if (there[k]) PK_TRY(PK_TAKE(&a->of[k], k == 0 ? p->n_all : p->n));
    return PK_OK;
}

/* to the device; pk_parameters_begin() clears the moments, so they come after it */
static pk_status put_arrays(pk_parameters *p, const arrays *a) {
    float *there[N_KINDS];
    list_arrays(p, there);
    PK_TRY(pk_parameters_begin(p, a->of[0]));
    for (int k = 1; k < N_KINDS; k++)
        if (there[k]) PK_TRY(pk_parameters_put(p, there[k], a->of[k], p->n));
    return PK_OK;
}

pk_status pk_checkpoint_load(const char *path, pk_parameters *p, pk_train_state *s,
                             const pk_recipe *r) {
    pk_stored      file;
    arrays         a = { 0 };
    pk_train_state found = { 0 };
    json_t        *metadata = NULL;
    PK_TRY(pk_safetensors_open(path, &file));
    const char *text = file.metadata ? file.metadata : "{}";
    pk_status   status = pk_json_parse(text, strlen(text), "metadata", &metadata);
    if (status == PK_OK) status = take_arrays(p, &a);
    if (status == PK_OK) status = read_all(&file, metadata, p, &a, &found, r);
    if (status == PK_OK) status = put_arrays(p, &a);
    if (status == PK_OK) *s = found;
    free_arrays(&a);
    json_decref(metadata);
    pk_stored_close(&file);
    return status;
}
