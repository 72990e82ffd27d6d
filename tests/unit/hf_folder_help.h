/* hf_folder_help.h - Hugging Face folders made in the tests, tensor by tensor. */
#ifndef PK_TESTS_HF_FOLDER_HELP_H
#define PK_TESTS_HF_FOLDER_HELP_H
#include <math.h>
#include <sys/stat.h>

#include "checkpoint_help.h"
#include "model/model_file.h"
#include "tensor/panel.h"

enum { V = 6, D = 4, F = 6, POSITIONS = 5, MAX_TENSORS = 96 };

/* ---- A folder being made ---- */

typedef struct folder {
    char             path[256];
    pk_stored_tensor tensor[MAX_TENSORS];
    char             name[MAX_TENSORS][96];
    float           *data[MAX_TENSORS];
    size_t           n;
} folder;

static inline float value_of(const char *name, size_t i) {
    size_t sum = i * 7;
    for (; *name; name++) sum = sum * 31 + (unsigned char)*name;
    return (float)((int)(sum % 83) - 41) / 32; /* exact in 16 bits */
}

static inline void add(folder *f, const char *name, int64_t rows, int64_t cols) {
    const size_t i = f->n++, n = (size_t)(rows ? rows * cols : cols);
    assert_true(i < MAX_TENSORS);
    snprintf(f->name[i], sizeof f->name[i], "%s", name);
    f->data[i] = calloc(n, sizeof(float));
    for (size_t k = 0; k < n; k++) f->data[i][k] = value_of(name, k);
    f->tensor[i] = (pk_stored_tensor){ .name = f->name[i],
                                       .type = PK_STORED_F32,
                                       .n_dims = rows ? 2 : 1,
                                       .dim = { rows ? rows : cols, cols },
                                       .data = f->data[i],
                                       .bytes = n * sizeof(float) };
    if (!rows) f->tensor[i].dim[1] = 0;
}

static inline void add_dense(folder *f, const char *prefix, const char *name, int64_t out,
                             int64_t in) {
    char full[96];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(f, full, in ? out : 0, in ? in : out);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    add(f, full, 0, out);
}

static inline void add_layer(folder *f, const char *prefix, bool decoder) {
    static const char *const projections[] = { "self_attn.q_proj",    "self_attn.k_proj",
                                               "self_attn.v_proj",    "self_attn.out_proj",
                                               "encoder_attn.q_proj", "encoder_attn.k_proj",
                                               "encoder_attn.v_proj", "encoder_attn.out_proj" };
    for (int i = 0; i < (decoder ? 8 : 4); i++) add_dense(f, prefix, projections[i], D, D);
    add_dense(f, prefix, "self_attn_layer_norm", D, 0);
    if (decoder) add_dense(f, prefix, "encoder_attn_layer_norm", D, 0);
    add_dense(f, prefix, "fc1", F, D);
    add_dense(f, prefix, "fc2", D, F);
    add_dense(f, prefix, "final_layer_norm", D, 0);
}

static inline void write_text(const folder *f, const char *file, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->path, file);
    if (text)
        write_bytes(path, text, strlen(text));
    else
        unlink(path);
}

static inline void save_as(const folder *f, const char *file) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->path, file);
    assert_int_equal(pk_safetensors_write(path, "{\"format\":\"pt\"}", f->tensor, f->n), PK_OK);
}

#define SIZES                                                                                \
    "\"d_model\":4,\"encoder_layers\":1,\"decoder_layers\":1,\"encoder_attention_heads\":2," \
    "\"decoder_attention_heads\":1,\"encoder_ffn_dim\":6,\"decoder_ffn_dim\":6,"             \
    "\"max_position_embeddings\":5"
static inline void begin(folder *f, const char *name) {
    *f = (folder){ 0 };
    temporary(f->path, name);
    mkdir(f->path, 0777);
}

static inline void end(folder *f) {
    static const char *const files[] = { "config.json",
                                         "vocab.json",
                                         "source.spm",
                                         "target.spm",
                                         "generation_config.json",
                                         "tokenizer_config.json",
                                         "target_vocab.json",
                                         "model.safetensors",
                                         "one.safetensors",
                                         "two.safetensors",
                                         "model.safetensors.index.json",
                                         "sentencepiece.bpe.model",
                                         "pytorch_model.bin" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) write_text(f, files[i], NULL);
    for (size_t i = 0; i < f->n; i++) free(f->data[i]);
    assert_int_equal(rmdir(f->path), 0);
}

static inline pk_stored_tensor *tensor_of(folder *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->name[i], name) == 0) return &f->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static inline void open_folder(const folder *f, int type, pk_model_data *m) {
    if (pk_model_data_open(f->path, type, m) != PK_OK) fail_msg("%s", pk_last_error());
}

static inline void refuse(const folder *f, pk_status want, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_model_data   m;
    const pk_status status = pk_model_data_open(f->path, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    assert_non_null(strstr(pk_last_error(), f->path));
    assert_int_equal(pk_memory_alive(), alive);
}

/* rows first .. of a weight against a tensor of that name */
static inline void check(const pk_weight *w, int32_t first, int32_t rows, const char *name) {
    for (int32_t row = 0; row < rows; row++)
        for (int32_t col = 0; col < w->cols; col++)
            assert_true(pk_weight_get(w, first + row, col) ==
                        value_of(name, (size_t)(row * w->cols + col)));
}
#endif
