/* worker_test.c - the loop with little memory: sentences are put back, decoded again, and come out
 * as they would have with plenty. On random networks, without text. */
#include "check.h"

#include <string.h>

#include "engine/worker.h"
#include "serve_jobs.h"
#include "session/session_parts.h"
#include "tiny_network.h"

enum { N_JOBS = 9, PREFIX = 2, LONG_PREFIX = 8 };

static void make_jobs(pk_job *job, pk_job **order) {
    uint64_t seed = 5;
    memset(job, 0, N_JOBS * sizeof *job);
    for (int i = 0; i < N_JOBS; i++) {
        const int n = 12 - i;
        for (int j = 0; j < n; j++) {
            const float r = tiny_random(&seed);
            ASSERT_OK(pk_ids_add(&job[i].source, 1 + (int32_t)((r + 1) * 19)));
        }
        ASSERT_OK(pk_ids_add(&job[i].source, 0));
        for (int j = 0; j < PREFIX && i % 3 == 1;
             j++) /* so that sentences follow in mixed passes */
            ASSERT_OK(pk_ids_add(&job[i].prefix, 7 + i + j));
        order[i] = &job[i];
    }
}

static pk_worker_options options_for(const char *spec, void **state) {
    pk_worker_options o = {
        .backend = "ref", .threads = 1, .batch = 4, .batch_tokens = 64, .max_source = 20
    };
    ASSERT_OK(pk_strategy_parse(spec, &o.plan.strategy, state));
    o.plan.options = *state;
    o.plan.n_best = 1;
    o.plan.scores = true;
    o.scoring = o.plan;
    return o;
}

typedef struct counts {
    uint64_t encoded, passes; /* source tokens; passes of all sentences together */
} counts;

/* decodes all jobs; visible: slots that a pass may list, 0: as planned */
static counts decode(const tiny_network *tiny, const char *spec, int32_t usual_length,
                     int32_t follow, int32_t visible, pk_job *job) {
    pk_job   *order[N_JOBS];
    pk_worker w;
    void     *state;
    make_jobs(job, order);
    pk_worker_options o = options_for(spec, &state);
    o.usual_length = usual_length;
    const pk_ensemble all = pk_ensemble_alone(&tiny->net);
    ASSERT_OK(pk_worker_open(&w, &all, &o));
    w.on.follow = follow;
    if (visible) w.session->max.visible = visible;
    serve_jobs(&w, &o.plan, order, N_JOBS);
    /* a pass per token that was not given, made by host or device */
    if (strncmp(spec, "greedy", 6) == 0 && usual_length > 1)
        assert_int_equal(w.stats.sentence_passes + N_JOBS / 3 * PREFIX, w.stats.target_tokens);
    assert_int_equal(pk_session_free_slots(w.session), pk_session_max(w.session)->slots);
    const counts all_of_it = { w.stats.source_tokens, w.stats.passes };
    pk_worker_close(&w);
    pk_memory_give(state);
    return all_of_it;
}

static void sentences_put_back_come_out_the_same(void **state) {
    (void)state;
    static const char *const specs[] = { "greedy:min_length=40", "beam:size=3,min_length=40" };
    const pk_config          c = tiny_config();
    tiny_network             tiny;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    for (int s = 0; s < 2; s++) {
        pk_job         roomy[N_JOBS], tight[N_JOBS];
        const uint64_t once = decode(&tiny, specs[s], 48, 0, 0, roomy).encoded;
        const uint64_t again = decode(&tiny, specs[s], 1, 0, 0, tight).encoded;
        assert_int_equal(once, 13 + 12 + 11 + 10 + 9 + 8 + 7 + 6 + 5);
        assert_true(again > once); /* some were put back */
        for (int i = 0; i < N_JOBS; i++) {
            const pk_job_hypothesis *a = &roomy[i].hypothesis[0], *b = &tight[i].hypothesis[0];
            assert_true(a->n >= 39);
            assert_int_equal(a->n, b->n);
            assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
            assert_memory_equal(a->logp, b->logp, (size_t)a->n * sizeof *a->logp);
            pk_job_free(&roomy[i]);
            pk_job_free(&tight[i]);
        }
    }
    tiny_network_close(&tiny);
}

static void steps_left_to_the_device_change_nothing(void **state) {
    (void)state;
    static const char *const specs[] = { "greedy", "greedy:max_length=7", "greedy:min_length=9" };
    const pk_config          c = tiny_config();
    tiny_network             tiny;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    for (int s = 0; s < 3; s++) {
        pk_job plain[N_JOBS], followed[N_JOBS];
        decode(&tiny, specs[s], 48, 0, 0, plain);
        for (int32_t usual = 48; usual >= 1; usual -= 47) { /* with plenty of slots, and with few */
            decode(&tiny, specs[s], usual, 5, 0, followed);
            for (int i = 0; i < N_JOBS; i++) {
                const pk_job_hypothesis *a = &plain[i].hypothesis[0];
                const pk_job_hypothesis *b = &followed[i].hypothesis[0];
                assert_int_equal(a->n, b->n);
                assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
                assert_memory_equal(a->logp, b->logp, (size_t)a->n * sizeof *a->logp);
                pk_job_free(&followed[i]);
            }
        }
        for (int i = 0; i < N_JOBS; i++) pk_job_free(&plain[i]);
    }
    tiny_network_close(&tiny);
}

/* with short lists of visible slots a pass is split, and steps are fewer; nothing else changes */
static void passes_are_split_where_lists_are_short(void **state) {
    (void)state;
    static const char *const specs[] = { "greedy:min_length=30", "beam:size=3", "pgj:block=5" };
    static const int32_t     room_for_one[] = { 50, 160, 270 };
    const pk_config          c = tiny_config();
    tiny_network             tiny;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    for (int s = 0; s < 3; s++)
        for (int32_t follow = 0; follow <= 5; follow += 5) {
            pk_job       roomy[N_JOBS], tight[N_JOBS];
            const counts some = decode(&tiny, specs[s], 48, 0, 0, roomy);
            const counts more = decode(&tiny, specs[s], 48, follow, room_for_one[s], tight);
            assert_true(more.passes > some.passes);
            for (int i = 0; i < N_JOBS; i++) {
                const pk_job_hypothesis *a = &roomy[i].hypothesis[0], *b = &tight[i].hypothesis[0];
                assert_int_equal(a->n, b->n);
                assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
                pk_job_free(&roomy[i]);
                pk_job_free(&tight[i]);
            }
        }
    tiny_network_close(&tiny);
}

/* 128 sentences that may each ask for 512 tokens at once: asks and lists are planned for usual
 * ones, and for one that does */
static void lists_are_planned_for_usual_lengths(void **state) {
    (void)state;
    pk_config    c = tiny_config();
    tiny_network tiny;
    pk_worker    w;
    void        *options;
    c.max_target = 512;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    pk_worker_options o = options_for("pj", &options);
    o.batch = 128;
    const pk_ensemble all = pk_ensemble_alone(&tiny.net);
    ASSERT_OK(pk_worker_open(&w, &all, &o));
    const pk_session_limits *max = pk_session_max(w.session);
    assert_true(max->asks >= 128 * 128);
    assert_true((size_t)max->visible * sizeof(int32_t) <= 64 << 20);
    assert_true(max->visible >= 512 * max->path); /* a whole sentence alone */
    pk_worker_close(&w);
    pk_memory_give(options);
    tiny_network_close(&tiny);
}

static void a_stopped_call_leaves_nothing_behind(void **state) {
    (void)state;
    const pk_config c = tiny_config();
    tiny_network    tiny;
    pk_job          job[N_JOBS], *order[N_JOBS];
    pk_worker       w;
    void           *options;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    const int64_t     alive = pk_memory_alive();
    pk_worker_options o = options_for("greedy", &options);
    make_jobs(job, order);
    const pk_ensemble all = pk_ensemble_alone(&tiny.net);
    ASSERT_OK(pk_worker_open(&w, &all, &o));
    pk_queued call = { .job = order, .n = N_JOBS, .plan = &o.plan, .status = PK_CANCELLED };
    assert_int_equal(serve_call(&w, &call), N_JOBS); /* dropped, all of them */
    assert_int_equal(call.status, PK_CANCELLED);
    assert_int_equal(w.stats.passes, 0);
    for (int i = 0; i < N_JOBS; i++) pk_job_free(&job[i]);
    pk_worker_close(&w);
    pk_memory_give(options);
    assert_int_equal(pk_memory_alive(), alive);
    tiny_network_close(&tiny);
}

/* how many rows a pass has whose steps are left to the device */
static struct {
    void (*embed)(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                  float scale, const pk_weight *position, const int32_t *pos);
    void (*repeat)(void *self, uint64_t key, int32_t steps, const int32_t *live,
                   void (*body)(void *context), void *context);
    int32_t steps, most_rows;
} watched;

static void watch_embed(void *self, pk_tensor out, const pk_weight *table, const int32_t *token,
                        float scale, const pk_weight *position, const int32_t *pos) {
    if (watched.steps > 1 && out.rows > watched.most_rows) watched.most_rows = out.rows;
    watched.embed(self, out, table, token, scale, position, pos);
}

static void watch_repeat(void *self, uint64_t key, int32_t steps, const int32_t *live,
                         void (*body)(void *context), void *context) {
    watched.steps = steps;
    watched.repeat(self, key, steps, live, body, context);
    watched.steps = 0;
}

/* the same worker with a device that follows, or one that does not */
static void decode_staged(const pk_ensemble *all, pk_worker_options *o, int32_t follow,
                          pk_job *job) {
    pk_job   *order[N_JOBS];
    pk_worker w;
    make_jobs(job, order);
    for (int i = 0; i < N_JOBS; i++) /* so that they do not end together */
        for (job[i].prefix.n = 0; (int)job[i].prefix.n < LONG_PREFIX * (i % 3) / 2;)
            ASSERT_OK(pk_ids_add(&job[i].prefix, 7 + i));
    ASSERT_OK(pk_worker_open(&w, all, o));
    w.on.follow = follow;
    watched.embed = w.on.embed, watched.repeat = w.on.repeat, watched.most_rows = 0;
    w.on.embed = watch_embed, w.on.repeat = watch_repeat;
    serve_jobs(&w, &o->plan, order, N_JOBS);
    assert_int_equal(pk_session_free_slots(w.session), pk_session_max(w.session)->slots);
    pk_worker_close(&w);
}

/* The second stage of hrt takes one step, and has the most rows: while others follow, these rows are
 * not computed with each of their steps. */
static void what_takes_one_step_is_computed_once(void **state) {
    static const pk_added_tokens added[] = { { "<mask>", 40, 1, 0 }, { "<bos:2>", 41, 1, 0 } };
    pk_config                    c = tiny_config();
    tiny_network                 tiny;
    pk_job                       plain[N_JOBS], followed[N_JOBS];
    void                        *options;
    (void)state;
    c.n_text = c.source_vocab;
    c.source_vocab = c.target_vocab = c.n_text + 2;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &tiny));
    const pk_ensemble all = pk_ensemble_alone(&tiny.net);
    pk_worker_options o = options_for("hrt:k=2", &options);
    o.added = added, o.n_added = 2;
    decode_staged(&all, &o, 0, plain);
    assert_int_equal(watched.most_rows, 0);
    decode_staged(&all, &o, 5, followed);
    /* a start symbol and every second token of a prefix for each sentence */
    assert_in_range(watched.most_rows, 1, o.batch * (1 + LONG_PREFIX / 2));
    for (int i = 0; i < N_JOBS; i++) {
        const pk_job_hypothesis *a = &plain[i].hypothesis[0], *b = &followed[i].hypothesis[0];
        assert_true(a->n > o.batch * (1 + LONG_PREFIX / 2)); /* more rows than those that follow */
        assert_int_equal(a->n, b->n);
        assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
        assert_memory_equal(a->logp, b->logp, (size_t)a->n * sizeof *a->logp);
        pk_job_free(&plain[i]);
        pk_job_free(&followed[i]);
    }
    pk_memory_give(options);
    tiny_network_close(&tiny);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_put_back_come_out_the_same),
        cmocka_unit_test(steps_left_to_the_device_change_nothing),
        cmocka_unit_test(what_takes_one_step_is_computed_once),
        cmocka_unit_test(passes_are_split_where_lists_are_short),
        cmocka_unit_test(lists_are_planned_for_usual_lengths),
        cmocka_unit_test(a_stopped_call_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
