/* task_pairs.c - two tokens a step (Imamura and Sumita 2020): from both ends of the sentence toward
 * its middle; and for comparison two neighbours a step, from left to right or from right to left.
 *
 * The target is folded into pairs. From both ends pair t is (y_t, y_(n+1-t)); the middle token of
 * an odd number goes to the left. Positions that are left over hold the end symbol, which so is the
 * sign of the end of decoding: one in the last pair of an odd number, two in that of an even one.
 * No other token is needed for it: it is in the sums as any text, and is fed only in the first
 * pair.
 *
 * Inputs are (start symbol, end symbol) and then each pair; both of a pair see all pairs before
 * theirs and each other, and are asked for the next pair. What is given (a language) comes before
 * all pairs, token by token, and the last of it takes the place of the start symbol. */
#include "task/task_list.h"

typedef enum order { FROM_BOTH_ENDS, LEFT_TO_RIGHT, RIGHT_TO_LEFT } order;

/* token i of n as the order has it; beyond them the end symbol */
static int32_t text_at(const pk_pair *pair, int32_t i, int32_t n, bool backwards) {
    if (i >= n) return pair->eos;
    return pair->target[pair->n_given + (backwards ? pair->n_target - pair->n_given - 1 - i : i)];
}

/* one side (0 left, 1 right) of pair t, from 0 */
static int32_t folded(const pk_pair *pair, int32_t t, int32_t side, order by) {
    const int32_t n = pair->n_target - pair->n_given;
    if (by != FROM_BOTH_ENDS) return text_at(pair, 2 * t + side, n, by == RIGHT_TO_LEFT);
    return side ? text_at(pair, t, n / 2, true) : text_at(pair, t, n - n / 2, false);
}

/* pair t, fed as *token and asked for the next one, which *token becomes */
static pk_status add_pair(pk_lesson *l, const pk_pair *pair, int32_t t, order by,
                          int32_t token[2]) {
    const int32_t at = pair->n_given + 2 * t;
    for (int32_t side = 0; side < 2; side++)
        PK_TRY(pk_lesson_input(l, token[side], at + side, 0, at + 2, NULL));
    for (int32_t side = 0; side < 2; side++) {
        token[side] = folded(pair, t, side, by);
        PK_TRY(pk_lesson_ask(l, at + side, token[side], 1));
    }
    return PK_OK;
}

/* A prefix (a language) is fed token by token; its last token takes the place of the start symbol
 * in the first pair. Pairs are counted with the one that only ends. */
static pk_status teach_in(pk_lesson *l, const pk_pair *pair, order by) {
    int32_t       token[2] = { pair->start, pair->eos };
    const int32_t n_pairs = (pair->n_target - pair->n_given) / 2 + 1;
    PK_TRY(pk_lesson_source(l, pair->source, pair->n_source));
    PK_TRY(pk_lesson_source(l, &pair->eos, 1));
    for (int32_t i = 0; i < pair->n_given; i++) {
        PK_TRY(pk_lesson_input(l, token[0], i, 0, i + 1, NULL));
        token[0] = pair->target[i];
    }
    for (int32_t t = 0; t < n_pairs; t++) PK_TRY(add_pair(l, pair, t, by, token));
    return PK_OK;
}

static pk_status teach(pk_lesson *l, pk_pair *pair) { return teach_in(l, pair, FROM_BOTH_ENDS); }

static pk_status teach_forwards(pk_lesson *l, pk_pair *pair) {
    return teach_in(l, pair, LEFT_TO_RIGHT);
}

static pk_status teach_backwards(pk_lesson *l, pk_pair *pair) {
    return teach_in(l, pair, RIGHT_TO_LEFT);
}

/* two end symbols where the number of tokens is even */
static void most(const void *options, int32_t *per_token, int32_t *per_sentence) {
    (void)options;
    *per_token = 1;
    *per_sentence = 1;
}

enum { MORE_POSITIONS = 1 }; /* of the second end symbol */

const pk_task pk_task_pairs = {
    .name = "pairs",
    .help = "two tokens a step, from both ends toward the middle",
    .decode = "pairs",
    .beyond = MORE_POSITIONS,
    .teach = teach,
    .most = most,
};

const pk_task pk_task_pairs_left_to_right = {
    .name = "pairs-lr",
    .help = "two neighbouring tokens a step, from left to right",
    .decode = "pairs",
    .beyond = MORE_POSITIONS,
    .teach = teach_forwards,
    .most = most,
};

const pk_task pk_task_pairs_right_to_left = {
    .name = "pairs-rl",
    .help = "the same from right to left",
    .backwards = true,
    .decode = "pairs",
    .beyond = MORE_POSITIONS,
    .teach = teach_backwards,
    .most = most,
};
