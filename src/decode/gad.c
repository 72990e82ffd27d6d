/* gad.c - draft and verify: greedy's output, a block of tokens at a time.
 *
 * Generalized aggressive decoding (Xia et al., 2022). The drafter (network 1) fills a block of
 * masks behind the known tokens in one pass. Of what it says of each place the most probable paths
 * become a tree of guesses (draft_tree.h), and the model (network 0) is asked what follows each of
 * them in another. What the model would have said itself is kept, and its own token where nobody
 * guessed it. With beta and tau (GAD++) a guess is also kept where it is among the model's best beta
 * and not much less probable than the best.
 *
 * A drafter that was trained to say what follows known tokens too reads the last of them in place of
 * a first mask, and can read its own draft: what it says follows each token of it is a better
 * draft (refine).
 *
 * The drafter keeps the known tokens in its own history: of its pass the chain is kept, the masks
 * are not. Where it was trained with all tokens seeing each other it is fed everything anew. */
#include "base/memory.h"
#include "decode/draft_rates.h"
#include "decode/draft_tree.h"
#include "decode/ngrams.h"
#include "lexicon/lexicon_draft.h"

#define LEAST 1e-3f /* a guess of less probability is not worth an ask anywhere */
#define STEPS 0.4f  /* of the mean cost of an ask: what one on no step costs */
enum { LONGEST_AUTO = 25, NODES_AUTO = 40, FIRST = 4 /* drafted to see what the drafter costs */ };
enum { FROM_DRAFTER, FROM_LEXICON };
static const char *const inits[] = { "drafter", "lexicon", NULL };

typedef struct state {
    pk_constraint_options options;
    int32_t               block, nodes, width, beta; /* block, nodes 0: auto */
    float                 tau;
    int32_t               init, refine;
    pk_window             window;
    pk_draft_tree         tree;  /* its places: behind the known tokens; none: none drafted yet */
    pk_lexicon_draft      table; /* where drafts come from a lexicon */
    pk_draft_rates       *rates, own;   /* of the worker, or own */
    pk_block_mask         mask;         /* the drafter's */
    int32_t               room;         /* asks of the drafter in a pass */
    int32_t               fed;          /* tokens of its history, the start symbol among them */
    int32_t               chain, masks; /* of its pass in flight; chain 0: it reads its draft */
    int32_t               to_refine;    /* further passes over this draft */
    bool                  drafted;      /* the places are filled */
} state;

// clang-format off
static const pk_option options[] = {
    { "block", "tokens drafted at a time; auto: as many as pay, by measured cost and success",
      PK_OPTION_INT, 1, 0, PK_DRAFT_MOST, NULL, offsetof(state, block) },
    { "nodes", "guesses that the model checks in a pass, a tree of the most probable ones; auto: as "
      "many as pay, of a given block as many as it has tokens",
      PK_OPTION_INT, 1, 0, PK_DRAFT_MOST, NULL, offsetof(state, nodes) },
    { "width", "best tokens of each place that the tree is made of; 1: a chain, as in the paper",
      PK_OPTION_INT, 1, PK_DRAFT_WIDTH, PK_DRAFT_WIDTH, NULL, offsetof(state, width) },
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

static int32_t at_most(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t longest_block(const state *s) { return s->block ? s->block : LONGEST_AUTO; }

static int32_t most_nodes(const state *s) {
    if (s->nodes) return s->nodes;
    return s->block ? s->block : drafts(s) ? LONGEST_AUTO : NODES_AUTO;
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state       *s = p;
    pk_strategy_limits most = pk_window_limits(&s->options, src, most_nodes(s) + 1);
    (void)self;
    /* paths of a tree may have more tokens together than the longest output */
    most.asks = src->n_prefix + at_most(most_nodes(s) + 1, most.slots);
    most.slots += most_nodes(s);
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
                                 .top_k = s->width };
}

static void end(void *p) {
    pk_lexicon_draft_close(&((state *)p)->table);
    pk_draft_tree_end(&((state *)p)->tree);
    pk_window_end(&((state *)p)->window);
}

/* the source without its end symbol, as a lexicon knows it */
static pk_status open_table(state *s, const pk_source *src) {
    const int32_t n = src->n_tokens;
    const bool    ended = n && src->token[n - 1] == src->model->eos;
    return pk_lexicon_draft_open(src->lexicon, src->token, n - ended, src->model->vocab,
                                 src->model->eos, &s->table);
}

static pk_status open_all(state *s, const pk_source *src) {
    const pk_lexicon *successors =
        drafts(s) ? NULL : src->lexicon; /* the table knows them itself */
    PK_TRY(pk_window_begin(&s->window, &s->options, src, most_nodes(s) + 1));
    s->window.beta = s->beta;
    s->window.tau = s->tau;
    PK_TRY(pk_draft_tree_begin(&s->tree, successors, longest_block(s), most_nodes(s)));
    return drafts(s) ? open_table(s, src) : PK_OK;
}

static pk_status check_mask(state *s, const pk_source *src) {
    s->mask = pk_block_mask_of(src->model);
    if (s->mask.token < 0)
        PK_FAIL(PK_UNSUPPORTED, "the drafter has no token <mask>: train it with task gad");
    if (s->refine && !s->mask.next)
        PK_FAIL(PK_UNSUPPORTED,
                "this drafter cannot read its own draft: leave refine out, or train "
                "it with gad:next=yes");
    return PK_OK;
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    if (!drafts(s)) PK_TRY(check_mask(s, src));
    s->rates = src->ngrams ? &src->ngrams->drafts : &s->own;
    if (!drafts(s)) s->room = draft_limits(self, s, src).asks;
    s->fed = s->to_refine = 0;
    s->drafted = false;
    const pk_status status = open_all(s, src);
    if (status != PK_OK) end(s);
    return status;
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
        const bool masked = i >= s->chain, asked = masked || (leads && i == s->chain - 1);
        parent = pk_ask_add(
            pass, (pk_ask){ .token = masked ? s->mask.token : s->window.history[s->fed + i],
                            .pos = s->fed + i + (masked && leads),
                            .parent = parent,
                            .block = masked || s->mask.sees_all,
                            .top_k = asked ? s->width : 0,
                            .logp = asked,
                            .ahead = masked ? -1 : 0 });
    }
    s->to_refine = s->refine;
}

/* Places from `from` on. Tokens that the model does not have are left out. Returns whether any
 * place has another best token than before. */
static bool take_draft(state *s, const pk_answer *answer, int32_t from, int32_t n) {
    pk_draft_tree *t = &s->tree;
    bool           differs = false;
    for (int32_t i = from; i < from + n; i++) {
        const int32_t before = i < t->n_places ? pk_draft_tree_best(t, i) : -1;
        pk_draft_tree_place(t, i, answer[i - from].top, s->width, s->window.src.model->vocab);
        differs |= pk_draft_tree_best(t, i) != before;
    }
    t->n_places = from + n;
    s->drafted = true;
    return differs;
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

/* Tokens of its draft that the drafter reads, the best of each place up to an end symbol, all but the
 * last; 0: none, the draft is done. */
static int32_t to_read(state *s, const pk_pass *pass) {
    pk_window *w = &s->window;
    int32_t    n = 0;
    if (s->to_refine <= 0) return 0;
    for (; n < s->tree.n_places - 1 && n < pass->room; n++) {
        const int32_t token = pk_draft_tree_best(&s->tree, n);
        if (token < 0 || token == w->src.model->eos) break;
        w->history[w->n + 1 + n] = token;
    }
    return n;
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
                                   .top_k = s->width,
                                   .logp = true });
}

/* The first token stays: it followed what is known. A draft that stays the same would for ever. */
static void absorb_refined(state *s, const pk_pass *pass, pk_verdict *verdict) {
    pk_keep_hypothesis(verdict, 0);
    s->to_refine--;
    if (!take_draft(s, &pass->answer[1], 1, s->masks)) s->to_refine = 0;
}

/* the same from the lexicon, at once: one token for each place */
static void look_up_draft(state *s, int32_t block) {
    pk_window *w = &s->window;
    s->tree.n_places = 0;
    s->drafted = true;
    for (int32_t i = 0; i < block; i++) {
        float         share;
        const int32_t token = pk_lexicon_draft_next(&s->table, w->history + 1, w->n + i, i, &share);
        if (token < 0) return;
        w->history[w->n + 1 + i] = token;
        pk_draft_tree_place(&s->tree, s->tree.n_places++, &(pk_candidate){ token, 0 }, 1,
                            w->src.model->vocab);
        if (token == w->src.model->eos) return;
    }
}

/* ---- verifying ---- */

/* how many guesses: as many as there are, or as pay */
static bool is_given(const state *s) { return s->nodes || s->block || drafts(s); }

/* A guess pays when what it brings, so much of the cost of a token as it is probable, is more than
 * its ask; where costs have steps, those on them may not by themselves. */
static float least_of(const state *s, const pk_pass *pass) {
    const float pays = STEPS * pk_draft_more(pass) * s->rates->worth;
    if (is_given(s) && s->width == 1) return 0; /* a chain is taken whole */
    return is_given(s) || !(pays > LEAST) ? LEAST : pays;
}

static void propose_verified(state *s, pk_pass *pass) {
    pk_window            *w = &s->window;
    const int32_t         asks = pk_window_asks(w, pass);
    const pk_draft_growth g = { .before = w->n ? w->history[w->n] : -1,
                                .eos = w->src.model->eos,
                                .most_nodes = at_most(asks, most_nodes(s)),
                                .most_depth = pk_window_places(w),
                                .least = least_of(s, pass),
                                .worth = is_given(s) || pass->n_cost < 3 ? 0 : s->rates->worth,
                                .n_cost = pass->n_cost,
                                .cost = pass->cost,
                                .more = pass->more };
    s->tree.n = 0;
    if (s->drafted) pk_draft_tree_grow(&s->tree, &g);
    pk_window_propose_tree(w, pass, s->tree.node, s->tree.n);
}

/* of the guesses that were asked about */
static int32_t deepest(const state *s) {
    int32_t depth = 0;
    for (int32_t i = 0; i < s->tree.n; i++) {
        const pk_guess_node *node = &s->tree.node[i];
        if (node->token != s->window.src.model->eos && node->depth > depth) depth = node->depth;
    }
    return depth;
}

static void absorb_verified(state *s, const pk_pass *pass, pk_verdict *verdict) {
    const int32_t certain = pk_window_absorb(&s->window, pass, verdict);
    if (certain) pk_draft_rates_judge(s->rates, deepest(s), certain - 1);
    s->drafted = false;
    s->to_refine = s->tree.n_places = 0;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    const int32_t block = s->drafted ? 0 : block_of(s, pass);
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
    propose_verified(s, pass);
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
