/* viz_trace.c - from the trace of a sentence to its grid and its dependency graph.
 *
 * Whether an answer counted is found from the final tokens: an ask is accepted if every token fed
 * before it is the final one. That holds for all strategies that feed guesses. For beam search the
 * hypotheses that begin like the translation are taken. At a mask it is the last answer that
 * counts. A drafter's answers never do: they are guesses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "viz.h"

static double probability(float log_prob) {
    const double p = exp((double)log_prob);
    return !(p > 0) ? 0 : p > 1 ? 1 : p; /* no number is no probability either */
}

/* asks of one pass to the end of the list */
static void add_pass(pk_viz *v, const pk_trace_pass *pass) {
    const size_t n = (size_t)pass->n;
    if (v->n_passes == v->pass_room) {
        v->pass_room += v->pass_room / 2 + 64;
        v->first = pk_cli_grow(v->first, v->pass_room + 1, sizeof *v->first);
        v->network = pk_cli_grow(v->network, v->pass_room, sizeof *v->network);
    }
    if (v->ask_room - v->n_ask < n) {
        v->ask_room += v->ask_room / 2 + n + 64;
        v->ask = pk_cli_grow(v->ask, v->ask_room, sizeof *v->ask);
    }
    v->network[v->n_passes] = pass->model;
    v->first[v->n_passes++] = v->n_ask;
    for (size_t i = 0; i < n; i++) {
        const pk_trace_ask *a = &pass->ask[i];
        v->ask[v->n_ask++] =
            (pk_viz_ask){ .position = a->position,
                          .fed_at = a->fed_at,
                          .fed = a->token,
                          .best = a->best,
                          .parent = a->parent,
                          .probability = a->scored ? probability(a->log_prob) : PK_VIZ_UNKNOWN };
    }
    v->first[v->n_passes] = v->n_ask;
}

/* Probes are left out: they find out a length, not tokens. */
void pk_viz_trace(void *user, const pk_trace_pass *pass) {
    pk_viz *v = user;
    if (pass->sentence + 1 > v->sentences) v->sentences = pass->sentence + 1;
    if (!pass->probe && pass->sentence == 0) add_pass(v, pass);
    if (pass->n_steps && pass->sentence == 0) pk_viz_keep_lattice(v, pass);
}

const pk_viz_cell *pk_viz_at(const pk_viz *v, size_t pass, size_t position) {
    return &v->cell[(pass - 1) * v->n + position];
}

bool pk_viz_drafts(const pk_viz *v, size_t pass) { return v->network[pass - 1] != 0; }

static int ascending(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

size_t pk_viz_filled(const pk_viz *v, size_t pass, int32_t **out) {
    size_t n = 0, different = 0;
    *out = pk_cli_grow(NULL, v->first[pass] - v->first[pass - 1], sizeof **out);
    for (size_t i = v->first[pass - 1]; i < v->first[pass]; i++)
        if (v->ask[i].best >= 0) (*out)[n++] = v->ask[i].position;
    qsort(*out, n, sizeof **out, ascending);
    for (size_t i = 0; i < n; i++) /* hypotheses of a beam are about the same one */
        if (!different || (*out)[different - 1] != (*out)[i]) (*out)[different++] = (*out)[i];
    return different;
}

static pk_viz_cell *cell_at(pk_viz *v, size_t pass, size_t position) {
    return &v->cell[(pass - 1) * v->n + position];
}

/* A language token is fed before the text, where nothing is asked: it is no decision of the model,
 * and positions are counted from where the first pass that wants text begins to ask. Returns how
 * many of the tokens are such. */
static size_t leave_out_prefix(pk_viz *v, const int32_t *token, size_t n) {
    size_t i = 0, pass = 1;
    while (i < v->n_ask && v->ask[i].best < 0) i++;
    if (i == v->n_ask) return 0;
    while (v->first[pass] <= i) pass++;
    const int32_t behind = v->ask[i].fed_at + 1, position = v->ask[i].position;
    const int32_t offset = position < behind ? position : behind; /* a mask stands at its place */
    bool          named = false;
    for (size_t k = v->first[pass - 1]; k < v->first[pass]; k++)
        if (v->ask[k].fed_at == offset - 1)
            named = offset > 0 && (size_t)offset < n && token[offset - 1] == v->ask[k].fed;
    for (size_t k = 0; k < v->n_ask; k++) v->ask[k].position -= offset, v->ask[k].fed_at -= offset;
    return named ? (size_t)offset : 0;
}

/* the token before the ask is the final one, and so are all before that */
static bool follows_final(const pk_viz *v, size_t pass, const pk_viz_ask *a) {
    const size_t  first = v->first[pass - 1];
    const int32_t before = a->fed_at;
    if (pk_viz_drafts(v, pass)) return false;
    if (before < 0) return true;
    if ((size_t)before >= v->n || v->token[before].id != a->fed) return false;
    if (a->parent >= 0) return v->ask[first + (size_t)a->parent].accepted;
    return v->token[before].fixed != 0 && v->token[before].fixed < (int32_t)pass;
}

/* which of two asks about one position a cell shows: hypotheses of a beam */
static int weight(const pk_viz *v, const pk_viz_ask *a) {
    return 2 * a->accepted + (a->best == v->token[a->position].id);
}

/* "<mask>", or "<mask:" and how the model was trained (task/task_gad.c) */
static bool is_mask(const char *piece) {
    const size_t n = strlen("<mask");
    return strncmp(piece, "<mask", n) == 0 && (piece[n] == '>' || piece[n] == ':');
}

/* what became of the token that the ask was fed */
static pk_viz_guess judge(const pk_viz *v, const pk_viz_ask *a) {
    const char *piece = v->name(v->names, a->fed);
    if (a->accepted) return PK_VIZ_GUESS_ACCEPTED;
    if (a->fed == v->token[a->fed_at].id) return PK_VIZ_GUESS_LATE;
    const bool says_nothing = !strcmp(piece, "<pad>") || is_mask(piece);
    return says_nothing ? PK_VIZ_GUESS_PADDING : PK_VIZ_GUESS_WRONG;
}

/* an ask that follows another of its pass was fed a guess at the position before */
static void record_guess(pk_viz *v, size_t pass, const pk_viz_ask *a) {
    const int32_t before = a->fed_at;
    if (a->parent < 0 || before < 0 || (size_t)before >= v->n) return;
    pk_viz_cell       *cell = cell_at(v, pass, (size_t)before);
    const pk_viz_guess guess = judge(v, a);
    if (guess <= cell->guess) return;
    cell->guess = guess;
    cell->guessed = a->fed;
}

/* `shown`: for each position the ask of this pass that its cell shows */
static void record_answer(pk_viz *v, size_t pass, pk_viz_ask *a, const pk_viz_ask **shown) {
    if (a->best < 0 || a->position < 0 || (size_t)a->position >= v->n) return;
    const size_t position = (size_t)a->position;
    const int    had = shown[position] ? weight(v, shown[position]) : -1;
    if (v->token[position].fixed && v->token[position].fixed < (int32_t)pass) return;
    if (weight(v, a) <= had) return;
    shown[position] = a;
    pk_viz_token *token = &v->token[position];
    pk_viz_cell  *cell = cell_at(v, pass, position);
    cell->best = a->best;
    cell->probability = a->accepted ? token->probability : a->probability;
    cell->state = a->accepted            ? PK_VIZ_ACCEPTED
                  : a->best == token->id ? PK_VIZ_RIGHT
                                         : PK_VIZ_WRONG;
    if (a->accepted) token->fixed = (int32_t)pass;
}

/* it was before this pass */
static void make_certain(pk_viz *v, size_t pass, size_t position) {
    *cell_at(v, pass, position) =
        (pk_viz_cell){ PK_VIZ_CERTAIN, PK_VIZ_NO_GUESS, v->token[position].id, -1,
                       v->token[position].probability };
}

/* one row of the grid; tokens fixed earlier are certain here */
static void read_pass(pk_viz *v, size_t pass, const pk_viz_ask **shown) {
    memset(shown, 0, (v->n + 1) * sizeof *shown);
    for (size_t i = v->first[pass - 1]; i < v->first[pass]; i++) {
        v->ask[i].accepted = follows_final(v, pass, &v->ask[i]);
        record_answer(v, pass, &v->ask[i], shown);
        record_guess(v, pass, &v->ask[i]);
    }
    for (size_t i = 0; i < v->n; i++)
        if (v->token[i].fixed && v->token[i].fixed < (int32_t)pass) make_certain(v, pass, i);
}

/* the ask of a mask, about its own place, whose answer is the final token */
static bool fills_mask(const pk_viz *v, const pk_viz_ask *a) {
    return a->fed_at == a->position && a->position >= 0 && (size_t)a->position < v->n &&
           a->best == v->token[a->position].id;
}

/* Tokens that no chain of final tokens led to were filled in at masks: the last answer is certain.
 */
static void fix_filled(pk_viz *v) {
    for (size_t pass = v->n_passes; pass > 0; pass--)
        for (size_t i = v->first[pass - 1]; i < v->first[pass]; i++) {
            pk_viz_ask *a = &v->ask[i];
            if (pk_viz_drafts(v, pass) || !fills_mask(v, a)) continue;
            const size_t  position = (size_t)a->position;
            pk_viz_token *token = &v->token[position];
            if (token->fixed) continue;
            token->fixed = (int32_t)pass;
            a->accepted = true;
            cell_at(v, pass, position)->state = PK_VIZ_ACCEPTED;
            cell_at(v, pass, position)->probability = token->probability;
            for (size_t later = pass + 1; later <= v->n_passes; later++)
                make_certain(v, later, position);
        }
}

/* since when the model chose the token whenever it was asked */
static void find_right(pk_viz *v) {
    for (size_t i = 0; i < v->n; i++) {
        pk_viz_token *token = &v->token[i];
        for (size_t pass = 1; pass <= (size_t)token->fixed; pass++) {
            const pk_viz_cell *cell = pk_viz_at(v, pass, i);
            if (cell->state == PK_VIZ_OUT || pk_viz_drafts(v, pass)) continue;
            if (cell->best != token->id)
                token->right = 0;
            else if (!token->right)
                token->right = (int32_t)pass;
        }
        if (!token->right) token->right = token->fixed;
    }
}

/* groups of neighbours fixed in one pass */
static void find_groups(pk_viz *v) {
    for (size_t i = 0, end; i < v->n; i = end) {
        for (end = i + 1; end < v->n && v->token[end].fixed == v->token[i].fixed;) end++;
        for (size_t k = i; k < end; k++) {
            v->token[k].group = (int32_t)v->n_groups;
            v->token[k].of = (int32_t)(end - i);
        }
        v->n_groups++;
    }
}

static void add_edge(pk_viz *v, size_t from, size_t to) {
    if ((v->n_edges & (v->n_edges - 1)) == 0) /* room doubles at powers of two */
        v->edge = pk_cli_grow(v->edge, v->n_edges ? 2 * v->n_edges : 1, sizeof *v->edge);
    v->edge[v->n_edges][0] = (int32_t)from;
    v->edge[v->n_edges++][1] = (int32_t)to;
}

/* Token i comes before token j if it was fixed before j became right. An edge is redundant if some
 * k lies between: fixed before j became right, and right only after i was fixed. So those i are
 * left that were not fixed before the last such k became right. */
static void find_edges(pk_viz *v) {
    for (size_t j = 0; j < v->n; j++) {
        const int32_t since = v->token[j].right;
        int32_t       last = 0;
        for (size_t k = 0; k < j; k++)
            if (v->token[k].fixed < since && v->token[k].right > last) last = v->token[k].right;
        for (size_t i = 0; i < j; i++)
            if (v->token[i].fixed && v->token[i].fixed < since && v->token[i].fixed >= last)
                add_edge(v, i, j);
    }
}

void pk_viz_finish(pk_viz *v, const int32_t *token, const float *log_prob, size_t n) {
    const size_t       prefix = leave_out_prefix(v, token, n);
    const size_t       cells = (n - prefix) * v->n_passes;
    const pk_viz_ask **shown = pk_cli_grow(NULL, n + 1, sizeof *shown);
    v->n = n -= prefix;
    v->token = pk_cli_grow(NULL, n, sizeof *v->token);
    v->cell = pk_cli_grow(NULL, cells, sizeof *v->cell);
    for (size_t i = 0; i < n; i++)
        v->token[i] =
            (pk_viz_token){ .id = token[prefix + i],
                            .probability = log_prob ? probability(log_prob[prefix + i]) : 0 };
    for (size_t i = 0; i < cells; i++) v->cell[i] = (pk_viz_cell){ .best = -1, .guessed = -1 };
    for (size_t pass = 1; pass <= v->n_passes; pass++) read_pass(v, pass, shown);
    fix_filled(v);
    pk_viz_choose(v);
    find_right(v);
    find_groups(v);
    find_edges(v);
    free(shown);
}

void pk_viz_free(pk_viz *v) {
    free(v->ask);
    free(v->first);
    free(v->network);
    free(v->token);
    free(v->cell);
    free(v->edge);
    pk_viz_free_lattice(v);
    *v = (pk_viz){ 0 };
}
