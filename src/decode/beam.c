/* beam.c - keep the best few partial translations, under the rules of one of four peers.
 *
 * Hypotheses are paths in a tree of nodes (token and node before); a row of the beam is a tip and a
 * score. A step offers every row's best next tokens to one short sorted list, then turns its members
 * into endings and new rows. What a rule set does differently is in beam_rules.c. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "decode/beam_rules.h"
#include "decode/chain.h"

enum { MAX_SIZE = 32, NORMAL_SIZE = 4, UNSET = -1000, NO_NODE = -1 };

typedef struct node { int32_t token, before, look; float logp; } node;  /* look: row of `looks` */
typedef struct row { int32_t tip; float score; } row;                   /* tip: a node, or NO_NODE */
typedef struct ending { int32_t tip; float score; } ending;             /* score: as ranked */
typedef struct candidate { int32_t row, token; float score, logp; } candidate;

typedef struct state {
    /* options */
    int32_t size, rules, early_stopping;
    float   length_penalty, patience;
    pk_constraint_options options;
    /* the sentence */
    pk_source            src;
    const pk_beam_rules *by;
    pk_constraint        constraint;
    pk_beam_standing     now;
    pk_chain             prefix;
    pk_output            opening;       /* the prefix as output */
    int32_t              n, width;      /* output tokens of each row; places left in the beam */
    int32_t              n_rows, n_nodes, n_candidates, first_ask;
    row                 *rows, *next;   /* (size) */
    ending              *finished;      /* (size) best first; now.n_finished of them */
    candidate           *candidates;    /* (2 size) best first */
    node                *nodes;         /* (2 size for each free token) */
    pk_special          *special;       /* (size) of the asks in flight */
    int32_t             *lists, *history;   /* (size, constraint.room); (max_length + 1) */
    float               *looks;         /* (size for each token, source tokens), or NULL */
    pk_output           *outputs;       /* (n_best) written at the end */
    int32_t              n_outputs;
} state;

static const char *const stop_choices[] = { "auto", "no", "yes", "never", NULL };
// clang-format off
static const pk_option options[] = {
    { "size", "hypotheses kept at each step; auto: the model's, or 4",
      PK_OPTION_INT, 1, 0, MAX_SIZE, NULL, offsetof(state, size) },
    { "rules", "whose beam search to follow, step for step",
      PK_OPTION_CHOICE, 0, PK_BEAM_HF, 0, pk_beam_rule_names, offsetof(state, rules) },
    { "length_penalty", "score = sum / length^penalty; auto: by rules, hf: the model's",
      PK_OPTION_FLOAT, -100, UNSET, 100, NULL, offsetof(state, length_penalty) },
    { "patience", "ct2: stop when size x patience hypotheses have ended",
      PK_OPTION_FLOAT, 0.01, 1, 100, NULL, offsetof(state, patience) },
    { "early_stopping", "hf: stop as soon as size hypotheses have ended; auto: the model's",
      PK_OPTION_CHOICE, 0, 0, 0, stop_choices, offsetof(state, early_stopping) },
    PK_CONSTRAINT_OPTIONS(state, options),
    { 0 },
};
// clang-format on

static pk_status check(const void *p, int32_t n_best) {
    const state *s = p;
    if (n_best > (s->size ? s->size : MAX_SIZE))
        PK_FAIL(PK_ARGUMENT, "beam: %d hypotheses are wanted but the beam holds %d; use size=%d or more "
                "(at most %d)", (int)n_best, (int)(s->size ? s->size : MAX_SIZE), (int)n_best, MAX_SIZE);
    if (s->patience != 1 && s->rules != PK_BEAM_CT2)
        PK_FAIL(PK_ARGUMENT, "beam: patience belongs to rules=ct2; leave it out");
    if (s->early_stopping && s->rules != PK_BEAM_HF)
        PK_FAIL(PK_ARGUMENT, "beam: early_stopping belongs to rules=hf; leave it out");
    return PK_OK;
}

/* places in the beam: the user's, the model's or the usual number */
static int32_t size_of(const state *s, const pk_source *src) {
    int32_t size = s->size ? s->size : src->beams > 0 ? src->beams : NORMAL_SIZE;
    if (size < src->n_best) size = src->n_best;
    if (size > MAX_SIZE) size = MAX_SIZE;
    if (s->rules == PK_BEAM_FAIRSEQ && size > src->vocab - 1) size = src->vocab - 1;
    return size > 0 ? size : 1;
}

static int32_t candidates_of(const state *s, int32_t size) {
    return size * pk_beam_rules_of(s->rules)->candidates;
}

static void limits(const void *p, const pk_source *src, int32_t *asks, int32_t *rows, int32_t *slots,
                   int32_t *top_k) {
    const state *s = p;
    const int32_t size = size_of(s, src), n_candidates = candidates_of(s, size);
    const int32_t free_tokens = pk_constraint_max_length(&s->options, src) - src->n_prefix;
    *asks = size > src->n_prefix + 1 ? size : src->n_prefix + 1;
    *rows = size;
    /* all rows stand on the prefix and the first free ask; after that each may go its own way */
    *slots = src->n_prefix + 1 + (free_tokens > 1 ? size * (free_tokens - 1) : 0);
    *top_k = n_candidates < src->vocab ? n_candidates : src->vocab;
}

static void end(void *p) {
    state *s = p;
    pk_constraint_end(&s->constraint);
    pk_output_end(&s->opening);
    for (int32_t i = 0; s->outputs && i < s->src.n_best; i++) pk_output_end(&s->outputs[i]);
    void *const blocks[] = { s->rows, s->next, s->finished, s->candidates, s->nodes, s->special,
                             s->lists, s->history, s->looks, s->outputs };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    s->rows = s->next = NULL;
    s->finished = NULL;
    s->candidates = NULL;
    s->nodes = NULL;
    s->special = NULL;
    s->lists = s->history = NULL;
    s->looks = NULL;
    s->outputs = NULL;
}

static pk_status take_lists(state *s, size_t size) {
    const size_t room = (size_t)s->constraint.room, longest = (size_t)s->constraint.max_length;
    PK_TRY(PK_TAKE(&s->special, size));
    PK_TRY(PK_TAKE(&s->lists, size * room));
    for (size_t i = 0; i < size; i++) s->special[i].token = s->lists + i * room;
    PK_TRY(PK_TAKE(&s->history, longest + 1));
    s->history[0] = s->src.start;
    if (s->src.n_prefix)
        memcpy(s->history + 1, s->src.prefix, (size_t)s->src.n_prefix * sizeof *s->history);
    return PK_OK;
}

static pk_status take(state *s, size_t size) {
    pk_constraint_rules rules = s->by->constraint;
    if (s->src.renormalise) rules.renormalise = true;
    if (size == 1) rules.on_logits = true;      /* a beam of one is greedy search, also in hf */
    PK_TRY(pk_constraint_begin(&s->constraint, &s->options, &s->src, rules));
    const size_t longest = (size_t)s->constraint.max_length, steps = longest - (size_t)s->src.n_prefix;
    PK_TRY(PK_TAKE(&s->rows, size));
    PK_TRY(PK_TAKE(&s->next, size));
    PK_TRY(PK_TAKE(&s->finished, size));
    PK_TRY(PK_TAKE(&s->candidates, 2 * size));
    PK_TRY(PK_TAKE(&s->nodes, 2 * size * steps));
    PK_TRY(take_lists(s, size));
    if (s->src.want_attention) PK_TRY(PK_TAKE(&s->looks, size * steps * (size_t)s->src.n_tokens));
    PK_TRY(pk_output_begin(&s->opening, &s->src, s->src.n_prefix));
    PK_TRY(PK_TAKE(&s->outputs, (size_t)s->src.n_best));
    for (int32_t i = 0; i < s->src.n_best; i++)
        PK_TRY(pk_output_begin(&s->outputs[i], &s->src, (int32_t)longest));
    return PK_OK;
}

static pk_status begin(void *p, const pk_source *src) {
    state *s = p;
    const int32_t size = size_of(s, src);
    s->src = *src;
    if (s->src.n_best < 1) s->src.n_best = 1;
    s->by = pk_beam_rules_of(s->rules);
    s->prefix = pk_chain_begin(src, false, src->want_scores || s->by->scores_prefix);
    const pk_status status = take(s, (size_t)size);
    if (status != PK_OK) {
        end(s);
        return status;
    }
    const bool of_model = s->by->constraint.of_model;
    s->now = (pk_beam_standing){
        .size = size,
        .n_best = s->src.n_best,
        .longest = pk_beam_length(s->by, src, s->constraint.max_length, false),
        .length_penalty = s->length_penalty > UNSET ? s->length_penalty
                          : of_model                ? src->length_penalty
                                                    : s->by->length_penalty,
        .patience = s->patience,
        .early_stopping = s->early_stopping ? s->early_stopping - 1 : src->early_stopping,
    };
    s->width = size;
    s->n_rows = 1;
    s->rows[0] = (row){ NO_NODE, 0 };
    return PK_OK;
}

/* the next token is the last one, and must be the end symbol */
static bool must_end(const state *s, int32_t n) {
    const bool forces = s->by->always_ends || (s->by->may_force && s->src.forced_eos);
    return forces && n == s->constraint.max_length - 1;
}

/* the tokens of a row into history[n_prefix + 1 ..] */
static const int32_t *trace(state *s, const row *r, int32_t n) {
    if (!pk_constraint_looks_back(&s->constraint)) return NULL;
    for (int32_t tip = r->tip; tip != NO_NODE; tip = s->nodes[tip].before)
        s->history[n--] = s->nodes[tip].token;
    return s->history;
}

static void propose(void *p, pk_pass *pass) {
    state *s = p;
    const int32_t parent = pk_chain_propose(&s->prefix, pass), n = s->n + s->prefix.asked;
    if (pass->n == pass->room) return;          /* the prefix filled the pass */
    s->first_ask = pass->n + 1;
    for (int32_t i = 0; i < s->n_rows; i++) {
        const int32_t tip = s->rows[i].tip;
        pk_ask ask = { .row = i, .pos = n, .parent = parent, .logp = true,
                       .token = tip == NO_NODE ? s->history[n] : s->nodes[tip].token,
                       .attention = s->src.want_attention };
        if (must_end(s, n)) {
            ask.target = &s->src.eos;
            ask.n_target = 1;
        } else {
            const int32_t top_k = candidates_of(s, s->width);
            ask.top_k = top_k < s->src.vocab ? top_k : s->src.vocab;
            pk_constraint_list(&s->constraint, trace(s, &s->rows[i], n), n, &s->special[i]);
            pk_constraint_ask(&s->constraint, &s->special[i], &ask);
        }
        pk_ask_add(pass, ask);
    }
}

/* best first; ties: the lower row, then the lower token */
static bool before(const candidate *a, const candidate *b) {
    if (a->score != b->score) return a->score > b->score;
    return a->row != b->row ? a->row < b->row : a->token < b->token;
}

/* false when the list is full of better ones: worse ones of the same row need not be tried */
static bool offer(state *s, candidate c) {
    const int32_t room = candidates_of(s, s->width);
    if (!(c.score > -INFINITY)) return false;   /* impossible, or not a number */
    int32_t i = s->n_candidates;
    if (i == room) {
        if (!before(&c, &s->candidates[i - 1])) return false;
        i--;
    } else {
        s->n_candidates++;
    }
    for (; i > 0 && before(&c, &s->candidates[i - 1]); i--) s->candidates[i] = s->candidates[i - 1];
    s->candidates[i] = c;
    return true;
}

static void collect_row(state *s, int32_t i, const pk_answer *a, int32_t top_k) {
    const float score = s->rows[i].score;
    const pk_special *special = &s->special[i];
    const float shift = pk_constraint_shift(&s->constraint, special, a);
    for (int32_t j = 0; j < top_k && a->top[j].token != PK_NO_TOKEN; j++) {
        const float logp = a->top[j].logp;
        if (!offer(s, (candidate){ i, a->top[j].token, score + (logp + shift), logp })) break;
    }
    for (int32_t j = 0; j < special->n_penalised; j++) {
        const float weighed = pk_constraint_weigh(&s->constraint, a, j) + shift;
        offer(s, (candidate){ i, special->token[j], score + weighed, a->target_logp[j] });
    }
}

static void collect(state *s, const pk_pass *pass) {
    s->n_candidates = 0;
    for (int32_t i = 0; i < s->n_rows; i++) {
        const int32_t    ask = s->first_ask + i;
        const pk_answer *a = &pass->answer[ask];
        if (must_end(s, s->n)) {
            const float logp = a->target_logp[0], cost = s->by->forced_is_free ? 0 : logp;
            offer(s, (candidate){ i, s->src.eos, s->rows[i].score + cost, logp });
        } else {
            collect_row(s, i, a, pass->ask[ask].top_k);
        }
    }
}

static int32_t add_node(state *s, const candidate *c) {
    const int32_t step = s->n - s->src.n_prefix;
    s->nodes[s->n_nodes] = (node){ c->token, s->rows[c->row].tip, step * s->now.size + c->row, c->logp };
    return s->n_nodes++;
}

/* into the sorted list of finished hypotheses; the worst falls out when it is full */
static void finish(state *s, int32_t tip, float sum, int32_t n, bool ends_in_eos) {
    const int32_t length = pk_beam_length(s->by, &s->src, n, ends_in_eos);
    const float   score = pk_beam_score(sum, length, s->now.length_penalty);
    int32_t       i = s->now.n_finished;
    s->now.n_ended++;
    if (i == s->now.size) {
        if (s->by->stops_taking || !(score > s->finished[i - 1].score)) return;
        i--;
    } else {
        s->now.n_finished++;
    }
    for (; i > 0 && score > s->finished[i - 1].score; i--) s->finished[i] = s->finished[i - 1];
    s->finished[i] = (ending){ tip, score };
}

/* candidates -> endings and next rows; returns how many rows there are */
static int32_t advance(state *s, pk_verdict *verdict) {
    const bool last = s->n + 1 == s->constraint.max_length;
    const bool no_second_eos = s->by->drops_first_eos && s->src.n_prefix && s->n == s->src.n_prefix;
    int32_t kept = 0, places = s->width;
    for (int32_t i = 0; i < s->n_candidates; i++) {
        const candidate *c = &s->candidates[i];
        const bool eos = c->token == s->src.eos;
        if (no_second_eos && eos && i > 0) {
            places -= i < s->width;             /* it loses its place to nobody */
        } else if (eos || last) {
            if (i >= s->width) continue;        /* only the best of the candidates may end */
            s->now.best_ended |= i == 0;
            finish(s, add_node(s, c), c->score, s->n + 1, eos);
        } else if (kept < places) {
            s->next[kept++] = (row){ add_node(s, c), c->score };
            pk_keep(verdict, s->first_ask + c->row);
        }
    }
    return kept;
}

/* a finished path, end to start, into an output */
static void write_output(state *s, const ending *e, pk_output *out) {
    int32_t n = 0;
    for (int32_t tip = e->tip; tip != NO_NODE; tip = s->nodes[tip].before) n++;
    for (int32_t i = 0; i < s->opening.n; i++) {
        const float *look = s->opening.attention;
        pk_output_add(out, s->opening.token[i], s->src.want_scores ? s->opening.logp[i] : 0,
                      look ? look + (size_t)i * (size_t)s->src.n_tokens : NULL);
    }
    out->score = e->score;
    out->n += n;
    const int32_t all = out->n;
    for (int32_t tip = e->tip; tip != NO_NODE; tip = s->nodes[tip].before) {
        const node *at = &s->nodes[tip];
        out->n--;
        pk_output_add(out, at->token, at->logp,
                      s->looks ? s->looks + (size_t)at->look * (size_t)s->src.n_tokens : NULL);
        out->n--;
    }
    out->n = all;
}

static void write_outputs(state *s) {
    if (s->now.n_finished == 0)                 /* nothing was allowed to follow: end as they stand */
        for (int32_t i = 0; i < s->n_rows; i++)
            finish(s, s->rows[i].tip, s->rows[i].score, s->n, false);
    for (; s->n_outputs < s->src.n_best && s->n_outputs < s->now.n_finished; s->n_outputs++)
        write_output(s, &s->finished[s->n_outputs], &s->outputs[s->n_outputs]);
}

/* the prefix has been run: where the search starts */
static void open_search(state *s) {
    for (int32_t i = s->src.n_free_prefix; s->by->scores_prefix && i < s->opening.n; i++)
        s->rows[0].score += s->opening.logp[i];
    s->n = s->opening.n;
}

static void remember_looks(state *s, const pk_pass *pass) {
    const size_t width = (size_t)s->src.n_tokens;
    const int32_t step = s->n - s->src.n_prefix;
    for (int32_t i = 0; s->looks && i < s->n_rows; i++) {
        const float *look = pass->answer[s->first_ask + i].attention;
        const size_t at = (size_t)(step * s->now.size + i) * width;
        if (look) memcpy(s->looks + at, look, width * sizeof *look);
    }
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state *s = p;
    if (s->prefix.asked) {
        const int32_t asked = s->prefix.asked;
        pk_chain_absorb(&s->prefix, pass, &s->opening);
        s->prefix.asked = 0;
        s->n = s->opening.n;
        if (s->prefix.fed == s->prefix.n) open_search(s);
        if (pass->n == asked) {
            pk_keep(verdict, pass->n);
            return;
        }
    }
    collect(s, pass);
    remember_looks(s, pass);
    const int32_t kept = advance(s, verdict);
    s->now.length = pk_beam_length(s->by, &s->src, s->n + 1, false);
    s->now.best_running = kept ? s->next[0].score : -INFINITY;
    s->now.worst_finished = s->now.n_finished ? s->finished[s->now.n_finished - 1].score : -INFINITY;
    verdict->done = kept == 0 || pk_beam_stops(s->by, &s->now);
    if (verdict->done) {
        verdict->n_rows = 0;
        write_outputs(s);
        return;
    }
    row *was = s->rows;
    s->rows = s->next;
    s->next = was;
    s->n_rows = kept;
    s->n++;
    if (s->by->shrinks) s->width = kept;
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const state *s = p;
    int32_t n = s->n_outputs < room ? s->n_outputs : room;
    for (int32_t i = 0; i < n; i++) pk_output_view(&s->outputs[i], &out[i]);
    return n;
}

const pk_strategy pk_strategy_beam = {
    .name = "beam", .help = "keeps several translations in view; best quality", .options = options,
    .needs = PK_CAN_CAUSAL, .state_size = sizeof(state), .check = check, .limits = limits,
    .begin = begin, .propose = propose, .absorb = absorb, .result = result, .end = end,
};
