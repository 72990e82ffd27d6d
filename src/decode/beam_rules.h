/* beam_rules.h - what differs between the beam searches of Hugging Face, Marian, CTranslate2 and
 * fairseq, as one row of a table each. beam.c is the search they share. */
#ifndef PK_DECODE_BEAM_RULES_H
#define PK_DECODE_BEAM_RULES_H
#include "decode/constraint.h"

#define PK_BEAM_KIND_MAP(X)     \
    X(PK_BEAM_HF, "hf")         \
    X(PK_BEAM_MARIAN, "marian") \
    X(PK_BEAM_CT2, "ct2")       \
    X(PK_BEAM_FAIRSEQ, "fairseq")
typedef enum pk_beam_kind { PK_BEAM_KIND_MAP(PK_CHOICE_CONSTANT) } pk_beam_kind;
/* early stopping, hf only; a model's config has the same numbers */
#define PK_STOP_MAP(X) X(PK_STOP_NO, "no") X(PK_STOP_YES, "yes") X(PK_STOP_NEVER, "never")
enum { PK_STOP_MAP(PK_CHOICE_CONSTANT) };

typedef struct pk_beam_rules {
    pk_beam_kind kind;
    int32_t      candidates;      /* candidates looked at per entry of the beam */
    bool         shrinks;         /* a finished hypothesis makes the beam narrower */
    bool         stops_taking;    /* takes no further finished ones once there are `size` */
    bool         drops_first_eos; /* after a prefix, only the best candidate may end at once */
    bool         always_ends;     /* at max_length the end symbol is forced, whatever the model */
    bool         may_force;       /* ... or if it is the model's convention */
    bool         forced_is_free;  /* a forced end costs nothing */
    bool         scores_prefix;   /* the user's prefix is part of the score */
    bool         prompt_is_apart; /* the user's prefix is no part of the length */
    float        length_penalty;  /* default; hf: the model's */
    pk_constraint_rules constraint;
} pk_beam_rules;

typedef struct pk_beam_progress { /* what a stop rule looks at, after a step */
    int32_t size, n_best;
    int32_t n_finished;      /* finished hypotheses kept, at most size */
    int32_t n_ended;         /* all that have ended, kept or not */
    bool    best_ended;      /* the best candidate of some step was an ending */
    int32_t length, longest; /* of the unfinished ones, as scored; and the most it can become */
    float   best_unfinished; /* sum of log-probabilities, not divided by the length */
    float   worst_finished;  /* score, as ranked */
    float   length_penalty, patience;
    int32_t early_stopping;
} pk_beam_progress;

extern const char *const pk_beam_rule_names[];
const pk_beam_rules     *pk_beam_rules_of(int32_t kind);
/* tokens that count for the score of an output of n tokens; the end symbol does, in all four */
int32_t pk_beam_length(const pk_beam_rules *r, const pk_source *src, int32_t n);
/* sum of log-probabilities -> what ranks hypotheses */
float pk_beam_score(float sum, int32_t length, float length_penalty);
bool  pk_beam_stops(const pk_beam_rules *r, const pk_beam_progress *now);
#endif
