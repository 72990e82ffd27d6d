/* session.c - decode, commit, forget.
 *
 * Sentences come in through encoding.c. decode() lowers the asks of many of them to flat arrays
 * (lowering.c), computes the decoder on them, and returns the answers (answering.c). This file owns
 * the order, session_open.c the memory. */
#include "session/session.h"

#include <string.h>

#include "session/session_parts.h"

/* A sentence's part of the pass is over: the pass's hold on its slots ends. Slots of histories that
 * are kept live on, all others are free again. */
static void end_pass(pk_session *s, session_sentence *e) {
    if (e->steps) pk_session_settle(s, e, 1);
    for (int32_t i = 1; i <= e->n_asks; i++)
        pk_slots_drop(&s->slots, s->slot[pk_session_row(s, e, i)]);
    e->n_asks = 0;
    s->n_in_flight -= e->in_flight;
    e->in_flight = false;
}

/* gives up a pass that failed */
static pk_status give_up(pk_session *s, const pk_request *request, int32_t n, pk_status why) {
    for (int32_t i = 0; i < n; i++) end_pass(s, &s->sentence[request[i].sentence]);
    return why;
}

typedef struct decoding { /* what the ops of one pass are called with */
    pk_session *s;
    pk_run      r;
    bool        any_attention;

    const pk_request *request;
    int32_t           n_requests;
} decoding;

/* self attention: each row sees the slots in its list */
static pk_attention sees_own_past(const pk_session *s, int32_t heads) {
    return (pk_attention){ .heads = heads,
                           .first = pk_mirror_device(&s->up, s->first),
                           .count = pk_mirror_device(&s->up, s->count),
                           .index = pk_mirror_device(&s->up, s->list) };
}

/* cross attention: each row sees the source tokens of its sentence */
static pk_attention sees_source(const pk_session *s, int32_t heads) {
    return (pk_attention){ .heads = heads,
                           .first = pk_mirror_device(&s->up, s->cross_first),
                           .count = pk_mirror_device(&s->up, s->cross_count),
                           .index = pk_mirror_device(&s->source, s->source_index) };
}

/* Rows whose states are asked for come first. Of others the attention may be wanted, and that of the
 * last layer among them. */
static int32_t asked_rows(const pk_session *s, bool any_attention) {
    return any_attention ? s->rows : s->questions;
}

/* (asked, D) states of one member; attention is returned from the first member only */
static pk_tensor decode_member(decoding *d, const session_member *m, bool any_attention) {
    pk_session        *s = d->s;
    const int32_t      heads = m->net.config.decoder_heads;
    const pk_attention self = sees_own_past(s, heads), cross = sees_source(s, heads);
    pk_attention       weighted = cross;
    weighted.weights = pk_mirror_device(&s->down, s->attention);
    weighted.weights_stride = s->max.source_length;
    const pk_target target = { .n = s->rows,
                               .asked = asked_rows(s, any_attention),
                               .token = pk_mirror_device(&s->up, s->token),
                               .pos = pk_mirror_device(&s->up, s->pos),
                               .slot = pk_mirror_device(&s->up, s->slot),
                               .self = &self,
                               .cross = &cross,
                               .cross_weighted = any_attention ? &weighted : NULL,
                               .memory = &m->memory };
    return pk_decode(&d->r, &m->net, &target);
}

/* Every member's states side by side, (questions, sum of D). A member's log sums are computed here too,
 * while its own states are at hand. */
static pk_tensor decode_together(decoding *d) {
    pk_session     *s = d->s;
    const pk_tensor all = pk_scratch(&d->r, s->questions, s->output.cols);
    const size_t    used = pk_run_used(&d->r);
    for (int32_t i = 0, first = 0; i < s->n_members; i++) {
        const session_member *m = &s->member[i];
        const pk_tensor       one =
            pk_first_rows(decode_member(d, m, d->any_attention && i == 0), s->questions);
        pk_run_enter(&d->r, PK_MODULE_OUTPUT);
        for (int32_t k = 0; k < PK_SLICES && s->any_log_sum; k++) {
            const session_group out =
                k ? m->group[k - 1] : (session_group){ m->net.output, m->net.output_bias };
            pk_answering summing;
            if (!pk_session_asks(s, k)) continue;
            pk_session_summing(s, i, k, &summing);
            pk_answers(&d->r, one, &out.table, &out.bias, &summing);
        }
        if (d->r.status == PK_OK && s->questions)
            s->on->scatter(s->on->self, pk_columns(all, first, one.cols), one,
                           (const int32_t *)(const void *)s->row_numbers.there);
        first += one.cols;
        pk_run_release(&d->r, used);
    }
    return all;
}

/* the text's questions, sentence by sentence: each has an output layer of its own */
static void answer_short(decoding *d, pk_tensor hidden) {
    for (int32_t i = 0; i < d->n_requests; i++) {
        const int32_t       sentence = d->request[i].sentence;
        const session_group out = pk_session_short_output(d->s, sentence);
        pk_answering        answering;
        pk_session_answering_one(d->s, &d->s->sentence[sentence], &answering);
        if (answering.n) pk_answers(&d->r, hidden, &out.table, &out.bias, &answering);
    }
}

/* What is recorded as a graph on a GPU: the decoder, the output layer for the text and for each
 * group that is asked about, and, where asks follow, the step to their next tokens. */
static void decode_rows(void *context) {
    decoding    *d = context;
    pk_session  *s = d->s;
    pk_answering answering;
    pk_following following;
    pk_run_release(&d->r, 0);
    const pk_tensor hidden =
        s->n_members > 1 ? decode_together(d) : decode_member(d, &s->member[0], d->any_attention);
    pk_run_enter(&d->r, PK_MODULE_OUTPUT);
    for (int32_t k = 0; k < PK_SLICES; k++) {
        const session_group out =
            k ? s->group[k - 1] : (session_group){ s->output, s->output_bias };
        if (!pk_session_asks(s, k)) continue;
        pk_session_answering(s, k, &answering);
        if (k == 0 && s->max.shortlist)
            answer_short(d, hidden);
        else
            pk_answers(&d->r, hidden, &out.table, &out.bias, &answering);
    }
    pk_session_following(s, &following);
    if (s->steps) pk_advance(&d->r, &following);
}

/* all that decides which ops are called on which memory */
static uint64_t key_of(const pk_session *s, bool any_attention) {
    const uint32_t what = PK_KEY_DECODE | (any_attention ? PK_KEY_ATTENTION : 0u) |
                          (s->any_log_sum ? PK_KEY_SUMS : 0u) | (s->steps ? PK_KEY_STEPS : 0u) |
                          PK_KEY_MODEL * (uint32_t)s->number | s->groups_asked * PK_KEY_GROUP;
    return pk_session_key(what, s->most_top_k, s->questions, s->rows);
}

static void fetch(pk_session *s, const session_mirror *t, void *here, size_t bytes) {
    if (bytes) s->on->get(s->on->self, here, pk_mirror_device(t, here), bytes);
}

/* downloads only what was asked for; the best tokens and the log sums lie next to each other */
static void fetch_answers(pk_session *s, bool any_attention) {
    const size_t weighted = (size_t)s->n_asks * (size_t)s->max.source_length * sizeof *s->attention;
    const size_t row = (size_t)s->max.path * sizeof *s->found;
    if (any_attention) fetch(s, &s->down, s->attention, weighted);
    if (s->steps) {
        fetch(s, &s->up, s->n_found, (size_t)s->n_asks * sizeof *s->n_found);
        fetch(s, &s->down, s->found, (size_t)s->n_following * row);
        if (s->n_questions == s->n_followers) return;
    }
    char *end = (char *)(s->log_sum + (s->n_members - 1) * s->questions + s->n_questions);
    if (s->n_questions) fetch(s, &s->down, s->top, (size_t)(end - (char *)s->top));
    if (s->any_target) fetch(s, &s->down, s->target_score, (size_t)s->n_listed * sizeof(float));
}

pk_status pk_session_decode(pk_session *all, const pk_request *request, int32_t n) {
    pk_session *s;
    PK_TRY(pk_session_choose(all, request, n, &s));
    if (n && request[0].pass->n_edges) return pk_session_score_edges(s, request, n);
    decoding        d = { .s = s, .request = request, .n_requests = n };
    const pk_status lowered = pk_session_lower(s, request, n, &d.any_attention);
    if (lowered != PK_OK) return give_up(s, request, n, lowered);
    assert(s->up_used + (size_t)s->n_list * sizeof *s->list <= s->up.bytes);
    pk_run_begin(&d.r, s->on, &s->scratch);
    pk_mirror_send(s->on, &s->up, s->up_used + (size_t)s->n_list * sizeof *s->list);
    s->on->repeat(s->on->self, key_of(s, d.any_attention), s->steps ? s->steps : 1,
                  s->steps ? pk_mirror_device(&s->up, s->live) : NULL, decode_rows, &d);
    fetch_answers(s, d.any_attention);
    pk_session_see_encoded(all);
    pk_status status = pk_run_status(&d.r);
    pk_session_add_time(s, &d.r);
    if (status == PK_OK) pk_session_count_pass(s, d.any_attention);
    if (status == PK_OK) status = pk_session_answer(s, request, n);
    return status == PK_OK ? PK_OK : give_up(s, request, n, status);
}

/* the slot that a verdict's tip means */
static int32_t tip_slot(const pk_session *s, const session_sentence *e, int32_t tip) {
    assert(tip <= e->n_asks && -1 - tip < e->n_hypotheses); /* an ask, or an old hypothesis */
    if (tip > 0) return s->slot[pk_session_row(s, e, tip)];
    return tip == 0 ? PK_NO_SLOT : e->tip[-1 - tip];
}

/* New histories are held before old ones are dropped: a slot of both is never free between. */
static void keep(pk_session *s, session_sentence *e, const pk_verdict *verdict) {
    assert(verdict->n_hypotheses >= 0 && verdict->n_hypotheses <= s->max.hypotheses);
    for (int32_t i = 0; i < verdict->n_hypotheses; i++) {
        s->new_tips[i] = tip_slot(s, e, verdict->tip[i]);
        pk_slots_hold(&s->slots, s->new_tips[i]);
    }
    for (int32_t i = 0; i < e->n_hypotheses; i++) pk_slots_drop(&s->slots, e->tip[i]);
    end_pass(s, e);
    memcpy(e->tip, s->new_tips, (size_t)verdict->n_hypotheses * sizeof *e->tip);
    e->n_hypotheses = verdict->n_hypotheses;
}

void pk_session_commit(pk_session *all, int32_t sentence, const pk_verdict *verdict) {
    pk_session *s = pk_session_in_flight(all, sentence);
    assert(s); /* once for each pass */
    keep(s, &s->sentence[sentence], verdict);
}

void pk_session_forget(pk_session *s, int32_t sentence) {
    session_sentence *e = &s->sentence[sentence];
    const pk_verdict  nothing = { 0 };
    assert(e->n_source > 0); /* it is alive */
    for (int32_t i = 0; i < s->n_networks; i++) {
        keep(s->network[i], &s->network[i]->sentence[sentence], &nothing);
        s->network[i]->sentence[sentence].n_short = 0;
    }
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
