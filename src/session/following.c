/* following.c - asks that go on by themselves: the device feeds each row its own best token, step
 * after step, and we look again when all are at rest.
 *
 * The slots of all steps are taken beforehand, one behind the other, and listed behind the row's
 * history: each step sees one more of them. What was not used is given back afterwards. */
#include "session/session_parts.h"

static bool follows(const pk_pass *p) {
    const pk_ask *a = &p->ask[1];
    return p->n == 1 && a->follow > 1 && a->top_k == 1 && a->n_target == 0 && !a->attention &&
           a->block == 0 && a->parent == 0 && a->row == 0;
}

int32_t pk_session_steps(const pk_session *s, const pk_request *request, int32_t n) {
    /* an ensemble's log-probabilities are put together on the host */
    const bool can = s->on->follow && s->n_members == 1;
    int32_t    steps = can && n ? s->slots.n_free / n : 0, wanted = 0, longest = 0;
    for (int32_t i = 0; i < n; i++) {
        const pk_pass *p = request[i].pass;
        if (!follows(p)) return 0;
        if (p->ask[1].follow > wanted) wanted = p->ask[1].follow;
        const int32_t depth = pk_slots_depth(&s->slots, s->sentence[request[i].sentence].tip[0]);
        if (depth > longest) longest = depth;
    }
    if (wanted < steps) steps = wanted;
    if (steps && steps > s->max.visible / n - longest) steps = s->max.visible / n - longest;
    return steps > 1 ? steps : 0;
}

pk_status pk_session_take_steps(pk_session *s, session_sentence *e, const pk_pass *p) {
    const int32_t g = e->first_ask;
    const int32_t room = s->max.path - s->count[g] + 1;
    int32_t       steps = p->ask[1].follow < s->steps ? p->ask[1].follow : s->steps;
    int32_t       last = s->slot[g];
    if (steps > room) steps = room;
    s->n_found[g] = 0;
    s->left[g] = steps;
    for (e->steps = 1; e->steps < steps; e->steps++) {
        last = pk_slots_take(&s->slots, last);
        if (last == PK_NO_SLOT) PK_FAIL(PK_NO_MEMORY, "the session has no slot left");
        s->list[s->n_list++] = last;
    }
    return PK_OK;
}

void pk_session_settle(pk_session *s, session_sentence *e, int32_t fed) {
    const int32_t g = e->first_ask, tip = e->tip[0];
    assert(fed >= 1 && fed <= e->steps && e->n_asks == 1);
    /* the ask's own slot is listed right behind its history */
    const int32_t *slot = s->list + s->first[g] + pk_slots_depth(&s->slots, tip);
    const int32_t  last = slot[fed - 1];
    for (int32_t i = e->steps; i > 0; i--)
        if (i != fed) pk_slots_drop(&s->slots, slot[i - 1]);
    s->slot[g] = last; /* what is before it is held by what follows */
    e->steps = 0;
}

void pk_session_following(pk_session *s, pk_following *out) {
    const session_mirror *up = &s->up, *down = &s->down;
    *out = (pk_following){ .n = s->rows,
                           .eos = s->config.eos,
                           .token = pk_mirror_device(up, s->token),
                           .pos = pk_mirror_device(up, s->pos),
                           .slot = pk_mirror_device(up, s->slot),
                           .count = pk_mirror_device(up, s->count),
                           .first = pk_mirror_device(up, s->first),
                           .index = pk_mirror_device(up, s->list),
                           .left = pk_mirror_device(up, s->left),
                           .n_found = pk_mirror_device(up, s->n_found),
                           .live = pk_mirror_device(up, s->live),
                           .top = pk_mirror_device(down, s->top),
                           .top_stride = s->max.top_k,
                           .log_sum = s->any_log_sum ? pk_mirror_device(down, s->log_sum) : NULL,
                           .found = pk_mirror_device(down, s->found),
                           .found_stride = s->max.path };
}
