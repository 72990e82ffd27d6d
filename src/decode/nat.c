/* nat.c - every token by itself, from the source and its position alone: plain non-autoregressive
 * translation (Gu et al. 2018), which a lattice is compared with.
 *
 * One pass: a start symbol for each position of the longest output, which sees itself alone, is asked
 * for its best token and for the end symbol. Lengths come from counts, as those of a lattice; the
 * best sum of log-probabilities decides among them. */
#include "base/memory.h"
#include "decode/length_range.h"
#include "decode/output.h"

typedef struct state {
    int32_t         delta; /* option */
    pk_source       src;
    pk_length_range length;
    pk_output       out;
} state;

static const pk_option options[] = {
    { "delta", "lengths that are tried: the expected one, and so many tokens less or more",
      PK_OPTION_INT, 0, 3, 64, NULL, offsetof(state, delta) },
    { 0 },
};

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    (void)self, (void)p;
    const int32_t positions = src->max_length > src->n_prefix ? src->max_length : 1;
    return (
        pk_strategy_limits){ .asks = positions, .hypotheses = 1, .slots = positions, .top_k = 1 };
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    if (!src->lexicon) PK_FAIL(PK_UNSUPPORTED, "%s needs a model with candidates", self->name);
    s->src = *src;
    s->length = pk_length_range_of(src, s->delta);
    return pk_output_begin(&s->out, src, s->length.longest + 1);
}

static void end(void *p) { pk_output_end(&((state *)p)->out); }

/* the end symbol is asked about, and stands nowhere else */
static void propose(void *p, pk_pass *pass) {
    const state   *s = p;
    const int32_t *end_symbol = &s->src.model->eos;
    for (int32_t t = s->src.n_prefix; t <= s->length.longest; t++)
        pk_ask_add(pass, (pk_ask){ .token = s->src.model->start,
                                   .pos = t,
                                   .top_k = 1,
                                   .logp = true,
                                   .attention = s->src.want_attention,
                                   .ban = end_symbol,
                                   .n_ban = 1,
                                   .target = end_symbol,
                                   .n_target = 1 });
}

static const pk_answer *answer_at(const state *s, const pk_pass *pass, int32_t t) {
    return &pass->answer[t - s->src.n_prefix + 1];
}

/* the length with the highest sum; of equal ones the shortest */
static int32_t best_length(state *s, const pk_pass *pass) {
    float   sum = 0;
    int32_t best = -1;
    for (int32_t n = s->src.n_prefix; n <= s->length.longest; n++) {
        const float whole = sum + answer_at(s, pass, n)->target_logp[0];
        if (n >= s->length.shortest && (best < 0 || whole > s->out.score))
            s->out.score = whole, best = n;
        sum += answer_at(s, pass, n)->top[0].logp;
    }
    return best;
}

static void put(state *s, int32_t token, float logp, const float *attention) {
    pk_output_add(&s->out, token, s->src.want_scores ? logp : 0, attention);
}

/* where all is banned, the output ends */
static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state        *s = p;
    const int32_t n = best_length(s, pass);
    verdict->done = true;
    for (int32_t t = 0; t < s->src.n_prefix; t++) put(s, s->src.prefix[t], 0, NULL);
    for (int32_t t = s->src.n_prefix; t < n; t++) {
        const pk_answer *a = answer_at(s, pass, t);
        if (a->top[0].token == PK_NO_TOKEN) return;
        put(s, a->top[0].token, a->top[0].logp, a->attention);
    }
    const pk_answer *a = answer_at(s, pass, n);
    put(s, s->src.model->eos, a->target_logp[0], a->attention);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    if (room < 1) return 0;
    pk_output_view(&((const state *)p)->out, out);
    return 1;
}

const pk_strategy pk_strategy_nat = {
    .name = "nat",
    .help = "every token by itself, in one pass (models of task nat)",
    .options = options,
    .needs = "nat",
    .looks_up = true,
    .state_size = sizeof(state),
    .check = pk_strategy_check_single,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
