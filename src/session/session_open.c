/* session_open.c - a session's memory: all of it is taken here, and given back.
 *
 * What a network has of its own (weights, keys and values, slots, hypotheses of sentences) is
 * opened for each; sentences' sources and the arrays of a pass once for all. */
#include "session/session_parts.h"

/* histories of every sentence on one network */
static pk_status open_hypotheses(pk_session *s) {
    const size_t n = (size_t)s->max.sentences, each = (size_t)s->max.hypotheses;
    PK_TRY(PK_TAKE(&s->sentence, n));
    PK_TRY(PK_TAKE(&s->tips, n * each));
    PK_TRY(PK_TAKE(&s->new_tips, each));
    for (size_t i = 0; i < n; i++) s->sentence[i].tip = s->tips + i * each;
    return PK_OK;
}

/* sources of the sentences, for all networks */
static pk_status open_sources(pk_session *s) {
    const size_t n = (size_t)s->max.sentences, length = (size_t)s->max.source_length;
    PK_TRY(pk_mirror_open(s->on, n * length * sizeof(int32_t), &s->source));
    s->source_index = (int32_t *)(void *)s->source.here;
    PK_TRY(PK_TAKE(&s->free_sentence, n));
    PK_TRY(PK_TAKE(&s->free_source, (size_t)s->max.source_tokens));
    for (int32_t i = 0; i < s->max.sentences; i++) {
        s->sentence[i].source = s->source_index + (size_t)i * length;
        s->free_sentence[s->n_free_sentences++] = s->max.sentences - 1 - i;
    }
    for (int32_t i = 0; i < s->max.source_tokens; i++)
        s->free_source[s->n_free_source++] = s->max.source_tokens - 1 - i;
    return PK_OK;
}

static void at_least(int32_t *most, int32_t n) { *most = n > *most ? n : *most; }

/* the largest op that any network of the session may ask for; scratch memory exists once */
static pk_status reserve(pk_session *all) {
    pk_limits max = { 0 };
    for (int32_t i = 0; i < all->n_networks; i++) {
        const pk_session *s = all->network[i];
        at_least(&max.rows, pk_session_most_rows(s));
        at_least(&max.cols, pk_session_widest(s));
        at_least(&max.keys, s->max.path);
        at_least(&max.keys, s->max.source_length);
        at_least(&max.questions, s->on->padded_rows(s->on->self, s->max.asks));
        at_least(&max.questions, s->on->padded_rows(s->on->self, s->max.edge_rows));
        at_least(&max.edge_tokens, s->max.edge_tokens);
        at_least(&max.top_k, s->max.top_k);
        at_least(&max.vocab, s->config.target_vocab);
    }
    return all->on->reserve(all->on->self, &max);
}

pk_status pk_session_open(const pk_network *net, const pk_backend *on, const pk_session_limits *max,
                          pk_session **out) {
    const pk_ensemble alone = pk_ensemble_alone(net);
    return pk_session_open_ensemble(&alone, on, max, out);
}

/* keys of recordings have room for so much, see pk_session_key() */
static pk_status check_limits(const pk_backend *on, const pk_session_limits *max) {
    int32_t most = max->asks > max->encode_tokens ? max->asks : max->encode_tokens;
    if (max->edge_rows > most) most = max->edge_rows;
    const int32_t rows = on->padded_rows(on->self, most);
    if (rows < 0 || rows >= 1 << PK_KEY_ROW_BITS || max->top_k >= 1 << PK_KEY_TOP_K_BITS)
        PK_FAIL(PK_ARGUMENT, "passes of %d asks and %d best tokens are too large: lower the batch",
                max->asks, max->top_k);
    return PK_OK;
}

/* slots that may be listed: what was asked for, or all there can be; offsets are 32 bits wide */
static int32_t most_visible(const pk_session_limits *max) {
    const int64_t all = (int64_t)max->asks * max->path, room = INT32_MAX - max->listed;
    const int64_t most = max->visible && max->visible < all ? max->visible : all;
    return (int32_t)(most < room ? most : room);
}

/* what a network has of its own */
static pk_status open_network(pk_session *s, const pk_session_model *model, const pk_backend *on) {
    const pk_session_limits *max = &model->max;
    s->on = on;
    PK_TRY(check_limits(on, max));
    s->max = *max;
    s->max.visible = most_visible(max);
    s->config = model->all->config;
    s->shares_encoder = model->shares_encoder;
    PK_TRY(pk_session_open_members(s, model->all, pk_session_most_rows(s)));
    PK_TRY(pk_slots_open(&s->slots, max->slots));
    PK_TRY(pk_session_open_short(s));
    return open_hypotheses(s);
}

/* the networks beside the first, over the same sentences */
static pk_status open_others(pk_session *s, const pk_session_model *model, int32_t n) {
    for (int32_t i = 1; i < n; i++) {
        pk_session *other;
        PK_TRY(PK_TAKE(&other, 1));
        s->network[s->n_networks++] = other;
        other->number = i;
        PK_TRY(open_network(other, &model[i], s->on));
    }
    return PK_OK;
}

static pk_status open_here(const pk_session_model *model, int32_t n, const pk_backend *on,
                           pk_session **out) {
    pk_session *s;
    *out = NULL;
    PK_TRY(PK_TAKE(&s, 1));
    s->network[s->n_networks++] = s;
    pk_status status;
    PK_GOTO(open_network(s, &model[0], on));
    PK_GOTO(open_sources(s));
    PK_GOTO(pk_session_open_encoding(s));
    PK_GOTO(open_others(s, model, n));
    PK_GOTO(pk_session_open_pass(s));
    PK_GOTO(pk_session_open_edging(s));
    PK_GOTO(reserve(s));
    for (int32_t i = 1; i < n; i++) pk_session_lend(s, s->network[i]);
    *out = s;
    return PK_OK;
done:
    pk_session_close(s);
    return status;
}

/* Some devices give their memory in one piece or, before anything was done, say that they cannot: a
 * session on a dry run counts how much that is. */
static pk_status gather_memory(const pk_session_model *model, int32_t n, const pk_backend *on) {
    pk_backend  counting;
    pk_session *s;
    PK_TRY(on->dry_run(on->self, &counting));
    pk_status status = open_here(model, n, &counting, &s);
    pk_session_close(s);
    if (status == PK_OK) status = on->expect(on->self, &counting);
    counting.close(counting.self);
    return status;
}

pk_status pk_session_open_ensemble(const pk_ensemble *all, const pk_backend *on,
                                   const pk_session_limits *max, pk_session **out) {
    return pk_session_open_models(&(pk_session_model){ .all = all, .max = *max }, 1, on, out);
}

pk_status pk_session_open_models(const pk_session_model *model, int32_t n, const pk_backend *on,
                                 pk_session **out) {
    *out = NULL;
    PK_TRY(pk_session_check_models(model, n));
    if (on->dry_run) PK_TRY(gather_memory(model, n, on));
    return open_here(model, n, on, out);
}

static void close_network(pk_session *s) {
    pk_session_close_short(s);
    pk_memory_give(s->sentence);
    pk_memory_give(s->tips);
    pk_memory_give(s->new_tips);
    pk_session_close_members(s);
    pk_slots_close(&s->slots);
    pk_memory_give(s);
}

void pk_session_close(pk_session *s) {
    if (!s) return;
    for (int32_t i = 1; i < s->n_networks; i++) close_network(s->network[i]);
    pk_memory_give(s->free_sentence);
    pk_memory_give(s->free_source);
    pk_mirror_close(s->on, &s->source);
    pk_session_close_encoding(s);
    pk_session_close_pass(s);
    pk_session_close_edging(s);
    close_network(s);
}
