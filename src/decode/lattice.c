/* lattice.c - translation as a shortest path (Deng and Rush 2021).
 *
 * Candidates of every position are looked up (lexicon.h), one pass scores the edges between
 * neighbours, P(y_t | y_(t-1), t, x), and Viterbi finds the best path of any length within delta
 * tokens of the expected one. With k=1 and delta=0 there is one path only: the look-up's own, and
 * no network is asked. */
#include <string.h>

#include "base/memory.h"
#include "decode/length_range.h"
#include "decode/output.h"
#include "decode/viterbi.h"
#include "lexicon/lexicon.h"

#define NORMALISE_MAP(X) X(CANDIDATES, "candidates") X(FULL, "full")
enum { NORMALISE_MAP(PK_CHOICE_CONSTANT) };
static const char *const normalisations[] = { NORMALISE_MAP(PK_CHOICE_WORD) NULL };
static const char *const ways[] = { PK_LEXICON_BY_MAP(PK_CHOICE_WORD) NULL };

typedef struct state {
    int32_t            k, delta, normalise, by; /* options */
    pk_source          src;
    pk_length_range    length;
    int32_t            width; /* of a position: its candidates and the end symbol */
    int32_t           *token; /* (longest + 1, width) candidates, then the end where it may come */
    int32_t           *count; /* (longest + 1) candidates alone */
    pk_edge_step      *step;  /* (longest + 1) from position s - 1 to position s */
    pk_lattice_step   *edge;  /* (longest + 1) the same, for Viterbi */
    pk_viterbi_scratch scratch;
    int32_t           *choice;    /* (longest + 1) */
    float             *attention; /* (n_tokens) of one output token */
    pk_output          out;
} state;

static const pk_option options[] = {
    { "k", "candidates of each position; 1 with delta=0: the look-up alone, without a network",
      PK_OPTION_INT, 1, 64, 512, NULL, offsetof(state, k) },
    { "delta", "lengths that are tried: the expected one, and so many tokens less or more",
      PK_OPTION_INT, 0, 3, 64, NULL, offsetof(state, delta) },
    { "normalise", "tokens in the denominators of edge scores: the whole vocabulary, or a step's",
      PK_OPTION_CHOICE, 0, FULL, 0, normalisations, offsetof(state, normalise) },
    { "by",
      "how candidates are looked up: by the neighbours of source tokens, or by distances alone",
      PK_OPTION_CHOICE, 0, PK_LEXICON_BY_NEIGHBOURS, 0, ways, offsetof(state, by) },
    { 0 },
};

static bool alone(const void *p) {
    const state *s = p;
    return s->k == 1 && s->delta == 0;
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    (void)self, (void)src;
    return (pk_strategy_limits){ .asks = 1, .hypotheses = 1, .edges = ((const state *)p)->k + 1 };
}

static void end(void *p) {
    state       *s = p;
    void **const blocks[] = { (void **)&s->token,      (void **)&s->count,  (void **)&s->step,
                              (void **)&s->edge,       (void **)&s->choice, (void **)&s->attention,
                              (void **)&s->scratch.sum };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        pk_memory_give(*blocks[i]);
        *blocks[i] = NULL;
    }
    pk_output_end(&s->out);
}

/* ---- candidates ---- */

/* the end symbol comes by the lengths alone, and what the model never outputs never */
static bool may_stand(const pk_conventions *m, int32_t token) {
    for (int32_t i = 0; i < m->n_suppressed; i++)
        if (m->suppressed[i] == token) return false;
    return token != m->eos && token < m->vocab;
}

/* candidates of one position; where nothing is known, the unknown word or any */
static int32_t look_up(state *s, pk_lexicon_finder *f, pk_lexicon_candidate *found, int32_t t,
                       int32_t *token) {
    const pk_conventions *m = s->src.model;
    int32_t               n = 0;
    if (t < s->src.n_prefix) {
        token[0] = s->src.prefix[t];
        return 1;
    }
    const int32_t all = pk_lexicon_find(f, t, s->k, found);
    for (int32_t i = 0; i < all; i++)
        if (may_stand(m, found[i].token)) token[n++] = found[i].token;
    if (n == 0) token[n++] = m->unk >= 0 ? m->unk : 0;
    return n;
}

static pk_lexicon_query query_of(const state *s) {
    return (pk_lexicon_query){ s->src.lexicon, (pk_lexicon_by)s->by, s->src.token,
                               s->length.n_source };
}

/* one position more than the longest output has: what follows competes with the end symbol */
static pk_status look_up_all(state *s) {
    const pk_lexicon_query q = query_of(s);
    pk_lexicon_finder      f;
    pk_lexicon_candidate  *found;
    PK_TRY(pk_lexicon_finder_open(&q, s->length.longest + 1, &f));
    const pk_status status = PK_TAKE(&found, (size_t)s->k);
    for (int32_t t = 0; status == PK_OK && t <= s->length.longest; t++) {
        int32_t *token = s->token + (size_t)t * (size_t)s->width;
        s->count[t] = look_up(s, &f, found, t, token);
        if (t >= s->length.shortest) token[s->count[t]] = s->src.model->eos;
    }
    if (status == PK_OK) pk_memory_give(found);
    pk_lexicon_finder_close(&f);
    return status;
}

/* ---- edges ---- */

/* step t leads to the candidates of position t, from those before it or from the start symbol */
static void lay_out(state *s) {
    for (int32_t t = 0; t <= s->length.longest; t++) {
        int32_t   *to = s->token + (size_t)t * (size_t)s->width;
        const bool may_end = t >= s->length.shortest;
        s->step[t] = (pk_edge_step){ .pos = t,
                                     .n_from = t ? s->count[t - 1] : 1,
                                     .from = t ? to - s->width : &s->src.model->start,
                                     .n_to = s->count[t] + may_end,
                                     .to = to };
        s->edge[t] = (pk_lattice_step){ .n_from = s->step[t].n_from,
                                        .n_to = s->step[t].n_to,
                                        .end = may_end ? s->count[t] : -1 };
    }
}

static pk_status take_edges(state *s) {
    const size_t steps = (size_t)s->length.longest + 1;
    PK_TRY(PK_TAKE(&s->step, steps));
    PK_TRY(PK_TAKE(&s->edge, steps));
    PK_TRY(PK_TAKE(&s->scratch.sum, (steps + 1) * (size_t)s->width));
    PK_TRY(PK_TAKE(&s->choice, steps));
    s->scratch.widest = s->width;
    lay_out(s);
    return PK_OK;
}

/* ---- what comes out ---- */

/* token t of the output; its attention is what the look-up says of it */
static void put(state *s, int32_t t, int32_t token, float logp) {
    const pk_source       *src = &s->src;
    const pk_lexicon_query q = query_of(s);
    if (s->attention && token != src->model->eos) pk_lexicon_align(&q, t, token, s->attention);
    pk_output_add(&s->out, token, src->want_scores && t >= src->n_free_prefix ? logp : 0,
                  s->attention && token != src->model->eos ? s->attention : NULL);
}

/* the most probable candidates, each by itself, and the end */
static void put_best(state *s) {
    for (int32_t t = 0; t < s->length.longest; t++)
        put(s, t, s->token[(size_t)t * (size_t)s->width], 0);
    put(s, s->length.longest, s->src.model->eos, 0);
}

static pk_status take(state *s) {
    const size_t positions = (size_t)s->length.longest + 1;
    s->width = s->k + 1;
    PK_TRY(PK_TAKE(&s->token, positions * (size_t)s->width));
    PK_TRY(PK_TAKE(&s->count, positions));
    if (s->src.want_attention) PK_TRY(PK_TAKE(&s->attention, (size_t)s->src.n_tokens));
    PK_TRY(pk_output_begin(&s->out, &s->src, s->length.longest + 1));
    PK_TRY(look_up_all(s));
    return alone(s) ? PK_OK : take_edges(s);
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    state *s = p;
    if (!src->lexicon) PK_FAIL(PK_UNSUPPORTED, "%s needs a model with candidates", self->name);
    s->src = *src;
    s->length = pk_length_range_of(src, s->delta);
    const pk_status status = take(s);
    if (status != PK_OK)
        end(s);
    else if (alone(s))
        put_best(s);
    return status;
}

static void propose(void *p, pk_pass *pass) {
    state *s = p;
    pass->edges = s->step;
    pass->n_edges = s->length.longest + 1;
    pass->whole_vocabulary = s->normalise == FULL;
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    state           *s = p;
    const pk_lattice l = { s->length.longest + 1, s->edge };
    (void)pass;
    for (int32_t t = 0; t <= s->length.longest; t++) s->edge[t].score = s->step[t].score;
    const int32_t n = pk_viterbi(&l, &s->scratch, s->choice, &s->out.score);
    for (int32_t t = 0; t < n; t++) {
        const pk_edge_step *step = &s->step[t];
        const int32_t       from = t ? s->choice[t - 1] : 0, to = s->choice[t];
        put(s, t, step->to[to], step->score[(size_t)from * (size_t)step->n_to + (size_t)to]);
    }
    if (n == 0) put_best(s); /* no score is a number: not with a sound model */
    verdict->done = true;
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    if (room < 1) return 0;
    pk_output_view(&((const state *)p)->out, out);
    return 1;
}

const pk_strategy pk_strategy_lattice = {
    .name = "lattice",
    .help = "the best path through candidates that are looked up; one pass (models of task markov)",
    .options = options,
    .needs = "markov",
    .looks_up = true,
    .state_size = sizeof(state),
    .alone = alone,
    .check = pk_strategy_check_single,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
