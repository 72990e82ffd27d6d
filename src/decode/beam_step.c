/* beam_step.c - one step of a beam search.
 *
 *   every live hypothesis is asked for its best next tokens   (pk_beam_propose)
 *   all answers go into one short sorted list                 (collect)
 *   each candidate ends a hypothesis or makes a live one      (advance)
 *   the stop rule looks at the result                         (stops)
 *
 * One loop serves all rule sets: what they do differently is a row of the table in beam_rules.c.
 * Hypotheses that begin alike share slots: keeping one costs one integer. */
#include "decode/beam_step.h"

#include <assert.h>
#include <math.h>

enum { NORMAL_SIZE = 4 };

const char *const pk_beam_stop_choices[] = { "auto", PK_STOP_MAP(PK_CHOICE_WORD) NULL };

pk_status pk_beam_check(const char *name, const pk_beam *s, int32_t n_best) {
    const int32_t size = s->size ? s->size : PK_BEAM_MOST;
    if (n_best > size)
        PK_FAIL(
            PK_ARGUMENT,
            "%s: %d hypotheses are wanted but size is %d; raise it (at most %d) or ask for fewer",
            name, (int)n_best, (int)size, PK_BEAM_MOST);
    /* an option without effect is a mistake: say so rather than ignore it */
    if (s->patience != 1 && s->rules != PK_BEAM_CT2)
        PK_FAIL(PK_ARGUMENT, "%s: patience belongs to rules=ct2; leave it out", name);
    if (s->early_stopping && s->rules != PK_BEAM_HF)
        PK_FAIL(PK_ARGUMENT, "%s: early_stopping belongs to rules=hf; leave it out", name);
    return PK_OK;
}

/* entries of the beam: the user's number, the model's or the usual one */
static int32_t size_of(const pk_beam *s, const pk_source *src) {
    int32_t size = s->size ? s->size : src->model->beams > 0 ? src->model->beams : NORMAL_SIZE;
    if (size < src->n_best) size = src->n_best;
    if (size > PK_BEAM_MOST) size = PK_BEAM_MOST;
    /* fairseq never has more entries than tokens */
    if (s->rules == PK_BEAM_FAIRSEQ && size > src->model->vocab - 1) size = src->model->vocab - 1;
    return size > 0 ? size : 1;
}

/* how many candidates a beam of this width looks at, over all hypotheses */
static int32_t candidates_of(const pk_beam *s, int32_t width) {
    return width * pk_beam_rules_of(s->rules)->candidates;
}

/* all candidates may come from one hypothesis, so each is asked for as many */
static int32_t top_k_of(const pk_beam *s, const pk_source *src, int32_t width) {
    const int32_t n = candidates_of(s, width);
    return n < src->model->vocab ? n : src->model->vocab;
}

pk_strategy_limits pk_beam_limits(const pk_beam *s, const pk_source *src) {
    const int32_t size = size_of(s, src);
    const int32_t free_tokens = pk_constraint_max_length(&s->options, src) - src->n_prefix;
    /* All hypotheses share the slots of the prefix and of the first free ask. After that each may
     * have slots of its own. */
    return (pk_strategy_limits){
        .asks = size > src->n_prefix + 1 ? size : src->n_prefix + 1,
        .hypotheses = size,
        .slots = src->n_prefix + 1 + (free_tokens > 1 ? size * (free_tokens - 1) : 0),
        .top_k = top_k_of(s, src, size),
    };
}

/* what the stop rules need to know, before the first step */
static pk_beam_progress first_progress(const pk_beam *s, const pk_source *src, int32_t size) {
    const float normal =
        s->by->constraint.of_model ? src->model->length_penalty : s->by->length_penalty;
    return (pk_beam_progress){
        .size = size,
        .n_best = s->src.n_best,
        .longest = pk_beam_length(s->by, src, s->constraint.max_length),
        .length_penalty = s->length_penalty > PK_BEAM_UNSET ? s->length_penalty : normal,
        .patience = s->patience,
        /* choice 0 is "auto"; the others are PK_STOP_NO and so on, plus one */
        .early_stopping = s->early_stopping ? s->early_stopping - 1 : src->model->early_stopping,
    };
}

pk_status pk_beam_begin(pk_beam *s, const pk_source *src, int32_t own_asks) {
    const int32_t size = size_of(s, src);
    s->src = *src;
    if (s->src.n_best < 1) s->src.n_best = 1;
    s->by = pk_beam_rules_of(s->rules);
    s->prefix = pk_chain_begin(src, false, src->want_scores || s->by->scores_prefix);
    const pk_status status = pk_beam_take(s, size, own_asks < size ? size : own_asks);
    if (status != PK_OK) {
        pk_beam_give(s);
        return status;
    }
    s->now = first_progress(s, src, size);
    s->width = size;
    s->n_live = 1;
    s->live[0] = (pk_beam_hypothesis){ PK_NO_NODE, 0 };
    return PK_OK;
}

/* ---- asking ---- */

/* the next token is the last one, and must be the end symbol */
static bool must_end(const pk_beam *s, int32_t n) {
    const bool forces = s->by->always_ends || (s->by->may_force && s->src.model->forced_eos);
    return forces && n == s->constraint.max_length - 1;
}

int32_t pk_beam_ask(pk_beam *s, pk_pass *pass, pk_ask ask, const int32_t *history) {
    pk_special *special = &s->special[pass->n + 1 - s->first_ask];
    assert(pass->n + 1 - s->first_ask < s->n_special);
    ask.logp = true;
    ask.attention = s->src.want_attention;
    if (must_end(s, ask.pos)) {
        ask.target = &s->src.model->eos;
        ask.n_target = 1;
    } else {
        ask.top_k = top_k_of(s, &s->src, s->width);
        pk_constraint_list(&s->constraint, history, ask.pos, special);
        pk_constraint_ask(&s->constraint, special, &ask);
    }
    return pk_ask_add(pass, ask);
}

bool pk_beam_propose(pk_beam *s, pk_pass *pass) {
    const int32_t parent = pk_chain_propose(&s->prefix, pass), n = s->n + s->prefix.asked;
    if (pass->n == pass->room) return false;
    s->first_ask = pass->n + 1;
    for (int32_t i = 0; i < s->n_live; i++) {
        const int32_t tip = s->live[i].tip;
        const pk_ask  ask = { .hypothesis = i,
                              .pos = n,
                              .parent = parent,
                              .token = tip == PK_NO_NODE ? s->history[n] : s->nodes[tip].token };
        s->ask[i] = pk_beam_ask(s, pass, ask, pk_beam_trace(s, &s->live[i], n));
    }
    return true;
}

/* ---- reading the answers ---- */

/* best first; ties: the lower hypothesis, then the lower token */
static bool before(const pk_beam_candidate *a, const pk_beam_candidate *b) {
    if (a->score != b->score) return a->score > b->score;
    return a->hypothesis != b->hypothesis ? a->hypothesis < b->hypothesis : a->token < b->token;
}

/* puts a candidate into the sorted list of at most `room`; false when that is full of better
 * ones */
static inline bool offer(pk_beam *s, pk_beam_candidate c, int32_t room) {
    pk_beam_candidate *const list = s->candidates;
    int32_t                  i = s->n_candidates;
    assert(room <= 2 * s->now.size);
    if (!(c.score > -INFINITY)) return false; /* impossible, or not a number */
    if (i == room) {
        if (!before(&c, &list[i - 1])) return false;
        i--; /* overwrites the worst */
    } else {
        s->n_candidates++;
    }
    for (; i > 0 && before(&c, &list[i - 1]); i--) list[i] = list[i - 1];
    list[i] = c;
    return true;
}

/* Offers the best tokens after hypothesis i, and the penalised ones: those were banned from the
 * best, since only their weighed score can be compared. */
static void collect_after(pk_beam *s, int32_t i, const pk_answer *a, int32_t top_k) {
    const pk_special *special = &s->special[s->ask[i] - s->first_ask];
    const pk_weights  w = pk_constraint_weights(&s->constraint, special, a);
    const int32_t     room = candidates_of(s, s->width);
    const float       score = s->live[i].score;
    for (int32_t j = 0; j < top_k && a->top[j].token != PK_NO_TOKEN; j++) {
        const float             logp = a->top[j].logp;
        const pk_beam_candidate c = { i, a->top[j].token, score + (logp + w.search),
                                      logp + w.model };
        if (!offer(s, c, room)) break; /* they come best first: the rest is worse */
    }
    for (int32_t j = 0; j < special->n_penalised; j++) {
        const float weighed = pk_constraint_weigh(&s->constraint, &w, a, j);
        const float own = a->target_logp[j] + w.model;
        offer(s, (pk_beam_candidate){ i, special->token[j], score + weighed, own }, room);
    }
}

/* the sorted list of candidates of this step, over all hypotheses */
static void collect(pk_beam *s, const pk_pass *pass) {
    s->n_candidates = 0;
    for (int32_t i = 0; i < s->n_live; i++) {
        const pk_answer *a = &pass->answer[s->ask[i]];
        if (must_end(s, s->n)) {
            const float logp = a->target_logp[0], cost = s->by->forced_is_free ? 0 : logp;
            const pk_beam_candidate c = { i, s->src.model->eos, s->live[i].score + cost, logp };
            offer(s, c, candidates_of(s, s->width));
        } else {
            collect_after(s, i, a, pass->ask[s->ask[i]].top_k);
        }
    }
}

/* candidates, best first -> finished hypotheses and next live ones; returns how many of these */
static int32_t advance(pk_beam *s) {
    const bool last = s->n + 1 == s->constraint.max_length;
    const bool no_second_eos = s->by->drops_first_eos && s->src.n_prefix && s->n == s->src.n_prefix;
    int32_t    kept = 0, entries = s->width;
    for (int32_t i = 0; i < s->n_candidates; i++) {
        const pk_beam_candidate *c = &s->candidates[i];
        const bool               eos = c->token == s->src.model->eos;
        if (no_second_eos && eos && i > 0) {
            entries -= i < s->width; /* dropped: its entry of the beam stays empty */
        } else if (eos || last) {
            if (i >= s->width) continue; /* only the best of the candidates may end */
            s->now.best_ended |= i == 0;
            pk_beam_finish(s, pk_beam_add_node(s, c), c->score, s->n + 1);
        } else if (kept < entries) {
            s->from[kept] = s->ask[c->hypothesis];
            s->next[kept++] = (pk_beam_hypothesis){ pk_beam_add_node(s, c), c->score };
        }
    }
    return kept;
}

bool pk_beam_absorb_prefix(pk_beam *s, const pk_pass *pass) {
    const int32_t first = s->prefix_output.n;
    const bool    more = pk_chain_absorb(&s->prefix, pass, &s->prefix_output);
    for (int32_t i = first; s->by->scores_prefix && i < s->prefix_output.n; i++)
        s->live[0].score += s->prefix_output.logp[i];
    if (s->prefix.asked) s->n = s->prefix_output.n;
    return more;
}

/* brings the progress up to date and applies the stop rule; no hypothesis left always stops */
static bool stops(pk_beam *s, int32_t kept) {
    const int32_t n_finished = s->now.n_finished;
    if (kept == 0) return true;
    s->now.length = pk_beam_length(s->by, &s->src, s->n + 1);
    s->now.best_unfinished = s->next[0].score;
    s->now.worst_finished = n_finished ? s->finished[n_finished - 1].score : -INFINITY;
    return pk_beam_stops(s->by, &s->now);
}

bool pk_beam_step(pk_beam *s, const pk_pass *pass) {
    collect(s, pass);
    pk_beam_keep_attention(s, pass);
    const int32_t kept = advance(s);
    if (stops(s, kept)) return true;
    pk_beam_hypothesis *was = s->live;
    s->live = s->next;
    s->next = was;
    s->n_live = kept;
    s->n++;
    if (s->by->shrinks) s->width = kept; /* marian: each ending narrows the beam */
    return false;
}

void pk_beam_conclude(pk_beam *s, bool over, pk_verdict *verdict) {
    verdict->done = over;
    if (over)
        pk_beam_write_outputs(s); /* no history is needed any more */
    else
        for (int32_t i = 0; i < s->n_live; i++) pk_keep(verdict, s->from[i]);
}

int32_t pk_beam_result(const pk_beam *s, pk_hypothesis *out, int32_t room) {
    const int32_t n = s->n_outputs < room ? s->n_outputs : room;
    for (int32_t i = 0; i < n; i++) pk_output_view(&s->outputs[i], &out[i]);
    return n;
}
