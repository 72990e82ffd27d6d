/* gad_self.c - draft and verify by one network: a model that was trained to fill masks too (task
 * gad-self) checks the last draft and makes the next one in the same pass.
 *
 * The asks of a pass, behind what is left of the prefix (c: certain, d: drafted, M: masks, each
 * block of which sees what it follows and itself):
 *
 *   c[n] d[1] d[2] d[3]        what follows each: what jacobi_window.c checks
 *   c[n] M M M M M             fills in what follows c[n]
 *   c[n] d[1] d[2] M M M M     the same behind d[2]: better, if d[1] and d[2] are right
 *
 * Once it is known how many drafts were right, the block behind the last of these is the next
 * draft, less what is certain by then. A first block always stands behind c[n]; `points` says how
 * many there are. */
#include "base/memory.h"
#include "decode/draft_rates.h"
#include "decode/jacobi_window.h"
#include "decode/ngrams.h"

enum { LONGEST_AUTO = 10, MOST_POINTS = 8 };

typedef struct state {
    pk_constraint_options options;
    int32_t               block, points; /* 0: auto */
    pk_window             window;
    pk_draft_rates       *rates, own; /* of the worker, or own */
    int32_t               mask;
    int32_t               n_drafts;
    /* of the pass in flight */
    int32_t n_points, point[MOST_POINTS]; /* drafts in front of each block of masks */
    int32_t masks[MOST_POINTS];           /* its first ask */
    int32_t length[MOST_POINTS];          /* its asks */
    int32_t checked;                      /* asks before the masks */
} state;

// clang-format off
static const pk_option options[] = {
    { "block", "tokens drafted at a time; auto: as many as pay, by measured cost and success",
      PK_OPTION_INT, 1, 0, PK_DRAFT_MOST, NULL, offsetof(state, block) },
    { "points", "places of the last draft behind which the next one is made; auto: by measured cost",
      PK_OPTION_INT, 1, 0, MOST_POINTS, NULL, offsetof(state, points) },
    PK_CONSTRAINT_OPTIONS(state, options),
    { 0 }
};
// clang-format on

static int32_t longest_block(const state *s) { return s->block ? s->block : LONGEST_AUTO; }

static int32_t most_points(const state *s) { return s->points ? s->points : MOST_POINTS; }

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    const state       *s = p;
    const int32_t      masks = most_points(s) * (longest_block(s) + 1);
    pk_strategy_limits most = pk_window_limits(&s->options, src, longest_block(s) + 1);
    (void)self;
    most.asks += masks;
    most.slots += masks;
    return most;
}

static void end(void *p) { pk_window_end(&((state *)p)->window); }

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state                 *s = p;
    const pk_added_tokens *mask = pk_added_find(src->model, "<mask>");
    (void)self;
    if (!mask) PK_FAIL(PK_UNSUPPORTED, "the model has no token <mask>: train it with gad-self");
    s->mask = mask->first;
    s->rates = src->ngrams ? &src->ngrams->drafts : &s->own;
    s->n_drafts = 0;
    return pk_window_begin(&s->window, &s->options, src, longest_block(s) + 1);
}

/* ---- asking ---- */

/* tokens of the next draft; 0: none */
static int32_t block_of(state *s, const pk_pass *pass) {
    const float more = pk_draft_more(pass);
    if (s->block || more < 0) return longest_block(s);
    return pk_draft_rates_block(s->rates, 1 + more, 2 * more, longest_block(s));
}

/* blocks of masks: where a block costs little beside the pass, several */
static int32_t points_of(const state *s, const pk_pass *pass, int32_t block) {
    const float more = pk_draft_more(pass), all = more * (float)(block + 1);
    int32_t     n = s->points                  ? s->points
                    : all > 0.5f / MOST_POINTS ? 1 + (int32_t)(0.5f / all)
                                               : MOST_POINTS;
    if (n > most_points(s)) n = most_points(s);
    return n < s->n_drafts + 1 ? n : s->n_drafts + 1;
}

/* A block behind ask `parent`, for the tokens from position `pos` on: the first of these is certain
 * after this pass, those behind it are the draft. Returns how many masks there was room for. */
static int32_t add_masks(const state *s, pk_pass *pass, int32_t parent, int32_t pos, int32_t block,
                         int32_t number) {
    const int32_t end = s->window.constraint.max_length; /* no token is fed there */
    int32_t       n = 0;
    for (; n <= block && pos + n < end && pass->n < pass->room; n++)
        parent = pk_ask_add(pass, (pk_ask){ .token = s->mask,
                                            .pos = pos + n,
                                            .parent = parent,
                                            .block = 1 + number,
                                            .top_k = 1,
                                            .ahead = -1 });
    return n;
}

static void propose(void *p, pk_pass *pass) {
    state        *s = p;
    pk_window    *w = &s->window;
    const int32_t room = pk_window_room(w, pass), block = block_of(s, pass);
    const int32_t drafts = s->n_drafts < room ? s->n_drafts : room;
    pk_window_propose(w, pass, drafts < 0 ? 0 : drafts);
    s->checked = pass->n;
    s->n_points = 0;
    if (!block || !w->asked) return;
    const int32_t points = points_of(s, pass, block);
    for (int32_t i = 0; i < points; i++) {
        const int32_t behind = i * w->asked / points; /* drafts; evenly from none on */
        const int32_t parent = s->checked - w->asked + 1 + behind;
        if (i && behind == s->point[i - 1]) return; /* there was room for fewer drafts */
        s->point[i] = behind;
        s->masks[i] = pass->n + 1;
        s->length[i] = add_masks(s, pass, parent, w->n + behind + 1, block, i);
        s->n_points++;
    }
}

/* ---- reading the answers ---- */

/* The block behind the last right draft that has one. before: certain tokens when it was asked. */
static void take_draft(state *s, const pk_pass *pass, int32_t before, int32_t right) {
    pk_window *w = &s->window;
    int32_t    at = s->n_points - 1;
    while (at > 0 && s->point[at] > right) at--;
    s->n_drafts = 0;
    if (at < 0) return;
    const int32_t known = w->n - before - s->point[at]; /* of its tokens */
    for (int32_t i = known; i < s->length[at]; i++) {
        const int32_t token = pass->answer[s->masks[at] + i].top[0].token;
        if (token < 0 || token >= w->src.model->vocab || token == w->src.model->eos) return;
        w->history[w->n + ++s->n_drafts] = token;
    }
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state        *s = p;
    pk_window    *w = &s->window;
    pk_pass       checked = *pass;
    const int32_t before = w->n, asked = w->asked - 1;
    checked.n = s->checked;
    const int32_t certain = pk_window_absorb(w, &checked, verdict);
    if (!certain || verdict->done) return;
    pk_draft_rates_judge(s->rates, asked, certain - 1);
    take_draft(s, pass, before, certain - 1);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_window_result(&((const state *)p)->window, out, room);
}

const pk_strategy pk_strategy_gad_self = {
    .name = "gad-self",
    .help = "the same by a model that drafts for itself, in the pass in which it checks",
    .options = options,
    .needs = "gad-self",
    .state_size = sizeof(state),
    .check = pk_strategy_check_single,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
