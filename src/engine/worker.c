/* worker.c - the main loop of translation: refill, propose, decode, absorb, commit.
 *
 * refill encodes jobs until the batch is full. Then each step: every live sentence proposes its
 * asks, as many sentences as fit share one pass, each absorbs its answers, and its verdict is
 * committed. A finished sentence leaves at once, and refill takes the next. */
#include "engine/worker.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "decode/ngrams.h"
#include "engine/loops.h"
#include "engine/worker_plan.h"

enum { ENCODE_SENTENCES = 256 }; /* at once */

struct pk_live { /* one sentence being decoded */
    pk_job    *job;
    int32_t    sentence; /* its name in the session */
    void      *state;    /* the strategy's */
    pk_pass    pass;
    pk_verdict verdict;
    bool       ready; /* its pass is proposed, but not yet decoded */
};

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* ---- memory ---- */

static size_t largest_state(const pk_worker_options *o) {
    const pk_plan *const plan[] = { &o->plan, &o->scoring, o->plan.again };
    size_t               largest = 0;
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++)
        if (plan[i] && plan[i]->strategy->state_size > largest)
            largest = plan[i]->strategy->state_size;
    return largest;
}

static pk_status take_live(pk_worker *w, pk_strategy_limits worst, size_t state_size) {
    const size_t batch = (size_t)w->opt.batch, room = (size_t)worst.asks + 1;
    const size_t state = (state_size + 63) / 64 * 64;
    PK_TRY(PK_TAKE(&w->live, batch));
    PK_TRY(PK_TAKE(&w->waiting, batch));
    PK_TRY(PK_TAKE(&w->request, batch));
    PK_TRY(PK_TAKE(&w->found, (size_t)larger(w->opt.plan.n_best, 1)));
    PK_TRY(PK_TAKE(&w->states, batch * state));
    PK_TRY(PK_TAKE(&w->asks, batch * room));
    PK_TRY(PK_TAKE(&w->answers, batch * room));
    PK_TRY(PK_TAKE(&w->tips, batch * (size_t)worst.rows));
    PK_TRY(PK_TAKE(&w->traced, room));
    w->step_room = worst.edges ? w->config.max_target + 1 : 0;
    PK_TRY(PK_TAKE(&w->traced_steps, (size_t)w->step_room));
    for (size_t i = 0; i < batch; i++) {
        w->live[i].state = w->states + i * state;
        w->live[i].pass = (pk_pass){ .room = worst.asks,
                                     .ask = w->asks + i * room,
                                     .answer = w->answers + i * room };
        w->live[i].verdict =
            (pk_verdict){ .room = worst.rows, .tip = w->tips + i * (size_t)worst.rows };
    }
    return PK_OK;
}

/* fills in the limits of each network; returns the most that a sentence may ask of any */
static pk_strategy_limits plan_networks(pk_worker *w, pk_session_model *network) {
    pk_strategy_limits worst = { 0 };
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_config         *c = &network[i].all->config;
        const pk_strategy_limits one =
            pk_plan_network(&w->opt, &w->model, c, w->on.encode, i > 0, &network[i].max);
        worst = pk_plan_larger(worst, one);
        w->network[i].n_suppressed = c->n_suppressed;
    }
    return worst;
}

pk_status pk_worker_open(pk_worker *w, const pk_ensemble *all, const pk_worker_options *opt) {
    pk_session_model network[PK_MOST_MODELS] = { { .all = all } };
    *w = (pk_worker){ .config = all->config, .opt = *opt, .n_networks = 1 };
    w->model = pk_plan_conventions(&w->config);
    w->model.continuation = opt->continuation;
    w->model.n_continuation = opt->n_continuation;
    w->model.added = opt->added;
    w->model.n_added = opt->n_added;
    w->model.lexicon = opt->lexicon != NULL;
    if (opt->drafter)
        network[w->n_networks++] =
            (pk_session_model){ .all = opt->drafter, .shares_encoder = opt->shares_encoder };
    const pk_strategy *by = opt->plan.strategy;
    if (by->fits) PK_TRY(by->fits(by, opt->plan.options, &w->model));
    PK_TRY(pk_backend_open(opt->backend, opt->threads, opt->arithmetic, &w->on));
    const pk_strategy_limits worst = plan_networks(w, network);
    PK_TRY(pk_ngrams_open(PK_NGRAMS_BITS, &w->ngrams));
    PK_TRY(take_live(w, worst, largest_state(opt)));
    if (opt->shortlist) PK_TRY(PK_TAKE(&w->listed, (size_t)opt->shortlist->n_tokens));
    if (opt->shortlist) PK_TRY(PK_TAKE(&w->shortlist, (size_t)opt->shortlist->longest));
    PK_TRY(pk_session_open_models(network, w->n_networks, &w->on, &w->session));
    w->threads = opt->threads;
    w->seen.device_bytes = w->on.held ? w->on.held(w->on.self) : 0;
    return PK_OK;
}

void pk_worker_close(pk_worker *w) {
    void *const blocks[] = { w->live,   w->waiting, w->request,   w->found,
                             w->states, w->asks,    w->answers,   w->tips,
                             w->traced, w->listed,  w->shortlist, w->traced_steps };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    pk_ngrams_close(w->ngrams);
    pk_session_close(w->session);
    pk_backend_close(&w->on);
    *w = (pk_worker){ 0 };
}

/* ---- sentences come ---- */

static const pk_plan *plan_of(const pk_job *job) {
    return job->again ? job->call->plan->again : job->call->plan;
}

static pk_source source_of(const pk_worker *w, const pk_job *job) {
    const pk_config *c = &w->config;
    const pk_plan   *plan = plan_of(job);
    const int32_t    n = (int32_t)job->source.n;
    int32_t          most = 3 * n + 32; /* longer is a loop, not a translation */
    if (c->max_output && most > c->max_output) most = c->max_output;
    if (most > c->max_target) most = c->max_target;
    return (pk_source){ .model = &w->model,
                        .n_tokens = n,
                        .token = job->source.id,
                        .max_length = most,
                        .prefix = job->prefix.id,
                        .n_prefix = (int32_t)job->prefix.n,
                        .n_free_prefix = job->n_free_prefix,
                        .forced = job->forced.n ? job->forced.id : NULL,
                        .n_forced = (int32_t)job->forced.n,
                        .draft = job->draft.id,
                        .n_draft = (int32_t)job->draft.n,
                        .lexicon = w->opt.lexicon,
                        .ngrams = w->ngrams,
                        .drafter = w->n_networks > 1,
                        .n_best = plan->n_best,
                        .want_scores = plan->scores,
                        .want_attention =
                            (plan->alignment && !plan->linker) || plan->replace_unknowns };
}

/* the next job: one that was put back, or one from the queue; NULL: none now. has: sentences that
 * the worker has already */
static pk_job *next_job(pk_worker *w, pk_queue *q, int32_t has) {
    while (w->n_waiting) {
        pk_job *job = w->waiting[--w->n_waiting];
        if (!atomic_load(&job->call->stopped)) return job;
        pk_queue_finish(q, job);
    }
    return pk_queue_take(q, w->number, has);
}

/* it comes again before what is in the queue */
static void put_off(pk_worker *w, pk_job *job) {
    assert(w->n_waiting < w->opt.batch);
    w->waiting[w->n_waiting++] = job;
}

/* is less than half of some network's slots free? */
static bool is_short_of_slots(const pk_worker *w) {
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_session *s = pk_session_model_part(w->session, i);
        if (pk_session_free_slots(s) < pk_session_max(s)->slots / 2) return true;
    }
    return false;
}

/* is it worth encoding now, or better to wait until a few more sentences have finished? */
static bool has_room(const pk_worker *w) {
    const int32_t room = w->opt.batch - w->n_live;
    if (w->n_live == 0) return true;
    if (w->n_waiting && is_short_of_slots(w))
        return false; /* it was put back for want of slots: let others finish */
    return room * 4 >= w->opt.batch;
}

/* what the sentence may be translated with; scores are of any translation */
static void shorten(pk_worker *w, const pk_source *src, int32_t sentence) {
    const pk_shortlist_request q = { .source = src->token,
                                     .n_source = src->n_tokens,
                                     .prefix = src->prefix,
                                     .n_prefix = src->n_prefix };
    if (!w->opt.shortlist || src->forced) return;
    const int32_t n = pk_shortlist_find(w->opt.shortlist, &q, w->listed, w->shortlist);
    pk_session_shorten(w->session, sentence, w->shortlist, n);
}

/* a sentence that was encoded becomes alive */
static pk_status begin(pk_worker *w, pk_job *job, int32_t sentence) {
    pk_live       *l = &w->live[w->n_live];
    const pk_plan *p = plan_of(job);
    assert(w->n_live < w->opt.batch);
    const pk_source src = source_of(w, job);
    memcpy(l->state, p->options, p->strategy->state_size);
    shorten(w, &src, sentence);
    const pk_status status = p->strategy->begin(p->strategy, l->state, &src);
    if (status != PK_OK) {
        p->strategy->end(l->state);
        return status;
    }
    l->job = job;
    l->sentence = sentence;
    l->ready = false;
    w->n_live++;
    return PK_OK;
}

/* the call cannot go on for want of this sentence; others can */
static void fail_job(pk_queue *q, pk_job *job, pk_status status) {
    pk_queue_stop(q, job->call, status, pk_last_error());
    pk_queue_finish(q, job);
}

typedef struct arrivals { /* sentences to be encoded together */
    pk_job            *job[ENCODE_SENTENCES];
    pk_sentence_tokens source[ENCODE_SENTENCES];
    int32_t            n, tokens;
} arrivals;

/* as many as there are and as fit */
static void collect(pk_worker *w, pk_queue *q, arrivals *a) {
    pk_job *next = NULL;
    a->n = a->tokens = 0;
    while (a->n < ENCODE_SENTENCES && w->n_live + a->n < w->opt.batch &&
           (next = next_job(w, q, w->n_live + a->n))) {
        const int32_t more = (int32_t)next->source.n;
        if (a->tokens + more > pk_session_free_source(w->session) ||
            a->tokens + more > pk_session_max(w->session)->encode_tokens) {
            put_off(w, next);
            break;
        }
        a->tokens += more;
        a->job[a->n] = next;
        a->source[a->n++] = (pk_sentence_tokens){ next->source.id, more };
    }
}

static void begin_all(pk_worker *w, pk_queue *q, const arrivals *a, const int32_t *name) {
    for (int32_t i = 0; i < a->n; i++) {
        w->stats.source_tokens += (uint64_t)a->source[i].n;
        const pk_status status = begin(w, a->job[i], name[i]);
        if (status == PK_OK) continue;
        pk_session_forget(w->session, name[i]);
        fail_job(q, a->job[i], status);
    }
}

/* encodes as many jobs as fit; each becomes alive */
static pk_status refill(pk_worker *w, pk_queue *q) {
    arrivals a;
    int32_t  name[ENCODE_SENTENCES];
    while (has_room(w) && w->n_live < w->opt.batch) {
        collect(w, q, &a);
        if (a.n == 0) return PK_OK;
        const pk_status status = pk_session_encode(w->session, a.source, a.n, name);
        for (int32_t i = 0; status != PK_OK && i < a.n; i++) put_off(w, a.job[i]);
        PK_TRY(status);
        begin_all(w, q, &a, name);
    }
    return PK_OK;
}

/* ---- sentences go ---- */

static void remove_live(pk_worker *w, int32_t i) {
    pk_live gone = w->live[i];
    plan_of(gone.job)->strategy->end(gone.state);
    pk_session_forget(w->session, gone.sentence);
    w->n_live--;
    memmove(&w->live[i], &w->live[i + 1], (size_t)(w->n_live - i) * sizeof gone);
    w->live[w->n_live] = gone; /* its memory serves the next one */
}

/* what is left of a stopped call is not wanted: nobody waits for it */
static void drop(pk_worker *w, pk_queue *q, int32_t i) {
    pk_job *job = w->live[i].job;
    remove_live(w, i);
    pk_queue_finish(q, job);
}

/* what all networks and the worker itself did; other threads read it under the queue's lock */
static void publish(pk_worker *w, pk_queue *q) {
    pk_stats all = w->stats;
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_session *s = pk_session_model_part(w->session, i);
        const double     *more = pk_session_seconds(s);
        for (int m = 0; m < PK_N_MODULES; m++) all.seconds[m] += more[m];
        all.flops += pk_session_flops(s);
        if (i > 0) all.draft_flops += pk_session_flops(s);
    }
    all.device_bytes = w->on.held ? w->on.held(w->on.self) : 0;
    pthread_mutex_lock(&q->lock);
    w->seen = all;
    pthread_mutex_unlock(&q->lock);
}

static pk_output_end end_of(const pk_worker *w, const pk_job *job) {
    return (pk_output_end){ w->config.eos, source_of(w, job).max_length, w->model.forced_eos };
}

static pk_status finish(pk_worker *w, pk_queue *q, int32_t i) {
    pk_live       *l = &w->live[i];
    pk_job        *job = l->job;
    const pk_plan *plan = plan_of(job);
    const int32_t  n = plan->strategy->result(l->state, w->found, larger(plan->n_best, 1));
    assert(n <= larger(plan->n_best, 1));
    PK_TRY(pk_job_finish(job, w->found, n, &w->config));
    if (n) w->stats.target_tokens += (uint64_t)job->hypothesis[0].n;
    remove_live(w, i);
    if (pk_loops_retry(job, plan, end_of(w, job), &w->stats)) {
        put_off(w, job);
        return PK_OK;
    }
    w->stats.sentences++;
    publish(w, q);
    pk_queue_finish(q, job);
    return PK_OK;
}

/* sentences of calls that were stopped, or are late */
static void drop_stopped(pk_worker *w, pk_queue *q, double now) {
    for (int32_t i = w->n_live - 1; i >= 0; i--) {
        pk_queued *c = w->live[i].job->call;
        if (c->deadline > 0 && c->deadline < now)
            pk_queue_stop(q, c, PK_LATE, "the deadline passed while the call was served");
        if (atomic_load(&c->stopped)) drop(w, q, i);
    }
}

/* a pass failed: nobody knows for whom, so all calls that share it fail */
static void fail_all(pk_worker *w, pk_queue *q, pk_status status) {
    char error[PK_ERROR_SIZE];
    snprintf(error, sizeof error, "%s", pk_last_error());
    while (w->n_waiting) {
        pk_job *job = w->waiting[--w->n_waiting];
        pk_queue_stop(q, job->call, status, error);
        pk_queue_finish(q, job);
    }
    while (w->n_live) {
        pk_queue_stop(q, w->live[w->n_live - 1].job->call, status, error);
        drop(w, q, w->n_live - 1);
    }
}

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
        l->pass.n_cost = w->network[0].cost.share > 0 ? 3 : 2; /* a second ask: measured yet? */
        l->pass.draft_cost = draft_cost;
        l->pass.draft_more = draft_cost * (w->network[1].cost.cost[2] - 1);
        plan_of(l->job)->strategy->propose(l->state, &l->pass);
        assert(l->pass.n_edges ? l->pass.n == 0 : l->pass.n >= 1 && l->pass.n <= l->pass.room);
        assert(l->pass.model >= 0 && l->pass.model < w->n_networks);
        l->ready = true;
    }
}

static int64_t tokens_listed(const pk_pass *p, int32_t n_suppressed) {
    int64_t sum = 0;
    for (int32_t i = 1; i <= p->n; i++) sum += p->ask[i].n_ban + p->ask[i].n_target + n_suppressed;
    return sum;
}

/* the next sentence from `first` on that waits for a pass on the network; n_live: there is none */
static int32_t next_ready(const pk_worker *w, int32_t network, int32_t first) {
    while (first < w->n_live && !(w->live[first].ready && w->live[first].pass.model == network))
        first++;
    return first;
}

/* requests for as many sentences from `first` as one pass on the network can take; returns how many
 */
static int32_t group(pk_worker *w, int32_t network, int32_t first) {
    const pk_session        *s = pk_session_model_part(w->session, network);
    const pk_session_limits *max = pk_session_max(s);
    /* usually there is room for the longest lists of all asks, and nothing to count */
    const bool lists_may_fill = (int64_t)max->asks * max->path > max->visible;
    int32_t    n = 0;
    int64_t    asks = 0, listed = 0, visible = 0;
    for (int32_t i = first; i < w->n_live; i = next_ready(w, network, i + 1)) {
        asks += w->live[i].pass.n;
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

/* puts the youngest sentence back: the others go on with its memory */
static void put_back_youngest(pk_worker *w) {
    put_off(w, w->live[w->n_live - 1].job);
    remove_live(w, w->n_live - 1);
}

/* an ask that followed took a pass for each token it found; only the last ones follow */
static uint64_t steps_of(const pk_pass *p) {
    return p->n && p->answer[p->n].n_found ? (uint64_t)p->answer[p->n].n_found : 1;
}

static uint64_t tokens_fed(const pk_pass *p) {
    uint64_t edges = 0;
    for (int32_t i = 0; i < p->n_edges; i++) edges += (uint64_t)p->edges[i].n_from;
    if (edges) return edges;
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
        l->verdict.n_rows = 0;
        l->verdict.done = false;
        l->ready = false;
        plan_of(l->job)->strategy->absorb(l->state, &l->pass, &l->verdict);
        assert(l->verdict.n_rows <= l->verdict.room);
        pk_session_commit(w->session, l->sentence, &l->verdict);
        if (l->job->call->trace) pk_worker_trace(w, l->job, &l->pass, &l->verdict);
        if (!l->verdict.done)
            (*first)++;
        else
            PK_TRY(finish(w, q, *first));
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
    const double   since = pk_clock_now();
    const uint64_t passes = passes_of(w, n);
    pk_pass_cost_learn(&w->network[network].cost, asks_of(w, n), (since - begun) / (double)passes);
    count_passes(w, network, passes, since - begun);
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
            put_back_youngest(w);
        else
            PK_TRY(decode(w, q, network, n, &first));
    }
    return PK_OK;
}

static pk_status step(pk_worker *w, pk_queue *q) {
    const double since = pk_clock_now();
    propose(w);
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
    const pk_plan     *plan = plan_of(job);
    const pk_strategy *by = plan->strategy;
    const pk_source    src = source_of(w, job);
    void *const        state = w->live[0].state;
    memcpy(state, plan->options, by->state_size);
    pk_status status = by->begin(by, state, &src);
    if (status == PK_OK) {
        const int32_t n = by->result(state, w->found, larger(plan->n_best, 1));
        status = pk_job_finish(job, w->found, n, &w->config);
    }
    by->end(state);
    return status;
}

static void serve_alone(pk_worker *w, pk_queue *q) {
    for (pk_job *job; (job = next_job(w, q, 0));) {
        const pk_status status = decode_alone(w, job);
        if (status != PK_OK) {
            fail_job(q, job, status);
            continue;
        }
        w->stats.sentences++;
        w->stats.source_tokens += job->source.n;
        if (job->n_hypotheses) w->stats.target_tokens += (uint64_t)job->hypothesis[0].n;
        publish(w, q);
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
    drop_stopped(w, q, now);
    return refill(w, q);
}

void pk_worker_serve(pk_worker *w, pk_queue *q, int32_t threads_shared) {
    if (needs_no_session(&w->opt.plan)) {
        serve_alone(w, q);
        return;
    }
    for (;;) {
        pk_status status = prepare(w, q);
        if (status == PK_OK && w->n_live == 0) break;
        share_threads(w, q, threads_shared);
        if (status == PK_OK) status = step(w, q);
        if (status != PK_OK) fail_all(w, q, status);
    }
    assert(w->n_waiting == 0); /* an idle worker has room for any sentence */
}
