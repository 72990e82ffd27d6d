/* forward.c - encoder and decoder layers. The residual stream x is updated in place; what a block
 * needs besides is given back to the scratch memory at its end. Attention blocks and feed-forward
 * blocks differ between models only in where the norm stands: before (pre) or after (post). */
#include "model/forward.h"

#include <assert.h>

#include "tensor/panel.h"

typedef struct stack { /* what all layers of one side share */
    pk_run          *r;
    const pk_config *c;
} stack;

/* x, or norm(x) in pre-norm models */
static pk_tensor block_input(const stack *s, pk_tensor x, const pk_norm *n) {
    if (!s->c->pre_norm) return x;
    return pk_norm_rows(s->r, x, &n->gain, &n->bias, s->c->epsilon);
}

/* x + projection of y, and the norm when it stands behind; gives the block's scratch back */
static pk_tensor block_output(const stack *s, pk_tensor x, pk_tensor y, const pk_dense *d,
                              const pk_norm *n, size_t used) {
    pk_after after = { .bias = &d->b, .residual = x };
    if (!s->c->pre_norm)
        after.gain = &n->gain, after.shift = &n->bias, after.epsilon = s->c->epsilon;
    x = pk_linear_over(s->r, y, &d->w, &after);
    pk_run_release(s->r, used);
    return x;
}

/* act(x W_up + b) W_down + b */
static pk_tensor feed_forward(const stack *s, pk_tensor x, const pk_dense *up, const pk_dense *down,
                              const pk_norm *n) {
    const size_t used = pk_run_used(s->r);
    pk_tensor    h = block_input(s, x, n); /* (n, D) */
    h = pk_linear(s->r, h, &up->w,
                  &(pk_after){ .bias = &up->b, .act = (pk_act)s->c->act }); /* (n, F) */
    return block_output(s, x, h, down, n, used);
}

/* table[token] * scale + positions[pos]; normalised where the model has embed_norm */
static pk_tensor embed(const stack *s, const pk_weight *table, const pk_weight *positions,
                       const pk_norm *n, const int32_t *token, const int32_t *pos, int32_t count) {
    pk_tensor x = pk_embed(s->r, table, token, s->c->embed_scale, positions, pos, count);
    if (s->c->embed_norm) x = pk_norm_over(s->r, x, &n->gain, &n->bias, s->c->epsilon);
    return x;
}

/* kv: keys and values side by side, (rows, 2D) */
static pk_tensor attend_to(const stack *s, pk_tensor q, pk_tensor kv, const pk_attention *see) {
    const int32_t d = s->c->dim;
    return pk_attend(s->r, q, pk_columns(kv, 0, d), pk_columns(kv, d, d), see);
}

/* ---- encoder ---- */

static pk_tensor encoder_self(const stack *s, const pk_encoder_layer *l, pk_tensor x,
                              const pk_attention *see) {
    const int32_t d = s->c->dim;
    const size_t  used = pk_run_used(s->r);
    pk_tensor     h = block_input(s, x, &l->self_norm);
    pk_tensor qkv = pk_linear(s->r, h, &l->qkv.w, &(pk_after){ .bias = &l->qkv.b }); /* (n, 3D) */
    pk_tensor y = attend_to(s, pk_columns(qkv, 0, d), pk_columns(qkv, d, 2 * d), see);
    return block_output(s, x, y, &l->out, &l->self_norm, used);
}

pk_tensor pk_encode(pk_run *r, const pk_network *net, const int32_t *token, const int32_t *pos,
                    int32_t n, const pk_attention *self) {
    const pk_config *c = &net->config;
    const stack      s = { r, c };
    pk_run_enter(r, PK_MODULE_ENCODER);
    pk_tensor x =
        embed(&s, &net->source_embed, &net->source_positions, &net->source_norm, token, pos, n);
    for (int32_t i = 0; i < c->encoder_layers; i++) {
        const pk_encoder_layer *l = &net->encoder[i];
        x = encoder_self(&s, l, x, self);
        x = feed_forward(&s, x, &l->up, &l->down, &l->ffn_norm);
    }
    if (c->final_norm)
        x = pk_norm_over(r, x, &net->encoder_norm.gain, &net->encoder_norm.bias, c->epsilon);
    return x;
}

void pk_remember_source(pk_run *r, const pk_network *net, pk_tensor states, const pk_memory *memory,
                        const int32_t *row) {
    for (int32_t i = 0; i < net->config.decoder_layers; i++) {
        const pk_dense *kv = &net->decoder[i].cross_kv;
        const size_t    used = pk_run_used(r);
        const pk_after  after = { .bias = &kv->b, .pool = memory->source[i], .slot = row };
        pk_linear(r, states, &kv->w, &after);
        pk_run_release(r, used);
    }
}

/* ---- decoder ---- */

/* What sees itself alone attends to its own value: queries and keys need not be computed where the
 * values' weights can be taken by themselves. */
static pk_tensor own_values(const stack *s, const pk_decoder_layer *l, pk_tensor h) {
    const int32_t d = s->c->dim;
    if (d % PK_PANEL) {
        pk_tensor qkv = pk_linear(s->r, h, &l->qkv.w, &(pk_after){ .bias = &l->qkv.b });
        return pk_columns(qkv, 2 * d, d);
    }
    const pk_weight w = pk_weight_rows(&l->qkv.w, 2 * d, d);
    const pk_weight b = pk_weight_part(&l->qkv.b, 2 * d, d);
    return pk_linear(s->r, h, &w, &(pk_after){ .bias = &b });
}

/* With a memory, keys and values go to this token's slots, and attention reads the whole pool. Of
 * the last layer's rows only those that are asked for go on. */
static pk_tensor decoder_self(const stack *s, const pk_decoder_layer *l, pk_tensor x,
                              const pk_target *t, int32_t layer) {
    const int32_t d = s->c->dim, rows = layer + 1 == s->c->decoder_layers ? t->asked : t->n;
    const size_t  used = pk_run_used(s->r);
    pk_tensor     h = block_input(s, x, &l->self_norm);
    pk_after      after = { .bias = &l->qkv.b };
    if (t->alone) return block_output(s, x, own_values(s, l, h), &l->out, &l->self_norm, used);
    if (t->memory) after.pool = t->memory->self[layer], after.slot = t->slot, after.from = d;
    pk_tensor qkv = pk_linear(s->r, h, &l->qkv.w, &after); /* (n, 3D) */
    pk_tensor kv = t->memory ? after.pool : pk_columns(qkv, d, 2 * d);
    x = pk_first_rows(x, rows);
    if (rows == 0) {
        pk_run_release(s->r, used);
        return x;
    }
    pk_tensor y = attend_to(s, pk_first_rows(pk_columns(qkv, 0, d), rows), kv, t->self);
    return block_output(s, x, y, &l->out, &l->self_norm, used);
}

/* keys and values of the source: from the memory, or computed here while training */
static pk_tensor decoder_cross(const stack *s, const pk_decoder_layer *l, pk_tensor x,
                               const pk_target *t, const pk_attention *see, int32_t layer) {
    const size_t used = pk_run_used(s->r);
    pk_tensor    h = block_input(s, x, &l->cross_norm);
    pk_tensor    q = pk_linear(s->r, h, &l->cross_q.w, &(pk_after){ .bias = &l->cross_q.b });
    pk_tensor    kv = t->memory ? t->memory->source[layer]
                                : pk_linear(s->r, t->source, &l->cross_kv.w,
                                            &(pk_after){ .bias = &l->cross_kv.b });
    pk_tensor    y = attend_to(s, q, kv, see);
    return block_output(s, x, y, &l->cross_out, &l->cross_norm, used);
}

pk_tensor pk_decode(pk_run *r, const pk_network *net, const pk_target *t) {
    const pk_config *c = &net->config;
    const stack      s = { r, c };
    assert(t->memory ? !t->slot == t->alone && !r->tape : !t->slot); /* decoding keeps keys */
    assert(t->asked == t->n || (t->slot && t->asked < t->n && !t->cross_weighted));
    const int32_t weighted_layer = t->cross_weighted ? pk_alignment_layer(net) : -1;
    pk_tensor x = embed(&s, &net->target_embed, &net->target_positions, &net->target_norm, t->token,
                        t->pos, t->n);
    for (int32_t i = 0; i < c->decoder_layers; i++) {
        const pk_decoder_layer *l = &net->decoder[i];
        pk_run_enter(r, PK_MODULE_SELF);
        x = decoder_self(&s, l, x, t, i);
        if (x.rows == 0) return x;
        pk_run_enter(r, PK_MODULE_CROSS);
        x = decoder_cross(&s, l, x, t, i == weighted_layer ? t->cross_weighted : t->cross, i);
        pk_run_enter(r, PK_MODULE_FFN);
        x = feed_forward(&s, x, &l->up, &l->down, &l->ffn_norm);
    }
    if (c->final_norm)
        x = pk_norm_over(r, x, &net->decoder_norm.gain, &net->decoder_norm.bias, c->epsilon);
    return x;
}

int32_t pk_alignment_layer(const pk_network *net) {
    const int32_t layers = net->config.decoder_layers;
    return layers > 1 ? layers - 2 : 0;
}

size_t pk_forward_scratch(const pk_network *net) {
    const pk_config *c = &net->config;
    const int32_t    ffn = c->encoder_ffn > c->decoder_ffn ? c->encoder_ffn : c->decoder_ffn;
    const int32_t    attention = 5 * c->dim; /* norm, qkv, attended */
    const int32_t    forward = ffn + c->dim; /* norm, widened */
    return (size_t)(c->dim + (attention > forward ? attention : forward));
}

/* matrices of decoder layers only: vectors are small, the encoder runs once a sentence */
static pk_status add_bytes(void *user, const pk_weight_spec *spec, pk_weight *w) {
    uint64_t *sum = user;
    if (spec->matrix && spec->stack == PK_DECODER && spec->layer >= 0)
        *sum += pk_panel_bytes(spec->rows, spec->cols, w->type);
    return PK_OK;
}

uint64_t pk_decoder_bytes(const pk_network *net) {
    const pk_config *c = &net->config;
    pk_network       copy = *net; /* walk() takes a network it may change; ours is const */
    uint64_t         bytes = pk_panel_bytes(c->target_vocab, c->dim, net->output.type);
    pk_network_walk(&copy, add_bytes, &bytes);
    for (int32_t i = 0; i < c->decoder_layers; i++) /* read once per sentence, not per pass */
        bytes -= pk_panel_bytes(2 * c->dim, c->dim, net->decoder[i].cross_kv.w.type);
    return bytes;
}
