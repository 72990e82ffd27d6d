/* samples.c - what several tasks give the decoder. Tokens that are given (a language) are neither
 * masked nor asked for. */
#include "task/samples.h"

#include <stdio.h>

pk_status pk_sample_source(pk_lesson *l, const pk_pair *pair) {
    PK_TRY(pk_lesson_source(l, pair->source, pair->n_source));
    return pk_lesson_source(l, &pair->eos, 1);
}

/* token i of the target as the model writes it: what is given comes first in any direction */
static int32_t written(const pk_pair *pair, int32_t i, bool backwards) {
    if (i == pair->n_target) return pair->eos;
    if (!backwards || i < pair->n_given) return pair->target[i];
    return pair->target[pair->n_target - 1 - (i - pair->n_given)];
}

pk_status pk_sample_chain(pk_lesson *l, const pk_pair *pair, bool backwards) {
    int32_t before = pair->start;
    for (int32_t i = 0; i <= pair->n_target; i++) {
        const int32_t next = written(pair, i, backwards);
        PK_TRY(pk_lesson_input(l, before, i, 0, i + 1, NULL));
        if (i >= pair->n_given) PK_TRY(pk_lesson_ask(l, i, next, 1));
        before = next;
    }
    return PK_OK;
}

/* targets that are longer than the longest length have no answer: these are not asked about */
static bool asks_length(const pk_pair *pair, const pk_masked *how) {
    return pair->n_target >= 1 && pair->n_target <= how->lengths;
}

static pk_status ask_length(pk_lesson *l, const pk_pair *pair, const pk_masked *how) {
    const int32_t at = how->first;
    PK_TRY(pk_lesson_input(l, pair->token[PK_MASK_TOKEN], 0, at, 1, NULL));
    return pk_lesson_ask_group(l, at, pair->group[0], pair->n_target - 1, how->weight);
}

/* how many of n tokens are masked: 1 to n, all equally likely */
static int32_t draw_masks(pk_pair *pair, int32_t n) { return n ? 1 + pk_pair_random(pair, n) : 0; }

pk_status pk_sample_masked(pk_lesson *l, pk_pair *pair, const pk_masked *how) {
    const bool    length = asks_length(pair, how);
    const int32_t n = pair->n_target, first = how->first + length;
    int32_t       left = n - pair->n_given, masks = draw_masks(pair, left);
    if (length) PK_TRY(ask_length(l, pair, how));
    for (int32_t i = 0; i <= n; i++) {
        int32_t token = i == n ? pair->eos : pair->target[i];
        bool    masked = false;
        /* each set of that many positions is equally likely */
        if (i >= pair->n_given && i < n) masked = pk_pair_random(pair, left--) < masks;
        if (masked) token = pair->token[PK_MASK_TOKEN], masks--;
        PK_TRY(pk_lesson_input(l, token, i + 1, first, n + 1, NULL));
        if (masked) PK_TRY(pk_lesson_ask(l, first + i, pair->target[i], 1));
    }
    return PK_OK;
}

void pk_sample_length_token(int32_t i, pk_task_token *out) {
    *out = (pk_task_token){ .group = "length" };
    snprintf(out->name, sizeof out->name, "<length:%d>", i + 1);
}
