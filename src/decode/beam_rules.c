/* beam_rules.c - the rule sets of four beam searches, checked against each one's behaviour.
 *
 * hf:      transformers, generate() with num_beams
 * marian:  marian-decoder; alpha is the length penalty, 0 unless --normalize
 * ct2:     CTranslate2, translate_batch()
 * fairseq: fairseq-generate */
#include "decode/beam_rules.h"

#include <float.h>
#include <math.h>

const char *const pk_beam_rule_names[] = { PK_BEAM_KIND_MAP(PK_CHOICE_WORD) NULL };

/* what is not named is off */
static const pk_beam_rules table[] = {
    [PK_BEAM_HF] = {
        .kind = PK_BEAM_HF,
        .candidates = 2,
        .may_force = true,
        .forced_is_free = true,
        .prompt_is_apart = true,
        .length_penalty = 1,
        .constraint = { .of_model = true, .with_start = true },
    },
    [PK_BEAM_MARIAN] = {
        .kind = PK_BEAM_MARIAN,
        .candidates = 1,
        .shrinks = true,
        .scores_prefix = true,
        .length_penalty = 0,
        .constraint = { .ban_unk = true, .with_start = true },
    },
    [PK_BEAM_CT2] = {
        .kind = PK_BEAM_CT2,
        .candidates = 2,
        .drops_first_eos = true,
        .length_penalty = 1,
        .constraint = { .min_length = 2, .on_logits = true, .renormalise = true },
    },
    [PK_BEAM_FAIRSEQ] = {
        .kind = PK_BEAM_FAIRSEQ,
        .candidates = 2,
        .stops_taking = true,
        .always_ends = true,
        .scores_prefix = true,
        .length_penalty = 1,
        .constraint = { .min_length = 2, .with_start = true },
    },
};

const pk_beam_rules *pk_beam_rules_of(int32_t kind) { return &table[kind]; }

int32_t pk_beam_length(const pk_beam_rules *r, const pk_source *src, int32_t n) {
    /* A language token alone is generated (it is forced) and counts. Followed by a user's prefix,
     * both are the prompt and do not count. */
    if (r->prompt_is_apart && src->n_prefix > src->n_free_prefix) n -= src->n_prefix;
    return n;
}

float pk_beam_score(float sum, int32_t length, float length_penalty) {
    if (length_penalty == 0) return sum;
    if (length <= 0) return -FLT_MAX; /* nothing but the prompt: ranks last */
    return sum / (float)pow((double)length, (double)length_penalty);
}

/* Could the best unfinished hypothesis still beat the worst finished one? hf compares it as if it
 * ended at its present length, or ("never") at the longest length, where its score is best. */
static bool hf_stops(const pk_beam_progress *now) {
    if (now->n_finished < now->size) return false;
    if (now->size == 1 || now->early_stopping == PK_STOP_YES) return true;
    const bool    at_longest = now->early_stopping == PK_STOP_NEVER && now->length_penalty > 0;
    const int32_t length = at_longest ? now->longest : now->length;
    return !(pk_beam_score(now->best_unfinished, length, now->length_penalty) >
             now->worst_finished);
}

/* Without a length penalty scores only fall, so CTranslate2 stops when the best candidate ended.
 * With one it waits for size x patience endings. */
static bool ct2_stops(const pk_beam_progress *now) {
    if (now->length_penalty == 0) return now->best_ended && now->n_ended >= now->n_best;
    const int32_t enough = (int32_t)roundf((float)now->size * now->patience);
    return now->n_ended >= (enough > 1 ? enough : 1);
}

bool pk_beam_stops(const pk_beam_rules *r, const pk_beam_progress *now) {
    switch (r->kind) {
    case PK_BEAM_HF: return hf_stops(now);
    case PK_BEAM_CT2: return ct2_stops(now);
    case PK_BEAM_FAIRSEQ: return now->n_finished == now->size;
    case PK_BEAM_MARIAN: return false; /* it ends when its beam has shrunk to nothing */
    }
    return true;
}
