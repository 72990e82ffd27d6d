/* worker.c - the main loop of translation: refill, propose, decode, absorb, commit.
 *
 * refill encodes jobs until the batch is full (worker_sentences.c). Then each step: every live
 * sentence proposes its asks, as many sentences as fit share one pass, each absorbs its answers, and
 * its verdict is committed. A finished sentence leaves at once, and refill takes the next. Sentences
 * whose asks go on by themselves on a device, and others, may take turns. */
#include "engine/worker.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "engine/worker_sentences.h"

/* ---- one pass ---- */

/* Steps that the device may take by itself. A sentence alone may go on to its end. Among others,
 * finished sentences should soon make room for new ones. A caller that traces wants every pass. */
static int32_t steps_at_once(const pk_worker *w, const pk_job *job) {
    if (job->call->trace) return 0;
    return w->opt.batch == 1 && w->on.follow ? w->config.max_target : w->on.follow;
}

/* what passes cost at the present load; returns what an ask of the drafter costs */
static float update_costs(pk_worker *w) {
    for (int32_t i = 0; i < w->n_networks; i++) pk_pass_cost_update(&w->network[i].cost, w->n_live);
    const double own = w->network[0].cost.share;
    return w->n_networks > 1 && own > 0 ? (float)(w->network[1].cost.share / own) : 0;
}

static void propose(pk_worker *w) {
    const float draft_cost = update_costs(w);
    for (int32_t i = 0; i < w->n_live; i++) {
        pk_live *l = &w->live[i];
        if (l->ready) continue;
        l->pass.n = l->pass.n_edges = 0;
        l->pass.model = 0;
        l->pass.probe = false;
        l->pass.follow = steps_at_once(w, l->job);
        l->pass.cost = w->network[0].cost.cost;
        l->pass.n_cost = w->network[0].cost.n_cost;
        l->pass.more = w->network[0].cost.more;
        l->pass.draft_cost = draft_cost;
        l->pass.draft_more = draft_cost * w->network[1].cost.more;
        pk_job_plan(l->job)->strategy->propose(l->state, &l->pass);
        pk_worker_shorten(w, l, l->pass.model);
        l->follows = pk_session_follows(w->session, &l->pass);
        assert(l->pass.n_edges ? l->pass.n == 0 : l->pass.n >= 1 && l->pass.n <= l->pass.room);
        assert(l->pass.model >= 0 && l->pass.model < w->n_networks);
        l->ready = true;
    }
}

/* decoder inputs of its lattice */
static int64_t edge_rows(const pk_pass *p) {
    int64_t rows = 0;
    for (int32_t i = 0; i < p->n_edges; i++) rows += p->edges[i].n_from;
    return rows;
}

static int64_t tokens_listed(const pk_pass *p, int32_t n_suppressed) {
    int64_t sum = 0;
    for (int32_t i = 1; i <= p->n; i++) sum += p->ask[i].n_ban + p->ask[i].n_target + n_suppressed;
    return sum;
}

/* Rows that take one step are computed anew with each step of those that follow in the same pass.
 * Where they are the most, as masks of hrt are, they have a pass of their own, and then the others one:
 * sentences that the first finishes make room for more that follow. */
static pk_turn next_turn(const pk_worker *w) {
    int32_t one_step = 0, following = 0; /* asks */
    for (int32_t i = 0; i < w->n_live; i++) {
        const pk_live *l = &w->live[i];
        *(l->follows ? &following : &one_step) += l->pass.n;
    }
    if (!following || !one_step) return PK_TURN_ALL;
    if (w->turn == PK_TURN_ONE_STEP) return PK_TURN_FOLLOWING;
    return one_step > following ? PK_TURN_ONE_STEP : PK_TURN_ALL;
}

static bool has_its_turn(const pk_worker *w, const pk_live *l) {
    return w->turn == PK_TURN_ALL || l->follows == (w->turn == PK_TURN_FOLLOWING);
}

/* the next sentence from `first` on that waits for a pass on the network; n_live: there is none */
static int32_t next_ready(const pk_worker *w, int32_t network, int32_t first) {
    for (; first < w->n_live; first++) {
        const pk_live *l = &w->live[first];
        if (l->ready && l->pass.model == network && has_its_turn(w, l)) break;
    }
    return first;
}

/* requests for as many sentences from `first` as one pass on the network takes; returns how many */
static int32_t group(pk_worker *w, int32_t network, int32_t first) {
    const pk_session        *s = pk_session_model_part(w->session, network);
    const pk_session_limits *max = pk_session_max(s);
    /* usually there is room for the longest lists of all asks, and nothing to count */
    const bool lists_may_fill = (int64_t)max->asks * max->path > max->visible;
    int32_t    n = 0;
    int64_t    asks = 0, listed = 0, visible = 0, rows = 0;
    for (int32_t i = first; i < w->n_live; i = next_ready(w, network, i + 1)) {
        asks += w->live[i].pass.n;
        rows += edge_rows(&w->live[i].pass);
        if (n && rows > max->edge_rows) break; /* of one portion the scores need not be copied */
        listed += tokens_listed(&w->live[i].pass, w->network[network].n_suppressed);
        w->request[n] = (pk_request){ w->live[i].sentence, &w->live[i].pass };
        if (lists_may_fill) visible += pk_session_visible(w->session, &w->request[n]);
        if (asks > max->asks || asks > pk_session_free_slots(s) || listed > max->listed ||
            visible > max->visible)
            break;
        n++;
    }
    return n;
}

/* an ask that followed took a pass for each token it found; only the last ones follow */
static uint64_t steps_of(const pk_pass *p) {
    return p->n && p->answer[p->n].n_found ? (uint64_t)p->answer[p->n].n_found : 1;
}

static uint64_t tokens_fed(const pk_pass *p) {
    if (p->n_edges) return (uint64_t)edge_rows(p);
    const uint64_t pair = p->n > 1 && p->answer[p->n - 1].n_found;
    return (uint64_t)p->n + (steps_of(p) - 1) * (1 + pair);
}

/* what came back for n sentences from `first` on; returns where the next ones begin */
static pk_status absorb(pk_worker *w, pk_queue *q, int32_t network, int32_t n, int32_t *first) {
    for (int32_t i = 0; i < n; i++) {
        *first = next_ready(w, network, *first);
        assert(*first < w->n_live); /* a pass is absorbed and committed once */
        pk_live       *l = &w->live[*first];
        const uint64_t steps = steps_of(&l->pass);
        if (l->pass.probe)
            w->stats.probe_passes += steps;
        else
            w->stats.sentence_passes += steps;
        w->stats.sentence_drafts += network ? steps : 0;
        w->stats.asks += tokens_fed(&l->pass);
        l->verdict.n_hypotheses = 0;
        l->verdict.done = false;
        l->ready = false;
        pk_job_plan(l->job)->strategy->absorb(l->state, &l->pass, &l->verdict);
        assert(l->verdict.n_hypotheses <= l->verdict.room);
        pk_session_commit(w->session, l->sentence, &l->verdict);
        if (l->verdict.done) {
            PK_TRY(pk_worker_finish(w, q, *first));
        } else {
            pk_worker_trace(w, l, false);
            (*first)++;
        }
    }
    return PK_OK;
}

/* passes that the device made for these requests */
static uint64_t passes_of(const pk_worker *w, int32_t n) {
    uint64_t most = 1;
    for (int32_t i = 0; i < n; i++) {
        const uint64_t steps = steps_of(w->request[i].pass);
        most = steps > most ? steps : most;
    }
    return most;
}

static int32_t asks_of(const pk_worker *w, int32_t n) {
    int32_t asks = 0;
    for (int32_t i = 0; i < n; i++) asks += w->request[i].pass->n;
    return asks;
}

static void count_passes(pk_worker *w, int32_t network, uint64_t passes, double seconds) {
    w->stats.passes += passes;
    w->stats.pass_seconds += seconds;
    if (network == 0) return;
    w->stats.draft_passes += passes;
    w->stats.draft_seconds += seconds;
}

/* one pass on a network, for the sentences in w->request, which are those from `first` on */
static pk_status decode(pk_worker *w, pk_queue *q, int32_t network, int32_t n, int32_t *first) {
    const double begun = pk_clock_now();
    PK_TRY(pk_session_decode(w->session, w->request, n));
    const double   since = pk_clock_now(), encoded = pk_session_encoded_at(w->session);
    const double   seconds = since - (encoded > begun ? encoded : begun);
    const uint64_t passes = passes_of(w, n);
    /* encoding is no part of what a pass costs */
    pk_pass_cost_learn(&w->network[network].cost, asks_of(w, n), seconds / (double)passes);
    count_passes(w, network, passes, seconds);
    PK_TRY(absorb(w, q, network, n, first));
    w->stats.seconds[PK_MODULE_STRATEGY] += pk_clock_now() - since;
    return PK_OK;
}

/* a pass for all that ask this network; several where they do not fit into one */
static pk_status step_network(pk_worker *w, pk_queue *q, int32_t network) {
    int32_t first = 0;
    while ((first = next_ready(w, network, first)) < w->n_live) {
        const int32_t n = group(w, network, first);
        if (n == 0 && w->n_live == 1)
            PK_FAIL(PK_NO_MEMORY, "one sentence does not fit the session");
        if (n == 0)
            pk_worker_put_back_youngest(w);
        else
            PK_TRY(decode(w, q, network, n, &first));
    }
    return PK_OK;
}

static pk_status step(pk_worker *w, pk_queue *q) {
    const double since = pk_clock_now();
    propose(w);
    w->turn = next_turn(w);
    w->stats.seconds[PK_MODULE_STRATEGY] += pk_clock_now() - since;
    for (int32_t i = 0; i < w->n_networks; i++) PK_TRY(step_network(w, q, i));
    return PK_OK;
}

/* ---- the loop ---- */

/* a strategy that asks no network needs no session */
static bool needs_no_session(const pk_plan *plan) {
    return plan->strategy->alone && plan->strategy->alone(plan->options);
}

static pk_status decode_alone(pk_worker *w, pk_job *job) {
    const pk_plan     *plan = pk_job_plan(job);
    const pk_strategy *by = plan->strategy;
    const pk_source    src = pk_worker_source(w, job);
    void *const        state = w->live[0].state;
    memcpy(state, plan->options, by->state_size);
    pk_status status = by->begin(by, state, &src);
    if (status == PK_OK) {
        const int32_t n = by->result(state, w->found, pk_plan_n_best(plan));
        status = pk_job_finish(job, w->found, n, &w->config);
    }
    by->end(state);
    return status;
}

static void serve_alone(pk_worker *w, pk_queue *q) {
    for (pk_job *job; (job = pk_worker_next_job(w, q, 0));) {
        const pk_status status = decode_alone(w, job);
        if (status != PK_OK) {
            pk_worker_fail_job(q, job, status);
            continue;
        }
        w->stats.sentences++;
        w->stats.source_tokens += job->source.n;
        if (job->n_hypotheses) w->stats.target_tokens += (uint64_t)job->hypothesis[0].n;
        pk_worker_publish(w, q);
        pk_queue_finish(q, job);
    }
}

/* all threads are for worker 0 while it is alone: the lowest latency */
static void share_threads(pk_worker *w, pk_queue *q, int32_t shared) {
    const bool    alone = shared && pk_queue_is_alone(q, w->n_live + w->n_waiting);
    const int32_t n = alone || !shared ? w->opt.threads : shared;
    if (n != w->threads) w->on.limit(w->on.self, n);
    w->threads = n;
}

static pk_status prepare(pk_worker *w, pk_queue *q) {
    const double now = pk_clock_now();
    pk_queue_sweep(q, now);
    pk_worker_drop_stopped(w, q, now);
    return pk_worker_refill(w, q);
}

void pk_worker_serve(pk_worker *w, pk_queue *q, int32_t threads_shared, bool claimed) {
    if (needs_no_session(&w->opt.plan)) {
        serve_alone(w, q);
        return;
    }
    for (;;) {
        pk_status status = prepare(w, q);
        if (status == PK_OK && w->n_live == 0) break;
        share_threads(w, q, threads_shared);
        if (status == PK_OK) status = step(w, q);
        if (status != PK_OK) pk_worker_fail_all(w, q, status);
        if (claimed && pk_queue_wanted(q)) return;
    }
    assert(w->n_waiting == 0); /* an idle worker has room for any sentence */
}
