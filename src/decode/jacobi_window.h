/* jacobi_window.h - greedy search that checks guesses: one pass asks what follows the last
 * certain token and what would follow each of the guesses behind it, which are a chain or a tree.
 *
 * An answer counts when all guesses before it are right. So every pass makes one token certain,
 * and one more for each right guess. These tokens and their log-probabilities are greedy's own:
 * each was asked for with exactly the history, bans and penalties that greedy would have had. */
#ifndef PK_DECODE_JACOBI_WINDOW_H
#define PK_DECODE_JACOBI_WINDOW_H
#include "decode/chain.h"
#include "decode/constraint.h"

typedef struct pk_guess_node { /* of a tree of guesses */
    int32_t token;
    int32_t
        parent;    /* the node that it stands behind, which comes before it; -1: the certain ones */
    int32_t depth; /* from 1 */
} pk_guess_node;

typedef struct pk_window {
    pk_source     src;
    pk_constraint constraint;
    pk_special   *special; /* (width) of the asks in flight */
    int32_t      *listed;  /* (width, constraint.room) the tokens they name */
    pk_chain      prefix;
    pk_output     out;
    int32_t      *history;      /* (max_length + 1) start symbol, certain tokens, guesses */
    int32_t       n;            /* certain tokens, prefix included */
    int32_t       width, asked; /* most asks in a pass, the prefix apart; those in flight */
    int32_t *predicted; /* (width) the model's answers behind its first wrong guess, of a chain */
    int32_t  n_predicted;
    const pk_guess_node *tree; /* guesses of the pass in flight; NULL: a chain, in the history */
    int32_t              n_tree;
    int32_t             *node; /* (width) of a tree: the node of each ask */
    int32_t              beta; /* GAD++: a guess among the best so many is right too, ... */
    float tau;   /* ... if it is this much less probable at most; beta 0 or 1: only the best */
    bool  ended; /* the output is whole: end symbol, longest, or nothing allowed */
    bool  stuck; /* it ended because nothing was allowed */
} pk_window;

pk_status pk_window_begin(pk_window *w, const pk_constraint_options *opt, const pk_source *src,
                          int32_t width);
void      pk_window_end(pk_window *w);   /* may be called at any time, and again */
void      pk_window_again(pk_window *w); /* as after begin; the verdict keeps an empty history */
/* asks about guesses that there is room for in this pass; -1: the prefix fills it */
int32_t pk_window_asks(const pk_window *w, const pk_pass *pass);
/* places there are for guesses behind the certain tokens */
int32_t pk_window_places(const pk_window *w);
/* both: guesses of a chain there is room for */
int32_t pk_window_room(const pk_window *w, const pk_pass *pass);
/* asks about the certain tokens and the `guesses` tokens behind them in the history */
void pk_window_propose(pk_window *w, pk_pass *pass, int32_t guesses);
/* The same of a tree, which stays until absorb. Nodes that are the end symbol are guesses as others,
 * but nothing can follow them: they are not asked about. */
void pk_window_propose_tree(pk_window *w, pk_pass *pass, const pk_guess_node *node, int32_t n);
/* reads the answers, keeps what is right; returns how many tokens have become certain */
int32_t pk_window_absorb(pk_window *w, const pk_pass *pass, pk_verdict *verdict);
int32_t pk_window_result(const pk_window *w, pk_hypothesis *out, int32_t room);
/* limits, for `width` asks in a pass */
pk_strategy_limits pk_window_limits(const pk_constraint_options *opt, const pk_source *src,
                                    int32_t width);
#endif
