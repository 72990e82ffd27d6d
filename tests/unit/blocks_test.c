/* blocks_test.c - asks that see each other: a block sees all of itself and what its first ask
 * follows, and nothing else. On random networks, for every backend and type; "equal" is bitwise
 * unless it says otherwise. */
#include "session_world.h"

#include <math.h>

enum { N = 4, TOP = 2 }; /* asks of a block; best tokens of each */

static const int32_t left[N] = { 12, 30, 4, 18 }, right[N] = { 9, 30, 5, 33 };

/* adds a block behind `parent`, its positions from pos on; returns its last ask */
static int32_t add_block(pk_pass *p, int32_t hypothesis, int32_t block, const int32_t *token,
                         int32_t n, int32_t pos, int32_t parent) {
    for (int32_t i = 0; i < n; i++)
        parent = pk_ask_add(p, (pk_ask){ .hypothesis = hypothesis,
                                         .token = token[i],
                                         .pos = pos + i,
                                         .parent = parent,
                                         .block = block,
                                         .top_k = TOP,
                                         .logp = true });
    return parent;
}

/* the answers of n asks from `first` on */
static void read_answers(const world *w, int32_t first, int32_t n, pk_candidate *out) {
    for (int32_t i = 0; i < n; i++)
        memcpy(out + TOP * i, w->answer[first + i].top, TOP * sizeof *out);
}

static void run(world *w, int32_t id, pk_pass *p) {
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ id, p }, 1));
}

/* a block alone in its pass, on top of the sentence's one hypothesis; keeps nothing */
static void ask_block(world *w, int32_t id, const int32_t *token, int32_t n, int32_t pos,
                      pk_candidate *out) {
    pk_pass p = new_pass(w);
    add_block(&p, 0, 1, token, n, pos, 0);
    run(w, id, &p);
    read_answers(w, 1, n, out);
    keep_as_it_was(w, id);
}

static int32_t first_sentence(world *w, const kind *k) {
    int32_t id;
    open_world(w, k);
    ASSERT_OK(pk_session_encode(w->s, sources, 1, &id));
    return id;
}

/* the first ask changes with the last token, and one ask alone is a plain ask */
static void asks_of_a_block_see_each_other(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world         w;
        const int32_t id = first_sentence(&w, &kinds[k]), other[N] = { 12, 30, 4, 19 };
        pk_candidate  block[TOP * N], changed[TOP * N], chain[TOP * N], one[TOP];
        ask_block(&w, id, left, N, 0, block);
        ask_block(&w, id, other, N, 0, changed);
        ask_chain(&w, id, left, N, chain);
        for (int32_t i = 0; i < N; i++) {
            assert_true(block[TOP * i].logp != changed[TOP * i].logp);
            /* only the last of a chain sees as much */
            if (i < N - 1) assert_true(block[TOP * i].logp != chain[TOP * i].logp);
        }
        ask_block(&w, id, left, 1, 0, one);
        assert_memory_equal(one, chain, sizeof one);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* the same tokens at the same positions, asked in the opposite order: sums may round otherwise */
static void the_order_of_asks_means_nothing(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world         w;
        const int32_t id = first_sentence(&w, &kinds[k]);
        const double  near = kinds[k].arithmetic == PK_F32 && kinds[k].type != PK_I8 ? 1e-4 : 0.2;
        pk_candidate  block[TOP * N];
        ask_block(&w, id, left, N, 0, block);
        pk_pass p = new_pass(&w);
        for (int32_t i = 0; i < N; i++)
            pk_ask_add(&p, (pk_ask){ .token = left[N - 1 - i],
                                     .pos = N - 1 - i,
                                     .parent = i,
                                     .block = 3,
                                     .target = &block[TOP * (N - 1 - i)].token,
                                     .n_target = 1,
                                     .logp = true });
        run(&w, id, &p);
        for (int32_t i = 0; i < N; i++)
            assert_true(fabs((double)w.answer[N - i].target_logp[0] - (double)block[TOP * i].logp) <
                        near);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* several blocks of one sentence, other sentences, chains: each answers as it does alone */
static void a_block_does_not_see_its_neighbours(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id[2];
        pk_ask       ask[8];
        pk_answer    answer[8];
        pk_pass      other = { .room = 7, .ask = ask, .answer = answer };
        pk_candidate alone[2][TOP * N], chain[TOP * 3], got[TOP * N];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 2, id));
        ask_block(&w, id[0], left, N, 0, alone[0]);
        ask_block(&w, id[0], right, N - 1, 2, alone[1]);
        ask_chain(&w, id[0], words, 3, chain);
        pk_pass p = new_pass(&w);
        add_block(&p, 0, 1, left, N, 0, 0);
        add_block(&p, 0, 2, right, N - 1, 2, 0);
        add_block(&p, 0, 0, words, 3, 0, 0); /* no block: a chain */
        add_block(&p, 0, 1, left, N, 0, 0);  /* the first again: apart from it, so another */
        add_block(&other, 0, 1, right, N, 0, 0);
        const pk_request both[] = { { id[1], &other }, { id[0], &p } };
        ASSERT_OK(pk_session_decode(w.s, both, 2));
        read_answers(&w, 1, N, got);
        assert_memory_equal(got, alone[0], sizeof got);
        read_answers(&w, N + 1, N - 1, got);
        assert_memory_equal(got, alone[1], TOP * (N - 1) * sizeof *got);
        read_answers(&w, 2 * N, 3, got);
        assert_memory_equal(got, chain, sizeof chain);
        read_answers(&w, 2 * N + 3, N, got);
        assert_memory_equal(got, alone[0], sizeof got);
        pk_session_forget(w.s, id[0]);
        pk_session_forget(w.s, id[1]);
        close_world(&w);
    }
}

/* Prefix, block and block behind it in one pass, or one after the other, each kept. */
static void what_comes_before_a_block_may_be_kept_or_asked(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world                w;
        const int32_t        id = first_sentence(&w, &kinds[k]);
        pk_candidate         steps[3][TOP * N], whole[3][TOP * N];
        const int32_t *const part[] = { words, left, right };
        pk_pass              p = new_pass(&w);
        for (int32_t i = 0, at = 0; i < 3; i++) at = add_block(&p, 0, i, part[i], N, N * i, at);
        run(&w, id, &p);
        for (int32_t i = 0; i < 3; i++) read_answers(&w, 1 + N * i, N, whole[i]);
        keep_as_it_was(&w, id);
        for (int32_t i = 0; i < 3; i++) {
            p = new_pass(&w);
            add_block(&p, 0, i, part[i], N, N * i, 0);
            run(&w, id, &p);
            read_answers(&w, 1, N, steps[i]);
            keep_and_commit(&w, id, N);
        }
        assert_memory_equal(steps, whole, sizeof steps);
        assert_int_equal(pk_session_free_slots(w.s), limits.slots - 3 * N);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* two hypotheses with one past, each with a block: one number, two blocks */
static void hypotheses_have_blocks_of_their_own(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world         w;
        const int32_t id = first_sentence(&w, &kinds[k]);
        pk_candidate  alone[2][TOP * N], got[TOP * N], start[TOP];
        run_chain(&w, id, words, 1, 0, start);
        keep_and_commit(&w, id, 1);
        ask_block(&w, id, left, N, 1, alone[0]);
        ask_block(&w, id, right, N, 1, alone[1]);
        pk_pass    p = new_pass(&w);
        pk_verdict v = { .room = 8, .tip = w.tips };
        pk_ask_add(&p, (pk_ask){ .token = 4, .pos = 1 }); /* so that there is a pass to commit */
        run(&w, id, &p);
        pk_keep_hypothesis(&v, 0), pk_keep_hypothesis(&v, 0);
        pk_session_commit(w.s, id, &v);
        p = new_pass(&w);
        add_block(&p, 0, 1, left, N, 1, 0);
        add_block(&p, 1, 1, right, N, 1, 0);
        run(&w, id, &p);
        read_answers(&w, 1, N, got);
        assert_memory_equal(got, alone[0], sizeof got);
        read_answers(&w, N + 1, N, got);
        assert_memory_equal(got, alone[1], sizeof got);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* one list for each block, within what was planned; more is refused and loses nothing */
static void lists_are_shared_and_bounded(void **state) {
    (void)state;
    world             w;
    int32_t           id = first_sentence(&w, &kinds[0]);
    pk_session_limits few = limits;
    pk_session       *s;
    pk_pass           p = new_pass(&w);
    add_block(&p, 0, 1, left, N, 0, 0);
    add_block(&p, 0, 2, right, N, 0, 0);
    assert_true(pk_session_visible(w.s, &(pk_request){ id, &p }) >= 2 * N);
    run(&w, id, &p);
    assert_int_equal(w.s->n_list - w.s->n_listed, 2 * N);
    assert_true(w.s->first[0] == w.s->first[N - 1] && w.s->first[0] != w.s->first[N]);
    assert_int_equal(w.s->max.visible, limits.asks * limits.path);
    pk_session_forget(w.s, id);

    few.visible = 2 * N - 1;
    ASSERT_OK(pk_session_open(&w.tiny.net, &w.on, &few, &s));
    ASSERT_OK(pk_session_encode(s, sources, 1, &id));
    ASSERT_STATUS(PK_NO_MEMORY, pk_session_decode(s, &(pk_request){ id, &p }, 1));
    assert_int_equal(pk_session_free_slots(s), limits.slots);
    p.n = N;
    ASSERT_OK(pk_session_decode(s, &(pk_request){ id, &p }, 1));
    pk_session_forget(s, id);
    pk_session_close(s);
    close_world(&w);
}

/* inside a block each ask follows the one before */
static void other_blocks_are_refused(void **state) {
    (void)state;
    world         w;
    const int32_t id = first_sentence(&w, &kinds[0]);
    const int32_t parents[] = { 0, -1 };
    for (int i = 0; i < 2; i++) {
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .token = 4, .block = 1 });
        pk_ask_add(&p, (pk_ask){ .token = 4, .pos = 1, .parent = parents[i], .block = 1 });
        ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        p.ask[2].block = 2;
        run(&w, id, &p);
        keep_as_it_was(&w, id);
    }
    pk_session_forget(w.s, id);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_of_a_block_see_each_other),
        cmocka_unit_test(the_order_of_asks_means_nothing),
        cmocka_unit_test(a_block_does_not_see_its_neighbours),
        cmocka_unit_test(what_comes_before_a_block_may_be_kept_or_asked),
        cmocka_unit_test(hypotheses_have_blocks_of_their_own),
        cmocka_unit_test(lists_are_shared_and_bounded),
        cmocka_unit_test(other_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
