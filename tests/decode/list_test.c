/* list_test.c - names, options and refusals of strategies; their help; the rules of beam search. */
#include "oracle.h"

#include "decode/beam_rules.h"

static void refuse(const char *spec, const char *reason) {
    const pk_strategy *by;
    void              *state = (void *)1;
    const int64_t      alive = pk_memory_alive();
    assert_int_equal(pk_strategy_parse(spec, &by, &state), PK_ARGUMENT);
    assert_null(state);
    if (!strstr(pk_last_error(), reason)) fail_msg("%s: %s", spec, pk_last_error());
    assert_int_equal(pk_memory_alive(), alive);
}

static void parse(const char *spec, const pk_strategy *want, int32_t n_best, pk_status checked) {
    const pk_strategy *by;
    void              *state;
    if (pk_strategy_parse(spec, &by, &state)) fail_msg("%s: %s", spec, pk_last_error());
    assert_ptr_equal(by, want);
    assert_int_equal(by->check(by, state, n_best), checked);
    pk_memory_give(state);
}

static void test_parse(void **unused) {
    (void)unused;
    parse(NULL, &pk_strategy_greedy, 1, PK_OK);
    parse("", &pk_strategy_greedy, 1, PK_OK);
    parse("greedy", &pk_strategy_greedy, 1, PK_OK);
    parse("greedy:", &pk_strategy_greedy, 1, PK_OK);
    parse("beam", &pk_strategy_beam, 32, PK_OK);
    parse("beam:size=6,rules=fairseq,length_penalty=-0.5", &pk_strategy_beam, 6, PK_OK);
    parse("beam:rules=ct2,patience=2", &pk_strategy_beam, 1, PK_OK);
    parse("beam:early_stopping=never", &pk_strategy_beam, 1, PK_OK);
}

static void test_refused(void **unused) {
    (void)unused;
    refuse("bean", "no decoding strategy 'bean'; there are: greedy, beam");
    refuse("greed", "there are: greedy, beam");
    refuse("score", "there are: greedy, beam");
    refuse("greedy:size=4", "greedy has no option 'size'");
    refuse("beam:size=33", "size takes 1..32");
    refuse("beam:size=0", "size takes 1..32");
    refuse("beam:rules=moses", "hf|marian|ct2|fairseq");
    refuse("beam:unk=yes", "auto|allow|ban");
}

static void test_checks(void **unused) {
    (void)unused;
    parse("greedy", &pk_strategy_greedy, 2, PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "beam:size=2"));
    parse("beam:size=4", &pk_strategy_beam, 5, PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "5 hypotheses"));
    parse("beam", &pk_strategy_beam, 33, PK_ARGUMENT);
    parse("beam:patience=2", &pk_strategy_beam, 1, PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "rules=ct2"));
    parse("beam:rules=marian,early_stopping=yes", &pk_strategy_beam, 1, PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "rules=hf"));
}

static void test_describe(void **unused) {
    (void)unused;
    char *text;
    assert_int_equal(pk_strategies_describe(&text), PK_OK);
    for (int i = 0; pk_strategies[i]; i++) {
        assert_non_null(strstr(text, pk_strategies[i]->help));
        for (const pk_option *o = pk_strategies[i]->options; o->name; o++)
            assert_non_null(strstr(text, o->help));
    }
    pk_free(text);
    for (int n = 1; n < 40; n++) { /* no memory: a status, and nothing lost */
        const int64_t alive = pk_memory_alive();
        pk_memory_fail_after(n);
        const pk_status status = pk_strategies_describe(&text);
        pk_memory_fail_after(0);
        if (status == PK_OK)
            pk_free(text);
        else
            assert_int_equal(status, PK_NO_MEMORY);
        assert_int_equal(pk_memory_alive(), alive);
    }
}

static void test_parse_out_of_memory(void **unused) {
    (void)unused;
    const pk_strategy *by;
    void              *state;
    pk_memory_fail_after(1);
    assert_int_equal(pk_strategy_parse("beam:size=2", &by, &state), PK_NO_MEMORY);
    pk_memory_fail_after(0);
    assert_null(state);
}

static void test_lengths(void **unused) {
    (void)unused;
    const pk_source language = { .n_prefix = 1, .n_free_prefix = 1 };
    const pk_source both = { .n_prefix = 3, .n_free_prefix = 1 };
    for (int32_t kind = PK_BEAM_HF; kind <= PK_BEAM_FAIRSEQ; kind++) {
        const pk_beam_rules *r = pk_beam_rules_of(kind);
        assert_int_equal(r->kind, kind);
        assert_int_equal(pk_beam_length(r, &language, 7), 7);
        assert_int_equal(pk_beam_length(r, &both, 7), kind == PK_BEAM_HF ? 4 : 7);
    }
    assert_true(pk_beam_score(-6, 3, 1) == -2 && pk_beam_score(-6, 3, 0) == -6);
    assert_true(pk_beam_score(-6, 4, -0.5f) == -12);
    assert_true(pk_beam_score(-6, 0, 1) < -1e30f && pk_beam_score(-6, 0, 1) > -INFINITY);
}

static void test_stops(void **unused) {
    (void)unused;
    const pk_beam_rules *hf = pk_beam_rules_of(PK_BEAM_HF), *ct2 = pk_beam_rules_of(PK_BEAM_CT2);
    const pk_beam_rules *fairseq = pk_beam_rules_of(PK_BEAM_FAIRSEQ);
    pk_beam_progress     now = { .size = 3,
                                 .n_best = 2,
                                 .n_finished = 2,
                                 .n_ended = 2,
                                 .length = 5,
                                 .longest = 10,
                                 .best_unfinished = -10,
                                 .worst_finished = -1.5f,
                                 .length_penalty = 1,
                                 .patience = 1 };
    assert_false(pk_beam_stops(hf, &now) || pk_beam_stops(ct2, &now) ||
                 pk_beam_stops(fairseq, &now));
    now.n_finished = now.n_ended = 3;
    assert_true(pk_beam_stops(hf, &now)); /* -10 / 5 is worse than -1.5 */
    assert_true(pk_beam_stops(ct2, &now) && pk_beam_stops(fairseq, &now));
    now.early_stopping = PK_STOP_NEVER; /* -10 / 10 is better */
    assert_false(pk_beam_stops(hf, &now));
    now.early_stopping = PK_STOP_YES;
    assert_true(pk_beam_stops(hf, &now));
    now.patience = 1.4f; /* round(4.2) */
    assert_false(pk_beam_stops(ct2, &now));
    now.n_ended = 4;
    assert_true(pk_beam_stops(ct2, &now));
    now.length_penalty = 0; /* ct2 then waits for the best candidate to end */
    assert_false(pk_beam_stops(ct2, &now));
    now.best_ended = true;
    assert_true(pk_beam_stops(ct2, &now));
    assert_false(pk_beam_stops(pk_beam_rules_of(PK_BEAM_MARIAN), &now));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_checks),  cmocka_unit_test(test_describe),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_parse_out_of_memory),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
