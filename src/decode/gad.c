/* gad.c - draft and verify: greedy's output, a block of tokens at a time.
 *
 * Generalized aggressive decoding (Xia et al., 2022). The drafter (network 1) fills a block of
 * masks behind the known tokens in one pass; the model (network 0) is asked what follows each of
 * them in another. What the model would have said itself is kept, and its own token where they
 * differ first. With beta and tau (GAD++) a drafted token is also kept where it is among the
 * model's best beta and not much less probable than the best.
 *
 * A drafter that was trained to say what follows known tokens too reads the last of them in place of
 * a first mask, and can read its own draft: what it says follows each token of it is a better
 * draft (refine).
 *
 * The drafter keeps the known tokens in its own history: of its pass the chain is kept, the masks
 * are not. Where it was trained with all tokens seeing each other it is fed everything anew. */
#include "base/memory.h"
#include "decode/draft_rates.h"
#include "decode/jacobi_window.h"
#include "decode/ngrams.h"
#include "lexicon/lexicon_draft.h"

enum { LONGEST_AUTO = 25, FIRST = 4 }; /* FIRST: drafted to see what the drafter costs */
enum { FROM_DRAFTER, FROM_LEXICON };
static const char *const inits[] = { "drafter", "lexicon", NULL };

typedef struct state {
    pk_constraint_options options;
    int32_t               block, beta; /* block 0: auto */
    float                 tau;
    int32_t               init, refine;
    pk_window             window;
    pk_lexicon_draft      table;        /* where drafts come from a lexicon */
    pk_draft_rates       *rates, own;   /* of the worker, or own */
    pk_block_mask         mask;         /* the drafter's */
    int32_t               room;         /* asks of the drafter in a pass */
    int32_t               fed;          /* tokens of its history, the start symbol among them */
    int32_t               chain, masks; /* of its pass in flight; chain 0: it reads its draft */
    int32_t               most_drafts;  /* of this block */
    int32_t               to_refine;    /* further passes over this draft */
    int32_t               n_drafts;     /* behind the known tokens; -1: none are drafted yet */
} state;

// clang-format off
static const pk_option options[] = {
    { "block", "tokens drafted at a time; auto: as many as pay, by measured cost and success",
      PK_OPTION_INT, 1, 0, PK_DRAFT_MOST, NULL, offsetof(state, block) },
    { "beta", "a drafted token is kept if among the best so many; 1: greedy's output exactly",
      PK_OPTION_INT, 1, 1, 64, NULL, offsetof(state, beta) },
    { "tau", "and if its log-probability is at most this much lower than the best",
      PK_OPTION_FLOAT, 0, 1, 100, NULL, offsetof(state, tau) },
    { "refine", "further passes of the drafter, each over its own draft (drafters of gad:next=yes)",
      PK_OPTION_INT, 0, 0, PK_DRAFT_MOST, NULL, offsetof(state, refine) },
    { "init", "where drafts come from; lexicon: a table of translations (--lexicon), no drafter is needed",
      PK_OPTION_CHOICE, 0, FROM_DRAFTER, 0, inits, offsetof(state, init) },
    PK_CONSTRAINT_OPTIONS(state, options),
    { 0 }
};
// clang-format on

static bool drafts(const void *p) { return ((const state *)p)->init == FROM_LEXICON; }

static pk_status fits(const pk_strategy *self, const void *p, const pk_conventions *model) {
    return drafts(p) ? pk_strategy_check_lexicon(self, model) : PK_OK;
}

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    if (drafts(p) && ((const state *)p)->refine)
        PK_FAIL(PK_ARGUMENT, "%s: only a drafter can read its own draft: leave refine out",
                self->name);
    return pk_strategy_check_single(self, p, n_best);
}

static int32_t longest_block(const state *s) { return s->block ? s->block : LONGEST_AUTO; }

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state       *s = p;
    pk_strategy_limits most = pk_window_limits(&s->options, src, longest_block(s) + 1);
    (void)self;
    most.top_k = s->beta;
    return most;
}

/* Known tokens that the drafter has not read, the prefix or those that the last block brought, and
 * a block; what does not fit comes in several passes. Where it reads all of them anew, all. */
static pk_strategy_limits draft_limits(const pk_strategy *self, const void *p,
                                       const pk_source *src) {
    const state  *s = p;
    const int32_t longest = pk_constraint_max_length(&s->options, src), block = longest_block(s);
    const int32_t known = src->n_prefix > block ? src->n_prefix : block;
    const bool    sees_all = pk_block_mask_of(src->model).sees_all;
    (void)self;
    return (pk_strategy_limits){ .asks = sees_all ? longest + 1 : known + 1 + block,
                                 .hypotheses = 1,
                                 .slots = longest + 1,
                                 .top_k = 1 };
}

static void end(void *p) {
    pk_lexicon_draft_close(&((state *)p)->table);
    pk_window_end(&((state *)p)->window);
}

/* the source without its end symbol, as a lexicon knows it */
static pk_status open_table(state *s, const pk_source *src) {
    const int32_t n = src->n_tokens;
    const bool    ended = n && src->token[n - 1] == src->model->eos;
    return pk_lexicon_draft_open(src->lexicon, src->token, n - ended, src->model->vocab,
                                 src->model->eos, &s->table);
}

static pk_status begin_alone(state *s, const pk_source *src) {
    s->rates = src->ngrams ? &src->ngrams->drafts : &s->own;
    s->n_drafts = -1;
    s->to_refine = 0;
    PK_TRY(open_table(s, src));
    const pk_status status = pk_window_begin(&s->window, &s->options, src, longest_block(s) + 1);
    if (status != PK_OK) end(s);
    s->window.beta = s->beta;
    s->window.tau = s->tau;
    return status;
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    if (drafts(s)) return begin_alone(s, src);
    s->mask = pk_block_mask_of(src->model);
    if (s->mask.token < 0)
        PK_FAIL(PK_UNSUPPORTED, "the drafter has no token <mask>: train it with task gad");
    if (s->refine && !s->mask.next)
        PK_FAIL(PK_UNSUPPORTED,
                "this drafter cannot read its own draft: leave refine out, or train "
                "it with gad:next=yes");
    s->rates = src->ngrams ? &src->ngrams->drafts : &s->own;
    s->room = draft_limits(self, s, src).asks;
    s->fed = 0;
    s->n_drafts = -1;
    s->to_refine = 0;
    PK_TRY(pk_window_begin(&s->window, &s->options, src, longest_block(s) + 1));
    s->window.beta = s->beta;
    s->window.tau = s->tau;
    return PK_OK;
}

/* ---- drafting ---- */

/* what the drafter has to read before it can draft */
static int32_t unread(const state *s) { return s->window.n + 1 - s->fed; }

/* how many tokens to draft; 0: none */
static int32_t block_of(state *s, const pk_pass *pass) {
    int32_t most = pk_window_room(&s->window, pass);
    if (most > longest_block(s)) most = longest_block(s);
    if (most <= 0) return 0;
    const float more = pk_draft_more(pass);
    if (s->block) return most;
    if (more < 0) return 0; /* what passes cost is not known yet: the first one shows it */
    if (drafts(s)) return pk_draft_rates_block(s->rates, 1, more, most);
    if (!(pass->draft_cost > 0)) return most < FIRST ? most : FIRST;
    const float read = pass->draft_cost + pass->draft_more * (float)(unread(s) - 1);
    const float again = (float)s->refine;
    return pk_draft_rates_block(s->rates, 1 + read + again * pass->draft_cost,
                                more + (1 + again) * pass->draft_more, most);
}

/* Known tokens as a chain, then masks as a block; where tokens see all, one block of both. The last
 * known token may stand for the first mask. */
static void propose_draft(state *s, pk_pass *pass, int32_t block) {
    const int32_t room = pass->room < s->room ? pass->room : s->room;
    const bool    whole = unread(s) <= room, leads = s->mask.next && whole;
    int32_t       parent = 0;
    pass->model = 1;
    s->chain = whole ? unread(s) : room;
    s->masks = !whole ? 0 : block - leads < room - s->chain ? block - leads : room - s->chain;
    for (int32_t i = 0; i < s->chain + s->masks; i++) {
        const bool masked = i >= s->chain;
        parent = pk_ask_add(
            pass, (pk_ask){ .token = masked ? s->mask.token : s->window.history[s->fed + i],
                            .pos = s->fed + i + (masked && leads),
                            .parent = parent,
                            .block = masked || s->mask.sees_all,
                            .top_k = masked || (leads && i == s->chain - 1),
                            .ahead = masked ? -1 : 0 });
    }
    s->most_drafts = block;
    s->to_refine = s->refine;
}

/* The draft from place `from` on. Tokens that the model does not have end it, and so does the end
 * symbol: whether that comes next is what the model says after the last draft anyway. GAD++ may keep
 * one that it would not have said: then it stands behind those that are asked about. Returns
 * whether the draft is another one than before. */
static bool take_draft(state *s, const pk_answer *answer, int32_t from, int32_t n) {
    pk_window    *w = &s->window;
    const int32_t before = s->n_drafts;
    const bool    ended = w->ends_with_guess;
    bool          differs = false;
    s->n_drafts = from;
    w->ends_with_guess = false;
    for (int32_t i = 0; i < n && !w->ends_with_guess; i++) {
        const int32_t token = answer[i].top[0].token;
        if (token < 0 || token >= w->src.model->vocab) break;
        differs |= w->history[w->n + 1 + from + i] != token;
        w->history[w->n + 1 + from + i] = token;
        w->ends_with_guess = token == w->src.model->eos;
        s->n_drafts += !w->ends_with_guess;
    }
    return differs || s->n_drafts != before || w->ends_with_guess != ended;
}

static void absorb_draft(state *s, const pk_pass *pass, pk_verdict *verdict) {
    const bool whole = s->chain == unread(s), leads = s->mask.next && whole;
    if (s->mask.sees_all)
        pk_keep_empty(verdict);
    else
        pk_keep(verdict, s->chain);
    if (!s->mask.sees_all) s->fed += s->chain;
    if (whole) take_draft(s, &pass->answer[s->chain + 1 - leads], 0, s->masks + leads);
}

/* ---- drafting again ---- */

/* tokens of its draft that the drafter reads; 0: none, the draft is done */
static int32_t to_read(const state *s, const pk_pass *pass) {
    int32_t n = s->n_drafts;
    if (s->to_refine <= 0) return 0;
    if (n > s->most_drafts - 1) n = s->most_drafts - 1;
    return n < pass->room ? n : pass->room;
}

/* what follows each token of the draft? Nothing of it is kept. */
static void propose_refined(state *s, pk_pass *pass, int32_t n) {
    pass->model = 1;
    s->chain = 0;
    s->masks = n;
    for (int32_t i = 0; i < n; i++)
        pk_ask_add(pass, (pk_ask){ .token = s->window.history[s->fed + i],
                                   .pos = s->fed + i,
                                   .parent = i,
                                   .top_k = 1 });
}

/* The first token stays: it followed what is known. A draft that stays the same would for ever. */
static void absorb_refined(state *s, const pk_pass *pass, pk_verdict *verdict) {
    pk_keep_hypothesis(verdict, 0);
    s->to_refine--;
    if (!take_draft(s, &pass->answer[1], 1, s->masks)) s->to_refine = 0;
}

/* the same from the lexicon, at once */
static void look_up_draft(state *s, int32_t block) {
    pk_window *w = &s->window;
    s->n_drafts = 0;
    w->ends_with_guess = false;
    for (int32_t i = 0; i < block && !w->ends_with_guess; i++) {
        float         share;
        const int32_t token = pk_lexicon_draft_next(&s->table, w->history + 1, w->n + i, i, &share);
        if (token < 0) return;
        w->history[w->n + 1 + i] = token;
        w->ends_with_guess = token == w->src.model->eos;
        s->n_drafts += !w->ends_with_guess;
    }
}

/* ---- verifying ---- */

static void absorb_verified(state *s, const pk_pass *pass, pk_verdict *verdict) {
    const int32_t asked = s->window.asked - 1; /* drafts that were */
    const int32_t certain = pk_window_absorb(&s->window, pass, verdict);
    if (certain) pk_draft_rates_judge(s->rates, asked, certain - 1);
    s->n_drafts = -1;
    s->to_refine = 0;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    const int32_t block = s->n_drafts < 0 ? block_of(s, pass) : 0;
    if (block && !drafts(s)) {
        propose_draft(s, pass, block);
        return;
    }
    const int32_t read = to_read(s, pass);
    if (read > 0) {
        propose_refined(s, pass, read);
        return;
    }
    if (block) look_up_draft(s, block);
    int32_t guesses = pk_window_room(&s->window, pass);
    if (guesses < s->n_drafts) s->window.ends_with_guess = false;
    if (guesses > s->n_drafts) guesses = s->n_drafts;
    if (s->n_drafts < 0) s->window.ends_with_guess = false;
    pk_window_propose(&s->window, pass, guesses < 0 ? 0 : guesses);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state *s = p;
    if (!pass->model)
        absorb_verified(s, pass, verdict);
    else if (s->chain)
        absorb_draft(s, pass, verdict);
    else
        absorb_refined(s, pass, verdict);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_window_result(&((const state *)p)->window, out, room);
}

const pk_strategy pk_strategy_gad = {
    .name = "gad",
    .help = "greedy's output, in blocks that a drafter (--drafter) proposes and the model checks",
    .options = options,
    .drafter_needs = "gad",
    .state_size = sizeof(state),
    .check = check,
    .fits = fits,
    .limits = limits,
    .draft_limits = draft_limits,
    .drafts = drafts,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
