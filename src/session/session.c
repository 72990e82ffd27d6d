/* session.c - encode, run, commit.
 *
 * run() lowers the asks of many sentences to flat arrays (lowering.c), pushes them through the
 * decoder, and hands the answers back (answering.c). This file owns the memory and the order. */
#include "session/session.h"

#include <string.h>

#include "session/session_parts.h"

/* ---- memory ---- */

/* With many sentences alive, keys and values are as much to read as the weights. Where weights are
 * rounded to 8 bits, 16 bits for these lose nothing that counts, and halve the traffic. */
static pk_dtype pool_type(const pk_network *net) {
    return net->output.type == PK_I8 ? PK_F16 : PK_F32;
}

static pk_status open_pools(pk_session *s, pk_tensor **pools, int32_t rows) {
    const pk_config *c = &s->net->config;
    PK_TRY(PK_TAKE(pools, (size_t)c->decoder_layers));
    for (int32_t i = 0; i < c->decoder_layers; i++) {
        pk_tensor *pool = &(*pools)[i]; /* (rows, 2D) */
        *pool = (pk_tensor){ NULL, rows, 2 * c->dim, 2 * c->dim, pool_type(s->net) };
        const size_t each = pool->type == PK_F16 ? sizeof(uint16_t) : sizeof(float);
        PK_TRY(pk_memory_take((size_t)rows * (size_t)pool->cols, each, (void **)&pool->data));
    }
    return PK_OK;
}

static void close_pools(pk_session *s, pk_tensor *pools) {
    for (int32_t i = 0; pools && i < s->net->config.decoder_layers; i++)
        pk_memory_give(pools[i].data);
    pk_memory_give(pools);
}

static pk_status open_sentences(pk_session *s) {
    const size_t n = (size_t)s->max.sentences, length = (size_t)s->max.source_length;
    PK_TRY(PK_TAKE(&s->sentence, n));
    PK_TRY(PK_TAKE(&s->tips, n * (size_t)s->max.rows));
    PK_TRY(PK_TAKE(&s->new_tips, (size_t)s->max.rows));
    PK_TRY(PK_TAKE(&s->source_index, n * length));
    PK_TRY(PK_TAKE(&s->free_sentence, n));
    PK_TRY(PK_TAKE(&s->free_source, (size_t)s->max.source_tokens));
    for (int32_t i = 0; i < s->max.sentences; i++) {
        s->sentence[i].tip = s->tips + (size_t)i * (size_t)s->max.rows;
        s->sentence[i].source = s->source_index + (size_t)i * length;
        s->free_sentence[s->n_free_sentences++] = s->max.sentences - 1 - i;
    }
    for (int32_t i = 0; i < s->max.source_tokens; i++)
        s->free_source[s->n_free_source++] = s->max.source_tokens - 1 - i;
    return PK_OK;
}

static pk_status open_pass(pk_session *s) {
    const size_t asks = (size_t)s->max.asks, path = (size_t)s->max.path;
    const size_t flat = asks > (size_t)s->max.encode_tokens ? asks : (size_t)s->max.encode_tokens;
    PK_TRY(PK_TAKE(&s->token, flat));
    PK_TRY(PK_TAKE(&s->pos, flat));
    PK_TRY(PK_TAKE(&s->slot, flat));
    PK_TRY(PK_TAKE(&s->first, flat));
    PK_TRY(PK_TAKE(&s->count, flat));
    PK_TRY(PK_TAKE(&s->cross_first, flat));
    PK_TRY(PK_TAKE(&s->cross_count, flat));
    PK_TRY(PK_TAKE(&s->index, asks * path));
    PK_TRY(PK_TAKE(&s->question, asks));
    PK_TRY(PK_TAKE(&s->listed, (size_t)s->max.listed));
    PK_TRY(PK_TAKE(&s->target_score, (size_t)s->max.listed));
    PK_TRY(PK_TAKE(&s->top, asks * (size_t)s->max.top_k));
    PK_TRY(PK_TAKE(&s->candidate, asks * (size_t)s->max.top_k));
    PK_TRY(PK_TAKE(&s->log_sum, asks));
    PK_TRY(PK_TAKE(&s->told, asks * (size_t)s->max.source_length));
    /* alignment rounds each tensor up; a few tensors are alive at a time */
    return pk_arena_open(&s->scratch, flat * pk_forward_scratch(s->net) * sizeof(float) + 4096);
}

static pk_status reserve(pk_session *s) {
    const pk_config *c = &s->net->config;
    const int32_t    wide = c->encoder_ffn > c->decoder_ffn ? c->encoder_ffn : c->decoder_ffn;
    const pk_limits  max = {
         .rows = s->max.asks > s->max.encode_tokens ? s->max.asks : s->max.encode_tokens,
         .cols = wide > c->dim ? wide : c->dim,
         .keys = s->max.path > s->max.source_length ? s->max.path : s->max.source_length,
         .questions = s->max.asks,
         .top_k = s->max.top_k,
         .vocab = c->target_vocab,
    };
    return s->on->reserve(s->on->self, &max);
}

pk_status pk_session_open(const pk_network *net, const pk_backend *on, const pk_session_limits *max,
                          pk_session **out) {
    pk_session *s;
    *out = NULL;
    PK_TRY(PK_TAKE(&s, 1));
    *s = (pk_session){ .net = net, .on = on, .max = *max };
    pk_status status;
    PK_GOTO(pk_slots_open(&s->slots, max->slots));
    PK_GOTO(open_sentences(s));
    PK_GOTO(open_pass(s));
    PK_GOTO(open_pools(s, &s->memory.self, max->slots));
    PK_GOTO(open_pools(s, &s->memory.source, max->source_tokens));
    PK_GOTO(reserve(s));
    *out = s;
    return PK_OK;
done:
    pk_session_close(s);
    return status;
}

void pk_session_close(pk_session *s) {
    if (!s) return;
    void *const blocks[] = { s->sentence,      s->tips,        s->new_tips,  s->source_index,
                             s->free_sentence, s->free_source, s->token,     s->pos,
                             s->slot,          s->first,       s->count,     s->cross_first,
                             s->cross_count,   s->index,       s->question,  s->listed,
                             s->target_score,  s->top,         s->candidate, s->log_sum,
                             s->told };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    close_pools(s, s->memory.self);
    close_pools(s, s->memory.source);
    pk_slots_close(&s->slots);
    pk_arena_close(&s->scratch);
    pk_memory_give(s);
}

/* ---- encode ---- */

/* gives up the last pass: the slots it took and nobody committed */
static void drop_pass(pk_session *s) {
    for (int32_t i = 0; i < s->n_asks; i++) pk_slots_drop(&s->slots, s->slot[i]);
    s->n_asks = 0;
    for (int32_t i = 0; i < s->max.sentences; i++) s->sentence[i].n_asks = 0;
}

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

static pk_tensor states_of(pk_session *s, pk_run *r, int32_t flat) {
    const pk_attention see = { .heads = s->net->config.encoder_heads,
                               .first = s->first,
                               .count = s->count };
    return pk_encode(r, s->net, s->token, s->pos, flat, &see);
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

pk_status pk_session_encode(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                            int32_t *sentence) {
    pk_run r;
    PK_TRY(check_room(s, source, n));
    drop_pass(s); /* the flat arrays serve us now */
    pk_run_begin(&r, s->on, &s->scratch);
    const int32_t flat = flatten(s, source, n);
    pk_tensor     states = states_of(s, &r, flat); /* (flat, D) */
    int32_t       at = 0;
    for (int32_t i = 0; i < n; i++) {
        sentence[i] = s->free_sentence[--s->n_free_sentences];
        admit(s, sentence[i], source[i].n);
        memcpy(s->slot + at, s->sentence[sentence[i]].source,
               (size_t)source[i].n * sizeof *s->slot);
        at += source[i].n;
    }
    pk_remember_source(&r, s->net, states, &s->memory, s->slot);
    const pk_status status = pk_run_status(&r);
    pk_session_add_time(s, &r);
    for (int32_t i = 0; status != PK_OK && i < n; i++) pk_session_forget(s, sentence[i]);
    return status;
}

pk_status pk_session_states(pk_session *s, const int32_t *token, int32_t n, float *out) {
    pk_run                   r;
    const pk_sentence_tokens one = { token, n };
    PK_TRY(check_room(s, &one, 1));
    drop_pass(s);
    pk_run_begin(&r, s->on, &s->scratch);
    const pk_tensor states = states_of(s, &r, flatten(s, &one, 1));
    PK_TRY(pk_run_status(&r));
    memcpy(out, states.data, (size_t)n * (size_t)states.cols * sizeof *out);
    return PK_OK;
}

/* ---- run, commit, forget ---- */

pk_status pk_session_run(pk_session *s, const pk_request *request, int32_t n) {
    pk_run       r;
    pk_answering answering;
    bool         telling = false;
    drop_pass(s);
    const pk_status lowered = pk_session_lower(s, request, n, &telling);
    if (lowered != PK_OK) {
        drop_pass(s);
        return lowered;
    }
    pk_run_begin(&r, s->on, &s->scratch);
    const pk_attention self = {
        s->net->config.decoder_heads, s->first, s->count, s->index, NULL, 0
    };
    const pk_attention cross = {
        s->net->config.decoder_heads, s->cross_first, s->cross_count, s->source_index, NULL, 0
    };
    pk_attention told = cross;
    told.weights = s->told;
    told.weights_stride = s->max.source_length;
    const pk_target target = {
        s->n_asks, s->token, s->pos, s->slot, &self, &cross, telling ? &told : NULL, &s->memory
    };
    const pk_tensor hidden = pk_decode(&r, s->net, &target); /* (asks, D) */
    pk_run_enter(&r, PK_MODULE_OUTPUT);
    pk_session_question(s, request, n, &answering);
    if (answering.n) pk_answers(&r, hidden, &s->net->output, &s->net->output_bias, &answering);
    const pk_status status = pk_run_status(&r);
    pk_session_add_time(s, &r);
    if (status == PK_OK) pk_session_answer(s, request, n);
    return status;
}

/* the slot that a verdict's tip means */
static int32_t tip_slot(const pk_session *s, const session_sentence *e, int32_t tip) {
    if (tip > 0) return s->slot[e->first_ask + tip - 1];
    return tip == 0 ? PK_NO_SLOT : e->tip[-1 - tip];
}

void pk_session_commit(pk_session *s, int32_t sentence, const pk_verdict *verdict) {
    session_sentence *e = &s->sentence[sentence];
    for (int32_t i = 0; i < verdict->n_rows; i++) {
        s->new_tips[i] = tip_slot(s, e, verdict->tip[i]);
        pk_slots_hold(&s->slots, s->new_tips[i]);
    }
    for (int32_t i = 0; i < e->n_rows; i++) pk_slots_drop(&s->slots, e->tip[i]);
    for (int32_t i = 0; i < e->n_asks; i++) {
        pk_slots_drop(&s->slots, s->slot[e->first_ask + i]);
        s->slot[e->first_ask + i] = PK_NO_SLOT;
    }
    memcpy(e->tip, s->new_tips, (size_t)verdict->n_rows * sizeof *e->tip);
    e->n_rows = verdict->n_rows;
    e->n_asks = 0;
}

void pk_session_forget(pk_session *s, int32_t sentence) {
    session_sentence *e = &s->sentence[sentence];
    const pk_verdict  nothing = { 0 };
    pk_session_commit(s, sentence, &nothing);
    for (int32_t i = e->n_source; i > 0; i--) s->free_source[s->n_free_source++] = e->source[i - 1];
    s->free_sentence[s->n_free_sentences++] = sentence;
    e->n_source = 0;
}

/* ---- what is left ---- */

int32_t pk_session_free_slots(const pk_session *s) { return s->slots.n_free; }
int32_t pk_session_free_source(const pk_session *s) { return s->n_free_source; }
int32_t pk_session_free_sentences(const pk_session *s) { return s->n_free_sentences; }
const pk_session_limits *pk_session_max(const pk_session *s) { return &s->max; }
const double            *pk_session_seconds(const pk_session *s) { return s->seconds; }

void pk_session_add_time(pk_session *s, const pk_run *r) {
    for (int i = 0; i < PK_N_MODULES; i++) s->seconds[i] += r->seconds[i];
}
