/* lowering.c - from asks and parents to one list of visible slots per token.
 *
 * Both rules of visibility end here: an ask sees its ancestors, or (see_all) the history and every
 * ask of its pass. The attention kernel knows lists only; no mask exists. */
#include "session/session_parts.h"

/* the slot an ask follows */
static int32_t slot_before(const pk_session *s, const session_sentence *e, const pk_ask *a) {
    if (a->parent > 0) return s->slot[e->first_ask + a->parent - 1];
    return pk_slots_back(&s->slots, e->tip[a->row], -a->parent);
}

static pk_status check(const pk_session *s, const session_sentence *e, const pk_pass *p, int32_t at,
                       int64_t *listed) {
    const pk_config *c = &s->config;
    if (at + p->n > s->max.asks) PK_FAIL(PK_NO_MEMORY, "a pass of more than %d asks", s->max.asks);
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        const bool    ok = a->row >= 0 && a->row < e->n_rows && a->parent < i &&
                        a->token >= PK_NO_TOKEN && a->token < c->target_vocab && a->pos >= 0 &&
                        a->pos < c->max_target && a->top_k >= 0 && a->top_k <= s->max.top_k;
        if (!ok) PK_FAIL(PK_ARGUMENT, "ask %d of a pass is out of range", i);
        *listed += (int64_t)a->n_ban + a->n_target + c->n_suppressed;
    }
    if (*listed > s->max.listed)
        PK_FAIL(PK_NO_MEMORY, "a pass lists more than %d tokens", s->max.listed);
    return PK_OK;
}

/* takes a slot for every ask of one sentence */
static pk_status take_slots(pk_session *s, session_sentence *e, const pk_pass *p) {
    assert(!e->in_flight); /* one request for each sentence */
    e->in_flight = true;
    s->n_in_flight++;
    e->first_ask = s->n_asks;
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        const int32_t g = e->first_ask + i - 1;
        s->token[g] = a->token;
        s->pos[g] = a->pos;
        s->slot[g] = pk_slots_take(&s->slots, slot_before(s, e, a));
        if (s->slot[g] == PK_NO_SLOT) PK_FAIL(PK_NO_MEMORY, "the session has no slot left");
        s->n_asks++;
        e->n_asks++;
        s->cross_first[g] = (int32_t)(e->source - s->source_index);
        s->cross_count[g] = e->n_source;
    }
    return PK_OK;
}

static int32_t list_ancestors(pk_session *s, int32_t g, int32_t *out) {
    return pk_slots_path(&s->slots, s->slot[g], out);
}

static int32_t list_all(pk_session *s, const session_sentence *e, const pk_ask *a, int32_t *out) {
    int32_t n = pk_slots_path(&s->slots, e->tip[a->row], out);
    for (int32_t i = 0; i < e->n_asks; i++) out[n++] = s->slot[e->first_ask + i];
    return n;
}

static pk_status list_visible(pk_session *s, const session_sentence *e, const pk_pass *p) {
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        const int32_t g = e->first_ask + i - 1;
        const int32_t most = pk_slots_depth(&s->slots, e->tip[a->row]) + p->n;
        if (most > s->max.path)
            PK_FAIL(PK_NO_MEMORY, "a history of more than %d tokens", s->max.path);
        if (s->n_list > INT32_MAX - most)
            PK_FAIL(PK_NO_MEMORY, "a pass sees more tokens than can be listed");
        s->first[g] = s->n_list;
        s->count[g] = p->see_all ? list_all(s, e, a, s->list + s->n_list)
                                 : list_ancestors(s, g, s->list + s->n_list);
        assert(s->count[g] <= most);
        s->n_list += s->count[g];
    }
    return PK_OK;
}

static bool wants_attention(const pk_pass *p) {
    for (int32_t i = 1; i <= p->n; i++)
        if (p->ask[i].attention) return true;
    return false;
}

/* asks must be known to be in range before anything is counted on them */
static pk_status check_all(const pk_session *s, const pk_request *request, int32_t n,
                           int32_t *asks) {
    int64_t listed = 0;
    for (int32_t i = 0; i < n; i++) {
        const session_sentence *e = &s->sentence[request[i].sentence];
        PK_TRY(check(s, e, request[i].pass, *asks, &listed));
        *asks += request[i].pass->n;
    }
    return PK_OK;
}

pk_status pk_session_lower(pk_session *s, const pk_request *request, int32_t n, bool *telling) {
    int32_t asks = 0;
    PK_TRY(check_all(s, request, n, &asks));
    pk_session_lay_out(s, asks, pk_session_count_questions(request, n));
    s->steps = pk_session_steps(s, request, n);
    pk_session_question(s, request, n); /* its lists come first */
    for (int32_t i = 0; i < n; i++) {
        session_sentence *e = &s->sentence[request[i].sentence];
        PK_TRY(take_slots(s, e, request[i].pass));
        PK_TRY(list_visible(s, e, request[i].pass));
        if (s->steps) PK_TRY(pk_session_take_steps(s, e, request[i].pass));
        *telling |= wants_attention(request[i].pass);
    }
    return PK_OK;
}
