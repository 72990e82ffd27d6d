/* pairs_state.c - book-keeping of a search that writes two tokens a step.
 *
 * A step makes at most two nodes for each entry of the beam: one that goes on, one that ends. */
#include "decode/pairs_state.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "decode/beam_rules.h"

/* ---- length ---- */

/* where the model's convention puts the end symbol last, there is one token less for the rest */
int32_t pk_pairs_steps(const pk_source *src, int32_t longest, int32_t given) {
    const int32_t left = longest - given - src->model->forced_eos;
    return left > 2 ? (left + 1) / 2 : 1;
}

/* A pair is fed at the positions of the next two output tokens, so the last one needs two. */
int32_t pk_pairs_longest(const pk_constraint_options *o, const pk_source *src, int32_t given) {
    const int32_t longest = pk_constraint_max_length(o, src);
    const int32_t positions =
        src->model->max_positions > src->max_length ? src->model->max_positions : src->max_length;
    const int32_t whole = given + (positions - given) / 2 * 2;
    return positions - given >= 2 && whole < longest ? whole : longest;
}

bool pk_pairs_at_end(const pk_pairs *s) { return s->step + 1 >= s->steps; }

/* ---- memory ---- */

void pk_pairs_give(pk_pairs *s) {
    pk_constraint_end(&s->constraint);
    pk_output_end(&s->given_output);
    for (int32_t i = 0; s->written && i < s->src.n_best; i++) pk_output_end(&s->written[i]);
    void *const blocks[] = { s->special.token, s->live,  s->next,      s->left,   s->candidates,
                             s->finished,      s->nodes, s->attention, s->written };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    s->special.token = NULL;
    s->live = s->next = NULL;
    s->left = s->candidates = NULL;
    s->finished = NULL;
    s->nodes = NULL;
    s->attention = NULL;
    s->written = NULL;
}

pk_status pk_pairs_take(pk_pairs *s) {
    const pk_constraint_rules rules = { .renormalise = s->src.model->renormalise && s->scored };
    const size_t              size = (size_t)s->size, steps = (size_t)s->steps;
    PK_TRY(pk_constraint_begin(&s->constraint, &s->options, &s->src, rules));
    PK_TRY(PK_TAKE(&s->special.token, (size_t)s->constraint.room));
    PK_TRY(PK_TAKE(&s->live, size));
    PK_TRY(PK_TAKE(&s->next, size));
    PK_TRY(PK_TAKE(&s->left, 2 * size));
    PK_TRY(PK_TAKE(&s->candidates, 3 * size));
    PK_TRY(PK_TAKE(&s->finished, (size_t)s->enough));
    PK_TRY(PK_TAKE(&s->nodes, 2 * size * steps));
    if (s->src.want_attention)
        PK_TRY(PK_TAKE(&s->attention, 2 * size * steps * (size_t)s->src.n_tokens));
    PK_TRY(pk_output_begin(&s->given_output, &s->src, s->src.n_prefix));
    PK_TRY(PK_TAKE(&s->written, (size_t)s->src.n_best));
    for (int32_t i = 0; i < s->src.n_best; i++)
        PK_TRY(pk_output_begin(&s->written[i], &s->src, s->longest));
    return PK_OK;
}

/* ---- candidates ---- */

/* best first; ties: the lower hypothesis, then the lower left token, then the lower right one */
static bool before(const pk_pair_candidate *a, const pk_pair_candidate *b) {
    if (a->score != b->score) return a->score > b->score;
    if (a->hypothesis != b->hypothesis) return a->hypothesis < b->hypothesis;
    return a->token[0] != b->token[0] ? a->token[0] < b->token[0] : a->token[1] < b->token[1];
}

bool pk_pairs_offer(pk_pair_candidate *list, int32_t *n, int32_t room, pk_pair_candidate c) {
    int32_t i = *n;
    if (i == room) {
        if (!before(&c, &list[i - 1])) return false;
        i--; /* overwrites the worst */
    } else {
        ++*n;
    }
    for (; i > 0 && before(&c, &list[i - 1]); i--) list[i] = list[i - 1];
    list[i] = c;
    return true;
}

/* ---- what the last pair of a hypothesis says ---- */

typedef struct last_pair {
    int32_t n, side[2]; /* which of its tokens are text, in reading order */
    bool    ended;      /* the end symbol comes last */
} last_pair;

/* n: output tokens before the pair. Beside an end symbol a token is text; but in one direction what
 * follows the end symbol is dropped. What is too long is cut. */
static last_pair read_pair(const pk_pairs *s, const int32_t token[2], int32_t n) {
    const int32_t eos = s->src.model->eos, forced = s->src.model->forced_eos;
    const bool    no_left = token[0] == eos, no_right = token[1] == eos;
    const int32_t room = s->longest - n - forced > 0 ? s->longest - n - forced : 0;
    last_pair     p = { 0 };
    if (!no_left) p.side[p.n++] = 0;
    if (!no_right && (s->both_ends || !no_left)) p.side[p.n++] = 1;
    if (p.n > room) p.n = room;
    p.ended = n + p.n < s->longest && (no_left || no_right || (forced && n + 2 >= s->longest - 1));
    return p;
}

/* two candidates of one hypothesis that end with the same text */
static bool same_text(const pk_pairs *s, const pk_pair_candidate *a, const pk_pair_candidate *b) {
    const last_pair x = read_pair(s, a->token, s->n), y = read_pair(s, b->token, s->n);
    if (a->hypothesis != b->hypothesis || x.n != y.n || x.ended != y.ended) return false;
    for (int32_t i = 0; i < x.n; i++)
        if (a->token[x.side[i]] != b->token[y.side[i]]) return false;
    return true;
}

/* ---- one step ---- */

static bool ends(const pk_pairs *s, const pk_pair_candidate *c) {
    const int32_t eos = s->src.model->eos;
    return c->token[0] == eos || c->token[1] == eos || pk_pairs_at_end(s);
}

/* A text can be reached twice only from one hypothesis, in one step: by (y, E) and (E, y), or where
 * a token is dropped. Then the better one counts, which comes first. */
static bool is_new(const pk_pairs *s, int32_t i) {
    for (int32_t j = 0; j < i; j++)
        if (ends(s, &s->candidates[j]) && same_text(s, &s->candidates[j], &s->candidates[i]))
            return false;
    return true;
}

static int32_t add_node(pk_pairs *s, const pk_pair_candidate *c) {
    assert(s->n_nodes < 2 * s->size * s->steps);
    s->nodes[s->n_nodes] = (pk_pair_node){
        .token = { c->token[0], c->token[1] },
        .logp = { c->logp[0], c->logp[1] },
        .before = s->live[c->hypothesis].tip,
        .attention = 2 * (s->step * s->size + c->hypothesis),
    };
    return s->n_nodes++;
}

/* n_pairs: of the path that ends in tip. Every token that was written counts, the ends too. */
static void finish(pk_pairs *s, int32_t tip, float sum, int32_t n_pairs) {
    const int32_t length = s->src.n_prefix + 2 * n_pairs;
    const float   score = pk_beam_score(sum, length, s->penalty);
    int32_t       i = s->n_finished;
    s->n_ended++;
    if (i == s->enough) {
        if (!(score > s->finished[i - 1].score)) return;
        i--;
    } else {
        s->n_finished++;
    }
    /* a tie stays behind the earlier one */
    for (; i > 0 && score > s->finished[i - 1].score; i--) s->finished[i] = s->finished[i - 1];
    s->finished[i] = (pk_pair_ending){ tip, score };
}

int32_t pk_pairs_advance(pk_pairs *s) {
    int32_t kept = 0;
    for (int32_t i = 0; i < s->n_candidates; i++) {
        const pk_pair_candidate *c = &s->candidates[i];
        if (!ends(s, c)) {
            if (kept < s->size)
                s->next[kept++] = (pk_pair_hypothesis){ add_node(s, c), c->hypothesis, c->score };
        } else if (i < s->size && is_new(s, i)) { /* only the best of the candidates may end */
            finish(s, add_node(s, c), c->score, s->step + 1);
        }
    }
    return kept;
}

/* Copies the attention of this step: answers are gone after the pass. */
void pk_pairs_keep_attention(pk_pairs *s, const pk_pass *pass) {
    const size_t width = (size_t)s->src.n_tokens;
    for (int32_t i = 0; s->attention && i < 2 * s->n_live; i++) {
        const float *from = pass->answer[s->first_ask + i].attention;
        const size_t at = (size_t)(2 * s->step * s->size + i) * width;
        if (from) memcpy(s->attention + at, from, width * sizeof *from);
    }
}

/* ---- the end ---- */

/* one token of a pair as token i of the output */
static void write_token(const pk_pairs *s, pk_output *out, const pk_pair_node *node, int32_t side,
                        int32_t i) {
    const size_t row = (size_t)(node->attention + side) * (size_t)s->src.n_tokens;
    pk_output_put(out, i, node->token[side], node->logp[side],
                  s->attention ? s->attention + row : NULL);
}

/* The end symbol: its log-probability is that of all of the last pair that is no text, so that an
 * output's sum is that of its pairs; and 0 where it was forced. */
static void write_end(const pk_pairs *s, pk_output *out, const pk_pair_node *tip,
                      const last_pair *p, int32_t i) {
    const int32_t eos = s->src.model->eos, side = tip->token[0] != eos;
    bool          is_text[2] = { false, false };
    float         logp = 0;
    for (int32_t k = 0; k < p->n; k++) is_text[p->side[k]] = true;
    if (tip->token[side] != eos) {
        pk_output_put(out, i, eos, 0, NULL);
        return;
    }
    for (int32_t k = 0; k < 2; k++)
        if (!is_text[k]) logp += tip->logp[k];
    write_token(s, out, tip, side, i);
    out->logp[i] = logp;
}

static int32_t pairs_of(const pk_pairs *s, int32_t tip) {
    int32_t n = 0;
    for (; tip != PK_NO_PAIR; tip = s->nodes[tip].before) n++;
    return n;
}

/* What is given, the path in reading order, the end symbol. The path is read from its last pair,
 * which is in the middle of the text, or at its end. */
static void write_path(const pk_pairs *s, int32_t tip, pk_output *out) {
    const pk_pair_node *last = &s->nodes[tip];
    int32_t             t = pairs_of(s, tip) - 1;
    const int32_t       first = out->n, middle = first + 2 * t;
    const last_pair     p = read_pair(s, last->token, middle);
    const int32_t       end = middle + p.n;
    for (int32_t k = 0; k < p.n; k++)
        write_token(s, out, last, p.side[k], (s->both_ends ? first + t : middle) + k);
    for (tip = last->before; t-- > 0; tip = s->nodes[tip].before)
        for (int32_t side = 0; side < 2; side++)
            write_token(s, out, &s->nodes[tip], side,
                        !s->both_ends ? first + 2 * t + side
                        : side        ? end - 1 - t
                                      : first + t);
    if (p.ended) write_end(s, out, last, &p, end);
    out->n = end + p.ended;
}

static void write_output(const pk_pairs *s, const pk_pair_ending *e, pk_output *out) {
    const pk_output *given = &s->given_output;
    for (int32_t i = 0; i < given->n; i++)
        pk_output_add(out, given->token[i], given->logp[i],
                      given->attention ? given->attention + (size_t)i * (size_t)s->src.n_tokens
                                       : NULL);
    if (e->tip != PK_NO_PAIR) write_path(s, e->tip, out);
    out->score = e->score;
}

void pk_pairs_write(pk_pairs *s) {
    if (s->n_finished == 0) /* nothing was allowed to follow: all hypotheses end here */
        for (int32_t i = 0; i < s->n_live; i++)
            finish(s, s->live[i].tip, s->live[i].score, s->step);
    for (; s->n_written < s->src.n_best && s->n_written < s->n_finished; s->n_written++)
        write_output(s, &s->finished[s->n_written], &s->written[s->n_written]);
}
