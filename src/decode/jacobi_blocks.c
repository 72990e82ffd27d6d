/* jacobi_blocks.c - the three algorithms of "Accelerating Transformer Inference for Translation via
 * Parallel Decoding" (Santilli et al., 2023), as they are there, to be measured against.
 *
 *   pj    Jacobi over the whole output, whose length is known
 *   pgj   block after block, Jacobi within each (Gauss-Seidel between them)
 *   hgj   the same up to a length, then one token at a time; the end counts when its block is fixed
 *
 * A block starts as padding. An iteration is one pass: all open positions of the block are asked
 * about and take the model's answers, until nothing changes. A position is open until it and all
 * tokens before it have stopped changing. Then it is certain and not computed again. */
#include "decode/guess.h"
#include "decode/jacobi_window.h"

enum { LONGEST = 4096, BLOCK = 3 };
enum { PJ, PGJ, HGJ }; /* which variant of the strategy */

typedef struct state {
    pk_constraint_options options;
    int32_t   block, length; /* length 0: pj finds it by greedy search, hgj has no limit */
    pk_window window;
    int32_t   pad;
    int32_t   first, last; /* output positions of the block: first .. last - 1 */
    int32_t   which;       /* variant */
    bool      counting;    /* pj: still in the greedy search */
} state;

// clang-format off
static const pk_option pj_options[] = {
    { "length", "output tokens, end symbol included; auto: found by greedy search, not counted",
      PK_OPTION_INT, 1, 0, LONGEST, NULL, offsetof(state, length) },
    PK_CONSTRAINT_OPTIONS(state, options), { 0 }
};
static const pk_option pgj_options[] = {
    { "block", "positions solved together",
      PK_OPTION_INT, 1, BLOCK, 64, NULL, offsetof(state, block) },
    PK_CONSTRAINT_OPTIONS(state, options), { 0 }
};
static const pk_option hgj_options[] = {
    { "block", "positions solved together",
      PK_OPTION_INT, 1, BLOCK, 64, NULL, offsetof(state, block) },
    { "length", "output tokens in blocks, then one at a time; auto: all",
      PK_OPTION_INT, 1, 0, LONGEST, NULL, offsetof(state, length) },
    PK_CONSTRAINT_OPTIONS(state, options), { 0 }
};
// clang-format on

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }

/* The next block begins behind the certain tokens. Past `length` a block has one position: that is
 * greedy search. */
static void next_block(state *s) {
    pk_window    *w = &s->window;
    const int32_t longest = w->constraint.max_length;
    int32_t       size = s->which == PJ ? s->length - w->n : s->block;
    if (s->counting || (s->which != PGJ && s->length && w->n >= s->length)) size = 1;
    if (s->which == HGJ && s->length && w->n < s->length) size = at_most(size, s->length - w->n);
    s->first = w->n;
    s->last = at_most(w->n + at_most(size, w->width), longest);
    for (int32_t i = s->first + 1; i < s->last; i++) w->history[i] = s->pad;
}

/* positions of the largest block */
static int32_t widest(const state *s, int32_t which, const pk_source *src) {
    if (which != PJ) return s->block;
    return s->length ? s->length : pk_constraint_max_length(&s->options, src);
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state *s = p;
    return pk_window_limits(&s->options, src, widest(s, self->variant, src));
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    s->which = self->variant;
    PK_TRY(pk_window_begin(&s->window, &s->options, src, widest(s, s->which, src)));
    s->pad = pk_guess_padding(src->model);
    s->counting = s->which == PJ && s->length == 0;
    next_block(s);
    return PK_OK;
}

static void end(void *p) { pk_window_end(&((state *)p)->window); }

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    pk_window    *w = &s->window;
    const int32_t room = pk_window_room(w, pass);
    pass->probe = s->counting;
    pk_window_propose(w, pass, at_most(s->last - 1 - w->n, room));
}

/* One Jacobi iteration: the model's predictions are the block's next guesses. There may be fewer
 * than open positions when the pass had no room for all. */
static void take_over(state *s) {
    pk_window    *w = &s->window;
    const int32_t n = at_most(w->n_predicted, s->last - 1 - w->n);
    for (int32_t i = 0; i < n; i++) w->history[w->n + 1 + i] = w->predicted[i];
}

/* The greedy search is over and its length is known: decoding starts again from the empty
 * history. */
static void start_over(state *s, pk_verdict *verdict) {
    s->length = s->window.out.n;
    s->counting = false;
    verdict->done = false;
    verdict->n_hypotheses = 0;
    pk_keep_empty(verdict);
    pk_window_again(&s->window);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state     *s = p;
    pk_window *w = &s->window;
    pk_window_absorb(w, pass, verdict);
    const bool fixed = w->n >= s->last;
    if (s->counting && w->ended && w->out.n) start_over(s, verdict);
    /* the paper's hgj looks for the end symbol when the block has stopped changing */
    if (s->which == HGJ) verdict->done = w->ended && (fixed || w->stuck);
    if (fixed)
        next_block(s);
    else
        take_over(s);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_window_result(&((const state *)p)->window, out, room);
}

#define STRATEGY(lower, which, text)          \
    const pk_strategy pk_strategy_##lower = { \
        .name = #lower,                       \
        .help = text,                         \
        .options = lower##_options,           \
        .variant = which,                     \
        .state_size = sizeof(state),          \
        .check = pk_strategy_check_single,    \
        .limits = limits,                     \
        .begin = begin,                       \
        .propose = propose,                   \
        .absorb = absorb,                     \
        .result = result,                     \
        .end = end,                           \
    }

STRATEGY(pj, PJ, "greedy's output by Jacobi iteration over all of it (for comparison)");
STRATEGY(pgj, PGJ, "greedy's output by Jacobi iteration over one block after another");
STRATEGY(hgj, HGJ, "the same up to a length, then one token at a time");
