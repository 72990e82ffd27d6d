/* forecast.c - a ring of earlier answers; the one for the most similar history is the forecast.
 *
 * Most similar: the most last tokens in common, then the nearest position, then the latest. So
 * after a substituted, inserted or left out token a forecast goes on along what is known. Where not
 * even the last token is the same, only an answer for the same position counts. */
#include "decode/forecast.h"

#include <stdlib.h>

#include "base/memory.h"

enum { NEAR = 3 }; /* positions: so far a single common token still counts */

pk_status pk_forecast_begin(pk_forecast *f, int32_t room, int32_t top_k) {
    *f = (pk_forecast){ .room = room, .top_k = top_k };
    pk_status status = PK_TAKE(&f->context, (size_t)room);
    if (status == PK_OK) status = PK_TAKE(&f->top, (size_t)room * (size_t)top_k);
    if (status != PK_OK) pk_forecast_end(f);
    return status;
}

void pk_forecast_end(pk_forecast *f) {
    pk_memory_give(f->context);
    pk_memory_give(f->top);
    *f = (pk_forecast){ 0 };
}

void pk_forecast_learn(pk_forecast *f, const pk_context *after, const pk_candidate *top,
                       int32_t n) {
    pk_candidate *to = f->top + (size_t)f->next * (size_t)f->top_k;
    f->context[f->next] = *after;
    for (int32_t i = 0; i < f->top_k; i++)
        to[i] = i < n ? top[i] : (pk_candidate){ PK_NO_TOKEN, 0 };
    f->next = (f->next + 1) % f->room;
    if (f->n < f->room) f->n++;
}

static int32_t in_common(const pk_context *a, const pk_context *b) {
    int32_t n = 0;
    while (n < a->n && n < b->n && a->last[n] == b->last[n]) n++;
    return n;
}

/* how similar; negative: not at all */
static int32_t similarity(const pk_context *a, const pk_context *b) {
    const int32_t common = in_common(a, b), away = abs(a->pos - b->pos);
    if (common == 0) return away ? -1 : 0;
    if (common == 1 && away > NEAR) return -1;
    return common * 1000 - (away < 999 ? away : 999);
}

const pk_candidate *pk_forecast_look(const pk_forecast *f, const pk_context *after) {
    int32_t best = -1, found = -1;
    for (int32_t i = 0; i < f->n; i++) { /* from the latest to the oldest */
        const int32_t at = (f->next - 1 - i + f->room) % f->room;
        const int32_t like = similarity(&f->context[at], after);
        if (like > best) best = like, found = at;
    }
    return found < 0 ? NULL : f->top + (size_t)found * (size_t)f->top_k;
}

bool pk_forecast_knows(const pk_forecast *f, const pk_context *after) {
    for (int32_t i = 0; i < f->n; i++)
        if (f->context[i].pos == after->pos && in_common(&f->context[i], after) == after->n)
            return true;
    return false;
}
