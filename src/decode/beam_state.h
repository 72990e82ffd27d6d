/* beam_state.h - what a beam search remembers of one sentence: the tree of partial outputs, the
 * live hypotheses, the best candidates of a step, the finished hypotheses.
 *
 * Hypotheses are paths in a tree of nodes (a token and the node before it), so that keeping one
 * costs one node and copies nothing. All room is taken at the start. */
#ifndef PK_DECODE_BEAM_STATE_H
#define PK_DECODE_BEAM_STATE_H
#include "decode/beam_rules.h"
#include "decode/chain.h"

enum { PK_NO_NODE = -1 };

typedef struct pk_beam_node {
    int32_t token, before; /* before: a node, or PK_NO_NODE after the prefix */
    int32_t attention;     /* row of `attention` in the beam */
    float   logp;          /* as the model says, without penalties */
} pk_beam_node;
typedef struct pk_beam_hypothesis { /* a live one: it goes on */
    int32_t tip;
    float   score; /* sum so far */
} pk_beam_hypothesis;
typedef struct pk_beam_ending { /* one that is finished */
    int32_t tip;
    float   score; /* as ranked */
} pk_beam_ending;
typedef struct pk_beam_candidate {
    int32_t hypothesis, token; /* hypothesis: the live one that it continues */
    float   score, logp;       /* sum with this token; the model's log-probability */
} pk_beam_candidate;

typedef struct pk_beam {
    /* options */
    int32_t               size, rules, early_stopping;
    float                 length_penalty, patience;
    pk_constraint_options options;
    /* the sentence */
    pk_source            src;
    const pk_beam_rules *by;
    pk_constraint        constraint;
    pk_beam_progress     now;
    pk_chain             prefix;
    pk_output            prefix_output; /* the prefix, as the start of every output */
    int32_t              n, width;      /* output tokens of a live one; entries left in the beam */
    int32_t              n_live, n_nodes, n_candidates;
    int32_t              first_ask;   /* of the pass in flight, behind the prefix */
    int32_t             *ask, *from;  /* (size) of a live one: its ask; the one that it follows */
    pk_beam_hypothesis  *live, *next; /* (size) */
    pk_beam_ending      *finished;    /* (size) best first; now.n_finished of them */
    pk_beam_candidate   *candidates;  /* (2 size) best first */
    pk_beam_node        *nodes;       /* (2 size for each free token) */
    pk_special          *special;     /* (n_special) of the asks in flight, from first_ask on */
    int32_t              n_special;
    int32_t             *lists;     /* (n_special, constraint.room) their tokens */
    int32_t             *history;   /* (max_length + 1) start symbol, prefix, one hypothesis */
    float               *attention; /* (size for each free token, source tokens), or NULL */
    pk_output           *outputs;   /* (n_best) written at the end */
    int32_t              n_outputs;
} pk_beam;

/* asks: most in a pass, beside the prefix; src and by are set */
pk_status pk_beam_take(pk_beam *s, int32_t size, int32_t asks);
void      pk_beam_give(pk_beam *s); /* also after a failed take, and again */
/* start symbol, prefix and the tokens of a hypothesis; NULL when no constraint needs them. The
 * memory is the beam's `history`, which the next call overwrites. */
const int32_t *pk_beam_trace(pk_beam *s, const pk_beam_hypothesis *h, int32_t n);
/* the candidate as a new node of the tree; returns its index */
int32_t pk_beam_add_node(pk_beam *s, const pk_beam_candidate *c);
/* puts the path that ends in tip, of n tokens, among the finished ones; when the list is full, the
 * worst is dropped */
void pk_beam_finish(pk_beam *s, int32_t tip, float sum, int32_t n);
void pk_beam_keep_attention(pk_beam *s, const pk_pass *pass);
void pk_beam_write_outputs(pk_beam *s); /* the n_best finished ones */
#endif
