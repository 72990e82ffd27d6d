/* beam.c - keep the best few partial translations, under the rules of one of four known programs.
 *
 * One step:  every row is asked for its best next tokens        (propose)
 *            all answers go into one short sorted list          (collect)
 *            each candidate ends a hypothesis or is a new row   (advance)
 *            the stop rule looks at the result                  (stops)
 * One loop serves all four: what a rule set does differently is a row of the table in beam_rules.c.
 * Rows with the same history share its slots: keeping a row costs one integer. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "decode/beam_state.h"

enum {
    MAX_SIZE = PK_MOST_N_BEST,
    NORMAL_SIZE = 4,
    UNSET = -1000
}; /* UNSET: below any length penalty */

static const char *const stop_choices[] = { "auto", PK_STOP_MAP(PK_CHOICE_WORD) NULL };
// clang-format off
static const pk_option options[] = {
    { "size", "hypotheses kept at each step; auto: the model's, or 4",
      PK_OPTION_INT, 1, 0, MAX_SIZE, NULL, offsetof(pk_beam, size) },
    { "rules", "whose beam search to follow, step for step",
      PK_OPTION_CHOICE, 0, PK_BEAM_HF, 0, pk_beam_rule_names, offsetof(pk_beam, rules) },
    { "length_penalty", "score = sum / length^penalty; auto: by rules, hf: the model's",
      PK_OPTION_FLOAT, -100, UNSET, 100, NULL, offsetof(pk_beam, length_penalty) },
    { "patience", "ct2: stop when size x patience hypotheses have ended",
      PK_OPTION_FLOAT, 0.01, 1, 100, NULL, offsetof(pk_beam, patience) },
    { "early_stopping", "hf: stop as soon as size hypotheses have ended; auto: the model's",
      PK_OPTION_CHOICE, 0, 0, 0, stop_choices, offsetof(pk_beam, early_stopping) },
    PK_CONSTRAINT_OPTIONS(pk_beam, options),
    { 0 },
};
// clang-format on

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    const pk_beam *s = p;
    (void)self;
    const int32_t size = s->size ? s->size : MAX_SIZE;
    if (n_best > size)
        PK_FAIL(
            PK_ARGUMENT,
            "beam: %d hypotheses are wanted but size is %d; raise it (at most %d) or ask for fewer",
            (int)n_best, (int)size, MAX_SIZE);
    /* an option without effect is a mistake: say so rather than ignore it */
    if (s->patience != 1 && s->rules != PK_BEAM_CT2)
        PK_FAIL(PK_ARGUMENT, "beam: patience belongs to rules=ct2; leave it out");
    if (s->early_stopping && s->rules != PK_BEAM_HF)
        PK_FAIL(PK_ARGUMENT, "beam: early_stopping belongs to rules=hf; leave it out");
    return PK_OK;
}

/* entries of the beam: the user's number, the model's or the usual one */
static int32_t size_of(const pk_beam *s, const pk_source *src) {
    int32_t size = s->size ? s->size : src->model->beams > 0 ? src->model->beams : NORMAL_SIZE;
    if (size < src->n_best) size = src->n_best;
    if (size > MAX_SIZE) size = MAX_SIZE;
    /* fairseq never has more entries than tokens */
    if (s->rules == PK_BEAM_FAIRSEQ && size > src->model->vocab - 1) size = src->model->vocab - 1;
    return size > 0 ? size : 1;
}

/* how many candidates a beam of this width looks at, over all rows */
static int32_t candidates_of(const pk_beam *s, int32_t width) {
    return width * pk_beam_rules_of(s->rules)->candidates;
}

/* all candidates may come from one row, so each row is asked for as many */
static int32_t top_k_of(const pk_beam *s, const pk_source *src, int32_t width) {
    const int32_t n = candidates_of(s, width);
    return n < src->model->vocab ? n : src->model->vocab;
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const pk_beam *s = p;
    const int32_t  size = size_of(s, src);
    const int32_t  free_tokens = pk_constraint_max_length(&s->options, src) - src->n_prefix;
    (void)self;
    /* All rows share the slots of the prefix and of the first free ask. After that each row may
     * have slots of its own. */
    return (pk_strategy_limits){
        .asks = size > src->n_prefix + 1 ? size : src->n_prefix + 1,
        .rows = size,
        .slots = src->n_prefix + 1 + (free_tokens > 1 ? size * (free_tokens - 1) : 0),
        .top_k = top_k_of(s, src, size),
    };
}

static void end(void *p) { pk_beam_give(p); }

/* what the stop rules need to know, before the first step */
static pk_beam_progress first_progress(const pk_beam *s, const pk_source *src, int32_t size) {
    const float normal =
        s->by->constraint.of_model ? src->model->length_penalty : s->by->length_penalty;
    return (pk_beam_progress){
        .size = size,
        .n_best = s->src.n_best,
        .longest = pk_beam_length(s->by, src, s->constraint.max_length),
        .length_penalty = s->length_penalty > UNSET ? s->length_penalty : normal,
        .patience = s->patience,
        /* choice 0 is "auto"; the others are PK_STOP_NO and so on, plus one */
        .early_stopping = s->early_stopping ? s->early_stopping - 1 : src->model->early_stopping,
    };
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    pk_beam      *s = p;
    const int32_t size = size_of(s, src);
    (void)self;
    s->src = *src;
    if (s->src.n_best < 1) s->src.n_best = 1;
    s->by = pk_beam_rules_of(s->rules);
    s->prefix = pk_chain_begin(src, false, src->want_scores || s->by->scores_prefix);
    const pk_status status = pk_beam_take(s, size);
    if (status != PK_OK) {
        pk_beam_give(s);
        return status;
    }
    s->now = first_progress(s, src, size);
    s->width = size;
    s->n_rows = 1;
    s->rows[0] = (pk_beam_row){ PK_NO_NODE, 0 };
    return PK_OK;
}

/* the next token is the last one, and must be the end symbol */
static bool must_end(const pk_beam *s, int32_t n) {
    const bool forces = s->by->always_ends || (s->by->may_force && s->src.model->forced_eos);
    return forces && n == s->constraint.max_length - 1;
}

/* what follows row i, which has n output tokens? */
static void ask_row(pk_beam *s, pk_pass *pass, int32_t i, int32_t n, int32_t parent) {
    const int32_t tip = s->rows[i].tip;
    pk_ask        ask = { .row = i,
                          .pos = n,
                          .parent = parent,
                          .logp = true,
                          .token = tip == PK_NO_NODE ? s->history[n] : s->nodes[tip].token,
                          .attention = s->src.want_attention };
    if (must_end(s, n)) {
        ask.target = &s->src.model->eos;
        ask.n_target = 1;
    } else {
        ask.top_k = top_k_of(s, &s->src, s->width);
        pk_constraint_list(&s->constraint, pk_beam_trace(s, &s->rows[i], n), n, &s->special[i]);
        pk_constraint_ask(&s->constraint, &s->special[i], &ask);
    }
    pk_ask_add(pass, ask);
}

static void propose(void *p, pk_pass *pass) {
    pk_beam      *s = p;
    const int32_t parent = pk_chain_propose(&s->prefix, pass);
    if (pass->n == pass->room) return; /* the prefix filled the pass */
    s->first_ask = pass->n + 1;
    for (int32_t i = 0; i < s->n_rows; i++) ask_row(s, pass, i, s->n + s->prefix.asked, parent);
}

/* Offers the best tokens after row i, and the penalised ones: those were banned from the best,
 * since only their weighed score can be compared. */
static void collect_row(pk_beam *s, int32_t i, const pk_answer *a, int32_t top_k) {
    const pk_special *special = &s->special[i];
    const pk_weights  w = pk_constraint_weights(&s->constraint, special, a);
    const int32_t     room = candidates_of(s, s->width);
    const float       score = s->rows[i].score;
    for (int32_t j = 0; j < top_k && a->top[j].token != PK_NO_TOKEN; j++) {
        const float             logp = a->top[j].logp;
        const pk_beam_candidate c = { i, a->top[j].token, score + (logp + w.search),
                                      logp + w.model };
        if (!pk_beam_offer(s, c, room)) break; /* they come best first: the rest is worse */
    }
    for (int32_t j = 0; j < special->n_penalised; j++) {
        const float weighed = pk_constraint_weigh(&s->constraint, &w, a, j);
        const float own = a->target_logp[j] + w.model;
        pk_beam_offer(s, (pk_beam_candidate){ i, special->token[j], score + weighed, own }, room);
    }
}

/* the sorted list of candidates of this step, over all rows */
static void collect(pk_beam *s, const pk_pass *pass) {
    s->n_candidates = 0;
    for (int32_t i = 0; i < s->n_rows; i++) {
        const int32_t    ask = s->first_ask + i;
        const pk_answer *a = &pass->answer[ask];
        if (must_end(s, s->n)) {
            const float logp = a->target_logp[0], cost = s->by->forced_is_free ? 0 : logp;
            const pk_beam_candidate c = { i, s->src.model->eos, s->rows[i].score + cost, logp };
            pk_beam_offer(s, c, candidates_of(s, s->width));
        } else {
            collect_row(s, i, a, pass->ask[ask].top_k);
        }
    }
}

/* candidates, best first -> finished hypotheses and next rows; returns how many rows there are */
static int32_t advance(pk_beam *s, pk_verdict *verdict) {
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
            s->next[kept++] = (pk_beam_row){ pk_beam_add_node(s, c), c->score };
            pk_keep(verdict, s->first_ask + c->row);
        }
    }
    return kept;
}

/* the given tokens of the pass become output; false when the pass had no ask but those */
static bool absorb_prefix(pk_beam *s, const pk_pass *pass) {
    const int32_t first = s->prefix_output.n;
    const bool    more = pk_chain_absorb(&s->prefix, pass, &s->prefix_output);
    for (int32_t i = first; s->by->scores_prefix && i < s->prefix_output.n; i++)
        s->rows[0].score += s->prefix_output.logp[i];
    if (s->prefix.asked) s->n = s->prefix_output.n;
    return more;
}

/* brings the progress up to date and applies the stop rule; no row left always stops */
static bool stops(pk_beam *s, int32_t kept) {
    const int32_t n_finished = s->now.n_finished;
    if (kept == 0) return true;
    s->now.length = pk_beam_length(s->by, &s->src, s->n + 1);
    s->now.best_unfinished = s->next[0].score;
    s->now.worst_finished = n_finished ? s->finished[n_finished - 1].score : -INFINITY;
    return pk_beam_stops(s->by, &s->now);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    pk_beam *s = p;
    if (!absorb_prefix(s, pass)) {
        pk_keep(verdict, pass->n);
        return;
    }
    collect(s, pass);
    pk_beam_keep_attention(s, pass);
    const int32_t kept = advance(s, verdict);
    verdict->done = stops(s, kept);
    if (verdict->done) {
        verdict->n_rows = 0; /* no history is needed any more */
        pk_beam_write_outputs(s);
        return;
    }
    pk_beam_row *was = s->rows;
    s->rows = s->next;
    s->next = was;
    s->n_rows = kept;
    s->n++;
    if (s->by->shrinks) s->width = kept; /* marian: each ending narrows the beam */
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const pk_beam *s = p;
    const int32_t  n = s->n_outputs < room ? s->n_outputs : room;
    for (int32_t i = 0; i < n; i++) pk_output_view(&s->outputs[i], &out[i]);
    return n;
}

const pk_strategy pk_strategy_beam = {
    .name = "beam",
    .help = "keeps several translations in view; better, and slower",
    .options = options,
    .state_size = sizeof(pk_beam),
    .check = check,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
