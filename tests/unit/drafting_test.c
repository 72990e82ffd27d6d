/* drafting_test.c - a strategy that drafts with network 1 and verifies with network 0, through the
 * worker: it gives what greedy search on network 0 gives, whatever the drafter is worth, and passes
 * of sentences that ask one network are made together. On random networks, without text. */
#include "check.h"

#include <string.h>

#include "engine/model.h"
#include "engine/worker.h"
#include "pronk.h"
#include "serve_jobs.h"
#include "tiny_network.h"

enum { N_JOBS = 9, DRAFTS = 4, MOST = 64, AHEAD = 3 /* of the drafter's asks, for traces */ };

/* ---- the strategy: draft a few tokens one by one, verify them in one pass ---- */

/* Input i is the start symbol, a known token or a drafted one. The model has seen those before the
 * last known token; the drafter `fed`, of which the first `sound` turned out right. */
typedef struct drafting {
    int32_t start, eos, most, n, n_drafts, fed, sound;
    int32_t token[MOST]; /* n known ones, then the drafts */
    float   logp[MOST];
} drafting;

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    (void)self, (void)p;
    return (pk_strategy_limits){
        .asks = DRAFTS + 1, .hypotheses = 1, .slots = src->max_length + DRAFTS + 1, .top_k = 1
    };
}

static pk_strategy_limits draft_limits(const pk_strategy *self, const void *p,
                                       const pk_source *src) {
    (void)self, (void)p;
    return (pk_strategy_limits){
        .asks = 2,
        .hypotheses = 1,
        .slots = src->max_length + 2,
        .top_k = 1,
    };
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    (void)self;
    assert_true(src->max_length + DRAFTS <= MOST);
    *(drafting *)p =
        (drafting){ .start = src->model->start, .eos = src->model->eos, .most = src->max_length };
    return PK_OK;
}

static int costs_known; /* passes proposed with a known cost of the drafter */

static bool is_drafting(const drafting *d) {
    const int32_t last = d->n + d->n_drafts;
    return d->n_drafts < DRAFTS && last + 1 < d->most &&
           (d->n_drafts == 0 || d->token[last - 1] != d->eos);
}

/* asks for inputs from `first` on, up to that behind the last draft; the first follows `parent` */
static void ask_inputs(drafting *d, pk_pass *pass, int32_t first, int32_t parent) {
    for (int32_t i = first; i <= d->n + d->n_drafts; i++)
        parent = pk_ask_add(pass, (pk_ask){ .token = i ? d->token[i - 1] : d->start,
                                            .pos = i,
                                            .parent = parent,
                                            .ahead = pass->model ? AHEAD : 0,
                                            .top_k = 1 });
}

static void propose(void *p, pk_pass *pass) {
    drafting *d = p;
    if (pass->draft_cost > 0) costs_known++;
    pass->model = is_drafting(d) ? 1 : 0;
    if (pass->model)
        ask_inputs(d, pass, d->sound, d->sound - d->fed);
    else
        ask_inputs(d, pass, d->n, 0);
}

static void absorb_draft(drafting *d, const pk_pass *pass, pk_verdict *v) {
    d->token[d->n + d->n_drafts] = pass->answer[pass->n].top[0].token;
    d->fed = d->sound = d->n + ++d->n_drafts;
    pk_keep(v, pass->n);
}

static void absorb_verified(drafting *d, const pk_pass *pass, pk_verdict *v) {
    int32_t       i = 0;
    bool          same = true;
    const int32_t n = d->n;
    for (; i < pass->n && same && !v->done; i++) {
        const int32_t token = pass->answer[i + 1].top[0].token;
        same = i < d->n_drafts && d->token[n + i] == token;
        d->token[n + i] = token;
        d->n++;
        v->done = token == d->eos || d->n == d->most;
    }
    if (d->sound > d->n) d->sound = d->n;
    d->n_drafts = 0;
    pk_keep(v, i);
}

static void absorb(void *p, const pk_pass *pass, pk_verdict *v) {
    if (pass->model)
        absorb_draft(p, pass, v);
    else
        absorb_verified(p, pass, v);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    const drafting *d = p;
    if (room > 0) out[0] = (pk_hypothesis){ .token = d->token, .logp = d->logp, .n = d->n };
    return 1;
}

static void end(void *p) { (void)p; }

static const pk_strategy scripted = { .name = "scripted",
                                      .state_size = sizeof(drafting),
                                      .limits = limits,
                                      .draft_limits = draft_limits,
                                      .begin = begin,
                                      .propose = propose,
                                      .absorb = absorb,
                                      .result = result,
                                      .end = end };

/* ---- through the worker ---- */

static void make_jobs(pk_job *job, pk_job **order) {
    uint64_t seed = 5;
    memset(job, 0, N_JOBS * sizeof *job);
    for (int i = 0; i < N_JOBS; i++) {
        for (int j = 0; j < 12 - i; j++)
            ASSERT_OK(pk_ids_add(&job[i].source, 1 + (int32_t)((tiny_random(&seed) + 1) * 19)));
        ASSERT_OK(pk_ids_add(&job[i].source, 0));
        job[i].sentence = (size_t)i;
        order[i] = &job[i];
    }
}

typedef struct traced {
    uint64_t passes[2];        /* of sentences, on each network */
    int32_t  decoding[N_JOBS]; /* of each sentence: the last one */
    int32_t  again, ends;
} traced;

/* a sentence that was put back begins anew, under another number; its end comes once */
static void look_at_decoding(traced *t, const pk_trace_pass *pass) {
    int32_t *const decoding = &t->decoding[pass->sentence];
    assert_in_range(pass->decoding, *decoding, 1000);
    assert_int_equal(pass->kept, pass->done);
    if (pass->decoding != *decoding) {
        assert_int_equal(pass->ask[0].fed_at, -1);
        t->again++;
    }
    *decoding = pass->decoding;
    t->ends += pass->done;
}

static void look(void *user, const pk_trace_pass *pass) {
    traced *t = user;
    assert_true(pass->model == 0 || pass->model == 1);
    t->passes[pass->model]++;
    look_at_decoding(t, pass);
    for (int32_t i = 0; i < pass->n; i++) {
        const pk_trace_ask *a = &pass->ask[i];
        assert_int_equal(a->position, a->fed_at + 1 + (pass->model ? AHEAD : 0));
        if (i > 0) assert_int_equal(a->fed_at, a[-1].fed_at + 1);
        assert_int_equal(a->fed_at < 0, a->token == PK_NO_TOKEN);
    }
}

/* drafter NULL: greedily */
static pk_stats decode(const tiny_network *model, const tiny_network *drafter, int32_t usual_length,
                       pk_job *job) {
    pk_job           *order[N_JOBS];
    pk_worker         w;
    void             *options;
    const pk_ensemble all = pk_ensemble_alone(&model->net);
    const pk_ensemble drafts = pk_ensemble_alone(drafter ? &drafter->net : &model->net);
    pk_worker_options o = { .backend = "ref",
                            .threads = 1,
                            .batch = 4,
                            .batch_tokens = 64,
                            .max_source = 20,
                            .usual_length = usual_length,
                            .drafter = drafter ? &drafts : NULL };
    ASSERT_OK(pk_strategy_parse("greedy", &o.scoring.strategy, &options));
    o.scoring.options = options;
    o.scoring.n_best = 1;
    o.plan = o.scoring;
    const drafting fresh = { 0 };
    if (drafter) o.plan.strategy = &scripted, o.plan.options = &fresh;
    make_jobs(job, order);
    ASSERT_OK(pk_worker_open(&w, &all, &o));
    traced    seen = { 0 };
    pk_queued call = { .job = order, .n = N_JOBS, .plan = &o.plan, .trace = look, .user = &seen };
    assert_int_equal(serve_call(&w, &call), N_JOBS);
    ASSERT_OK(call.status);
    for (int32_t i = 0; i < pk_session_models(w.session); i++) {
        const pk_session *s = pk_session_model_part(w.session, i);
        assert_int_equal(pk_session_free_slots(s), pk_session_max(s)->slots);
        assert_true(w.network[i].cost.share > 0); /* learned for each */
    }
    const pk_stats stats = w.stats;
    assert_int_equal(seen.passes[0] + seen.passes[1], stats.sentence_passes);
    assert_int_equal(seen.passes[1] > 0, drafter != NULL);
    assert_int_equal(seen.ends, N_JOBS);
    assert_int_equal(seen.again > 0, usual_length == 1);
    pk_worker_close(&w);
    pk_memory_give(options);
    return stats;
}

static void compare(pk_job *a, pk_job *b) {
    for (int i = 0; i < N_JOBS; i++) {
        const pk_job_hypothesis *x = &a[i].hypothesis[0], *y = &b[i].hypothesis[0];
        assert_true(x->n > 0);
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->token, y->token, (size_t)x->n * sizeof *x->token);
    }
}

static void free_jobs(pk_job *job) {
    for (int i = 0; i < N_JOBS; i++) pk_job_free(&job[i]);
}

static void a_draft_that_is_verified_is_greedy_search(void **state) {
    const pk_config c = tiny_config();
    pk_config       d = tiny_config();
    tiny_network    model, drafter[2];
    pk_job          greedy[N_JOBS], drafted[N_JOBS];
    (void)state;
    d.dim = 8, d.decoder_layers = 1;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &model));
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &drafter[0])); /* always right */
    ASSERT_OK(tiny_network_open(&d, PK_F32, 11, &drafter[1]));
    const pk_stats plain = decode(&model, NULL, 48, greedy);
    assert_int_equal(plain.draft_passes, 0);
    assert_true(plain.pass_seconds > 0 && plain.draft_seconds == 0);
    for (int i = 0; i < 2; i++)
        for (int32_t usual = 48; usual >= 1; usual -= 47) { /* with plenty of slots, and with few */
            costs_known = 0;
            const pk_stats s = decode(&model, &drafter[i], usual, drafted);
            assert_true(costs_known > 100);
            compare(greedy, drafted);
            free_jobs(drafted);
            assert_true(s.draft_passes > 0 && s.draft_passes < s.passes);
            assert_true(s.draft_seconds > 0 && s.draft_seconds < s.pass_seconds);
            if (usual == 1) assert_true(s.source_tokens > plain.source_tokens); /* put back */
            /* one pass for all sentences that ask one network */
            if (usual == 48) assert_true(s.sentence_passes > 2 * s.passes);
            if (usual == 48 && i == 0) assert_true(s.passes - s.draft_passes < plain.passes / 2);
        }
    free_jobs(greedy);
    for (int i = 0; i < 2; i++) tiny_network_close(&drafter[i]);
    tiny_network_close(&model);
}

/* ---- models ---- */

/* a model of which only the vocabulary is there; names end with NUL, the last with the string's */
#define MODEL_OF(names)                                                                            \
    {                                                                                              \
        .path = "small.pronk", .data.source_tokens = { names, sizeof names }, .data.source_spm = { \
            "spm",                                                                                 \
            3                                                                                      \
        }                                                                                          \
    }

static void a_drafter_has_the_models_tokens_first(void **state) {
    const pk_model same = MODEL_OF("a\0b\0c"), more = MODEL_OF("a\0b\0c\0<mask>");
    const pk_model fewer = MODEL_OF("a\0b"), longer = MODEL_OF("a\0b\0cd"),
                   other = MODEL_OF("a\0c\0b");
    pk_model    cut = MODEL_OF("a\0b\0c");
    pk_ensemble e;
    pk_joined   j;
    (void)state;
    ASSERT_OK(pk_models_drafter(&same, &same, &j, &e));
    ASSERT_OK(pk_models_drafter(&same, &more, &j, &e));
    assert_ptr_equal(e.net[0], &more.data.network);
    ASSERT_STATUS(PK_UNSUPPORTED, pk_models_drafter(&same, &fewer, &j, &e));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_models_drafter(&same, &longer, &j, &e));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_models_drafter(&same, &other, &j, &e));
    assert_non_null(strstr(pk_last_error(), "small.pronk has another target vocabulary"));
    cut.data.source_spm.size = 2;
    ASSERT_STATUS(PK_UNSUPPORTED, pk_models_drafter(&same, &cut, &j, &e));
    assert_non_null(strstr(pk_last_error(), "source tokens"));
}

static void a_drafter_is_given_where_it_is_used(void **state) {
    pk_model      *m;
    pk_translator *t;
    (void)state;
    ASSERT_OK(pk_strategy_check_drafter(&scripted, NULL, true));
    ASSERT_STATUS(PK_ARGUMENT, pk_strategy_check_drafter(&scripted, NULL, false));
    assert_non_null(strstr(pk_last_error(), "scripted needs a drafter"));
    ASSERT_OK(pk_model_open("tests/data/models/marian-relu", NULL, &m));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translator_open(
                      m, PK_OPTIONS(pk_translator_options, .decode = "beam", .drafter = m), &t));
    assert_non_null(strstr(pk_last_error(), "beam uses no drafter"));
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_draft_that_is_verified_is_greedy_search),
        cmocka_unit_test(a_drafter_has_the_models_tokens_first),
        cmocka_unit_test(a_drafter_is_given_where_it_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
