/* nat_test.c - every token by itself, with scripted answers: what is asked, the best of the lengths in
 * range, prefixes, limits, refusals. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "decode/strategy.h"
#include "lexicon/lexicon_count.h"

enum { EOS = 0, UNK = 1, VOCAB = 10, MOST = 12 };

/* a lexicon whose outputs are as long as their sources */
static pk_buffer            bytes;
static pk_lexicon           lexicon;
static const pk_conventions model = {
    .vocab = VOCAB, .start = PK_NO_TOKEN, .eos = EOS, .unk = UNK, .max_positions = 64
};

static int open_lexicon(void **state) {
    pk_lexicon_counter c;
    (void)state;
    ASSERT_OK(pk_lexicon_counter_open(VOCAB, VOCAB, &c));
    for (int32_t n = 1; n < 6; n++) {
        const int32_t  token[] = { 2, 3, 4, 5, 6 };
        const uint32_t link[] = { 1, 2, 3, 4, 5 };
        ASSERT_OK(pk_lexicon_count(&c, token, n, token, n, link));
    }
    ASSERT_OK(pk_lexicon_make(&c, 1, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &lexicon));
    pk_lexicon_counter_close(&c);
    return 0;
}

static int close_lexicon(void **state) {
    (void)state;
    pk_buffer_free(&bytes);
    return 0;
}

static const int32_t sentence[] = { 4, 5, 6, 7, EOS };
static pk_source     source_of(const int32_t *token, int32_t n) {
        return (pk_source){ .model = &model,
                            .n_tokens = n,
                            .token = token,
                            .max_length = MOST,
                            .n_best = 1,
                            .want_scores = true,
                            .lexicon = &lexicon };
}

typedef struct
    script { /* answers by position: the best token, its log-probability, that of the end */
    int32_t token[MOST + 1];
    float   best[MOST + 1], end[MOST + 1];
} script;

static uint64_t draw_one(uint64_t *seed) { return pk_mix(*seed += PK_GOLDEN) >> 33; }

static script draw(uint64_t seed) {
    script s;
    for (int t = 0; t <= MOST; t++) {
        s.token[t] = 2 + (int32_t)(draw_one(&seed) % (VOCAB - 2));
        s.best[t] = -(float)(draw_one(&seed) % 16) / 16; /* sums are exact */
        s.end[t] = -(float)(draw_one(&seed) % 128) / 16;
    }
    return s;
}

typedef struct text {
    int32_t n, token[MOST + 2], asks;
    float   score, logp[MOST + 2];
} text;

static void answer(const pk_source *src, const script *by, pk_pass *pass, pk_candidate *best) {
    for (int32_t i = 1; i <= pass->n; i++) {
        const pk_ask *a = &pass->ask[i];
        assert_int_equal(a->token, PK_NO_TOKEN);
        assert_int_equal(a->pos, src->n_prefix + i - 1);
        assert_int_equal(a->parent, 0); /* it sees itself alone */
        assert_int_equal(a->block, 0);
        assert_true(a->top_k == 1 && a->logp && a->n_ban == 1 && a->ban[0] == EOS);
        assert_true(a->n_target == 1 && a->target[0] == EOS);
        best[i] = (pk_candidate){ by->token[a->pos], by->best[a->pos] };
        pass->answer[i] = (pk_answer){ .top = &best[i], .target_logp = &by->end[a->pos] };
    }
}

static text decode(const char *spec, const pk_source *src, const script *by_script) {
    const pk_strategy *by;
    void              *state;
    pk_ask             ask[MOST + 2];
    pk_answer          answers[MOST + 2];
    pk_candidate       best[MOST + 2];
    int32_t            tip[1];
    pk_verdict         verdict = { .room = 1, .tip = tip };
    pk_hypothesis      h;
    text               out = { 0 };
    ASSERT_OK(pk_strategy_parse(spec, &by, &state));
    pk_pass pass = { .room = by->limits(by, state, src).asks, .ask = ask, .answer = answers };
    assert_in_range(pass.room, 1, MOST);
    ASSERT_OK(by->begin(by, state, src));
    const int64_t allocations = pk_memory_count();
    by->propose(state, &pass);
    answer(src, by_script, &pass, best);
    by->absorb(state, &pass, &verdict);
    assert_int_equal(pk_memory_count(), allocations); /* none while decoding */
    assert_true(verdict.done && verdict.n_hypotheses == 0);
    assert_int_equal(by->result(state, &h, 1), 1);
    out.n = h.n, out.score = h.score, out.asks = pass.n;
    memcpy(out.token, h.token, (size_t)h.n * sizeof *h.token);
    memcpy(out.logp, h.logp, (size_t)h.n * sizeof *h.logp);
    by->end(state);
    by->end(state); /* twice is harmless */
    pk_memory_give(state);
    return out;
}

/* ---- tests ---- */

static void the_best_length(void **unused) {
    const pk_source src = source_of(sentence, 5);
    int             lengths[MOST] = { 0 };
    (void)unused;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const script s = draw(seed);
        const text   got = decode("nat:delta=2", &src, &s);
        float        most = -INFINITY;
        int32_t      n = 0;
        for (int32_t length = 2; length <= 6; length++) { /* 4 are expected */
            float sum = s.end[length];
            for (int32_t t = 0; t < length; t++) sum += s.best[t];
            if (sum > most) most = sum, n = length;
        }
        assert_int_equal(got.asks, 7);
        assert_int_equal(got.n, n + 1);
        assert_memory_equal(got.token, s.token, (size_t)n * sizeof *got.token);
        assert_int_equal(got.token[n], EOS);
        assert_true(got.score == most && got.logp[n] == s.end[n] && got.logp[0] == s.best[0]);
        lengths[n]++;
    }
    for (int32_t n = 2; n <= 6; n++) assert_true(lengths[n] > 0);
}

static void prefixes_are_kept(void **unused) {
    const int32_t given[] = { 8, 3, 3, 3, 3, 3, 3, 3 };
    (void)unused;
    for (int32_t n = 0; n <= 8; n++) {
        const script s = draw((uint64_t)n);
        pk_source    src = source_of(sentence, 5);
        src.prefix = given;
        src.n_prefix = n;
        const text got = decode("nat", &src, &s);
        assert_memory_equal(got.token, given, (size_t)n * sizeof *given);
        assert_true(got.n > n && got.token[got.n - 1] == EOS);
        for (int32_t t = 0; t < n; t++) assert_true(got.logp[t] == 0); /* they are certain */
        for (int32_t t = n; t + 1 < got.n; t++) assert_int_equal(got.token[t], s.token[t]);
    }
}

static void lengths_have_limits(void **unused) {
    const int32_t only_end[] = { EOS };
    pk_source     src = source_of(sentence, 5), empty = source_of(only_end, 1);
    const script  s = draw(1);
    (void)unused;
    src.max_length = 4; /* end symbol included */
    assert_in_range(decode("nat", &src, &s).n, 2, 4);
    src.max_length = 1;
    assert_int_equal(decode("nat", &src, &s).n, 1);
    assert_int_equal(decode("nat:delta=0", &empty, &s).n, 1);
}

/* tokens that may not come: where nothing is left, the output ends */
static void nothing_is_allowed(void **unused) {
    const pk_source src = source_of(sentence, 5);
    script          s = draw(2);
    (void)unused;
    s.token[2] = PK_NO_TOKEN;
    const text got = decode("nat:delta=0", &src, &s);
    assert_int_equal(got.n, 2);
}

static pk_status begin_and_end(void *user) {
    const pk_strategy *by;
    void              *state;
    pk_source          src = source_of(sentence, 5);
    (void)user;
    src.want_attention = true;
    PK_TRY(pk_strategy_parse("nat", &by, &state));
    const pk_status status = by->begin(by, state, &src);
    by->end(state);
    pk_memory_give(state);
    return status;
}

static void what_is_refused(void **unused) {
    const pk_strategy *by;
    void              *state;
    pk_source          src = source_of(sentence, 5);
    (void)unused;
    ASSERT_STATUS(PK_ARGUMENT, pk_strategy_parse("nat:delta=-1", &by, &state));
    ASSERT_OK(pk_strategy_parse("nat", &by, &state));
    src.lexicon = NULL;
    ASSERT_STATUS(PK_UNSUPPORTED, by->begin(by, state, &src));
    ASSERT_STATUS(PK_ARGUMENT, by->check(by, state, 2));
    pk_memory_give(state);
    assert_true(check_every_allocation(begin_and_end, NULL) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_length),     cmocka_unit_test(prefixes_are_kept),
        cmocka_unit_test(lengths_have_limits), cmocka_unit_test(nothing_is_allowed),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, open_lexicon, close_lexicon);
}
