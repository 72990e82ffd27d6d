/* guess_test.c - where guesses come from, how a text is read along, how many are worth asking. */
#include "oracle.h"

#include "decode/guess.h"

enum { ROOM = 40 };
typedef struct setting {
    pk_guess guess;
    int32_t  history[ROOM + 70]; /* history[0] is the start symbol */
} setting;

static const int32_t plain[] = { 11, 12, 13, 14, 15, 16, 17, 18 };

static const pk_conventions model = { .vocab = 100, .start = 99, .eos = 0, .unk = 1 };

static pk_source source_with(const int32_t *token, int32_t n) {
    return (pk_source){ .model = &model, .token = token, .n_tokens = n };
}

/* guesses after the given output, for a window of `width` (0: auto); returns how many */
static int32_t guesses(setting *s, const int32_t *output, int32_t n, int32_t width) {
    const pk_pass pass = { 0 };
    s->history[0] = 99;
    if (n) memcpy(s->history + 1, output, (size_t)n * sizeof *output);
    return pk_guess_fill(&s->guess, s->history, n, ROOM - n, width, &pass);
}

#define EXPECT_GUESSES(s, output, n, width, ...)                          \
    do {                                                                  \
        const int32_t want_[] = { __VA_ARGS__ };                          \
        const int32_t n_ = (int32_t)(sizeof want_ / sizeof *want_);       \
        assert_int_equal(guesses(s, output, n, width), n_);               \
        assert_memory_equal((s)->history + (n) + 1, want_, sizeof want_); \
    } while (0)

static void with_draft(setting *s, const int32_t *draft, int32_t n) {
    *s = (setting){ 0 };
    pk_source src = source_with(NULL, 0);
    src.draft = draft;
    src.n_draft = n;
    assert_int_equal(pk_guess_begin(&s->guess, PK_INIT_DRAFT, &src), PK_OK);
}

static void test_draft_is_followed(void **unused) {
    (void)unused;
    setting s;
    with_draft(&s, plain, 8);
    EXPECT_GUESSES(&s, plain, 0, 4, 11, 12, 13);
    EXPECT_GUESSES(&s, plain, 4, 9, 15, 16, 17, 18); /* no further than it goes */
    assert_int_equal(guesses(&s, plain, 8, 9), 0);
}

static void test_draft_finds_its_position(void **unused) {
    (void)unused;
    const int32_t other[] = { 11, 12, 50, 51, 14, 15 };
    setting       s;
    with_draft(&s, plain, 8);
    EXPECT_GUESSES(&s, other, 0, 3, 11, 12);
    EXPECT_GUESSES(&s, other, 3, 3, 14, 15); /* substitution */
    EXPECT_GUESSES(&s, other, 4, 3, 15, 16); /* and again: the wrong way this time */
    EXPECT_GUESSES(&s, other, 5, 3, 15, 16); /* found by 14: a token was put in */
    const int32_t skips[] = { 11, 12, 15 };
    with_draft(&s, plain, 8);
    EXPECT_GUESSES(&s, skips, 2, 3, 13, 14);
    EXPECT_GUESSES(&s, skips, 3, 3, 16, 17); /* tokens were left out */
}

/* of several positions the longest match counts, then the nearest */
static void test_draft_repeats_itself(void **unused) {
    (void)unused;
    const int32_t draft[] = { 5, 6, 20, 5, 7, 21, 9, 5, 22, 8, 6, 5, 23 };
    const int32_t far[] = { 40, 6, 5 }, near[] = { 40, 41, 42, 5 };
    setting       s;
    with_draft(&s, draft, 13);
    EXPECT_GUESSES(&s, far, 3, 2, 23);
    with_draft(&s, draft, 13);
    EXPECT_GUESSES(&s, near, 4, 2, 7); /* the second 5 */
}

static void test_draft_after_language(void **unused) {
    (void)unused;
    const int32_t output[] = { 90, 11 };
    setting       s = { 0 };
    pk_source     src = source_with(NULL, 0);
    src.draft = plain;
    src.n_draft = 8;
    src.n_prefix = src.n_free_prefix = 1;
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_DRAFT, &src), PK_OK);
    EXPECT_GUESSES(&s, output, 1, 3, 11, 12);
}

/* the source sentence is read along; tokens outside the target vocabulary stop it */
static void test_copy(void **unused) {
    (void)unused;
    const int32_t source[] = { 30, 31, 32, 500, 34, 35, 0, 97 }; /* 500: of another vocabulary */
    const int32_t output[] = { 40, 41, 34 };
    setting       s = { 0 };
    pk_source     src = source_with(source, 8);
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_COPY, &src), PK_OK);
    EXPECT_GUESSES(&s, output, 0, 8, 30, 31, 32); /* stops at what cannot be */
    EXPECT_GUESSES(&s, output, 3, 8, 35);         /* neither end symbol nor language */
}

static void test_padding_and_predictions(void **unused) {
    (void)unused;
    const int32_t predicted[] = { 60, 61, 0, 62 }, output[] = { 50, 51, 52, 60 };
    setting       s = { 0 };
    pk_source     src = source_with(NULL, 0);
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_PAD, &src), PK_OK);
    EXPECT_GUESSES(&s, output, 1, 4, 99, 99, 99);
    pk_guess_learn(&s.guess, s.history, 1, 2, predicted, 2);
    EXPECT_GUESSES(&s, output, 2, 4, 60, 61, 99);
    EXPECT_GUESSES(&s, output, 3, 3, 61, 99); /* still the prediction, one further */
    EXPECT_GUESSES(&s, output, 4, 3, 61, 99); /* found again */
    pk_guess_learn(&s.guess, s.history, 1, 2, predicted, 4);
    EXPECT_GUESSES(&s, output, 2, 5, 60, 61); /* nothing follows an end */
    pk_conventions other = model;
    other.start = PK_NO_TOKEN;
    assert_int_equal(pk_guess_padding(&other), 1);
    other.unk = PK_NO_TOKEN;
    assert_int_equal(pk_guess_padding(&other), 0);
}

/* from the output of an earlier sentence */
static void test_ngrams(void **unused) {
    (void)unused;
    const int32_t before[] = { 99, 11, 12, 13, 14, 15, 0 };
    setting       s = { 0 };
    pk_source     src = source_with(NULL, 0);
    assert_int_equal(pk_ngrams_open(12, &src.ngrams), PK_OK);
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_NGRAM, &src), PK_OK);
    assert_int_equal(guesses(&s, plain, 2, 8), 0);
    pk_guess_finish(&s.guess, before, 6);
    EXPECT_GUESSES(&s, plain, 2, 8, 13, 14, 15); /* not the end, after which nothing is asked */
    EXPECT_GUESSES(&s, plain, 1, 3, 12, 13);     /* the beginning is context too */
    pk_ngrams_close(src.ngrams);
}

/* each kind that suggested a token is judged, asked about or not */
static void test_rates_learn(void **unused) {
    (void)unused;
    const int32_t kind = PK_GUESS_DRAFT * PK_GUESS_STRENGTHS + PK_GUESS_MORE;
    int32_t       same[ROOM], count = 0;
    for (int32_t i = 0; i < ROOM; i++) same[i] = 10 + i;
    setting s;
    with_draft(&s, same, ROOM);
    for (int32_t n = 4; n < ROOM - 1; n++) { /* the draft is right each time */
        assert_true(guesses(&s, same, n, 0) >= 1);
        s.history[n + 1] = same[n];
        pk_guess_learn(&s.guess, s.history, n, n + 1, NULL, 0);
    }
    assert_true(pk_rates_of(s.guess.rates, kind) > 0.9f);
    for (int32_t i = 0; i < 400; i++) { /* and now it never is */
        count += guesses(&s, same, 20, 0) > 0;
        s.history[21] = 2;
        pk_guess_learn(&s.guess, s.history, 20, 21, NULL, 0);
    }
    assert_true(pk_rates_of(s.guess.rates, kind) < 0.02f);
    assert_int_equal(guesses(&s, same, 20, 0), 0);
    assert_true(count < 399);
}

/* padding that never leads anywhere is tried rarely, not never */
static void test_probes(void **unused) {
    (void)unused;
    pk_source     src = source_with(NULL, 0);
    const int32_t wrong[] = { 70 };
    int32_t       asked = 0, passes = 0, twos[ROOM];
    assert_int_equal(pk_ngrams_open(4, &src.ngrams), PK_OK);
    for (int32_t i = 0; i < ROOM; i++) twos[i] = 2;
    for (int32_t sentence = 0; sentence < 100; sentence++) {
        setting s = { 0 };
        assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_PAD, &src), PK_OK);
        for (int32_t n = 0; n < 30; n++) {
            const int32_t found = guesses(&s, twos, n, 0);
            s.history[n + 1] = 2;
            pk_guess_learn(&s.guess, s.history, n, n + 1, wrong, found > 0);
            asked += sentence >= 30 && found; /* it knows by now */
            passes += sentence >= 30;
        }
    }
    assert_in_range(asked, passes / 100, passes / 30);
    pk_ngrams_close(src.ngrams);
}

/* rates of guesses against costs of a pass: how many are asked about */
static void test_width(void **unused) {
    (void)unused;
    const float sure[] = { 0.99f, 0.99f, 0.99f, 0.99f }, half[] = { 0.5f, 0.5f, 0.5f, 0.5f };
    const float late[] = { 0.1f, 0.99f, 0.99f, 0.99f }, never[] = { 0.001f };
    const float flat[] = { 0, 1, 1, 1, 1, 1, 1 }, steep[] = { 0, 1, 2, 3, 4, 5, 6 };
    const float steps[] = { 0, 1, 1.8f, 1.8f, 1.8f, 1.8f }, unknown[] = { 0 };
    assert_int_equal(pk_rates_width(sure, 4, flat, 7), 4);
    assert_int_equal(pk_rates_width(sure, 4, steep, 7), 0); /* an ask costs what it keeps */
    assert_int_equal(pk_rates_width(half, 4, NULL, 0), 2);
    assert_int_equal(pk_rates_width(late, 4, steps, 6), 0);
    assert_int_equal(pk_rates_width(sure, 1, steps, 6), 1); /* 1.99 tokens for 1.8 */
    assert_int_equal(pk_rates_width(sure, 4, steps, 6), 4); /* a step once taken is used */
    assert_int_equal(pk_rates_width(never, 1, NULL, 0), 0);
    assert_int_equal(pk_rates_width(never, 0, flat, 7), 0);
    assert_int_equal(pk_rates_width(sure, 4, steep, 3), 0); /* goes on as steep as it was */
    assert_int_equal(pk_rates_width(sure, 4, unknown, 1), 4);
}

static void test_refuses_draft(void **unused) {
    (void)unused;
    setting       s = { 0 };
    pk_source     src = source_with(NULL, 0);
    const int32_t high[] = { 100 }, low[] = { 5, -1 };
    src.draft = high;
    src.n_draft = 1;
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_AUTO, &src), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "target vocabulary"));
    src.draft = low;
    src.n_draft = 2;
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_AUTO, &src), PK_ARGUMENT);
    src.n_draft = 0; /* an empty draft is no draft */
    assert_int_equal(pk_guess_begin(&s.guess, PK_INIT_DRAFT, &src), PK_OK);
    assert_int_equal(guesses(&s, plain, 3, 9), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draft_is_followed),
        cmocka_unit_test(test_draft_finds_its_position),
        cmocka_unit_test(test_draft_repeats_itself),
        cmocka_unit_test(test_draft_after_language),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_padding_and_predictions),
        cmocka_unit_test(test_ngrams),
        cmocka_unit_test(test_rates_learn),
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_refuses_draft),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
