/* edging_test.c - passes over lattices: a step's scores are what asks that see themselves alone are
 * answered, and do not depend on what else is in the pass, on portions or on threads. */
#include "session_world.h"

#include <math.h>

enum { STEPS = 5, WIDEST = 9, ROOM = STEPS * WIDEST * WIDEST };

typedef struct lattice {
    pk_edge_step step[STEPS];
    int32_t      token[STEPS + 1][WIDEST];
    float        score[ROOM];
} lattice;

/* STEPS steps of several widths, the first from the start symbol; ends among the last tokens */
static void make(lattice *l, uint64_t seed) {
    static const int32_t width[] = { 1, WIDEST, 4, 7, WIDEST, 3 };
    memset(l, 0, sizeof *l);
    for (int32_t s = 0; s <= STEPS; s++)
        for (int32_t i = 0; i < width[s]; i++)
            l->token[s][i] = s == 0 ? PK_NO_TOKEN : (int32_t)(fabsf(tiny_random(&seed)) * 39.9f);
    for (int32_t s = 0; s < STEPS; s++)
        l->step[s] =
            (pk_edge_step){ s, width[s], width[s + 1], l->token[s], l->token[s + 1], NULL };
}

/* the world's session once more, with room for lattices: so many rows at a time */
static void open_lattices(world *w, const kind *k, int32_t rows) {
    pk_session_limits max = limits;
    const pk_config   c = tiny_config();
    memset(w, 0, sizeof *w);
    w->kind = k;
    max.edge_rows = rows;
    max.edge_tokens = WIDEST;
    ASSERT_OK(tiny_network_open(&c, k->type, 7, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &max, &w->s));
}

static pk_pass pass_of(lattice *l, bool whole) {
    return (pk_pass){ .n_edges = STEPS, .edges = l->step, .whole_vocabulary = whole };
}

/* keeps the scores, which the session has until the next pass */
static void copy_scores(lattice *l) {
    float *to = l->score;
    for (int32_t s = 0; s < STEPS; s++) {
        const int32_t n = l->step[s].n_from * l->step[s].n_to;
        memcpy(to, l->step[s].score, (size_t)n * sizeof *to);
        l->step[s].score = to;
        to += n;
    }
}

/* lattices [first, first + n) of the sentences in one pass */
static void score(world *w, const int32_t *name, lattice *l, int first, int n, bool whole) {
    pk_pass    pass[3];
    pk_request request[3] = { 0 };
    for (int i = 0; i < n; i++) {
        pass[i] = pass_of(&l[first + i], whole);
        request[i] = (pk_request){ name[first + i], &pass[i] };
    }
    ASSERT_OK(pk_session_decode(w->s, request, n));
    for (int i = 0; i < n; i++) copy_scores(&l[first + i]);
    for (int i = 0; i < n; i++) keep_as_it_was(w, name[first + i]);
}

/* ---- laws ---- */

static void alone_as_with_others(void **state) {
    static const int32_t rows[] = { 200, WIDEST, 17 }; /* all at once; one step; a few */
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        static lattice first[3], other[3];
        for (int whole = 0; whole < 2; whole++)
            for (int r = 0; r < 3; r++) {
                world   w;
                int32_t name[3];
                open_lattices(&w, &kinds[k], rows[r]);
                ASSERT_OK(pk_session_encode(w.s, sources, 3, name));
                lattice *l = r ? other : first;
                for (int i = 0; i < 3; i++) make(&l[i], (uint64_t)i);
                score(&w, name, l, 0, 3, whole);
                assert_true(l[2].score[0] < 0 && isfinite(l[2].score[0]));
                for (int i = 0; i < 3; i++) {
                    lattice alone[3];
                    make(&alone[i], (uint64_t)i);
                    score(&w, name, alone, i, 1, whole);
                    assert_memory_equal(alone[i].score, l[i].score, sizeof l[i].score);
                    assert_memory_equal(first[i].score, l[i].score, sizeof l[i].score);
                }
                for (int i = 0; i < 3; i++) pk_session_forget(w.s, name[i]);
                close_world(&w);
            }
    }
}

static void any_number_of_threads(void **state) {
    static lattice l[3];
    (void)state;
    for (int type = 0; type < 2; type++) {
        float one[ROOM];
        for (int32_t threads = 1; threads <= 3; threads++) {
            const kind k = { "cpu", type ? PK_I8 : PK_F32, threads, PK_F32 };
            world      w;
            int32_t    name[1];
            open_lattices(&w, &k, 200);
            ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
            make(&l[0], 5);
            score(&w, name, l, 0, 1, true);
            if (threads == 1) memcpy(one, l[0].score, sizeof one);
            assert_memory_equal(one, l[0].score, sizeof one);
            pk_session_forget(w.s, name[0]);
            close_world(&w);
        }
    }
}

/* the same by asks: each input of a step with an empty history, and its tokens as targets */
static void as_asks_are_answered(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        static lattice l[1];
        world          w;
        int32_t        name[1];
        /* I8 keeps keys and values in 16 bits, which a row that sees itself alone need not do; then
         * an activation may fall to another integer */
        const float room = kinds[k].type == PK_I8          ? 0.1f
                           : kinds[k].arithmetic != PK_F32 ? 0.05f
                                                           : 2e-5f;
        open_lattices(&w, &kinds[k], 200);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
        make(&l[0], 9);
        score(&w, name, l, 0, 1, true);
        for (int32_t s = 0; s < STEPS; s++)
            for (int32_t i = 0; i < l[0].step[s].n_from; i++) {
                const pk_edge_step *e = &l[0].step[s];
                pk_pass             p = new_pass(&w);
                pk_ask_add(&p, (pk_ask){ .token = e->from[i],
                                         .pos = e->pos,
                                         .logp = true,
                                         .n_target = e->n_to,
                                         .target = e->to });
                ASSERT_OK(pk_session_decode(w.s, &(pk_request){ name[0], &p }, 1));
                for (int32_t j = 0; j < e->n_to; j++)
                    assert_true(fabsf(p.answer[1].target_logp[j] - e->score[i * e->n_to + j]) <=
                                room);
                keep_as_it_was(&w, name[0]);
            }
        pk_session_forget(w.s, name[0]);
        close_world(&w);
    }
}

/* over a step's own tokens, the scores are the others less one number for each row */
static void the_denominator(void **state) {
    world          w;
    int32_t        name[1];
    static lattice whole[1], own[1];
    (void)state;
    open_lattices(&w, &kinds[1], 200);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
    make(&whole[0], 3), make(&own[0], 3);
    score(&w, name, whole, 0, 1, true);
    score(&w, name, own, 0, 1, false);
    for (int32_t s = 0; s < STEPS; s++)
        for (int32_t i = 0; i < own[0].step[s].n_from; i++) {
            const int32_t n = own[0].step[s].n_to;
            const float  *a = whole[0].step[s].score + i * n, *b = own[0].step[s].score + i * n;
            double        sum = 0;
            for (int32_t j = 0; j < n; j++) {
                assert_true(fabsf((a[j] - b[j]) - (a[0] - b[0])) < 1e-5f && a[j] <= b[j] + 1e-5f);
                sum += exp((double)b[j]);
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
    pk_session_forget(w.s, name[0]);
    close_world(&w);
}

/* ---- what is refused ---- */

static void refuse(world *w, int32_t name, lattice *l, const pk_pass *pass) {
    pk_pass p = pass ? *pass : pass_of(l, true);
    ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(w->s, &(pk_request){ name, &p }, 1));
    make(l, 1);
}

static void out_of_range(void **state) {
    world          w;
    int32_t        name[1];
    static lattice l;
    pk_ask         ask[2] = { { 0 } };
    (void)state;
    open_lattices(&w, &kinds[0], 200);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
    make(&l, 1);
    l.token[1][2] = 40;
    refuse(&w, name[0], &l, NULL);
    l.token[2][1] = -1; /* start symbols may be read, not said */
    refuse(&w, name[0], &l, NULL);
    l.step[1].pos = 1000;
    refuse(&w, name[0], &l, NULL);
    l.step[1].n_to = WIDEST + 1;
    refuse(&w, name[0], &l, NULL);
    pk_pass both = pass_of(&l, true);
    both.n = 1;
    both.ask = ask;
    refuse(&w, name[0], &l, &both);
    pk_session_forget(w.s, name[0]);
    close_world(&w);
    open_world(&w, &kinds[0]); /* a session that has no room for lattices */
    ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
    refuse(&w, name[0], &l, NULL);
    pk_session_forget(w.s, name[0]);
    close_world(&w);
}

/* sentences whose encoding was begun, in two goes, and not waited for: the pass waits */
static void behind_an_encoding(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        static lattice waited[3], begun[3];
        world          w;
        int32_t        name[3];
        open_lattices(&w, &kinds[k], 200);
        for (int i = 0; i < 3; i++) make(&waited[i], (uint64_t)i), make(&begun[i], (uint64_t)i);
        ASSERT_OK(pk_session_encode(w.s, sources, 3, name));
        score(&w, name, waited, 0, 3, true);
        for (int i = 0; i < 3; i++) pk_session_forget(w.s, name[i]);
        ASSERT_OK(pk_session_encode_begin(w.s, sources, 1, name));
        ASSERT_OK(pk_session_encode_begin(w.s, sources + 1, 2, name + 1));
        score(&w, name, begun, 0, 3, true);
        ASSERT_OK(pk_session_encode_end(w.s)); /* nothing is left to wait for */
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(begun[i].score, waited[i].score, sizeof waited[i].score);
            pk_session_forget(w.s, name[i]);
        }
        close_world(&w);
    }
}

/* several portions need memory in the pass; one that gets none is over, and the next one works */
static void no_memory_for_portions(void **state) {
    world          w;
    int32_t        name[1];
    static lattice l[2];
    (void)state;
    open_lattices(&w, &kinds[0], WIDEST);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
    make(&l[0], 1), make(&l[1], 1);
    pk_pass p = pass_of(&l[0], true);
    pk_memory_fail_after(1);
    ASSERT_STATUS(PK_NO_MEMORY, pk_session_decode(w.s, &(pk_request){ name[0], &p }, 1));
    pk_memory_fail_after(0);
    score(&w, name, &l[0], 0, 1, true);
    const int64_t taken = pk_memory_count();
    score(&w, name, &l[1], 0, 1, true);
    assert_int_equal(pk_memory_count(), taken); /* it stays for the next one */
    assert_memory_equal(l[0].score, l[1].score, sizeof l[0].score);
    pk_session_forget(w.s, name[0]);
    close_world(&w);
}

/* one score that is no finite number, wherever it is: the model is damaged */
static void not_finite(void **state) {
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    world              w;
    int32_t            name[1];
    static lattice     l;
    (void)state;
    open_lattices(&w, &kinds[1], 200);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, name));
    make(&l, 1);
    for (int32_t s = 1; s <= STEPS; s++)
        for (int i = 0; i < 3; i++) {
            float      *bias = (float *)(uintptr_t)w.tiny.net.output_bias.data + l.token[s][1];
            const float was = *bias;
            pk_pass     p = pass_of(&l, false);
            *bias = bad[i];
            ASSERT_STATUS(PK_FORMAT, pk_session_decode(w.s, &(pk_request){ name[0], &p }, 1));
            *bias = was;
        }
    score(&w, name, &l, 0, 1, false);
    pk_session_forget(w.s, name[0]);
    close_world(&w);
}

static pk_status open_and_close(void *user) {
    const world      *w = user;
    pk_session       *s;
    pk_session_limits max = limits;
    max.edge_rows = 50;
    max.edge_tokens = WIDEST;
    PK_TRY(pk_session_open(&w->tiny.net, &w->on, &max, &s));
    pk_session_close(s);
    return PK_OK;
}

static void every_allocation(void **state) {
    world w;
    (void)state;
    open_world(&w, &kinds[0]);
    assert_true(check_every_allocation(open_and_close, &w) > 10);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_as_with_others),   cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(as_asks_are_answered),   cmocka_unit_test(the_denominator),
        cmocka_unit_test(behind_an_encoding),     cmocka_unit_test(out_of_range),
        cmocka_unit_test(no_memory_for_portions), cmocka_unit_test(not_finite),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
