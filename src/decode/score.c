/* score.c - how probable is a given output? A chain of asks, in one pass where it fits; the
 * target of each is the next given token. Gives the log-probability of every forced token (the
 * end symbol is one of them, when the caller put it there) and their sum. Tokens that are no
 * part of the text count as certain. */
#include "base/memory.h"
#include "decode/chain.h"

typedef struct state {
    pk_chain  forced;
    pk_output out;
} state;

static const pk_option options[] = { { 0 } };

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    (void)self, (void)p;
    return (pk_strategy_limits){ .asks = src->n_forced, .hypotheses = 1, .slots = src->n_forced };
}

static void end(void *p) { pk_output_end(&((state *)p)->out); }

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    (void)self;
    if (!src->forced || src->n_forced < 1)
        PK_FAIL(PK_ARGUMENT, "nothing to score: give a translation of at least the end symbol");
    s->forced = pk_chain_begin(src, true, true);
    const pk_status status = pk_output_begin(&s->out, src, src->n_forced);
    if (status != PK_OK) end(s);
    return status;
}

static void propose(void *p, pk_pass *pass) { pk_chain_propose(&((state *)p)->forced, pass); }

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state        *s = p;
    const int32_t first = s->out.n;
    pk_chain_absorb(&s->forced, pass, &s->out);
    for (int32_t i = first; i < s->out.n; i++) s->out.score += s->out.logp[i];
    verdict->done = s->forced.fed == s->forced.n;
    if (!verdict->done) pk_keep(verdict, pass->n); /* the pass was too small for all of it */
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    if (room < 1) return 0;
    pk_output_view(&((const state *)p)->out, out);
    return 1;
}

const pk_strategy pk_strategy_score = {
    .name = "score",
    .help = "log-probability of a given output",
    .options = options,
    .state_size = sizeof(state),
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
