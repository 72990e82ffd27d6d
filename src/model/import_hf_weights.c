/* import_hf_weights.c - tensors of MarianMT and mBART as the weights of a pk_network.
 *
 * One table says which tensors make up a weight: queries, keys and values become one matrix, so
 * that one sweep over it serves all three. Shapes and values are checked on the way into the
 * panels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/import_hf.h"
#include "tensor/panel.h"

enum { MAX_PARTS = 3, MAX_NAME = 160 };
enum { MBART_OFFSET = 2 }; /* rows of position tables that are never used */

typedef struct importer {
    pk_hf_folder  *f;
    pk_model_data *m;
    float         *rows; /* scratch: (16, widest matrix) */
} importer;

/* ---- Names ---- */

static const struct part_names {
    const char *ours, *theirs[MAX_PARTS];
} layer_names[] = {
    { "qkv", { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj" } },
    { "out", { "self_attn.out_proj" } },
    { "self_norm", { "self_attn_layer_norm" } },
    { "cross_q", { "encoder_attn.q_proj" } },
    { "cross_kv", { "encoder_attn.k_proj", "encoder_attn.v_proj" } },
    { "cross_out", { "encoder_attn.out_proj" } },
    { "cross_norm", { "encoder_attn_layer_norm" } },
    { "up", { "fc1" } },
    { "down", { "fc2" } },
    { "ffn_norm", { "final_layer_norm" } },
}, stack_names[] = {
    { "source_norm", { "encoder.layernorm_embedding" } },
    { "target_norm", { "decoder.layernorm_embedding" } },
    { "encoder_norm", { "encoder.layer_norm" } },
    { "decoder_norm", { "decoder.layer_norm" } },
};

/* the row of a table whose name equals the first n characters of text; NULL: none */
static const struct part_names *look_up(const struct part_names *table, size_t rows,
                                        const char *text, size_t n) {
    for (size_t i = 0; i < rows; i++)
        if (strlen(table[i].ours) == n && memcmp(table[i].ours, text, n) == 0) return &table[i];
    return NULL;
}

/* The tensors that make up a weight, "encoder.3.qkv.w" -> "model.encoder.layers.3.self_attn.q_proj
 * .weight" and two more; gives how many. */
static int translate_name(const pk_weight_spec *spec, char theirs[MAX_PARTS][MAX_NAME]) {
    const bool  in_layer = spec->layer >= 0;
    const char *stack = spec->stack == PK_DECODER ? "decoder" : "encoder";
    const bool  weight = spec->matrix || spec->role == PK_ROLE_GAIN;
    char        prefix[40] = "model.";
    const char *name = spec->name; /* behind "encoder.3." */
    for (int i = 0; in_layer && i < 2; i++) name = strchr(name, '.') + 1;
    if (in_layer) snprintf(prefix, sizeof prefix, "model.%s.layers.%d.", stack, spec->layer);
    const size_t             n = strcspn(name, ".");
    const struct part_names *names =
        in_layer ? look_up(layer_names, sizeof layer_names / sizeof *layer_names, name, n)
                 : look_up(stack_names, sizeof stack_names / sizeof *stack_names, name, n);
    int parts = 0;
    for (; names && parts < MAX_PARTS && names->theirs[parts]; parts++)
        snprintf(theirs[parts], MAX_NAME, "%s%s.%s", prefix, names->theirs[parts],
                 weight ? "weight" : "bias");
    return parts;
}

/* ---- Checks ---- */

/* integers would need scales that these checkpoints do not have */
static bool is_float(pk_stored_type type) {
    return type == PK_STORED_F32 || type == PK_STORED_F16 || type == PK_STORED_BF16 ||
           type == PK_STORED_F64;
}

/* a vector may be (cols) or (1, cols) */
static pk_status check_tensor(const pk_stored_tensor *t, int64_t rows, int64_t cols) {
    const bool matrix = t->n_dims == 2 && t->dim[0] == rows && t->dim[1] == cols;
    const bool vector = t->n_dims == 1 && rows == 1 && t->dim[0] == cols;
    if (!is_float(t->type))
        PK_FAIL(PK_UNSUPPORTED, "tensor \"%s\": weights of type %s cannot be read", t->name,
                pk_stored_type_name(t->type));
    if (!matrix && !vector)
        PK_FAIL(PK_FORMAT, "tensor \"%s\": its shape is not the (%lld, %lld) of config.json",
                t->name, (long long)rows, (long long)cols);
    return PK_OK;
}

/* the tensor, which must be there and of this shape */
static pk_status find_checked(pk_hf_folder *f, const char *name, int64_t rows, int64_t cols,
                              const pk_stored_tensor **out) {
    *out = pk_hf_find(f, name);
    if (!*out) PK_FAIL(PK_FORMAT, "tensor \"%s\" is missing", name);
    return check_tensor(*out, rows, cols);
}

static pk_status not_finite(const pk_stored_tensor *t, pk_dtype type) {
    PK_FAIL(PK_FORMAT, "tensor \"%s\" has values that are not finite%s", t->name,
            type == PK_F16 ? " in f16" : "");
}

/* ---- Matrices ---- */

/* 16-bit floats go into 16-bit panels without a change */
static bool pack_half(const pk_stored_tensor *t, int32_t first_row, int32_t rows, int32_t cols,
                      uint16_t *out) {
    const unsigned char *from = t->data;
    uint32_t             infinite = 0;
    for (int32_t row = 0; row < rows; row++) {
        size_t at = pk_panel_index(cols, PK_F16, first_row + row, 0);
        for (int32_t col = 0; col < cols; col++, at += PK_PANEL, from += sizeof(uint16_t)) {
            uint16_t h;
            memcpy(&h, from, sizeof h);
            infinite |= (h & 0x7C00u) == 0x7C00u;
            out[at] = h;
        }
    }
    return !infinite;
}

/* rows of a tensor into rows first_row .. of a matrix */
static pk_status pack_part(const importer *in, const pk_stored_tensor *t, int32_t first_row,
                           int32_t rows, const pk_weight *w, void *data, float *scale) {
    const size_t cols = (size_t)w->cols;
    if (t->type == PK_STORED_F16 && w->type == PK_F16)
        return pack_half(t, first_row, rows, w->cols, data) ? PK_OK : not_finite(t, PK_F32);
    for (int32_t row = 0; row < rows; row += PK_PANEL) {
        const int32_t n = rows - row < PK_PANEL ? rows - row : PK_PANEL;
        pk_stored_get_many(t, (size_t)row * cols, (size_t)n * cols, in->rows);
        if (!pk_values_fit(in->rows, (size_t)n * cols, w->type)) return not_finite(t, w->type);
        pk_panel_pack(data, scale, w->cols, w->type, first_row + row, n, in->rows);
    }
    return PK_OK;
}

/* ---- Plain weights ---- */

/* n elements as floats, which must be finite */
static pk_status copy_plain(const pk_stored_tensor *t, size_t first, size_t n, float *out) {
    pk_stored_get_many(t, first, n, out);
    return pk_values_fit(out, n, PK_F32) ? PK_OK : not_finite(t, PK_F32);
}

/* MarianMT's sinusoids: sines in the first half of a row, cosines in the second */
static void compute_positions(int32_t n, int32_t dim, float *out) {
    const int32_t half = (dim + 1) / 2;
    for (int32_t i = 0; i < dim; i++) {
        const int32_t k = i < half ? i : i - half;
        const double  wavelength = pow(10000, 2.0 * k / dim);
        for (int32_t pos = 0; pos < n; pos++) {
            const double angle = pos / wavelength;
            out[(size_t)pos * (size_t)dim + (size_t)i] =
                (float)(i < half ? sin(angle) : cos(angle));
        }
    }
}

/* stored ones, or MarianMT's sinusoids; mBART's table has two unused rows in front */
static pk_status read_positions(importer *in, const pk_weight_spec *spec, float *out) {
    const char   *name = spec->stack == PK_ENCODER ? "model.encoder.embed_positions.weight"
                                                   : "model.decoder.embed_positions.weight";
    const int32_t rows = spec->rows, cols = spec->cols;
    const bool    mbart = in->m->network.config.family == PK_MBART;
    const pk_stored_tensor *t = pk_hf_find(in->f, name);
    if (!t && mbart) PK_FAIL(PK_FORMAT, "tensor \"%s\" is missing", name);
    if (!t) {
        compute_positions(rows, cols, out);
        return PK_OK;
    }
    const int32_t skipped = mbart ? MBART_OFFSET : 0;
    PK_TRY(check_tensor(t, rows + skipped, cols));
    return copy_plain(t, (size_t)skipped * (size_t)cols, (size_t)rows * (size_t)cols, out);
}

/* older checkpoints may lack it: then it is zero */
static pk_status read_output_bias(importer *in, int32_t cols, float *out) {
    const pk_stored_tensor *t = pk_hf_find(in->f, "final_logits_bias");
    if (!t) return PK_OK;
    PK_TRY(check_tensor(t, 1, cols));
    return copy_plain(t, 0, (size_t)cols, out);
}

/* vectors: biases and norms, fused like the matrices they belong to */
static pk_status read_plain(importer *in, const pk_weight_spec *spec, float *out) {
    char theirs[MAX_PARTS][MAX_NAME];
    if (spec->role == PK_ROLE_OUTPUT_BIAS) return read_output_bias(in, spec->cols, out);
    if (spec->role == PK_ROLE_POSITIONS) return read_positions(in, spec, out);
    const int     parts = translate_name(spec, theirs);
    const int32_t each = parts ? spec->cols / parts : 0;
    for (int i = 0; i < parts; i++) {
        const pk_stored_tensor *t;
        PK_TRY(find_checked(in->f, theirs[i], 1, each, &t));
        PK_TRY(copy_plain(t, 0, (size_t)each, out + (size_t)i * (size_t)each));
    }
    if (!parts) PK_FAIL(PK_UNSUPPORTED, "the network's \"%s\" has no counterpart", spec->name);
    return PK_OK;
}

/* ---- The walk ---- */

/* which of the three tables of the folder a weight is, if it is one */
static int table_of(const pk_weight_spec *spec) {
    if (spec->role == PK_ROLE_OUTPUT) return PK_HF_OUTPUT;
    return spec->stack == PK_ENCODER ? PK_HF_SOURCE : PK_HF_TARGET;
}

/* one weight of the network, from one tensor or from several, end to end */
static pk_status read_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    importer               *in = user;
    char                    theirs[MAX_PARTS][MAX_NAME];
    const pk_stored_tensor *t;
    float                  *plain, *scale;
    void                   *data;
    if (!spec->matrix) {
        PK_TRY(pk_model_data_take_plain(in->m, spec->rows, spec->cols, w, &plain));
        return read_plain(in, spec, plain);
    }
    PK_TRY(pk_model_data_take_matrix(in->m, spec->rows, spec->cols, in->m->type, w, &data, &scale));
    if (pk_role_is_table(spec->role)) {
        t = in->f->table[table_of(spec)];
        PK_TRY(check_tensor(t, spec->rows, spec->cols));
        return pack_part(in, t, 0, spec->rows, w, data, scale);
    }
    const int     parts = translate_name(spec, theirs);
    const int32_t each = parts ? spec->rows / parts : 0;
    for (int i = 0; i < parts; i++) {
        PK_TRY(find_checked(in->f, theirs[i], each, spec->cols, &t));
        PK_TRY(pack_part(in, t, i * each, each, w, data, scale));
    }
    if (!parts) PK_FAIL(PK_UNSUPPORTED, "the network's \"%s\" has no counterpart", spec->name);
    return PK_OK;
}

pk_status pk_hf_read_weights(pk_hf_folder *f, pk_model_data *out) {
    const pk_config *c = &out->network.config;
    const int32_t    ffn = c->encoder_ffn > c->decoder_ffn ? c->encoder_ffn : c->decoder_ffn;
    importer         in = { .f = f, .m = out };
    PK_TRY(PK_TAKE(&in.rows, (size_t)PK_PANEL * (size_t)(ffn > c->dim ? ffn : c->dim)));
    const pk_status status = pk_network_walk(&out->network, read_weight, &in);
    pk_memory_give(in.rows);
    PK_TRY(status);
    pk_network_share(&out->network);
    return PK_OK;
}
