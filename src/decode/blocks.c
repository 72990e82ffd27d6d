/* blocks.c - a drafter on its own: block after block of masks is filled in and taken as it is.
 *
 * What the drafter of draft and verify (gad.c) is worth without anyone who checks it: the
 * non-autoregressive rows of Xia et al. (2022). Bans and penalties are those of the history in
 * front of the block; the shortest length counts each position. */
#include <string.h>

#include "base/memory.h"
#include "decode/constraint.h"
#include "decode/output.h"

enum { LONGEST = 64 };

typedef struct state {
    pk_constraint_options options;
    int32_t               block;
    pk_source             src;
    pk_constraint         constraint;
    pk_special            special[LONGEST]; /* of the masks in flight */
    int32_t              *listed;           /* (block, constraint.room) the tokens they name */
    pk_output             out;
    int32_t              *history; /* (max_length + 1) start symbol, then output */
    pk_block_mask         mask;    /* where tokens see all, everything is fed anew */
    int32_t               room;
    int32_t               fed; /* tokens of the decoder's history */
    int32_t chain, asked;      /* known tokens of the pass in flight; places, behind them */
} state;

// clang-format off
static const pk_option options[] = {
    { "block", "tokens that are filled in at a time", PK_OPTION_INT, 1, 25, LONGEST, NULL,
      offsetof(state, block) },
    PK_CONSTRAINT_OPTIONS(state, options),
    { 0 }
};
// clang-format on

/* A drafter whose prefix sees all is fed everything anew in each pass; with a causal prefix only
 * what is new, at most a block or the user's prefix, and the masks. */
static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state  *s = p;
    const int32_t longest = pk_constraint_max_length(&s->options, src);
    const int32_t known = src->n_prefix > s->block ? src->n_prefix : s->block;
    const bool    sees_all = pk_block_mask_of(src->model).sees_all;
    (void)self;
    return (pk_strategy_limits){ .asks = sees_all ? longest + 1 : known + 1 + s->block,
                                 .hypotheses = 1,
                                 .slots = longest + 1,
                                 .top_k = 1 };
}

static void end(void *p) {
    state *s = p;
    pk_constraint_end(&s->constraint);
    pk_output_end(&s->out);
    pk_memory_give(s->listed);
    pk_memory_give(s->history);
    s->listed = s->history = NULL;
}

/* all memory of the sentence; the constraint follows the same rules as in greedy.c */
static pk_status take(state *s) {
    const pk_constraint_rules rules = { .of_model = true,
                                        .on_logits = true,
                                        .with_start = true,
                                        .renormalise =
                                            s->src.model->renormalise && s->src.want_scores };
    PK_TRY(pk_constraint_begin(&s->constraint, &s->options, &s->src, rules));
    const size_t room = (size_t)s->constraint.room;
    PK_TRY(PK_TAKE(&s->listed, (size_t)s->block * room));
    for (int32_t i = 0; i < s->block; i++) s->special[i].token = s->listed + (size_t)i * room;
    PK_TRY(pk_output_begin(&s->out, &s->src, s->constraint.max_length));
    return PK_TAKE(&s->history, (size_t)s->constraint.max_length + 1);
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    s->mask = pk_block_mask_of(src->model);
    if (s->mask.token < 0)
        PK_FAIL(PK_UNSUPPORTED, "the model has no token <mask>: train it with task gad");
    s->src = *src;
    s->room = limits(self, s, src).asks;
    s->fed = 0;
    const pk_status status = take(s);
    if (status != PK_OK) {
        end(s);
        return status;
    }
    s->history[0] = src->model->start;
    for (int32_t i = 0; i < src->n_prefix; i++) { /* given: certain */
        s->history[i + 1] = src->prefix[i];
        pk_output_add(&s->out, src->prefix[i], 0, NULL);
    }
    return PK_OK;
}

/* the last token, where the model's convention leaves no choice */
static bool must_end(const state *s, int32_t n) {
    return s->src.model->forced_eos && n == s->constraint.max_length - 1;
}

/* place i of the block, output token out.n + i: a mask there, or the last known token before it */
static pk_ask ask_place(state *s, int32_t i, int32_t parent) {
    const int32_t n = s->out.n + i;
    const bool    masked = i > 0 || !s->mask.next;
    pk_ask        ask = { .token = masked ? s->mask.token : s->history[n],
                          .pos = n + masked,
                          .parent = parent,
                          .block = masked,
                          .ahead = (int16_t)-masked,
                          .logp = s->src.want_scores,
                          .attention = s->src.want_attention };
    if (must_end(s, n)) {
        ask.target = &s->src.model->eos;
        ask.n_target = s->src.want_scores;
        return ask;
    }
    const bool looks_back = pk_constraint_looks_back(&s->constraint);
    pk_constraint_list(&s->constraint, s->history, looks_back ? s->out.n : n, &s->special[i]);
    pk_constraint_ask(&s->constraint, &s->special[i], &ask);
    ask.top_k = 1;
    return ask;
}

/* positions for masks that the decoder has left */
static int32_t positions(const state *s) {
    const int32_t all = s->src.model->max_positions;
    return (all ? all : s->constraint.max_length + 1) - 1 - s->out.n;
}

/* known tokens that were not fed yet, as a chain; then the block */
static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    const int32_t room = pass->room < s->room ? pass->room : s->room;
    const int32_t unread = s->out.n + 1 - s->mask.next - s->fed;
    const int32_t left = s->constraint.max_length - s->out.n;
    int32_t       parent = 0;
    s->chain = unread < room ? unread : room;
    for (int32_t i = 0; i < s->chain; i++)
        parent = pk_ask_add(pass, (pk_ask){ .token = s->history[s->fed + i],
                                            .pos = s->fed + i,
                                            .parent = parent,
                                            .block = s->mask.sees_all });
    s->asked = s->block < left ? s->block : left;
    if (s->asked > positions(s)) s->asked = positions(s);
    if (s->asked > room - s->chain) s->asked = room - s->chain;
    for (int32_t i = 0; i < s->asked; i++) parent = pk_ask_add(pass, ask_place(s, i, parent));
}

/* of the pass, known tokens are kept and masks are not */
static void keep_known(state *s, pk_verdict *verdict) {
    const int32_t known = s->chain + (s->mask.next && s->asked > 0);
    if (s->mask.sees_all)
        pk_keep_empty(verdict);
    else if (known)
        pk_keep(verdict, known);
    else
        pk_keep_hypothesis(verdict, 0);
    if (!s->mask.sees_all) s->fed += known;
}

static pk_candidate choose(const state *s, int32_t i, const pk_answer *a) {
    if (!must_end(s, s->out.n)) return pk_constraint_best(&s->constraint, &s->special[i], a);
    return (pk_candidate){ s->src.model->eos, s->src.want_scores ? a->target_logp[0] : 0 };
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state *s = p;
    keep_known(s, verdict);
    verdict->done = positions(s) < 1; /* the decoder ends here */
    for (int32_t i = 0; i < s->asked && !verdict->done; i++) {
        const pk_answer   *a = &pass->answer[s->chain + 1 + i];
        const pk_candidate next = choose(s, i, a);
        if (next.token == PK_NO_TOKEN) { /* all is banned: the output ends here */
            verdict->done = true;
            return;
        }
        s->history[s->out.n + 1] = next.token;
        pk_output_add(&s->out, next.token, s->src.want_scores ? next.logp : 0, a->attention);
        verdict->done = next.token == s->src.model->eos || s->out.n == s->constraint.max_length;
    }
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_output_single(&((const state *)p)->out, out, room);
}

const pk_strategy pk_strategy_blocks = {
    .name = "blocks",
    .help = "block after block of masks, unchecked: a drafter (task gad) on its own",
    .options = options,
    .needs = "gad",
    .state_size = sizeof(state),
    .check = pk_strategy_check_single,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
