/* hrt.c - hybrid-regressive translation (Wang et al. 2022), in two stages.
 *
 * Stage one writes every k-th token, one after the other: greedy or beam search, as they are, on a
 * model that begins with <bos:k> and whose positions are k apart. Stage two feeds what was found
 * with masks before each token, a block for each candidate, and fills all masks in one pass. A
 * prefix is given to both stages. */
#include "base/memory.h"
#include "decode/beam_state.h"
#include "decode/fill.h"
#include "decode/greedy.h"

enum { MOST_K = 8, MOST_SIZE = 32 };

typedef struct state {
    pk_constraint_options options;
    int32_t               k, b_at, b_nat;
    float                 length_penalty;
    pk_source             src, first_src; /* of the sentence, and as stage one sees it */
    pk_conventions        first_model;
    pk_greedy             greedy; /* stage one is one of these */
    pk_beam               beam;
    int32_t              *given; /* (first_src.n_prefix) every k-th token of the prefix */
    pk_fill               fill;  /* stage two */
    bool                  filling;
} state;

// clang-format off
static const pk_option options[] = {
    { "k", "tokens for each step of stage one; auto: the fewest the model has learned",
      PK_OPTION_INT, 2, 0, MOST_K, NULL, offsetof(state, k) },
    { "b_at", "beam of stage one; 1: greedy",
      PK_OPTION_INT, 1, 1, MOST_SIZE, NULL, offsetof(state, b_at) },
    { "b_nat", "its best ones that stage two fills; at most b_at",
      PK_OPTION_INT, 1, 1, MOST_SIZE, NULL, offsetof(state, b_nat) },
    { "length_penalty", "score = sum / length^penalty, in both stages",
      PK_OPTION_FLOAT, -100, 0.6, 100, NULL, offsetof(state, length_penalty) },
    PK_LENGTH_OPTIONS(state, options),
    { 0 },
};
// clang-format on

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t at_least(int32_t a, int32_t b) { return a > b ? a : b; }

/* ---- model and options ---- */

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    const state *s = p;
    (void)self;
    if (s->b_nat > s->b_at)
        PK_FAIL(PK_ARGUMENT,
                "hrt: b_nat is %d but b_at is %d; stage two fills what stage one found",
                (int)s->b_nat, (int)s->b_at);
    if (n_best > s->b_nat)
        PK_FAIL(PK_ARGUMENT,
                "hrt: %d hypotheses are wanted but b_nat is %d; raise b_at and b_nat (at most %d) "
                "or ask for fewer",
                (int)n_best, (int)s->b_nat, MOST_SIZE);
    return PK_OK;
}

static const pk_added_tokens *start_of(const pk_conventions *model, int32_t k) {
    char name[] = "<bos:0>";
    name[5] = (char)('0' + k);
    return pk_added_find(model, name);
}

static int32_t k_of(const state *s, const pk_conventions *model) {
    int32_t k = s->k ? s->k : 2;
    while (!s->k && k < MOST_K && !start_of(model, k)) k++;
    return k;
}

/* says which k the model has a first token for: these were trained */
static pk_status refuse_k(int32_t k, const pk_conventions *model) {
    pk_buffer known = { 0 };
    for (int32_t i = 2; i <= MOST_K; i++)
        if (start_of(model, i)) pk_buffer_print(&known, "%s%d", known.size ? ", " : "", (int)i);
    const pk_status status =
        pk_fail_with(PK_UNSUPPORTED, "hrt: the model was not trained for k=%d; it has: %s", (int)k,
                     known.data ? known.data : "none");
    pk_buffer_free(&known);
    return status;
}

static pk_status fits(const pk_strategy *self, const void *p, const pk_conventions *model) {
    const int32_t k = k_of(p, model);
    (void)self;
    if (!pk_added_find(model, "<mask>"))
        PK_FAIL(PK_UNSUPPORTED, "hrt: the model has no token for masks");
    if (!start_of(model, k)) return refuse_k(k, model);
    if (model->max_positions <= k)
        PK_FAIL(PK_UNSUPPORTED, "hrt: the model has too few target positions");
    return PK_OK;
}

/* Steps of stage one: max_length / k, so that stage two is no longer than max_length. */
static int32_t steps_of(const state *s, const pk_source *src, int32_t k) {
    const int32_t room =
        at_most(pk_constraint_max_length(&s->options, src), src->model->max_positions - 1);
    return at_least(room / k, src->n_prefix / k + 1);
}

/* ---- stage one ---- */

static const pk_strategy *first_of(const state *s) {
    return s->b_at > 1 ? &pk_strategy_beam : &pk_strategy_greedy;
}

static void *inner(state *s) { return s->b_at > 1 ? (void *)&s->beam : (void *)&s->greedy; }

/* What the model's makers recommend against repetition is about neighbours, which stage one does
 * not see. */
static void set_options(state *s, int32_t k) {
    const int32_t shortest = at_least(s->options.min_length, 0);
    s->greedy.options = (pk_constraint_options){ .min_length = (shortest + k - 1) / k,
                                                 .unk = s->options.unk,
                                                 .repetition_penalty = 1 };
    s->beam.options = s->greedy.options;
    s->beam.size = s->b_at;
    s->beam.rules = PK_BEAM_HF;
    s->beam.length_penalty = s->length_penalty;
    s->beam.patience = 1;
}

/* the sentence as stage one sees it: every k-th token of everything */
static pk_source first_source(const state *s, const pk_source *src, int32_t k) {
    pk_source first = *src;
    first.max_length = steps_of(s, src, k);
    first.n_prefix = src->n_prefix / k;
    first.n_free_prefix = src->n_free_prefix / k;
    first.n_best = s->b_nat;
    return first;
}

/* stage two asks for all positions of b_nat candidates at once, which is more than stage one */
static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    state         s = *(const state *)p;
    const int32_t k = k_of(&s, src->model), wide = s.b_nat * k * steps_of(&s, src, k);
    (void)self;
    set_options(&s, k);
    const pk_source    first = first_source(&s, src, k);
    pk_strategy_limits most = first_of(&s)->limits(first_of(&s), inner(&s), &first);
    most.asks = at_least(most.asks, wide);
    most.slots = at_least(most.slots, wide);
    return most;
}

/* ---- one sentence ---- */

static void end(void *p) {
    state *s = p;
    first_of(s)->end(inner(s));
    pk_fill_end(&s->fill);
    pk_memory_give(s->given);
    s->given = NULL;
}

/* The longest output of stage two is a multiple of k. A prefix can make it longer than max_length
 * asked for, but never longer than the model has positions. */
static pk_status begin_second(state *s) {
    const int32_t n = s->first_src.max_length * s->k;
    s->fill = (pk_fill){ .src = s->src,
                         .k = s->k,
                         .mask = pk_added_find(s->src.model, "<mask>")->first,
                         .length_penalty = s->length_penalty,
                         .room = s->b_nat };
    PK_TRY(pk_fill_begin(&s->fill, &s->options, n));
    if (n >= s->src.model->max_positions)
        PK_FAIL(PK_ARGUMENT,
                "the output must begin with %d tokens, and the model has %d positions: shorten the "
                "prefix",
                (int)s->src.n_prefix, (int)s->src.model->max_positions);
    return PK_OK;
}

/* Stage one is greedy or beam search that does not know of k: it is given every k-th token of the
 * prefix, and the token <bos:k> as its start. */
static pk_status begin_first(state *s) {
    PK_TRY(PK_TAKE(&s->given, (size_t)s->first_src.n_prefix));
    for (int32_t i = 0; i < s->first_src.n_prefix; i++)
        s->given[i] = s->src.prefix[(i + 1) * s->k - 1];
    s->first_model = *s->src.model;
    s->first_model.start = start_of(s->src.model, s->k)->first;
    s->first_src.model = &s->first_model;
    s->first_src.prefix = s->given;
    set_options(s, s->k);
    return first_of(s)->begin(first_of(s), inner(s), &s->first_src);
}

/* stage two first: it knows the whole prefix, and so what is wrong with it */
static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    (void)self;
    s->src = *src;
    s->k = k_of(s, src->model);
    s->first_src = first_source(s, src, s->k);
    pk_status status = begin_second(s);
    if (status == PK_OK) status = begin_first(s);
    if (status != PK_OK) end(s);
    return status;
}

/* The inner search counts 0, 1, 2 ...: its positions become 0, k, 2k ... here. `ahead`: the
 * answer is for output position pos + k - 1. */
static void propose(void *p, pk_pass *pass) {
    state *s = p;
    if (s->filling) {
        pk_fill_propose(&s->fill, pass);
        return;
    }
    first_of(s)->propose(inner(s), pass);
    for (int32_t i = 1; i <= pass->n; i++) {
        pass->ask[i].pos *= s->k;
        pass->ask[i].stride = s->k;
        pass->ask[i].ahead = (int16_t)(s->k - 1);
    }
}

/* stage one is over; returns how many masks there are to fill */
static int32_t hand_over(state *s) {
    pk_hypothesis h[MOST_SIZE];
    const int32_t n = first_of(s)->result(inner(s), h, s->b_nat);
    s->filling = true;
    return pk_fill_take(&s->fill, h, n);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state *s = p;
    if (s->filling) {
        pk_fill_absorb(&s->fill, pass);
        verdict->done = true;
    } else {
        first_of(s)->absorb(inner(s), pass, verdict);
        if (!verdict->done) return;
        verdict->done = hand_over(s) == 0;
        verdict->n_hypotheses = 0; /* stage two begins with an empty history */
        if (!verdict->done) pk_keep_empty(verdict);
    }
    if (verdict->done) pk_fill_finish(&s->fill);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const state   *s = p;
    const pk_fill *f = &s->fill;
    const int32_t  n = at_most(at_most(f->n, at_least(s->src.n_best, 1)), room);
    for (int32_t i = 0; i < n; i++) pk_output_view(&f->list[i].out, &out[i]);
    return n;
}

const pk_strategy pk_strategy_hrt = {
    .name = "hrt",
    .help = "every k-th token in turn, then all others at once",
    .options = options,
    .needs = "hrt",
    .state_size = sizeof(state),
    .check = check,
    .fits = fits,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
