/* draft_tree.h - guesses at what comes next, as a tree: the most probable paths through what a
 * drafter says of each place.
 *
 * A drafter that fills a block at once says for each place what may stand there, not what stands
 * there behind which token. Where several tokens are probable, one guess at each place is often
 * wrong early; a tree has further ones beside it, for the price of an ask each. The probability of
 * a path is the product of its tokens', times what each gains or loses behind the one before it, as
 * far as a lexicon knows what follows what. */
#ifndef PK_DECODE_DRAFT_TREE_H
#define PK_DECODE_DRAFT_TREE_H
#include "decode/jacobi_window.h"
#include "lexicon/lexicon.h"

enum { PK_DRAFT_WIDTH = 8 }; /* tokens that may stand at a place */

typedef struct pk_draft_path {
    float   prob;
    int32_t token, parent, depth; /* as of a pk_guess_node */
} pk_draft_path;

typedef struct pk_draft_tree {
    const pk_lexicon     *lexicon; /* what follows what; NULL: nobody knows */
    int32_t               most_places, n_places;
    pk_lexicon_candidate *place; /* (most_places, PK_DRAFT_WIDTH) best first; token -1: no more */
    pk_draft_path        *heap;  /* paths that may be taken next, the most probable first */
    int32_t               n_heap;
    pk_guess_node        *node; /* (2 * most_nodes + 1) what was taken, parents first */
    float                *prob; /* (2 * most_nodes + 1) of the path to each */
    int32_t               most_nodes, n;
} pk_draft_tree;

typedef struct pk_draft_growth { /* when a tree is large enough */
    int32_t before, eos;         /* the last certain token; what ends a path */
    int32_t most_nodes, most_depth;
    float   least; /* probability of a path that is worth its ask */
    float   worth; /* tokens that a cost of 1 should bring; 0: all nodes stay */
    /* what asks cost, as in a pass; not read where worth is 0 */
    int32_t      n_cost;
    const float *cost;
    float        more;
} pk_draft_growth;

pk_status pk_draft_tree_begin(pk_draft_tree *t, const pk_lexicon *l, int32_t places, int32_t nodes);
void      pk_draft_tree_end(pk_draft_tree *t); /* may be called at any time, and again */
/* what may stand at a place, from 0: the best tokens of an answer with log-probabilities, all of them
 * different, of which those below `vocab` count */
void pk_draft_tree_place(pk_draft_tree *t, int32_t place, const pk_candidate *top, int32_t n,
                         int32_t vocab);
/* the best token of a place; -1: none */
int32_t pk_draft_tree_best(const pk_draft_tree *t, int32_t place);
/* Takes nodes, the most probable first, from places 0 .. n_places - 1. The end symbol is a node that
 * has no ask, so it does not count among most_nodes. */
void pk_draft_tree_grow(pk_draft_tree *t, const pk_draft_growth *g);
#endif
