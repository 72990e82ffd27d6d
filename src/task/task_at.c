/* task_at.c - one token after the other, from left to right; and the same from right to left.
 *
 * Decoder inputs are the start symbol and the target's tokens at positions 0 .. n; each sees those
 * before it and is asked for the one after it, the last one for the end symbol. */
#include "task/task_list.h"

static pk_status add_source(pk_lesson *l, const pk_pair *pair) {
    PK_TRY(pk_lesson_source(l, pair->source, pair->n_source));
    return pk_lesson_source(l, &pair->eos, 1);
}

/* token i of the target as the model writes it: what is given comes first in any direction */
static int32_t written(const pk_pair *pair, int32_t i, bool backwards) {
    if (i == pair->n_target) return pair->eos;
    if (!backwards || i < pair->n_given) return pair->target[i];
    return pair->target[pair->n_target - 1 - (i - pair->n_given)];
}

static pk_status add_target(pk_lesson *l, const pk_pair *pair, bool backwards) {
    int32_t before = pair->start;
    for (int32_t i = 0; i <= pair->n_target; i++) {
        const int32_t next = written(pair, i, backwards);
        PK_TRY(pk_lesson_input(l, before, i, 0, i + 1, NULL));
        if (i >= pair->n_given) PK_TRY(pk_lesson_ask(l, i, next, 1));
        before = next;
    }
    return PK_OK;
}

static pk_status teach(pk_lesson *l, pk_pair *pair) {
    PK_TRY(add_source(l, pair));
    return add_target(l, pair, false);
}

static pk_status teach_backwards(pk_lesson *l, pk_pair *pair) {
    PK_TRY(add_source(l, pair));
    return add_target(l, pair, true);
}

const pk_task pk_task_left_to_right = {
    .name = "at",
    .help = "one token after the other, from left to right",
    .teach = teach,
};

const pk_task pk_task_right_to_left = {
    .name = "at-rl",
    .help = "the same from right to left",
    .backwards = true,
    .teach = teach_backwards,
};
