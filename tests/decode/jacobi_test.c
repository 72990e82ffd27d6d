/* jacobi_test.c - jacobi, pj, pgj and hgj give greedy's output and greedy's log-probabilities, bit
 * for bit, whatever the guesses, widths, bans and lengths; and take the passes they should.
 * oracle.h checks limits, positions and that nothing is allocated on the way. */
#include "scenes.h"

#include "decode/guess.h"

static const char *const methods[] = {
    "jacobi",
    "jacobi:window=1",
    "jacobi:window=2,init=pad",
    "jacobi:window=5,init=copy",
    "jacobi:window=8,init=shift",
    "jacobi:window=64,init=draft",
    "jacobi:window=7,init=ngram",
    "jacobi:window=16",
    "jacobi:init=pad",
    "jacobi:init=copy",
    "jacobi:init=ngram",
    "jacobi:init=draft",
    "pj",
    "pj:length=7",
    "pj:length=1",
    "pgj",
    "pgj:block=1",
    "pgj:block=5",
    "pgj:block=64",
    "hgj",
    "hgj:block=4,length=6",
    "hgj:block=64,length=3",
    "hgj:block=2,length=1",
};

typedef struct scene { /* a random model, sentence and guesses */
    oracle    model;
    pk_source src;
    int32_t   prefix[4], source[3], draft[ORACLE_LONGEST + 8];
} scene;

static void set_scene(scene *c, uint32_t seed) {
    c->model = any_oracle(seed);
    c->src = any_source(&c->model, c->prefix);
    for (int i = 0; i < 3; i++)
        c->source[i] = any(2) ? any(c->model.vocab) : any(1000); /* or another's */
    c->src.token = any(8) ? c->source : NULL;
}

/* greedy's own output, damaged more or less: substituted, left out, put in */
static void set_draft(scene *c, const oracle_result *right) {
    const int32_t damage = any(5);
    int32_t       n = 0;
    if (any(6) == 0) return;
    for (int32_t i = 0; i < right->best[0].n; i++) {
        const int32_t kind = any(4 + 4 * (4 - damage));
        if (damage == 0 || kind > 2) c->draft[n++] = right->best[0].token[i];
        if (damage && kind <= 1) c->draft[n++] = any(c->model.vocab);
        if (damage && kind == 1) c->draft[n++] = right->best[0].token[i];
    }
    c->src.draft = c->draft;
    c->src.n_draft = n;
}

static void test_greedys_output(void **unused) {
    (void)unused;
    pk_ngrams *ngrams;
    assert_int_equal(pk_ngrams_open(6, &ngrams), PK_OK); /* small: n-grams compete for buckets */
    for (uint32_t seed = 0; seed < 3000; seed++) {
        scene         c = { 0 };
        oracle_result want, got;
        char          spec[128], plain[128];
        set_scene(&c, seed);
        const char *limit = ANY_OF(limits);
        spell(plain, sizeof plain, "greedy", limit);
        oracle_translate(&c.model, plain, &c.src, &want);
        set_draft(&c, &want);
        if (any(2)) c.src.ngrams = ngrams;
        if (any(4) == 0) c.model.room = 1 + any(6);
        const int32_t passes = c.model.passes;
        for (int i = 0; i < 2; i++) {
            const char *method = ANY_OF(methods);
            spell(spec, sizeof spec, method, limit);
            oracle_translate(&c.model, spec, &c.src, &got);
            expect_same(&want, &got, &c.src, spec);
            if (method[0] == 'j' && !c.model.room) assert_true(c.model.passes <= passes);
        }
    }
    pk_ngrams_close(ngrams);
}

/* every method on every limit, in the middle of things: repeated tokens, ends inside blocks */
static void test_all_pairs(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 4; seed++)
        for (int m = 0; m < COUNT(methods); m++)
            for (int l = 0; l < COUNT(limits); l++) {
                oracle o = {
                    .seed = seed, .vocab = 6, .pad = 5, .eos_bias = -2, .eos_slope = 0.1f
                };
                pk_source     src = oracle_source(&o, 25);
                oracle_result want, got;
                char          spec[128];
                src.want_scores = src.want_attention = true;
                spell(spec, sizeof spec, "greedy", limits[l]);
                oracle_translate(&o, spec, &src, &want);
                src.draft = want.best[0].token;
                src.n_draft = want.best[0].n / 2;
                spell(spec, sizeof spec, methods[m], limits[l]);
                oracle_translate(&o, spec, &src, &got);
                expect_same(&want, &got, &src, spec);
            }
}

/* ---- the paper's algorithms, in the plainest way, to count iterations ---- */

static int32_t argmax_after(const oracle *o, const int32_t *token, int32_t n) {
    float   logit[ORACLE_VOCAB];
    int32_t best = -1;
    oracle_logits(o, token, n, logit);
    for (int32_t t = 0; t < o->vocab; t++)
        if (t != o->pad && (best < 0 || logit[t] > logit[best])) best = t;
    return best;
}

/* Jacobi on y[first .. last - 1]; the inputs are the tokens before: their last answer is certain
 * when they stay as they are, or after as many iterations as there are positions */
static int32_t solve(const oracle *o, int32_t *y, int32_t first, int32_t last) {
    for (int32_t i = first; i < last; i++) y[i] = o->pad;
    for (int32_t k = 1;; k++) {
        int32_t old[ORACLE_LONGEST];
        memcpy(old, y, sizeof old);
        for (int32_t i = first; i < last; i++) y[i] = argmax_after(o, old, i);
        if (!memcmp(old + first, y + first, (size_t)(last - 1 - first) * sizeof *y)) return k;
        if (k == last - first) return k;
    }
}

/* length: the output's; end: where blocks stop, the output goes on one by one */
static int32_t iterations(const oracle *o, int32_t block, int32_t length, int32_t end, bool cut) {
    int32_t y[ORACLE_LONGEST] = { 0 }, n = 0, count = 0;
    while (n < length) {
        int32_t last = n < end ? n + block : n + 1;
        if (n < end && last > end) last = end;
        if (cut && last > length) last = length;
        count += solve(o, y, n, last);
        n = last;
    }
    return count;
}

static void test_papers_iterations(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 150; seed++) {
        const int32_t pad = 3 + (int32_t)seed % 5;
        oracle        o = {
                   .seed = seed, .vocab = pad + 1, .pad = pad, .eos_bias = -2, .eos_slope = 0.05f
        };
        pk_source     src = oracle_source(&o, 40);
        oracle_result want, got;
        char          spec[64];
        oracle_translate(&o, "greedy", &src, &want);
        const int32_t n = want.best[0].n;
        if (n == 40) continue; /* hgj's blocks would pass the longest */
        oracle_translate(&o, "pj", &src, &got);
        const int32_t once = o.passes - n; /* the first n found the length */
        assert_int_equal(once, iterations(&o, n, n, n, true));
        snprintf(spec, sizeof spec, "pj:length=%d", (int)n);
        oracle_translate(&o, spec, &src, &got);
        assert_int_equal(o.passes, once);
        for (int32_t block = 1; block < 7; block++) {
            snprintf(spec, sizeof spec, "pgj:block=%d", (int)block);
            oracle_translate(&o, spec, &src, &got);
            assert_int_equal(o.passes, iterations(&o, block, n, n, true));
            if (n + block > 40) continue;
            snprintf(spec, sizeof spec, "hgj:block=%d", (int)block);
            oracle_translate(&o, spec, &src, &got);
            assert_int_equal(o.passes, iterations(&o, block, n, 40, false));
            snprintf(spec, sizeof spec, "hgj:block=%d,length=5", (int)block);
            oracle_translate(&o, spec, &src, &got);
            assert_int_equal(o.passes, iterations(&o, block, n, 5, false));
        }
    }
}

/* the passes of pj's greedy search are probes; no others are */
static void test_probe_passes(void **unused) {
    (void)unused;
    static const char *const specs[] = { "pj", "pj:length=9", "pgj", "jacobi" };
    oracle                   o = { .seed = 4, .vocab = 16, .pad = 15 };
    const pk_source          src = oracle_source(&o, 12);
    for (int i = 0; i < 4; i++) {
        const pk_strategy *by;
        void              *state;
        pk_ask             ask[16];
        pk_pass            pass = { .room = 12, .ask = ask };
        assert_int_equal(pk_strategy_parse(specs[i], &by, &state), PK_OK);
        assert_int_equal(by->begin(by, state, &src), PK_OK);
        by->propose(state, &pass);
        assert_int_equal(pass.probe, i == 0);
        by->end(state);
        pk_memory_give(state);
    }
}

/* ---- what guesses are worth ---- */

static oracle long_model(uint32_t seed) {
    return (oracle){ .seed = seed, .vocab = 200, .pad = 199, .eos_bias = -3, .eos_slope = 0.15f };
}

static void test_perfect_draft(void **unused) {
    (void)unused;
    int32_t greedy = 0, automatic = 0;
    for (uint32_t seed = 0; seed < 100; seed++) {
        oracle        o = long_model(seed);
        pk_source     src = oracle_source(&o, 100);
        oracle_result want, got;
        oracle_translate(&o, "greedy", &src, &want);
        const int32_t n = want.best[0].n, text = n - (want.best[0].token[n - 1] == o.eos);
        greedy += o.passes;
        src.draft = want.best[0].token;
        src.n_draft = text;
        oracle_translate(&o, "jacobi:window=8,init=draft", &src, &got);
        assert_int_equal(o.passes, (n + 7) / 8);
        assert_true(o.asks <= n); /* no token is computed twice */
        oracle_translate(&o, "jacobi", &src, &got);
        automatic += o.passes;
    }
    assert_true(automatic * 4 < greedy);
}

/* a token left out, put in or changed costs a pass or two, not the rest of the draft */
static void test_draft_finds_its_position(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 60; seed++) {
        oracle        o = long_model(seed);
        pk_source     src = oracle_source(&o, 100);
        oracle_result want, got;
        int32_t       draft[ORACLE_LONGEST], n = 0;
        oracle_translate(&o, "greedy", &src, &want);
        const int32_t length = want.best[0].n, damaged = length / 2;
        for (int32_t i = 0; i < length - 1; i++) {
            if (i != damaged || seed % 3 == 1) draft[n++] = want.best[0].token[i];
            if (i == damaged && seed % 3) draft[n++] = 198;
        }
        src.draft = draft;
        src.n_draft = n;
        oracle_translate(&o, "jacobi:window=64,init=draft", &src, &got);
        assert_in_range(o.passes, 1, 4); /* repeated tokens may mislead it once */
    }
}

/* guesses that are always wrong: auto stops asking about them */
static void test_wrong_guesses_are_given_up(void **unused) {
    (void)unused;
    pk_ngrams *ngrams;
    assert_int_equal(pk_ngrams_open(PK_NGRAMS_BITS, &ngrams), PK_OK);
    int32_t passes = 0, asks = 0, wrong[64];
    for (int i = 0; i < 64; i++) wrong[i] = 199; /* the pad is never right */
    for (uint32_t seed = 0; seed < 120; seed++) {
        oracle        o = long_model(seed);
        pk_source     src = oracle_source(&o, 100);
        oracle_result got;
        src.ngrams = ngrams;
        src.draft = src.token = wrong;
        src.n_draft = 64;
        oracle_translate(&o, "jacobi", &src, &got);
        if (seed < 60) continue; /* it has learnt by now */
        passes += o.passes;
        asks += o.asks;
    }
    if (asks * 20 > passes * 21) fail_msg("%d asks in %d passes", (int)asks, (int)passes);
    pk_ngrams_close(ngrams);
}

/* a document that says the same again is guessed from what it said before */
static void test_document_repeats(void **unused) {
    (void)unused;
    pk_ngrams *ngrams;
    assert_int_equal(pk_ngrams_open(PK_NGRAMS_BITS, &ngrams), PK_OK);
    oracle        o = long_model(1);
    pk_source     src = oracle_source(&o, 100);
    oracle_result got;
    src.ngrams = ngrams;
    oracle_translate(&o, "jacobi", &src, &got);
    const int32_t first = o.passes;
    for (int i = 0; i < 4; i++) oracle_translate(&o, "jacobi", &src, &got);
    assert_true(first > 12 && o.passes * 3 < first);
    pk_ngrams_close(ngrams);
}

static void test_refused(void **unused) {
    (void)unused;
    static const char *const specs[] = { "pgj:block=0",     "pgj:block=65",     "hgj:length=0",
                                         "jacobi:window=0", "jacobi:window=65", "jacobi:init=guess",
                                         "pj:block=3" };
    const pk_strategy       *by;
    void                    *state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        assert_int_equal(pk_strategy_parse(specs[i], &by, &state), PK_ARGUMENT);
    for (int i = 0; i < COUNT(methods); i++) {
        oracle        o = long_model(1);
        const int32_t prefix[] = { 1, 2, 3 };
        pk_source     src = oracle_source(&o, 3);
        src.prefix = prefix;
        src.n_prefix = 3;
        assert_int_equal(pk_strategy_parse(methods[i], &by, &state), PK_OK);
        assert_int_equal(by->check(by, state, 1), PK_OK);
        assert_int_equal(by->check(by, state, 2), PK_ARGUMENT);
        assert_non_null(strstr(pk_last_error(), by->name));
        assert_int_equal(by->begin(by, state, &src), PK_ARGUMENT); /* no room after the prefix */
        by->end(state);
        pk_memory_give(state);
    }
    const int32_t draft[] = { 4, 200 };
    oracle        o = long_model(1);
    pk_source     src = oracle_source(&o, 9);
    src.draft = draft;
    src.n_draft = 2;
    assert_int_equal(pk_strategy_parse("jacobi", &by, &state), PK_OK);
    assert_int_equal(by->begin(by, state, &src), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "token 2 of the draft is 200"));
    pk_memory_give(state);
}

static void test_begin_out_of_memory(void **unused) {
    (void)unused;
    for (int i = 0; i < COUNT(methods); i++) {
        oracle    o = long_model(1);
        pk_source src = oracle_source(&o, 10);
        pk_status status = PK_NO_MEMORY;
        int       n = 0;
        src.want_attention = true;
        o.conventions.no_repeat_ngram = 2;
        for (; status != PK_OK; n++) {
            const pk_strategy *by;
            void              *state;
            const int64_t      alive = pk_memory_alive();
            assert_int_equal(pk_strategy_parse(methods[i], &by, &state), PK_OK);
            pk_memory_fail_after(n + 1);
            status = by->begin(by, state, &src);
            pk_memory_fail_after(0);
            if (status == PK_OK) by->end(state);
            pk_memory_give(state);
            assert_int_equal(pk_memory_alive(), alive);
        }
        assert_true(n > 6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedys_output),
        cmocka_unit_test(test_all_pairs),
        cmocka_unit_test(test_papers_iterations),
        cmocka_unit_test(test_probe_passes),
        cmocka_unit_test(test_perfect_draft),
        cmocka_unit_test(test_draft_finds_its_position),
        cmocka_unit_test(test_wrong_guesses_are_given_up),
        cmocka_unit_test(test_document_repeats),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_begin_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
