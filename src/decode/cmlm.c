/* cmlm.c - Mask-Predict (Ghazvininejad et al. 2019): a whole translation at once, made better in a
 * few passes, for each of the likeliest lengths.
 *
 * The first pass asks for lengths. Each iteration then feeds all tokens of all lengths, a block for
 * each: masks at first, later the tokens found but for masks where they are least certain. Only
 * masks are asked about. Nothing is kept from pass to pass. The end symbol stands behind each block
 * from the beginning, so it is banned inside. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "decode/constraint.h"
#include "decode/output.h"

enum { ITERATIONS = 4, MOST_ITERATIONS = 100, LENGTHS = 5, MOST_LENGTHS = 32 };
#define STOP_MAP(X) X(STOP_LAST, "last") X(STOP_UNCHANGED, "unchanged")
enum { STOP_MAP(PK_CHOICE_CONSTANT) };

typedef struct draft { /* a translation of one length */
    pk_output out;     /* its tokens so far; the end symbol is added when it is finished */
    bool     *masked;  /* (longest) */
    int32_t   n;       /* tokens, without the end symbol */
    int32_t   ask;     /* the first ask of its block, in the pass in flight */
    float     length;  /* log-probability of its length */
    bool      fixed;   /* not asked about any more */
} draft;

typedef struct state {
    pk_constraint_options  options;
    int32_t                iterations, lengths, stop;
    float                  length_weight;
    pk_source              src;
    pk_constraint          constraint;
    pk_special             special; /* bans of all masks: they are the same */
    const pk_added_tokens *mask, *group;
    draft                 *drafts;  /* (lengths); once done, best first */
    int32_t                n, room; /* drafts there are, and at most */
    int32_t                step;    /* iterations done; -1: the lengths are not known */
    int32_t                longest; /* tokens of a draft */
    int32_t               *banned;  /* (n_banned) lengths that are not allowed */
    int32_t                n_banned;
} state;

static const char *const stop_choices[] = { STOP_MAP(PK_CHOICE_WORD) NULL };
// clang-format off
static const pk_option options[] = {
    { "iterations", "passes over the whole translation",
      PK_OPTION_INT, 1, ITERATIONS, MOST_ITERATIONS, NULL, offsetof(state, iterations) },
    { "lengths", "lengths that are tried; the best translation of all counts",
      PK_OPTION_INT, 1, LENGTHS, MOST_LENGTHS, NULL, offsetof(state, lengths) },
    { "length_weight", "of the length's log-probability in the score; 0: tokens alone",
      PK_OPTION_FLOAT, 0, 1, 100, NULL, offsetof(state, length_weight) },
    { "stop", "after the last iteration, or when one changes no token",
      PK_OPTION_CHOICE, 0, STOP_LAST, 0, stop_choices, offsetof(state, stop) },
    PK_LENGTH_OPTIONS(state, options),
    { 0 },
};
// clang-format on

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    const state *s = p;
    (void)self;
    if (n_best > s->lengths)
        PK_FAIL(PK_ARGUMENT,
                "cmlm: %d hypotheses are wanted but %d lengths are tried; raise lengths (at most "
                "%d) or ask for fewer",
                (int)n_best, (int)s->lengths, MOST_LENGTHS);
    return PK_OK;
}

static pk_status fits(const pk_strategy *self, const void *p, const pk_conventions *model) {
    (void)self, (void)p;
    if (!pk_added_find(model, "<mask>") || !pk_added_find(model, "length"))
        PK_FAIL(PK_UNSUPPORTED, "cmlm: the model has no tokens for masks and lengths");
    if (model->max_positions < 3)
        PK_FAIL(PK_UNSUPPORTED, "cmlm: the model has too few target positions");
    return PK_OK;
}

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t at_least(int32_t a, int32_t b) { return a > b ? a : b; }

/* Tokens of the longest draft, without its end symbol: within max_length and the lengths and
 * positions there are. Something comes behind a prefix even where it fills max_length. */
static int32_t longest_of(const state *s, const pk_source *src) {
    const int32_t known = pk_added_find(src->model, "length")->count;
    const int32_t room = pk_constraint_max_length(&s->options, src) - 1;
    return at_most(at_least(room, src->n_prefix + 1),
                   at_most(known, src->model->max_positions - 2));
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state  *s = p;
    const int32_t asks = s->lengths * (longest_of(s, src) + 1);
    (void)self;
    return (pk_strategy_limits){
        .asks = asks,
        .hypotheses = 1, /* all lengths have the same history, the empty one */
        .slots = asks,
        .top_k = s->lengths,
    };
}

static void end(void *p) {
    state *s = p;
    pk_constraint_end(&s->constraint);
    for (int32_t i = 0; s->drafts && i < s->room; i++) {
        pk_output_end(&s->drafts[i].out);
        pk_memory_give(s->drafts[i].masked);
    }
    pk_memory_give(s->drafts);
    pk_memory_give(s->special.token);
    pk_memory_give(s->banned);
    s->drafts = NULL;
    s->special.token = s->banned = NULL;
}

static pk_status take(state *s) {
    const pk_constraint_rules rules = { .on_logits = true,
                                        .renormalise = s->src.model->renormalise };
    pk_constraint_options     o = s->options;
    o.min_length = INT32_MAX; /* the end symbol is banned everywhere: the length says where it is */
    PK_TRY(pk_constraint_begin(&s->constraint, &o, &s->src, rules));
    PK_TRY(PK_TAKE(&s->special.token, (size_t)s->constraint.room));
    PK_TRY(PK_TAKE(&s->banned, (size_t)s->group->count));
    PK_TRY(PK_TAKE(&s->drafts, (size_t)s->room));
    for (int32_t i = 0; i < s->room; i++) {
        PK_TRY(PK_TAKE(&s->drafts[i].masked, (size_t)s->longest));
        PK_TRY(pk_output_begin(&s->drafts[i].out, &s->src, s->longest + 1));
    }
    return PK_OK;
}

/* answers about lengths count from 0, which is a length of 1 */
static void ban_lengths(state *s) {
    const int32_t wanted = at_least(s->options.min_length - 1, s->src.n_prefix + 1);
    const int32_t shortest = at_most(wanted, s->longest);
    for (int32_t n = 1; n <= s->group->count; n++)
        if (n < shortest || n > s->longest) s->banned[s->n_banned++] = n - 1;
}

/* step -1 asks for the lengths; from 0 on drafts are filled */
static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    (void)self;
    s->src = *src;
    s->mask = pk_added_find(src->model, "<mask>");
    s->group = pk_added_find(src->model, "length");
    s->longest = longest_of(s, src);
    s->room = s->lengths;
    s->step = -1;
    const pk_status status = take(s);
    if (status != PK_OK) {
        end(s);
        return status;
    }
    if (src->n_prefix >= s->longest) {
        end(s);
        PK_FAIL(PK_ARGUMENT,
                "the output must begin with %d tokens but may have only %d: shorten "
                "the prefix",
                (int)src->n_prefix, (int)s->longest);
    }
    ban_lengths(s);
    pk_constraint_list(&s->constraint, NULL, 0, &s->special);
    return PK_OK;
}

/* One block: all positions of this length and the end symbol, which stands behind them from the
 * beginning. Only masks are asked for anything. */
static void ask_draft(state *s, pk_pass *pass, int32_t number) {
    draft  *d = &s->drafts[number];
    int32_t parent = 0;
    d->ask = pass->n + 1;
    for (int32_t i = 0; i <= d->n; i++) {
        const bool masked = i < d->n && d->masked[i];
        pk_ask     ask = { .pos = i + 1, .parent = parent, .block = 1 + number };
        ask.token = masked ? s->mask->first : i < d->n ? d->out.token[i] : s->src.model->eos;
        if (masked) {
            pk_constraint_ask(&s->constraint, &s->special, &ask);
            ask.top_k = 1;
            ask.ahead = -1;
            ask.logp = true;
            ask.attention = s->src.want_attention;
        }
        parent = pk_ask_add(pass, ask);
    }
}

/* lengths that are too long, or too short for the prefix, are banned from the answer */
static void propose(void *p, pk_pass *pass) {
    state *s = p;
    if (s->step < 0) {
        pk_ask_add(pass, (pk_ask){ .token = s->mask->first,
                                   .group = s->group->group,
                                   .top_k = at_most(s->lengths, s->group->count),
                                   .logp = true,
                                   .ban = s->banned,
                                   .n_ban = s->n_banned });
        return;
    }
    for (int32_t i = 0; i < s->n; i++)
        if (!s->drafts[i].fixed) ask_draft(s, pass, i);
}

/* a draft for each length: the prefix, and masks behind it */
static void take_lengths(state *s, const pk_pass *pass) {
    const pk_answer *a = &pass->answer[1];
    for (int32_t i = 0; i < pass->ask[1].top_k && a->top[i].token != PK_NO_TOKEN; i++) {
        draft *d = &s->drafts[s->n++];
        d->n = a->top[i].token + 1;
        d->length = a->top[i].logp;
        for (int32_t j = 0; j < d->n; j++) {
            d->masked[j] = j >= s->src.n_prefix;
            pk_output_add(&d->out, d->masked[j] ? s->mask->first : s->src.prefix[j], 0, NULL);
        }
    }
}

/* The masks become tokens. Bans are the same everywhere: where nothing is allowed at one mask,
 * nothing is at any, and the translation is the prefix. */
static void fill(state *s, const pk_pass *pass, draft *d) {
    bool changed = false;
    for (int32_t i = 0; i < d->n; i++) {
        if (!d->masked[i]) continue;
        const pk_answer   *a = &pass->answer[d->ask + i];
        const pk_candidate best = pk_constraint_best(&s->constraint, &s->special, a);
        d->fixed = best.token == PK_NO_TOKEN;
        if (d->fixed) {
            d->n = d->out.n = s->src.n_prefix;
            return;
        }
        changed |= best.token != d->out.token[i];
        pk_output_put(&d->out, i, best.token, best.logp, a->attention);
    }
    d->fixed = s->stop == STOP_UNCHANGED && !changed;
}

/* Masks the least certain tokens: as many as this share of those that are not given, but one at
 * least. Of equally certain ones the first is masked. */
static void mask_again(const state *s, draft *d) {
    const int32_t given = s->src.n_prefix, open = d->n - given;
    const int32_t n = at_least(open * (s->iterations - s->step) / s->iterations, 1);
    memset(d->masked, 0, (size_t)d->n * sizeof *d->masked);
    for (int32_t k = 0; k < n; k++) {
        int32_t worst = -1;
        for (int32_t i = given; i < d->n; i++)
            if (!d->masked[i] && (worst < 0 || d->out.logp[i] < d->out.logp[worst])) worst = i;
        d->masked[worst] = true;
    }
}

/* The score is the mean log-probability of what was not given. The length is part of that: a model
 * is as sure of a translation without its last words as of the whole. The end symbol closes what it
 * fits into. */
static void finish(const state *s, draft *d) {
    const int32_t given = s->src.n_prefix;
    float         sum = s->length_weight * d->length;
    for (int32_t i = given; i < d->n; i++) sum += d->out.logp[i];
    d->out.score = d->n > given ? sum / (float)(d->n - given) : 0;
    if (!s->src.want_scores) memset(d->out.logp, 0, (size_t)d->n * sizeof *d->out.logp);
    if (d->n > given && d->n < s->constraint.max_length)
        pk_output_add(&d->out, s->src.model->eos, 0, NULL);
}

/* best first; of equal ones the likelier length */
static void sort(state *s) {
    for (int32_t i = 1; i < s->n; i++) {
        const draft d = s->drafts[i];
        int32_t     at = i;
        for (; at > 0 && d.out.score > s->drafts[at - 1].out.score; at--)
            s->drafts[at] = s->drafts[at - 1];
        s->drafts[at] = d;
    }
}

/* Nothing is kept between passes: the next one feeds all tokens again. Masks are chosen anew when
 * all drafts of this step are filled, and not after the last step. */
static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state  *s = p;
    int32_t open = 0;
    if (s->step < 0)
        take_lengths(s, pass);
    else
        for (int32_t i = 0; i < s->n; i++)
            if (!s->drafts[i].fixed) fill(s, pass, &s->drafts[i]);
    s->step++;
    for (int32_t i = 0; i < s->n; i++) open += !s->drafts[i].fixed;
    verdict->done = open == 0 || s->step == s->iterations;
    if (!verdict->done) pk_keep_empty(verdict);
    for (int32_t i = 0; i < s->n; i++) {
        if (verdict->done)
            finish(s, &s->drafts[i]);
        else if (s->step > 0 && !s->drafts[i].fixed)
            mask_again(s, &s->drafts[i]);
    }
    if (verdict->done) sort(s);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const state  *s = p;
    const int32_t n = at_most(at_most(s->n, s->src.n_best > 1 ? s->src.n_best : 1), room);
    for (int32_t i = 0; i < n; i++) pk_output_view(&s->drafts[i].out, &out[i]);
    return n;
}

const pk_strategy pk_strategy_cmlm = {
    .name = "cmlm",
    .help = "all tokens at once, made better in a few passes (Mask-Predict)",
    .options = options,
    .needs = "cmlm",
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
