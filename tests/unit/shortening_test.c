/* shortening_test.c - sentences that choose from a list: logits have the bits that the whole
 * vocabulary gives, sums are over the list, bans and targets mean tokens, and neighbours in a pass
 * change nothing. On all backends of the host, in all types. */
#include "session_world.h"

#include <math.h>

enum { VOCAB = 40 };
static const int32_t list_a[] = { 0, 3, 4, 9, 10, 11, 17, 18, 22, 23, 25, 26, 27, 31, 33, 36, 39 };
static const int32_t list_b[] = { 0, 1, 38 };
enum { N_A = sizeof list_a / sizeof *list_a };

static void open_short_world(world *w, const kind *k) {
    const pk_config   c = tiny_config();
    pk_session_limits max = limits;
    memset(w, 0, sizeof *w);
    max.shortlist = 20;
    max.top_k = VOCAB;
    w->kind = k;
    ASSERT_OK(tiny_network_open(&c, k->type, 7, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &max, &w->s));
}

static bool is_far(const kind *k) {
    return !strcmp(k->backend, "far") || !strcmp(k->backend, "cuda");
}

/* all logits or log-probabilities behind one token, by token */
static void ask_all(world *w, int32_t sentence, bool logp, float *score, float *log_sum) {
    pk_pass p = new_pass(w);
    pk_ask_add(&p, (pk_ask){ .token = 2, .top_k = VOCAB, .logp = logp });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ sentence, &p }, 1));
    for (int32_t i = 0; i < VOCAB; i++) score[i] = -INFINITY;
    for (int32_t i = 0; i < VOCAB; i++) {
        const pk_candidate c = w->answer[1].top[i];
        if (c.token != PK_NO_TOKEN) score[c.token] = c.logp;
        if (i && c.token != PK_NO_TOKEN) assert_true(c.logp <= w->answer[1].top[i - 1].logp);
    }
    *log_sum = w->answer[1].log_sum;
    keep_as_it_was(w, sentence);
}

static bool in_a(int32_t token) {
    for (int32_t i = 0; i < N_A; i++)
        if (list_a[i] == token) return true;
    return false;
}

static void a_part_of_the_whole(void **state) {
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        world   w;
        float   all[VOCAB], part[VOCAB], logp[VOCAB], log_sum;
        int32_t sentence;
        double  sum = 0;
        if (is_far(&kinds[k])) continue;
        open_short_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &sentence));
        ask_all(&w, sentence, false, all, &log_sum);
        pk_session_shorten(w.s, 0, sentence, list_a, N_A);
        ask_all(&w, sentence, false, part, &log_sum);
        ask_all(&w, sentence, true, logp, &log_sum);
        for (int32_t t = 0; t < VOCAB; t++) {
            if (in_a(t))
                assert_memory_equal(&part[t], &all[t], sizeof(float));
            else
                assert_true(part[t] == -INFINITY && logp[t] == -INFINITY);
            if (in_a(t)) assert_true(fabsf(logp[t] + log_sum - all[t]) < 1e-5f);
            sum += exp((double)logp[t]);
        }
        assert_true(fabs(sum - 1) < 1e-5);
        pk_session_forget(w.s, sentence);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &sentence)); /* the next one has no list */
        ask_all(&w, sentence, false, part, &log_sum);
        assert_memory_equal(part, all, sizeof all);
        pk_session_forget(w.s, sentence);
        close_world(&w);
    }
}

static void bans_and_targets(void **state) {
    const int32_t ban[] = { 3, 5, 39, 12 }, target[] = { 9, 5, 0 };
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        world   w;
        float   logp[VOCAB], log_sum;
        int32_t sentence;
        if (is_far(&kinds[k])) continue;
        open_short_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &sentence));
        pk_session_shorten(w.s, 0, sentence, list_a, N_A);
        ask_all(&w, sentence, true, logp, &log_sum);
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .token = 2,
                                 .top_k = VOCAB,
                                 .logp = true,
                                 .n_ban = 4,
                                 .ban = ban,
                                 .n_target = 3,
                                 .target = target });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ sentence, &p }, 1));
        for (int32_t i = 0; i < VOCAB; i++) {
            const int32_t token = w.answer[1].top[i].token;
            assert_int_equal(token == PK_NO_TOKEN, i >= N_A - 2);
            assert_true(token != 3 && token != 39 && (token < 0 || in_a(token)));
        }
        assert_memory_equal(&w.answer[1].target_logp[0], &logp[9], sizeof(float));
        assert_true(w.answer[1].target_logp[1] == -INFINITY);
        assert_memory_equal(&w.answer[1].target_logp[2], &logp[0], sizeof(float));
        keep_as_it_was(&w, sentence);
        /* where all of a list is banned nothing can follow, and that is no failure */
        p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .token = 2, .top_k = 1, .n_ban = N_A, .ban = list_a });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ sentence, &p }, 1));
        assert_int_equal(w.answer[1].top[0].token, PK_NO_TOKEN);
        keep_as_it_was(&w, sentence);
        pk_session_forget(w.s, sentence);
        close_world(&w);
    }
}

/* three sentences in one pass, with lists and without: each as alone */
static void neighbours_change_nothing(void **state) {
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        world        w;
        int32_t      sentence[3], tips[3][2];
        pk_candidate alone[3][2][5];
        pk_ask       ask[3][4];
        pk_answer    answer[3][4];
        if (is_far(&kinds[k])) continue;
        open_short_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 3, sentence));
        pk_session_shorten(w.s, 0, sentence[0], list_a, N_A);
        pk_session_shorten(w.s, 0, sentence[2], list_b, 3);
        pk_pass    pass[3];
        pk_request all[3];
        for (int together = 0; together < 2; together++) {
            for (int i = 0; i < 3; i++) {
                pass[i] = (pk_pass){ .room = 3, .ask = ask[i], .answer = answer[i] };
                pk_ask_add(&pass[i], (pk_ask){ .token = 2, .top_k = 5, .logp = true });
                pk_ask_add(
                    &pass[i],
                    (pk_ask){ .token = 3 + i, .pos = 1, .parent = 1, .top_k = 5, .logp = true });
                all[i] = (pk_request){ sentence[i], &pass[i] };
                if (!together) ASSERT_OK(pk_session_decode(w.s, &all[i], 1));
                for (int j = 0; j < 2 && !together; j++)
                    memcpy(alone[i][j], answer[i][j + 1].top, sizeof alone[i][j]);
                if (!together) keep_as_it_was(&w, sentence[i]);
            }
        }
        ASSERT_OK(pk_session_decode(w.s, all, 3));
        for (int i = 0; i < 3; i++) {
            pk_verdict v = { .room = 2, .tip = tips[i] };
            for (int j = 0; j < 2; j++)
                assert_memory_equal(alone[i][j], answer[i][j + 1].top, sizeof alone[i][j]);
            pk_keep(&v, 2);
            pk_session_commit(w.s, sentence[i], &v);
            pk_session_forget(w.s, sentence[i]);
        }
        assert_int_equal(alone[2][0][3].token, PK_NO_TOKEN); /* a list of three */
        close_world(&w);
    }
}

static void refused_on_devices(void **state) {
    const kind        far = { "far", PK_F32, 1, PK_F32 };
    const pk_config   c = tiny_config();
    pk_session_limits max = limits;
    tiny_network      tiny;
    pk_backend        on;
    pk_session       *s;
    (void)state;
    max.shortlist = 20;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &tiny));
    ASSERT_OK(open_backend(&far, &on));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_session_open(&tiny.net, &on, &max, &s));
    assert_non_null(strstr(pk_last_error(), "--shortlist"));
    pk_backend_close(&on);
    tiny_network_close(&tiny);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_the_whole),
        cmocka_unit_test(bans_and_targets),
        cmocka_unit_test(neighbours_change_nothing),
        cmocka_unit_test(refused_on_devices),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
