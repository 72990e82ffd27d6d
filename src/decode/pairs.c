/* pairs.c - two tokens a step (Imamura and Sumita 2020): one at the beginning and one at the end of
 * the text, or two neighbours, by what the model was trained with.
 *
 * Algorithm 1 of the paper. One step:
 *   every hypothesis is asked for the best tokens of its left and its right side   (propose)
 *   2W (hypothesis, left), and of these with right tokens 3W pairs, are candidates (collect)
 *   those of the first W with an end symbol end; the best W others go on           (advance)
 * until K have ended. The two asks of a hypothesis are a block, so the next pair sees both. With
 * W = 1 it is greedy search, and a device may take many steps by itself. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "decode/pairs_state.h"

enum { MAX_SIZE = PK_MOST_N_BEST, UNSET = -1000 }; /* UNSET: below any length penalty */

// clang-format off
static const pk_option options[] = {
    { "size", "hypotheses kept at each step; 1: greedy",
      PK_OPTION_INT, 1, 1, MAX_SIZE, NULL, offsetof(pk_pairs, size) },
    { "outputs", "stops when so many hypotheses have ended; auto: as size",
      PK_OPTION_INT, 1, 0, MAX_SIZE, NULL, offsetof(pk_pairs, outputs) },
    { "length_penalty", "score = sum / length^penalty; auto: the model's",
      PK_OPTION_FLOAT, -100, UNSET, 100, NULL, offsetof(pk_pairs, length_penalty) },
    PK_LENGTH_OPTIONS(pk_pairs, options),
    { 0 },
};
// clang-format on

static int32_t outputs_of(const pk_pairs *s) { return s->outputs ? s->outputs : s->size; }

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    const pk_pairs *s = p;
    (void)self;
    if (n_best > outputs_of(s))
        PK_FAIL(
            PK_ARGUMENT,
            "pairs: %d hypotheses are wanted but the search ends with %d; raise %s (at most %d)",
            (int)n_best, (int)outputs_of(s), s->outputs ? "outputs" : "size", MAX_SIZE);
    return PK_OK;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* tokens that one side is asked for; greedy needs the best one alone */
static int32_t top_k_of(const pk_pairs *s, const pk_conventions *model, int32_t side) {
    return s->size == 1 ? 1 : smaller((2 + side) * s->size, model->vocab);
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const pk_pairs *s = p;
    const int32_t   steps = pk_pairs_steps(src, pk_pairs_longest(&s->options, src, 0), 0);
    (void)self;
    /* all hypotheses share the slots of what is given and of the first pair; 1: a language, in one
     * pass with that pair */
    return (pk_strategy_limits){
        .asks = 2 * s->size + 1,
        .hypotheses = s->size,
        .slots = src->n_prefix + 2 + 2 * s->size * (steps - 1),
        .top_k = top_k_of(s, src->model, 1),
    };
}

static void end(void *p) { pk_pairs_give(p); }

/* which of the three tasks the model has; its name alone, or with a direction */
static bool writes_from_both_ends(const pk_conventions *model) {
    const char *name = model->tasks ? strstr(model->tasks, "pairs") : NULL;
    return !name || name[strlen("pairs")] != '-';
}

static void set_up(pk_pairs *s, const pk_source *src) {
    const pk_conventions *model = src->model;
    s->src = *src;
    if (s->src.n_best < 1) s->src.n_best = 1;
    s->both_ends = writes_from_both_ends(model);
    s->scored = s->size > 1 || src->want_scores;
    s->longest = pk_pairs_longest(&s->options, src, src->n_prefix);
    s->steps = pk_pairs_steps(src, s->longest, src->n_prefix);
    s->enough = outputs_of(s);
    s->penalty = s->length_penalty > UNSET ? s->length_penalty : model->length_penalty;
    s->given = pk_chain_begin(src, false, false);
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    pk_pairs *s = p;
    (void)self;
    if (src->n_prefix > src->n_free_prefix)
        PK_FAIL(PK_UNSUPPORTED, "pairs cannot be given the beginning of a translation: leave the "
                                "prefix out, or use a model that writes one token after the other");
    set_up(s, src);
    const pk_status status = pk_pairs_take(s);
    if (status != PK_OK) {
        pk_pairs_give(s);
        return status;
    }
    s->n = src->n_prefix;
    s->n_live = 1;
    s->live[0] = (pk_pair_hypothesis){ .tip = PK_NO_PAIR };
    return PK_OK;
}

/* Steps that the device may take by itself: with one hypothesis, while all asks of them are alike.
 * That ends where the end symbol is no longer banned. */
static int32_t steps_to_follow(const pk_pairs *s, const pk_pass *pass, const pk_ask *ask) {
    if (s->size > 1 || ask->n_target > 0 || ask->attention) return 0;
    const int32_t banned = s->constraint.min_length - 1 - s->n; /* tokens until then */
    int32_t       steps = s->steps - s->step;
    if (banned > 0) steps = smaller(steps, (banned + 1) / 2);
    return smaller(steps, pass->follow);
}

/* what follows hypothesis i, on both sides? Its last pair is fed, which at first are the symbols of
 * start and end; a language takes the place of the start. */
static void ask_after(const pk_pairs *s, pk_pass *pass, int32_t i, int32_t parent) {
    const int32_t tip = s->live[i].tip, given = s->src.n_prefix;
    const int32_t start = given ? s->src.prefix[given - 1] : s->src.model->start;
    const int32_t first[2] = { start, s->src.model->eos };
    for (int32_t side = 0; side < 2; side++) {
        pk_ask ask = { .hypothesis = i,
                       .token = (tip == PK_NO_PAIR ? first : s->nodes[tip].token)[side],
                       .pos = s->n + side,
                       .parent = parent,
                       .block = 1,
                       .top_k = top_k_of(s, s->src.model, side),
                       .logp = s->scored,
                       .attention = s->src.want_attention };
        pk_constraint_ask(&s->constraint, &s->special, &ask);
        ask.follow = steps_to_follow(s, pass, &ask);
        parent = pk_ask_add(pass, ask);
    }
}

static void propose(void *p, pk_pass *pass) {
    pk_pairs     *s = p;
    const int32_t parent = pk_chain_propose(&s->given, pass);
    if (pass->room - pass->n < 2) return; /* what is given filled the pass */
    s->first_ask = pass->n + 1;
    pk_constraint_list(&s->constraint, NULL, s->n, &s->special);
    for (int32_t i = 0; i < s->n_live; i++) ask_after(s, pass, i, parent);
}

/* c with one token more on a side, offered to a list; false: nothing behind it is better */
static bool offer(pk_pairs *s, pk_pair_candidate c, int32_t side, const pk_candidate *next,
                  const pk_weights *w) {
    if (next->token == PK_NO_TOKEN || !(next->logp > -INFINITY)) return false;
    c.token[side] = next->token;
    if (s->scored) {
        c.score += next->logp + w->search;
        c.logp[side] = next->logp + w->model;
    }
    return side ? pk_pairs_offer(s->candidates, &s->n_candidates, 3 * s->size, c)
                : pk_pairs_offer(s->left, &s->n_left, 2 * s->size, c);
}

/* all tokens of an answer, which come best first */
static void offer_all(pk_pairs *s, pk_pair_candidate c, const pk_pass *pass, int32_t side) {
    const int32_t    ask = s->first_ask + 2 * c.hypothesis + side;
    const pk_answer *a = &pass->answer[ask];
    const pk_weights w = pk_constraint_weights(&s->constraint, &s->special, a);
    for (int32_t j = 0; j < pass->ask[ask].top_k; j++)
        if (!offer(s, c, side, &a->top[j], &w)) break;
}

/* DoubleTopK of the paper: the two sides are taken for independent of each other */
static void collect(pk_pairs *s, const pk_pass *pass) {
    s->n_left = s->n_candidates = 0;
    for (int32_t i = 0; i < s->n_live; i++)
        offer_all(s, (pk_pair_candidate){ .hypothesis = i, .score = s->live[i].score }, pass, 0);
    for (int32_t i = 0; i < s->n_left; i++) offer_all(s, s->left[i], pass, 1);
}

/* the candidates become endings and live hypotheses; true when the search is over */
static bool advance(pk_pairs *s) {
    const int32_t kept = pk_pairs_advance(s);
    if (kept == 0 || s->n_ended >= s->enough) return true;
    pk_pair_hypothesis *was = s->live;
    s->live = s->next;
    s->next = was;
    s->n_live = kept;
    s->n += 2;
    s->step++;
    return false;
}

/* the device took these steps: each found the one candidate that greedy search has */
static bool advance_all(pk_pairs *s, const pk_answer *left, const pk_answer *right) {
    static const pk_weights none = { 0 };
    bool                    done = false;
    for (int32_t i = 0; i < left->n_found && !done; i++) {
        s->n_left = s->n_candidates = 0;
        if (offer(s, (pk_pair_candidate){ .score = s->live[0].score }, 0, &left->found[i], &none))
            offer(s, s->left[0], 1, &right->found[i], &none);
        done = advance(s);
    }
    return done;
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    pk_pairs *s = p;
    if (!pk_chain_absorb(&s->given, pass, &s->given_output)) {
        pk_keep(verdict, pass->n); /* nothing asked but what is given */
        return;
    }
    const pk_answer *last = &pass->answer[pass->n];
    if (last->n_found) {
        verdict->done = advance_all(s, last - 1, last);
        if (!verdict->done) pk_keep(verdict, pass->n);
    } else {
        collect(s, pass);
        pk_pairs_keep_attention(s, pass);
        verdict->done = advance(s);
        for (int32_t i = 0; !verdict->done && i < s->n_live; i++)
            pk_keep(verdict, s->first_ask + 2 * s->live[i].from + 1);
    }
    if (verdict->done) pk_pairs_write(s);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const pk_pairs *s = p;
    const int32_t   n = smaller(s->n_written, room);
    for (int32_t i = 0; i < n; i++) pk_output_view(&s->written[i], &out[i]);
    return n;
}

const pk_strategy pk_strategy_pairs = {
    .name = "pairs",
    .help = "two tokens a step, with models trained for it (task pairs, pairs-lr or pairs-rl)",
    .options = options,
    .needs = "pairs",
    .state_size = sizeof(pk_pairs),
    .check = check,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
