/* task_markov.c - the scorer of a lattice: tokens from few tokens before them (Deng and Rush 2020,
 * 2021; "bigrams to trigrams").
 *
 * Decoder inputs are those of `at`: the start symbol and the target's tokens at positions 0 .. n,
 * each asked for the next token. But they are cut into blocks of m - 1 inputs, for m-grams, and see
 * only what lies before them in their block: the first one sees itself alone, which is what an edge
 * of a lattice asks. Each sentence draws m, and where its first block ends. */
#include "task/task_list.h"

typedef struct markov {
    int32_t least, most;
} markov;

static const pk_option table[] = {
    { "least", "shortest n-grams learned", PK_OPTION_INT, 2, 2, 16, NULL, offsetof(markov, least) },
    { "most", "longest n-grams learned", PK_OPTION_INT, 2, 3, 16, NULL, offsetof(markov, most) },
    { 0 },
};

static pk_status check(const void *options) {
    const markov *o = options;
    if (o->most < o->least)
        PK_FAIL(PK_ARGUMENT, "markov: most=%d is less than least=%d", o->most, o->least);
    return PK_OK;
}

/* Blocks of gram - 1 inputs; an input sees its block up to itself, so a token depends on at most
 * gram - 1 before it. The first block is cut by a random offset, so that every position is at times
 * the first of a block, which sees itself alone. */
static pk_status teach(pk_lesson *l, pk_pair *pair) {
    const markov *o = pair->options;
    const int32_t gram = o->least + pk_pair_random(pair, o->most - o->least + 1);
    const int32_t width = gram - 1, offset = pk_pair_random(pair, width);
    PK_TRY(pk_lesson_source(l, pair->source, pair->n_source));
    PK_TRY(pk_lesson_source(l, &pair->eos, 1));
    for (int32_t i = 0, first = 0; i <= pair->n_target; i++) {
        const int32_t token = i == 0 ? pair->start : pair->target[i - 1];
        if (i >= offset && (i - offset) % width == 0) first = i;
        PK_TRY(pk_lesson_input(l, token, i, first, i + 1 - first, NULL));
        if (i < pair->n_given) continue;
        PK_TRY(pk_lesson_ask(l, i, i < pair->n_target ? pair->target[i] : pair->eos, 1));
    }
    return PK_OK;
}

const pk_task pk_task_markov = {
    .name = "markov",
    .help = "each token from the one or two before it: the scorer of a lattice",
    .table = table,
    .options_size = sizeof(markov),
    .lexicon = true,
    .decode = "lattice",
    .check = check,
    .teach = teach,
};
