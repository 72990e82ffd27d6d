/* scenes.h - random models, sentences and limits, for tests that strategies which check guesses give
 * the output of the strategy that makes none, bit for bit. */
#ifndef TESTS_DECODE_SCENES_H
#define TESTS_DECODE_SCENES_H
#include "oracle.h"

#define COUNT(list)  (int32_t)(sizeof list / sizeof *list)
#define ANY_OF(list) list[any(COUNT(list))]

static uint32_t random_state; /* a test sets it for each scene */

static inline int32_t any(int32_t below) {
    random_state = oracle_mix(random_state + 0x9E3779B9u);
    return (int32_t)(random_state % (uint32_t)below);
}

/* options that any strategy takes */
static const char *const limits[] = {
    "",
    "no_repeat_ngram=2",
    "repetition_penalty=1.4",
    "no_repeat_ngram=1,min_length=6", /* runs out of tokens when the vocabulary is small */
    "min_length=5,unk=ban,repetition_penalty=0.7",
    "max_length=4",
    "max_length=9,no_repeat_ngram=3,unk=ban",
};

/* the method with these limits too; both may have options or none */
static inline void spell(char *spec, size_t size, const char *method, const char *limit) {
    snprintf(spec, size, "%s%s%s", method, !*limit ? "" : strchr(method, ':') ? "," : ":", limit);
}

/* what a pass of two asks costs: hardly more than one, or twice as much */
static const float cheap[] = { 0, 1, 1.02f }, dear[] = { 0, 1, 2 };

/* random tokens, the end symbol among them: a repetitive model when there are few */
static inline oracle any_oracle(uint32_t seed) {
    random_state = seed;
    const int32_t vocab = any(3) ? 3 + any(6) : 32;
    return (oracle){ .seed = seed,
                     .vocab = vocab,
                     .pad = any(4) ? vocab - 1 : -1,
                     .eos_bias = (float)any(5) - 3,
                     .eos_slope = 0.1f * (float)any(4),
                     .renormalise = any(2),
                     .nothing_after = any(16) == 0 };
}

/* the same with a drafter, which says what `draft` says, and with costs or without */
static inline void add_drafter(oracle *o, oracle_draft *draft) {
    o->draft = draft;
    o->sees_all = any(3) == 0;
    o->next = !o->sees_all && any(2);
    o->cost = any(2) ? cheap : any(2) ? dear : NULL;
    o->draft_cost = any(2) ? 0.3f : 0;
    o->draft_more = 0.01f;
}

/* a sentence of it; the prefix has room for 4 tokens */
static inline pk_source any_source(oracle *o, int32_t *prefix) {
    pk_source src = oracle_source(o, any(12) ? 2 + any(30) : 1);
    for (int i = 0; i < 4; i++) prefix[i] = any(o->vocab - 1);
    src.prefix = prefix;
    src.n_prefix = any(2) ? any(src.max_length < 4 ? src.max_length : 4) : 0;
    src.n_free_prefix = src.n_prefix ? any(2) : 0;
    o->conventions.forced_eos = any(2);
    src.want_scores = any(2);
    src.want_attention = any(3) == 0;
    o->conventions.unk = any(2) ? 1 : PK_NO_TOKEN;
    return src;
}

/* all hypotheses: tokens, log-probabilities, scores; attention where it was asked for */
static inline void expect_same(const oracle_result *want, const oracle_result *got,
                               const pk_source *src, const char *spec) {
    if (got->n != want->n) fail_msg("%s: %d hypotheses, not %d", spec, got->n, want->n);
    for (int32_t i = 0; i < want->n; i++) {
        const size_t n = (size_t)want->best[i].n;
        if (got->best[i].n != want->best[i].n ||
            memcmp(got->best[i].token, want->best[i].token, n * sizeof(int32_t)) != 0)
            fail_msg("%s: other tokens than without guesses", spec);
        assert_memory_equal(got->best[i].logp, want->best[i].logp, n * sizeof(float));
        assert_memory_equal(&got->best[i].score, &want->best[i].score, sizeof(float));
    }
    if (src->want_attention && want->n)
        assert_memory_equal(got->attention, want->attention,
                            (size_t)want->best[0].n * 3 * sizeof(float));
}
#endif
