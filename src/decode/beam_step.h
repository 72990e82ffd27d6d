/* beam_step.h - one step of a beam search, for the strategies that give its output: what is asked
 * about a hypothesis, and what the answers make of the beam.
 *
 * The rules of beam_rules.c are applied here and nowhere else, so whoever takes steps through here
 * searches exactly as beam.c does. */
#ifndef PK_DECODE_BEAM_STEP_H
#define PK_DECODE_BEAM_STEP_H
#include "decode/beam_state.h"

enum {
    PK_BEAM_MOST = PK_MOST_N_BEST,
    PK_BEAM_UNSET = -1000
}; /* entries; below any length penalty */

extern const char *const pk_beam_stop_choices[];
// clang-format off
/* options of a strategy whose state has a pk_beam in `field` */
#define PK_BEAM_OPTIONS(state, field) \
    { "size", "hypotheses kept at each step; auto: the model's, or 4", \
      PK_OPTION_INT, 1, 0, PK_BEAM_MOST, NULL, offsetof(state, field.size) }, \
    { "rules", "whose beam search to follow, step for step", \
      PK_OPTION_CHOICE, 0, PK_BEAM_HF, 0, pk_beam_rule_names, offsetof(state, field.rules) }, \
    { "length_penalty", "score = sum / length^penalty; auto: by rules, hf: the model's", \
      PK_OPTION_FLOAT, -100, PK_BEAM_UNSET, 100, NULL, offsetof(state, field.length_penalty) }, \
    { "patience", "ct2: stop when size x patience hypotheses have ended", \
      PK_OPTION_FLOAT, 0.01, 1, 100, NULL, offsetof(state, field.patience) }, \
    { "early_stopping", "hf: stop as soon as size hypotheses have ended; auto: the model's", \
      PK_OPTION_CHOICE, 0, 0, 0, pk_beam_stop_choices, offsetof(state, field.early_stopping) }, \
    PK_CONSTRAINT_OPTIONS(state, field.options)
// clang-format on

/* the options of strategy `name` against each other */
pk_status pk_beam_check(const char *name, const pk_beam *s, int32_t n_best);
/* what a search of one step a pass may ask */
pk_strategy_limits pk_beam_limits(const pk_beam *s, const pk_source *src);
/* own_asks: most asks of a pass beside the prefix */
pk_status pk_beam_begin(pk_beam *s, const pk_source *src, int32_t own_asks);

/* Adds an ask of a hypothesis: what follows n output tokens, the last of which is `token`? history:
 * all of them behind the start symbol; NULL when no constraint needs them. Returns its number. */
int32_t pk_beam_ask(pk_beam *s, pk_pass *pass, pk_ask ask, const int32_t *history);
/* The asks of all hypotheses, and before these what is left of the prefix: `ask` is set. False when
 * the prefix fills the pass. */
bool pk_beam_propose(pk_beam *s, pk_pass *pass);

/* The given tokens of the pass become output. False when the pass had no ask but those: then all
 * there is to do is to keep the last. */
bool pk_beam_absorb_prefix(pk_beam *s, const pk_pass *pass);
/* One step, from the answers to `ask` of each live hypothesis. True when the search is over.
 * Otherwise there are new ones, and `from` says which ask each of them follows. */
bool pk_beam_step(pk_beam *s, const pk_pass *pass);
/* ends the search, or goes on with the hypotheses of the last step */
void    pk_beam_conclude(pk_beam *s, bool over, pk_verdict *verdict);
int32_t pk_beam_result(const pk_beam *s, pk_hypothesis *out, int32_t room);
#endif
