/* task_gad.c - a block of tokens behind a prefix, all at once: what a drafter does (Xia et al.,
 * 2022, GAD); and the same beside one token after the other, for a model that drafts for itself.
 *
 * Decoder inputs are the start symbol and the first p tokens at positions 0 .. p, then as many
 * masks as a block has, at p + 1 and so on; the masks see all of these, and each is asked for the
 * token at its position. Masks behind the end symbol are asked nothing. p is drawn anew each time,
 * 0 included. Tokens of the prefix see those before them, so that a decoder keeps its history
 * between blocks; with prefix=all every input sees every other, as in the paper. With next=yes they
 * are asked for what follows them, so the last of them stands in place of the first mask.
 *
 * Glancing (Qian et al., 2021): a first pass shows how many masks are filled rightly; of the others
 * a share, drawn among all masks, is given as the right token in the second and not asked. */
#include <stddef.h>

#include "task/samples.h"
#include "task/task_list.h"

enum { MOST_BLOCK = 64, MOST_CUTS = 8 };
#define PREFIX_MAP(X) X(PREFIX_CAUSAL, "causal") X(PREFIX_ALL, "all")
enum { PREFIX_MAP(PK_CHOICE_CONSTANT) };
static const double GLANCE_FIRST = 0.5, GLANCE_LAST = 0.3; /* share of what is wrong, over time */

typedef struct gad_options {
    int32_t block, cuts, prefix, next, glancing;
    float   fall;
} gad_options;

static const char *const prefix_choices[] = { PREFIX_MAP(PK_CHOICE_WORD) NULL };
static const char *const yes_no[] = { "no", "yes", NULL };

// clang-format off
#define COMMON_OPTIONS                                                                              \
    { "block", "tokens that are filled in at a time", PK_OPTION_INT, 1, 25, MOST_BLOCK, NULL,           \
      offsetof(gad_options, block) },                                                                \
    { "cuts", "prefixes that are drawn of each sentence", PK_OPTION_INT, 1, 1, MOST_CUTS, NULL,          \
      offsetof(gad_options, cuts) },                                                                 \
    { "fall", "weight of a place of the block, that of the place before it being 1",                   \
      PK_OPTION_FLOAT, 0.1, 1, 1, NULL, offsetof(gad_options, fall) },                                 \
    { "glancing", "give some of the right tokens in a second pass", PK_OPTION_CHOICE, 0, 1, 0, yes_no, \
      offsetof(gad_options, glancing) }
static const pk_option drafter_options[] = {
    COMMON_OPTIONS,
    { "prefix", "what its tokens see: those before them, or all, the block too",
      PK_OPTION_CHOICE, 0, PREFIX_CAUSAL, 0, prefix_choices, offsetof(gad_options, prefix) },
    { "next", "known tokens say what follows; the last replaces the first mask",
      PK_OPTION_CHOICE, 0, 0, 0, yes_no, offsetof(gad_options, next) },
    { 0 }
};
static const pk_option self_options[] = { COMMON_OPTIONS, { 0 } };
// clang-format on

/* a token that sees those behind it would be asked for one of them */
static pk_status check(const void *options) {
    const gad_options *o = options;
    if (o->next && o->prefix == PREFIX_ALL)
        PK_FAIL(PK_ARGUMENT,
                "with prefix=all a known token sees what follows it: leave next=yes out");
    return PK_OK;
}

/* The mask's name says to whoever decodes what a prefix sees and says. */
static bool tokens(const void *options, int32_t i, pk_task_token *out) {
    const gad_options *o = options;
    if (i > 0) return false;
    *out = (pk_task_token){ .name = "<mask>" };
    if (o && o->next) *out = (pk_task_token){ .name = "<mask:next>" };
    if (o && o->prefix == PREFIX_ALL) *out = (pk_task_token){ .name = "<mask:all>" };
    return true;
}

typedef struct cut { /* a prefix and the block behind it */
    int32_t p;
    int32_t said;      /* questions to the prefix */
    int32_t at, masks; /* position of the first mask; how many there are */
    int32_t asked;     /* masks up to the end symbol: those are asked, unless they are given */
} cut;

static cut make_cut(const pk_pair *pair, const gad_options *o, int32_t p) {
    cut           c = { .p = p, .at = p + 1 + o->next, .masks = o->block - o->next };
    const int32_t room = pair->max_positions - c.at, left = pair->n_target + 2 - c.at;
    if (o->next) c.said = p + 1 - pair->n_given;
    if (c.masks > room) c.masks = room > 0 ? room : 0;
    c.asked = c.masks < left ? c.masks : left;
    return c;
}

/* token i of the output, from 1 on, the start symbol before it and the end symbol behind it */
static int32_t token_at(const pk_pair *pair, int32_t i) {
    if (i == 0) return pair->start;
    return i <= pair->n_target ? pair->target[i - 1] : pair->eos;
}

/* of the masks that are asked, how many to give instead; predicted: what the first pass said */
static int32_t count_given(const pk_pair *pair, const cut *c, const int32_t *predicted) {
    int32_t wrong = 0;
    for (int32_t i = 0; i < c->asked; i++) wrong += predicted[i] != token_at(pair, c->at + i);
    const double share = GLANCE_FIRST + (GLANCE_LAST - GLANCE_FIRST) * pair->share;
    return (int32_t)(wrong * share);
}

static pk_status add_prefix(pk_lesson *l, const pk_pair *pair, const gad_options *o, const cut *c,
                            int32_t first) {
    const int32_t n = c->p + 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t at;
        PK_TRY(pk_lesson_input(l, token_at(pair, i), i, first,
                               o->prefix == PREFIX_ALL ? n + c->masks : i + 1, &at));
        if (i >= n - c->said) PK_TRY(pk_lesson_ask(l, at, token_at(pair, i + 1), 1));
    }
    return PK_OK;
}

/* Inputs from `first` on. predicted: NULL in the first pass, where nothing is given. A draft counts
 * up to its first wrong token, so later places may weigh less. */
static pk_status add_cut(pk_lesson *l, pk_pair *pair, const gad_options *o, const cut *c,
                         int32_t first, const int32_t *predicted) {
    const int32_t all = c->p + 1 + c->masks;
    int32_t       give = predicted ? count_given(pair, c, predicted + c->said) : 0;
    float         weight = o->next ? o->fall : 1;
    PK_TRY(add_prefix(l, pair, o, c, first));
    for (int32_t i = 0; i < c->masks; i++, weight *= o->fall) {
        const int32_t right = token_at(pair, c->at + i);
        const bool    asked = i < c->asked;
        /* each of those left is as likely as any other to be among those that are given */
        const bool given = asked && give > 0 && pk_pair_random(pair, c->asked - i) < give;
        int32_t    at;
        give -= given;
        PK_TRY(pk_lesson_input(l, given ? right : pair->token[PK_MASK_TOKEN], c->at + i, first, all,
                               &at));
        if (asked && !given) PK_TRY(pk_lesson_ask(l, at, right, weight));
    }
    return PK_OK;
}

/* All cuts are drawn before anything else, so that both passes draw the same. `first` inputs and
 * questions are there already. */
static pk_status add_cuts(pk_lesson *l, pk_pair *pair, const gad_options *o, int32_t first,
                          int32_t questions) {
    const int32_t *predicted = pair->predicted ? pair->predicted + questions : NULL;
    cut            drawn[MOST_CUTS];
    for (int32_t i = 0; i < o->cuts; i++)
        drawn[i] = make_cut(
            pair, o, pair->n_given + pk_pair_random(pair, pair->n_target - pair->n_given + 1));
    for (int32_t i = 0; i < o->cuts; i++) {
        PK_TRY(add_cut(l, pair, o, &drawn[i], first, predicted));
        first += drawn[i].p + 1 + drawn[i].masks;
        if (predicted) predicted += drawn[i].said + drawn[i].asked;
    }
    return PK_OK;
}

static pk_status teach(pk_lesson *l, pk_pair *pair) {
    PK_TRY(pk_sample_source(l, pair));
    return add_cuts(l, pair, pair->options, 0, 0);
}

/* first the whole sentence, one token after the other */
static pk_status teach_self(pk_lesson *l, pk_pair *pair) {
    const int32_t n = pair->n_target + 1;
    PK_TRY(pk_sample_source(l, pair));
    PK_TRY(pk_sample_chain(l, pair, false));
    return add_cuts(l, pair, pair->options, n, n - pair->n_given);
}

static bool looks_once(const void *options) { return !((const gad_options *)options)->glancing; }

static void most(const void *options, int32_t *per_token, int32_t *per_sentence) {
    const gad_options *o = options;
    *per_token = o->cuts;
    *per_sentence = o->cuts * o->block;
}

static void most_self(const void *options, int32_t *per_token, int32_t *per_sentence) {
    most(options, per_token, per_sentence);
    ++*per_token;
}

const pk_task pk_task_gad = {
    .name = "gad",
    .help = "a block of tokens behind a prefix: drafters for -d gad",
    .table = drafter_options,
    .options_size = sizeof(gad_options),
    .two_pass = true,
    .looks_once = looks_once,
    .decode = "blocks",
    .tokens = tokens,
    .check = check,
    .teach = teach,
    .most = most,
};

/* it verifies its own drafts: it still translates one token after the other */
static const char *also_at(const void *options) {
    (void)options;
    return "at";
}

const pk_task pk_task_gad_self = {
    .name = "gad-self",
    .help = "both at and gad: models that draft for themselves",
    .table = self_options,
    .options_size = sizeof(gad_options),
    .two_pass = true,
    .looks_once = looks_once,
    .also = also_at,
    .tokens = tokens,
    .teach = teach_self,
    .most = most_self,
};
