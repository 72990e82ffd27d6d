/* networks.c - several networks in one session, one of which a pass chooses: a model and its
 * drafter.
 *
 * Each has its own histories, slots, keys and values, so none can change what another answers. The
 * sentences, their sources and the memory of the one pass at a time are lent by the first. */
#include "session/session_parts.h"

/* ---- do they fit together? ---- */

/* Tokens must mean the same to all: the first's are the first of every other. Whether the names are
 * the same is for the caller to know. */
static pk_status check_vocabulary(const pk_config *first, const pk_config *c, int32_t number) {
    if (c->source_vocab < first->source_vocab || c->target_vocab < first->target_vocab)
        PK_FAIL(PK_UNSUPPORTED,
                "network %d has a smaller vocabulary than the model (%d and %d tokens, not %d and "
                "%d): it must have the model's tokens, and may have more behind them",
                number, c->source_vocab, c->target_vocab, first->source_vocab, first->target_vocab);
    if (c->start != first->start || c->eos != first->eos || c->bare_source != first->bare_source ||
        c->right_to_left != first->right_to_left)
        PK_FAIL(PK_UNSUPPORTED,
                "network %d begins or ends sentences in another way than the model, or writes in "
                "the other direction",
                number);
    return PK_OK;
}

/* a sentence is not cut or ended otherwise because of another network */
static pk_status check_lengths(const pk_config *first, const pk_config *c, int32_t number) {
    if (c->max_source < first->max_source || c->max_target < first->max_target)
        PK_FAIL(PK_UNSUPPORTED,
                "network %d reads %d and writes %d tokens at most, less than the model (%d and %d)",
                number, c->max_source, c->max_target, first->max_source, first->max_target);
    return PK_OK;
}

/* member i reads the encoder states of the model's member i, so they must be as wide */
static pk_status check_encoder(const pk_ensemble *first, const pk_ensemble *all, int32_t number) {
    bool fits = all->n <= first->n;
    for (int32_t i = 0; fits && i < all->n; i++)
        fits = all->net[i]->config.dim == first->net[i]->config.dim;
    if (!fits)
        PK_FAIL(PK_UNSUPPORTED,
                "network %d cannot share the model's encoder: it is %d wide, the model %d", number,
                all->width, first->width);
    return PK_OK;
}

static bool same_sources(const pk_session_limits *a, const pk_session_limits *b) {
    return a->sentences == b->sentences && a->source_tokens == b->source_tokens &&
           a->source_length == b->source_length && a->encode_tokens == b->encode_tokens;
}

pk_status pk_session_check_models(const pk_session_model *model, int32_t n) {
    if (n < 1 || n > PK_MOST_MODELS || model[0].shares_encoder)
        PK_FAIL(PK_ARGUMENT, "a session has 1 to %d networks, the first with an encoder",
                PK_MOST_MODELS);
    for (int32_t i = 1; i < n; i++) {
        PK_TRY(check_vocabulary(&model[0].all->config, &model[i].all->config, i));
        PK_TRY(check_lengths(&model[0].all->config, &model[i].all->config, i));
        if (model[i].shares_encoder) PK_TRY(check_encoder(model[0].all, model[i].all, i));
        if (!same_sources(&model[0].max, &model[i].max))
            PK_FAIL(PK_ARGUMENT, "network %d has other limits for sentences than the first", i);
    }
    return PK_OK;
}

/* ---- what they share ---- */

void pk_session_lend(const pk_session *first, pk_session *to) {
    to->source = first->source;
    to->source_index = first->source_index;
    to->up = first->up;
    to->down = first->down;
    to->scratch = first->scratch;
    to->candidate = first->candidate;
    to->followed = first->followed;
    to->row = first->row;
    for (int32_t i = 0; i < first->max.sentences; i++)
        to->sentence[i].source = first->sentence[i].source;
}

int32_t pk_session_models(const pk_session *s) { return s->n_networks; }

const pk_session *pk_session_model_part(const pk_session *s, int32_t model) {
    if (model == s->number) return s; /* it is that part */
    assert(model >= 0 && model < s->n_networks);
    return s->network[model];
}

/* ---- which one ---- */

pk_status pk_session_choose(const pk_session *s, const pk_request *request, int32_t n,
                            pk_session **out) {
    const int32_t model = n ? request[0].pass->model : 0;
    if (model < 0 || model >= s->n_networks)
        PK_FAIL(PK_ARGUMENT, "a pass for network %d, but there are %d", model, s->n_networks);
    for (int32_t i = 1; i < n; i++)
        if (request[i].pass->model != model)
            PK_FAIL(PK_ARGUMENT, "a pass for networks %d and %d: it can be for one only", model,
                    request[i].pass->model);
    for (int32_t i = 0; i < s->n_networks; i++)
        assert(s->network[i]->n_in_flight == 0); /* the last pass has its verdicts */
    *out = s->network[model];
    return PK_OK;
}

pk_session *pk_session_in_flight(const pk_session *s, int32_t sentence) {
    for (int32_t i = 0; i < s->n_networks; i++)
        if (s->network[i]->sentence[sentence].in_flight) return s->network[i];
    return NULL;
}
