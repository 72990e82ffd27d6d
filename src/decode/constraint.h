/* constraint.h - tokens that may not come next, or are made less likely: no repeated n-grams,
 * the repetition penalty, the shortest output, no unknown word.
 *
 * All of it travels with the ask. All tokens concerned are banned from the best ones. Those that
 * are only made less likely are targets too: their log-probabilities come back with the answer,
 * get their penalty here and then compete with the best ones. */
#ifndef PK_DECODE_CONSTRAINT_H
#define PK_DECODE_CONSTRAINT_H
#include "decode/strategy.h"

#define PK_UNK_MAP(X) X(PK_UNK_AUTO, "auto") X(PK_UNK_ALLOW, "allow") X(PK_UNK_BAN, "ban")
enum { PK_UNK_MAP(PK_CHOICE_CONSTANT) };

typedef struct pk_constraint_options { /* what a user may set; see the table below */
    int32_t no_repeat_ngram, min_length, max_length, unk;
    float   repetition_penalty;
} pk_constraint_options;

extern const char *const pk_unk_choices[];
// clang-format off
/* those that look back at what was output before */
#define PK_HISTORY_OPTIONS(state, field) \
    { "no_repeat_ngram", "no n-gram of this size twice in one output; 0: off; auto: the model's", \
      PK_OPTION_INT, 0, -1, 64, NULL, offsetof(state, field.no_repeat_ngram) }, \
    { "repetition_penalty", "makes tokens already output less likely; 1: off; auto: the model's", \
      PK_OPTION_FLOAT, 0.01, -1, 100, NULL, offsetof(state, field.repetition_penalty) }
/* those that do not */
#define PK_LENGTH_OPTIONS(state, field) \
    { "min_length", "fewest output tokens, end symbol included", \
      PK_OPTION_INT, 0, -1, 100000, NULL, offsetof(state, field.min_length) }, \
    { "max_length", "most output tokens, end symbol included; auto: by model and source", \
      PK_OPTION_INT, 1, 0, 100000, NULL, offsetof(state, field.max_length) }, \
    { "unk", "may the unknown word be output", \
      PK_OPTION_CHOICE, 0, PK_UNK_AUTO, 0, pk_unk_choices, offsetof(state, field.unk) }
#define PK_CONSTRAINT_OPTIONS(state, field) \
    PK_HISTORY_OPTIONS(state, field), PK_LENGTH_OPTIONS(state, field)
// clang-format on

/* how a rule set weighs, where the user says nothing */
typedef struct pk_constraint_rules {
    int32_t min_length;
    bool    ban_unk;
    bool    of_model;    /* unset options are the model's recommendation, not off */
    bool    on_logits;   /* the penalty works on logits, not on log-probabilities */
    bool    renormalise; /* probabilities add up to one again afterwards */
    bool    with_start;  /* the start symbol is part of the history */
} pk_constraint_rules;

typedef struct pk_constraint { /* for one sentence */
    pk_constraint_rules rules;
    int32_t             ngram, min_length, max_length, eos, unk; /* unk: PK_NO_TOKEN when allowed */
    float               penalty;
    const int32_t      *suppressed; /* (n_suppressed) the session bans them by itself */
    int32_t             n_suppressed;
    int32_t             continuation, n_continuation; /* as in the conventions */
    bool                left_out;         /* answers are normalised without the banned tokens */
    bool                lists_suppressed; /* their share of the sum has to be known */
    int32_t             vocab, room;      /* room: the longest list there can be */
    uint32_t           *seen; /* a bit per token, all zero between calls; NULL when not needed */
} pk_constraint;

typedef struct pk_special { /* the tokens concerned at one ask: penalised, banned, suppressed */
    int32_t *token;         /* (room of the constraint) */
    int32_t  n, n_penalised, n_suppressed;
} pk_special;

typedef struct pk_weights { /* what to add to the log-probabilities of an answer: */
    float search;           /* gives those that the search compares */
    float model;            /* gives the model's own, the same that scoring returns */
    float full;             /* gives those over the whole vocabulary */
    float norm;             /* log of the sum of what is allowed, after penalties: subtracted */
} pk_weights;

int32_t   pk_constraint_max_length(const pk_constraint_options *opt, const pk_source *src);
pk_status pk_constraint_begin(pk_constraint *c, const pk_constraint_options *opt,
                              const pk_source *src, pk_constraint_rules rules);
void      pk_constraint_end(pk_constraint *c);
/* does it need the tokens of a history, or only their number? */
static inline bool pk_constraint_looks_back(const pk_constraint *c) { return c->seen != NULL; }
/* history: start symbol, then n output tokens; NULL when it does not look back */
void pk_constraint_list(const pk_constraint *c, const int32_t *history, int32_t n, pk_special *out);
/* puts the list into the ask, as bans and targets */
void       pk_constraint_ask(const pk_constraint *c, const pk_special *special, pk_ask *ask);
pk_weights pk_constraint_weights(const pk_constraint *c, const pk_special *special,
                                 const pk_answer *a);
/* log-probability of penalised token i, as the search compares it */
float pk_constraint_weigh(const pk_constraint *c, const pk_weights *w, const pk_answer *a,
                          int32_t i);
/* greedy's choice: the best of the answer's best tokens and the penalised ones, with the model's
 * own log-probability; PK_NO_TOKEN when nothing is allowed */
pk_candidate pk_constraint_best(const pk_constraint *c, const pk_special *special,
                                const pk_answer *a);
/* `token` in place of the best, where it is among the best beta and less probable by tau at most;
 * the answer has beta best tokens */
pk_candidate pk_constraint_tolerate(const pk_constraint *c, const pk_special *special,
                                    const pk_answer *a, int32_t token, int32_t beta, float tau,
                                    pk_candidate best);
#endif
