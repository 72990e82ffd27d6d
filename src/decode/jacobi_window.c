/* jacobi_window.c - asking about a chain of guesses, and reading the answers.
 *
 * The asks of a pass, behind what is left of the prefix (c: certain, g: guesses):
 *
 *   input     c[n]  g[1]  g[2]  g[3] ...
 *   answer    is compared with g[1], g[2], g[3] ...; up to the first difference it is certain
 *
 * Of a tree the answer is compared with all guesses that stand behind its ask; the right one is where
 * it goes on.
 *
 * The bans and penalties of an ask are those of its own history, guesses included. Where the answer
 * counts, the guesses were right, so the bans were right too. */
#include "decode/jacobi_window.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

pk_strategy_limits pk_window_limits(const pk_constraint_options *opt, const pk_source *src,
                                    int32_t width) {
    const int32_t longest = pk_constraint_max_length(opt, src);
    const int32_t asks = src->n_prefix + width < longest ? src->n_prefix + width : longest;
    return (pk_strategy_limits){ .asks = asks, .hypotheses = 1, .slots = longest, .top_k = 1 };
}

void pk_window_end(pk_window *w) {
    pk_constraint_end(&w->constraint);
    pk_output_end(&w->out);
    pk_memory_give(w->special);
    pk_memory_give(w->listed);
    pk_memory_give(w->history);
    pk_memory_give(w->predicted);
    pk_memory_give(w->node);
    w->special = NULL;
    w->listed = w->history = w->predicted = w->node = NULL;
}

/* all memory of the sentence; the constraint follows the same rules as in greedy.c */
static pk_status take(pk_window *w, const pk_constraint_options *opt) {
    const pk_constraint_rules greedy = { .of_model = true,
                                         .on_logits = true,
                                         .with_start = true,
                                         .renormalise =
                                             w->src.model->renormalise && w->src.want_scores };
    PK_TRY(pk_constraint_begin(&w->constraint, opt, &w->src, greedy));
    const int32_t longest = w->constraint.max_length;
    if (w->width > longest) w->width = longest;
    const size_t width = (size_t)w->width, room = (size_t)w->constraint.room;
    PK_TRY(PK_TAKE(&w->special, width));
    PK_TRY(PK_TAKE(&w->listed, width * room));
    for (size_t i = 0; i < width; i++) w->special[i].token = w->listed + i * room;
    PK_TRY(PK_TAKE(&w->predicted, width));
    PK_TRY(PK_TAKE(&w->node, width));
    PK_TRY(PK_TAKE(&w->history, (size_t)longest + 1));
    return pk_output_begin(&w->out, &w->src, longest);
}

void pk_window_again(pk_window *w) {
    w->prefix = pk_chain_begin(&w->src, false, w->src.want_scores);
    w->history[0] = w->src.model->start;
    if (w->src.n_prefix)
        memcpy(w->history + 1, w->src.prefix, (size_t)w->src.n_prefix * sizeof *w->history);
    w->n = w->src.n_prefix;
    w->out.n = w->n_predicted = 0;
    w->ended = w->stuck = false;
}

pk_status pk_window_begin(pk_window *w, const pk_constraint_options *opt, const pk_source *src,
                          int32_t width) {
    w->src = *src;
    w->width = width;
    const pk_status status = take(w, opt);
    if (status != PK_OK)
        pk_window_end(w);
    else
        pk_window_again(w);
    return status;
}

int32_t pk_window_asks(const pk_window *w, const pk_pass *pass) {
    const int32_t prefix = w->prefix.n - w->prefix.fed; /* what is left of it goes first */
    int32_t       room = pass->room - prefix - 1;
    if (room > w->width - 1) room = w->width - 1;
    return room < 0 ? -1 : room;
}

int32_t pk_window_places(const pk_window *w) { return w->constraint.max_length - 1 - w->n; }

int32_t pk_window_room(const pk_window *w, const pk_pass *pass) {
    const int32_t asks = pk_window_asks(w, pass), places = pk_window_places(w);
    const int32_t room = asks < places ? asks : places;
    return room < 0 ? -1 : room;
}

/* the last token, where the model's convention leaves no choice */
static bool must_end(const pk_window *w, int32_t n) {
    return w->src.model->forced_eos && n == w->constraint.max_length - 1;
}

/* what follows the first n tokens of the history? */
static pk_ask ask_after(pk_window *w, int32_t n, int32_t parent, pk_special *special) {
    pk_ask ask = { .token = w->history[n],
                   .pos = n,
                   .parent = parent,
                   .logp = w->src.want_scores,
                   .attention = w->src.want_attention };
    if (must_end(w, n)) {
        ask.target = &w->src.model->eos;
        ask.n_target = w->src.want_scores;
        return ask;
    }
    pk_constraint_list(&w->constraint, w->history, n, special);
    pk_constraint_ask(&w->constraint, special, &ask);
    ask.top_k = w->beta > 1 ? w->beta : 1;
    return ask;
}

void pk_window_propose(pk_window *w, pk_pass *pass, int32_t guesses) {
    int32_t parent = pk_chain_propose(&w->prefix, pass);
    w->asked = 0;
    w->tree = NULL;
    if (pass->n == pass->room) return; /* the prefix filled the pass */
    assert(guesses < w->width && w->n + guesses < w->constraint.max_length);
    for (; w->asked <= guesses; w->asked++)
        parent = pk_ask_add(pass, ask_after(w, w->n + w->asked, parent, &w->special[w->asked]));
}

/* ---- trees ---- */

/* the ask about a node; -1: there is none */
static int32_t ask_of(const pk_window *w, int32_t node) {
    for (int32_t i = w->asked - 1; i > 0; i--)
        if (w->node[i] == node) return i;
    return -1;
}

/* the history becomes the path to a node */
static void set_path(pk_window *w, int32_t node) {
    for (; node >= 0; node = w->tree[node].parent)
        w->history[w->n + w->tree[node].depth] = w->tree[node].token;
}

void pk_window_propose_tree(pk_window *w, pk_pass *pass, const pk_guess_node *node, int32_t n) {
    pk_window_propose(w, pass, 0);
    if (!w->asked) return;
    const int32_t root = pass->n;
    w->tree = node;
    w->n_tree = n;
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = w->asked, behind = node[i].parent < 0 ? 0 : ask_of(w, node[i].parent);
        if (node[i].token == w->src.model->eos) continue;
        assert(behind >= 0 && at < w->width && w->n + node[i].depth < w->constraint.max_length);
        set_path(w, i);
        pk_ask_add(pass, ask_after(w, w->n + node[i].depth, root + behind, &w->special[at]));
        w->node[w->asked++] = i;
    }
}

/* the next guess behind an ask, from node `from` on; -1: there is no more */
static int32_t next_guess(const pk_window *w, int32_t ask, int32_t from) {
    const int32_t parent = ask ? w->node[ask] : -1;
    for (int32_t i = from; i < w->n_tree; i++)
        if (w->tree[i].parent == parent) return i;
    return -1;
}

/* ---- reading the answers ---- */

/* greedy's choice from the answer to an ask of the window, behind so many tokens */
static pk_candidate next_of(const pk_window *w, int32_t ask, int32_t n, const pk_answer *a) {
    if (!must_end(w, n)) return pk_constraint_best(&w->constraint, &w->special[ask], a);
    return (pk_candidate){ w->src.model->eos, w->src.want_scores ? a->target_logp[0] : 0 };
}

/* one more certain token; what comes after the end of the output is not part of it */
static void add(pk_window *w, int32_t at, pk_candidate next, const pk_answer *a) {
    w->history[at + 1] = next.token;
    if (w->ended) return;
    pk_output_add(&w->out, next.token, w->src.want_scores ? next.logp : 0, a->attention);
    w->ended = next.token == w->src.model->eos || w->out.n == w->constraint.max_length;
}

/* stores the answers to asks that follow a wrong guess: they are the next guesses (Jacobi) */
static void store_predictions(pk_window *w, int32_t i, const pk_answer *a) {
    for (w->n_predicted = 0; i < w->asked; i++, w->n_predicted++) {
        const int32_t token = next_of(w, i, w->n + i, &a[i]).token;
        if (token == PK_NO_TOKEN) return;
        w->predicted[w->n_predicted] = token;
    }
}

typedef struct reached { /* how far the answers are right */
    int32_t ask;         /* the last one whose history is right */
    int32_t certain;     /* tokens that became certain */
} reached;

/* The best token, or with GAD++ the most probable of the guesses behind the ask that are good
 * enough. */
static pk_candidate accept_guess(const pk_window *w, reached r, const pk_answer *a,
                                 pk_candidate best) {
    pk_candidate found = best;
    if (w->beta <= 1 || !w->tree || must_end(w, w->n + r.certain) || best.token == PK_NO_TOKEN)
        return best;
    for (int32_t i = next_guess(w, r.ask, 0); i >= 0; i = next_guess(w, r.ask, i + 1)) {
        const int32_t token = w->tree[i].token;
        if (token == best.token) return best;
        const pk_candidate c = pk_constraint_tolerate(&w->constraint, &w->special[r.ask], a, token,
                                                      w->beta, w->tau, best);
        if (c.token == token && (found.token == best.token || c.logp > found.logp)) found = c;
    }
    return found;
}

/* the ask whose history goes on with this token; -1: nobody asked */
static int32_t ask_behind(const pk_window *w, reached r, int32_t token) {
    if (!w->tree) {
        const bool guessed = r.ask + 1 < w->asked && w->history[w->n + r.ask + 1] == token;
        return guessed ? r.ask + 1 : -1;
    }
    for (int32_t i = next_guess(w, r.ask, 0); i >= 0; i = next_guess(w, r.ask, i + 1))
        if (w->tree[i].token == token) return ask_of(w, i);
    return -1;
}

/* Moves answers to the output, up to the first that nobody guessed. Guesses of a chain stand in the
 * history: they are compared before the answer takes their place. */
static reached verify(pk_window *w, const pk_answer *a) {
    for (reached r = { 0 };;) {
        const pk_answer   *answer = &a[r.ask];
        const pk_candidate next =
            accept_guess(w, r, answer, next_of(w, r.ask, w->n + r.certain, answer));
        if (next.token == PK_NO_TOKEN) { /* all is banned: the output ends here */
            w->ended = w->stuck = true;
            return r;
        }
        const int32_t behind = ask_behind(w, r, next.token);
        add(w, w->n + r.certain, next, answer);
        r.certain++;
        if (behind < 0) return r;
        r.ask = behind;
    }
}

int32_t pk_window_absorb(pk_window *w, const pk_pass *pass, pk_verdict *verdict) {
    const int32_t first = pass->n - w->asked + 1;
    w->n_predicted = 0;
    if (!pk_chain_absorb(&w->prefix, pass, &w->out)) {
        pk_keep(verdict, pass->n);
        return 0;
    }
    const reached r = verify(w, &pass->answer[first]);
    pk_keep(verdict, first + r.ask);
    if (!w->tree) store_predictions(w, r.ask + 1, &pass->answer[first]);
    w->n += r.certain;
    verdict->done = w->ended;
    return r.certain;
}

int32_t pk_window_result(const pk_window *w, pk_hypothesis *out, int32_t room) {
    return pk_output_single(&w->out, out, room);
}
