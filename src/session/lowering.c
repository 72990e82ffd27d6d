/* lowering.c - from asks and parents to lists of visible slots.
 *
 * Two rules of visibility. An ask sees the path to itself. The asks of a block see the path to the
 * last of them, in one list that they share. For a history 7 3 and two chained asks in slots 5, 8:
 *
 *   no block:   ask 1 sees 7 3 5      ask 2 sees 7 3 5 8
 *   one block:  both see 7 3 5 8
 *
 * The attention kernel knows lists only; there is no mask. */
#include "session/session_parts.h"

/* the slot an ask follows */
static int32_t slot_before(const pk_session *s, const session_sentence *e, const pk_ask *a) {
    if (a->parent > 0) return s->slot[pk_session_row(s, e, a->parent)];
    return pk_slots_back(&s->slots, e->tip[a->hypothesis], -a->parent);
}

static int32_t count_questions(const pk_pass *p) {
    int32_t questions = 0;
    for (int32_t i = 1; i <= p->n; i++) questions += pk_ask_wants_answer(&p->ask[i]);
    return questions;
}

typedef struct pass_counts { /* of all requests together */
    int32_t asks, questions;
    int64_t listed; /* tokens of bans and targets */
    bool    any_attention;
} pass_counts;

/* 0 <= x < n, for n >= 0, in one comparison: this is done for every ask of every pass */
static bool below(int32_t x, int32_t n) { return (uint32_t)x < (uint32_t)n; }

static pk_status check(const pk_session *s, const session_sentence *e, const pk_pass *p,
                       pass_counts *all) {
    const pk_config *c = &s->config;
    if (all->asks + p->n > s->max.asks)
        PK_FAIL(PK_NO_MEMORY, "a pass of more than %d asks", s->max.asks);
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        const bool    ok = below(a->hypothesis, e->n_hypotheses) && a->parent < i &&
                        (a->token == PK_NO_TOKEN || below(a->token, c->target_vocab)) &&
                        below(a->pos, c->max_target) && below(a->top_k, s->max.top_k + 1) &&
                        a->stride >= 0 && below(a->group, c->n_groups + 1) &&
                        (!a->block || !pk_ask_continues(p, i) || a->parent == i - 1);
        if (!ok) PK_FAIL(PK_ARGUMENT, "ask %d of a pass is out of range", i);
        all->listed += (int64_t)a->n_ban + a->n_target + c->n_suppressed;
        all->questions += pk_ask_wants_answer(a);
        all->any_attention |= a->attention;
    }
    all->asks += p->n;
    if (all->listed > s->max.listed)
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
        const int32_t row = pk_session_row(s, e, i);
        s->token[row] = a->token;
        s->pos[row] = a->pos;
        s->slot[row] = pk_slots_take(&s->slots, slot_before(s, e, a));
        if (s->slot[row] == PK_NO_SLOT) PK_FAIL(PK_NO_MEMORY, "the session has no slot left");
        s->left[row] = s->n_found[row] = 0;
        s->n_asks++;
        e->n_asks++;
        s->cross_first[row] = (int32_t)(e->source - s->source_index);
        s->cross_count[row] = e->n_source;
    }
    return PK_OK;
}

/* the last ask of i's block; i itself where there is none */
static int32_t last_of_block(const pk_pass *p, int32_t i) {
    while (i < p->n && pk_ask_continues(p, i + 1)) i++;
    return i;
}

/* one list of slots for each block, or for each ask that is in none */
static pk_status list_visible(pk_session *s, const session_sentence *e, const pk_pass *p) {
    for (int32_t i = 1; i <= p->n;) {
        const int32_t last = last_of_block(p, i), slot = s->slot[pk_session_row(s, e, last)];
        const int32_t count = pk_slots_depth(&s->slots, slot), first = s->n_list;
        if (count > s->max.path)
            PK_FAIL(PK_NO_MEMORY, "a history of more than %d tokens", s->max.path);
        if (count > s->max.visible - (s->n_list - s->n_listed))
            PK_FAIL(PK_NO_MEMORY, "the asks of a pass see more than %d tokens", s->max.visible);
        s->n_list += pk_slots_path(&s->slots, slot, s->list + first);
        const uint64_t seen = (uint64_t)(count + e->n_source);
        s->n_seen += (uint64_t)(last - i + 1) * seen;
        for (; i <= last; i++) {
            const int32_t row = pk_session_row(s, e, i);
            s->first[row] = first;
            s->count[row] = count;
            if (row >= s->n_questions) s->n_seen_silent += seen;
        }
    }
    return PK_OK;
}

int64_t pk_session_visible(const pk_session *all, const pk_request *request) {
    const pk_session       *s = pk_session_model_part(all, request->pass->model);
    const session_sentence *e = &s->sentence[request->sentence];
    const pk_pass          *p = request->pass;
    int64_t                 sum = 0;
    for (int32_t i = 1; i <= p->n; i++) {
        assert(below(p->ask[i].hypothesis, e->n_hypotheses));
        if (!pk_ask_continues(p, i))
            sum += pk_slots_depth(&s->slots, e->tip[p->ask[i].hypothesis]) + p->n;
    }
    return sum;
}

/* all asks are checked before anything relies on them, and counted on the way */
static pk_status check_all(const pk_session *s, const pk_request *request, int32_t n,
                           pass_counts *all) {
    for (int32_t i = 0; i < n; i++)
        PK_TRY(check(s, &s->sentence[request[i].sentence], request[i].pass, all));
    return PK_OK;
}

pk_status pk_session_lower(pk_session *s, const pk_request *request, int32_t n,
                           bool *any_attention) {
    pass_counts all = { 0 };
    int32_t     questions = 0;
    PK_TRY(check_all(s, request, n, &all));
    s->steps = pk_session_steps(s, request, n);
    pk_session_lay_out(s, all.asks, all.questions);
    pk_session_question(s, request, n); /* rows, and the lists that come first */
    for (int32_t i = 0; i < n; i++) {
        session_sentence *e = &s->sentence[request[i].sentence];
        PK_TRY(take_slots(s, e, request[i].pass));
        PK_TRY(list_visible(s, e, request[i].pass));
        if (!s->steps) continue;
        questions += count_questions(request[i].pass);
        PK_TRY(pk_session_take_steps(s, e, request[i].pass, questions));
    }
    *any_attention |= all.any_attention;
    return PK_OK;
}
