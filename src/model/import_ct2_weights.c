/* import_ct2_weights.c - tensors of CTranslate2 as the weights of a pk_network.
 *
 * Queries, keys and values are one matrix there as here. A quantised matrix has its scales beside
 * it, one for each row (I8) or one in all (I16); an element is then its integer by the scale. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/import_ct2.h"
#include "tensor/panel.h"

typedef struct importer {
    pk_ct2_model  *m;
    pk_model_data *out;
    float         *rows; /* scratch: (16, widest matrix) */
} importer;

#define OLD_I16_SCALE 1000.0f /* of files that have none beside */

/* ---- Names ---- */

static const struct name_pair {
    const char *ours, *theirs;
} names[] = {
    { "qkv", "self_attention/linear_0" },
    { "out", "self_attention/linear_1" },
    { "self_norm", "self_attention/layer_norm" },
    { "cross_q", "attention/linear_0" },
    { "cross_kv", "attention/linear_1" },
    { "cross_out", "attention/linear_2" },
    { "cross_norm", "attention/layer_norm" },
    { "up", "ffn/linear_0" },
    { "down", "ffn/linear_1" },
    { "ffn_norm", "ffn/layer_norm" },
    { "source_norm", "layernorm_embedding" },
    { "target_norm", "layernorm_embedding" },
    { "encoder_norm", "layer_norm" },
    { "decoder_norm", "layer_norm" },
    { "output_bias", "projection" },
    { "source_positions", "position_encodings" },
    { "target_positions", "position_encodings" },
};

static const char *part_name(const pk_weight_spec *spec) {
    switch (spec->role) {
    case PK_ROLE_GAIN: return "gamma";
    case PK_ROLE_SHIFT: return "beta";
    case PK_ROLE_POSITIONS: return "encodings";
    default: return spec->matrix ? "weight" : "bias";
    }
}

/* "encoder.3.qkv.w" -> "encoder/layer_3/self_attention/linear_0/weight"; false: no counterpart */
static bool translate_name(const pk_weight_spec *spec, char out[PK_CT2_NAME]) {
    const char *stack = spec->stack == PK_DECODER ? "decoder" : "encoder";
    const char *name = spec->name; /* behind "encoder.3." */
    char        layer[32] = "";
    for (int i = 0; spec->layer >= 0 && i < 2; i++) name = strchr(name, '.') + 1;
    if (spec->layer >= 0) snprintf(layer, sizeof layer, "layer_%d/", spec->layer);
    const size_t n = strcspn(name, ".");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].ours) != n || memcmp(names[i].ours, name, n) != 0) continue;
        snprintf(out, PK_CT2_NAME, "%s/%s%s/%s", stack, layer, names[i].theirs, part_name(spec));
        return true;
    }
    return false;
}

/* ---- Scales ---- */

/* the scale of a tensor lies beside it, under any of the tensor's names */
static const pk_stored_tensor *find_scale(pk_ct2_model *m, const pk_stored_tensor *t) {
    const pk_stored_tensor *found = NULL;
    char                    name[PK_CT2_NAME];
    for (size_t i = 0; i < m->stored.n; i++) {
        const pk_stored_tensor *other = &m->stored.tensor[i];
        if (other->data != t->data) continue;
        if (snprintf(name, sizeof name, "%s_scale", other->name) >= (int)sizeof name) continue;
        const pk_stored_tensor *scale = pk_ct2_find(m, name);
        if (scale) found = scale;
    }
    return found;
}

static bool is_quantised(const pk_stored_tensor *t) {
    return t->type == PK_STORED_I8 || t->type == PK_STORED_I16;
}

/* per row, or one in all; NULL with PK_OK: none is needed, or the old one of I16 */
static pk_status read_scale(pk_ct2_model *m, const pk_stored_tensor *t, int32_t rows,
                            const pk_stored_tensor **out) {
    *out = is_quantised(t) ? find_scale(m, t) : NULL;
    if (t->type == PK_STORED_I8 && !*out)
        PK_FAIL(PK_FORMAT, "tensor \"%s\" is quantised, but its scale is missing", t->name);
    if (!*out) return PK_OK;
    const size_t n = (*out)->bytes / pk_stored_type_bytes((*out)->type);
    if (n != 1 && n != (size_t)rows)
        PK_FAIL(PK_FORMAT, "tensor \"%s\" has %zu elements for %d rows", (*out)->name, n, rows);
    return PK_OK;
}

static void divide(const pk_stored_tensor *t, const pk_stored_tensor *scale, int32_t first,
                   int32_t n, int32_t cols, float *rows) {
    const bool one = !scale || scale->bytes == pk_stored_type_bytes(scale->type);
    for (int32_t row = 0; is_quantised(t) && row < n; row++) {
        const size_t at = one ? 0 : (size_t)(first + row);
        const float  by = scale ? pk_stored_get(scale, at) : OLD_I16_SCALE;
        for (int32_t col = 0; col < cols; col++)
            rows[(size_t)row * (size_t)cols + (size_t)col] /= by;
    }
}

/* ---- Checks ---- */

/* vectors are floats always; of a vector a row of one is as good */
static pk_status check_tensor(const pk_stored_tensor *t, int64_t rows, int64_t cols, bool matrix) {
    const bool is_float =
        t->type == PK_STORED_F32 || t->type == PK_STORED_F16 || t->type == PK_STORED_BF16;
    const bool fits = t->n_dims == 2 ? t->dim[0] == rows && t->dim[1] == cols
                                     : t->n_dims == 1 && rows == 1 && t->dim[0] == cols;
    if (!is_float && !(matrix && is_quantised(t)))
        PK_FAIL(PK_UNSUPPORTED, "tensor \"%s\": weights of type %s cannot be read", t->name,
                pk_stored_type_name(t->type));
    if (!fits)
        PK_FAIL(PK_UNSUPPORTED,
                "tensor \"%s\" is not of shape (%lld, %lld): not a plain Transformer", t->name,
                (long long)rows, (long long)cols);
    return PK_OK;
}

static pk_status not_finite(const pk_stored_tensor *t, pk_dtype type) {
    PK_FAIL(PK_FORMAT, "tensor \"%s\" has values that are not finite%s", t->name,
            type == PK_F16 ? " in f16" : "");
}

/* ---- Matrices ---- */

static pk_status find_matrix(importer *in, const pk_weight_spec *spec,
                             const pk_stored_tensor **out) {
    char name[PK_CT2_NAME];
    if (pk_role_is_table(spec->role)) {
        *out = in->m->table[spec->role == PK_ROLE_OUTPUT ? PK_CT2_OUTPUT
                            : spec->stack == PK_DECODER  ? PK_CT2_TARGET
                                                         : PK_CT2_SOURCE];
        return PK_OK;
    }
    *out = translate_name(spec, name) ? pk_ct2_find(in->m, name) : NULL;
    if (!*out) PK_FAIL(PK_UNSUPPORTED, "no tensor for the network's \"%s\"", spec->name);
    return PK_OK;
}

/* A panel at a time, so that the matrix never exists as floats: integers become floats by their
 * scales, and then what the model is opened as. */
static pk_status read_matrix(importer *in, const pk_weight_spec *spec, pk_weight *w) {
    const pk_stored_tensor *t, *scales;
    void                   *data;
    float                  *scale;
    PK_TRY(find_matrix(in, spec, &t));
    PK_TRY(check_tensor(t, spec->rows, spec->cols, true));
    PK_TRY(read_scale(in->m, t, spec->rows, &scales));
    PK_TRY(pk_model_data_take_matrix(in->out, spec->rows, spec->cols, in->out->type, w, &data,
                                     &scale));
    for (int32_t row = 0; row < w->rows; row += PK_PANEL) {
        const int32_t n = w->rows - row < PK_PANEL ? w->rows - row : PK_PANEL;
        const size_t  cols = (size_t)w->cols, all = (size_t)n * cols;
        pk_stored_get_many(t, (size_t)row * cols, all, in->rows);
        divide(t, scales, row, n, w->cols, in->rows);
        if (!pk_values_fit(in->rows, all, w->type)) return not_finite(t, w->type);
        pk_panel_pack(data, scale, w->cols, w->type, row, n, in->rows);
    }
    return PK_OK;
}

/* ---- Plain weights ---- */

/* where a model has no table: sines in the first half of a row, cosines in the second, and the
 * first position is 1 */
static void compute_positions(int32_t n, int32_t dim, float *out) {
    const int32_t half = dim / 2;
    for (int32_t k = 0; k < half; k++) {
        const double step = half > 1 ? -log(10000.0) / (half - 1) : 0;
        for (int32_t pos = 0; pos < n; pos++) {
            const double angle = (pos + 1) * exp(step * k);
            float       *row = out + (size_t)pos * (size_t)dim;
            row[k] = (float)sin(angle);
            row[half + k] = (float)cos(angle);
        }
    }
}

/* a stored table of positions may be longer than what is used of it */
static pk_status check_plain(const pk_weight_spec *spec, const pk_stored_tensor *t) {
    const bool longer = spec->role == PK_ROLE_POSITIONS && t->n_dims == 2 && t->dim[0] > spec->rows;
    return check_tensor(t, longer ? t->dim[0] : spec->rows, spec->cols, false);
}

/* biases are zero where the model has none */
static pk_status read_plain(importer *in, const pk_weight_spec *spec, pk_weight *w) {
    char   name[PK_CT2_NAME];
    float *out;
    if (!translate_name(spec, name))
        PK_FAIL(PK_UNSUPPORTED, "the network's \"%s\" has no counterpart", spec->name);
    const pk_stored_tensor *t = pk_ct2_find(in->m, name);
    if (!t && (spec->role == PK_ROLE_GAIN || spec->role == PK_ROLE_SHIFT))
        PK_FAIL(PK_UNSUPPORTED, "tensor \"%s\" is missing: not a plain Transformer", name);
    if (t) PK_TRY(check_plain(spec, t));
    PK_TRY(pk_model_data_take_plain(in->out, spec->rows, spec->cols, w, &out));
    const size_t n = (size_t)spec->rows * (size_t)spec->cols;
    if (t) {
        pk_stored_get_many(t, 0, n, out);
        return pk_values_fit(out, n, PK_F32) ? PK_OK : not_finite(t, PK_F32);
    }
    if (spec->role == PK_ROLE_POSITIONS) compute_positions(spec->rows, spec->cols, out);
    return PK_OK;
}

/* ---- The walk ---- */

static pk_status read_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    return spec->matrix ? read_matrix(user, spec, w) : read_plain(user, spec, w);
}

pk_status pk_ct2_read_weights(pk_ct2_model *m, pk_model_data *out) {
    const pk_config *c = &out->network.config;
    const int32_t    ffn = c->encoder_ffn > c->decoder_ffn ? c->encoder_ffn : c->decoder_ffn;
    importer         in = { .m = m, .out = out };
    for (int i = 0; i < PK_CT2_TABLES; i++) { /* also those that share another's memory */
        const pk_stored_tensor *scale;
        PK_TRY(read_scale(m, m->table[i], (int32_t)m->table[i]->dim[0], &scale));
    }
    PK_TRY(PK_TAKE(&in.rows, (size_t)PK_PANEL * (size_t)(ffn > c->dim ? ffn : c->dim)));
    const pk_status status = pk_network_walk(&out->network, read_weight, &in);
    pk_memory_give(in.rows);
    PK_TRY(status);
    pk_network_share(&out->network);
    return PK_OK;
}
