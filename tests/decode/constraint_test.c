/* constraint_test.c - which tokens are banned or penalised, and what that makes of an answer. */
#include "oracle.h"

#include "decode/constraint.h"

enum { START = 9, EOS = 0, UNK = 1 };

static const pk_conventions plain = { .vocab = 10, .start = START, .eos = EOS, .unk = UNK };

static pk_source source(const pk_conventions *model) {
    return (pk_source){ .model = model, .max_length = 20 };
}

static pk_constraint_options unset(void) {
    return (pk_constraint_options){ -1, -1, 0, PK_UNK_AUTO, -1 };
}

/* lists the tokens after a history (start symbol first) and compares: n_penalised, then all */
static void check(pk_constraint_options opt, pk_constraint_rules rules, const int32_t *history,
                  int32_t n, int32_t n_penalised, const int32_t *want, int32_t n_want) {
    const pk_source src = source(&plain);
    pk_constraint   c;
    int32_t         list[64];
    pk_special      got = { .token = list };
    assert_int_equal(pk_constraint_begin(&c, &opt, &src, rules), PK_OK);
    for (int twice = 0; twice < 2; twice++) { /* the bits are clean again afterwards */
        pk_constraint_list(&c, history, n, &got);
        assert_true(got.n <= c.room);
        assert_int_equal(got.n, n_want);
        assert_int_equal(got.n_penalised, n_penalised);
        for (int32_t i = 0; i < n_want; i++)
            assert_true(oracle_has(i < n_penalised ? list : list + n_penalised,
                                   i < n_penalised ? n_penalised : n_want - n_penalised, want[i]));
    }
    pk_constraint_end(&c);
}

static void test_nothing(void **unused) {
    (void)unused;
    const int32_t history[] = { START, 3, 3, 3 };
    check(unset(), (pk_constraint_rules){ 0 }, history, 3, 0, NULL, 0);
}

static void test_min_length_and_unk(void **unused) {
    (void)unused;
    pk_constraint_options opt = unset();
    opt.min_length = 3; /* two tokens and the end */
    check(opt, (pk_constraint_rules){ 0 }, NULL, 0, 0, (int32_t[]){ EOS }, 1);
    check(opt, (pk_constraint_rules){ 0 }, NULL, 1, 0, (int32_t[]){ EOS }, 1);
    check(opt, (pk_constraint_rules){ 0 }, NULL, 2, 0, NULL, 0);
    check(opt, (pk_constraint_rules){ .ban_unk = true }, NULL, 0, 0, (int32_t[]){ EOS, UNK }, 2);
    opt.unk = PK_UNK_ALLOW;
    check(opt, (pk_constraint_rules){ .ban_unk = true }, NULL, 2, 0, NULL, 0);
    opt.unk = PK_UNK_BAN;
    check(opt, (pk_constraint_rules){ 0 }, NULL, 2, 0, (int32_t[]){ UNK }, 1);
    check(unset(), (pk_constraint_rules){ .min_length = 2 }, NULL, 0, 0, (int32_t[]){ EOS }, 1);
}

static void test_ngrams(void **unused) {
    (void)unused;
    const int32_t             history[] = { START, 4, 5, 4, 6, 4 };
    const pk_constraint_rules with = { .with_start = true }, without = { 0 };
    pk_constraint_options     opt = unset();
    opt.no_repeat_ngram = 2; /* 4 was followed by 5 and by 6 */
    check(opt, with, history, 5, 0, (int32_t[]){ 5, 6 }, 2);
    opt.no_repeat_ngram = 3; /* "6 4" was never followed by anything */
    check(opt, with, history, 5, 0, NULL, 0);
    check(opt, with, (int32_t[]){ START, 2, 3, 4, 2, 3 }, 5, 0, (int32_t[]){ 4 }, 1);
    opt.no_repeat_ngram =
        1; /* no token twice; the start symbol counts where it is in the history */
    check(opt, without, history, 5, 0, (int32_t[]){ 4, 5, 6 }, 3);
    check(opt, with, history, 5, 0, (int32_t[]){ 4, 5, 6, START }, 4);
    opt.no_repeat_ngram = 7;
    check(opt, with, history, 5, 0, NULL, 0);
}

/* 5 and 6 go on with a character: they are neither banned nor penalised, its first byte is */
static void test_characters_stay_whole(void **unused) {
    (void)unused;
    const int32_t         history[] = { START, 4, 5, 6, 4, 5, 6 };
    pk_constraint_options opt = unset();
    pk_conventions        model = plain;
    pk_source             src = source(&model);
    pk_constraint         c;
    int32_t               list[64];
    pk_special            got = { .token = list };
    model.continuation = 5, model.n_continuation = 2;
    opt.no_repeat_ngram = 2;
    for (int32_t penalty = 0; penalty < 2; penalty++) {
        opt.repetition_penalty = penalty ? 1.5f : -1;
        assert_int_equal(pk_constraint_begin(&c, &opt, &src, (pk_constraint_rules){ 0 }), PK_OK);
        pk_constraint_list(&c, history, 4, &got); /* "4", which 5 followed */
        assert_int_equal(got.n, penalty);
        if (penalty) assert_int_equal(list[0], 4);
        pk_constraint_list(&c, history, 6, &got); /* "6", which 4 followed */
        assert_int_equal(got.n, 1);
        assert_int_equal(list[0], 4);
        assert_int_equal(got.n_penalised, 0);
        pk_constraint_end(&c);
    }
}

static void test_penalised(void **unused) {
    (void)unused;
    const int32_t         history[] = { START, 4, 5, 4, 6 };
    pk_constraint_options opt = unset();
    opt.repetition_penalty = 1.5f;
    check(opt, (pk_constraint_rules){ 0 }, history, 4, 3, (int32_t[]){ 4, 5, 6 }, 3);
    check(opt, (pk_constraint_rules){ .with_start = true }, history, 4, 4,
          (int32_t[]){ 4, 5, 6, START }, 4);
    opt.no_repeat_ngram = 1; /* what is banned is not penalised as well */
    opt.min_length = 9;
    check(opt, (pk_constraint_rules){ 0 }, history, 4, 0, (int32_t[]){ EOS, 4, 5, 6 }, 4);
}

static void test_start_may_be_no_token(void **unused) {
    (void)unused;
    const int32_t         history[] = { PK_NO_TOKEN, 4 };
    pk_constraint_options opt = unset();
    opt.repetition_penalty = 2;
    check(opt, (pk_constraint_rules){ .with_start = true }, history, 1, 1, (int32_t[]){ 4 }, 1);
}

static void test_suppressed_are_left_to_the_session(void **unused) {
    (void)unused;
    pk_conventions        model = plain;
    pk_source             src = source(&model);
    const int32_t         never[] = { START }, history[] = { START, 4 };
    pk_constraint_options opt = unset();
    pk_constraint         c;
    int32_t               list[64];
    pk_special            got = { .token = list };
    pk_ask                ask = { 0 };
    model.suppressed = never;
    model.n_suppressed = 1;
    opt.repetition_penalty = 2;
    assert_int_equal(
        pk_constraint_begin(&c, &opt, &src, (pk_constraint_rules){ .with_start = true }), PK_OK);
    pk_constraint_list(&c, history, 1, &got);
    pk_constraint_ask(&c, &got, &ask);
    assert_true(got.n == 1 && list[0] == 4 && ask.n_ban == 1 && ask.n_target == 1 && ask.logp);
    pk_constraint_end(&c);
    const pk_constraint_rules again = { .with_start = true, .renormalise = true };
    assert_int_equal(pk_constraint_begin(&c, &opt, &src, again), PK_OK);
    pk_constraint_list(&c, history, 1, &got); /* its share of the sum must be known */
    pk_constraint_ask(&c, &got, &ask);
    assert_true(got.n == 2 && list[1] == START && ask.n_ban == 1 && ask.n_target == 2);
    pk_constraint_end(&c);
}

/* Four tokens: 0 and 1 free, 2 penalised, 3 banned. Answers with and without the left out ones. */
static void test_weights(void **unused) {
    (void)unused;
    const double logit[] = { 1, 0.5, 2, -1 };
    const float  p = 1.5f;
    for (int kind = 0; kind < 8; kind++) {
        const bool left_out = kind & 1, on_logits = kind & 2, again = (kind & 4) || left_out;
        double     all = 0, allowed = 0, after = 0, full[4], want[4];
        for (int t = 0; t < 4; t++) all += exp(logit[t]);
        for (int t = 0; t < 2; t++) allowed += exp(logit[t]);
        for (int t = 0; t < 4; t++) full[t] = logit[t] - log(all);
        want[0] = full[0];
        want[1] = full[1];
        want[2] = on_logits ? logit[2] / p - log(all) : full[2] * p;
        for (int t = 0; t < 3; t++) after += exp(want[t]);
        for (int t = 0; t < 3 && again; t++) want[t] -= log(after);
        const double        sum = log(left_out ? allowed : all);
        const float         target[] = { (float)(logit[2] - sum), (float)(logit[3] - sum) };
        const pk_answer     a = { .target_logp = target, .log_sum = (float)sum };
        const pk_constraint c = { .rules = { .on_logits = on_logits, .renormalise = again },
                                  .left_out = left_out,
                                  .penalty = p };
        const pk_special    special = { .n = 2, .n_penalised = 1 };
        const pk_weights    w = pk_constraint_weights(&c, &special, &a);
        assert_true(fabs(logit[0] - sum + (double)w.search - want[0]) < 1e-5);
        assert_true(fabs(logit[1] - sum + (double)w.search - want[1]) < 1e-5);
        assert_true(fabs((double)pk_constraint_weigh(&c, &w, &a, 0) - want[2]) < 1e-5);
        assert_true(fabs(logit[0] - sum + (double)w.model - full[0]) < 1e-5);
    }
}

static void test_max_length(void **unused) {
    (void)unused;
    pk_conventions        model = plain;
    pk_source             src = source(&model);
    pk_constraint_options opt = unset();
    assert_int_equal(pk_constraint_max_length(&opt, &src), 20);
    opt.max_length = 5;
    assert_int_equal(pk_constraint_max_length(&opt, &src), 5);
    opt.max_length = 50;
    assert_int_equal(pk_constraint_max_length(&opt, &src), 20);
    model.max_positions = 30; /* the model can do more than what fits this source */
    assert_int_equal(pk_constraint_max_length(&opt, &src), 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_min_length_and_unk),
        cmocka_unit_test(test_ngrams),
        cmocka_unit_test(test_characters_stay_whole),
        cmocka_unit_test(test_penalised),
        cmocka_unit_test(test_start_may_be_no_token),
        cmocka_unit_test(test_suppressed_are_left_to_the_session),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_max_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
