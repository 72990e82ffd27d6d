/* task.h - a training paradigm: what the decoder is given and what it is asked.
 *
 * A task is one small file and a line in tasks.c. For each sentence pair it says which tokens go
 * into the decoder at which positions, who sees whom, and which outputs are asked for with what
 * weight, by calling the three functions below. It knows nothing of tensors, devices, or batches.
 * Randomness comes from `random` alone, which is seeded by (seed, update, part, sentence): a
 * training can be repeated and resumed exactly. */
#ifndef PK_TASK_TASK_H
#define PK_TASK_TASK_H
#include <stdbool.h>

#include "base/options.h"
#include "base/status.h"
#include "tensor/types.h"

typedef struct pk_lesson pk_lesson; /* what a batch becomes; lesson.h */

typedef struct pk_pair { /* one sentence pair; ids without end symbols */
    const int32_t *source, *target;
    int32_t        n_source, n_target;
    int32_t        n_given;       /* first target tokens that are given (a language): not asked */
    int32_t        eos, start;    /* start: the decoder's first input */
    int32_t        max_positions; /* of the decoder: positions are below this */
    const int32_t *token;         /* ids of the task's own tokens, in the order of pk_task.tokens */
    const int32_t *group; /* of its groups, in the same order: what pk_lesson_ask_group() takes */
    const int32_t *predicted; /* second pass of a two_pass task: the model's answers to the
                                 questions of the first, in order; else NULL */
    uint64_t       random;    /* of this sentence at this update; see pk_pair_random */
    double         share;     /* of the training that is done, 0 to 1: for what changes meanwhile */
    const void    *options;   /* the task's own, filled from its table */
} pk_pair;

typedef struct pk_task_token { /* one that a task needs behind those of the text */
    char        name[32];      /* "<mask>", "<length:12>" */
    const char *group;         /* tokens of one group are neighbours; NULL: of none */
} pk_task_token;

typedef struct pk_task {
    const char      *name, *help;
    const pk_option *table; /* of its options; NULL: none */
    size_t           options_size;
    bool             two_pass; /* a first pass, without learning, decides the second */
    bool backwards;     /* writes targets from right to left: said in the model's configuration */
    bool lexicon;       /* its models carry candidates: a training aligns and counts its text */
    const char *decode; /* how its models are validated by default; NULL: greedy */
    int32_t     beyond; /* how far its inputs' positions reach beyond the target's length */
    /* other tasks that its models can do, between spaces; "" or NULL: none */
    const char *(*also)(const void *options);
    /* Token i, from 0, of those it needs; false: there are no more. They are never output, and in
     * no sum but that of questions about their group. NULL: none */
    bool (*tokens)(const void *options, int32_t i, pk_task_token *out);
    /* whether options fit each other; NULL: any do */
    pk_status (*check)(const void *options);
    /* adds one sentence to the lesson */
    pk_status (*teach)(pk_lesson *lesson, pk_pair *pair);
    /* most decoder inputs of a sentence: per_token for each target token, the end symbol counted,
     * and per_sentence besides; for planning memory. NULL: 1 and 0 */
    void (*most)(const void *options, int32_t *per_token, int32_t *per_sentence);
    /* of a two_pass task: with these options one pass is enough. NULL: never */
    bool (*looks_once)(const void *options);
} pk_task;

static inline bool pk_task_looks_twice(const pk_task *task, const void *options) {
    return task->two_pass && !(task->looks_once && task->looks_once(options));
}

const pk_task *pk_task_find(const char *name); /* NULL: no such task */
const pk_task *pk_task_at(size_t i);           /* NULL past the end */
void           pk_tasks_help(pk_buffer *out);  /* every task with its options, for people */

/* The source as the encoder gets it; n tokens, which see each other. May be called again: the
 * sentence goes on. */
pk_status pk_lesson_source(pk_lesson *l, const int32_t *token, int32_t n);
/* One decoder input. It sees inputs first .. first + count - 1 of this sentence (itself among
 * them), and all of the source. Returns its number within the sentence, from 0, through *at (may be
 * NULL). token -1: a row of zeros. */
pk_status pk_lesson_input(pk_lesson *l, int32_t token, int32_t position, int32_t first,
                          int32_t count, int32_t *at);
/* input `at` of this sentence should say this token; inputs are asked in rising order */
pk_status pk_lesson_ask(pk_lesson *l, int32_t at, int32_t target, float weight);
/* the same about a group of the task's tokens alone: group is one of pair->group, target counts
 * from the group's first token */
pk_status pk_lesson_ask_group(pk_lesson *l, int32_t at, int32_t group, int32_t target,
                              float weight);
/* the next random number of this sentence: uniform in [0, n) */
int32_t pk_pair_random(pk_pair *pair, int32_t n);
#endif
