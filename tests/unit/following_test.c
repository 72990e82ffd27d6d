/* following_test.c - asks that feed their own best tokens: with any stride, behind a prefix, in
 * pairs, and beside asks that do not, they find what the same steps find one by one. On random
 * networks, for every backend and type; "equal" is bitwise. */
#include "session_world.h"

enum { ALL = 9 }; /* steps by hand */

typedef struct start { /* the first asks of a sentence that follows */
    int32_t n_prefix, width, token[2], pos[2], stride, follow;
    bool    logp;
} start;

static const start starts[] = {
    { 0, 1, { PK_NO_TOKEN, 0 }, { 0, 0 }, 0, 5, true },
    { 0, 1, { PK_NO_TOKEN, 0 }, { 0, 0 }, 3, 7, true },
    { 0, 2, { 7, 31 }, { 0, 1 }, 0, 6, true },
    { 0, 2, { 7, 31 }, { 3, 0 }, 4, 4, false },
    { 3, 1, { 22, 0 }, { 3, 0 }, 2, 6, false },
    { 2, 2, { 22, 5 }, { 2, 3 }, 0, 5, true },
};
enum { N_STARTS = sizeof starts / sizeof *starts };

typedef struct steps { /* what each step found, for each of its asks */
    pk_candidate found[2][ALL];
    int32_t      n;
} steps;

static int32_t stride_of(const start *a) { return a->stride ? a->stride : a->width; }

/* the asks of one step; the first one has the prefix before it */
static void add_asks(pk_pass *p, const start *a, int32_t step, const int32_t *token, bool follow) {
    int32_t at = 0;
    for (int32_t i = 0; step == 0 && i < a->n_prefix; i++)
        at = pk_ask_add(p, (pk_ask){ .token = words[i], .pos = i, .parent = at });
    for (int32_t i = 0; i < a->width; i++)
        at = pk_ask_add(p, (pk_ask){ .token = token[i],
                                     .pos = a->pos[i] + step * stride_of(a),
                                     .parent = at,
                                     .block = a->width == 2,
                                     .top_k = 1,
                                     .logp = a->logp,
                                     .follow = follow ? a->follow : 0,
                                     .stride = a->stride });
}

/* one step by hand; false when it found the end */
static bool take_step(world *w, int32_t id, const start *a, steps *out) {
    pk_pass p = new_pass(w);
    int32_t token[2];
    bool    goes_on = true;
    for (int32_t i = 0; i < a->width; i++)
        token[i] = out->n ? out->found[i][out->n - 1].token : a->token[i];
    add_asks(&p, a, out->n, token, false);
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ id, &p }, 1));
    for (int32_t i = 0; i < a->width; i++) {
        out->found[i][out->n] = w->answer[p.n - a->width + 1 + i].top[0];
        goes_on = goes_on && out->found[i][out->n].token != w->s->config.eos;
    }
    keep_and_commit(w, id, p.n);
    out->n++;
    return goes_on;
}

static void by_hand(world *w, const pk_sentence_tokens *text, const start *a, steps *out) {
    int32_t id;
    out->n = 0;
    ASSERT_OK(pk_session_encode(w->s, text, 1, &id));
    while (out->n < ALL && take_step(w, id, a, out)) continue;
    pk_session_forget(w->s, id);
}

/* as far as it would go alone, and the same */
static void assert_found(const start *a, const steps *want, const pk_pass *p) {
    const int32_t n = want->n < a->follow ? want->n : a->follow;
    for (int32_t i = 0; i < a->width; i++) {
        const pk_answer *x = &p->answer[p->n - a->width + 1 + i];
        assert_int_equal(x->n_found, n);
        assert_memory_equal(x->found, want->found[i], (size_t)n * sizeof *x->found);
    }
}

/* what was fed is remembered: the next step is the one by hand */
static void assert_goes_on(world *w, int32_t id, const start *a, const steps *want) {
    steps next = *want;
    if (want->n <= a->follow) return;
    next.n = a->follow;
    take_step(w, id, a, &next);
    for (int32_t i = 0; i < a->width; i++)
        assert_memory_equal(&next.found[i][a->follow], &want->found[i][a->follow],
                            sizeof **want->found);
}

static void open_following(world *w, const kind *k) {
    open_world(w, k);
    w->on.follow = 8;
}

static void following_is_the_steps_one_by_one(void **state) {
    int32_t went_on = 0;
    (void)state;
    for (int k = 0; k < n_kinds; k++)
        for (int j = 0; j < N_STARTS; j++) {
            const start *a = &starts[j];
            world        w;
            steps        want;
            int32_t      id;
            open_following(&w, &kinds[k]);
            by_hand(&w, sources, a, &want);
            ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
            pk_pass p = new_pass(&w);
            add_asks(&p, a, 0, a->token, true);
            ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
            assert_found(a, &want, &p);
            keep_and_commit(&w, id, p.n);
            assert_goes_on(&w, id, a, &want);
            went_on += want.n > a->follow;
            pk_session_forget(w.s, id);
            close_world(&w); /* no slot of an untaken step is lost */
        }
    assert_true(went_on > n_kinds); /* not all end early */
}

/* ---- beside asks that do not follow ---- */

enum { N = 4 };

typedef struct crowd { /* sentences of one pass: the first two follow, the others do not */
    pk_ask     ask[N][9];
    pk_answer  answer[N][9];
    pk_pass    pass[N];
    pk_request request[N];
} crowd;

static const int32_t targets[] = { 4, 17 };

/* a chain that reports where it looked and what tokens would cost; and a plain ask for the best two */
static void add_others(crowd *c) {
    for (int32_t i = 0, at = 0; i < 3; i++)
        at = pk_ask_add(&c->pass[2], (pk_ask){ .token = words[i],
                                               .pos = i,
                                               .parent = at,
                                               .top_k = 2,
                                               .logp = true,
                                               .attention = true,
                                               .target = targets,
                                               .n_target = i });
    pk_ask_add(&c->pass[3], (pk_ask){ .token = 12, .top_k = 2 });
}

static void begin_crowd(world *w, crowd *c) {
    for (int i = 0; i < N; i++) {
        c->pass[i] = (pk_pass){ .room = 8, .ask = c->ask[i], .answer = c->answer[i] };
        c->request[i].pass = &c->pass[i];
        ASSERT_OK(pk_session_encode(w->s, &sources[i % 3], 1, &c->request[i].sentence));
    }
}

static void forget_crowd(world *w, const crowd *c) {
    for (int i = 0; i < N; i++) pk_session_forget(w->s, c->request[i].sentence);
}

typedef struct others { /* their answers, copied */
    pk_candidate top[4][2];
    float        target[3], attention[3][7];
} others;

static void read_others(const crowd *c, others *out) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++) {
        const pk_answer *x = &c->answer[2][i + 1];
        memcpy(out->top[i], x->top, sizeof out->top[i]);
        memcpy(out->attention[i], x->attention, 6 * sizeof **out->attention);
        memcpy(out->target + (i > 1), x->target_logp, (size_t)i * sizeof *out->target);
    }
    memcpy(out->top[3], c->answer[3][1].top, sizeof out->top[3]);
}

/* the others as they answer where nobody follows */
static void ask_others(world *w, others *out) {
    crowd c;
    begin_crowd(w, &c);
    add_others(&c);
    ASSERT_OK(pk_session_decode(w->s, c.request + 2, 2));
    read_others(&c, out);
    forget_crowd(w, &c);
}

/* a pass of all four; the order of sentences counts for nothing */
static void check_crowd(world *w, const start *const *a, const steps *want, const others *rest,
                        bool turned) {
    crowd      c;
    others     got;
    pk_request request[N];
    begin_crowd(w, &c);
    for (int i = 0; i < 2; i++) add_asks(&c.pass[i], a[i], 0, a[i]->token, true);
    add_others(&c);
    for (int i = 0; i < N; i++) request[i] = c.request[turned ? N - 1 - i : i];
    ASSERT_OK(pk_session_decode(w->s, request, N));
    read_others(&c, &got);
    assert_memory_equal(&got, rest, sizeof got);
    for (int i = 0; i < 2; i++) assert_found(a[i], &want[i], &c.pass[i]);
    for (int i = 0; i < N; i++) keep_and_commit(w, c.request[i].sentence, c.pass[i].n);
    for (int i = 0; i < 2; i++) assert_goes_on(w, c.request[i].sentence, a[i], &want[i]);
    forget_crowd(w, &c);
}

static void others_do_not_stop_those_that_follow(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++)
        for (int j = 0; j < N_STARTS; j++) {
            const start *const both[] = { &starts[j], &starts[(j + 2) % N_STARTS] };
            world              w;
            steps              want[2];
            others             rest;
            open_following(&w, &kinds[k]);
            for (int i = 0; i < 2; i++) by_hand(&w, &sources[i], both[i], &want[i]);
            ask_others(&w, &rest);
            check_crowd(&w, both, want, &rest, false);
            check_crowd(&w, both, want, &rest, true);
            close_world(&w);
        }
}

/* ---- where they stop ---- */

/* either token of a pair may be the end */
static void a_pair_ends_with_either_token(void **state) {
    start long_one = starts[2];
    (void)state;
    long_one.follow = ALL;
    for (int k = 0; k < n_kinds; k++)
        for (int side = 0; side < 2; side++) {
            world   w;
            steps   want;
            int32_t id;
            open_following(&w, &kinds[k]);
            w.s->config.eos = -5;
            by_hand(&w, sources, &long_one, &want);
            assert_int_equal(want.n, ALL);
            w.s->config.eos = want.found[side][2].token;
            by_hand(&w, sources, &long_one, &want);
            assert_in_range(want.n, 1, 3);
            ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
            pk_pass p = new_pass(&w);
            add_asks(&p, &long_one, 0, long_one.token, true);
            ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
            assert_found(&long_one, &want, &p);
            pk_session_forget(w.s, id);
            close_world(&w);
        }
}

static int32_t steps_found(pk_session *s, const start *a) {
    pk_ask    ask[9];
    pk_answer answer[9];
    pk_pass   p = { .room = 8, .ask = ask, .answer = answer };
    int32_t   id;
    s->config.eos = -5;
    ASSERT_OK(pk_session_encode(s, sources, 1, &id));
    add_asks(&p, a, 0, a->token, true);
    ASSERT_OK(pk_session_decode(s, &(pk_request){ id, &p }, 1));
    const int32_t n = answer[p.n].n_found;
    pk_session_forget(s, id);
    return n;
}

/* positions, slots and lists end: then there are fewer steps, and no failure */
static void steps_end_where_there_is_no_more(void **state) {
    static const start late = { 0, 1, { 7, 0 }, { 40, 0 }, 3, 20, true };
    static const start late_pair = { 0, 2, { 7, 9 }, { 0, 41 }, 0, 20, true };
    static const start pair = { 1, 2, { 7, 9 }, { 1, 2 }, 0, 20, true };
    world              w;
    (void)state;
    open_following(&w, &kinds[0]);
    assert_int_equal(steps_found(w.s, &late), 3);      /* 40, 43, 46 of 48 */
    assert_int_equal(steps_found(w.s, &late_pair), 4); /* 41, 43, 45, 47 */
    for (int i = 0; i < 3; i++) {
        pk_session_limits few = limits;
        pk_session       *s;
        *(i == 0 ? &few.slots : i == 1 ? &few.path : &few.visible) = 10;
        ASSERT_OK(pk_session_open(&w.tiny.net, &w.on, &few, &s));
        /* a list of one and a list of three; what is asked may be counted as more than it is */
        assert_int_equal(steps_found(s, &pair), i == 2 ? 3 : 4);
        assert_int_equal(pk_session_free_slots(s), few.slots);
        pk_session_close(s);
    }
    close_world(&w);
}

/* three in a block, one of two, behind many: they answer as if nobody had asked to follow */
static void other_asks_do_not_follow(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_following(&w, &kinds[0]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    for (int32_t n = 2; n <= 3; n++) {
        pk_pass p = new_pass(&w);
        for (int32_t i = 0; i < n; i++)
            pk_ask_add(&p, (pk_ask){ .token = 4 + i,
                                     .pos = i,
                                     .parent = i,
                                     .block = 1,
                                     .top_k = 1,
                                     .follow = n == 2 && i == 0 ? 0 : 4 });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        for (int32_t i = 1; i <= n; i++)
            assert_true(p.answer[i].n_found == 0 && p.answer[i].top[0].token >= 0);
        keep_as_it_was(&w, id);
    }
    /* behind a long chain the first step is made by itself: its rows would be computed with each */
    for (int32_t n = 1; n <= 12; n++) {
        pk_pass p = new_pass(&w);
        for (int32_t i = 0; i < n; i++)
            pk_ask_add(&p, (pk_ask){ .token = 4 + i,
                                     .pos = i,
                                     .parent = i,
                                     .top_k = i == n - 1,
                                     .follow = i == n - 1 ? 4 : 0 });
        assert_int_equal(pk_session_follows(w.s, &p), n <= 9);
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        assert_int_equal(p.answer[n].n_found > 0, n <= 9);
        if (n > 9) assert_true(p.answer[n].top[0].token >= 0);
        keep_as_it_was(&w, id);
    }
    for (int32_t n = 8; n <= 9; n++) { /* so many beside a block of two */
        pk_pass p = new_pass(&w);
        for (int32_t i = 0; i < n + 2; i++)
            pk_ask_add(&p, (pk_ask){ .token = 4 + i,
                                     .pos = i,
                                     .parent = i,
                                     .block = i >= n,
                                     .top_k = i >= n,
                                     .follow = i >= n ? 4 : 0 });
        assert_int_equal(pk_session_follows(w.s, &p), n == 8);
    }
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1, .follow = 4, .stride = -1 });
    ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    pk_session_forget(w.s, id);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(following_is_the_steps_one_by_one),
        cmocka_unit_test(others_do_not_stop_those_that_follow),
        cmocka_unit_test(a_pair_ends_with_either_token),
        cmocka_unit_test(steps_end_where_there_is_no_more),
        cmocka_unit_test(other_asks_do_not_follow),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
