/* task_answers_test.c - tokens of a task while decoding: they are never output and in no sum of the
 * text, bitwise as if they were not there; a group answers for itself, and its probabilities sum to
 * one. For every backend and type, and for networks that decode together. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "session_world.h"
#include "tensor/panel.h"

enum { TEXT = 37, FIRST = 48, LENGTHS = 10, ALL = 58, MASK = 40 };

static const pk_session_limits room = { .sentences = 4,
                                        .source_tokens = 64,
                                        .source_length = 20,
                                        .encode_tokens = 64,
                                        .hypotheses = 4,
                                        .asks = 32,
                                        .slots = 96,
                                        .path = 48,
                                        .top_k = 64,
                                        .listed = 900 };

static pk_config grown_config(void) {
    pk_config c = tiny_config();
    c.source_vocab = c.target_vocab = ALL;
    c.n_text = TEXT;
    c.n_groups = 1;
    c.group[0] = (pk_token_group){ "length", FIRST, LENGTHS };
    c.n_suppressed = 1, c.suppressed[0] = 3;
    return c;
}

/* the same network without the tokens, or with all of them as text */
static pk_network as_text(const pk_network *net, int32_t rows) {
    pk_network other = *net;
    other.config.n_text = other.config.n_groups = 0;
    other.config.source_vocab = other.config.target_vocab = rows;
    other.source_embed = pk_weight_rows(&net->source_embed, 0, rows);
    other.output_bias = pk_weight_part(&net->output_bias, 0, rows);
    pk_network_share(&other);
    return other;
}

typedef struct answers {
    pk_candidate text[2][64];
    float        all[2][64]; /* log-probabilities of all tokens */
    pk_candidate length[64];
    float        lengths[LENGTHS];
} answers;

/* two words of a sentence; between them, where `group` is, the question for the length */
static void ask(const kind *k, const pk_ensemble *nets, int32_t n_all, bool group, answers *out) {
    static const int32_t token[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                     15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                     30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
                                     45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57 };
    pk_backend           on;
    pk_session          *s;
    int32_t              id, tips[4];
    pk_ask               asks[8];
    pk_answer            answer[8];
    pk_pass              p = { .room = 7, .ask = asks, .answer = answer };
    ASSERT_OK(open_backend(k, &on));
    ASSERT_OK(pk_session_open_ensemble(nets, &on, &room, &s));
    ASSERT_OK(pk_session_encode(s, sources, 1, &id));
    pk_ask one = { .token = 5, .top_k = n_all, .logp = true, .target = token, .n_target = n_all };
    pk_ask_add(&p, one);
    if (group) {
        one.group = 1, one.token = MASK, one.top_k = one.n_target = LENGTHS;
        pk_ask_add(&p, one);
    }
    one = p.ask[1], one.token = 9, one.pos = 1, one.parent = 1;
    pk_ask_add(&p, one);
    ASSERT_OK(pk_session_decode(s, &(pk_request){ id, &p }, 1));
    for (int i = 0; i < 2; i++) {
        const pk_answer *a = &answer[i ? p.n : 1];
        memcpy(out->text[i], a->top, (size_t)n_all * sizeof *a->top);
        memcpy(out->all[i], a->target_logp, (size_t)n_all * sizeof(float));
    }
    if (group) memcpy(out->length, answer[2].top, LENGTHS * sizeof *out->length);
    if (group) memcpy(out->lengths, answer[2].target_logp, sizeof out->lengths);
    pk_verdict v = { .room = 4, .tip = tips };
    pk_keep_hypothesis(&v, 0);
    pk_session_commit(s, id, &v);
    pk_session_forget(s, id);
    pk_session_close(s);
    pk_backend_close(&on);
}

static double sum_of(const float *logp, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += exp((double)logp[i]);
    return sum;
}

static void text_is_answered_as_if_they_were_not_there(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        const pk_config c = grown_config();
        tiny_network    t;
        answers         with, without;
        memset(&with, 0, sizeof with), memset(&without, 0, sizeof without);
        ASSERT_OK(tiny_network_open(&c, kinds[k].type, 7, &t));
        const pk_network  less = as_text(&t.net, TEXT);
        const pk_ensemble one = pk_ensemble_alone(&t.net), other = pk_ensemble_alone(&less);
        ask(&kinds[k], &one, TEXT, true, &with);
        ask(&kinds[k], &other, TEXT, false, &without);
        assert_memory_equal(with.text, without.text, sizeof with.text);
        assert_memory_equal(with.all, without.all, sizeof with.all);
        for (int i = 0; i < 2; i++) {
            assert_true(fabs(sum_of(with.all[i], TEXT) - 1) < 1e-3);
            assert_int_equal(with.text[i][TEXT - 1].token, PK_NO_TOKEN); /* one is suppressed */
            for (int j = 0; j < TEXT - 1; j++) assert_in_range(with.text[i][j].token, 0, TEXT - 1);
        }
        tiny_network_close(&t);
    }
}

static void a_group_sums_to_one(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        const pk_config c = grown_config();
        tiny_network    t;
        answers         grouped, whole;
        ASSERT_OK(tiny_network_open(&c, kinds[k].type, 7, &t));
        pk_network all = as_text(&t.net, ALL); /* the group's tokens as text like any other */
        const pk_ensemble one = pk_ensemble_alone(&t.net), other = pk_ensemble_alone(&all);
        ask(&kinds[k], &one, TEXT, true, &grouped);
        assert_true(fabs(sum_of(grouped.lengths, LENGTHS) - 1) < 1e-3);
        for (int i = 0; i < LENGTHS; i++) {
            assert_in_range(grouped.length[i].token, 0, LENGTHS - 1);
            assert_true(grouped.length[i].logp == grouped.lengths[grouped.length[i].token]);
        }
        /* the mask is fed, and the sum is divided among the group's tokens */
        pk_session *s;
        pk_backend  on;
        int32_t     id, tips[4], token[LENGTHS];
        pk_ask      asks[3];
        pk_answer   answer[3];
        pk_pass     p = { .room = 2, .ask = asks, .answer = answer };
        for (int i = 0; i < LENGTHS; i++) token[i] = FIRST + i;
        ASSERT_OK(open_backend(&kinds[k], &on));
        ASSERT_OK(pk_session_open_ensemble(&other, &on, &room, &s));
        ASSERT_OK(pk_session_encode(s, sources, 1, &id));
        pk_ask_add(&p,
                   (pk_ask){ .token = MASK, .logp = true, .target = token, .n_target = LENGTHS });
        ASSERT_OK(pk_session_decode(s, &(pk_request){ id, &p }, 1));
        memcpy(whole.lengths, answer[1].target_logp, sizeof whole.lengths);
        const double sum = log(sum_of(whole.lengths, LENGTHS));
        for (int i = 0; i < LENGTHS; i++)
            assert_true(fabs((double)(whole.lengths[i] - grouped.lengths[i]) - sum) < 2e-3);
        pk_verdict v = { .room = 4, .tip = tips };
        pk_keep_hypothesis(&v, 0);
        pk_session_commit(s, id, &v);
        pk_session_forget(s, id);
        pk_session_close(s);
        pk_backend_close(&on);
        tiny_network_close(&t);
    }
}

static void an_ensemble_answers_with_the_mean(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        if (kinds[k].type != PK_F32 || kinds[k].arithmetic != PK_F32) continue;
        const pk_config c = grown_config();
        tiny_network    t[2];
        pk_ensemble     both;
        answers         one[2], mean;
        for (int i = 0; i < 2; i++) {
            ASSERT_OK(tiny_network_open(&c, kinds[k].type, 7 + (uint64_t)i, &t[i]));
            const pk_ensemble alone = pk_ensemble_alone(&t[i].net);
            ask(&kinds[k], &alone, TEXT, true, &one[i]);
        }
        const pk_network *const nets[] = { &t[0].net, &t[1].net };
        ASSERT_OK(pk_ensemble_open(nets, 2, &both));
        ask(&kinds[k], &both, TEXT, true, &mean);
        for (int i = 0; i < LENGTHS; i++)
            assert_true(fabsf((one[0].lengths[i] + one[1].lengths[i]) / 2 - mean.lengths[i]) <
                        1e-4f);
        for (int i = 0; i < TEXT; i++)
            assert_true(fabsf((one[0].all[1][i] + one[1].all[1][i]) / 2 - mean.all[1][i]) < 1e-4f);
        pk_ensemble_close(&both);
        t[1].net.config.group[0].count--; /* other tokens: they do not fit together */
        ASSERT_STATUS(PK_UNSUPPORTED, pk_ensemble_open(nets, 2, &both));
        for (int i = 0; i < 2; i++) tiny_network_close(&t[i]);
    }
}

static void a_group_that_is_not_there_is_refused(void **state) {
    world   w;
    int32_t id;
    (void)state;
    open_world(&w, &kinds[0]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    pk_pass p = new_pass(&w);
    pk_ask_add(&p, (pk_ask){ .token = 5, .top_k = 1, .group = 1 });
    ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    pk_session_forget(w.s, id);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_answered_as_if_they_were_not_there),
        cmocka_unit_test(a_group_sums_to_one),
        cmocka_unit_test(an_ensemble_answers_with_the_mean),
        cmocka_unit_test(a_group_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
