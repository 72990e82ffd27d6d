/* pass.h - the language between a decoding strategy and the model.
 *
 * A strategy asks: "run these tokens through the decoder, on top of these histories".
 * It reads the answers, then says which tokens to keep. What it does not keep is forgotten.
 * Knows nothing of models, tensors or devices. */
#ifndef PK_DECODE_PASS_H
#define PK_DECODE_PASS_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_NO_TOKEN (-1)   /* input: a zero embedding (the start symbol of Marian models) */

typedef struct pk_ask {
    int32_t hypothesis;    /* which one it continues */
    int32_t token;         /* input token id, or PK_NO_TOKEN */
    int32_t pos;           /* target position; always explicit */
    int32_t parent;        /* 0: follows its history; i > 0: follows ask i;
                              -n: follows the history without its last n tokens */
    int32_t block;         /* 0: sees what it follows. Else: neighbouring asks with the same hypothesis
                              and block form a chain: each of them sees all the others too */
    int32_t group;         /* 0: the next token is text. g > 0: it is one of the model's group g of a task's
                              tokens; these count from 0 then, in answers, bans and targets */
    int32_t top_k;         /* how many of the best next tokens to return; 0: only store the token */
    bool    logp;          /* return log-probabilities (costs a sum over the vocabulary) */
    bool    attention;     /* return its attention to the source */
    int16_t ahead;         /* the answer is for output position pos + ahead: 0 from left to right, -1 at a mask,
                              k - 1 where every k-th token is asked for. For traces alone */
    int32_t n_ban, n_target;
    const int32_t *ban;    /* never among the best next tokens; valid until absorb() returns */
    const int32_t *target; /* next tokens whose log-probabilities to return */
    int32_t        follow; /* > 1: the best token is fed in turn, and so on, for so many steps in all or
                              until the end symbol; bans stay the same. Only where pass->follow allows, and
                              only the last ask of a pass, or the last two where they are a block of two:
                              then each step feeds both best tokens as the next such block, until either
                              is the end symbol */
    int32_t        stride; /* positions from one of these steps to the next; 0: as many as it feeds tokens */
} pk_ask;
/* a pass has many: they should not take more cache lines than they must */
static_assert(sizeof(pk_ask) <= 64, "an ask is a cache line");

typedef struct pk_candidate {
    int32_t token;         /* PK_NO_TOKEN past the end: fewer tokens are allowed than were asked for */
    float   logp;          /* log-probability when the ask wanted it, otherwise the raw logit */
} pk_candidate;

typedef struct pk_answer {
    const pk_candidate *top;            /* top_k of them, best first */
    const float        *target_logp;    /* n_target of them */
    float               log_sum;        /* with logp: logit = logp + log_sum */
    const float        *attention;      /* (source length) probabilities, or NULL */
    const pk_candidate *found;          /* n_found tokens, when it followed (top is not set then); */
    int32_t             n_found;        /*   all but the last were fed. Keeping the ask (of two: the last) keeps those */
} pk_answer;

/* One step of a lattice: edges from decoder inputs at a position, each of which sees itself alone (and the
 * source), to the tokens that may come next. */
typedef struct pk_edge_step {
    int32_t        pos;
    int32_t        n_from, n_to;
    const int32_t *from, *to;           /* from: input tokens, as in an ask */
    const float   *score;               /* (n_from, n_to) log-probabilities: set by the pass, valid in absorb() */
} pk_edge_step;

typedef struct pk_pass {
    int32_t    n, room;
    pk_ask    *ask;        /* 1 .. n; number 0 means the history itself */
    pk_answer *answer;     /* 1 .. n, valid in absorb() */
    int32_t    model;      /* the network to ask: 0 the model, 1 its drafter. Each has hypotheses of its own */
    float      draft_cost; /* what one ask of the drafter costs, one of the model costing 1; 0: not known */
    float      draft_more; /* and each further one of the same pass */
    int32_t    n_cost;     /* cost[w]: what w asks of this sentence cost, one ask costing 1, at the */
    const float *cost;     /*   present load; w = 0 .. n_cost - 1; NULL: nothing is known */
    float      more;       /* what each ask beyond these costs; with n_cost > 2 */
    int32_t    follow;     /* most steps an ask may follow; 0: none */
    int32_t             n_edges;        /* > 0: the scores of these steps are all that is asked; n is 0 then */
    pk_edge_step       *edges;
    bool       whole_vocabulary;        /* in the denominators of their scores; else: the tokens of the step */
    bool       probe;      /* finds out what the method takes as known; not one of its passes */
} pk_pass;

/* Which hypotheses go on after a pass. A history is the path from the start to one token, so its
 * last token (the tip) names it: keeping an ask keeps all tokens before it. There is no way to
 * keep a token without its ancestors. A tip is an ask (> 0), that of an old hypothesis h (-1 - h)
 * or the empty history (0). */
typedef struct pk_verdict {
    int32_t n_hypotheses, room, *tip;
    bool    done;
} pk_verdict;

/* does ask i belong to the block of the ask before it? Then it must follow that one. */
static inline bool pk_ask_continues(const pk_pass *p, int32_t i) {
    return i > 1 && p->ask[i].block && p->ask[i].block == p->ask[i - 1].block &&
           p->ask[i].hypothesis == p->ask[i - 1].hypothesis;
}
static inline bool pk_ask_wants_answer(const pk_ask *a) { return a->top_k > 0 || a->n_target > 0; }
static inline int32_t pk_ask_add(pk_pass *p, pk_ask a) { assert(p->n < p->room); p->ask[++p->n] = a; return p->n; }
static inline void pk_keep_tip(pk_verdict *v, int32_t tip) {
    assert(v->n_hypotheses < v->room);
    v->tip[v->n_hypotheses++] = tip;
}
/* a new hypothesis, by what its history is */
static inline void pk_keep(pk_verdict *v, int32_t ask) { pk_keep_tip(v, ask); }                 /* ends in this ask */
static inline void pk_keep_hypothesis(pk_verdict *v, int32_t old) { pk_keep_tip(v, -1 - old); } /* as an old one's */
static inline void pk_keep_empty(pk_verdict *v) { pk_keep_tip(v, 0); }                          /* empty */
#endif
