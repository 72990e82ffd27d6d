/* viterbi_test.c - the best path is what trying all paths finds, on random small lattices of all
 * shapes: several lengths, edges that are not there, sums that tie. */
#include "decode/viterbi.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 5, WIDEST = 5, SEEDS = 20000 };

typedef struct lattice {
    pk_lattice      l;
    pk_lattice_step step[STEPS];
    float           score[STEPS][WIDEST * WIDEST];
    float           sum[(STEPS + 1) * WIDEST];
} lattice;

static uint32_t dice(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

/* of few different scores, so that sums tie; every fourth lattice lacks many edges */
static void make(lattice *t, uint32_t seed) {
    const bool sparse = seed % 4 == 0, coarse = seed % 3 != 0;
    *t = (lattice){ .l = { .n = 1 + (int32_t)dice(&seed, STEPS), .step = t->step } };
    for (int32_t s = 0, from = 1; s < t->l.n; s++) {
        pk_lattice_step *step = &t->step[s];
        const bool       ends = dice(&seed, 2);
        *step = (pk_lattice_step){ .n_from = from,
                                   .n_to = 1 + (int32_t)dice(&seed, WIDEST - 1) + ends,
                                   .score = t->score[s] };
        step->end = ends ? step->n_to - 1 : -1;
        for (int32_t i = 0; i < from * step->n_to; i++)
            t->score[s][i] = sparse && dice(&seed, 3) == 0 ? -INFINITY
                             : coarse                      ? -(float)dice(&seed, 4)
                                                           : -(float)dice(&seed, 100000) / 7777;
        from = step->n_to - ends;
    }
}

typedef struct best {
    int32_t n, choice[STEPS];
    float   score;
} best;

/* does path b come before a of the same sum? The shorter does; else the one whose last different
 * candidate is the earlier one: that is where they met */
static bool comes_first(const best *b, const best *a) {
    if (b->n != a->n) return b->n < a->n;
    for (int32_t s = b->n - 1; s >= 0; s--)
        if (b->choice[s] != a->choice[s]) return b->choice[s] < a->choice[s];
    return false;
}

/* tries all paths that go on from the candidate `at` of step s - 1 */
static void try_all(const lattice *t, best *path, int32_t s, int32_t at, float sum, best *found) {
    if (s == t->l.n) return;
    const pk_lattice_step *step = &t->step[s];
    for (int32_t j = 0; j < step->n_to; j++) {
        const float next = sum + step->score[at * step->n_to + j];
        if (next == -INFINITY) continue;
        path->choice[s] = j;
        path->n = s + 1;
        path->score = next;
        if (j != step->end)
            try_all(t, path, s + 1, j, next, found);
        else if (!found->n || next > found->score ||
                 (next == found->score && comes_first(path, found)))
            *found = *path;
    }
}

static void equals_brute_force(void **state) {
    int ended = 0, none = 0;
    (void)state;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        lattice t;
        best    path = { 0 }, want = { .score = -INFINITY }, got = { 0 };
        make(&t, seed);
        try_all(&t, &path, 0, 0, 0, &want);
        got.n = pk_viterbi(&t.l, &(pk_viterbi_scratch){ t.sum, WIDEST }, got.choice, &got.score);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.choice, want.choice, (size_t)want.n * sizeof *want.choice);
        assert_true(got.score == want.score);
        ended += want.n > 0;
        none += want.n == 0;
    }
    assert_true(ended > SEEDS / 2 && none > SEEDS / 100); /* both kinds occurred */
}

/* two candidates, lengths 1 and 2: by hand */
static void by_hand(void **state) {
    const float           first[] = { -1, -2, -9 }, second[] = { -4, -1, -1, -3 };
    const pk_lattice_step step[] = { { 1, 3, 2, first }, { 2, 2, 1, second } };
    float                 sum[9], score;
    int32_t               choice[2];
    (void)state;
    const pk_viterbi_scratch scratch = { sum, 3 };
    /* start -> 0 -> end: -1 - 1 = -2, better than -9 at once and than 1's -2 - 3 */
    assert_int_equal(pk_viterbi(&(pk_lattice){ 2, step }, &scratch, choice, &score), 2);
    assert_true(score == -2);
    assert_int_equal(choice[0], 0);
    assert_int_equal(choice[1], 1);
    /* a single step can only end at once */
    assert_int_equal(pk_viterbi(&(pk_lattice){ 1, step }, &scratch, choice, &score), 1);
    assert_true(score == -9 && choice[0] == 2);
}

static void no_numbers_are_no_edges(void **state) {
    const float           score[] = { NAN, -3 };
    const pk_lattice_step step = { 1, 2, 1, score };
    float                 sum[4], found;
    int32_t               choice[1];
    (void)state;
    assert_int_equal(
        pk_viterbi(&(pk_lattice){ 1, &step }, &(pk_viterbi_scratch){ sum, 2 }, choice, &found), 1);
    assert_true(found == -3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(no_numbers_are_no_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
