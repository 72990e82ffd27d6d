/* import_ct2_config.c - the network of a CTranslate2 model: its sizes are those of the tensors that
 * are there, the rest are variables of one number ("encoder/num_heads").
 *
 * Before revision 5 these belonged to the whole model ("num_heads"), before 3 the number of heads
 * followed from the model's name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/import_ct2.h"

/* CTranslate2 reads no more of a source than this; tables of positions may be longer */
enum { MOST_POSITIONS = 1024 };
/* its activations by number: relu, gelu by tanh, swish, gelu, gelu by sigmoid, tanh, sigmoid; -1:
 * not here */
static const int activations[] = { PK_RELU, -1, PK_SWISH, PK_GELU, -1, -1, -1 };
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

static const char *stack_name(pk_stack stack) {
    return stack == PK_DECODER ? "decoder" : "encoder";
}

/* ---- Variables of one number ---- */

static const pk_stored_tensor *find_in(pk_ct2_model *m, pk_stack stack, const char *name) {
    char full[PK_CT2_NAME];
    snprintf(full, sizeof full, "%s/%s", stack_name(stack), name);
    const pk_stored_tensor *t = pk_ct2_find(m, full);
    return t || m->header.revision >= 5 ? t : pk_ct2_find(m, name);
}

static bool is_one(const pk_stored_tensor *t) { return t->bytes == pk_stored_type_bytes(t->type); }

static pk_status get_number(pk_ct2_model *m, pk_stack stack, const char *name, int32_t normal,
                            int32_t highest, int32_t *out) {
    const pk_stored_tensor *t = find_in(m, stack, name);
    *out = normal;
    if (!t) return PK_OK;
    const float value = is_one(t) ? pk_stored_get(t, 0) : NAN;
    if (!(value >= 0 && value <= (float)highest))
        PK_FAIL(PK_FORMAT, "\"%s\" must be one number between 0 and %d", t->name, highest);
    *out = (int32_t)value;
    return PK_OK;
}

/* ---- Sizes ---- */

static const pk_stored_tensor *find_matrix(pk_ct2_model *m, pk_stack stack, int32_t layer,
                                           const char *name) {
    char full[PK_CT2_NAME];
    snprintf(full, sizeof full, "%s/layer_%d/%s", stack_name(stack), layer, name);
    return pk_ct2_find(m, full);
}

static pk_status read_shape(const pk_stored_tensor *t, int32_t *rows, int32_t *cols) {
    *rows = *cols = 0;
    if (t->n_dims != 2 || t->dim[0] < 1 || t->dim[1] < 1 || t->dim[0] > INT32_MAX ||
        t->dim[1] > INT32_MAX)
        PK_FAIL(PK_FORMAT, "tensor \"%s\" is not a matrix", t->name);
    *rows = (int32_t)t->dim[0];
    *cols = (int32_t)t->dim[1];
    return PK_OK;
}

/* how many layers there are, and how wide their feed-forward blocks */
static pk_status read_layers(pk_ct2_model *m, pk_stack stack, int32_t *layers, int32_t *ffn) {
    int32_t                 dim;
    const pk_stored_tensor *up = find_matrix(m, stack, 0, "ffn/linear_0/weight");
    *layers = 0;
    while (find_matrix(m, stack, *layers, "ffn/linear_0/weight")) ++*layers;
    if (!up)
        PK_FAIL(PK_UNSUPPORTED, "no layers in its %s: not a Transformer for translation",
                stack_name(stack));
    return read_shape(up, ffn, &dim);
}

/* rows of stored positions; where none are stored, sinusoids serve any number */
static pk_status read_positions(pk_ct2_model *m, pk_stack stack, int32_t *out) {
    const pk_stored_tensor *t = find_in(m, stack, "position_encodings/encodings");
    int32_t                 dim;
    *out = MOST_POSITIONS;
    if (!t) return PK_OK;
    PK_TRY(read_shape(t, out, &dim));
    if (*out > MOST_POSITIONS) *out = MOST_POSITIONS;
    return PK_OK;
}

/* ---- Tables ---- */

/* source features would be embeddings_1 and so on; the rest of a model with those is refused */
static pk_status find_tables(pk_ct2_model *m) {
    m->table[PK_CT2_SOURCE] = pk_ct2_find(m, "encoder/embeddings_0/weight");
    if (!m->table[PK_CT2_SOURCE])
        m->table[PK_CT2_SOURCE] = pk_ct2_find(m, "encoder/embeddings/weight");
    m->table[PK_CT2_TARGET] = pk_ct2_find(m, "decoder/embeddings/weight");
    m->table[PK_CT2_OUTPUT] = pk_ct2_find(m, "decoder/projection/weight");
    if (!m->table[PK_CT2_SOURCE] || !m->table[PK_CT2_TARGET] || !m->table[PK_CT2_OUTPUT])
        PK_FAIL(PK_UNSUPPORTED, "no embeddings or no output layer: not a model for translation");
    return PK_OK;
}

/* one tensor of two names, or two copies */
static bool same_table(const pk_stored_tensor *a, const pk_stored_tensor *b) {
    return a->type == b->type && a->bytes == b->bytes &&
           (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0);
}

/* copies of quantised tables would also need equal scales: only other names are taken for equal */
static bool shared(const pk_stored_tensor *a, const pk_stored_tensor *b) {
    const bool quantised = a->type == PK_STORED_I8 || a->type == PK_STORED_I16;
    return quantised ? a->data == b->data && a->bytes == b->bytes : same_table(a, b);
}

/* The sizes of the tables give dim and vocabularies. A table that serves twice is stored once with
 * two names, or twice with the same numbers. */
static pk_status read_tables(pk_ct2_model *m, pk_config *c) {
    int32_t target_dim, output_vocab, output_dim;
    PK_TRY(find_tables(m));
    PK_TRY(read_shape(m->table[PK_CT2_SOURCE], &c->source_vocab, &c->dim));
    PK_TRY(read_shape(m->table[PK_CT2_TARGET], &c->target_vocab, &target_dim));
    PK_TRY(read_shape(m->table[PK_CT2_OUTPUT], &output_vocab, &output_dim));
    if (target_dim != c->dim || output_dim != c->dim || output_vocab != c->target_vocab)
        PK_FAIL(PK_UNSUPPORTED, "its embeddings and its output layer are of different sizes");
    c->share_embeddings = c->source_vocab == c->target_vocab &&
                          shared(m->table[PK_CT2_SOURCE], m->table[PK_CT2_TARGET]);
    c->tie_output = shared(m->table[PK_CT2_TARGET], m->table[PK_CT2_OUTPUT]);
    return PK_OK;
}

/* ---- Options ---- */

/* a flag (sqrt of the width, or nothing), or the factor itself; absent: as true */
static pk_status read_scale(pk_ct2_model *m, pk_stack stack, int32_t dim, float *out) {
    const pk_stored_tensor *t = find_in(m, stack, "scale_embeddings");
    if (!t) t = find_in(m, stack, "embeddings/multiply_by_sqrt_depth");
    if (!t) t = find_in(m, stack, "embeddings_0/multiply_by_sqrt_depth");
    if (t && !is_one(t)) PK_FAIL(PK_FORMAT, "\"%s\" must be one number", t->name);
    const float value = t ? pk_stored_get(t, 0) : 1;
    const bool  flag = !t || t->type == PK_STORED_I8;
    *out = !flag ? value : value != 0 ? (float)sqrt((double)dim) : 1;
    return PK_OK;
}

static bool has(pk_ct2_model *m, pk_stack stack, const char *name) {
    char full[PK_CT2_NAME];
    snprintf(full, sizeof full, "%s/%s", stack_name(stack), name);
    return pk_ct2_find(m, full) != NULL;
}

typedef struct options { /* of one stack */
    int32_t heads, pre_norm, activation, positions, embed_norm, final_norm;
    float   scale;
} options;

/* Options that a stack may leave out have the values that CTranslate2 assumes then. Old versions
 * did not store the number of heads: it follows from the kind of model. */
static pk_status read_options(pk_ct2_model *m, pk_stack stack, int32_t dim, options *out) {
    const int32_t heads = strcmp(m->header.spec, "TransformerBig") == 0 ? 16 : 8;
    PK_TRY(get_number(m, stack, "num_heads", heads, INT16_MAX, &out->heads));
    PK_TRY(get_number(m, stack, "pre_norm", 1, 1, &out->pre_norm));
    PK_TRY(get_number(m, stack, "activation", 0, N_ACTIVATIONS - 1, &out->activation));
    PK_TRY(read_positions(m, stack, &out->positions));
    PK_TRY(read_scale(m, stack, dim, &out->scale));
    out->embed_norm = has(m, stack, "layernorm_embedding/gamma");
    out->final_norm = has(m, stack, "layer_norm/gamma");
    return PK_OK;
}

/* encoder and decoder of one model are made alike */
static pk_status check_alike(const options *e, const options *d) {
    if (e->pre_norm != d->pre_norm || e->activation != d->activation || e->scale != d->scale ||
        e->embed_norm != d->embed_norm || e->final_norm != d->final_norm)
        PK_FAIL(PK_UNSUPPORTED, "its encoder and its decoder are of different kinds");
    if (activations[e->activation] < 0)
        PK_FAIL(PK_UNSUPPORTED, "CTranslate2's activation %d is not supported; those are: %s",
                e->activation, PK_WORDS(PK_ACT_MAP));
    return PK_OK;
}

/* null means the default, and so does no key at all */
static pk_status read_epsilon(pk_ct2_model *m, float *out) {
    const json_t *value = json_object_get(m->config, "layer_norm_epsilon");
    *out = 1e-5f;
    if (!value || json_is_null(value)) return PK_OK;
    if (!json_is_number(value)) PK_FAIL(PK_FORMAT, "\"layer_norm_epsilon\" must be a number");
    *out = (float)json_number_value(value);
    return PK_OK;
}

/* version 1 names no kind: it had one only */
static pk_status check_spec(const pk_ct2_header *h) {
    static const char *const known[] = { "TransformerSpec", "TransformerBase", "TransformerBig" };
    bool                     is_known = h->version < 2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_known |= strcmp(h->spec, known[i]) == 0;
    if (!is_known)
        PK_FAIL(PK_UNSUPPORTED, "a model of kind %.60s; those for translation are of %s", h->spec,
                known[0]);
    return PK_OK;
}

pk_status pk_ct2_read_config(pk_ct2_model *m, pk_config *c) {
    options e, d;
    PK_TRY(check_spec(&m->header));
    PK_TRY(read_tables(m, c));
    PK_TRY(read_layers(m, PK_ENCODER, &c->encoder_layers, &c->encoder_ffn));
    PK_TRY(read_layers(m, PK_DECODER, &c->decoder_layers, &c->decoder_ffn));
    PK_TRY(read_options(m, PK_ENCODER, c->dim, &e));
    PK_TRY(read_options(m, PK_DECODER, c->dim, &d));
    PK_TRY(check_alike(&e, &d));
    c->encoder_heads = e.heads;
    c->decoder_heads = d.heads;
    c->act = activations[e.activation];
    c->pre_norm = e.pre_norm;
    c->embed_norm = e.embed_norm;
    c->final_norm = e.final_norm;
    c->embed_scale = e.scale;
    c->max_source = e.positions;
    c->max_target = d.positions;
    return read_epsilon(m, &c->epsilon);
}
