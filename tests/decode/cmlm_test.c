/* cmlm_test.c - Mask-Predict against a scripted model: which lengths are tried, how many tokens are
 * masked again and which, when it stops, what wins, and what bans, prefixes and limits do. */
#include "scripted.h"

static const int32_t words[] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22 };

/* Lengths: 4, then 2, then 6. A mask says the word of its position; the later, the surer. */
static void plain(const scripted *s, const seen *x, float *logit) {
    (void)s;
    if (x->ask->group) {
        logit[4 - 1] = 9, logit[2 - 1] = 8, logit[6 - 1] = 7;
        return;
    }
    assert_int_equal(x->ask->ahead, -1);
    logit[words[x->ask->pos - 1]] = 5 + (float)x->ask->pos;
    logit[END] = 20; /* likelier than anything: it must be banned */
}

static scripted model(void) {
    scripted s = scripted_model(words, 12);
    s.prefer = plain;
    return s;
}

static void masks_and_passes_by_hand(void **state) {
    scripted s = model();
    output   out[8];
    (void)state;
    pk_source src = { .want_scores = true };
    assert_int_equal(
        scripted_translate(&s, "cmlm:iterations=4,lengths=1,length_weight=0", &src, out), 1);
    ASSERT_TOKENS(&out[0], 11, 12, 13, 14, END);
    assert_int_equal(s.passes, 1 + 4);
    assert_string_equal(s.log, "M?0 \n"
                               "M?1 M?2 M?3 M?4 E@5 \n"  /* t = 0: all */
                               "M?1 M?2 M?3 14@4 E@5 \n" /* floor(4 (1 - 1/4)) */
                               "M?1 M?2 13@3 14@4 E@5 \n"
                               "M?1 12@2 13@3 14@4 E@5 \n");
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += out[0].logp[i];
    assert_true(out[0].score == sum / 4 && out[0].logp[4] == 0 && sum < 0);
    src = (pk_source){ 0 };
    assert_int_equal(scripted_translate(&s, "cmlm:iterations=1,lengths=1", &src, out), 1);
    assert_int_equal(s.passes, 2);
    assert_true(out[0].logp[0] == 0); /* nobody wanted them */
    /* more iterations than tokens: one is masked at least */
    scripted_translate(&s, "cmlm:iterations=6,lengths=1,max_length=3", &src, out);
    ASSERT_TOKENS(&out[0], 11, 12, END);
    assert_string_equal(s.log, "M?0 \nM?1 M?2 E@3 \nM?1 12@2 E@3 \nM?1 12@2 E@3 \nM?1 12@2 E@3 \n"
                               "M?1 12@2 E@3 \nM?1 12@2 E@3 \n");
}

#define TOKENS_ALONE "cmlm:iterations=2,lengths=3,length_weight=0"

/* all lengths are blocks of one pass, and the surest translation wins */
static void lengths_compete(void **state) {
    scripted  s = model();
    pk_source src = { .n_best = 3, .want_scores = true };
    output    out[8];
    (void)state;
    assert_int_equal(scripted_translate(&s, TOKENS_ALONE, &src, out), 3);
    assert_string_equal(s.log,
                        "M?0 \n"
                        "M?1 M?2 M?3 M?4 E@5 M?1 M?2 E@3 M?1 M?2 M?3 M?4 M?5 M?6 E@7 \n"
                        "M?1 M?2 13@3 14@4 E@5 M?1 12@2 E@3 M?1 M?2 M?3 14@4 15@5 16@6 E@7 \n");
    assert_int_equal(out[0].n, 7); /* positions further behind are surer, so the longest is */
    assert_int_equal(out[1].n, 5);
    assert_int_equal(out[2].n, 3);
    assert_true(out[0].score > out[1].score && out[1].score > out[2].score);
    src.n_best = 1;
    assert_int_equal(scripted_translate(&s, TOKENS_ALONE, &src, out), 1);
    assert_int_equal(out[0].n, 7);
    scripted_translate(&s, "cmlm:lengths=32,length_weight=0", &src, out); /* more than there are */
    assert_int_equal(out[0].n, LENGTHS + 1);
}

/* two lengths: every token of both is as sure, and the longer one is ten times likelier */
static void alike(const scripted *s, const seen *x, float *logit) {
    (void)s;
    if (x->ask->group)
        logit[3 - 1] = 9, logit[2 - 1] = 9 - 2.3026f;
    else
        logit[words[x->ask->pos - 1]] = x->n == 3 ? 5.01f : 5.0f; /* the shorter a little surer */
}

static void the_length_is_part_of_the_score(void **state) {
    scripted  s = model();
    pk_source src = { .want_scores = true, .n_best = 2 };
    output    out[8];
    (void)state;
    s.prefer = alike;
    scripted_translate(&s, "cmlm:lengths=2,length_weight=0", &src, out);
    assert_int_equal(out[0].n, 2 + 1);
    const float alone[] = { out[1].score, out[0].score };
    scripted_translate(&s, "cmlm:lengths=2", &src, out);
    assert_int_equal(out[0].n, 3 + 1);
    const double all = log(exp(9) + exp(9 - 2.3026) + LENGTHS - 2);
    const double want[] = { (double)alone[0] + (9 - all) / 3,
                            (double)alone[1] + (9 - 2.3026 - all) / 2 };
    for (int i = 0; i < 2; i++) assert_true(fabs((double)out[i].score - want[i]) < 1e-5);
}

/* at 2 it says 12 when all are masks, and 25 once 11 stands before it */
static void depends(const scripted *s, const seen *x, float *logit) {
    const int32_t pos = x->ask->pos;
    (void)s;
    if (x->ask->group) {
        logit[3 - 1] = 9;
        return;
    }
    logit[pos == 2 && x->token[0] == 11 ? 25 : words[pos - 1]] = pos == 2 ? 1.0f : 5.0f;
}

static void what_is_masked_sees_the_rest(void **state) {
    scripted  s = model();
    pk_source src = { 0 };
    output    out[8];
    (void)state;
    s.prefer = depends;
    scripted_translate(&s, "cmlm:iterations=1,lengths=1", &src, out);
    ASSERT_TOKENS(&out[0], 11, 12, 13, END);
    scripted_translate(&s, "cmlm:iterations=3,lengths=1", &src, out);
    ASSERT_TOKENS(&out[0], 11, 25, 13, END);
    /* ties at positions 1 and 3: the first is masked with the least certain */
    assert_string_equal(s.log, "M?0 \nM?1 M?2 M?3 E@4 \nM?1 M?2 13@3 E@4 \n11@1 M?2 13@3 E@4 \n");
}

static void stops_when_nothing_changes(void **state) {
    scripted  s = model();
    pk_source src = { 0 };
    output    out[8];
    (void)state;
    scripted_translate(&s, "cmlm:iterations=10,lengths=2,stop=unchanged", &src, out);
    assert_int_equal(s.passes, 1 + 2); /* the second iteration says the same */
    s.prefer = depends;
    scripted_translate(&s, "cmlm:iterations=3,lengths=1,stop=unchanged", &src, out);
    assert_int_equal(s.passes, 1 + 2); /* 11 was masked too, so 12 stays: as good as it knew */
    scripted_translate(&s, "cmlm:iterations=10", &src, out);
    assert_int_equal(s.passes, 1 + 10);
}

static void lengths_are_limited(void **state) {
    static const struct {
        const char *spec;
        int32_t     max_length, n;
    } some[] = {
        { "cmlm:lengths=1", 0, 5 },
        { "cmlm:lengths=1,max_length=4", 0, 3 }, /* 2 tokens and the end: 4 are too many */
        { "cmlm:lengths=1", 4, 3 },
        { "cmlm:lengths=1,max_length=2", 0, 2 },
        { "cmlm:lengths=1,max_length=1", 0, 1 }, /* one token, and no room for the end */
        { "cmlm:lengths=1,min_length=6", 0, 7 },
        { "cmlm:lengths=1,min_length=13", 0, 13 },
        { "cmlm:lengths=1,min_length=99", 0, 13 }, /* the longest that it has learned */
        { "cmlm:lengths=5,min_length=4,max_length=4", 0, 4 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        scripted  s = model();
        pk_source src = { .max_length = some[i].max_length };
        output    out[8];
        scripted_translate(&s, some[i].spec, &src, out);
        if (out[0].n != some[i].n) fail_msg("%s: %d tokens", some[i].spec, out[0].n);
    }
}

static void prefixes_stay(void **state) {
    const int32_t prefix[] = { 21, 22, 23, 24, 25, 26, 27, 28, 29, 21, 22, 23 };
    scripted      s = model();
    output        out[8];
    (void)state;
    pk_source src = { .prefix = prefix, .n_prefix = 2, .want_attention = true };
    scripted_translate(&s, "cmlm:iterations=2,lengths=1", &src, out);
    ASSERT_TOKENS(&out[0], 21, 22, 13, 14, END);
    assert_string_equal(s.log, "M?0 \n21@1 22@2 M?3 M?4 E@5 \n21@1 22@2 M?3 14@4 E@5 \n");
    assert_true(out[0].attention[1] == 0 && out[0].attention[2] == 3); /* of the ask itself */
    src.n_prefix = 4; /* something comes behind it */
    scripted_translate(&s, "cmlm:lengths=1", &src, out);
    assert_int_equal(out[0].n, 7);
    src.n_prefix = 6;
    scripted_translate(&s, "cmlm:lengths=1,max_length=7", &src, out);
    ASSERT_TOKENS(&out[0], 21, 22, 23, 24, 25, 26, 17);
}

static void impossible_wishes_are_refused(void **state) {
    const int32_t prefix[LENGTHS] = { 11 };
    scripted      s = model();
    (void)state;
    pk_source src = { .n_tokens = 1, .max_length = LONGEST, .n_best = 1 };
    refuse("cmlm:no_repeat_ngram=2", &src, &s.model, "cmlm has no option 'no_repeat_ngram'");
    refuse("cmlm:repetition_penalty=2", &src, &s.model, "cmlm has no option");
    refuse("cmlm:iterations=0", &src, &s.model, "iterations takes 1..100");
    src.prefix = prefix, src.n_prefix = LENGTHS;
    refuse("cmlm", &src, &s.model, "shorten the prefix");
    src.n_prefix = 0, src.n_best = 6;
    refuse("cmlm", &src, &s.model, "5 lengths are tried");
    src.n_best = 1, s.model.n_added = 4;
    refuse("cmlm", &src, &s.model, "no tokens for masks and lengths");
    s.model.n_added = 5, s.model.max_positions = 2;
    refuse("cmlm", &src, &s.model, "too few target positions");
}

/* the unknown word can be banned; when nothing is left the output is the prefix */
static void bans(void **state) {
    int32_t   all[TEXT];
    scripted  s = model();
    pk_source src = { 0 };
    output    out[8];
    (void)state;
    const int32_t unknown[] = { UNKNOWN, UNKNOWN, 12, UNKNOWN };
    for (int32_t i = 0; i < TEXT; i++) all[i] = i;
    s.model.suppressed = all, s.model.n_suppressed = TEXT;
    assert_int_equal(scripted_translate(&s, "cmlm", &src, out), 1);
    assert_int_equal(out[0].n, 0);
    assert_int_equal(s.passes, 2);
    src.prefix = unknown, src.n_prefix = 2;
    scripted_translate(&s, "cmlm", &src, out);
    ASSERT_TOKENS(&out[0], UNKNOWN, UNKNOWN);
    src.n_prefix = 0;
    s.model.n_suppressed = TEXT - 1; /* the last is left */
    scripted_translate(&s, "cmlm:lengths=1", &src, out);
    ASSERT_TOKENS(&out[0], TEXT - 1, TEXT - 1, TEXT - 1, TEXT - 1, END);
    for (int32_t i = 0; i < TEXT; i++) all[i] = i + (i >= UNKNOWN); /* the unknown word is left */
    s.model.n_suppressed = TEXT - 1;
    scripted_translate(&s, "cmlm:lengths=1", &src, out);
    assert_int_equal(out[0].token[0], UNKNOWN);
    scripted_translate(&s, "cmlm:lengths=1,unk=ban", &src, out);
    assert_int_equal(out[0].n, 0);
}

static void begin_out_of_memory(void **state) {
    scripted        s = model();
    const pk_source src = {
        .model = &s.model, .n_tokens = 3, .max_length = 9, .n_best = 1, .want_attention = true
    };
    const pk_strategy *by;
    pk_status          status = PK_NO_MEMORY;
    int                n = 0;
    (void)state;
    for (; status != PK_OK; n++) {
        void         *made;
        const int64_t alive = pk_memory_alive();
        assert_int_equal(pk_strategy_parse("cmlm:lengths=2", &by, &made), PK_OK);
        pk_memory_fail_after(n + 1);
        status = by->begin(by, made, &src);
        pk_memory_fail_after(0);
        if (status == PK_OK) by->end(made);
        pk_memory_give(made);
        assert_int_equal(pk_memory_alive(), alive);
    }
    assert_true(n > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_and_passes_by_hand),
        cmocka_unit_test(lengths_compete),
        cmocka_unit_test(the_length_is_part_of_the_score),
        cmocka_unit_test(what_is_masked_sees_the_rest),
        cmocka_unit_test(stops_when_nothing_changes),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(prefixes_stay),
        cmocka_unit_test(impossible_wishes_are_refused),
        cmocka_unit_test(bans),
        cmocka_unit_test(begin_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
