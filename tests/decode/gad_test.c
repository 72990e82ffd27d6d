/* gad_test.c - draft and verify gives greedy's output and greedy's log-probabilities, bit for bit,
 * whatever a scripted drafter proposes: right, wrong from any place on, garbage, nothing. oracle.h
 * checks limits, positions, blocks and that nothing is allocated on the way. */
#include "successors.h"

#include "check.h"
#include "decode/draft_rates.h"
#include "decode/ngrams.h"

typedef struct script { /* what is right, and from where on a block is wrong */
    oracle_result right;
    int32_t       wrong_at; /* place in a block; negative: never */
    int32_t       instead;  /* what stands there; -1: as many tokens as there are, and more */
    uint32_t      damage;   /* of 16 drafts, so many are anything */
    int32_t       rank[2];  /* of the best token and the second best, where these are said */
} script;

/* the right token at its place in the output, or what the script says */
static int32_t follow_script(const oracle *o, const int32_t *known, int32_t n, int32_t ahead) {
    const script  *s = o->script;
    const uint32_t h = oracle_hash(o, known, n) + (uint32_t)ahead * 0x85EBCA6Bu;
    const int32_t  at = n + ahead,
                  anything = (int32_t)(oracle_mix(h) % (uint32_t)(o->vocab + 20)) - 2;
    if (s->wrong_at == ahead) return s->instead >= 0 ? s->instead : anything;
    if (oracle_mix(h + 7) % 16 < s->damage) return anything;
    return at < s->right.best[0].n ? s->right.best[0].token[at] : anything;
}

/* whatever else: the right token is the second best */
static int32_t follow_right(const oracle *o, const int32_t *known, int32_t n, int32_t ahead) {
    const script *s = o->script;
    const int32_t at = n + ahead;
    (void)known;
    return at < s->right.best[0].n ? s->right.best[0].token[at] : o->eos;
}

/* the model's own choice behind n tokens; 0: its best */
static int32_t token_of_rank(const oracle *o, const int32_t *token, int32_t n, int32_t rank) {
    float   logit[ORACLE_VOCAB];
    int32_t best = -1;
    oracle_logits(o, token, n, logit);
    if (o->pad >= 0) logit[o->pad] = -INFINITY;
    for (int32_t k = 0; k <= rank; k++) {
        if (best >= 0) logit[best] = -INFINITY;
        for (int32_t t = best = 0; t < o->vocab; t++)
            if (logit[t] > logit[best]) best = t;
    }
    return best;
}

/* behind the known tokens and the model's best ones: a token of this rank */
static int32_t follow_rank(const oracle *o, const int32_t *known, int32_t n, int32_t ahead,
                           int32_t rank) {
    int32_t token[2 * ORACLE_LONGEST];
    memcpy(token, known, (size_t)n * sizeof *token);
    for (; ahead > 0; ahead--, n++) token[n] = token_of_rank(o, token, n, 0);
    return token_of_rank(o, token, n, rank);
}

static int32_t follow_first_rank(const oracle *o, const int32_t *known, int32_t n, int32_t ahead) {
    return follow_rank(o, known, n, ahead, ((const script *)o->script)->rank[0]);
}

static int32_t follow_second_rank(const oracle *o, const int32_t *known, int32_t n, int32_t ahead) {
    return follow_rank(o, known, n, ahead, ((const script *)o->script)->rank[1]);
}

static const char *const methods[] = {
    "gad",
    "gad:block=1",
    "gad:block=2",
    "gad:block=5",
    "gad:block=25",
    "gad:block=64",
    "gad:block=7",
    "gad:beta=5,tau=0",
    "gad:block=5,nodes=16",
    "gad:block=3,nodes=64",
    "gad:nodes=7",
    "gad:block=4,nodes=2",
    "gad:block=25,nodes=1",
    "gad:block=6,nodes=20,beta=5,tau=0",
};
static const char *const refining_methods[] = {
    "gad:refine=1",
    "gad:block=1,refine=2",
    "gad:block=2,refine=1",
    "gad:block=7,refine=64",
    "gad:block=5,refine=2,beta=5,tau=0",
    "gad:block=5,nodes=16,refine=1",
    "gad:block=3,nodes=64,refine=2",
    "gad:nodes=7,refine=1",
    "gad:block=4,nodes=12,refine=2,beta=5,tau=0",
};
static const char *const self_methods[] = {
    "gad-self",
    "gad-self:block=1",
    "gad-self:block=4,points=1",
    "gad-self:block=6,points=3",
    "gad-self:block=12,points=8",
    "gad-self:points=2",
};

typedef struct scene {
    oracle    model;
    pk_source src;
    int32_t   prefix[4];
    script    script;
} scene;

static void set_scene(scene *c, uint32_t seed) {
    c->model = any_oracle(seed);
    add_drafter(&c->model, follow_script);
    c->model.script = &c->script;
    c->src = any_source(&c->model, c->prefix);
}

static void any_draft_gives_greedys_output(void **unused) {
    pk_ngrams *ngrams;
    (void)unused;
    assert_int_equal(pk_ngrams_open(6, &ngrams), PK_OK);
    for (uint32_t seed = 0; seed < 4000; seed++) {
        scene         c = { 0 };
        oracle_result got;
        char          spec[128], plain[128];
        set_scene(&c, seed);
        const char *limit = ANY_OF(limits);
        spell(plain, sizeof plain, "greedy", limit);
        oracle_translate(&c.model, plain, &c.src, &c.script.right);
        const int32_t passes = c.model.passes;
        c.script.wrong_at = any(12) - 4;
        c.script.instead = any(3) ? -1 : c.model.eos;
        c.script.damage = any(3) ? (uint32_t)any(17) : 0;
        if (any(2)) c.src.ngrams = ngrams;
        if (any(4) == 0 && !c.model.sees_all) c.model.room = 1 + any(6);
        if (any(2)) c.model.second = follow_right; /* deeper paths of a tree are right then */
        const bool self = !c.model.sees_all && !c.model.next && any(2);
        spell(spec, sizeof spec,
              self                     ? ANY_OF(self_methods)
              : c.model.next && any(2) ? ANY_OF(refining_methods)
                                       : ANY_OF(methods),
              limit);
        oracle_translate(&c.model, spec, &c.src, &got);
        expect_same(&c.script.right, &got, &c.src, spec);
        if (!c.model.room) assert_true(c.model.passes <= passes);
    }
    pk_ngrams_close(ngrams);
}

/* what follows what, of a lexicon that knows anything: other trees, the same output */
static void any_successors_give_greedys_output(void **unused) {
    int32_t differ = 0;
    (void)unused;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        scene         c = { 0 };
        oracle_result got;
        successors    by;
        char          spec[128], plain[128];
        set_scene(&c, seed);
        const char *limit = ANY_OF(limits);
        spell(plain, sizeof plain, "greedy", limit);
        oracle_translate(&c.model, plain, &c.src, &c.script.right);
        c.script.wrong_at = any(12) - 4;
        c.script.instead = any(3) ? -1 : c.model.eos;
        c.script.damage = any(3) ? (uint32_t)any(17) : 0;
        if (any(2)) c.model.second = follow_right;
        spell(spec, sizeof spec,
              c.model.next && any(2) ? ANY_OF(refining_methods) : ANY_OF(methods), limit);
        oracle_translate(&c.model, spec, &c.src, &got);
        const int32_t asks = c.model.asks;
        open_successors(&by, any(2) ? c.model.vocab : 2 + any(40));
        c.src.lexicon = &by.lexicon;
        oracle_translate(&c.model, spec, &c.src, &got);
        expect_same(&c.script.right, &got, &c.src, spec);
        differ += c.model.asks != asks;
        close_successors(&by);
    }
    assert_true(differ > 300); /* it is used */
}

/* a model that ends after some 20 tokens; right: greedy's output */
static void set_long(scene *c, uint32_t seed) {
    *c = (scene){ .model = { .seed = seed,
                             .vocab = 32,
                             .pad = 31,
                             .eos_bias = -8,
                             .eos_slope = 0.4f,
                             .draft = follow_script,
                             .sure = 20 } };
    c->model.script = &c->script;
    c->script.wrong_at = -1;
    c->src = oracle_source(&c->model, 60);
    c->src.want_scores = true;
    oracle_translate(&c->model, "greedy", &c->src, &c->script.right);
    assert_true(c->script.right.best[0].n > 12);
}

/* A block of 6, wrong at each place: so many tokens a pass, the model's own among them. Never wrong:
 * the bonus is kept too. */
static void rejected_at_every_place(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 20; seed++)
        for (int32_t place = 0; place <= 6; place++) {
            scene         c;
            oracle_result got;
            set_long(&c, seed);
            const int32_t n = c.script.right.best[0].n;
            c.script.wrong_at = place;
            c.script.instead = 30; /* seldom what the model says */
            oracle_translate(&c.model, "gad:block=6", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad:block=6");
            assert_true(c.model.passes <= (n + place) / (place + 1));
            assert_true(c.model.draft_passes <= c.model.passes);
            if (place == 6) assert_int_equal(c.model.passes, (n + 6) / 7);
        }
}

/* The best token of a draft is wrong at one place, the second best is right: a tree that has room for
 * it behind a right one is kept whole, a chain up to that place. */
static void the_second_best_is_checked_too(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 20; seed++)
        for (int32_t place = 0; place < 4; place++) {
            scene         c;
            oracle_result got;
            set_long(&c, seed);
            const int32_t n = c.script.right.best[0].n;
            c.script.wrong_at = place;
            while (oracle_has(c.script.right.best[0].token, n, ++c.script.instead)) continue;
            c.model.second = follow_right;
            c.model.sure = 2; /* 0.86, 0.12, 0.02: 14 paths have one second best at most */
            oracle_translate(&c.model, "gad:block=4,nodes=4", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad:block=4,nodes=4");
            assert_true(c.model.most_asks <= 5);
            const int32_t few = c.model.passes;
            oracle_translate(&c.model, "gad:block=4,nodes=16", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad:block=4,nodes=16");
            assert_true(c.model.most_asks <= 17);
            assert_int_equal(c.model.passes, (n + 4) / 5);
            /* behind the last tokens a chain is shorter, and leaves nodes to others */
            assert_in_range(few, (n - 4 + place) / (place + 1), (n + place) / (place + 1));
            assert_true(few > c.model.passes || (few == c.model.passes && place == 3));
        }
}

/* A drafter whose known tokens say what follows them has nothing wrong behind one further look at its
 * draft, which is wrong at one place; and does not look again at one that stays the same. */
static void a_draft_is_read_again(void **unused) {
    int32_t once = 0, twice = 0; /* passes */
    (void)unused;
    for (uint32_t seed = 0; seed < 20; seed++)
        for (int32_t place = 1; place <= 6; place++) {
            scene         c;
            oracle_result got;
            set_long(&c, seed);
            c.model.next = true;
            c.src = oracle_source(&c.model, 60);
            c.src.want_scores = true;
            const int32_t n = c.script.right.best[0].n;
            c.script.wrong_at = place;
            c.script.instead = 30;
            oracle_translate(&c.model, "gad:block=6", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad:block=6");
            once += c.model.passes;
            oracle_translate(&c.model, "gad:block=6,refine=1", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad:block=6,refine=1");
            assert_int_equal(c.model.passes, (n + 6) / 7);
            twice += c.model.passes;
            const int32_t drafts = c.model.draft_passes;
            oracle_translate(&c.model, "gad:block=6,refine=9", &c.src, &got);
            assert_true(c.model.draft_passes <= drafts + c.model.passes);
        }
    assert_true(once > 3 * twice / 2);
}

/* The same in one network: from the second pass on a block of 6 brings 7 tokens. With one block behind
 * the certain tokens a long draft is used up in several passes, with one behind each draft never. */
static void one_pass_checks_and_drafts(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 20; seed++)
        for (int32_t place = 1; place <= 7; place++) {
            scene         c;
            oracle_result got;
            set_long(&c, seed);
            const int32_t n = c.script.right.best[0].n;
            c.script.wrong_at = place;
            c.script.instead = 30;
            oracle_translate(&c.model, "gad-self:block=6,points=8", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad-self");
            assert_true(c.model.passes <= 1 + (n - 1 + place - 1) / place);
            assert_int_equal(c.model.draft_passes, 0);
            if (place == 7) assert_int_equal(c.model.passes, 1 + (n - 1 + 6) / 7);
            oracle_translate(&c.model, "gad-self:block=6,points=1", &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, "gad-self");
            assert_true(c.model.passes < n + (place == 1)); /* then every draft is wrong at once */
        }
}

/* a drafted end symbol, right or not, costs no ask behind it */
static void the_end_inside_a_block(void **unused) {
    scene         c;
    oracle_result got;
    (void)unused;
    set_long(&c, 3);
    const int32_t n = c.script.right.best[0].n;
    oracle_translate(&c.model, "gad:block=64", &c.src, &got);
    expect_same(&c.script.right, &got, &c.src, "gad:block=64");
    assert_int_equal(c.model.passes, 1);
    assert_int_equal(c.model.asks, n);
    c.script.wrong_at = 2;
    c.script.instead = c.model.eos;
    oracle_translate(&c.model, "gad:block=64", &c.src, &got);
    expect_same(&c.script.right, &got, &c.src, "gad:block=64");
    assert_int_equal(c.model.most_asks, 3);
}

static void tokens_that_the_model_lacks_are_no_guesses(void **unused) {
    const int32_t none[] = { 32, 33, 48, 1000, PK_NO_TOKEN };
    (void)unused;
    for (int i = 0; i < 5; i++) {
        scene         c;
        oracle_result got;
        set_long(&c, 5);
        c.script.wrong_at = 0;
        c.script.instead = none[i] < 0 ? 1 << 20 : none[i];
        oracle_translate(&c.model, "gad:block=4", &c.src, &got);
        expect_same(&c.script.right, &got, &c.src, "gad:block=4");
        assert_int_equal(c.model.most_asks, 1); /* drafts of 0 tokens: greedy search */
        assert_int_equal(c.model.passes, c.script.right.best[0].n);
    }
}

/* where the machine is busy nothing is drafted but a probe now and then; where it is idle, much */
static void blocks_are_as_long_as_they_pay(void **unused) {
    pk_draft_rates r = { .quiet = 0 };
    int32_t        drafts = 0;
    (void)unused;
    for (int i = 0; i < 20480; i++) drafts += pk_draft_rates_block(&r, 1.5f, 1.5f, 25) > 0;
    assert_in_range(drafts, 5, 13);
    for (int i = 0; i < 500; i++) pk_draft_rates_judge(&r, 25, 25);
    assert_in_range(pk_draft_rates_block(&r, 1.2f, 0.025f, 25), 20, 25);
    for (int i = 0; i < 500; i++) pk_draft_rates_judge(&r, 25, 4);
    assert_in_range(pk_draft_rates_block(&r, 1.2f, 0.025f, 25), 4, 5);
    for (int i = 0; i < 500; i++) pk_draft_rates_judge(&r, 25, 0);
    assert_int_equal(pk_draft_rates_block(&r, 1.2f, 0.025f, 25), 0);
    assert_true(pk_draft_more(
                    &(pk_pass){ .cost = cheap, .n_cost = 3, .more = cheap[2] - cheap[1] }) < 0.03f);
    assert_true(pk_draft_more(&(pk_pass){ .n_cost = 0 }) < 0);
}

/* every token is the model's choice after those before it, or among the best beta and not more than
 * tau worse; returns how many are not its choice */
static int32_t expect_near_the_best(const scene *c, const oracle_result *got, int32_t beta,
                                    float tau) {
    int32_t others = 0;
    for (int32_t i = 0; i < got->best[0].n; i++) {
        const int32_t token = got->best[0].token[i];
        float         logit[ORACLE_VOCAB], most = -INFINITY;
        int32_t       better = 0;
        double        sum = 0;
        oracle_logits(&c->model, got->best[0].token, i, logit);
        for (int32_t t = 0; t < c->model.vocab; t++) {
            sum += exp((double)logit[t]);
            if (t == c->model.pad) continue;
            better += logit[t] > logit[token];
            if (logit[t] > most) most = logit[t];
        }
        assert_true(better < beta && (double)(most - logit[token]) <= (double)tau + 1e-5);
        assert_true(fabs((double)logit[token] - log(sum) - (double)got->best[0].logp[i]) < 1e-4);
        others += better > 0;
    }
    return others;
}

/* GAD++, with a draft as a chain and as a tree of which other branches are probable too */
static void tolerated_drafts_are_near_the_best(void **unused) {
    (void)unused;
    for (int tree = 0; tree < 2; tree++) {
        int32_t others = 0;
        for (uint32_t seed = 0; seed < 300; seed++) {
            scene         c;
            oracle_result got;
            const int32_t beta = 2 + (int32_t)(seed % 3);
            const float   tau = 0.5f + 0.5f * (float)(seed % 4);
            char          spec[64];
            set_long(&c, seed);
            c.script.damage = 8;
            c.script.rank[1] = 1 + (int32_t)(seed % 2);
            if (tree) c.model.second = follow_second_rank, c.model.sure = 1;
            snprintf(spec, sizeof spec, "gad:block=5,beta=%d,tau=%g%s", beta, (double)tau,
                     tree ? ",nodes=12" : "");
            oracle_translate(&c.model, spec, &c.src, &got);
            others += expect_near_the_best(&c, &got, beta, tau);
        }
        assert_true(others > 100); /* drafts that greedy search would not have taken */
    }
}

/* Where the best token is a guess, no other is tolerated, though the drafter thinks more of it. Where
 * it is none, another is. */
static void the_best_token_is_no_question_of_tolerance(void **unused) {
    static const char *const enough[] = { "gad:block=1,nodes=2,beta=4,tau=100",
                                          "gad:block=2,nodes=64,beta=2,tau=100",
                                          "gad:block=2,nodes=64,beta=9,tau=100" };
    int32_t                  differ = 0;
    (void)unused;
    for (uint32_t seed = 0; seed < 60; seed++) {
        scene         c;
        oracle_result got;
        set_long(&c, seed);
        c.model.draft = follow_first_rank;
        c.model.second = follow_second_rank;
        c.model.sure = 2;
        c.script.rank[0] = 1, c.script.rank[1] = 0;
        for (int i = 0; i < COUNT(enough); i++) {
            oracle_translate(&c.model, enough[i], &c.src, &got);
            expect_same(&c.script.right, &got, &c.src, enough[i]);
        }
        oracle_translate(&c.model, "gad:block=1,nodes=1,beta=4,tau=100", &c.src, &got);
        assert_int_equal(got.best[0].token[0], token_of_rank(&c.model, NULL, 0, 1));
        differ += got.best[0].token[0] != c.script.right.best[0].token[0];
    }
    assert_int_equal(differ, 60);
}

/* of several that are good enough the most probable is taken, not the drafter's first */
static void the_best_of_the_tolerated_is_taken(void **unused) {
    const char *spec = "gad:block=1,nodes=2,beta=4,tau=100";
    int32_t     n = 0;
    (void)unused;
    for (uint32_t seed = 0; seed < 60; seed++) {
        scene         c;
        oracle_result got;
        set_long(&c, seed);
        c.model.draft = follow_first_rank;
        c.model.second = follow_second_rank;
        c.model.sure = 4; /* a third best one is not worth an ask */
        for (int turned = 0; turned < 2; turned++) {
            c.script.rank[turned] = 2, c.script.rank[!turned] = 1;
            oracle_translate(&c.model, spec, &c.src, &got);
            /* a guess of rank 1, then what the model says behind it, and so on */
            for (int32_t i = 0; i < got.best[0].n; i++, n++)
                assert_int_equal(got.best[0].token[i],
                                 token_of_rank(&c.model, got.best[0].token, i, i % 2 == 0));
        }
    }
    assert_true(n > 500);
}

/* the drafter alone: its tokens as they are, block after block, up to the end or the longest */
static void blocks_are_taken_as_they_are(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 8; kind++)
        for (int32_t block = 1; block < 9; block++) {
            scene         c;
            oracle_result got;
            char          spec[64];
            set_long(&c, 7);
            c.model.sees_all = kind & 1;
            c.model.next =
                !(kind & 3) && block % 2; /* what follows a wrong token is not scripted */
            c.src = oracle_source(&c.model, 60);
            c.script.wrong_at = kind & 2 ? 1 : -1;
            c.script.instead = 30;
            c.src.prefix = c.script.right.best[0].token;
            c.src.n_prefix = kind & 4 ? 3 : 0;
            snprintf(spec, sizeof spec, "blocks:block=%d,max_length=40", block);
            oracle_translate(&c.model, spec, &c.src, &got);
            const int32_t n = c.script.right.best[0].n, first = c.src.n_prefix;
            const bool    wrong = kind & 2 && block > 1;
            assert_true(wrong || got.best[0].n == n);
            for (int32_t i = 0; i < got.best[0].n && i < n; i++)
                assert_int_equal(got.best[0].token[i],
                                 wrong && i >= first && (i - first) % block == 1
                                     ? 30
                                     : c.script.right.best[0].token[i]);
            if (!wrong) assert_int_equal(c.model.passes, (n - first + block - 1) / block);
            assert_true(got.best[0].n <= 40);
            c.model.room = 3; /* known tokens in several passes */
            if (!c.model.sees_all) oracle_translate(&c.model, spec, &c.src, &got);
        }
}

static void a_drafter_without_masks_is_refused(void **unused) {
    oracle             o = { .vocab = 8, .pad = 7 };
    const pk_source    src = oracle_source(&o, 9);
    const pk_strategy *by;
    void              *state;
    (void)unused;
    static const char *const all[] = { "gad", "gad-self", "blocks" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pk_strategy_parse(all[i], &by, &state), PK_OK);
        assert_int_equal(by->begin(by, state, &src), PK_UNSUPPORTED);
        assert_non_null(strstr(pk_last_error(), "<mask>"));
        by->end(state);
        pk_memory_give(state);
    }
}

static void a_drafter_that_cannot_read_its_draft_is_refused(void **unused) {
    scene              c;
    const pk_strategy *by;
    void              *state;
    (void)unused;
    set_long(&c, 1);
    assert_int_equal(pk_strategy_parse("gad:refine=1", &by, &state), PK_OK);
    assert_int_equal(by->begin(by, state, &c.src), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "next=yes"));
    by->end(state);
    pk_memory_give(state);
    /* a lexicon reads nothing */
    assert_int_equal(pk_strategy_parse("gad:init=lexicon,refine=1", &by, &state), PK_OK);
    assert_int_equal(by->check(by, state, 1), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "leave refine out"));
    pk_memory_give(state);
}

static pk_status attempt(void *user) {
    const pk_source   *src = user;
    const pk_strategy *by;
    void              *state;
    PK_TRY(pk_strategy_parse("gad:block=5,nodes=16", &by, &state));
    const pk_status status = by->begin(by, state, src);
    by->end(state);
    pk_memory_give(state);
    return status;
}

static void failed_allocations(void **unused) {
    scene      c;
    successors by;
    (void)unused;
    set_long(&c, 1);
    open_successors(&by, c.model.vocab);
    c.src.lexicon = &by.lexicon;
    assert_true(check_every_allocation(attempt, &c.src) > 8);
    close_successors(&by);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_draft_gives_greedys_output),
        cmocka_unit_test(any_successors_give_greedys_output),
        cmocka_unit_test(rejected_at_every_place),
        cmocka_unit_test(the_second_best_is_checked_too),
        cmocka_unit_test(a_draft_is_read_again),
        cmocka_unit_test(one_pass_checks_and_drafts),
        cmocka_unit_test(the_end_inside_a_block),
        cmocka_unit_test(tokens_that_the_model_lacks_are_no_guesses),
        cmocka_unit_test(blocks_are_as_long_as_they_pay),
        cmocka_unit_test(tolerated_drafts_are_near_the_best),
        cmocka_unit_test(the_best_token_is_no_question_of_tolerance),
        cmocka_unit_test(the_best_of_the_tolerated_is_taken),
        cmocka_unit_test(blocks_are_taken_as_they_are),
        cmocka_unit_test(a_drafter_without_masks_is_refused),
        cmocka_unit_test(a_drafter_that_cannot_read_its_draft_is_refused),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
