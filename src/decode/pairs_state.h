/* pairs_state.h - what a search that writes two tokens a step remembers of one sentence: the tree
 * of pairs, the live hypotheses, the candidates of a step, the finished hypotheses.
 *
 * A hypothesis is a path in a tree of pairs. Its last pair may hold end symbols; which of its two
 * tokens are text, and where they stand, is decided here alone. */
#ifndef PK_DECODE_PAIRS_STATE_H
#define PK_DECODE_PAIRS_STATE_H
#include "decode/chain.h"
#include "decode/constraint.h"

enum { PK_NO_PAIR = -1 };

typedef struct pk_pair_node {
    int32_t token[2]; /* left and right */
    float   logp[2];
    int32_t before;    /* a node, or PK_NO_PAIR after what is given */
    int32_t attention; /* row of `attention` for the left token; the right one's is the next */
} pk_pair_node;
typedef struct pk_pair_hypothesis { /* a live one: it goes on */
    int32_t tip, from;              /* from: the one of the step before that it continues */
    float   score;                  /* sum so far */
} pk_pair_hypothesis;
typedef struct pk_pair_ending { /* one that is finished */
    int32_t tip;
    float   score; /* as ranked */
} pk_pair_ending;
typedef struct pk_pair_candidate {
    int32_t hypothesis, token[2]; /* hypothesis: the live one that it continues */
    float   score, logp[2];       /* sum with these tokens; the model's log-probabilities */
} pk_pair_candidate;

typedef struct pk_pairs {
    /* options */
    int32_t               size, outputs;
    float                 length_penalty;
    pk_constraint_options options;
    /* the sentence */
    pk_source           src;
    bool                both_ends;      /* or in one direction, two neighbours a step */
    bool                scored;         /* log-probabilities are asked for */
    int32_t             longest, steps; /* most output tokens, and steps that they take */
    int32_t             enough;         /* endings that are waited for */
    float               penalty;        /* of length */
    pk_constraint       constraint;
    pk_special          special; /* of all asks in flight: it depends on the length alone */
    pk_chain            given;
    pk_output           given_output; /* the beginning of every output: a language */
    int32_t             n;            /* output tokens of each live one */
    int32_t             step, first_ask, n_live, n_left, n_candidates, n_nodes, n_finished, n_ended;
    pk_pair_hypothesis *live, *next; /* (size) */
    pk_pair_candidate  *left;        /* (2 size) best first; of these the right token is not set */
    pk_pair_candidate  *candidates;  /* (3 size) best first */
    pk_pair_ending     *finished;    /* (enough) best first */
    pk_pair_node       *nodes;       /* (2 size for each step) */
    float              *attention;   /* (2 size for each step, source tokens), or NULL */
    pk_output          *written;     /* (n_best) at the end */
    int32_t             n_written;
} pk_pairs;

/* steps for an output of at most `longest` tokens of which `given` are given; one at least */
int32_t pk_pairs_steps(const pk_source *src, int32_t longest, int32_t given);
/* most output tokens: as the options say, and as there are positions for whole pairs */
int32_t   pk_pairs_longest(const pk_constraint_options *o, const pk_source *src, int32_t given);
pk_status pk_pairs_take(pk_pairs *s); /* all above `constraint` is set */
void      pk_pairs_give(pk_pairs *s); /* also after a failed take, and again */
/* puts a candidate into a sorted list of at most `room`; false when that is full of better ones */
bool pk_pairs_offer(pk_pair_candidate *list, int32_t *n, int32_t room, pk_pair_candidate c);
/* the next pair that is written can only be the last one */
bool pk_pairs_at_end(const pk_pairs *s);
/* the candidates of this step become endings and, in `next`, live hypotheses; returns how many of
 * these there are */
int32_t pk_pairs_advance(pk_pairs *s);
void    pk_pairs_keep_attention(pk_pairs *s, const pk_pass *pass);
void    pk_pairs_write(pk_pairs *s); /* the n_best finished ones */
#endif
