/* encoding.c - sentences come in: through the encoder, into rows of the source pools.
 *
 * A row is one source token. The encoder computes all rows of a call together; each token sees
 * the tokens of its own sentence. Keys and values of the decoder's cross attention are then
 * stored in rows of the source pools. The arrays are not those of a pass, so a pass that waits
 * for its verdict is not disturbed. As in a pass, where they begin depends only on how many rows
 * there are. */
#include <string.h>

#include "base/clock.h"
#include "session/session_parts.h"
#include "tensor/panel.h"

enum { N_ARRAYS = 5, ALIGNMENT = 16 /* numbers */, ENCODED = 0 /* event */ };

/* numbers in each array of so many rows */
static size_t stride_of(int32_t rows) {
    return ((size_t)rows + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t bytes_of(int32_t rows) { return N_ARRAYS * stride_of(rows) * sizeof(int32_t); }

pk_status pk_session_open_encoding(pk_session *s) {
    const int32_t rows = s->on->padded_rows(s->on->self, s->max.encode_tokens);
    return pk_mirror_open(s->on, bytes_of(rows), &s->encoding.up);
}

void pk_session_close_encoding(pk_session *s) { pk_mirror_close(s->on, &s->encoding.up); }

/* Lays out the arrays for n tokens. Rows beyond them only fill up: no token, nothing to see, and
 * their keys and values go to a row of the pools that is never read. */
static void lay_out(pk_session *s, int32_t n) {
    session_encoding *e = &s->encoding;
    int32_t **const   arrays[N_ARRAYS] = { &e->token, &e->pos, &e->slot, &e->first, &e->count };
    e->rows = s->on->padded_rows(s->on->self, n);
    for (size_t i = 0; i < N_ARRAYS; i++)
        *arrays[i] = (int32_t *)(void *)e->up.here + i * stride_of(e->rows);
    for (int32_t i = n; i < e->rows; i++) {
        e->token[i] = PK_NO_TOKEN;
        e->pos[i] = e->first[i] = e->count[i] = 0;
    }
    for (int32_t i = 0; i < e->rows; i++) e->slot[i] = s->max.source_tokens;
}

/* flattens the sentences: every token sees its own sentence */
static void flatten(session_encoding *e, const pk_sentence_tokens *source, int32_t n) {
    int32_t flat = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t begin = flat;
        for (int32_t j = 0; j < source[i].n; j++, flat++) {
            e->token[flat] = source[i].token[j];
            e->pos[flat] = j;
            e->first[flat] = begin;
            e->count[flat] = source[i].n;
        }
    }
}

/* what the ops of one encoding are called with */
typedef struct encoding {
    pk_session *s;
    pk_run      r;
    pk_tensor   states; /* (rows, D) */
} encoding;

/* the encoder states of one network, (rows, D) */
static void encode_rows(encoding *e, const pk_network *net) {
    const session_encoding *a = &e->s->encoding;
    const pk_attention      see = { .heads = net->config.encoder_heads,
                                    .first = pk_mirror_device(&a->up, a->first),
                                    .count = pk_mirror_device(&a->up, a->count) };
    pk_run_release(&e->r, 0);
    e->states = pk_encode(&e->r, net, pk_mirror_device(&a->up, a->token),
                          pk_mirror_device(&a->up, a->pos), a->rows, &see);
}

/* keys and values of the states, for a member of any network */
static void remember(encoding *e, const session_member *m) {
    const session_encoding *a = &e->s->encoding;
    pk_remember_source(&e->r, &m->net, e->states, &m->memory, pk_mirror_device(&a->up, a->slot));
}

/* All ops of one encoding, which a device may record: every member encodes and fills its pools.
 * Network 0's states serve those that share its encoder; the others compute theirs. */
static void encode_and_remember(void *context) {
    encoding         *e = context;
    const pk_session *s = e->s;
    for (int32_t k = 0; k < s->n_networks; k++) {
        const pk_session *own = s->network[k];
        for (int32_t i = 0; i < own->n_members && !own->shares_encoder; i++) {
            encode_rows(e, &own->member[i].net);
            remember(e, &own->member[i]);
            for (int32_t j = 1; k == 0 && j < s->n_networks; j++)
                if (s->network[j]->shares_encoder && i < s->network[j]->n_members)
                    remember(e, &s->network[j]->member[i]);
        }
    }
}

/* refuses what does not fit before anything is changed */
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

/* a sentence begins with one hypothesis, whose history is empty */
static void admit(pk_session *s, int32_t id, int32_t n_source) {
    for (int32_t i = 0; i < s->n_networks; i++) {
        session_sentence *e = &s->network[i]->sentence[id];
        e->n_source = n_source;
        e->n_hypotheses = 1;
        e->tip[0] = PK_NO_SLOT;
        assert(!e->in_flight && e->n_asks == 0);
    }
    int32_t *source = s->sentence[id].source;
    for (int32_t j = 0; j < n_source; j++) source[j] = s->free_source[--s->n_free_source];
}

/* gives each sentence its number and its rows of the source pools, and writes those into slot[] */
static void admit_all(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                      int32_t *sentence) {
    int32_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        sentence[i] = s->free_sentence[--s->n_free_sentences];
        admit(s, sentence[i], source[i].n);
        memcpy(s->encoding.slot + at, s->sentence[sentence[i]].source,
               (size_t)source[i].n * sizeof *s->encoding.slot);
        at += source[i].n;
    }
}

static int32_t tokens_of(const pk_sentence_tokens *source, int32_t n) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) sum += source[i].n;
    return sum;
}

static void send(const pk_session *s) {
    pk_mirror_send(s->on, &s->encoding.up, bytes_of(s->encoding.rows));
}

static void forget_all(pk_session *s, const int32_t *sentence, int32_t n) {
    for (int32_t i = 0; i < n; i++) pk_session_forget(s, sentence[i]);
}

pk_status pk_session_encode_begin(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                                  int32_t *sentence) {
    encoding e = { .s = s };
    PK_TRY(pk_session_encode_end(s));
    PK_TRY(check_room(s, source, n));
    pk_run_begin(&e.r, s->on, &s->scratch);
    lay_out(s, tokens_of(source, n));
    flatten(&s->encoding, source, n);
    admit_all(s, source, n, sentence);
    send(s);
    pk_mirror_send(s->on, &s->source, s->source.bytes);
    s->on->repeat(s->on->self, pk_session_key(PK_KEY_ENCODE, 0, 0, s->encoding.rows), 1, NULL,
                  encode_and_remember, &e);
    if (s->on->record_event) s->on->record_event(s->on->self, ENCODED);
    s->encoding.begun = e.r.status == PK_OK;
    s->encoding.ended = pk_clock_now(); /* on the host; of a device it is seen later */
    const pk_status status = s->encoding.begun ? PK_OK : pk_run_status(&e.r);
    pk_run_enter(&e.r, PK_MODULE_OTHER);
    pk_session_add_time(s, &e.r);
    if (status == PK_OK)
        pk_session_count_encoding(s, source, n);
    else
        forget_all(s, sentence, n);
    return status;
}

pk_status pk_session_encode_end(pk_session *s) {
    pk_run r;
    if (!s->encoding.begun) return PK_OK;
    s->encoding.begun = false;
    pk_run_begin(&r, s->on, &s->scratch);
    const pk_status status = pk_run_status(&r);
    s->encoding.ended = pk_clock_now();
    pk_session_add_time(s, &r);
    return status;
}

void pk_session_see_encoded(pk_session *s) {
    if (s->encoding.begun && s->on->wait_event) {
        s->on->wait_event(s->on->self, ENCODED);
        s->encoding.ended = pk_clock_now();
    }
    s->encoding.begun = false;
}

double pk_session_encoded_at(const pk_session *s) { return s->encoding.ended; }

pk_status pk_session_encode(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                            int32_t *sentence) {
    PK_TRY(pk_session_encode_begin(s, source, n, sentence));
    const pk_status status = pk_session_encode_end(s);
    if (status != PK_OK) forget_all(s, sentence, n);
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
    PK_TRY(pk_session_encode_end(s));
    PK_TRY(check_room(s, &one, 1));
    PK_TRY(pk_memory_take(numbers, pk_dtype_bytes(s->on->activations), &copy));
    lay_out(s, n);
    flatten(&s->encoding, &one, 1);
    pk_run_begin(&e.r, s->on, &s->scratch);
    send(s);
    encode_rows(&e, &s->member[0].net);
    if (e.r.status == PK_OK)
        s->on->get(s->on->self, copy, e.states.data, numbers * pk_dtype_bytes(e.states.type));
    const pk_status status = pk_run_status(&e.r);
    for (size_t i = 0; status == PK_OK && i < numbers; i++)
        out[i] = as_float(copy, e.states.type, i);
    pk_memory_give(copy);
    return status;
}
