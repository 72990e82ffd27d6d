/* strategy.h - a decoding strategy: one small file, one of these.
 *
 * It serves one sentence and knows nothing of batches, models or devices: the engine gathers the
 * asks of all sentences into one pass. begin, then propose and absorb in turn until done, then
 * result, then end. A sentence starts with one hypothesis whose history is empty.
 *
 * State: `state_size` bytes, zeroed, with the options filled in, per sentence. What grows with the
 * sentence is taken in begin() from what `source` says and given back in end(); propose and absorb
 * allocate nothing. */
#ifndef PK_DECODE_STRATEGY_H
#define PK_DECODE_STRATEGY_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "base/options.h"
#include "base/status.h"
#include "decode/pass.h"

/* Tokens that a task added to the model: one by its name, or a group by the group's. */
typedef struct pk_added_tokens {
    char    name[32];
    int32_t first, count;                       /* ids */
    int32_t group;                              /* what pk_ask.group takes; 0: a single token */
} pk_added_tokens;

/* What a strategy may know of the model: made once, the same for all its sentences. */
typedef struct pk_conventions {
    const char    *tasks;                       /* what it was trained for, between spaces; NULL: at */
    int32_t        vocab;                       /* tokens that may be output */
    int32_t        start, eos, unk;             /* start and unk may be PK_NO_TOKEN */
    int32_t        max_positions;               /* positions of the model: no output is longer */
    bool           forced_eos;                  /* at max_length the last token must be eos */
    bool           renormalise;                 /* log-probabilities leave banned tokens out */
    const int32_t *suppressed;                  /* never output: the session adds them to all bans */
    int32_t        n_suppressed;
    int32_t        continuation;                /* the first of the tokens that go on with a character */
    int32_t        n_continuation;              /*   written as bytes; 0: there are none */
    bool           lexicon;                     /* there is one: pk_source.lexicon is not NULL */
    const pk_added_tokens *added;                  /* the tokens of its tasks */
    int32_t        n_added;
    /* what the model's makers recommend; an option the user left unset takes it */
    int32_t        beams, no_repeat_ngram, early_stopping;   /* 0: none; none; 0 no, 1 yes, 2 never */
    float          length_penalty, repetition_penalty;       /* repetition_penalty: 0 or 1 is none */
} pk_conventions;

/* What it may know of the sentence. */
typedef struct pk_source {
    const pk_conventions *model;                /* outlives the state */
    int32_t        n_tokens;                    /* source tokens, end symbol included */
    const int32_t *token;                       /* they themselves */
    int32_t        max_length;                  /* most output tokens, end symbol included */
    const int32_t *prefix;                      /* the output begins with these (language, user's) */
    int32_t        n_prefix;
    int32_t        n_free_prefix;               /* of those, how many are no part of the text */
    const int32_t *forced;                      /* score this whole output instead of searching one */
    int32_t        n_forced;
    int32_t        n_best;                      /* hypotheses wanted */
    bool           want_scores, want_attention;
    const int32_t *draft;                       /* a guess at the output (no start, no end), or NULL */
    int32_t        n_draft;
    const struct pk_lexicon *lexicon;           /* the model's candidates, or those of a file, or NULL */
    struct pk_ngrams *ngrams;                   /* what this document has output so far, or NULL */
    bool           drafter;                     /* there is a network 1 to ask */
} pk_source;

typedef struct pk_hypothesis {                  /* a finished one; memory belongs to the state until end() */
    const int32_t *token;                       /* output tokens, prefix included, end included if met */
    const float   *logp;                        /* of each; zeros unless scores were wanted */
    int32_t        n;
    float          score;                       /* what ranks hypotheses */
    const float   *attention;                   /* (n, source tokens), or NULL */
} pk_hypothesis;

typedef struct pk_strategy_limits {             /* of one sentence, from its options */
    int32_t asks, hypotheses;                   /* most at a time; of hypotheses, those whose histories are kept */
    int32_t slots;                              /* most it may hold */
    int32_t top_k;                              /* of an ask */
    int32_t edges;                              /* tokens of a step of a lattice; 0: it has none */
} pk_strategy_limits;

typedef struct pk_strategy pk_strategy;
struct pk_strategy {
    const char      *name, *help;
    const pk_option *options;                   /* ends with a NULL name */
    const char      *needs, *drafter_needs;     /* the task that its models, and drafters, are trained with; NULL: at */
    int32_t          variant;                   /* which one, where functions serve several strategies */
    size_t           state_size;
    bool             looks_up;                  /* it needs a model with candidates */
    bool             drafts_at_will;            /* it uses a drafter where one is given, and works without */
    /* with these options it asks no network: result() may follow begin(). NULL: it always asks */
    bool           (*alone)  (const void *state);
    /* checks options against each other when a translator opens; may be NULL */
    pk_status      (*check)  (const pk_strategy *self, const void *state, int32_t n_best);
    /* refuses a model that lacks what the options want, at the same time; may be NULL */
    pk_status      (*fits)   (const pk_strategy *self, const void *state, const pk_conventions *model);
    pk_strategy_limits (*limits)(const pk_strategy *self, const void *state, const pk_source *src);
    /* the same of what it asks a drafter (pass->model 1); NULL: it uses none */
    pk_strategy_limits (*draft_limits)(const pk_strategy *self, const void *state, const pk_source *src);
    /* with these options it drafts by itself, and takes no drafter; NULL: it never does */
    bool           (*drafts) (const void *state);
    /* the functions below are not given the strategy: what they need of it is kept in the state here */
    pk_status      (*begin)  (const pk_strategy *self, void *state, const pk_source *src);
    void           (*propose)(void *state, pk_pass *pass);
    void           (*absorb) (void *state, const pk_pass *pass, pk_verdict *verdict);
    int32_t        (*result) (const void *state, pk_hypothesis *out, int32_t room);  /* best first */
    void           (*end)    (void *state);
};

extern const pk_strategy *const pk_strategies[];        /* decode/list.c: one line each, ends with NULL */
/* the first two are in the list; score serves sources with `forced` set, whatever was chosen */
extern const pk_strategy pk_strategy_greedy, pk_strategy_beam, pk_strategy_score;
extern const pk_strategy pk_strategy_pairs;
extern const pk_strategy pk_strategy_jacobi, pk_strategy_pj, pk_strategy_pgj, pk_strategy_hgj;
extern const pk_strategy pk_strategy_cmlm;
extern const pk_strategy pk_strategy_hrt;
extern const pk_strategy pk_strategy_gad, pk_strategy_gad_self, pk_strategy_gad_beam, pk_strategy_blocks;
extern const pk_strategy pk_strategy_lattice, pk_strategy_nat;

/* by name; NULL: the model has none such, which pk_strategy.needs rules out where the task adds it */
const pk_added_tokens *pk_added_find(const pk_conventions *model, const char *name);

typedef struct pk_block_mask { /* of task gad; its name says how the model was trained */
    int32_t token;       /* PK_NO_TOKEN: there is none */
    bool    sees_all;    /* known tokens see the block behind them */
    bool    next;        /* known tokens say what follows them: the last one stands in for the first mask */
} pk_block_mask;
pk_block_mask pk_block_mask_of(const pk_conventions *model);
/* "beam:size=4,rules=hf" -> the strategy, and its options as a fresh state to copy (caller gives back) */
pk_status pk_strategy_parse(const char *spec, const pk_strategy **out, void **state);
/* the check of those that give one hypothesis */
pk_status pk_strategy_check_single(const pk_strategy *self, const void *state, int32_t n_best);
/* refuses options that need a lexicon where there is none; a `fits` */
pk_status pk_strategy_check_lexicon(const pk_strategy *self, const pk_conventions *model);
/* refuses a drafter that would not be used, and a strategy without the one it needs */
pk_status pk_strategy_check_drafter(const pk_strategy *self, const void *state, bool given);
#endif
