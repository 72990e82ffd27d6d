/* hrt_test.c - hybrid-regressive translation against a scripted model: what is fed in both stages,
 * how many passes that takes, where outputs end, which candidate wins, and what bans, prefixes and
 * limits do. */
#include "scripted.h"

static const int32_t words[] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22 };

/* Says the text: in stage one what stands k further on, in stage two what stands at a mask. */
static void plain(const scripted *s, const seen *x, float *logit) {
    const pk_ask *a = x->ask;
    if (a->token == MASK)
        assert_int_not_equal(a->block, 0);
    else
        assert_true(a->block == 0 && x->token[0] == BOS2 + s->k - 2);
    assert_int_equal(a->ahead, a->token == MASK ? -1 : s->k - 1); /* texts count from 1 */
    logit[scripted_text(s, a->pos + a->ahead + 1)] = 9;
}

static scripted model(int32_t n, int32_t k) {
    scripted s = scripted_model(words, n);
    s.prefer = plain;
    s.k = k;
    return s;
}

static void stages_by_hand(void **state) {
    scripted  s = model(4, 2);
    pk_source src = { 0 };
    output    out[4];
    (void)state;
    assert_int_equal(scripted_translate(&s, "hrt:k=2", &src, out), 1);
    ASSERT_TOKENS(&out[0], 11, 12, 13, 14, END);
    assert_string_equal(s.log, "B2?0 \n12?2 \n14?4 \nM?1 12@2 M?3 14@4 M?5 E@6 \n");
    s = model(6, 3);
    scripted_translate(&s, "hrt:k=3", &src, out);
    ASSERT_TOKENS(&out[0], 11, 12, 13, 14, 15, 16, END);
    assert_string_equal(s.log, "B3?0 \n13?3 \n16?6 \nM?1 M?2 13@3 M?4 M?5 16@6 M?7 M?8 E@9 \n");
    assert_true(out[0].score == 0 && out[0].logp[0] == 0); /* nobody wanted them */
}

/* a step for each chunk, the end symbol included, and one pass for all masks */
static void passes_of_any_length(void **state) {
    static const char *const specs[] = { "hrt:k=%d", "hrt:k=%d,b_at=4", "hrt:k=%d,b_at=3,b_nat=3" };
    (void)state;
    for (int32_t k = 2; k <= 4; k++)
        for (int32_t n = 0; n <= 12; n++)
            for (int i = 0; i < 3; i++)
                for (int32_t follow = 0; follow <= 40; follow += i == 0 ? 5 : 41) {
                    scripted  s = model(n, k);
                    pk_source src = { .want_scores = true };
                    output    out[4];
                    char      spec[64];
                    s.follow = follow;
                    snprintf(spec, sizeof spec, specs[i], (int)k);
                    scripted_translate(&s, spec, &src, out);
                    assert_int_equal(out[0].n, n + 1);
                    assert_memory_equal(out[0].token, words, (size_t)n * sizeof *words);
                    assert_int_equal(out[0].token[n], END);
                    if (i == 0) assert_int_equal(s.passes, (n + k) / k + 1);
                }
}

/* stage one says the end later than a mask does, or not at all */
static void late(const scripted *s, const seen *x, float *logit) {
    const pk_ask *a = x->ask;
    if (a->token != MASK)
        logit[a->pos < 8 ? 21 + a->pos / 2 : END] = 9;
    else
        logit[a->pos == s->n_text ? END : 11] = 9;
}

static void the_first_end_counts(void **state) {
    pk_source src = { 0 };
    output    out[4];
    (void)state;
    scripted s = model(5, 2);
    s.prefer = late;
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], 11, 21, 11, 22, END);
    s.n_text = 1;
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], END);
    s.n_text = 99;
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], 11, 21, 11, 22, 11, 23, 11, 24, 11, END);
}

static void lengths_are_limited(void **state) {
    static const struct {
        const char *spec;
        int32_t     n, max_length, want, steps; /* want: with the end, where there is one */
    } some[] = {
        { "hrt:k=2,max_length=6", 12, 0, 6, 3 },
        { "hrt:k=2,max_length=7", 12, 0, 6, 3 }, /* max_length / k steps */
        { "hrt:k=3,max_length=7", 12, 0, 6, 2 },
        { "hrt:k=4", 12, 7, 4, 1 },
        { "hrt:k=4,max_length=3", 12, 0, 3, 1 }, /* one step at least, and the rest is cut */
        { "hrt:k=2,max_length=1", 12, 0, 1, 1 },
        { "hrt:k=2,min_length=6", 2, 0, 6, 3 },
        { "hrt:k=2,min_length=5", 2, 0, 5, 3 },
        { "hrt:k=3,min_length=5", 2, 0, 5, 2 },
        { "hrt:k=3,min_length=2", 4, 0, 5, 2 }, /* it is longer anyway */
        { "hrt:k=2,min_length=99", 2, 8, 8, 4 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (int32_t follow = 0; follow <= 40; follow += 40) {
            scripted  s = model(some[i].n, some[i].spec[6] - '0');
            pk_source src = { .max_length = some[i].max_length };
            output    out[4];
            s.follow = follow;
            scripted_translate(&s, some[i].spec, &src, out);
            if (out[0].n != some[i].want || s.passes != some[i].steps + 1)
                fail_msg("%s: %d tokens, %d passes", some[i].spec, out[0].n, s.passes);
        }
}

static void the_last_token_may_have_to_be_the_end(void **state) {
    scripted  s = model(12, 2);
    pk_source src = { .want_scores = true };
    output    out[4];
    (void)state;
    s.model.forced_eos = true;
    for (int beam = 0; beam < 2; beam++) {
        scripted_translate(&s, beam ? "hrt:b_at=2,max_length=6" : "hrt:max_length=6", &src, out);
        ASSERT_TOKENS(&out[0], 11, 12, 13, 14, 15, END);
    }
}

/* ---- candidates ---- */

/* Stage one: 12 is better than 13 by 1, and both end then. Stage two: a mask before 13 is surer. */
static void rivals(const scripted *s, const seen *x, float *logit) {
    const pk_ask *a = x->ask;
    (void)s;
    if (a->token == BOS2) {
        logit[12] = 9, logit[13] = 8;
    } else if (a->token == MASK) {
        logit[a->pos == 1 ? 11 : 14] = x->token[1] == 13 ? 9.0f : 3.0f;
    } else {
        logit[END] = 9;
    }
}

/* of a token whose logit is 9, the others' being 0 */
static double sure(void) { return 9 - log(exp(9) + TEXT - 1); }

static void the_two_part_score_decides(void **state) {
    scripted s = model(0, 2);
    output   out[4];
    (void)state;
    s.prefer = rivals;
    pk_source src = { 0 };
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], 11, 12, 14, END);
    scripted_translate(&s, "hrt:k=2,b_at=2", &src, out); /* stage one's best alone is filled */
    ASSERT_TOKENS(&out[0], 11, 12, 14, END);
    scripted_translate(&s, "hrt:k=2,b_at=2,b_nat=2", &src, out);
    ASSERT_TOKENS(&out[0], 11, 13, 14, END);
    assert_string_equal(s.log, "B2?0 \n12?2 13?2 \nM?1 12@2 M?3 E@4 M?1 13@2 M?3 E@4 \n");
    assert_true(out[0].logp[0] == 0);
    src = (pk_source){ .want_scores = true, .n_best = 2 };
    assert_int_equal(scripted_translate(&s, "hrt:k=2,b_at=2,b_nat=2", &src, out), 2);
    ASSERT_TOKENS(&out[1], 11, 12, 14, END);
    /* 13 and the end; both masks, the last chunk's included; 4 positions */
    const double at = 8 - log(exp(9) + exp(8) + TEXT - 2) + sure();
    const double want = (at + 2 * sure()) / pow(4, 0.6);
    assert_true(fabs((double)out[0].score - want) < 1e-5);
    for (int i = 0; i < 4; i++) assert_true(out[0].logp[i] < 0);
    scripted_translate(&s, "hrt:k=2,b_at=2,b_nat=2,length_penalty=0", &src, out);
    assert_true(fabs((double)out[0].score - want * pow(4, 0.6)) < 1e-4);
}

/* stage one has several ideas of what comes second, but the first mask says the end */
static void short_one(const scripted *s, const seen *x, float *logit) {
    (void)s;
    logit[END] = 9;
    for (int32_t i = 11; i < 15 && x->ask->token == BOS2; i++) logit[i] = 9.5f + (float)i / 10;
}

static void outputs_that_are_alike_count_once(void **state) {
    scripted  s = model(0, 2);
    pk_source src = { .want_scores = true, .n_best = 4 };
    output    out[4];
    (void)state;
    s.prefer = short_one;
    assert_int_equal(scripted_translate(&s, "hrt:k=2,b_at=4,b_nat=4", &src, out), 1);
    ASSERT_TOKENS(&out[0], END);
    assert_non_null(strstr(s.log, "M?1 14@2 M?3 E@4 M?1 13@2")); /* all of them were filled */
}

/* ---- prefixes ---- */

static void prefixes_are_given_to_both_stages(void **state) {
    static const int32_t prefix[] = { 25, 26, 27, 28, 29, 25, 26, 27 };
    scripted             s = model(6, 2);
    output               out[4];
    (void)state;
    pk_source src = { .prefix = prefix, .n_prefix = 3, .want_attention = true };
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], 25, 26, 27, 14, 15, 16, END);
    assert_string_equal(s.log, "B2@0 26?2 \n14?4 \n16?6 \n25@1 26@2 27@3 14@4 M?5 16@6 M?7 E@8 \n");
    assert_true(out[0].attention[0] == 0); /* given */
    assert_true(out[0].attention[3] == 2); /* of the ask that found it */
    assert_true(out[0].attention[4] == 5); /* of its own mask */
    src = (pk_source){ .prefix = prefix, .n_prefix = 1, .want_scores = true };
    scripted_translate(&s, "hrt:k=2", &src, out); /* it has nothing for stage one */
    ASSERT_TOKENS(&out[0], 25, 12, 13, 14, 15, 16, END);
    assert_true(out[0].logp[0] == 0 && out[0].logp[1] < 0);
    src.n_prefix = 7;
    scripted_translate(&s, "hrt:k=2,max_length=8", &src, out); /* one more token */
    ASSERT_TOKENS(&out[0], 25, 26, 27, 28, 29, 25, 26, END);
    s.k = 4;
    scripted_translate(&s, "hrt:k=4,b_at=3,b_nat=2", &src, out);
    assert_memory_equal(out[0].token, prefix, 7 * sizeof *prefix);
}

/* ---- bans ---- */

static void nothing_is_allowed(void **state) {
    int32_t   all[TEXT];
    scripted  s = model(4, 2);
    pk_source src = { 0 };
    output    out[4];
    (void)state;
    for (int32_t i = 0; i < TEXT; i++) all[i] = i;
    s.model.suppressed = all, s.model.n_suppressed = TEXT;
    for (int beam = 0; beam < 2; beam++) {
        assert_int_equal(scripted_translate(&s, beam ? "hrt:b_at=2" : "hrt", &src, out), 1);
        assert_int_equal(out[0].n, 0);
        assert_int_equal(s.passes, 1); /* no masks: no second stage */
    }
    src.prefix = words, src.n_prefix = 3;
    scripted_translate(&s, "hrt", &src, out);
    ASSERT_TOKENS(&out[0], 11, 12, 13);
}

/* stage one may say the end, masks may not: they are before min_length, and nothing else is left */
static void no_mask_is_allowed(void **state) {
    int32_t   all[TEXT];
    scripted  s = model(2, 2);
    pk_source src = { 0 };
    output    out[4];
    (void)state;
    for (int32_t i = 0; i < TEXT; i++) all[i] = i + 1; /* all but the end */
    s.model.suppressed = all, s.model.n_suppressed = TEXT - 1;
    scripted_translate(&s, "hrt:min_length=2", &src, out);
    assert_int_equal(out[0].n, 0);
    assert_string_equal(s.log, "B2?0 \nM?1 E@2 \n");
    scripted_translate(&s, "hrt", &src, out);
    ASSERT_TOKENS(&out[0], END);
}

static void says_unknown(const scripted *s, const seen *x, float *logit) {
    plain(s, x, logit);
    logit[UNKNOWN] = 12;
}

static void the_unknown_word_can_be_banned(void **state) {
    scripted  s = model(3, 2);
    pk_source src = { .max_length = 4 };
    output    out[4];
    (void)state;
    s.prefer = says_unknown;
    scripted_translate(&s, "hrt:k=2", &src, out);
    ASSERT_TOKENS(&out[0], UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
    for (int beam = 0; beam < 2; beam++) {
        scripted_translate(&s, beam ? "hrt:k=2,unk=ban,b_at=2,b_nat=2" : "hrt:k=2,unk=ban", &src,
                           out);
        ASSERT_TOKENS(&out[0], 11, 12, 13, END);
    }
}

/* ---- refusals ---- */

static void impossible_wishes_are_refused(void **state) {
    static const int32_t prefix[LONGEST] = { 11 };
    scripted             s = model(4, 2);
    (void)state;
    pk_source src = { .n_tokens = 1, .max_length = LONGEST, .n_best = 1 };
    refuse("hrt:no_repeat_ngram=2", &src, &s.model, "hrt has no option 'no_repeat_ngram'");
    refuse("hrt:k=1", &src, &s.model, "k takes 2..8");
    refuse("hrt:b_nat=2", &src, &s.model, "b_nat is 2 but b_at is 1");
    refuse("hrt:k=5", &src, &s.model, "not trained for k=5; it has: 2, 3, 4");
    src.n_best = 2;
    refuse("hrt:b_at=3", &src, &s.model, "2 hypotheses are wanted but b_nat is 1");
    src.n_best = 1, src.prefix = prefix, src.n_prefix = LONGEST - 1;
    refuse("hrt:k=2", &src, &s.model, "shorten the prefix");
    refuse("hrt:k=2,max_length=9", &src, &s.model, "63 tokens but may have only 9");
    s.model.max_positions = 4;
    refuse("hrt:k=4", &src, &s.model, "too few target positions");
    s.model.n_added = 1;
    refuse("hrt", &src, &s.model, "it has: none");
    s.model.n_added = 0;
    refuse("hrt", &src, &s.model, "no token for masks");
}

/* without k, the smallest that the model has */
static void the_smallest_k_is_the_default(void **state) {
    const pk_added_tokens added[] = { scripted_added[0], scripted_added[2], scripted_added[3] };
    scripted              s = model(4, 3);
    pk_source             src = { 0 };
    output                out[4];
    (void)state;
    s.model.added = added, s.model.n_added = 3;
    scripted_translate(&s, "hrt", &src, out);
    assert_string_equal(s.log, "B3?0 \n13?3 \nM?1 M?2 13@3 M?4 M?5 E@6 \n");
    ASSERT_TOKENS(&out[0], 11, 12, 13, 14, END);
    refuse("hrt:k=2", &src, &s.model, "it has: 3, 4");
}

static void begin_out_of_memory(void **state) {
    static const char *const specs[] = { "hrt:k=2", "hrt:k=2,b_at=3,b_nat=2" };
    scripted                 s = model(4, 2);
    const pk_source          src = { .model = &s.model,
                                     .n_tokens = 3,
                                     .max_length = 9,
                                     .n_best = 1,
                                     .prefix = words,
                                     .n_prefix = 3,
                                     .want_attention = true };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const pk_strategy *by;
        pk_status          status = PK_NO_MEMORY;
        int                n = 0;
        for (; status != PK_OK; n++) {
            void         *made;
            const int64_t alive = pk_memory_alive();
            assert_int_equal(pk_strategy_parse(specs[i], &by, &made), PK_OK);
            pk_memory_fail_after(n + 1);
            status = by->begin(by, made, &src);
            pk_memory_fail_after(0);
            if (status == PK_OK) by->end(made);
            pk_memory_give(made);
            assert_int_equal(pk_memory_alive(), alive);
        }
        assert_true(n > 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_by_hand),
        cmocka_unit_test(passes_of_any_length),
        cmocka_unit_test(the_first_end_counts),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(the_last_token_may_have_to_be_the_end),
        cmocka_unit_test(the_two_part_score_decides),
        cmocka_unit_test(outputs_that_are_alike_count_once),
        cmocka_unit_test(prefixes_are_given_to_both_stages),
        cmocka_unit_test(nothing_is_allowed),
        cmocka_unit_test(no_mask_is_allowed),
        cmocka_unit_test(the_unknown_word_can_be_banned),
        cmocka_unit_test(impossible_wishes_are_refused),
        cmocka_unit_test(the_smallest_k_is_the_default),
        cmocka_unit_test(begin_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
