/* lesson_asks.c - see lesson_asks.h. The lesson was checked when it was made: inputs that share a
 * view are a block, and a block begins anew or follows the input before it. */
#include "lesson_asks.h"

static bool same_view(const pk_lesson *l, int32_t i, int32_t j) {
    return l->first.id[i] == l->first.id[j] && l->count.id[i] == l->count.id[j];
}

void lesson_asks(const pk_lesson *l, int32_t sentence, pk_pass *out) {
    const int32_t from = l->segment.id[sentence], end = l->segment.id[sentence + 1];
    for (int32_t i = from; i < end; i++) {
        const bool in_block =
            (i > from && same_view(l, i - 1, i)) || (i + 1 < end && same_view(l, i, i + 1));
        pk_ask_add(out, (pk_ask){ .token = l->token.id[i],
                                  .pos = l->pos.id[i],
                                  .parent = l->first.id[i] == i ? 0 : i - from,
                                  .block = in_block ? l->first.id[i] + l->count.id[i] - from : 0 });
    }
    for (int32_t q = l->question_segment.id[sentence]; q < l->question_segment.id[sentence + 1];
         q++) {
        pk_ask *a = &out->ask[l->question_row.id[q] - from + 1];
        a->target = &l->target.id[q];
        a->n_target = 1;
        a->group = l->slice.id[q];
        a->logp = true;
    }
}
