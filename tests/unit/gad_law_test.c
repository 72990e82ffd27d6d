/* gad_law_test.c - draft and verify through the worker, on random networks: greedy's tokens and
 * log-probabilities, and beam's n-best lists and scores, bit for bit, whatever the drafter; f32 and
 * i8, alone and in batches, with any number of threads, with a shared encoder or one of its own, with
 * a lexicon and a list for the drafter or without, and when memory runs short. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "engine/model.h"
#include "engine/worker.h"
#include "pronk.h"
#include "serve_jobs.h"
#include "tiny_network.h"

enum { N_JOBS = 33, MASK = 48, TEXT = 40, EACH = 3 };

static void make_jobs(pk_job *job, pk_job **order) {
    uint64_t seed = 5;
    memset(job, 0, N_JOBS * sizeof *job);
    for (int i = 0; i < N_JOBS; i++) {
        for (int j = 0; j < 12 - i % 12; j++)
            ASSERT_OK(pk_ids_add(&job[i].source, 1 + (int32_t)((tiny_random(&seed) + 1) * 19)));
        ASSERT_OK(pk_ids_add(&job[i].source, 0));
        for (int j = 0; i % 5 == 0 && j < i % 4; j++)
            ASSERT_OK(pk_ids_add(&job[i].prefix, 3 + i % 7 + j));
        order[i] = &job[i];
    }
}

typedef struct table { /* every token of the text becomes any EACH, and is followed by any */
    uint32_t             first[TEXT + 2]; /* of rows, of entries and of successors: all the same */
    int32_t              distance[TEXT + 1];
    pk_lexicon_candidate entry[(TEXT + 1) * EACH], next[(TEXT + 1) * EACH];
    float                share[TEXT];
    uint32_t             row_first[TEXT + 2];
    pk_lexicon           lexicon;
    pk_shortlist         list;
} table;

static void open_table(table *t) {
    uint64_t seed = 77;
    *t = (table){ .lexicon = { .source_vocab = TEXT, .target_vocab = TEXT, .slope = 1 } };
    for (uint32_t x = 0; x <= TEXT; x++) {
        t->distance[x] = PK_LEXICON_ANY;
        t->row_first[x + 1] = x + 1;
        t->first[x + 1] = (x + 1) * EACH;
    }
    for (int i = 0; i < (TEXT + 1) * EACH; i++) {
        t->entry[i] = (pk_lexicon_candidate){ (int32_t)((tiny_random(&seed) + 1) * 19), 0.2f };
        t->next[i] = (pk_lexicon_candidate){ (int32_t)((tiny_random(&seed) + 1) * 19), 0.3f };
    }
    for (int y = 0; y < TEXT; y++) t->share[y] = 0.025f;
    t->lexicon.row_first = t->row_first, t->lexicon.distance = t->distance;
    t->lexicon.entry_first = t->first, t->lexicon.entry = t->entry;
    t->lexicon.next_first = t->first, t->lexicon.next = t->next, t->lexicon.share = t->share;
    const pk_shortlist_needs needs = {
        .size = { EACH, 2, 16 }, .n_tokens = TEXT, .eos = 0, .most_given = 16
    };
    ASSERT_OK(pk_shortlist_open(&t->lexicon, &needs, &t->list));
    assert_true(t->list.n_always <= 3 && t->list.longest < TEXT); /* not all is in a list */
}

typedef struct run {
    const tiny_network *model;
    const pk_network   *drafter; /* NULL: decode has none */
    bool                shares_encoder;
    const char         *mask; /* NULL: <mask> */
    const char         *decode, *backend;
    int32_t             batch, threads, usual_length, n_best;
    const pk_job       *drafts; /* their best outputs are the drafts, where there are any */
    const table        *lists;  /* a lexicon for trees, and lists of it for the drafter; or NULL */
    int                 turn;   /* of methods */
} run;

/* every third is given as it is, every third garbage, and every third nothing */
static void add_draft(const pk_job *from, pk_job *to, int32_t i) {
    const pk_job_hypothesis *h = &from->hypothesis[0];
    for (int32_t j = 0; i % 3 < 2 && j + 1 < h->n; j++)
        ASSERT_OK(pk_ids_add(&to->draft, i % 3 ? 1 + (i * 7 + j * 5) % 38 : h->token[j]));
}

static pk_stats decode(const run *r, pk_job *job) {
    pk_job           *order[N_JOBS];
    pk_worker         w;
    void             *options, *scoring;
    pk_added_tokens   mask = { .name = "<mask>", .first = MASK, .count = 1 };
    const pk_ensemble all = pk_ensemble_alone(&r->model->net);
    pk_ensemble       drafts = { 0 };
    pk_worker_options o = { .backend = r->backend,
                            .threads = r->threads,
                            .batch = r->batch,
                            .batch_tokens = 512,
                            .max_source = 20,
                            .usual_length = r->usual_length,
                            .added = &mask,
                            .n_added = 1,
                            .shares_encoder = r->shares_encoder };
    if (r->mask) strcpy(mask.name, r->mask);
    if (r->drafter) drafts = pk_ensemble_alone(r->drafter), o.drafter = &drafts;
    if (r->drafter && r->lists) o.lexicon = &r->lists->lexicon, o.shortlist[1] = &r->lists->list;
    ASSERT_OK(pk_strategy_parse(r->decode, &o.plan.strategy, &options));
    ASSERT_OK(pk_strategy_parse("greedy", &o.scoring.strategy, &scoring));
    o.plan.options = options, o.scoring.options = scoring;
    o.plan.n_best = o.scoring.n_best = r->n_best ? r->n_best : 1;
    o.plan.scores = true;
    make_jobs(job, order);
    for (int i = 0; r->drafts && i < N_JOBS; i++) add_draft(&r->drafts[i], &job[i], i);
    ASSERT_OK(pk_worker_open(&w, &all, &o));
    serve_jobs(&w, &o.plan, order, N_JOBS);
    const pk_stats stats = w.stats;
    pk_worker_close(&w);
    pk_memory_give(options);
    pk_memory_give(scoring);
    return stats;
}

static void compare(const pk_job *a, const pk_job *b) {
    for (int i = 0; i < N_JOBS; i++) {
        assert_int_equal(a[i].n_hypotheses, b[i].n_hypotheses);
        for (int32_t k = 0; k < a[i].n_hypotheses; k++) {
            const pk_job_hypothesis *x = &a[i].hypothesis[k], *y = &b[i].hypothesis[k];
            assert_true(x->n > 0);
            assert_int_equal(x->n, y->n);
            assert_memory_equal(x->token, y->token, (size_t)x->n * sizeof *x->token);
            assert_memory_equal(x->logp, y->logp, (size_t)x->n * sizeof *x->logp);
            assert_memory_equal(&x->score, &y->score, sizeof x->score);
        }
    }
}

static void free_jobs(pk_job *job) {
    for (int i = 0; i < N_JOBS; i++) pk_job_free(&job[i]);
}

/* a drafter with a mask behind the text */
static void open_drafter(pk_dtype type, uint64_t seed, tiny_network *out) {
    pk_config c = tiny_config();
    c.decoder_layers = 1;
    c.n_text = 40;
    c.source_vocab = c.target_vocab = MASK + 1;
    ASSERT_OK(tiny_network_open(&c, type, seed, out));
}

static const char *const limits[] = { "", "no_repeat_ngram=2", "repetition_penalty=1.3",
                                      "min_length=9,max_length=15" };
static const char *const methods[] = {
    "gad",
    "gad:block=3",
    "gad:block=25",
    "gad:block=6,beta=5,tau=0",
    "gad:block=5,nodes=16",
    "gad:nodes=7",
    "gad:block=3,nodes=64",
};
static const char *const refining[] = {
    "gad:refine=1",         "gad:block=3,refine=2",          "gad:block=25,refine=1",
    "gad:block=6,refine=8", "gad:block=5,nodes=16,refine=1",
};
#define COUNT(list) (int)(sizeof list / sizeof *list)

static void check(run *r, const char *backend) {
    pk_job   greedy[N_JOBS], got[N_JOBS];
    uint64_t draft_passes = 0;
    r->backend = backend;
    for (int i = r->batch > 1; i < 4; i += 2) {
        char              plain[96], spec[96];
        const pk_network *drafter = r->drafter;
        snprintf(plain, sizeof plain, "greedy%s%s", i ? ":" : "", limits[i]);
        r->decode = plain, r->drafter = NULL;
        decode(r, greedy);
        r->drafter = drafter;
        const bool  reads = r->mask && strcmp(r->mask, "<mask:next>") == 0;
        const int   turn = r->turn++;
        const char *method =
            reads ? refining[turn % COUNT(refining)] : methods[turn % COUNT(methods)];
        snprintf(spec, sizeof spec, "%s%s%s", method,
                 !i                    ? ""
                 : strchr(method, ':') ? ","
                                       : ":",
                 limits[i]);
        r->decode = spec;
        draft_passes += decode(r, got).draft_passes;
        compare(greedy, got);
        free_jobs(got);
        free_jobs(greedy);
    }
    assert_true(draft_passes > 0);
}

static void draft_and_verify_is_greedy_search(void **state) {
    static const pk_dtype types[] = { PK_F32, PK_I8 };
    (void)state;
    for (int type = 0; type < 2; type++) {
        const pk_config c = tiny_config();
        tiny_network    model, drafter;
        ASSERT_OK(tiny_network_open(&c, types[type], 3, &model));
        open_drafter(types[type], 17, &drafter);
        run   r = { .model = &model, .drafter = &drafter.net, .turn = type };
        table lists;
        open_table(&lists);
        for (int shape = 0; shape < 8; shape++) {
            r.batch = shape & 1 ? 32 : 1;
            r.threads = shape & 2 ? 2 : 1;
            r.shares_encoder = shape & 4;
            r.mask = shape == 3 ? "<mask:all>" : shape % 3 == 1 ? "<mask:next>" : NULL;
            r.usual_length = shape == 5 ? 1 : 48; /* few slots: sentences are put back */
            r.lists = shape % 4 && shape < 7 ? &lists : NULL;
            check(&r, "cpu");
            if (shape == 1 && type) check(&r, "ref");
        }
        pk_shortlist_close(&lists.list);
        tiny_network_close(&drafter);
        tiny_network_close(&model);
    }
}

/* one network with a mask of its own */
static void a_model_that_drafts_for_itself_is_greedy_search(void **state) {
    static const char *const self[] = { "gad-self", "gad-self:block=3,points=1",
                                        "gad-self:block=7,points=8" };
    (void)state;
    for (int i = 0; i < 12; i++) {
        tiny_network model;
        pk_job       greedy[N_JOBS], got[N_JOBS];
        open_drafter(i % 2 ? PK_I8 : PK_F32, 29, &model);
        run            r = { .model = &model,
                             .decode = "greedy",
                             .backend = "cpu",
                             .batch = i < 6 ? 1 : 32,
                             .threads = 1 + i / 3 % 2,
                             .usual_length = i == 9 ? 1 : 48 };
        const pk_stats plain = decode(&r, greedy);
        r.decode = self[i % 3];
        const pk_stats drafted = decode(&r, got);
        compare(greedy, got);
        if (i != 9) assert_true(drafted.asks > plain.asks); /* else put back, and asked again */
        assert_int_equal(drafted.draft_passes, 0);
        free_jobs(got);
        free_jobs(greedy);
        tiny_network_close(&model);
    }
}

static const char *const beams[] = {
    "size=4",
    "size=5,rules=marian,no_repeat_ngram=2",
    "size=2,rules=ct2,length_penalty=0.6",
    "size=4,rules=fairseq,repetition_penalty=1.3,max_length=15",
};

/* plain beam search, then with guesses: fixed ones and as many as pay, drafted or not */
static void check_beam(run *r, int i, const pk_network *drafter) {
    pk_job beam[N_JOBS], got[N_JOBS];
    char   plain[96], spec[128];
    snprintf(plain, sizeof plain, "beam:%s", beams[i % 4]);
    snprintf(spec, sizeof spec, "gad-%s%s", plain, i % 3 ? ",levels=5" : "");
    r->decode = plain;
    r->n_best = 2;
    const pk_stats before = decode(r, beam);
    r->decode = spec;
    r->drafts = i % 2 ? beam : NULL;
    r->drafter = drafter;
    const pk_stats after = decode(r, got);
    r->drafter = NULL;
    r->drafts = NULL;
    compare(beam, got);
    if (!drafter && r->usual_length > 1) /* else some are put back, and decoded again */
        assert_true(after.sentence_passes <= before.sentence_passes);
    assert_true((after.draft_passes > 0) == (drafter != NULL) || i % 3 == 0);
    free_jobs(got);
    free_jobs(beam);
}

static void draft_and_verify_is_beam_search(void **state) {
    static const pk_dtype types[] = { PK_F32, PK_I8 };
    table                 lists;
    (void)state;
    open_table(&lists);
    for (int i = 0; i < 10; i++) {
        const pk_config c = tiny_config();
        tiny_network    model, drafter;
        ASSERT_OK(tiny_network_open(&c, types[i % 2], 3, &model));
        open_drafter(types[i % 2], 17, &drafter);
        run r = { .model = &model,
                  .backend = "cpu",
                  .batch = i < 5 ? 1 : 32,
                  .threads = 1 + i / 2 % 2,
                  .shares_encoder = i & 1,
                  .mask = i == 4       ? "<mask:all>"
                          : i % 3 == 1 ? "<mask:next>"
                                       : NULL,
                  .usual_length = i == 7 ? 1 : 48,
                  .lists = i % 3 < 2 ? &lists : NULL };
        check_beam(&r, i, NULL);
        check_beam(&r, i + 1, &drafter.net);
        tiny_network_close(&drafter);
        tiny_network_close(&model);
    }
    pk_shortlist_close(&lists.list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_and_verify_is_greedy_search),
        cmocka_unit_test(a_model_that_drafts_for_itself_is_greedy_search),
        cmocka_unit_test(draft_and_verify_is_beam_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
