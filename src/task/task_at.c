/* task_at.c - one token after the other, from left to right; and the same from right to left.
 *
 * Decoder inputs are the start symbol and the target's tokens at positions 0 .. n; each sees those
 * before it and is asked for the one after it, the last one for the end symbol. */
#include "task/samples.h"
#include "task/task_list.h"

static pk_status teach(pk_lesson *l, pk_pair *pair) {
    PK_TRY(pk_sample_source(l, pair));
    return pk_sample_chain(l, pair, false);
}

static pk_status teach_backwards(pk_lesson *l, pk_pair *pair) {
    PK_TRY(pk_sample_source(l, pair));
    return pk_sample_chain(l, pair, true);
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
