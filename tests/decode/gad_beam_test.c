/* gad_beam_test.c - draft and verify for beam search gives beam's output, bit for bit: all
 * hypotheses, their tokens, log-probabilities, scores and attention, under every rule set, whatever is
 * guessed. oracle.h checks limits, positions and that nothing is allocated on the way. */
#include "scenes.h"

#include "check.h"
#include "decode/forecast.h"
#include "decode/ngrams.h"

typedef struct scene {
    oracle        model;
    pk_source     src;
    int32_t       prefix[4], draft[ORACLE_LONGEST];
    oracle_result right;
} scene;

/* what a scripted drafter says: the right token, or with `seed` even often anything */
static int32_t say(const oracle *o, const int32_t *known, int32_t n, int32_t ahead) {
    const oracle_result *right = o->script;
    const uint32_t       h = oracle_mix(oracle_hash(o, known, n) + (uint32_t)ahead);
    if (n + ahead >= right->best[0].n || (o->seed % 2 == 0 && h % 3))
        return (int32_t)(h % (uint32_t)(o->vocab + 20)) - 2;
    return right->best[0].token[n + ahead];
}

static const char *const sizes[] = { "size=2", "size=4", "size=5", "size=4", "size=1", "size=12" };
static const char *const rules[] = {
    "",
    ",rules=hf,early_stopping=yes",
    ",rules=hf,early_stopping=never,length_penalty=0.6",
    ",rules=marian",
    ",rules=marian,length_penalty=0.6",
    ",rules=ct2",
    ",rules=ct2,length_penalty=0",
    ",rules=ct2,patience=2",
    ",rules=fairseq",
    ",rules=fairseq,length_penalty=-1",
};
static const char *const guesses[] = {
    "", ",levels=1", ",levels=3,width=1", ",levels=8,width=12", ",levels=16,width=5", ",init=draft",
};

static void set_scene(scene *c, uint32_t seed) {
    c->model = any_oracle(seed);
    add_drafter(&c->model, say);
    c->model.script = &c->right;
    c->model.order = any(3);
    c->src = any_source(&c->model, c->prefix);
}

/* beam's own output, garbage, nothing, or part of each */
static void set_draft(scene *c) {
    const int32_t kind = any(4), n = c->right.n ? c->right.best[0].n : 0;
    c->src.draft = c->draft;
    c->src.n_draft = kind == 0 ? 0 : any(4) ? n : any(n + 1);
    for (int32_t i = 0; i < c->src.n_draft; i++)
        c->draft[i] = kind == 1 || (kind == 2 && any(3) == 0) ? any(c->model.vocab)
                                                              : c->right.best[0].token[i];
}

static void any_guess_gives_beams_output(void **unused) {
    pk_ngrams *ngrams;
    int32_t    passes = 0, plain_passes = 0;
    (void)unused;
    assert_int_equal(pk_ngrams_open(6, &ngrams), PK_OK);
    for (uint32_t seed = 0; seed < 3000; seed++) {
        scene         c = { 0 };
        oracle_result got;
        char          how[128], plain[160], spec[192];
        set_scene(&c, seed);
        const char *size = ANY_OF(sizes);
        const char *limit = ANY_OF(limits);
        snprintf(how, sizeof how, "%s%s%s%s", size, ANY_OF(rules), *limit ? "," : "", limit);
        snprintf(plain, sizeof plain, "beam:%s", how);
        snprintf(spec, sizeof spec, "gad-beam:%s%s", how, ANY_OF(guesses));
        c.src.n_best = 1 + any(size[5] - '0' < 3 ? 1 : 2);
        oracle_translate(&c.model, plain, &c.src, &c.right);
        const int32_t before = c.model.passes;
        if (any(3)) set_draft(&c);
        if (any(2)) c.src.ngrams = ngrams;
        c.src.drafter = any(2);
        oracle_translate(&c.model, spec, &c.src, &got);
        expect_same(&c.right, &got, &c.src, spec);
        assert_true(c.model.passes <= before);
        assert_true(c.src.drafter || c.model.draft_passes == 0);
        passes += c.model.passes, plain_passes += before;
    }
    assert_true(passes < plain_passes);
    pk_ngrams_close(ngrams);
}

/* a model whose next token depends on the last one: what it said before it says again */
static void set_long(scene *c, uint32_t seed, int32_t order) {
    *c = (scene){ .model = { .seed = seed,
                             .vocab = 12,
                             .order = order,
                             .pad = 11,
                             .eos_bias = -9,
                             .eos_slope = 0.25f } };
    c->src = oracle_source(&c->model, 60);
    c->src.want_scores = true;
    c->src.n_best = 4;
    oracle_translate(&c->model, "beam:size=4", &c->src, &c->right);
}

/* passes of gad-beam over 40 sentences, beam's counting 100 */
static int32_t passes_of(const char *spec, int32_t order, bool draft) {
    int32_t passes = 0, plain = 0;
    for (uint32_t seed = 0; seed < 40; seed++) {
        scene         c;
        oracle_result got;
        set_long(&c, seed, order);
        plain += c.model.passes;
        if (draft) c.src.draft = c.right.best[0].token, c.src.n_draft = c.right.best[0].n - 1;
        oracle_translate(&c.model, spec, &c.src, &got);
        expect_same(&c.right, &got, &c.src, spec);
        passes += c.model.passes;
    }
    return 100 * passes / plain;
}

static void steps_that_were_foreseen_take_no_pass(void **unused) {
    (void)unused;
    assert_in_range(passes_of("gad-beam:size=4,levels=8", 1, false), 10, 60);
    assert_in_range(passes_of("gad-beam:size=4,levels=8", 1, true), 10, 60);
    assert_in_range(passes_of("gad-beam:size=4,levels=16,width=24", 1, true), 5, 40);
    assert_in_range(passes_of("gad-beam:size=4,levels=8", 3, false), 60, 100);
}

/* where nothing is foreseen and asks are dear, it is beam search, ask for ask, but for probes */
static void guesses_that_do_not_pay_are_not_asked(void **unused) {
    pk_ngrams *ngrams;
    int32_t    asks = 0, plain = 0;
    (void)unused;
    assert_int_equal(pk_ngrams_open(6, &ngrams), PK_OK);
    for (uint32_t seed = 0; seed < 60; seed++) {
        scene         c;
        oracle_result got;
        set_long(&c, seed, 0);
        plain += c.model.asks;
        c.model.cost = dear;
        c.src.ngrams = ngrams;
        oracle_translate(&c.model, "gad-beam:size=4", &c.src, &got);
        expect_same(&c.right, &got, &c.src, "gad-beam");
        asks += c.model.asks;
    }
    assert_true(asks <= plain + plain / 50);
    pk_ngrams_close(ngrams);
}

static void a_draft_of_another_vocabulary_is_refused(void **unused) {
    scene              c;
    const pk_strategy *by;
    void              *state;
    const int32_t      draft[] = { 3, 12 };
    (void)unused;
    set_long(&c, 1, 1);
    c.src.draft = draft, c.src.n_draft = 2;
    assert_int_equal(pk_strategy_parse("gad-beam:size=4", &by, &state), PK_OK);
    assert_int_equal(by->begin(by, state, &c.src), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "token 2 of the draft is 12"));
    by->end(state);
    c.src.draft = NULL, c.src.n_draft = 0, c.src.drafter = true;
    assert_int_equal(by->begin(by, state, &c.src), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "<mask>"));
    by->end(state);
    pk_memory_give(state);
}

static pk_status begin_and_end(void *context) {
    scene             *c = context;
    const pk_strategy *by;
    void              *state;
    PK_TRY(pk_strategy_parse("gad-beam:size=4", &by, &state));
    const pk_status status = by->begin(by, state, &c->src);
    by->end(state);
    pk_memory_give(state);
    return status;
}

static void failed_allocations_are_reported(void **unused) {
    scene c = { 0 };
    (void)unused;
    set_scene(&c, 3);
    c.src.drafter = true;
    assert_true(check_every_allocation(begin_and_end, &c) > 15);
}

static void the_most_similar_history_is_the_forecast(void **unused) {
    pk_forecast        f;
    const pk_candidate a[] = { { 1, -1 }, { 2, -2 } }, b[] = { { 3, -1 } };
    pk_context         at = { .pos = 5, .n = 3, .last = { 7, 8, 9 } };
    (void)unused;
    assert_int_equal(pk_forecast_begin(&f, 3, 2), PK_OK);
    assert_null(pk_forecast_look(&f, &at));
    pk_forecast_learn(&f, &at, a, 2);
    at.last[1] = 6, at.pos = 6;
    pk_forecast_learn(&f, &at, b, 1);
    assert_int_equal(pk_forecast_look(&f, &at)->token, 3);
    assert_int_equal(pk_forecast_look(&f, &at)[1].token, PK_NO_TOKEN);
    assert_true(pk_forecast_knows(&f, &at));
    at.last[1] = 8, at.pos = 50; /* two in common count anywhere */
    assert_int_equal(pk_forecast_look(&f, &at)->token, 1);
    assert_false(pk_forecast_knows(&f, &at));
    at.last[1] = 5; /* one only nearby */
    assert_null(pk_forecast_look(&f, &at));
    at.pos = 8;
    assert_int_equal(pk_forecast_look(&f, &at)->token, 3); /* the nearer */
    at.last[0] = 4;                                        /* none: the same position */
    assert_null(pk_forecast_look(&f, &at));
    at.pos = 5;
    assert_int_equal(pk_forecast_look(&f, &at)->token, 1);
    for (int i = 0; i < 3; i++) pk_forecast_learn(&f, &(pk_context){ .pos = 20 + i }, b, 1);
    assert_null(pk_forecast_look(&f, &at)); /* the oldest made room */
    pk_forecast_end(&f);
    pk_forecast_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_guess_gives_beams_output),
        cmocka_unit_test(steps_that_were_foreseen_take_no_pass),
        cmocka_unit_test(guesses_that_do_not_pay_are_not_asked),
        cmocka_unit_test(a_draft_of_another_vocabulary_is_refused),
        cmocka_unit_test(failed_allocations_are_reported),
        cmocka_unit_test(the_most_similar_history_is_the_forecast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
