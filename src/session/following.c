/* following.c - asks that go on by themselves: the device feeds each row its own best token,
 * step after step; the host waits once, until all are finished. Two asks that are a block of two
 * do so as pairs. Rows of other asks stay as they are, and are computed again with the same
 * result.
 *
 * The slots of all steps are taken beforehand, one behind the other, and listed behind the ask's
 * history: each step sees one or two more of them. What was not used is given back afterwards. */
#include "session/session_parts.h"

/* Rows beside those that follow are computed with each step. Of more than so many, a long prefix say, the
 * first step is made by itself. */
enum { MOST_BESIDE = 8 };

static bool may_follow(const pk_ask *a) {
    return a->follow > 1 && a->top_k == 1 && a->group == 0 && a->n_target == 0 && !a->attention;
}

/* how many asks of a pass follow, which are its last: none, one, or a block of two */
static int32_t width_of(const pk_pass *p) {
    const int32_t n = p->n, width = n > 0 && pk_ask_continues(p, n) ? 2 : 1;
    if (n < width || n - width > MOST_BESIDE || !may_follow(&p->ask[n])) return 0;
    if (width == 2 && (pk_ask_continues(p, n - 1) || !may_follow(&p->ask[n - 1]))) return 0;
    return width;
}

/* an ensemble's log-probabilities are put together on the host */
static bool can_follow(const pk_session *s) { return s->on->follow && s->n_members == 1; }

bool pk_session_follows(const pk_session *all, const pk_pass *pass) {
    return can_follow(pk_session_model_part(all, pass->model)) && width_of(pass) > 0;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

static int32_t stride_of(const pk_ask *a, int32_t width) { return a->stride ? a->stride : width; }

/* steps that the last asks may take: as they ask for, and as there are positions */
static int32_t steps_of(const pk_session *s, const pk_pass *p, int32_t width) {
    int32_t steps = INT32_MAX;
    for (int32_t i = p->n - width + 1; i <= p->n; i++) {
        const pk_ask *a = &p->ask[i];
        const int32_t left = s->config.max_target - 1 - a->pos;
        steps = smaller(steps, smaller(a->follow, left / stride_of(a, width) + 1));
    }
    return steps;
}

/* asks of all requests that follow; *wanted: most steps that any of them may take */
static int32_t followers_of(const pk_session *s, const pk_request *request, int32_t n,
                            int32_t *wanted) {
    int32_t width = 0;
    for (int32_t i = 0; i < n; i++) {
        const pk_pass *p = request[i].pass;
        const int32_t  one = width_of(p), steps = one ? steps_of(s, p, one) : 0;
        if (steps > *wanted) *wanted = steps;
        width += one;
    }
    return width;
}

int32_t pk_session_steps(const pk_session *s, const pk_request *request, int32_t n) {
    int32_t wanted = 0;
    int64_t slots = s->slots.n_free, listed = s->max.visible; /* what is left for further steps */
    if (!can_follow(s)) return 0;
    const int32_t width = followers_of(s, request, n, &wanted);
    if (width == 0) return 0;
    for (int32_t i = 0; i < n; i++) {
        slots -= request[i].pass->n;
        listed -= pk_session_visible(s, &request[i]);
    }
    const int64_t further = (slots < listed ? slots : listed) / width;
    const int32_t steps = further + 1 < wanted ? (int32_t)further + 1 : wanted;
    return steps > 1 ? steps : 0;
}

/* the sentence's last asks as the device follows them; question: the first that is about them */
static void set_followers(pk_session *s, const session_sentence *e, const pk_pass *p,
                          int32_t question, int32_t steps) {
    for (int32_t i = 0; i < e->width; i++) {
        const pk_ask *a = &p->ask[p->n - e->width + 1 + i];
        const int32_t row = pk_session_row(s, e, p->n - e->width + 1 + i);
        s->left[row] = steps;
        s->follower[row] =
            (pk_follower){ .question = question + i,
                           .partner = e->width == 1 ? 0 : 1 - 2 * i,
                           .stride = stride_of(a, e->width),
                           .found = s->n_following * s->max.path + i * (s->max.path / 2),
                           .log_sum = a->logp };
    }
    s->n_following++;
    s->n_followers += e->width;
}

pk_status pk_session_take_steps(pk_session *s, session_sentence *e, const pk_pass *p,
                                int32_t question) {
    const int32_t width = width_of(p);
    if (width == 0) return PK_OK;
    const int32_t row = pk_session_row(s, e, p->n);
    const int32_t room = (s->max.path - s->count[row]) / width + 1;
    const int32_t steps = smaller(smaller(steps_of(s, p, width), s->steps), room);
    int32_t       last = s->slot[row];
    e->width = width;
    e->own = s->n_list - width; /* its list is the last one */
    set_followers(s, e, p, question - width, steps);
    for (e->steps = width; e->steps < steps * width; e->steps++) {
        last = pk_slots_take(&s->slots, last);
        if (last == PK_NO_SLOT) PK_FAIL(PK_NO_MEMORY, "the session has no slot left");
        s->list[s->n_list++] = last;
    }
    return PK_OK;
}

void pk_session_settle(pk_session *s, session_sentence *e, int32_t fed) {
    const int32_t  first = (fed - 1) * e->width, end = fed * e->width;
    const int32_t *slot = s->list + e->own;
    int32_t       *tip = s->slot + pk_session_row(s, e, e->n_asks - e->width + 1);
    assert(fed >= 1 && end <= e->steps && e->n_asks >= e->width);
    for (int32_t i = e->steps; i > 0; i--)
        if (i <= first || i > end) pk_slots_drop(&s->slots, slot[i - 1]);
    /* what is before these is held by what follows */
    for (int32_t i = 0; i < e->width; i++) tip[i] = slot[first + i];
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
                           .follower = pk_mirror_device(up, s->follower),
                           .left = pk_mirror_device(up, s->left),
                           .n_found = pk_mirror_device(up, s->n_found),
                           .live = pk_mirror_device(up, s->live),
                           .top = pk_mirror_device(down, s->top),
                           .top_stride = s->max.top_k,
                           .log_sum = pk_mirror_device(down, s->log_sum),
                           .found = pk_mirror_device(down, s->found) };
}
