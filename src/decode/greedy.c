/* greedy.c - take the most probable token, one at a time.
 *
 * One ask per pass (the first pass also feeds the prefix). A device may compute several steps by
 * itself: then one ask brings several tokens (`follow`). Without scores the ask wants the best
 * logit only, and no sum over the vocabulary. The repetition penalty works on logits, as in
 * Hugging Face's generate(). */
#include "decode/greedy.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

typedef pk_greedy state;

// clang-format off
static const pk_option options[] = { PK_CONSTRAINT_OPTIONS(state, options), { 0 } };
// clang-format on

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state *s = p;
    (void)self;
    return (pk_strategy_limits){ .asks = src->n_prefix + 1,
                                 .hypotheses = 1,
                                 .slots = pk_constraint_max_length(&s->options, src),
                                 .top_k = 1 };
}

static void end(void *p) {
    state *s = p;
    pk_constraint_end(&s->constraint);
    pk_output_end(&s->out);
    pk_memory_give(s->special.token);
    pk_memory_give(s->history);
    s->special.token = s->history = NULL;
}

/* all memory of the sentence; what was taken before a failure is given back by end() */
static pk_status take(state *s) {
    const pk_constraint_rules rules = { .of_model = true,
                                        .on_logits = true,
                                        .with_start = true,
                                        .renormalise =
                                            s->src.model->renormalise && s->src.want_scores };
    PK_TRY(pk_constraint_begin(&s->constraint, &s->options, &s->src, rules));
    PK_TRY(PK_TAKE(&s->special.token, (size_t)s->constraint.room));
    PK_TRY(pk_output_begin(&s->out, &s->src, s->constraint.max_length));
    return PK_TAKE(&s->history, (size_t)s->constraint.max_length + 1);
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    (void)self;
    s->src = *src;
    s->prefix = pk_chain_begin(src, false, src->want_scores);
    const pk_status status = take(s);
    if (status != PK_OK) {
        end(s);
        return status;
    }
    s->history[0] = src->model->start;
    if (src->n_prefix)
        memcpy(s->history + 1, src->prefix, (size_t)src->n_prefix * sizeof *src->prefix);
    return PK_OK;
}

/* the last token, where the model's convention leaves no choice */
static bool must_end(const state *s, int32_t n) {
    return s->src.model->forced_eos && n == s->constraint.max_length - 1;
}

/* How many steps the device may take by itself. Only while every ask of them would be the same: no
 * ban depends on the tokens found, the end symbol stays banned or stays allowed, and nothing but
 * the best token is wanted. A forced end symbol is asked about separately. */
static int32_t steps_to_follow(const state *s, const pk_pass *pass, const pk_ask *ask, int32_t n) {
    const pk_constraint *c = &s->constraint;
    if (pk_constraint_looks_back(c) || ask->n_target > 0 || ask->attention) return 0;
    int32_t steps = c->max_length - n - s->src.model->forced_eos;
    if (n + 1 < c->min_length && c->min_length - 1 - n < steps) steps = c->min_length - 1 - n;
    return steps < pass->follow ? steps : pass->follow;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    const int32_t parent = pk_chain_propose(&s->prefix, pass);
    const int32_t n = s->out.n + s->prefix.asked; /* output tokens so far */
    if (pass->n == pass->room) return;            /* the prefix filled the pass */
    pk_ask ask = { .token = s->history[n],
                   .pos = n,
                   .parent = parent,
                   .logp = s->src.want_scores,
                   .attention = s->src.want_attention };
    if (must_end(s, n)) {
        ask.target = &s->src.model->eos;
        ask.n_target = s->src.want_scores;
    } else {
        pk_constraint_list(&s->constraint, s->history, n, &s->special);
        pk_constraint_ask(&s->constraint, &s->special, &ask);
        ask.top_k = 1;
        ask.follow = steps_to_follow(s, pass, &ask, n);
    }
    pk_ask_add(pass, ask);
}

/* takes one token; true when it was the last */
static bool take_token(state *s, pk_candidate next, const float *attention) {
    if (next.token == PK_NO_TOKEN) return true; /* all is banned: the output ends here */
    s->history[s->out.n + 1] = next.token;
    pk_output_add(&s->out, next.token, s->src.want_scores ? next.logp : 0, attention);
    return next.token == s->src.model->eos || s->out.n == s->constraint.max_length;
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state *s = p;
    pk_keep(verdict, pass->n);
    if (!pk_chain_absorb(&s->prefix, pass, &s->out)) return; /* nothing asked but the prefix */
    const pk_answer *a = &pass->answer[pass->n];
    /* the device followed: all its tokens become output, and only the last can be the end */
    for (int32_t i = 0; i < a->n_found; i++) verdict->done = take_token(s, a->found[i], NULL);
    if (a->n_found) return;
    pk_candidate next = { s->src.model->eos, 0 }; /* forced, unless there is a choice */
    if (!must_end(s, s->out.n))
        next = pk_constraint_best(&s->constraint, &s->special, a);
    else if (s->src.want_scores)
        next.logp = a->target_logp[0];
    verdict->done = take_token(s, next, a->attention);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_output_single(&((const state *)p)->out, out, room);
}

const pk_strategy pk_strategy_greedy = {
    .name = "greedy",
    .help = "the most probable token each time; fastest",
    .options = options,
    .state_size = sizeof(state),
    .check = pk_strategy_check_single,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
