/* pairs_test.c - two tokens a step on an oracle without a model: what a script says comes out in
 * reading order in floor(n / 2) + 1 steps; the search is Algorithm 1 of the paper, restated plainly;
 * ends on either side, lengths, small vocabularies, dead ends. oracle.h checks limits on the way. */
#include "oracle.h"

#include "../support/check.h"

enum { E = 0, PAD = 31, VOCAB = 32, N_SEEDS = 30 };

static const char *const tasks[] = { "pairs", "pairs-lr" };

static oracle model(uint32_t seed) {
    return (oracle){ .seed = seed, .vocab = VOCAB, .pad = PAD, .eos_bias = -1, .eos_slope = 0.2f };
}

static pk_source source_of(oracle *o, int way, int32_t max_length) {
    const pk_source src = oracle_source(o, max_length);
    o->conventions.tasks = tasks[way];
    o->conventions.max_positions = 100;
    return src;
}

static void assert_tokens(const oracle_result *r, int32_t i, const int32_t *want, int32_t n) {
    assert_int_equal(r->best[i].n, n);
    assert_memory_equal(r->best[i].token, want, (size_t)n * sizeof *want);
}

/* ---- scripts ---- */

/* What the script does not say is unlikely, an end that it does not say most of all: the first W
 * candidates may end, however much worse than the best they are. */
static oracle scripted(const int32_t *script, int32_t n) {
    return (oracle){
        .seed = 3, .vocab = VOCAB, .pad = PAD, .eos_bias = -10, .says = script, .n_says = n
    };
}

/* text of n tokens 5, 6, 7 .. as pairs; returns how many tokens these have */
static int32_t fold(int way, int32_t n, int32_t *script) {
    const int32_t n_pairs = n / 2 + 1;
    for (int32_t t = 0; t < n_pairs; t++) {
        script[2 * t] = way ? (2 * t < n ? 5 + 2 * t : E) : t < n - n / 2 ? 5 + t : E;
        script[2 * t + 1] = way ? (2 * t + 1 < n ? 6 + 2 * t : E) : t < n / 2 ? 4 + n - t : E;
    }
    return 2 * n_pairs;
}

static void steps_are_half_the_tokens_and_one(void **unused) {
    static const char *const specs[] = { "pairs", "pairs:size=4,outputs=1",
                                         "pairs:size=3,outputs=1,length_penalty=0" };
    (void)unused;
    for (int32_t n = 0; n <= 14; n++)
        for (int way = 0; way < 2; way++)
            for (int k = 0; k < 3; k++) {
                int32_t       script[20], want[20];
                oracle        o = scripted(script, fold(way, n, script));
                pk_source     src = source_of(&o, way, 40);
                oracle_result got;
                for (int32_t i = 0; i < n; i++) want[i] = 5 + i;
                want[n] = E;
                oracle_translate(&o, specs[k], &src, &got);
                assert_tokens(&got, 0, want, n + 1);
                assert_int_equal(o.passes, n / 2 + 1);
                if (k == 0) assert_int_equal(o.asks, 2 * o.passes);
            }
}

/* beside an end symbol a token counts from both ends; in one direction what follows it is dropped */
static void ends_on_either_side(void **unused) {
    static const struct {
        int     way;
        int32_t script[4], want[6], n;
    } cases[] = {
        { 0, { 5, 8, 6, E }, { 5, 6, 8, E }, 4 }, { 0, { 5, 8, E, 7 }, { 5, 7, 8, E }, 4 },
        { 0, { 5, 8, E, E }, { 5, 8, E }, 3 },    { 1, { 5, 6, 7, E }, { 5, 6, 7, E }, 4 },
        { 1, { 5, 6, E, 7 }, { 5, 6, E }, 3 },    { 1, { 5, 6, E, E }, { 5, 6, E }, 3 },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int32_t size = 1; size < 4; size++) {
            oracle        o = scripted(cases[i].script, 4);
            pk_source     src = source_of(&o, cases[i].way, 20);
            oracle_result got;
            char          spec[64];
            src.want_scores = true;
            snprintf(spec, sizeof spec, "pairs:size=%d,outputs=1,length_penalty=0", (int)size);
            oracle_translate(&o, spec, &src, &got);
            assert_tokens(&got, 0, cases[i].want, cases[i].n);
            float sum = 0; /* the end symbol stands for all of the last pair that is no text */
            for (int32_t t = 0; t < got.best[0].n; t++) sum += got.best[0].logp[t];
            assert_true(fabsf(sum - got.best[0].score) < 1e-4f);
        }
}

/* as many tokens as are allowed, whether that is even or odd; the end last where it is forced */
static void longest_outputs(void **unused) {
    (void)unused;
    for (int32_t most = 1; most < 12; most++)
        for (int kind = 0; kind < 16; kind++) {
            oracle o = { .seed = 3, .vocab = VOCAB, .pad = PAD, .eos_bias = -60 };
            o.eos_bias = kind & 8 ? 5 : -60; /* ends at once, or never by itself */
            pk_source     src = source_of(&o, kind & 1, most);
            oracle_result got;
            src.n_best = kind & 2 ? 3 : 1;
            o.conventions.forced_eos = (kind & 4) != 0;
            oracle_translate(&o, kind & 2 ? "pairs:size=3" : "pairs", &src, &got);
            const int32_t steps = most - o.conventions.forced_eos;
            assert_in_range(o.passes, 1, steps > 2 ? (steps + 1) / 2 : 1);
            for (int32_t i = 0; i < got.n; i++) {
                const int32_t n = got.best[i].n;
                assert_in_range(n, 1, most);
                for (int32_t t = 0; t + 1 < n; t++) assert_int_not_equal(got.best[i].token[t], E);
                if (!(kind & 8)) assert_int_equal(n, most);
                if (!(kind & 8)) assert_int_equal(got.best[i].token[n - 1] == E, (kind & 4) != 0);
            }
        }
}

/* positions 0 .. 8 hold four pairs, and the last position stays free */
static void positions_for_whole_pairs(void **unused) {
    oracle        o = { .seed = 3, .vocab = VOCAB, .pad = PAD, .eos_bias = -60 };
    pk_source     src = source_of(&o, 0, 9);
    oracle_result got;
    (void)unused;
    o.conventions.max_positions = 9;
    oracle_translate(&o, "pairs:size=2", &src, &got);
    assert_int_equal(got.best[0].n, 8);
    assert_int_equal(o.passes, 4);
}

static void shortest_outputs(void **unused) {
    (void)unused;
    for (int32_t least = 0; least < 9; least++)
        for (int32_t size = 1; size < 4; size++) {
            oracle        o = { .seed = 9, .vocab = VOCAB, .pad = PAD, .eos_bias = 20 };
            pk_source     src = source_of(&o, (int)size % 2, 20);
            oracle_result got;
            char          spec[64];
            snprintf(spec, sizeof spec, "pairs:size=%d,min_length=%d", (int)size, (int)least);
            oracle_translate(&o, spec, &src, &got);
            assert_true(got.best[0].n >= least && got.best[0].n <= least + 2);
        }
}

/* ---- Algorithm 1 again, as plainly as can be ---- */

typedef struct plain {
    int32_t pair[ORACLE_LONGEST][2], n; /* pairs */
    float   score;
} plain;

static void plain_logp(const oracle *o, const plain *h, int32_t side, float *logp) {
    int32_t token[ORACLE_LONGEST] = { E }, n = 1;
    double  sum = 0;
    for (int32_t t = 0; t < h->n; t++)
        for (int32_t k = 0; k < 2; k++) token[n++] = h->pair[t][k];
    token[n++] = ORACLE_PLACE + side;
    oracle_logits(o, token, n, logp);
    for (int32_t t = 0; t < o->vocab; t++) sum += exp((double)logp[t]);
    for (int32_t t = 0; t < o->vocab; t++) logp[t] = (float)(logp[t] - log(sum));
    logp[o->pad] = -INFINITY;
}

typedef struct choice {
    float   score;
    int32_t hypothesis, left, right;
} choice;

static int by_score(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->hypothesis != y->hypothesis) return x->hypothesis - y->hypothesis;
    return x->left != y->left ? x->left - y->left : x->right - y->right;
}

/* DoubleTopK over all tokens there are; returns how many */
static int32_t double_top_k(const oracle *o, const plain *beam, int32_t n, int32_t width,
                            choice *out) {
    static choice all[VOCAB * VOCAB * 8], left[VOCAB * 8];
    static float  logp[8][2][VOCAB];
    int32_t       n_left = 0, n_all = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t side = 0; side < 2; side++) plain_logp(o, &beam[i], side, logp[i][side]);
    for (int32_t i = 0; i < n; i++)
        for (int32_t t = 0; t < PAD; t++)
            left[n_left++] = (choice){ beam[i].score + logp[i][0][t], i, t, 0 };
    qsort(left, (size_t)n_left, sizeof *left, by_score);
    for (int32_t k = 0; k < 2 * width; k++)
        for (int32_t t = 0; t < PAD; t++)
            all[n_all++] = (choice){ left[k].score + logp[left[k].hypothesis][1][t],
                                     left[k].hypothesis, left[k].left, t };
    qsort(all, (size_t)n_all, sizeof *all, by_score);
    memcpy(out, all, (size_t)(3 * width) * sizeof *all);
    return 3 * width;
}

static int32_t plain_text(const plain *h, int way, int32_t *out) {
    int32_t n = 0;
    for (int32_t t = 0; t < h->n; t++) {
        if (way && h->pair[t][0] == E) break;
        if (h->pair[t][0] != E) out[n++] = h->pair[t][0];
        if (way && h->pair[t][1] != E) out[n++] = h->pair[t][1];
    }
    for (int32_t t = h->n - 1; !way && t >= 0; t--)
        if (h->pair[t][1] != E) out[n++] = h->pair[t][1];
    out[n++] = E;
    return n;
}

/* puts h among the finished, best first, unless its text is there */
static int32_t plain_finish(plain *finished, int32_t n, const plain *h, int way, float penalty) {
    int32_t text[ORACLE_LONGEST], other[ORACLE_LONGEST];
    plain   ended = *h;
    ended.score /= powf(2 * (float)h->n, penalty);
    const int32_t length = plain_text(h, way, text);
    for (int32_t i = 0; i < n; i++)
        if (plain_text(&finished[i], way, other) == length &&
            memcmp(text, other, (size_t)length * sizeof *text) == 0)
            return n;
    int32_t i = n;
    for (; i > 0 && ended.score > finished[i - 1].score; i--) finished[i] = finished[i - 1];
    finished[i] = ended;
    return n + 1;
}

static int32_t algorithm_1(const oracle *o, int way, int32_t width, int32_t outputs, float penalty,
                           plain *finished) {
    plain   beam[8] = { { .n = 0 } }, next[8];
    int32_t n = 1, n_finished = 0;
    while (n > 0 && n_finished < outputs && beam[0].n < ORACLE_LONGEST / 4) {
        choice        c[3 * 8];
        const int32_t n_choices = double_top_k(o, beam, n, width, c);
        int32_t       kept = 0;
        for (int32_t i = 0; i < n_choices; i++) {
            plain h = beam[c[i].hypothesis];
            h.score = c[i].score;
            h.pair[h.n][0] = c[i].left, h.pair[h.n++][1] = c[i].right;
            if (c[i].left != E && c[i].right != E) {
                if (kept < width) next[kept++] = h;
            } else if (i < width) {
                n_finished = plain_finish(finished, n_finished, &h, way, penalty);
            }
        }
        memcpy(beam, next, sizeof beam);
        n = kept;
    }
    return n_finished;
}

static void the_search_is_algorithm_1(void **unused) {
    static const struct {
        int32_t width, outputs;
        float   penalty;
    } kinds[] = { { 1, 1, 1 }, { 2, 2, 1 }, { 3, 1, 0 }, { 4, 4, 0.5f }, { 5, 3, 1 }, { 7, 7, 2 } };
    (void)unused;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            static plain  want[32];
            const int     way = (int)seed % 2;
            oracle        o = model(seed);
            pk_source     src = source_of(&o, way, 60);
            oracle_result got;
            char          spec[96];
            int32_t       text[ORACLE_LONGEST];
            src.n_best = kinds[k].outputs;
            src.want_scores = true;
            snprintf(spec, sizeof spec, "pairs:size=%d,outputs=%d,length_penalty=%g",
                     (int)kinds[k].width, (int)kinds[k].outputs, (double)kinds[k].penalty);
            oracle_translate(&o, spec, &src, &got);
            const int32_t n =
                algorithm_1(&o, way, kinds[k].width, kinds[k].outputs, kinds[k].penalty, want);
            assert_int_equal(got.n, n < kinds[k].outputs ? n : kinds[k].outputs);
            for (int32_t i = 0; i < got.n; i++) {
                assert_tokens(&got, i, text, plain_text(&want[i], way, text));
                assert_true(fabsf(got.best[i].score - want[i].score) < 1e-4f);
            }
        }
}

/* different texts, scores that fall, and what a token's log-probability is said to be */
static void n_best_lists(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int32_t most = 4; most < 7; most++) {
            oracle o = model(seed);
            o.eos_bias = 1;
            pk_source     src = source_of(&o, (int)seed % 2, most);
            oracle_result got;
            src.n_best = 8;
            src.want_scores = true;
            oracle_translate(&o, "pairs:size=8,length_penalty=0", &src, &got);
            assert_in_range(got.n, 2, 8);
            for (int32_t i = 0; i < got.n; i++) {
                const int32_t n = got.best[i].n;
                if (i) assert_true(got.best[i - 1].score >= got.best[i].score);
                for (int32_t j = 0; j < i; j++)
                    assert_false(got.best[j].n == n && !memcmp(got.best[i].token, got.best[j].token,
                                                               (size_t)n * sizeof(int32_t)));
            }
        }
}

/* fewer candidates than entries, or none: as many hypotheses as there are */
static void small_vocabularies(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++)
        for (int32_t vocab = 1; vocab < 9; vocab++) {
            oracle        o = { .seed = seed, .vocab = vocab, .pad = vocab > 3 ? vocab - 1 : -1 };
            pk_source     src = source_of(&o, (int)seed % 2, 7);
            oracle_result got;
            char          spec[64];
            o.conventions.unk = PK_NO_TOKEN;
            src.n_best = 4;
            snprintf(spec, sizeof spec, "pairs:size=8,min_length=%d", (int)seed % 3);
            oracle_translate(&o, spec, &src, &got);
            assert_in_range(got.n, 1, 4);
            for (int32_t i = 0; i < got.n; i++) assert_true(got.best[i].n <= 7);
        }
}

/* nothing may follow: the output ends where it stands */
static void dead_ends(void **unused) {
    (void)unused;
    for (int32_t size = 1; size < 4; size++)
        for (int way = 0; way < 2; way++) {
            oracle o = { .seed = 5, .vocab = 8, .pad = 7, .eos_bias = -60, .nothing_after = true };
            pk_source     src = source_of(&o, way, 9);
            oracle_result got;
            char          spec[64];
            src.want_scores = way;
            snprintf(spec, sizeof spec, "pairs:size=%d", (int)size);
            oracle_translate(&o, spec, &src, &got); /* the first pair sees two, the next more */
            assert_int_equal(got.n, 1);
            assert_int_equal(got.best[0].n, 0);
            oracle all = { .seed = 5, .vocab = 2, .pad = 1, .eos_bias = 0 };
            src = source_of(&all, way, 9);
            snprintf(spec, sizeof spec, "pairs:size=%d,min_length=4", (int)size);
            oracle_translate(&all, spec, &src, &got); /* the end is all there is, and banned */
            assert_int_equal(got.best[0].n, 0);
        }
}

/* ---- what is given, and looking back ---- */

/* a language is fed first, is the first output token, and costs no pass; a narrow one it does */
static void a_language_is_given(void **unused) {
    const int32_t prefix[] = { 9 };
    (void)unused;
    for (int32_t room = 0; room < 3; room++)
        for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
            oracle        o = model(seed);
            pk_source     src = source_of(&o, (int)seed % 2, 15);
            oracle_result got, wide;
            src.prefix = prefix;
            src.n_prefix = src.n_free_prefix = 1;
            src.want_scores = true;
            oracle_translate(&o, "pairs", &src, &wide);
            const int32_t passes = o.passes;
            assert_int_equal(wide.best[0].token[0], 9);
            assert_true(wide.best[0].logp[0] == 0 && wide.best[0].n <= 15);
            o.room = room ? room + 1 : 0;
            oracle_translate(&o, "pairs", &src, &got);
            assert_tokens(&got, 0, wide.best[0].token, wide.best[0].n);
            assert_true(got.best[0].score == wide.best[0].score);
            assert_int_equal(o.passes, passes + (room == 1));
        }
}

/* each token has the attention of the ask that found it */
static void attention_rows(void **unused) {
    (void)unused;
    for (int way = 0; way < 2; way++)
        for (int32_t n = 1; n < 8; n++) {
            int32_t       script[20];
            oracle        o = scripted(script, fold(way, n, script));
            pk_source     src = source_of(&o, way, 30);
            oracle_result got;
            src.want_attention = true;
            oracle_translate(&o, "pairs:size=2,outputs=1", &src, &got);
            assert_int_equal(got.best[0].n, n + 1);
            for (int32_t i = 0; i <= n; i++) {
                /* the pair and the side of token i; of the end, the left one if it has one */
                const int32_t right = !way && i < n && i >= n - n / 2;
                const int32_t t = i == n ? n / 2 : way ? i / 2 : right ? n - 1 - i : i;
                const int32_t side = i == n ? n % 2 : way ? i % 2 : right;
                int32_t       seen[ORACLE_LONGEST] = { E };
                memcpy(seen + 1, script, (size_t)(2 * t) * sizeof *script);
                seen[2 * t + 1] = ORACLE_PLACE + side;
                for (int32_t j = 0; j < src.n_tokens; j++)
                    assert_true(got.attention[i * 3 + j] ==
                                oracle_attention(&o, seen, 2 * t + 2, j));
            }
        }
}

/* ---- refusals ---- */

static void refusals(void **unused) {
    static const struct {
        const char *spec, *reason;
    } wrong[] = { { "pairs:size=0", "size takes 1..32" },
                  { "pairs:no_repeat_ngram=2", "pairs has no option 'no_repeat_ngram'" },
                  { "pairs:repetition_penalty=2", "pairs has no option 'repetition_penalty'" } };
    const pk_strategy *by;
    void              *state;
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pk_strategy_parse(wrong[i].spec, &by, &state), PK_ARGUMENT);
        assert_non_null(strstr(pk_last_error(), wrong[i].reason));
    }
    assert_int_equal(pk_strategy_parse("pairs:size=4", &by, &state), PK_OK);
    assert_int_equal(by->check(by, state, 4), PK_OK);
    assert_int_equal(by->check(by, state, 5), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "raise size"));
    const int32_t prefix[] = { 3, 4 };
    oracle        o = model(1);
    pk_source     src = source_of(&o, 0, 9);
    src.prefix = prefix;
    src.n_prefix = 2, src.n_free_prefix = 1;
    assert_int_equal(by->begin(by, state, &src), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "beginning of a translation"));
    pk_memory_give(state);
}

static pk_status begin_and_end(void *user) {
    const pk_strategy *by;
    void              *state;
    oracle             o = model(1);
    pk_source          src = source_of(&o, 0, 10);
    (void)user;
    src.want_attention = true;
    src.n_best = 3;
    pk_status status = pk_strategy_parse("pairs:size=3", &by, &state);
    if (status != PK_OK) return status;
    status = by->begin(by, state, &src);
    if (status == PK_OK) by->end(state);
    pk_memory_give(state);
    return status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    assert_true(check_every_allocation(begin_and_end, NULL) > 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_half_the_tokens_and_one),
        cmocka_unit_test(ends_on_either_side),
        cmocka_unit_test(longest_outputs),
        cmocka_unit_test(positions_for_whole_pairs),
        cmocka_unit_test(shortest_outputs),
        cmocka_unit_test(the_search_is_algorithm_1),
        cmocka_unit_test(n_best_lists),
        cmocka_unit_test(small_vocabularies),
        cmocka_unit_test(dead_ends),
        cmocka_unit_test(a_language_is_given),
        cmocka_unit_test(attention_rows),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
