/* viz_trace_test.c - grid and graph from traces with known answers: who is certain when, and which
 * network and positions a pass has. */
#include "viz_samples.h"

#include <math.h>

#include "../../cli/viz_trace.c"

/* there are no lattices here */
void pk_viz_keep_lattice(pk_viz *v, const pk_trace_pass *pass) { (void)v, (void)pass; }
void pk_viz_free_lattice(pk_viz *v) { (void)v; }
void pk_viz_choose(pk_viz *v) { (void)v; }

static void the_grid_is_as_known(void **state) {
    static const char        letter[] = ".WRAC";
    static const char *const rows[] = { "AWRWR", "CARWW", "CCAAR", "CCCCA" };
    pk_viz                   v = sample();
    (void)state;
    assert_int_equal(v.n_passes, 4);
    for (size_t pass = 1; pass <= 4; pass++)
        for (size_t i = 0; i < 5; i++)
            if (letter[pk_viz_at(&v, pass, i)->state] != rows[pass - 1][i])
                fail_msg("pass %zu, position %zu", pass, i);
    assert_int_equal(pk_viz_at(&v, 1, 1)->best, 99);
    assert_true(fabs(pk_viz_at(&v, 1, 1)->probability - 0.5) < 1e-5);
    assert_true(fabs(pk_viz_at(&v, 1, 0)->probability - 0.9) < 1e-5); /* the final token's own */
    pk_viz_free(&v);
}

static void guesses_are_judged(void **state) {
    pk_viz v = sample();
    (void)state;
    assert_int_equal(pk_viz_at(&v, 1, 0)->guess, PK_VIZ_GUESS_PADDING);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guessed, 99);
    assert_int_equal(pk_viz_at(&v, 2, 2)->guess, PK_VIZ_GUESS_LATE);
    assert_int_equal(pk_viz_at(&v, 3, 2)->guess, PK_VIZ_GUESS_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 3, 3)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 4, 0)->guess, PK_VIZ_NO_GUESS);
    pk_viz_free(&v);
}

static void tokens_know_when_and_with_whom(void **state) {
    static const int32_t fixed[] = { 1, 2, 3, 3, 4 }, right[] = { 1, 2, 1, 3, 3 };
    static const int32_t group[] = { 0, 1, 2, 2, 3 }, of[] = { 1, 1, 2, 2, 1 };
    pk_viz               v = sample();
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(v.token[i].fixed, fixed[i]);
        assert_int_equal(v.token[i].right, right[i]);
        assert_int_equal(v.token[i].group, group[i]);
        assert_int_equal(v.token[i].of, of[i]);
    }
    assert_int_equal(v.n_groups, 4);
    pk_viz_free(&v);
}

static void edges_are_as_known(void **state) {
    static const int32_t edge[][2] = { { 0, 1 }, { 1, 3 }, { 1, 4 } };
    pk_viz               v = sample();
    (void)state;
    assert_int_equal(v.n_edges, 3);
    assert_memory_equal(v.edge, edge, sizeof edge);
    pk_viz_free(&v);
}

static void greedy_is_a_chain(void **state) {
    pk_viz v = chain(60);
    (void)state;
    assert_int_equal(v.n_edges, 59);
    for (int32_t e = 0; e < 59; e++) {
        assert_int_equal(v.edge[e][0], e);
        assert_int_equal(v.edge[e][1], e + 1);
    }
    pk_viz_free(&v);
}

/* what the edges imply is exactly what was fixed before a token became right, and none of them is
 * implied by the others: checked on random windows of guesses */
static void edges_are_a_transitive_reduction(void **state) {
    enum { N = 12 };
    (void)state;
    srand(1);
    for (int repetition = 0; repetition < 200; repetition++) {
        pk_viz v = { .n = N, .token = pk_cli_grow(NULL, N, sizeof *v.token) };
        bool   before[N][N] = { 0 }, path[N][N] = { 0 };
        for (int i = 0, pass = 1; i < N; i++) {
            pass += rand() % 2;
            v.token[i] = (pk_viz_token){ .fixed = pass, .right = 1 + rand() % pass };
        }
        find_edges(&v);
        for (int i = 0; i < N; i++)
            for (int j = i + 1; j < N; j++) before[i][j] = v.token[i].fixed < v.token[j].right;
        for (size_t e = 0; e < v.n_edges; e++) path[v.edge[e][0]][v.edge[e][1]] = true;
        for (size_t e = 0; e < v.n_edges; e++) /* no detour */
            for (int k = 0; k < N; k++)
                assert_false(before[v.edge[e][0]][k] && before[k][v.edge[e][1]]);
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) path[i][j] |= path[i][k] && path[k][j];
        assert_memory_equal(path, before, sizeof path);
        pk_viz_free(&v);
    }
}

/* whether or not the result names them */
static void language_tokens_are_left_out(void **state) {
    enum { LANGUAGE = 5 };
    static const int32_t token[] = { LANGUAGE, A, END };
    static const float   log_prob[] = { 0, -0.693147f, 0 };
    (void)state;
    for (size_t skip = 0; skip < 2; skip++) {
        pk_viz v = begin();
        PASS(&v, { 0, END, -1, 0, -1, 1 }, { 1, LANGUAGE, A, half, 0, 1 });
        PASS(&v, { 2, A, END, half, -1, 0 });
        pk_viz_finish(&v, token + skip, log_prob + skip, 3 - skip);
        assert_int_equal(v.n, 2);
        assert_int_equal(v.token[0].id, A);
        assert_true(fabs(v.token[0].probability - 0.5) < 1e-5);
        assert_int_equal(v.token[0].fixed, 1);
        assert_int_equal(v.token[1].fixed, 2);
        assert_int_equal(v.ask[1].position, 0);
        pk_viz_free(&v);
    }
}

/* the translation's second token was no hypothesis's first choice; some go on after its end */
static void beams_do_not_break_it(void **state) {
    static const int32_t token[] = { A, B, END };
    static const float   log_prob[] = { half, half, half };
    pk_viz               v = begin();
    (void)state;
    PASS(&v, { 0, START, D, half, -1, 1 });
    PASS(&v, { 1, D, B, half, -1, 1 }, { 1, A, C, half, -1, 1 });
    PASS(&v, { 2, D, C, half, -1, 1 }, { 2, B, END, half, -1, 1 });
    PASS(&v, { 3, D, C, half, -1, 1 });
    pk_viz_finish(&v, token, log_prob, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(v.token[i].fixed, i + 1);
    assert_int_equal(pk_viz_at(&v, 2, 1)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 2, 1)->best, C);
    assert_int_equal(pk_viz_at(&v, 4, 2)->state, PK_VIZ_CERTAIN);
    pk_viz_free(&v);
}

static void a_drafter_makes_nothing_certain(void **state) {
    static const int32_t fixed[] = { 2, 2, 4, 4 };
    pk_viz               v = drafted();
    (void)state;
    assert_int_equal(v.n_passes, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(v.token[i].id, i < 3 ? A + (int32_t)i : END);
        assert_int_equal(v.token[i].fixed, fixed[i]);
        assert_int_equal(v.token[i].right, fixed[i]); /* by the model's word */
        assert_int_equal(pk_viz_drafts(&v, i + 1), i % 2 == 0);
    }
    assert_int_equal(pk_viz_at(&v, 1, 0)->state, PK_VIZ_RIGHT);
    assert_true(pk_viz_at(&v, 1, 0)->probability == PK_VIZ_UNKNOWN);
    assert_true(fabs(pk_viz_at(&v, 2, 2)->probability - 0.5) < 1e-5);
    assert_int_equal(pk_viz_at(&v, 1, 1)->state, PK_VIZ_WRONG);
    assert_int_equal(pk_viz_at(&v, 1, 1)->guess, PK_VIZ_GUESS_PADDING); /* a mask says nothing */
    assert_int_equal(pk_viz_at(&v, 2, 0)->guess, PK_VIZ_GUESS_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 3, 0)->state, PK_VIZ_CERTAIN);
    assert_int_equal(pk_viz_at(&v, 3, 2)->state, PK_VIZ_RIGHT);
    pk_viz_free(&v);
}

static const char *name_of_mask(const void *names, int32_t id) {
    return id == MASK ? names : test_name(NULL, id);
}

/* a mask's name says how the model was trained; none of them is a guess */
static void masks_say_nothing_whatever_their_name(void **state) {
    static const char *const masks[] = { "<mask>", "<mask:next>", "<mask:all>", "<masked>" };
    static const int32_t     token[] = { A, B, END };
    const float              log_prob[] = { half, half, half };
    (void)state;
    for (int i = 0; i < 4; i++) {
        pk_viz v = begin();
        v.name = name_of_mask, v.names = masks[i];
        PASS_ON(&v, 1, -1, { -1, START, -1, 0, -1, 1 }, { 0, MASK, A, half, 0, 0 },
                { 1, MASK, B, half, 1, 0 });
        PASS(&v, { 0, START, A, half, -1, 1 }, { 1, A, B, half, 0, 1 }, { 2, B, END, half, 1, 1 });
        pk_viz_finish(&v, token, log_prob, 3);
        assert_int_equal(pk_viz_at(&v, 1, 1)->guess,
                         i < 3 ? PK_VIZ_GUESS_PADDING : PK_VIZ_GUESS_WRONG);
        pk_viz_free(&v);
    }
}

static void passes_know_what_they_fill(void **state) {
    static const int32_t want[][4] = { { 0, 1 }, { 0, 1, 2 }, { 2, 3 }, { 2, 3, 4 } };
    static const size_t  n[] = { 2, 3, 2, 3 };
    pk_viz               v = drafted();
    (void)state;
    for (size_t pass = 1; pass <= 4; pass++) {
        int32_t *position;
        assert_int_equal(pk_viz_filled(&v, pass, &position), n[pass - 1]);
        assert_memory_equal(position, want[pass - 1], n[pass - 1] * sizeof *position);
        free(position);
    }
    pk_viz_free(&v);
}

/* every second token from left to right, then those between them at once: hybrid-regressive */
static void masks_are_filled_for_good_by_the_last_answer(void **state) {
    static const int32_t token[] = { A, B, C, END }, fixed[] = { 3, 1, 4, 2 };
    static const float   log_prob[] = { half, half, half, half };
    pk_viz               v = begin();
    int32_t             *position;
    (void)state;
    PASS_ON(&v, 0, 1, { 1, START, B, half, -1, 1 });
    PASS_ON(&v, 0, 1, { 3, B, END, half, -1, 1 });
    PASS_ON(&v, 0, -1, { 0, MASK, A, half, -1, 0 }, { 1, B, -1, 0, 0, 0 },
            { 2, MASK, C, half, 1, 0 }, { 3, END, -1, 0, 2, 0 });
    PASS_ON(&v, 0, -1, { 0, A, -1, 0, -1, 0 }, { 1, B, -1, 0, 0, 0 }, { 2, MASK, C, half, 1, 0 });
    pk_viz_finish(&v, token, log_prob, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(v.token[i].fixed, fixed[i]);
    assert_int_equal(v.token[2].right, 3);
    assert_int_equal(pk_viz_at(&v, 3, 0)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 4, 0)->state, PK_VIZ_CERTAIN);
    assert_int_equal(pk_viz_at(&v, 3, 2)->state, PK_VIZ_RIGHT);
    assert_int_equal(pk_viz_at(&v, 4, 2)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_filled(&v, 3, &position), 2);
    assert_int_equal(position[0] + 10 * position[1], 20);
    free(position);
    pk_viz_free(&v);
}

/* a drafter's first pass is fed the language, too */
static void language_tokens_are_left_out_before_masks(void **state) {
    enum { LANGUAGE = 5 };
    static const int32_t token[] = { LANGUAGE, A, END };
    (void)state;
    for (size_t skip = 0; skip < 2; skip++) {
        pk_viz v = begin();
        PASS_ON(&v, 1, -1, { -1, START, -1, 0, -1, 1 }, { 0, LANGUAGE, -1, 0, 0, 1 },
                { 1, MASK, A, half, 1, 0 });
        PASS(&v, { 0, START, -1, 0, -1, 1 }, { 1, LANGUAGE, A, half, 0, 1 },
             { 2, A, END, half, 1, 1 });
        pk_viz_finish(&v, token + skip, NULL, 3 - skip);
        assert_int_equal(v.n, 2);
        for (int i = 0; i < 2; i++) assert_int_equal(v.token[i].fixed, 2);
        assert_int_equal(pk_viz_at(&v, 1, 0)->state, PK_VIZ_RIGHT);
        pk_viz_free(&v);
    }
}

/* Mask-Predict: a pass that asks for the length alone comes first, and fills nothing */
static void a_pass_may_fill_nothing(void **state) {
    enum { LANGUAGE = 5 };
    static const int32_t token[] = { LANGUAGE, A, B };
    pk_viz               v = begin();
    int32_t             *position;
    (void)state;
    PASS(&v, { 0, MASK, -1, 0, -1, 0 });
    PASS_ON(&v, 0, -1, { 0, LANGUAGE, -1, 0, -1, 0 }, { 1, MASK, A, half, 0, 0 },
            { 2, MASK, C, half, 1, 0 });
    PASS_ON(&v, 0, -1, { 0, LANGUAGE, -1, 0, -1, 0 }, { 1, A, -1, 0, 0, 0 },
            { 2, MASK, B, half, 1, 0 });
    pk_viz_finish(&v, token, NULL, 3);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.token[0].id, A);
    assert_int_equal(v.token[0].fixed, 2);
    assert_int_equal(v.token[1].fixed, 3);
    assert_int_equal(pk_viz_at(&v, 2, 1)->state, PK_VIZ_WRONG);
    assert_int_equal(pk_viz_filled(&v, 1, &position), 0);
    free(position);
    assert_int_equal(pk_viz_filled(&v, 3, &position), 1);
    assert_int_equal(position[0], 1);
    free(position);
    pk_viz_free(&v);
}

static void probes_and_other_sentences_are_no_passes(void **state) {
    const pk_trace_ask ask = {
        .token = START, .best = A, .log_prob = half, .parent = -1, .fed_at = -1
    };
    const pk_trace_pass probe = { .probe = 1, .n = 1, .ask = &ask };
    const pk_trace_pass second = { .sentence = 1, .n = 1, .ask = &ask };
    pk_viz              v = begin();
    (void)state;
    pk_viz_trace(&v, &probe);
    assert_int_equal(v.n_passes, 0);
    pk_viz_trace(&v, &second);
    assert_int_equal(v.n_passes, 0);
    assert_int_equal(v.sentences, 2);
    pk_viz_finish(&v, NULL, NULL, 0);
    pk_viz_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grid_is_as_known),
        cmocka_unit_test(guesses_are_judged),
        cmocka_unit_test(tokens_know_when_and_with_whom),
        cmocka_unit_test(edges_are_as_known),
        cmocka_unit_test(greedy_is_a_chain),
        cmocka_unit_test(edges_are_a_transitive_reduction),
        cmocka_unit_test(language_tokens_are_left_out),
        cmocka_unit_test(beams_do_not_break_it),
        cmocka_unit_test(a_drafter_makes_nothing_certain),
        cmocka_unit_test(masks_say_nothing_whatever_their_name),
        cmocka_unit_test(passes_know_what_they_fill),
        cmocka_unit_test(masks_are_filled_for_good_by_the_last_answer),
        cmocka_unit_test(language_tokens_are_left_out_before_masks),
        cmocka_unit_test(a_pass_may_fill_nothing),
        cmocka_unit_test(probes_and_other_sentences_are_no_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
