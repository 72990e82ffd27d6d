/* ensemble_test.c - networks that decode together: a network with itself is that network, two are
 * the mean of their log-probabilities computed plainly, and the laws of a session hold for several
 * as for one. First on random networks, then through the whole engine. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/list.h"
#include "far.h"
#include "session/session.h"
#include "tiny_network.h"

enum { VOCAB = 40, STEPS = 8, MOST = 3 };

typedef struct kind {
    const char *backend;
    pk_dtype    type;
    int32_t     threads;
    pk_dtype    arithmetic;
    float       close; /* to the plain mean: where output layers are rounded together, not very */
} kind;

static const kind kinds[] = {
    { "ref", PK_F32, 1, PK_F32, 2e-5f },  { "cpu", PK_F32, 1, PK_F32, 2e-5f },
    { "cpu", PK_F32, 2, PK_F32, 2e-5f },  { "cpu", PK_F16, 1, PK_F32, 2e-5f },
    { "ref", PK_I8, 1, PK_F32, 0.2f },    { "cpu", PK_I8, 1, PK_F32, 0.2f },
    { "far", PK_F32, 1, PK_F32, 2e-5f },  { "far", PK_I8, 1, PK_F32, 0.2f },
    { "cuda", PK_F32, 1, PK_F32, 2e-5f }, { "cuda", PK_F16, 1, PK_F16, 0.02f },
};
enum { N_HOST_KINDS = 8, N_ALL_KINDS = sizeof kinds / sizeof *kinds };
static int n_kinds;

static int find_kinds(void **state) {
    pk_backend on;
    (void)state;
    n_kinds = pk_backend_open("cuda", 1, PK_F16, &on) == PK_OK ? N_ALL_KINDS : N_HOST_KINDS;
    pk_backend_close(&on);
    return 0;
}

static const pk_session_limits limits = { .sentences = 4,
                                          .source_tokens = 64,
                                          .source_length = 20,
                                          .encode_tokens = 64,
                                          .hypotheses = 4,
                                          .asks = 32,
                                          .slots = 96,
                                          .path = 48,
                                          .top_k = VOCAB,
                                          .listed = 256 };

static const int32_t            source_a[] = { 5, 17, 3, 30, 0 }, source_b[] = { 22, 9, 0 };
static const pk_sentence_tokens sources[] = { { source_a, 5 }, { source_b, 3 } };

typedef struct world { /* up to three networks, one session over all of them */
    tiny_network tiny[MOST];
    pk_ensemble  all;
    pk_backend   on;
    pk_session  *s;
    pk_ask       ask[16];
    pk_answer    answer[16];
    int32_t      tips[8];
} world;

/* networks of different widths, depths and heads, one vocabulary */
static pk_config config_of(int which) {
    pk_config c = tiny_config();
    c.n_suppressed = 1;
    c.suppressed[0] = 33;
    if (which == 1) c.dim = 24, c.decoder_layers = 1, c.pre_norm = c.final_norm = 1;
    if (which == 2) c.dim = 8, c.encoder_layers = 1, c.decoder_heads = 4, c.max_target = 20;
    return c;
}

/* which: digits, one for each network: 0 is the same network each time */
static void open_world(world *w, const kind *k, const char *which, bool renormalise) {
    const pk_network *net[MOST];
    const int32_t     n = (int32_t)strlen(which);
    memset(w, 0, sizeof *w);
    for (int32_t i = 0; i < n; i++) {
        pk_config c = config_of(which[i] - '0');
        c.renormalise = renormalise;
        ASSERT_OK(tiny_network_open(&c, k->type, (uint64_t)(7 + which[i] - '0'), &w->tiny[i]));
        net[i] = &w->tiny[i].net;
    }
    ASSERT_OK(pk_ensemble_open(net, n, &w->all));
    ASSERT_OK(backend_open(k->backend, k->threads, k->arithmetic, &w->on));
    ASSERT_OK(pk_session_open_ensemble(&w->all, &w->on, &limits, &w->s));
}

static void close_world(world *w) {
    assert_int_equal(pk_session_free_slots(w->s), limits.slots);
    assert_int_equal(pk_session_free_source(w->s), limits.source_tokens);
    pk_session_close(w->s);
    pk_backend_close(&w->on);
    for (int32_t i = 0; i < w->all.n; i++) tiny_network_close(&w->tiny[i]);
    pk_ensemble_close(&w->all);
}

static const int32_t words[STEPS] = { PK_NO_TOKEN, 12, 30, 4, 18, 25, 6, 39 };
static const int32_t banned[] = { 7, 21 }, targets[] = { 33, 2, 21 };

/* every token's log-probability after each of n words in a chain, by token; top[i] its best */
typedef struct scores_of_chain {
    float        logp[STEPS][VOCAB], target[STEPS][3], log_sum[STEPS];
    pk_candidate top[STEPS][VOCAB];
} scores_of_chain;

static void read_answer(const pk_answer *a, scores_of_chain *out, int32_t i) {
    memcpy(out->top[i], a->top, sizeof out->top[i]);
    memcpy(out->target[i], a->target_logp, sizeof out->target[i]);
    out->log_sum[i] = a->log_sum;
    for (int32_t t = 0; t < VOCAB; t++) out->logp[i][t] = -INFINITY;
    for (int32_t r = 0; r < VOCAB; r++)
        if (a->top[r].token >= 0) out->logp[i][a->top[r].token] = a->top[r].logp;
}

static void run_chain(world *w, int32_t sentence, int32_t first, int32_t n, scores_of_chain *out) {
    pk_pass p = { .room = 15, .ask = w->ask, .answer = w->answer };
    for (int32_t i = first, at = 0; i < first + n; i++)
        at = pk_ask_add(&p, (pk_ask){ .token = words[i],
                                      .pos = i,
                                      .parent = at,
                                      .top_k = VOCAB,
                                      .logp = true,
                                      .ban = banned,
                                      .n_ban = 2,
                                      .target = targets,
                                      .n_target = 3 });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ sentence, &p }, 1));
    for (int32_t i = 0; i < n; i++) read_answer(&w->answer[i + 1], out, first + i);
}

static void keep(world *w, int32_t sentence, int32_t tip) {
    pk_verdict v = { .room = 8, .tip = w->tips };
    pk_keep(&v, tip);
    pk_session_commit(w->s, sentence, &v);
}

/* what the networks say of one sentence, the whole chain in one pass */
static void score(const kind *k, const char *which, bool renormalise, scores_of_chain *out) {
    world   w;
    int32_t id;
    open_world(&w, k, which, renormalise);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    run_chain(&w, id, 0, STEPS, out);
    pk_session_forget(w.s, id);
    close_world(&w);
}

static void a_network_with_itself_is_that_network(void **state) {
    static scores_of_chain one, all;
    (void)state;
    for (int k = 0; k < n_kinds; k++)
        for (int copies = 2; copies <= MOST; copies++) {
            score(&kinds[k], "0", false, &one);
            score(&kinds[k], copies == 2 ? "00" : "000", false, &all);
            for (int i = 0; i < STEPS; i++)
                for (int r = 0; r < 4; r++) {
                    assert_int_equal(one.top[i][r].token, all.top[i][r].token);
                    assert_float_equal(one.top[i][r].logp, all.top[i][r].logp, 1e-5f);
                    if (r < 3) assert_float_equal(one.target[i][r], all.target[i][r], 1e-5f);
                    assert_float_equal(one.log_sum[i], all.log_sum[i], 1e-5f);
                }
        }
}

/* the plain mean of three networks' whole distributions, bans and renormalising included */
static void several_are_the_mean_of_their_log_probabilities(void **state) {
    static scores_of_chain one[MOST], all;
    (void)state;
    for (int k = 0; k < n_kinds; k++)
        for (int again = 0; again < 2; again++) {
            score(&kinds[k], "0", again, &one[0]);
            score(&kinds[k], "1", again, &one[1]);
            score(&kinds[k], "2", again, &one[2]);
            score(&kinds[k], "012", again, &all);
            for (int i = 0; i < STEPS; i++) {
                for (int t = 0; t < VOCAB; t++) {
                    const float mean =
                        (one[0].logp[i][t] + one[1].logp[i][t] + one[2].logp[i][t]) / 3;
                    if (t == 7 || t == 21 || t == 33)
                        assert_true(all.logp[i][t] == -INFINITY && mean == -INFINITY);
                    else
                        assert_float_equal(all.logp[i][t], mean, kinds[k].close);
                }
                for (int t = 0; t < 3; t++)
                    assert_float_equal(
                        all.target[i][t],
                        (one[0].target[i][t] + one[1].target[i][t] + one[2].target[i][t]) / 3,
                        kinds[k].close);
            }
        }
}

/* bitwise, as for one network */
static void a_block_equals_steps_and_alone_equals_batched(void **state) {
    static scores_of_chain block, steps, other;
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world   w;
        int32_t id[2];
        score(&kinds[k], "01", false, &block);
        open_world(&w, &kinds[k], "01", false);
        ASSERT_OK(pk_session_encode(w.s, sources, 2, id));
        for (int32_t i = 0; i < STEPS; i++) {
            run_chain(&w, id[0], i, 1, &steps);
            keep(&w, id[0], 1);
            run_chain(&w, id[1], 0, 3, &other); /* a neighbour, and questions that keep nothing */
            keep(&w, id[1], -1);
        }
        assert_memory_equal(&block, &steps, sizeof block);
        pk_session_forget(w.s, id[0]);
        pk_session_forget(w.s, id[1]);
        close_world(&w);
    }
}

typedef struct alone { /* one network that is led by the others */
    world   w;
    int32_t sentence;
} alone;

static void ask_alone(alone *one, int32_t token, int32_t pos, float logp[VOCAB]) {
    world  *w = &one->w;
    pk_pass p = { .room = 15, .ask = w->ask, .answer = w->answer };
    pk_ask_add(&p, (pk_ask){ .token = token, .pos = pos, .top_k = VOCAB, .logp = true });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ one->sentence, &p }, 1));
    for (int32_t t = 0; t < VOCAB; t++) logp[t] = -INFINITY;
    for (int32_t r = 0; r < VOCAB && w->answer[1].top[r].token >= 0; r++)
        logp[w->answer[1].top[r].token] = w->answer[1].top[r].logp;
    keep(w, one->sentence, 1);
}

/* the best token of the plain mean, step by step, against what the ensemble chooses itself */
static void greedy_follows_the_plain_mean(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        static alone one[3];
        int32_t      token = PK_NO_TOKEN;
        for (int i = 0; i < 3; i++) {
            open_world(&one[i].w, &kinds[k], i == 2 ? "01" : i ? "1" : "0", false);
            ASSERT_OK(pk_session_encode(one[i].w.s, sources, 1, &one[i].sentence));
        }
        for (int32_t pos = 0; pos < 12; pos++) {
            float logp[3][VOCAB], mean[VOCAB];
            int   best = 0, chosen = 0;
            for (int i = 0; i < 3; i++) ask_alone(&one[i], token, pos, logp[i]);
            for (int t = 0; t < VOCAB; t++) {
                mean[t] = (logp[0][t] + logp[1][t]) / 2;
                if (mean[t] > mean[best]) best = t;
                if (logp[2][t] > logp[2][chosen]) chosen = t;
            }
            if (kinds[k].close < 1e-3f) assert_int_equal(chosen, best);
            assert_true(mean[best] - mean[chosen] <= 2 * kinds[k].close);
            token = chosen;
        }
        for (int i = 0; i < 3; i++) {
            pk_session_forget(one[i].w.s, one[i].sentence);
            close_world(&one[i].w);
        }
    }
}

static void networks_that_do_not_fit_are_refused(void **state) {
    static const char *const why[] = { "vocabulary", "begins or ends", "direction",
                                       "trained with task pairs-lr and the first with at" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        tiny_network tiny[2];
        pk_ensemble  all;
        pk_config    c = tiny_config();
        ASSERT_OK(tiny_network_open(&c, PK_F32, 1, &tiny[0]));
        if (i == 3) strcpy(c.tasks, "pairs-lr");
        if (i == 0) c.target_vocab = c.source_vocab = 41;
        if (i == 1) c.start = 2;
        if (i == 2) c.right_to_left = 1;
        ASSERT_OK(tiny_network_open(&c, PK_F32, 2, &tiny[1]));
        const pk_network *net[] = { &tiny[0].net, &tiny[1].net };
        ASSERT_STATUS(PK_UNSUPPORTED, pk_ensemble_open(net, 2, &all));
        assert_non_null(strstr(pk_last_error(), why[i]));
        ASSERT_STATUS(PK_ARGUMENT, pk_ensemble_open(net, 0, &all));
        ASSERT_STATUS(PK_ARGUMENT, pk_ensemble_open(net, PK_MOST_NETWORKS + 1, &all));
        tiny_network_close(&tiny[0]);
        tiny_network_close(&tiny[1]);
    }
}

/* ---- through the engine ---- */

#define MODELS "tests/data/models/"

static const char *const lines[] = { "the cat sees a house", "a small dog", "", "good",
                                     "we go to the river and we see the old boat" };
enum { N_LINES = sizeof lines / sizeof *lines };

static void lines_as_texts(pk_text *text) {
    for (size_t i = 0; i < N_LINES; i++) text[i] = (pk_text){ lines[i], strlen(lines[i]) };
}

static pk_model *open_model(const char *name, const char *type) {
    char      path[256];
    pk_model *m;
    snprintf(path, sizeof path, MODELS "%s", name);
    ASSERT_OK(pk_model_open(path, PK_OPTIONS(pk_model_options, .type = type), &m));
    return m;
}

/* scores: the fixed translations of `of`; else translates */
static pk_result *serve(const pk_model *m, const pk_translator_options *o, const pk_result *of) {
    pk_translator *t;
    pk_result     *r;
    pk_text        text[N_LINES], target[N_LINES];
    lines_as_texts(text);
    ASSERT_OK(pk_translator_open(m, o, &t));
    for (size_t i = 0; of && i < N_LINES; i++)
        target[i] = (pk_text){ pk_result_text(of, i), strlen(pk_result_text(of, i)) };
    ASSERT_OK(of ? pk_score(t, text, target, N_LINES, NULL, &r)
                 : pk_translate(t, text, N_LINES, NULL, &r));
    pk_translator_close(t);
    return r;
}

static void assert_close(const pk_result *a, const pk_result *b, float tolerance) {
    for (size_t i = 0; i < N_LINES; i++) {
        assert_int_equal(pk_result_hypotheses(a, i), pk_result_hypotheses(b, i));
        for (int32_t r = 0; r < pk_result_hypotheses(a, i); r++) {
            pk_hypothesis_view x, y;
            ASSERT_OK(pk_result_hypothesis(a, i, r, &x));
            ASSERT_OK(pk_result_hypothesis(b, i, r, &y));
            assert_string_equal(x.text, y.text);
            assert_int_equal(x.n_tokens, y.n_tokens);
            for (int32_t t = 0; t < x.n_tokens; t++) {
                assert_int_equal(x.token[t], y.token[t]);
                assert_float_equal(x.token_log_prob[t], y.token_log_prob[t], tolerance);
            }
            assert_true((x.alignment == NULL) == (y.alignment == NULL));
            if (x.alignment) assert_string_equal(x.alignment, y.alignment);
        }
    }
}

static const char *const specs[] = { "greedy", "beam:size=4,max_length=40", "jacobi" };

static pk_translator_options options_for(int spec, int32_t batch, const pk_model *const *more) {
    return (pk_translator_options){ .size = sizeof(pk_translator_options),
                                    .decode = specs[spec],
                                    .batch = batch,
                                    .threads = 2,
                                    .one_sentence = 1,
                                    .scores = 1,
                                    .alignment = spec == 0,
                                    .n_best = spec == 1 ? 3 : 1,
                                    .ensemble = more,
                                    .n_ensemble = more ? 1 : 0 };
}

static void a_model_with_itself_translates_and_scores_as_it_does_alone(void **state) {
    static const char *const types[] = { "f32", "i8" };
    (void)state;
    for (int type = 0; type < 2; type++) {
        pk_model              *m = open_model("marian-relu", types[type]);
        const pk_model *const *more = (const pk_model *const[]){ m };
        for (int spec = 0; spec < 3; spec++) {
            const pk_translator_options one = options_for(spec, 32, NULL);
            const pk_translator_options two = options_for(spec, 32, more);
            pk_result                  *a = serve(m, &one, NULL), *b = serve(m, &two, NULL);
            assert_close(a, b, 1e-5f);
            pk_result *x = serve(m, &one, a), *y = serve(m, &two, a);
            assert_close(x, y, 1e-5f);
            pk_result *const all[] = { a, b, x, y };
            for (int i = 0; i < 4; i++) pk_result_free(all[i]);
        }
        pk_model_close(m);
    }
}

/* different models, alone = batched, bitwise; and their mean: the score of what they both score */
static void two_models_are_exact_and_their_scores_are_means(void **state) {
    (void)state;
    pk_model              *m = open_model("marian-relu", NULL);
    pk_model              *other = open_model("marian-gelu-legacy", NULL);
    const pk_model *const *more = (const pk_model *const[]){ other };
    for (int spec = 0; spec < 3; spec++) {
        const pk_translator_options by_one = options_for(spec, 1, more);
        const pk_translator_options by_three = options_for(spec, 3, more);
        const pk_translator_options first = options_for(spec, 3, NULL);
        pk_result                  *a = serve(m, &by_one, NULL), *b = serve(m, &by_three, NULL);
        assert_close(a, b, 0);
        pk_result *both = serve(m, &by_three, a);
        pk_result *x = serve(m, &first, a), *y = serve(other, &first, a);
        for (size_t i = 0; i < N_LINES; i++) {
            pk_hypothesis_view h, hx, hy;
            ASSERT_OK(pk_result_hypothesis(both, i, 0, &h));
            ASSERT_OK(pk_result_hypothesis(x, i, 0, &hx));
            ASSERT_OK(pk_result_hypothesis(y, i, 0, &hy));
            for (int32_t t = 0; t < h.n_tokens; t++)
                assert_float_equal(h.token_log_prob[t],
                                   (hx.token_log_prob[t] + hy.token_log_prob[t]) / 2, 2e-5f);
        }
        pk_result *const all[] = { a, b, both, x, y };
        for (int i = 0; i < 5; i++) pk_result_free(all[i]);
    }
    pk_model_close(m);
    pk_model_close(other);
}

static void models_of_other_vocabularies_are_refused(void **state) {
    static const char *const wrong[][2] = { { "marian-multi", "target vocabulary" },
                                            { "marian-swish-f16", "source" } };
    (void)state;
    pk_model *m = open_model("marian-relu", NULL);
    for (int i = 0; i < 2; i++) {
        pk_translator              *t;
        pk_model                   *other = open_model(wrong[i][0], NULL);
        const pk_translator_options o = options_for(0, 1, (const pk_model *const[]){ other });
        ASSERT_STATUS(PK_UNSUPPORTED, pk_translator_open(m, &o, &t));
        assert_non_null(strstr(pk_last_error(), wrong[i][1]));
        assert_non_null(strstr(pk_last_error(), "model 2"));
        pk_model_close(other);
    }
    pk_model_close(m);
}

static pk_status open_and_translate(void *user) {
    pk_translator        *t = NULL;
    pk_result            *r = NULL;
    const pk_model *const more[] = { user };
    pk_translator_options o = options_for(0, 2, more);
    o.threads = 1;
    pk_status status = pk_translator_open(user, &o, &t);
    if (status == PK_OK) status = pk_translate(t, &(pk_text){ "a dog", 5 }, 1, NULL, &r);
    pk_result_free(r);
    pk_translator_close(t);
    return status;
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    pk_model *m = open_model("marian-relu", "i8");
    assert_true(check_every_allocation(open_and_translate, m) > 20);
    pk_model_close(m);
}

/* texts with a sentence over the limit are left empty and counted, when asked for */
static void long_texts_can_be_skipped(void **state) {
    (void)state;
    pk_model      *m = open_model("marian-relu", NULL);
    pk_translator *t;
    pk_result     *r;
    pk_stats       stats;
    const pk_text  text[] = { { "the cat sees a house and the river and the dog", 46 },
                              { "a dog", 5 } };
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .max_input = 8, .skip_long = 1, .one_sentence = 1),
        &t));
    ASSERT_OK(pk_translate(t, text, 2, NULL, &r));
    assert_string_equal(pk_result_text(r, 0), "");
    assert_string_not_equal(pk_result_text(r, 1), "");
    pk_translator_stats(t, &stats);
    assert_int_equal(stats.skipped, 1);
    assert_int_equal(stats.wrapped, 0);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_with_itself_is_that_network),
        cmocka_unit_test(several_are_the_mean_of_their_log_probabilities),
        cmocka_unit_test(a_block_equals_steps_and_alone_equals_batched),
        cmocka_unit_test(greedy_follows_the_plain_mean),
        cmocka_unit_test(networks_that_do_not_fit_are_refused),
        cmocka_unit_test(a_model_with_itself_translates_and_scores_as_it_does_alone),
        cmocka_unit_test(two_models_are_exact_and_their_scores_are_means),
        cmocka_unit_test(models_of_other_vocabularies_are_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(long_texts_can_be_skipped),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
