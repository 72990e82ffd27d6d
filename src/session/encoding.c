/* encoding.c - sentences come in: through the encoder, into rows of the source pools. */
#include <string.h>

#include "session/session_parts.h"
#include "tensor/panel.h"

/* flattens the sentences: every token sees its own sentence */
static int32_t flatten(pk_session *s, const pk_sentence_tokens *source, int32_t n) {
    int32_t flat = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t begin = flat;
        for (int32_t j = 0; j < source[i].n; j++, flat++) {
            s->token[flat] = source[i].token[j];
            s->pos[flat] = j;
            s->first[flat] = begin;
            s->count[flat] = source[i].n;
        }
    }
    return flat;
}

/* what the ops of one encoding are called with */
typedef struct encoding {
    pk_session *s;
    pk_run      r;
    pk_tensor   states; /* (rows, D) */
} encoding;

static void encode_rows(encoding *e, const pk_network *net) {
    const pk_session  *s = e->s;
    const pk_attention see = { .heads = net->config.encoder_heads,
                               .first = pk_twin_there(&s->up, s->first),
                               .count = pk_twin_there(&s->up, s->count) };
    pk_run_release(&e->r, 0);
    e->states = pk_encode(&e->r, net, pk_twin_there(&s->up, s->token),
                          pk_twin_there(&s->up, s->pos), s->rows, &see);
}

static void encode_and_remember(void *context) {
    encoding         *e = context;
    const pk_session *s = e->s;
    for (int32_t i = 0; i < s->n_members; i++) {
        const session_member *m = &s->member[i];
        encode_rows(e, &m->net);
        pk_remember_source(&e->r, &m->net, e->states, &m->memory, pk_twin_there(&s->up, s->slot));
    }
}

static pk_status check_room(const pk_session *s, const pk_sentence_tokens *source, int32_t n) {
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += source[i].n;
        if (source[i].n < 1 || source[i].n > s->max.source_length)
            PK_FAIL(PK_ARGUMENT, "a sentence of %d tokens, but 1 to %d fit", source[i].n,
                    s->max.source_length);
    }
    if (n > s->n_free_sentences || sum > s->n_free_source || sum > s->max.encode_tokens)
        PK_FAIL(PK_NO_MEMORY, "%d sentences of %lld tokens do not fit the session", n,
                (long long)sum);
    return PK_OK;
}

static void admit(pk_session *s, int32_t id, int32_t n_source) {
    session_sentence *e = &s->sentence[id];
    e->n_source = n_source;
    e->n_rows = 1;
    e->tip[0] = PK_NO_SLOT;
    e->n_asks = 0;
    for (int32_t j = 0; j < n_source; j++) e->source[j] = s->free_source[--s->n_free_source];
}

/* gives each sentence its name and its rows of the source pools, and notes those in slot[] */
static void admit_all(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                      int32_t *sentence) {
    int32_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        sentence[i] = s->free_sentence[--s->n_free_sentences];
        admit(s, sentence[i], source[i].n);
        memcpy(s->slot + at, s->sentence[sentence[i]].source,
               (size_t)source[i].n * sizeof *s->slot);
        at += source[i].n;
    }
}

static int32_t tokens_of(const pk_sentence_tokens *source, int32_t n) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) sum += source[i].n;
    return sum;
}

pk_status pk_session_encode(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                            int32_t *sentence) {
    encoding e = { .s = s };
    PK_TRY(check_room(s, source, n));
    pk_session_drop_pass(s); /* the flat arrays serve us now */
    pk_session_lay_out(s, tokens_of(source, n), 0);
    for (int32_t i = 0; i < s->rows; i++) s->slot[i] = s->max.source_tokens;
    flatten(s, source, n);
    admit_all(s, source, n, sentence);
    pk_run_begin(&e.r, s->on, &s->scratch);
    pk_twin_send(s->on, &s->up, s->up_used);
    pk_twin_send(s->on, &s->source, s->source.bytes);
    s->on->repeat(s->on->self, PK_KEY_ENCODE | (uint64_t)s->rows << 8, 1, NULL, encode_and_remember,
                  &e);
    const pk_status status = pk_run_status(&e.r);
    pk_session_add_time(s, &e.r);
    for (int32_t i = 0; status != PK_OK && i < n; i++) pk_session_forget(s, sentence[i]);
    return status;
}

static float as_float(const void *data, pk_dtype type, size_t i) {
    if (type == PK_F32) return ((const float *)data)[i];
    const uint16_t half = ((const uint16_t *)data)[i];
    return type == PK_F16 ? pk_f16_to_f32(half) : pk_bf16_to_f32(half);
}

pk_status pk_session_states(pk_session *s, const int32_t *token, int32_t n, float *out) {
    encoding                 e = { .s = s };
    const pk_sentence_tokens one = { token, n };
    const size_t             numbers = (size_t)n * (size_t)s->member[0].net.config.dim;
    void                    *copy;
    PK_TRY(check_room(s, &one, 1));
    PK_TRY(pk_memory_take(numbers, pk_dtype_bytes(s->on->activations), &copy));
    pk_session_drop_pass(s);
    pk_session_lay_out(s, n, 0);
    flatten(s, &one, 1);
    pk_run_begin(&e.r, s->on, &s->scratch);
    pk_twin_send(s->on, &s->up, s->up_used);
    encode_rows(&e, &s->member[0].net);
    if (e.r.status == PK_OK)
        s->on->get(s->on->self, copy, e.states.data, numbers * pk_dtype_bytes(e.states.type));
    const pk_status status = pk_run_status(&e.r);
    for (size_t i = 0; status == PK_OK && i < numbers; i++)
        out[i] = as_float(copy, e.states.type, i);
    pk_memory_give(copy);
    return status;
}
