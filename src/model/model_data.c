/* model_data.c - the memory behind a model's data, its vocabulary, and matrices of another type.
 *
 * Matrices that change type move into blocks of our own; everything else stays where it is mapped.
 */
#include "model/model_data.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/json.h"
#include "tensor/panel.h"

/* The list of blocks grows first: a block that could not be listed would be lost. */
pk_status pk_model_data_take(pk_model_data *m, size_t bytes, void **out) {
    PK_TRY(PK_RESERVE(&m->block, m->n_blocks + 1, &m->block_room));
    PK_TRY(pk_memory_take(bytes, 1, out));
    m->block[m->n_blocks++] = *out;
    return PK_OK;
}

pk_status pk_model_data_take_matrix(pk_model_data *m, int32_t rows, int32_t cols, pk_dtype type,
                                    pk_weight *out, void **data, float **scale) {
    void *scales = NULL;
    assert(rows > 0 && cols > 0 && type != PK_BF16); /* no file holds BF16 panels */
    PK_TRY(pk_model_data_take(m, pk_panel_bytes(rows, cols, type), data));
    if (type == PK_I8) PK_TRY(pk_model_data_take(m, (size_t)rows * sizeof(float), &scales));
    *scale = scales;
    *out = (pk_weight){ .data = *data, .scale = scales, .rows = rows, .cols = cols, .type = type };
    return PK_OK;
}

pk_status pk_model_data_take_plain(pk_model_data *m, int32_t rows, int32_t cols, pk_weight *out,
                                   float **data) {
    void *block;
    PK_TRY(pk_model_data_take(m, (size_t)rows * (size_t)cols * sizeof(float), &block));
    *data = block;
    *out = (pk_weight){ .data = block, .rows = rows, .cols = cols, .type = PK_F32, .plain = true };
    return PK_OK;
}

bool pk_values_fit(const float *value, size_t n, pk_dtype type) {
    /* as integers, magnitudes order like the floats, and infinity and NaN come last; 65520 and more
     * would round to an infinite F16 */
    const int32_t limit = type == PK_F16 ? 0x477FF000 : 0x7F800000;
    int32_t       worst = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        bits &= 0x7FFFFFFF;
        worst = bits > worst ? bits : worst;
    }
    return worst < limit;
}

/* F16: all exponent bits set means infinity or NaN. I8: only the scales can be wrong. */
static bool is_finite(const pk_weight *w) {
    const size_t    n = (size_t)w->rows * (size_t)w->cols;
    const uint16_t *half = w->data;
    bool            finite = true;
    if (w->plain) return pk_values_fit(w->data, n, PK_F32);
    if (w->type == PK_I8) return pk_values_fit(w->scale, (size_t)w->rows, PK_F32);
    const size_t all = pk_panel_bytes(w->rows, w->cols, w->type) / pk_dtype_bytes(w->type);
    if (w->type == PK_F32) return pk_values_fit(w->data, all, PK_F32);
    for (size_t i = 0; i < all; i++) finite &= (half[i] & 0x7C00u) != 0x7C00u;
    return finite;
}

pk_status pk_weight_check_finite(const pk_weight *w, const char *name) {
    if (is_finite(w)) return PK_OK;
    PK_FAIL(PK_FORMAT, "\"%s\" has values that are not finite", name);
}

/* ---- Vocabulary ---- */

pk_status pk_model_data_copy(pk_model_data *m, const void *data, size_t size, pk_blob *out) {
    void *block;
    PK_TRY(pk_model_data_take(m, size, &block));
    if (size) memcpy(block, data, size);
    *out = (pk_blob){ block, size };
    return PK_OK;
}

static pk_status copy_spm(pk_model_data *m, const pk_file_map *map, pk_blob *out) {
    if (map->size == 0) PK_FAIL(PK_FORMAT, "empty");
    if (map->size > PK_MOST_SPM_BYTES)
        PK_FAIL(PK_FORMAT, "%zu bytes are too many for a SentencePiece model", map->size);
    return pk_model_data_copy(m, map->data, map->size, out);
}

pk_status pk_model_data_read_spm(pk_model_data *m, const char *path, pk_blob *out) {
    pk_file_map map;
    PK_TRY(pk_file_ids_add(&m->files, path));
    PK_TRY(pk_file_map_open(path, &map));
    const pk_status status = copy_spm(m, &map, out);
    pk_file_map_close(&map);
    if (status == PK_FORMAT) pk_fail_context("%s", path);
    return status;
}

int64_t pk_token_count(pk_blob tokens) {
    if (!tokens.size) return 0; /* its data may be NULL, and NULL + 0 is undefined in C */
    const char *at = tokens.data, *end = at + tokens.size;
    int64_t     n = 0;
    while (at < end) {
        const char *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop) return -1;
        at = stop + 1;
        n++;
    }
    return n;
}

static pk_status check_tokens(const char *side, pk_blob tokens, int32_t vocab) {
    const int64_t n = pk_token_count(tokens);
    if (n != vocab)
        PK_FAIL(PK_FORMAT, "the %s vocabulary has %lld tokens, the weights have %d rows for it",
                side, (long long)n, vocab);
    return PK_OK;
}

pk_status pk_model_data_check_vocab(const pk_model_data *m) {
    const pk_config *c = &m->network.config;
    if (c->shares_encoder) { /* the model's vocabulary serves */
        if (m->source_spm.size || m->target_spm.size || m->source_tokens.size)
            PK_FAIL(PK_FORMAT, "a drafter that shares an encoder has no vocabulary of its own");
        return check_tokens("drafter's own", m->target_tokens, c->target_vocab - c->first_own);
    }
    if (m->source_spm.size == 0) PK_FAIL(PK_FORMAT, "the model has no SentencePiece model");
    PK_TRY(check_tokens("source", m->source_tokens, c->source_vocab));
    return check_tokens("target", m->target_tokens.size ? m->target_tokens : m->source_tokens,
                        c->target_vocab);
}

/* ---- Where it came from ---- */

pk_status pk_model_data_set_provenance(pk_model_data *m, const pk_provenance *from) {
    size_t end = strlen(from->path), begin;
    while (end > 1 && from->path[end - 1] == '/') end--;
    for (begin = end; begin > 0 && from->path[begin - 1] != '/'; begin--) {}
    char      name[256];
    pk_buffer json = { 0 };
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), from->path + begin);
    pk_buffer_add_text(&json, "{\"source\":");
    pk_json_add_string(&json, name);
    pk_buffer_print(&json, ",\"format\":\"%s\",\"weights\":", from->format);
    pk_json_add_string(&json, from->weights);
    pk_buffer_print(&json, ",\"files\":%zu,\"bytes\":%zu,\"date\":\"%s\"", from->files, from->bytes,
                    from->date);
    pk_buffer_add_text(&json, ",\"converter\":\"pronk " PK_VERSION_TEXT "\"}");
    const pk_status status = pk_buffer_take(&json, &m->provenance, NULL);
    pk_buffer_free(&json);
    return status;
}

/* ---- Another type ---- */

typedef struct conversion {
    pk_model_data *m;
    pk_dtype       type;
} conversion;

/* rows of one panel as floats, row-major; `lanes` is scratch of the same size, as the panel lies */
static void unpack_panel(const pk_weight *w, size_t panel, float *lanes, float *rows) {
    const pk_stored_tensor whole = { .type = w->type == PK_F32 ? PK_STORED_F32 : PK_STORED_F16,
                                     .data = w->data };
    const size_t           cols = (size_t)w->cols, n = cols * PK_PANEL;
    pk_stored_get_many(&whole, panel * n, n, lanes);
    for (size_t lane = 0; lane < PK_PANEL; lane++)
        for (size_t col = 0; col < cols; col++)
            rows[lane * cols + col] = lanes[col * PK_PANEL + lane];
}

/* panel by panel, so that scratch memory is small; PK_FORMAT: values that the type cannot hold */
static pk_status convert_matrix(const pk_weight *w, pk_dtype type, void *data, float *scale) {
    float       *rows;
    const size_t panel = (size_t)w->cols * PK_PANEL;
    PK_TRY(PK_TAKE(&rows, 2 * panel));
    bool fit = true;
    for (int32_t row = 0; row < w->rows && fit; row += PK_PANEL) {
        const int32_t n = w->rows - row < PK_PANEL ? w->rows - row : PK_PANEL;
        unpack_panel(w, (size_t)row / PK_PANEL, rows + panel, rows);
        fit = pk_values_fit(rows, (size_t)n * (size_t)w->cols, type);
        if (fit) pk_panel_pack(data, scale, w->cols, type, row, n, rows);
    }
    pk_memory_give(rows);
    return fit ? PK_OK : PK_FORMAT;
}

/* a matrix in another type, in new memory; vectors stay F32 */
static pk_status convert_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    conversion *c = user;
    pk_weight   result;
    void       *data;
    float      *scale;
    if (!spec->matrix) return PK_OK;
    PK_TRY(
        pk_model_data_take_matrix(c->m, spec->rows, spec->cols, c->type, &result, &data, &scale));
    const pk_status status = convert_matrix(w, c->type, data, scale);
    if (status == PK_FORMAT)
        PK_FAIL(PK_FORMAT, "\"%s\" has values that are not finite or too large for %s", spec->name,
                pk_dtype_name(c->type));
    PK_TRY(status);
    *w = result;
    return PK_OK;
}

/* I8 cannot be converted back: precision is lost. F16 is not widened to F32: that would gain
 * nothing. */
pk_status pk_model_data_convert(pk_model_data *m, int type) {
    if (type < 0 || m->type == (pk_dtype)type) return PK_OK;
    if (m->type == PK_F16 && type == PK_F32) return PK_OK; /* nothing to gain, see model_file.h */
    if (m->type == PK_I8)
        PK_FAIL(PK_UNSUPPORTED, "an i8 model cannot become %s again: convert the original model",
                pk_dtype_name((pk_dtype)type));
    conversion c = { m, (pk_dtype)type };
    PK_TRY(pk_network_walk(&m->network, convert_weight, &c));
    m->type = c.type;
    pk_network_share(&m->network);
    return PK_OK;
}

pk_status pk_model_data_check_file(const pk_model_data *m) {
    if (pk_file_map_is_as_opened(&m->stored.map)) return PK_OK;
    PK_FAIL(PK_IO, "the file was written to while the model was in use: open it again, and "
                   "replace models by rename");
}

/* Also for a half-opened model: everything is NULL until it is there. */
void pk_model_data_close(pk_model_data *m) {
    for (size_t i = 0; i < m->n_blocks; i++) pk_memory_give(m->block[i]);
    pk_memory_give(m->block);
    pk_memory_give(m->provenance);
    pk_network_free(&m->network);
    pk_stored_close(&m->stored);
    pk_file_ids_free(&m->files);
    *m = (pk_model_data){ 0 };
}
