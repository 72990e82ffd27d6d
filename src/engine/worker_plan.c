/* worker_plan.c - how much memory a worker's session is given: for usual sentences, and for one
 * worst case. */
#include "engine/worker_plan.h"

pk_conventions pk_plan_conventions(const pk_config *c) {
    return (pk_conventions){ .tasks = pk_config_tasks(c),
                             .vocab = pk_config_text(c),
                             .start = c->start,
                             .eos = c->eos,
                             .unk = c->unk,
                             .max_positions = c->max_target,
                             .forced_eos = c->forced_eos >= 0,
                             .renormalise = c->renormalise,
                             .suppressed = c->suppressed,
                             .n_suppressed = c->n_suppressed,
                             .beams = c->beams,
                             .no_repeat_ngram = c->no_repeat_ngram,
                             .early_stopping = c->early_stopping,
                             .length_penalty = c->length_penalty,
                             .repetition_penalty = c->repetition_penalty };
}

/* what a sentence may ask of the model, or of its drafter */
static pk_strategy_limits limits_of(const pk_plan *p, const pk_conventions *model, bool drafter,
                                    int32_t max_source, int32_t n_prefix, int32_t n_forced) {
    const pk_source worst = { .model = model,
                              .n_tokens = max_source,
                              .max_length = model->max_positions,
                              .n_prefix = n_prefix,
                              .n_forced = n_forced,
                              .n_best = p->n_best };
    return (drafter ? p->strategy->draft_limits : p->strategy->limits)(p->strategy, p->options,
                                                                       &worst);
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

pk_strategy_limits pk_plan_larger(pk_strategy_limits a, pk_strategy_limits b) {
    return (pk_strategy_limits){ larger(a.asks, b.asks), larger(a.hypotheses, b.hypotheses),
                                 larger(a.slots, b.slots), larger(a.top_k, b.top_k),
                                 larger(a.edges, b.edges) };
}

enum {
    USUAL_LENGTH = 128,
    VISIBLE = 16 << 20 /* slots listed in a pass, 64 MB: far more than usual sentences see */
};

/* Room for the lists of a pass: for all asks there can be, but no more than VISIBLE, unless one
 * sentence alone may need more. */
static int32_t visible_slots(int64_t one_sentence, int64_t all) {
    int64_t n = all < VISIBLE ? all : VISIBLE;
    if (n < one_sentence) n = one_sentence;
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

/* Memory is planned for usual sentences and for one worst case; more than that waits its turn. */
static pk_session_limits plan_session(const pk_worker_options *o, const pk_config *c,
                                      pk_strategy_limits usual, pk_strategy_limits worst,
                                      int32_t at_once) {
    pk_session_limits m = { .sentences = o->batch,
                            .source_length = o->max_source,
                            .hypotheses = worst.hypotheses,
                            .path = c->max_target + worst.asks,
                            .top_k = larger(worst.top_k, 1) };
    m.source_tokens = larger(o->batch_tokens, o->max_source);
    m.encode_tokens = larger(o->max_source, m.source_tokens < at_once ? m.source_tokens : at_once);
    const int32_t length = o->usual_length ? o->usual_length : USUAL_LENGTH;
    m.slots = larger(worst.slots, o->batch * usual.hypotheses * length) + usual.asks;
    m.asks = o->batch * usual.asks + worst.asks;
    if (m.asks > m.slots) m.asks = m.slots; /* each takes a slot: there cannot be more in a pass */
    /* an ask may list its whole history twice: banned, and as targets */
    const int32_t listed = 2 * (c->max_target + c->n_suppressed) + 6;
    m.listed = larger(worst.asks * listed,
                      m.asks * (2 * c->n_suppressed + 6) + o->batch * worst.hypotheses * listed);
    m.edge_tokens = worst.edges;
    m.edge_rows = worst.edges ? larger(worst.edges, at_once) : 0;
    m.visible = visible_slots((int64_t)worst.asks * m.path, (int64_t)m.asks * m.path);
    return m;
}

pk_strategy_limits pk_plan_network(const pk_worker_options *o, const pk_conventions *model,
                                   const pk_config *c, int32_t at_once, bool drafter,
                                   pk_session_limits *out) {
    const int32_t            source = o->max_source, target = c->max_target;
    const pk_strategy_limits usual = limits_of(&o->plan, model, drafter, source, 0, 0);
    const pk_strategy_limits prefixed = limits_of(&o->plan, model, drafter, source, target - 1, 0);
    pk_strategy_limits       worst = pk_plan_larger(prefixed, usual);
    if (!drafter) /* scoring has none, nor has what comes behind a loop */
        worst = pk_plan_larger(worst, limits_of(&o->scoring, model, false, source, 0, target));
    if (!drafter && o->plan.again) {
        const pk_plan *again = o->plan.again;
        worst = pk_plan_larger(worst, limits_of(again, model, false, source, 0, 0));
        worst = pk_plan_larger(worst, limits_of(again, model, false, source, target - 1, 0));
    }
    *out = plan_session(o, c, usual, worst, at_once);
    if (o->shortlist[drafter]) out->shortlist = o->shortlist[drafter]->longest;
    return worst;
}
