/* gad_beam.c - draft and verify for beam search: beam's output, several steps in a pass.
 *
 * A beam needs an answer for each of its hypotheses before it can take a step. A pass asks about
 * those there are and about those that it may have in its next steps: a tree of guesses behind
 * them. Then the steps of beam_step.c are taken as long as every hypothesis of the beam has its ask
 * in the tree. So the output is beam's by construction, whatever was guessed; guesses decide only
 * how many passes it takes.
 *
 *   hypothesis 1    c d      forecast: e or f  ->  c d e, c d f         forecast: g ...
 *   hypothesis 2    c h                e           c h e
 *
 * Guesses are what a beam search would keep if the model said again what it said, or what a drafter
 * says, after the most similar history (forecast.c). A chain of tokens behind the best hypothesis,
 * from a draft or from this document (guess.c), is asked about too, so that there is something to
 * go by. */
#include <string.h>

#include "base/memory.h"
#include "decode/beam_step.h"
#include "decode/draft_block.h"
#include "decode/draft_rates.h"
#include "decode/forecast.h"
#include "decode/guess.h"

enum { MOST_LEVELS = 16, LEVELS_AUTO = 8, CHAIN = 32, BLOCK = 12, MOST_WIDTH = 64, MEMORY = 2 };

typedef struct guessed { /* a candidate for the next level of the tree */
    int32_t ask, token;
    float   score;
} guessed;

typedef struct state {
    pk_beam         beam;          /* with its options */
    int32_t         levels, width; /* 0: auto */
    int32_t         init;
    int32_t         most_asks;
    pk_forecast     forecast;
    pk_guess        guess;
    pk_draft_block  draft;
    int32_t         drafted;    /* output tokens up to which the drafter has said something */
    bool            fresh;      /* it was asked since the last pass of the model */
    pk_draft_rates *rates, own; /* of the worker, or own */
    float          *score;      /* (asks of a pass) of an ask's hypothesis, as foreseen */
    int32_t        *hypothesis; /* (max_length + 1) the best one, start symbol first */
    int32_t         asked;      /* levels of the pass in flight */
    float   spent, drafting;    /* what it costs, and drafts for it, a pass without costing 1 */
    guessed best[MOST_WIDTH];
    int32_t n_best;
} state;

// clang-format off
static const pk_option options[] = {
    { "levels", "steps that are guessed at a time; auto: as many as pay, by measured cost and success",
      PK_OPTION_INT, 1, 0, MOST_LEVELS, NULL, offsetof(state, levels) },
    { "width", "hypotheses guessed for each of them; auto: size to twice that, by measured cost",
      PK_OPTION_INT, 1, 0, MOST_WIDTH, NULL, offsetof(state, width) },
    { "init", "where guesses come from, beside what the model said before; as in jacobi",
      PK_OPTION_CHOICE, 0, PK_INIT_AUTO, 0, pk_init_choices, offsetof(state, init) },
    PK_BEAM_OPTIONS(state, beam),
    { 0 }
};
// clang-format on

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    return pk_beam_check(self->name, &((const state *)p)->beam, n_best);
}

static int32_t most_levels(const state *s) { return s->levels ? s->levels : LEVELS_AUTO; }

static int32_t most_width(const state *s, int32_t size) {
    const int32_t width = s->width ? s->width : 2 * size;
    return width < MOST_WIDTH ? width : MOST_WIDTH;
}

/* asks that are guesses, at most */
static int32_t most_guesses(const state *s, int32_t size) {
    return most_levels(s) * most_width(s, size) + CHAIN;
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state       *s = p;
    pk_strategy_limits most = pk_beam_limits(&s->beam, src);
    const int32_t      guesses = most_guesses(s, most.hypotheses);
    (void)self;
    most.asks += guesses;
    most.slots += guesses;
    return most;
}

static pk_strategy_limits draft_limits(const pk_strategy *self, const void *p,
                                       const pk_source *src) {
    const state  *s = p;
    const int32_t longest = pk_constraint_max_length(&s->beam.options, src);
    (void)self;
    return pk_draft_limits(src, longest, BLOCK, pk_beam_limits(&s->beam, src).top_k);
}

static void end(void *p) {
    state *s = p;
    pk_guess_end(&s->guess);
    pk_draft_end(&s->draft);
    pk_beam_give(&s->beam);
    pk_forecast_end(&s->forecast);
    pk_memory_give(s->score);
    pk_memory_give(s->hypothesis);
    s->score = NULL;
    s->hypothesis = NULL;
}

static pk_status take(state *s, const pk_source *src, int32_t asks, int32_t top_k) {
    PK_TRY(pk_guess_begin(&s->guess, s->init, src));
    PK_TRY(pk_beam_begin(&s->beam, src, asks));
    PK_TRY(pk_forecast_begin(&s->forecast, MEMORY * asks, top_k));
    PK_TRY(PK_TAKE(&s->score, (size_t)asks));
    PK_TRY(PK_TAKE(&s->hypothesis, (size_t)s->beam.constraint.max_length + 1));
    return src->drafter ? pk_draft_begin(&s->draft, src, s->beam.constraint.max_length, BLOCK)
                        : PK_OK;
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state                   *s = p;
    const pk_strategy_limits one = pk_beam_limits(&s->beam, src);
    (void)self;
    s->rates = src->ngrams ? &src->ngrams->drafts : &s->own;
    if (s->rates->judged[0] == 0) s->rates->judged[0] = 20, s->rates->right[0] = 9; /* about half */
    s->most_asks = one.hypotheses + most_guesses(s, one.hypotheses);
    const pk_status status = take(s, src, s->most_asks, one.top_k);
    if (status != PK_OK) end(s);
    return status;
}

/* ---- the tree of guesses ---- */

/* the end of the history of ask i of the pass: it itself, what it follows, then its hypothesis */
static pk_context context_of(const state *s, const pk_pass *pass, int32_t i) {
    const pk_beam *b = &s->beam;
    pk_context     c = { .pos = pass->ask[i].pos };
    int32_t        node = PK_NO_NODE;
    for (; i >= b->first_ask && c.n < PK_CONTEXT; i = pass->ask[i].parent) {
        c.last[c.n++] = pass->ask[i].token;
        node = b->live[pass->ask[i].hypothesis].tip;
    }
    if (i < b->first_ask && node != PK_NO_NODE) node = b->nodes[node].before; /* the tip was fed */
    for (; i < b->first_ask && node != PK_NO_NODE && c.n < PK_CONTEXT; node = b->nodes[node].before)
        c.last[c.n++] = b->nodes[node].token;
    return c;
}

/* the ask about `token` behind ask `parent`; 0: there is none */
static int32_t find_ask(const pk_pass *pass, int32_t first, int32_t parent, int32_t token) {
    for (int32_t i = first; i <= pass->n; i++)
        if (pass->ask[i].parent == parent && pass->ask[i].token == token) return i;
    return 0;
}

/* start symbol, prefix, hypothesis, guesses up to ask `parent`, then `token`; NULL: not needed */
static const int32_t *trace(state *s, const pk_pass *pass, int32_t parent, int32_t token) {
    pk_beam      *b = &s->beam;
    const pk_ask *last = &pass->ask[parent];
    int32_t       n = last->pos + 1;
    if (!pk_constraint_looks_back(&b->constraint)) return NULL;
    b->history[n--] = token;
    for (; pass->ask[parent].parent >= b->first_ask; parent = pass->ask[parent].parent)
        b->history[n--] = pass->ask[parent].token;
    return pk_beam_trace(b, &b->live[last->hypothesis], n);
}

/* Is there room for another guess behind ask `parent`? No token is fed where none may follow. */
static bool has_room(const state *s, const pk_pass *pass, int32_t parent) {
    const pk_beam *b = &s->beam;
    return pass->n < pass->room && pass->n + 1 - b->first_ask < s->most_asks &&
           pass->ask[parent].pos + 1 < b->constraint.max_length;
}

/* asks about `token` behind ask `parent`, unless that is asked already; 0: no room */
static int32_t add_guess(state *s, pk_pass *pass, int32_t parent, int32_t token, float score) {
    const pk_ask *behind = &pass->ask[parent];
    const pk_ask  ask = {
         .hypothesis = behind->hypothesis, .pos = behind->pos + 1, .parent = parent, .token = token
    };
    int32_t i = find_ask(pass, s->beam.first_ask, parent, token);
    if (!i && !has_room(s, pass, parent)) return 0;
    if (!i) i = pk_beam_ask(&s->beam, pass, ask, trace(s, pass, parent, token));
    s->score[i - s->beam.first_ask] = score;
    return i;
}

/* one of the best of the next level, if it is among the best `width` so far */
static void offer(state *s, guessed g, int32_t width) {
    int32_t i = s->n_best;
    if (i == width && !(g.score > s->best[i - 1].score)) return;
    if (i == width)
        i--;
    else
        s->n_best++;
    for (; i > 0 && g.score > s->best[i - 1].score; i--) s->best[i] = s->best[i - 1];
    s->best[i] = g;
}

/* what may follow ask i, as the forecast has it */
static void foresee(state *s, const pk_pass *pass, int32_t i, int32_t width) {
    const pk_context    after = context_of(s, pass, i);
    const pk_candidate *top = pk_forecast_look(&s->forecast, &after);
    const float         score = s->score[i - s->beam.first_ask];
    for (int32_t k = 0; top && k < s->forecast.top_k && top[k].token != PK_NO_TOKEN; k++)
        if (top[k].token != s->beam.src.model->eos && top[k].token < s->beam.src.model->vocab)
            offer(s, (guessed){ i, top[k].token, score + top[k].logp }, width);
}

/* Level after level, the best hypotheses that the forecast leads to; returns how many levels there
 * are. */
static int32_t grow(state *s, pk_pass *pass, int32_t levels, int32_t width) {
    int32_t level[MOST_WIDTH], n = s->beam.n_live;
    for (int32_t i = 0; i < n; i++) {
        level[i] = s->beam.ask[i];
        s->score[level[i] - s->beam.first_ask] = s->beam.live[i].score;
    }
    for (int32_t depth = 0; depth < levels; depth++) {
        s->n_best = 0;
        for (int32_t i = 0; i < n; i++) foresee(s, pass, level[i], width);
        n = 0;
        for (int32_t i = 0; i < s->n_best; i++) {
            const int32_t ask =
                add_guess(s, pass, s->best[i].ask, s->best[i].token, s->best[i].score);
            if (ask) level[n++] = ask;
        }
        if (n < s->n_best || n == 0) return depth;
    }
    return levels;
}

/* the best hypothesis, start symbol first, to s->hypothesis */
static void write_best(state *s, int32_t n) {
    const pk_beam *b = &s->beam;
    int32_t        tip = b->live[0].tip;
    for (; tip != PK_NO_NODE; tip = b->nodes[tip].before) s->hypothesis[n--] = b->nodes[tip].token;
    for (; n >= 0; n--) s->hypothesis[n] = b->history[n];
}

/* what was foreseen after n tokens of s->hypothesis */
static bool is_known(const state *s, int32_t n) {
    pk_context c = { .pos = n };
    for (; c.n < PK_CONTEXT && c.n < n - s->beam.src.n_prefix; c.n++)
        c.last[c.n] = s->hypothesis[n - c.n];
    return pk_forecast_knows(&s->forecast, &c);
}

/* A chain behind the best hypothesis, from a draft or this document, unless its answers are known
 * from an earlier pass: they are what the tree of the next passes is made of. */
static void scout(state *s, pk_pass *pass, int32_t levels) {
    pk_beam      *b = &s->beam;
    const int32_t n = pass->ask[b->ask[0]].pos, longest = b->constraint.max_length - 1 - n;
    const int32_t room = longest < CHAIN ? longest : CHAIN;
    int32_t       parent = b->ask[0], known = 0;
    write_best(s, n);
    const int32_t guesses =
        pk_guess_fill(&s->guess, s->hypothesis, n, room, b->src.n_draft ? room + 1 : 0, pass);
    while (known < guesses && is_known(s, n + 1 + known)) known++;
    if (known == guesses || known > levels) return;
    for (int32_t i = 1; i <= guesses && parent; i++)
        parent = add_guess(s, pass, parent, s->hypothesis[n + i], 0);
}

/* Hypotheses to guess for each step: more than there are in a beam, where `each` is little, which
 * is what one costs, a step without guesses costing 1. */
static int32_t width_of(const state *s, float each) {
    const int32_t size = s->beam.now.size, most = most_width(s, size);
    const int32_t width = s->width       ? s->width
                          : each < 0.01f ? 2 * size
                          : each < 0.03f ? size + size / 2
                                         : size;
    return width < most ? width : most;
}

/* how many steps to guess, and how many hypotheses for each */
static int32_t levels_of(state *s, const pk_pass *pass, int32_t *width) {
    const float more = pk_draft_more(pass), live = (float)s->beam.n_live;
    const float plain = 1 + (live - 1) * more, each = more / plain;
    const float draft = s->beam.src.drafter ? pass->draft_cost / plain : 0;
    const float chain = s->beam.src.n_draft ? each : 0; /* each token of a draft is fed once */
    *width = width_of(s, each);
    if (s->levels) return s->levels;
    if (more < 0) return 0; /* what guesses cost is not known yet: the first pass shows it */
    return pk_draft_rates_block(s->rates, 1 + draft, (float)*width * each + chain, most_levels(s));
}

/* of the asks of the pass, of either network, the live hypotheses alone costing 1; 0: not known */
static float cost_of(const pk_pass *pass, int32_t live) {
    const float more = pk_draft_more(pass), others = (float)(pass->n - 1);
    const float asks =
        pass->model ? pass->draft_cost + others * pass->draft_more : 1 + others * more;
    return more < 0 ? 0 : asks / (1 + (float)(live - 1) * more);
}

/* Asks the drafter, where it has said little about the next steps yet; the next pass is the model's
 * then. */
static bool drafts(state *s, pk_pass *pass, int32_t levels) {
    pk_beam      *b = &s->beam;
    const int32_t n = b->n + b->prefix.n - b->prefix.fed, left = b->constraint.max_length - 1 - n;
    if (!b->src.drafter || s->fresh || left <= 0 || s->drafted > n + levels / 2) return false;
    write_best(s, n);
    pk_draft_propose(&s->draft, pass, s->hypothesis, n, left < BLOCK ? left : BLOCK,
                     s->forecast.top_k);
    s->drafting += cost_of(pass, b->n_live);
    return true;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    int32_t       width;
    const int32_t levels = levels_of(s, pass, &width);
    s->asked = s->guess.n = 0;
    s->spent = 0;
    if (levels && drafts(s, pass, levels)) return;
    if (!pk_beam_propose(&s->beam, pass) || !levels) return;
    s->asked = grow(s, pass, levels, width);
    scout(s, pass, levels);
    s->spent = s->drafting + cost_of(pass, s->beam.n_live);
    s->drafting = 0;
}

/* ---- reading the answers ---- */

static void learn(state *s, const pk_pass *pass) {
    for (int32_t i = s->beam.first_ask; i <= pass->n; i++) {
        const pk_context after = context_of(s, pass, i);
        if (pass->ask[i].top_k)
            pk_forecast_learn(&s->forecast, &after, pass->answer[i].top, pass->ask[i].top_k);
    }
}

/* what the drafter says of the places behind the best hypothesis */
static void absorb_draft(state *s, const pk_pass *pass, pk_verdict *verdict) {
    const int32_t places = pk_draft_absorb(&s->draft, pass, verdict);
    s->fresh = places > 0;
    for (int32_t i = pass->n - places + 1; i <= pass->n; i++) {
        const pk_context after = { .pos = pass->ask[i].pos + pass->ask[i].ahead };
        pk_forecast_learn(&s->forecast, &after, pass->answer[i].top, pass->ask[i].top_k);
        s->drafted = after.pos + 1;
    }
}

/* does every hypothesis of the beam have its ask in the pass? */
static bool find_asks(state *s, const pk_pass *pass) {
    pk_beam *b = &s->beam;
    for (int32_t i = 0; i < b->n_live; i++) {
        b->ask[i] = find_ask(pass, b->first_ask, b->from[i], b->nodes[b->live[i].tip].token);
        if (!b->ask[i]) return false;
    }
    return true;
}

/* how good the chain was, as far as the best hypothesis shows; and what this document has output */
static void judge_guesses(state *s, int32_t before, bool over) {
    const pk_beam *b = &s->beam;
    if (!over) {
        write_best(s, b->n);
        pk_guess_learn(&s->guess, s->hypothesis, before, b->n, NULL, 0);
    } else if (b->n_outputs) {
        memcpy(s->hypothesis + 1, b->outputs[0].token,
               (size_t)b->outputs[0].n * sizeof *s->hypothesis);
        pk_guess_finish(&s->guess, s->hypothesis, b->outputs[0].n);
    }
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state   *s = p;
    pk_beam *b = &s->beam;
    if (pass->model) {
        absorb_draft(s, pass, verdict);
        return;
    }
    if (!pk_beam_absorb_prefix(b, pass)) {
        pk_keep(verdict, pass->n);
        return;
    }
    s->fresh = false;
    learn(s, pass);
    const int32_t before = b->n;
    int32_t       steps = 0;
    bool          over;
    do {
        over = pk_beam_step(b, pass);
        steps++;
    } while (!over && find_asks(s, pass));
    if (s->asked) pk_draft_rates_judge(s->rates, s->asked, steps - 1);
    if (s->spent > 0) pk_draft_rates_account(s->rates, s->spent, (float)steps);
    pk_beam_conclude(b, over, verdict);
    judge_guesses(s, before, over);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_beam_result(&((const state *)p)->beam, out, room);
}

const pk_strategy pk_strategy_gad_beam = {
    .name = "gad-beam",
    .help = "beam's output, several steps in a pass where the hypotheses they need were guessed",
    .options = options,
    .drafter_needs = "gad",
    .drafts_at_will = true,
    .state_size = sizeof(state),
    .check = check,
    .limits = limits,
    .draft_limits = draft_limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
