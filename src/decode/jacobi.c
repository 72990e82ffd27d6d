/* jacobi.c - greedy search, several tokens at a time where they can be guessed.
 *
 * Parallel decoding (Santilli et al., 2023) without a known length or fixed blocks. A window of
 * guesses lies behind the last certain token. Each pass moves it forward by the number of right
 * guesses, plus one: the answer to the last right token is certain too. The output is greedy's,
 * whatever the guesses were; they decide only how many passes it takes. */
#include "decode/guess.h"
#include "decode/jacobi_window.h"

enum { WIDEST = 64, WIDEST_AUTO = 32 };

typedef struct state {
    pk_constraint_options options;
    int32_t               width, init; /* width 0: auto */
    pk_window             window;
    pk_guess              guess;
} state;

// clang-format off
static const pk_option options[] = {
    { "window", "positions asked about in a pass; auto: as many as pay, by measured cost and success",
      PK_OPTION_INT, 1, 0, WIDEST, NULL, offsetof(state, width) },
    { "init", "where guesses come from; auto: the draft if there is one, and whatever is right most",
      PK_OPTION_CHOICE, 0, PK_INIT_AUTO, 0, pk_init_choices, offsetof(state, init) },
    PK_CONSTRAINT_OPTIONS(state, options),
    { 0 }
};
// clang-format on

static int32_t widest(const state *s) { return s->width ? s->width : WIDEST_AUTO; }

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state *s = p;
    (void)self;
    return pk_window_limits(&s->options, src, widest(s));
}

static void end(void *p) {
    pk_guess_end(&((state *)p)->guess);
    pk_window_end(&((state *)p)->window);
}

static pk_status fits(const pk_strategy *self, const void *p, const pk_conventions *model) {
    if (((const state *)p)->init == PK_INIT_LEXICON) return pk_strategy_check_lexicon(self, model);
    return PK_OK;
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    (void)self;
    PK_TRY(pk_guess_begin(&s->guess, s->init, src));
    const pk_status status = pk_window_begin(&s->window, &s->options, src, widest(s));
    if (status != PK_OK) end(s);
    return status;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    pk_window    *w = &s->window;
    const int32_t room = pk_window_room(w, pass);
    const int32_t guesses = pk_guess_fill(&s->guess, w->history, w->n, room, s->width, pass);
    pk_window_propose(w, pass, guesses);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state        *s = p;
    pk_window    *w = &s->window;
    const int32_t before = w->n;
    pk_window_absorb(w, pass, verdict);
    pk_guess_learn(&s->guess, w->history, before, w->n, w->predicted, w->n_predicted);
    if (verdict->done) pk_guess_finish(&s->guess, w->history, w->out.n);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_window_result(&((const state *)p)->window, out, room);
}

const pk_strategy pk_strategy_jacobi = {
    .name = "jacobi",
    .help = "greedy's output, several tokens in a pass where guesses at them turn out right",
    .options = options,
    .state_size = sizeof(state),
    .check = pk_strategy_check_single,
    .fits = fits,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
