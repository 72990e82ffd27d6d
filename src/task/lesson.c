/* lesson.c - tasks fill lessons through the functions here, sentence by sentence.
 *
 * A sentence begins when the one before it ends: its first row is the last entry of `segment`. What
 * a task says is checked, since kernels trust it: who is seen is there and could be asked for in a
 * pass (decode/pass.h), positions exist, and questions rise. */
#include "task/lesson.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

/* every list of ids that a lesson has */
#define LISTS(l)                                                                            \
    {                                                                                       \
        &(l)->source_token, &(l)->source_pos, &(l)->source_segment, &(l)->token, &(l)->pos, \
            &(l)->first, &(l)->count, &(l)->segment, &(l)->question_row, &(l)->target,      \
            &(l)->slice, &(l)->question_segment, &(l)->tagged                               \
    }

static int32_t last(const pk_ids *list) {
    assert(list->n > 0); /* begin() puts a 0 into every list of segments */
    return list->id[list->n - 1];
}

/* ---- what tasks call ---- */

pk_status pk_lesson_source(pk_lesson *l, const int32_t *token, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        PK_TRY(pk_ids_add(&l->source_pos, (int32_t)l->source_token.n - last(&l->source_segment)));
        PK_TRY(pk_ids_add(&l->source_token, token[i]));
    }
    return PK_OK;
}

pk_status pk_lesson_input(pk_lesson *l, int32_t token, int32_t position, int32_t first,
                          int32_t count, int32_t *at) {
    const int32_t begin = last(&l->segment), number = (int32_t)l->token.n - begin;
    if (first < 0 || first > number || count <= number - first)
        PK_FAIL(PK_ARGUMENT, "a decoder input must see itself");
    PK_TRY(pk_ids_add(&l->token, token));
    PK_TRY(pk_ids_add(&l->pos, position));
    PK_TRY(pk_ids_add(&l->first, begin + first));
    PK_TRY(pk_ids_add(&l->count, count));
    if (at) *at = number;
    return PK_OK;
}

static pk_status add_weight(pk_floats *list, float value) {
    PK_TRY(PK_RESERVE(&list->value, list->n + 1, &list->room));
    list->value[list->n++] = value;
    return PK_OK;
}

/* Questions lie in the order of their inputs, at most one for each, so that answers can be sorted
 * back by walking once. classes 0: not known, and not checked. */
static pk_status ask(pk_lesson *l, int32_t at, int32_t slice, int32_t target, float weight) {
    const int32_t row = last(&l->segment) + at, classes = l->classes[slice];
    if (target < 0 || (classes && target >= classes))
        PK_FAIL(PK_ARGUMENT, "a question whose answer is %d, of %d there are", target, classes);
    if (at < 0 || row >= (int32_t)l->token.n)
        PK_FAIL(PK_ARGUMENT, "a question to decoder input %d, which is not there", at);
    if (l->question_row.n && row <= last(&l->question_row))
        PK_FAIL(PK_ARGUMENT, "questions must be asked in the order of the decoder's inputs");
    PK_TRY(pk_ids_add(&l->question_row, row));
    PK_TRY(pk_ids_add(&l->target, target));
    PK_TRY(pk_ids_add(&l->slice, slice));
    l->total += (double)weight;
    return add_weight(&l->weight, weight);
}

pk_status pk_lesson_ask(pk_lesson *l, int32_t at, int32_t target, float weight) {
    return ask(l, at, 0, target, weight);
}

pk_status pk_lesson_ask_group(pk_lesson *l, int32_t at, int32_t group, int32_t target,
                              float weight) {
    if (group < 1 || group >= PK_SLICES || !l->classes[group])
        PK_FAIL(PK_ARGUMENT, "a question about a group of tokens that the model does not have");
    return ask(l, at, group, target, weight);
}

int32_t pk_pair_random(pk_pair *pair, int32_t n) {
    pair->random += PK_GOLDEN;
    return (int32_t)((pk_mix(pair->random) >> 32) * (uint64_t)n >> 32);
}

/* ---- one batch ---- */

/* lists are emptied and keep their memory; each list of segments begins with a 0 */
static pk_status begin(pk_lesson *l, const pk_lesson_maker *m) {
    pk_ids *const lists[] = LISTS(l);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) lists[i]->n = 0;
    memcpy(l->classes, m->classes, sizeof l->classes);
    l->weight.n = 0;
    l->total = 0;
    l->longest_source = l->longest_target = 0;
    PK_TRY(pk_ids_add(&l->source_segment, 0));
    PK_TRY(pk_ids_add(&l->question_segment, 0));
    return pk_ids_add(&l->segment, 0);
}

/* the end of what input i sees */
static int32_t view_end(const pk_lesson *l, int32_t i) { return l->first.id[i] + l->count.id[i]; }

/* What can be learned can be asked: inputs that share a view are a block, one input alone is a
 * block of one, and each block begins anew or sees all that the input before it sees. */
static pk_status check_views(const pk_lesson *l, int32_t from, int32_t end) {
    for (int32_t i = from; i < end;) {
        const int32_t first = l->first.id[i], stop = view_end(l, i);
        bool          ok =
            first == i || (i > from && l->first.id[i - 1] == first && view_end(l, i - 1) == i);
        while (ok && ++i < stop) ok = l->first.id[i] == first && view_end(l, i) == stop;
        if (!ok)
            PK_FAIL(PK_ARGUMENT,
                    "no decoder can be asked for what decoder input %d sees (%d to %d): an input "
                    "begins anew, or sees all that the one before it sees and itself, or is in a "
                    "block of inputs that do so together",
                    i - from, l->first.id[i] - from, view_end(l, i) - 1 - from);
    }
    return PK_OK;
}

/* Checks the sentence that was added, and closes it. */
static pk_status end_sentence(pk_lesson *l, const pk_lesson_maker *m) {
    const int32_t from = last(&l->segment), end = (int32_t)l->token.n;
    const int32_t n_source = (int32_t)l->source_token.n - last(&l->source_segment);
    for (int32_t i = from; i < end; i++) {
        if (l->first.id[i] + l->count.id[i] > end)
            PK_FAIL(PK_ARGUMENT, "a decoder input sees others that are not there");
        if (l->pos.id[i] < 0 || l->pos.id[i] >= m->max_target)
            PK_FAIL(PK_ARGUMENT,
                    "position %d of a target, but the model has %d: set a lower "
                    "data.max_length or a higher model.max_positions",
                    l->pos.id[i], m->max_target);
    }
    PK_TRY(check_views(l, from, end));
    if (n_source < 1) PK_FAIL(PK_ARGUMENT, "a sentence without a source");
    if (n_source > m->max_source)
        PK_FAIL(PK_ARGUMENT,
                "a source of %d tokens, but the model has %d positions: set a lower "
                "data.max_length or a higher model.max_positions",
                n_source, m->max_source);
    if (n_source > l->longest_source) l->longest_source = n_source;
    if (end - from > l->longest_target) l->longest_target = end - from;
    assert(l->weight.n == l->target.n && l->question_row.n == l->target.n);
    PK_TRY(pk_ids_add(&l->source_segment, (int32_t)l->source_token.n));
    PK_TRY(pk_ids_add(&l->question_segment, (int32_t)l->question_row.n));
    return pk_ids_add(&l->segment, end);
}

/* a side of a pair with its tag before it, in memory of the lesson */
static pk_status tagged(pk_lesson *l, int32_t tag, const int32_t **token, int32_t *n) {
    if (tag < 0) return PK_OK;
    l->tagged.n = 0;
    PK_TRY(pk_ids_add(&l->tagged, tag));
    for (int32_t i = 0; i < *n; i++) PK_TRY(pk_ids_add(&l->tagged, (*token)[i]));
    *token = l->tagged.id;
    *n += 1;
    return PK_OK;
}

static pk_status add_pair(pk_lesson *l, const pk_lesson_maker *m, const pk_batch *b, int32_t i,
                          const int32_t *predicted) {
    pk_pair pair = { .source = b->source + b->source_first[i],
                     .target = b->target + b->target_first[i],
                     .n_source = b->source_first[i + 1] - b->source_first[i],
                     .n_target = b->target_first[i + 1] - b->target_first[i],
                     .eos = m->eos,
                     .start = m->start,
                     .max_positions = m->max_target,
                     .token = m->token,
                     .group = m->group,
                     .predicted = predicted,
                     .random = pk_mix(m->key + (uint64_t)i * PK_GOLDEN),
                     .share = m->share,
                     .options = m->options };
    if (m->source_tag >= 0) PK_TRY(pk_lesson_source(l, &m->source_tag, 1));
    PK_TRY(tagged(l, m->target_tag, &pair.target, &pair.n_target));
    pair.n_given = m->target_tag >= 0;
    PK_TRY(m->task->teach(l, &pair));
    return end_sentence(l, m);
}

pk_status pk_lesson_make(pk_lesson *l, const pk_lesson_maker *m, const pk_batch *batch,
                         const int32_t *predicted) {
    int32_t answered = 0; /* questions of the first look to sentences before this one */
    PK_TRY(begin(l, m));
    for (int32_t i = 0; i < batch->n; i++) {
        /* the first look's entry is still there: it is overwritten one sentence later */
        const int32_t next = predicted ? l->question_segment.id[i + 1] : 0;
        PK_TRY(add_pair(l, m, batch, i, predicted ? predicted + answered : NULL));
        answered = next;
    }
    return PK_OK;
}

void pk_lesson_free(pk_lesson *l) {
    pk_ids *const lists[] = LISTS(l);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) pk_ids_free(lists[i]);
    pk_memory_give(l->weight.value);
    *l = (pk_lesson){ 0 };
}
