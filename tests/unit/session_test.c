/* session_test.c - the laws of a session, on random networks, for every backend and type:
 * alone = in a batch, one pass of a chain = single steps, a pass is a question, every slot returns.
 * "Equal" is bitwise throughout. */
#include "session_world.h"

static void a_block_equals_steps_and_a_pass_is_a_question(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id;
        pk_candidate block[2 * N_WORDS], again[2 * N_WORDS], step[2 * N_WORDS];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        ask_chain(&w, id, words, N_WORDS, block);
        ask_chain(&w, id, words, N_WORDS, again);
        assert_memory_equal(block, again, sizeof block);
        for (int32_t i = 0; i < N_WORDS; i++) {
            run_chain(&w, id, words + i, 1, i, step + 2 * i);
            keep_and_commit(&w, id, 1);
        }
        assert_memory_equal(block, step, sizeof block);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

static void alone_equals_batched(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id[3];
        pk_candidate alone[3][2 * 4];
        open_world(&w, &kinds[k]);
        for (int i = 0; i < 3; i++) {
            ASSERT_OK(pk_session_encode(w.s, &sources[i], 1, &id[0]));
            run_chain(&w, id[0], words, 2 + i % 3, 0, alone[i]);
            pk_session_forget(w.s, id[0]);
        }
        ASSERT_OK(pk_session_encode(w.s, sources, 3, id));
        pk_ask     ask[3][6];
        pk_answer  answer[3][6];
        pk_pass    pass[3];
        pk_request request[3];
        for (int i = 0; i < 3; i++) {
            pass[i] = (pk_pass){ .room = 5, .ask = ask[i], .answer = answer[i] };
            for (int32_t j = 0, at = 0; j < 2 + i % 3; j++)
                at = pk_ask_add(
                    &pass[i],
                    (pk_ask){
                        .token = words[j], .pos = j, .parent = at, .top_k = 2, .logp = true });
            request[i] = (pk_request){ id[i], &pass[i] };
        }
        ASSERT_OK(pk_session_decode(w.s, request, 3));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2 + i % 3; j++)
                assert_memory_equal(answer[i][j + 1].top, &alone[i][2 * j],
                                    2 * sizeof(pk_candidate));
        for (int i = 0; i < 3; i++) pk_session_forget(w.s, id[i]);
        close_world(&w);
    }
}

/* sentences come while others are half done, even while a pass waits for its verdict: neither
 * disturbs the other */
static void encoding_between_passes_changes_nothing(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      first, second;
        pk_candidate block[2 * 4], step[2 * 4], other[2 * 4];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, &sources[0], 1, &first));
        ask_chain(&w, first, words, 4, block);
        for (int32_t i = 0; i < 4; i++) {
            run_chain(&w, first, words + i, 1, i, step + 2 * i);
            if (i < 2) keep_and_commit(&w, first, 1);
            ASSERT_OK(pk_session_encode(w.s, &sources[1 + i % 2], 1, &second));
            if (i >= 2) keep_and_commit(&w, first, 1);
            run_chain(&w, second, words, 4, 0, other);
            if (i % 2) keep_and_commit(&w, second, 4);
            pk_session_forget(w.s, second);
        }
        assert_memory_equal(block, step, sizeof block);
        pk_session_forget(w.s, first);
        close_world(&w);
    }
}

/* a pass may come before anybody saw the end of an encoding: it waits for both */
static void a_pass_may_come_right_behind_an_encoding(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      first, second;
        pk_candidate old[2 * 4], waited[2 * 4], old_again[2 * 4], begun[2 * 4];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, &sources[0], 1, &first));
        ask_chain(&w, first, words, 4, old);
        ASSERT_OK(pk_session_encode(w.s, &sources[1], 1, &second));
        ask_chain(&w, second, words, 4, waited);
        pk_session_forget(w.s, second);
        const double before = pk_session_encoded_at(w.s);
        ASSERT_OK(pk_session_encode_begin(w.s, &sources[1], 1, &second));
        const double begun_at = pk_session_encoded_at(w.s);
        ask_chain(&w, first, words, 4, old_again); /* of a sentence that was there */
        assert_true(begun_at > before);
        /* its end is seen where the device can tell; elsewhere it is that of the call */
        assert_true(pk_session_encoded_at(w.s) > begun_at || !w.on.wait_event);
        ask_chain(&w, second, words, 4, begun);
        assert_memory_equal(old, old_again, sizeof old);
        assert_memory_equal(waited, begun, sizeof waited);
        pk_session_forget(w.s, second);
        ASSERT_OK(pk_session_encode_begin(w.s, &sources[1], 1, &second));
        pk_session_forget(w.s, second); /* nobody has waited for it */
        ask_chain(&w, first, words, 4, old_again);
        assert_memory_equal(old, old_again, sizeof old);
        pk_session_forget(w.s, first);
        close_world(&w);
    }
}

/* what follows this token of a hypothesis? */
static void ask_after(pk_pass *p, int32_t hypothesis, int32_t token, int32_t pos, int32_t parent) {
    pk_ask_add(p, (pk_ask){ .hypothesis = hypothesis,
                            .token = token,
                            .pos = pos,
                            .parent = parent,
                            .top_k = 2,
                            .logp = true });
}

/* as in a beam: two hypotheses that share a prefix, one dropped, one doubled */
static void hypotheses_share_their_past(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id;
        pk_candidate chain[2 * 3], first[2 * 3];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, &sources[2], 1, &id));
        const int32_t path[] = { PK_NO_TOKEN, 9, 31 };
        ask_chain(&w, id, path, 3, chain);
        run_chain(&w, id, path, 1, 0, first);
        pk_verdict v = { .room = 8, .tip = w.tips };
        pk_keep(&v, 1), pk_keep(&v, 1);
        pk_session_commit(w.s, id, &v);
        pk_pass p = new_pass(&w);
        ask_after(&p, 0, 22, 1, 0);
        ask_after(&p, 1, 9, 1, 0);
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        assert_memory_equal(w.answer[2].top, &chain[2], 2 * sizeof *chain);
        v.n_hypotheses = 0;
        pk_keep(&v, 2), pk_keep(&v, 1), pk_keep_hypothesis(&v, 0), pk_keep_empty(&v);
        pk_session_commit(w.s, id, &v);
        assert_int_equal(pk_session_free_slots(w.s), limits.slots - 3);
        p.n = 0;
        ask_after(&p, 0, 31, 2, 0);
        ask_after(&p, 1, 9, 1, -1);
        ask_after(&p, 3, PK_NO_TOKEN, 0, 0);
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        assert_memory_equal(w.answer[1].top, &chain[4], 2 * sizeof *chain);
        assert_memory_equal(w.answer[2].top, &chain[2], 2 * sizeof *chain); /* one token back */
        assert_memory_equal(w.answer[3].top, &chain[0], 2 * sizeof *chain); /* from the start */
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* a trie of hypotheses in one pass gives each what it gets alone */
static void a_tree_equals_its_branches(void **state) {
    world        w;
    int32_t      id;
    pk_candidate left[2 * 3], right[2 * 3];
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    const int32_t a[] = { PK_NO_TOKEN, 3, 8 }, b[] = { PK_NO_TOKEN, 5, 8 };
    ask_chain(&w, id, a, 3, left);
    ask_chain(&w, id, b, 3, right);
    pk_pass       p = new_pass(&w);
    const int32_t root = pk_ask_add(&p, (pk_ask){ .token = PK_NO_TOKEN, .top_k = 2, .logp = true });
    const int32_t x =
        pk_ask_add(&p, (pk_ask){ .token = 3, .pos = 1, .parent = root, .top_k = 2, .logp = true });
    const int32_t y =
        pk_ask_add(&p, (pk_ask){ .token = 5, .pos = 1, .parent = root, .top_k = 2, .logp = true });
    pk_ask_add(&p, (pk_ask){ .token = 8, .pos = 2, .parent = x, .top_k = 2, .logp = true });
    const int32_t tip =
        pk_ask_add(&p, (pk_ask){ .token = 8, .pos = 2, .parent = y, .top_k = 2, .logp = true });
    ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    assert_memory_equal(w.answer[4].top, &left[4], 2 * sizeof *left);
    assert_memory_equal(w.answer[5].top, &right[4], 2 * sizeof *right);
    keep_and_commit(&w, id, tip);
    assert_int_equal(pk_session_free_slots(w.s), limits.slots - 3); /* root, y, tip */
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void bans_targets_and_log_sums_fit_together(void **state) {
    world   w;
    int32_t id, all[40], ban[2];
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    for (int32_t i = 0; i < 40; i++) all[i] = i;
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 3, .logp = true, .target = all, .n_target = 40 });
    ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    double sum = 0;
    for (int i = 0; i < 40; i++) sum += __builtin_exp((double)w.answer[1].target_logp[i]);
    assert_true(sum > 0.9999 && sum < 1.0001);
    ban[0] = w.answer[1].top[0].token, ban[1] = w.answer[1].top[2].token;
    const pk_candidate second = w.answer[1].top[1];
    assert_true(w.answer[1].target_logp[second.token] == second.logp);
    const float log_sum = w.answer[1].log_sum;
    keep_as_it_was(&w, id);
    p.n = 0;
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1, .logp = true, .ban = ban, .n_ban = 2 });
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1 });
    ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    assert_memory_equal(w.answer[1].top, &second, sizeof second);
    assert_int_equal(w.answer[2].top[0].token, ban[0]);
    assert_true(w.answer[1].log_sum == log_sum && w.answer[2].log_sum == 0);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void attention_is_returned_where_it_was_asked(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_world(&w, &kinds[1]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 4, .top_k = 1, .attention = true });
    pk_ask_add(&p, (pk_ask){ .token = 4, .pos = 1, .parent = 1, .top_k = 1 });
    pk_ask_add(&p, (pk_ask){ .token = 5, .pos = 2, .parent = 2, .attention = true });
    ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    for (int ask = 1; ask <= 3; ask += 2) { /* also where nothing else was asked for */
        float sum = 0;
        for (int i = 0; i < 7; i++) sum += w.answer[ask].attention[i];
        assert_true(sum > 0.9999f && sum < 1.0001f);
    }
    assert_null(w.answer[2].attention);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void asks_out_of_range_are_refused_and_nothing_is_lost(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_world(&w, &kinds[0]);
    const pk_sentence_tokens too_long = { words, 21 }, empty = { words, 0 };
    ASSERT_STATUS(PK_ARGUMENT, pk_session_encode(w.s, &too_long, 1, &id));
    ASSERT_STATUS(PK_ARGUMENT, pk_session_encode(w.s, &empty, 1, &id));
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    const pk_ask bad[] = { { .token = 40 },     { .token = -2 }, { .pos = 48 }, { .pos = -1 },
                           { .hypothesis = 1 }, { .parent = 1 }, { .top_k = 5 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, bad[i]);
        ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    }
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void a_pass_allocates_nothing(void **state) {
    (void)state;
    /* a GPU's passes are recorded when a shape comes again */
    for (int k = 0; k < N_HOST_KINDS; k++) {
        world        w;
        int32_t      id;
        pk_candidate out[2 * N_WORDS];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        const int64_t count = pk_memory_count();
        run_chain(&w, id, words, N_WORDS, 0, out);
        keep_and_commit(&w, id, 3);
        assert_int_equal(pk_memory_count(), count);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* greedy by hand: one step at a time, or left to the session */
static int32_t greedy_by_hand(world *w, int32_t id, int32_t steps, pk_candidate *out) {
    int32_t token = PK_NO_TOKEN, n = 0;
    while (n < steps && (n == 0 || token != 0)) {
        pk_pass p = new_pass(w);
        pk_ask_add(&p, (pk_ask){ .token = token, .pos = n, .top_k = 1, .logp = true });
        ASSERT_OK(pk_session_decode(w->s, &(pk_request){ id, &p }, 1));
        out[n] = w->answer[1].top[0];
        token = out[n++].token;
        keep_and_commit(w, id, 1);
    }
    return n;
}

/* several sentences follow together, each as far as it would go alone; then they go on from there
 */
static void following_equals_steps(void **state) {
    enum { FIRST = 5, ALL = 12 };
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world        w;
        int32_t      id[3], n[3];
        pk_candidate steps[3][ALL];
        pk_ask       ask[3][2];
        pk_answer    answer[3][2];
        pk_pass      pass[3];
        pk_request   request[3];
        open_world(&w, &kinds[k]);
        w.on.follow = 8;
        for (int i = 0; i < 3; i++) {
            ASSERT_OK(pk_session_encode(w.s, &sources[i], 1, &id[0]));
            n[i] = greedy_by_hand(&w, id[0], ALL, steps[i]);
            pk_session_forget(w.s, id[0]);
        }
        ASSERT_OK(pk_session_encode(w.s, sources, 3, id));
        for (int i = 0; i < 3; i++) {
            pass[i] = (pk_pass){ .room = 1, .ask = ask[i], .answer = answer[i] };
            pk_ask_add(
                &pass[i],
                (pk_ask){ .token = PK_NO_TOKEN, .top_k = 1, .logp = true, .follow = FIRST + i });
            request[i] = (pk_request){ id[i], &pass[i] };
        }
        ASSERT_OK(pk_session_decode(w.s, request, 3));
        for (int i = 0; i < 3; i++) {
            const int32_t expected = n[i] < FIRST + i ? n[i] : FIRST + i;
            assert_int_equal(answer[i][1].n_found, expected);
            assert_memory_equal(answer[i][1].found, steps[i], (size_t)expected * sizeof **steps);
            keep_and_commit(&w, id[i], 1);
        }
        for (int i = 0; i < 3; i++) { /* what was fed is remembered: the next step is the same */
            const int32_t at = FIRST + i;
            if (n[i] > at) {
                pk_candidate next[2];
                run_chain(&w, id[i], &steps[i][at - 1].token, 1, at, next);
                assert_memory_equal(next, &steps[i][at], sizeof *next);
            }
            pk_session_forget(w.s, id[i]);
        }
        close_world(&w); /* no slot of an untaken step is lost */
    }
}

static pk_status open_and_close(void *user) {
    world      *w = user;
    pk_session *s = NULL;
    pk_backend  on;
    PK_TRY(open_backend(w->kind, &on));
    const pk_status status = pk_session_open(&w->tiny.net, &on, &limits, &s);
    pk_session_close(s);
    pk_backend_close(&on);
    return status;
}

static void opening_survives_every_failed_allocation(void **state) {
    world w;
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        open_world(&w, &kinds[k]);
        assert_true(check_every_allocation(open_and_close, &w) > 20);
        close_world(&w);
    }
}

/* a device gives its memory in one piece, exactly what is needed, or says so before anything else
 */
static void a_device_is_asked_for_memory_once(void **state) {
    const pk_config c = tiny_config();
    tiny_network    tiny;
    pk_backend      on;
    pk_session     *s;
    (void)state;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &tiny));
    ASSERT_OK(far_open(&on));
    ASSERT_OK(pk_session_open(&tiny.net, &on, &limits, &s));
    const size_t bytes = (size_t)on.held(on.self);
    assert_true(bytes > 10000);
    assert_int_equal(far_left(&on), 0);
    pk_session_close(s);
    pk_backend_close(&on);

    ASSERT_OK(far_open_small(bytes - 1, &on));
    assert_int_equal(pk_session_open(&tiny.net, &on, &limits, &s), PK_NO_MEMORY);
    assert_null(s);
    assert_int_equal(on.held(on.self), 0);
    pk_backend_close(&on);
    tiny_network_close(&tiny);
}

/* what the GPU took at expect() is all it ever takes */
static pk_status (*expect_on_gpu)(void *self, const pk_backend *dry_run);
static uint64_t held_then;

static pk_status expect_and_count(void *self, const pk_backend *dry_run) {
    const pk_status status = expect_on_gpu(self, dry_run);
    held_then = dry_run->held(dry_run->self);
    return status;
}

static void a_gpu_is_asked_for_memory_once(void **state) {
    const pk_config c = tiny_config();
    (void)state;
    if (n_kinds == N_HOST_KINDS) skip();
    for (int k = N_HOST_KINDS; k < n_kinds; k++) {
        tiny_network tiny;
        pk_backend   on;
        pk_session  *s;
        ASSERT_OK(tiny_network_open(&c, kinds[k].type, 7, &tiny));
        ASSERT_OK(open_backend(&kinds[k], &on));
        expect_on_gpu = on.expect;
        on.expect = expect_and_count;
        ASSERT_OK(pk_session_open(&tiny.net, &on, &limits, &s));
        assert_true(held_then > 10000);
        assert_int_equal(on.held(on.self), held_then);
        pk_session_close(s);
        pk_backend_close(&on);
        tiny_network_close(&tiny);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_equals_steps_and_a_pass_is_a_question),
        cmocka_unit_test(alone_equals_batched),
        cmocka_unit_test(encoding_between_passes_changes_nothing),
        cmocka_unit_test(a_pass_may_come_right_behind_an_encoding),
        cmocka_unit_test(hypotheses_share_their_past),
        cmocka_unit_test(a_tree_equals_its_branches),
        cmocka_unit_test(bans_targets_and_log_sums_fit_together),
        cmocka_unit_test(attention_is_returned_where_it_was_asked),
        cmocka_unit_test(asks_out_of_range_are_refused_and_nothing_is_lost),
        cmocka_unit_test(a_pass_allocates_nothing),
        cmocka_unit_test(following_equals_steps),
        cmocka_unit_test(opening_survives_every_failed_allocation),
        cmocka_unit_test(a_device_is_asked_for_memory_once),
        cmocka_unit_test(a_gpu_is_asked_for_memory_once),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
