/* laws_test.c - what every strategy must keep to, on an oracle without a model. oracle.h itself
 * checks, for each sentence: positions, limits on asks, hypotheses, slots and top_k, no allocation
 * while decoding, everything given back. */
#include "oracle.h"

static const char *const rules[] = { "hf", "marian", "ct2", "fairseq" };
enum { N_RULES = 4, N_SEEDS = 40 };

/* ends become likelier with length, so outputs have different lengths */
static oracle model(uint32_t seed) {
    return (oracle){ .seed = seed, .vocab = 32, .pad = 31, .eos_bias = -1, .eos_slope = 0.25f };
}

static void same_tokens(const oracle_result *a, int32_t i, const oracle_result *b, int32_t j) {
    assert_int_equal(a->best[i].n, b->best[j].n);
    assert_memory_equal(a->best[i].token, b->best[j].token, (size_t)a->best[i].n * sizeof(int32_t));
}

static float sum_of(const oracle_result *r, int32_t i) {
    float sum = 0;
    for (int32_t t = 0; t < r->best[i].n; t++) sum += r->best[i].logp[t];
    return sum;
}

/* eos at the end, or not at all and then the length is the longest allowed */
static void check_shape(const oracle_result *r, const pk_source *src) {
    assert_in_range(r->n, 1, src->n_best);
    for (int32_t i = 0; i < r->n; i++) {
        const int32_t n = r->best[i].n;
        assert_in_range(n, 1, src->max_length);
        for (int32_t t = src->n_prefix; t < n - 1; t++)
            assert_int_not_equal(r->best[i].token[t], src->model->eos);
        if (r->best[i].token[n - 1] != src->model->eos) assert_int_equal(n, src->max_length);
        for (int32_t t = 0; t < src->n_prefix; t++)
            assert_int_equal(r->best[i].token[t], src->prefix[t]);
        if (i) assert_true(r->best[i - 1].score >= r->best[i].score);
        for (int32_t j = 0; j < i; j++)
            assert_false(r->best[j].n == n &&
                         !memcmp(r->best[i].token, r->best[j].token, (size_t)n * sizeof(int32_t)));
    }
}

/* the oracle's own greedy: the plainest there is */
static int32_t plain_greedy(const oracle *o, const pk_source *src, int32_t *token) {
    float   logit[ORACLE_VOCAB];
    int32_t n = src->n_prefix;
    if (n) memcpy(token, src->prefix, (size_t)n * sizeof *token);
    while (n < src->max_length) {
        int32_t best = -1;
        oracle_logits(o, token, n, logit);
        for (int32_t t = 0; t < o->vocab; t++)
            if (t != o->pad && (best < 0 || logit[t] > logit[best])) best = t;
        if (src->model->forced_eos && n == src->max_length - 1) best = src->model->eos;
        token[n++] = best;
        if (best == src->model->eos) break;
    }
    return n;
}

/* the plain loop above gives the same tokens; passes and asks are counted too */
static void test_greedy_is_greedy(void **unused) {
    (void)unused;
    const int32_t prefix[] = { 7, 3, 12 };
    for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
        oracle        o = model(seed);
        pk_source     src = oracle_source(&o, 4 + (int32_t)seed % 20);
        int32_t       token[ORACLE_LONGEST];
        oracle_result got;
        src.want_scores = seed & 1;
        o.conventions.forced_eos = seed & 2;
        src.prefix = prefix;
        src.n_prefix = (int32_t)seed % 4;
        oracle_translate(&o, "greedy", &src, &got);
        check_shape(&got, &src);
        assert_int_equal(got.best[0].n, plain_greedy(&o, &src, token));
        assert_memory_equal(got.best[0].token, token, (size_t)got.best[0].n * sizeof *token);
        assert_int_equal(o.passes, got.best[0].n - src.n_prefix);
        assert_int_equal(o.asks, got.best[0].n); /* the prefix costs asks, not passes */
    }
}

/* under all four rule sets, with and without constraints */
static void test_beam_of_one_is_greedy(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int r = 0; r < N_RULES; r++)
            for (int constrained = 0; constrained < 2; constrained++) {
                const char *more = constrained ? ",no_repeat_ngram=2,repetition_penalty=1.3,unk=ban"
                                               : ",unk=allow";
                oracle      o = model(seed), again = o;
                pk_source   src = oracle_source(&o, 14);
                oracle_result one, greedy;
                char          spec[128], plain[128];
                o.conventions.forced_eos = r == 3; /* fairseq always ends so */
                src.want_scores = true;
                snprintf(spec, sizeof spec, "beam:size=1,min_length=2,rules=%s%s", rules[r], more);
                snprintf(plain, sizeof plain, "greedy:min_length=2%s", more);
                oracle_translate(&o, spec, &src, &one);
                oracle_translate(&again, plain, &src, &greedy);
                same_tokens(&one, 0, &greedy, 0);
                assert_int_equal(o.passes, again.passes);
            }
}

/* under no penalty the score is the sum, and scoring the output again gives the same numbers */
static void test_score_is_sum_of_forced_scores(void **unused) {
    (void)unused;
    const int32_t prefix[] = { 9, 4 };
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int r = 0; r < N_RULES; r++) {
            oracle        o = model(seed);
            pk_source     src = oracle_source(&o, 12);
            oracle_result found, scored;
            char          spec[128];
            src.want_scores = true;
            src.n_best = 3;
            src.prefix = prefix;
            src.n_prefix = src.n_free_prefix = seed & 1; /* a language */
            snprintf(spec, sizeof spec,
                     "beam:size=4,length_penalty=0,min_length=0,unk=allow,rules=%s", rules[r]);
            oracle_translate(&o, spec, &src, &found);
            check_shape(&found, &src);
            for (int32_t i = 0; i < found.n; i++) {
                pk_source again = src;
                again.forced = found.best[i].token;
                again.n_forced = found.best[i].n;
                oracle_translate(&o, "", &again, &scored);
                same_tokens(&found, i, &scored, 0);
                assert_memory_equal(found.best[i].logp, scored.best[0].logp,
                                    (size_t)found.best[i].n * sizeof(float));
                assert_true(scored.best[0].score == sum_of(&scored, 0));
                if (r != 2) /* ct2 leaves pad out of the sum */
                    assert_true(fabsf(found.best[i].score - scored.best[0].score) < 1e-4f);
            }
        }
}

/* bans and penalties change what is chosen, never what a token's log-probability is said to be */
static void test_log_probs_are_the_models(void **unused) {
    (void)unused;
    static const char *const specs[] = {
        "greedy:min_length=6,no_repeat_ngram=2,unk=ban",
        "greedy:repetition_penalty=1.4,min_length=4",
        "beam:size=3,min_length=6,no_repeat_ngram=1",
        "beam:size=3,repetition_penalty=0.8,unk=ban",
        "beam:size=3,rules=ct2,repetition_penalty=1.3",
    };
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            oracle o = model(seed);
            o.renormalise = seed & 1;
            pk_source     src = oracle_source(&o, 9), again = src;
            oracle_result found, scored;
            src.want_scores = true;
            o.conventions.forced_eos = seed & 2;
            oracle_translate(&o, specs[i], &src, &found);
            again.forced = found.best[0].token;
            again.n_forced = found.best[0].n;
            oracle_translate(&o, "", &again, &scored);
            for (int32_t t = 0; t < found.best[0].n; t++)
                assert_true(fabsf(found.best[0].logp[t] - scored.best[0].logp[t]) < 1e-4f);
        }
}

static void test_shapes(void **unused) {
    (void)unused;
    static const char *const more[] = { "",
                                        ",length_penalty=2",
                                        ",no_repeat_ngram=2",
                                        ",min_length=9",
                                        ",repetition_penalty=1.5,unk=ban",
                                        ",max_length=5" };
    const int32_t            prefix[] = { 5, 6, 7 };
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int r = 0; r < N_RULES; r++) {
            oracle        o = model(seed);
            pk_source     src = oracle_source(&o, 4 + (int32_t)seed % 17);
            oracle_result got;
            char          spec[128];
            const int32_t size = 1 + (int32_t)seed % 7;
            src.n_best = size;
            src.prefix = prefix;
            src.n_prefix = (int32_t)seed % 3;
            o.conventions.forced_eos = seed & 4;
            snprintf(spec, sizeof spec, "beam:size=%d,rules=%s%s", (int)size, rules[r],
                     more[seed % 6]);
            oracle_translate(&o, spec, &src, &got);
            if (seed % 6 == 5 && src.max_length > 5) src.max_length = 5;
            check_shape(&got, &src);
        }
}

static void test_limits_are_used_up(void **unused) {
    (void)unused;
    oracle    o = { .seed = 3, .vocab = 32, .pad = 31, .eos_bias = -60 }; /* never ends by itself */
    pk_source src = oracle_source(&o, 10);
    oracle_result got;
    oracle_translate(&o, "greedy", &src, &got);
    assert_int_equal(o.most_slots, 10);
    oracle wide = { .seed = 3, .vocab = 32, .pad = 31, .eos_bias = -60 };
    oracle_translate(&wide, "beam:size=4", &src, &got);
    assert_int_equal(wide.most_asks, 4);
    assert_int_equal(wide.most_hypotheses, 4);
    assert_true(wide.most_slots > 10 && wide.most_slots <= 1 + 4 * 9);
}

static void test_small_vocabularies(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int r = 0; r < N_RULES; r++)
            for (int32_t vocab = 1; vocab < 9; vocab++) {
                oracle    o = { .seed = seed, .vocab = vocab, .pad = vocab > 3 ? vocab - 1 : -1 };
                pk_source src = oracle_source(&o, 6);
                oracle_result got;
                char          spec[128];
                o.conventions.unk = PK_NO_TOKEN;
                src.n_best = 4;
                snprintf(spec, sizeof spec, "beam:size=8,rules=%s,min_length=%d", rules[r],
                         (int)seed % 3);
                oracle_translate(&o, spec, &src, &got);
                assert_in_range(got.n, 1, 4);
                for (int32_t i = 0; i < got.n; i++) assert_true(got.best[i].n <= 6);
            }
}

/* nothing may follow: all banned, or all minus infinity. The output ends where it stands. */
static void test_dead_ends(void **unused) {
    (void)unused;
    for (int r = -1; r < N_RULES; r++)
        for (int kind = 0; kind < 2; kind++) {
            oracle o = { .seed = 5, .vocab = 4, .pad = 3, .eos_bias = -60, .nothing_after = kind };
            pk_source     src = oracle_source(&o, 9);
            oracle_result got;
            char          spec[128];
            o.conventions.unk = PK_NO_TOKEN;
            src.want_scores = kind;
            if (r < 0)
                snprintf(spec, sizeof spec, "greedy:min_length=9,no_repeat_ngram=%d", 1 - kind);
            else
                snprintf(spec, sizeof spec, "beam:size=3,rules=%s,min_length=9,no_repeat_ngram=%d",
                         rules[r], 1 - kind);
            oracle_translate(&o, spec, &src, &got);
            assert_int_equal(got.n, 1);
            assert_int_equal(got.best[0].n, 2); /* tokens 1 and 2, in some order; or any two */
            assert_true(got.best[0].score < 1);
        }
}

static void test_longest_is_one(void **unused) {
    (void)unused;
    for (int r = -1; r < N_RULES; r++)
        for (int forced = 0; forced < 2; forced++) {
            oracle        o = model(11);
            pk_source     src = oracle_source(&o, 1);
            oracle_result got;
            char          spec[64] = "greedy";
            o.conventions.forced_eos = forced;
            if (r >= 0) snprintf(spec, sizeof spec, "beam:size=4,rules=%s", rules[r]);
            oracle_translate(&o, spec, &src, &got);
            assert_int_equal(got.best[0].n, 1);
            assert_int_equal(o.passes, 1);
            if (r == 3 || (forced && r <= 0)) assert_int_equal(got.best[0].token[0], o.eos);
        }
}

/* a pass with room for one ask only: the same output, in more passes */
static void test_narrow_passes(void **unused) {
    (void)unused;
    const int32_t prefix[] = { 5, 6, 7, 8, 9 };
    for (int32_t room = 1; room < 8; room++) {
        oracle        o = model(2), narrow = model(2);
        pk_source     src = oracle_source(&o, 15);
        oracle_result wide, got;
        src.prefix = prefix;
        src.n_prefix = 5;
        src.want_scores = true;
        narrow.room = room;
        oracle_translate(&o, "greedy", &src, &wide);
        oracle_translate(&narrow, "greedy", &src, &got);
        same_tokens(&wide, 0, &got, 0);
        assert_true(wide.best[0].score == got.best[0].score);
        if (room >= 2) {
            narrow.room = room;
            oracle_translate(&o, "beam:size=2,rules=fairseq", &src, &wide);
            oracle_translate(&narrow, "beam:size=2,rules=fairseq", &src, &got);
            same_tokens(&wide, 0, &got, 0);
            assert_true(wide.best[0].score == got.best[0].score);
        }
        src.forced = wide.best[0].token;
        src.n_forced = wide.best[0].n;
        oracle_translate(&o, "", &src, &wide);
        oracle_translate(&narrow, "", &src, &got);
        assert_true(wide.best[0].score == got.best[0].score);
    }
}

static void test_attention_rows(void **unused) {
    (void)unused;
    static const char *const specs[] = { "greedy", "beam:size=3", "beam:size=4,rules=marian",
                                         NULL };
    const int32_t            prefix[] = { 5, 6 };
    for (uint32_t seed = 0; seed < 10; seed++)
        for (int i = 0; i < 4; i++) {
            oracle        o = model(seed);
            pk_source     src = oracle_source(&o, 10);
            oracle_result got;
            const int32_t forced[] = { 4, 8, 0 };
            src.want_attention = true;
            src.prefix = prefix;
            src.n_prefix = (int32_t)seed % 3;
            if (!specs[i]) {
                src.forced = forced;
                src.n_forced = 3;
                src.n_prefix = 0;
            }
            oracle_translate(&o, specs[i], &src, &got);
            for (int32_t t = 0; t < got.best[0].n; t++) /* the ask that predicted token t */
                for (int32_t j = 0; j < src.n_tokens; j++)
                    assert_true(got.attention[t * 3 + j] ==
                                oracle_attention(&o, got.best[0].token, t, j));
        }
}

static void test_model_recommends(void **unused) {
    (void)unused;
    int differs = 0;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
        oracle         o = model(seed);
        pk_source      src = oracle_source(&o, 14), plain = src;
        pk_conventions bare = o.conventions;
        oracle_result  unset, set, off, none;
        o.conventions.beams = 3;
        o.conventions.length_penalty = 0.5f;
        o.conventions.early_stopping = 1;
        o.conventions.no_repeat_ngram = 2;
        o.conventions.repetition_penalty = 1.4f;
        bare.length_penalty = 0.5f;
        plain.model = &bare;
        oracle_translate(&o, "beam", &src, &unset);
        oracle_translate(&o,
                         "beam:size=3,length_penalty=0.5,early_stopping=yes,no_repeat_ngram=2,"
                         "repetition_penalty=1.4",
                         &plain, &set);
        same_tokens(&unset, 0, &set, 0);
        assert_true(unset.best[0].score == set.best[0].score);
        oracle_translate(&o, "greedy", &src, &unset);
        oracle_translate(&o, "greedy:no_repeat_ngram=2,repetition_penalty=1.4", &plain, &set);
        same_tokens(&unset, 0, &set, 0);
        oracle_translate(&o, "greedy:no_repeat_ngram=0,repetition_penalty=1", &src, &off);
        oracle_translate(&o, "greedy", &plain, &none);
        same_tokens(&off, 0, &none, 0);
        differs +=
            off.best[0].n != set.best[0].n ||
            memcmp(off.best[0].token, set.best[0].token, (size_t)off.best[0].n * sizeof(int32_t));
    }
    assert_true(differs > 5);
}

static void test_begin_out_of_memory(void **unused) {
    (void)unused;
    static const char *const specs[] = { "greedy:no_repeat_ngram=3",
                                         "beam:size=3,repetition_penalty=2", NULL };
    for (int i = 0; i < 3; i++) {
        const pk_strategy *by = &pk_strategy_score;
        const int32_t      forced[] = { 3, 0 };
        oracle             o = model(1);
        pk_source          src = oracle_source(&o, 10);
        pk_status          status = PK_NO_MEMORY;
        src.want_attention = true;
        src.n_best = i == 1 ? 2 : 1;
        if (!specs[i]) {
            src.forced = forced;
            src.n_forced = 2;
        }
        int n = 0;
        for (; status != PK_OK; n++) {
            void         *state;
            const int64_t alive = pk_memory_alive();
            if (specs[i])
                assert_int_equal(pk_strategy_parse(specs[i], &by, &state), PK_OK);
            else
                assert_int_equal(pk_memory_take(1, by->state_size, &state), PK_OK);
            pk_memory_fail_after(n + 1);
            status = by->begin(by, state, &src);
            pk_memory_fail_after(0);
            if (status == PK_OK)
                by->end(state);
            else
                assert_int_equal(status, PK_NO_MEMORY);
            pk_memory_give(state);
            assert_int_equal(pk_memory_alive(), alive);
        }
        assert_true(n > 2);
    }
}

static void test_begin_refuses(void **unused) {
    (void)unused;
    static const char *const specs[] = { "greedy", "beam" };
    const int32_t            prefix[] = { 3, 4, 5 };
    for (int i = 0; i < 2; i++) {
        oracle             o = model(1);
        pk_source          src = oracle_source(&o, 3);
        const pk_strategy *by;
        void              *state;
        src.prefix = prefix;
        src.n_prefix = 3;
        assert_int_equal(pk_strategy_parse(specs[i], &by, &state), PK_OK);
        assert_int_equal(by->begin(by, state, &src), PK_ARGUMENT);
        assert_non_null(strstr(pk_last_error(), "3 tokens"));
        pk_memory_give(state);
    }
    void           *state;
    const pk_source nothing = { 0 };
    assert_int_equal(pk_memory_take(1, pk_strategy_score.state_size, &state), PK_OK);
    assert_int_equal(pk_strategy_score.begin(&pk_strategy_score, state, &nothing), PK_ARGUMENT);
    pk_memory_give(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_is_greedy),
        cmocka_unit_test(test_beam_of_one_is_greedy),
        cmocka_unit_test(test_score_is_sum_of_forced_scores),
        cmocka_unit_test(test_log_probs_are_the_models),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_limits_are_used_up),
        cmocka_unit_test(test_small_vocabularies),
        cmocka_unit_test(test_dead_ends),
        cmocka_unit_test(test_longest_is_one),
        cmocka_unit_test(test_narrow_passes),
        cmocka_unit_test(test_attention_rows),
        cmocka_unit_test(test_model_recommends),
        cmocka_unit_test(test_begin_out_of_memory),
        cmocka_unit_test(test_begin_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
