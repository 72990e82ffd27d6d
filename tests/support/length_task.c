/* length_task.c - tokens "<mask>" and "<length:1>" to "<length:10>", and lessons with both. */
#include "length_task.h"

#include <stdio.h>

static bool tokens(const void *options, int32_t i, pk_task_token *out) {
    (void)options;
    *out = (pk_task_token){ .name = "<mask>" };
    if (i == LENGTH_MASK) return true;
    out->group = "length";
    snprintf(out->name, sizeof out->name, "<length:%d>", i);
    return i < LENGTH_FIRST + N_LENGTHS;
}

static pk_status teach(pk_lesson *l, pk_pair *p) {
    const int32_t mask = p->token[LENGTH_MASK], n = p->n_target;
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_source(l, &p->eos, 1));
    PK_TRY(pk_lesson_input(l, mask, 0, 0, 1, NULL));
    PK_TRY(pk_lesson_ask_group(l, 0, p->group[0], n - 1, 0.5f));
    for (int32_t i = 0; i < n; i++) {
        PK_TRY(pk_lesson_input(l, i % 2 ? p->target[i] : mask, i + 1, 1, n, NULL));
        if (i % 2 == 0) PK_TRY(pk_lesson_ask(l, i + 1, p->target[i], 1));
    }
    return PK_OK;
}

const pk_task length_task = {
    .name = "lengths",
    .help = "masked filling with a length, for tests",
    .tokens = tokens,
    .also = "at",
    .teach = teach,
};
