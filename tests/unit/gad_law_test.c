/* gad_law_test.c - draft and verify through the worker, on random networks: greedy's tokens and
 * log-probabilities, bit for bit, whatever the drafter; f32 and i8, alone and in batches, with any
 * number of threads, with a shared encoder or one of its own, and when memory runs short. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "engine/model.h"
#include "engine/worker.h"
#include "pronk.h"
#include "serve_jobs.h"
#include "tiny_network.h"

enum { N_JOBS = 33, MASK = 48 };

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

typedef struct run {
    const tiny_network *model;
    const pk_network   *drafter; /* NULL: decode has none */
    bool                shares_encoder, sees_all;
    const char         *decode, *backend;
    int32_t             batch, threads, usual_length;
} run;

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
    if (r->sees_all) strcpy(mask.name, "<mask:all>");
    if (r->drafter) drafts = pk_ensemble_alone(r->drafter), o.drafter = &drafts;
    ASSERT_OK(pk_strategy_parse(r->decode, &o.plan.strategy, &options));
    ASSERT_OK(pk_strategy_parse("greedy", &o.scoring.strategy, &scoring));
    o.plan.options = options, o.scoring.options = scoring;
    o.plan.n_best = o.scoring.n_best = 1;
    o.plan.scores = true;
    make_jobs(job, order);
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
        const pk_job_hypothesis *x = &a[i].hypothesis[0], *y = &b[i].hypothesis[0];
        assert_true(x->n > 0);
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->token, y->token, (size_t)x->n * sizeof *x->token);
        assert_memory_equal(x->logp, y->logp, (size_t)x->n * sizeof *x->logp);
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
static const char *const methods[] = { "gad", "gad:block=3", "gad:block=25",
                                       "gad:block=6,beta=5,tau=0" };

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
        const char *method = methods[(i + r->batch) % 4];
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
        run r = { .model = &model, .drafter = &drafter.net };
        for (int shape = 0; shape < 8; shape++) {
            r.batch = shape & 1 ? 32 : 1;
            r.threads = shape & 2 ? 2 : 1;
            r.shares_encoder = shape & 4;
            r.sees_all = shape == 3;
            r.usual_length = shape == 5 ? 1 : 48; /* few slots: sentences are put back */
            check(&r, "cpu");
            if (shape == 1 && type) check(&r, "ref");
        }
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_and_verify_is_greedy_search),
        cmocka_unit_test(a_model_that_drafts_for_itself_is_greedy_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
