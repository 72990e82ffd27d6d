/* task_nat.c - each token from its position alone: plain non-autoregressive translation (Gu et al.
 * 2018), the same network as the scorer of a lattice without the token before.
 *
 * Decoder inputs are start symbols at positions 0 .. n, which see themselves alone; each is asked for
 * the token of its position, the last one for the end symbol. */
#include "task/task_list.h"

static pk_status teach(pk_lesson *l, pk_pair *pair) {
    PK_TRY(pk_lesson_source(l, pair->source, pair->n_source));
    PK_TRY(pk_lesson_source(l, &pair->eos, 1));
    for (int32_t i = 0; i <= pair->n_target; i++) {
        PK_TRY(pk_lesson_input(l, pair->start, i, i, 1, NULL));
        if (i < pair->n_given) continue;
        PK_TRY(pk_lesson_ask(l, i, i < pair->n_target ? pair->target[i] : pair->eos, 1));
    }
    return PK_OK;
}

const pk_task pk_task_nat = {
    .name = "nat",
    .help = "each token from its position alone: what a lattice is compared with",
    .lexicon = true,
    .decode = "nat",
    .teach = teach,
};
